//! What a profile of a running server consists of besides the tables of every profile, and what it finds.

use super::finding::findings;
use super::spec::{metrics, parameters};

parameters! {
    PROCESS = "process", "of background processes: their kind, such as `checkpointer`; of `blocker`: the session, by \
        process, user, database and application";
    STATE = "state", "of `blocker`: what the session was doing when it was last seen";
    NODE = "node", "of `blocker`: number of the line, from 1; `parent` names one of these";
}

metrics! {
    SAMPLES = "samples", Count, "samples in which a session was seen there";
    LOOKS = "looks", Count, "times that all sessions were polled";
    SAMPLED = "sampled", Microseconds, "time that the samples stand for";
    NOT_SAMPLED = "not_sampled", Microseconds, "time of the run without samples";
    DB_TIME = "db_time", Microseconds, "time in which sessions of clients ran a statement, by the samples";
    DB_TIME_ERROR = "db_time_error", Microseconds, "how far it may be off by sampling, 19 of 20 times";
    DB_TIME_OF_SERVER = "db_time_of_server", Microseconds, "the same by the server's own account";
    ACTIVE_SESSIONS = "active_sessions", Ratio, "sessions at work on average: `db_time` over `sampled`; of `timeline` \
        the mean of each step, of one class or of all";
    ACTIVE_SESSIONS_P95 = "active_sessions_p95", Ratio, "the mean of a second that 95 of 100 seconds do not exceed";
    ACTIVE_SESSIONS_P99 = "active_sessions_p99", Ratio, "the mean of a second that 99 of 100 seconds do not exceed";
    ACTIVE_SESSIONS_MAX = "active_sessions_max", Ratio, "the mean of the second with most";
    OWN_CPU = "own_cpu", Percent, "CPU time of readpath, of one processor";
    OWN_SESSION = "own_session", Percent, "time in which the server worked for readpath's session, of one processor";
    SAMPLE_TIME = "sample_time", Microseconds, "from a sample's question to its answer";
    CHANGES = "changes", Count, "changes of what a session waits for that were seen, of an exact profile";
    CHANGES_LOST = "changes_lost", Count, "those that were lost";
    CHANGE_TIME = "change_time", Microseconds, "what seeing one took from its session";
    CHANGE_SHARE_MAX = "change_share_max", Percent, "the largest part of a session's time that they took";
    STOLEN = "stolen", Percent, "time that the hypervisor took of all processors' busy time";
}

findings! {
    "samples of a server";
    LEVEL = Info "sampled-level", "what the profile was made from, and what more would add";
    DB_TIME_AGREES = Info "db-time-agrees", "the sampled time of sessions at work, against the server's own account";
    DB_TIME_DIFFERS = Warning "db-time-differs", "these differ by more than sampling explains";
    NO_DB_TIME = Info "no-db-time", "the server's account cannot be held against the samples, and why";
    HIDDEN_SESSIONS = Warning "hidden-sessions", "sessions whose work may not be seen";
    WITHOUT_ACTIVITY = Warning "without-activity", "sessions that do not report what they do";
    SERVER_WENT_AWAY = Warning "server-went-away", "a time without samples, and why";
    SAMPLING_ENDED = Warning "sampling-ended", "the sampling ended early, and why";
    RATE_NOT_REACHED = Warning "sampling-rate-not-reached", "fewer samples than were asked for: under \
        nine tenths, or more than queries that may be sent";
    BLOCKERS = Info "answer-blockers", "the session for which others waited most";
    IDLE_IN_TRANSACTION = Warning "idle-in-transaction", "sessions kept a transaction open without work for a tenth of \
        the time or more";
    STOLEN_TIME = Warning "stolen-time-of-server", "the hypervisor took a hundredth of the processors' busy time or \
        more";
    LOGS_EVERY_SAMPLE = Warning "logs-every-sample", "the server writes each statement of readpath to its log";
    LEFT_ALONE = Warning "left-alone", "a session whose waits were not all seen, and why";
    LOAD_FAILED = Warning "load-failed", "the command that was the load ended with an error";
    SCARCE_SAMPLES = Warning "scarce-samples", "under 100 samples of sessions at work";
    NUMBERED_EVENTS = Info "numbered-events", "what the number of an event means that has no name";
}
