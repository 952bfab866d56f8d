//! `counters`: what the processor and the kernel count of a command or a process.

use super::finding::findings;
use super::spec::{Experiment, metrics, parameters};
use super::{conditions, events};

parameters! {
    COMMAND = "command", "the command line that was counted";
    PID = "pid", "the process that was counted";
}

metrics! {
    ELAPSED = "elapsed", Nanoseconds, "time by the clock";
    TASK_CLOCK = "task_clock", Nanoseconds, "CPU time";
    USER_TIME = "user_time", Nanoseconds, "CPU time in user mode";
    SYSTEM_TIME = "system_time", Nanoseconds, "CPU time in the kernel";
    CONTEXT_SWITCHES = "context_switches", Count, "times that a processor was taken or given away";
    CPU_MIGRATIONS = "cpu_migrations", Count, "moves to another processor";
    PAGE_FAULTS = "page_faults", Count, "page faults";
    MAJOR_FAULTS = "major_faults", Count, "page faults that read";
    CORE_GHZ = "core_ghz", Gigahertz, "cycles over CPU time";
    IPC = "ipc", Ratio, "instructions over cycles";
    CPUS_USED = "cpus_used", Ratio, "CPU time over elapsed time";
}

findings! {
    "counters";
    ANSWER_IPC = Info "answer-ipc", "instructions a cycle, of 10 ms of processor time or more";
    PROCESS_ENDED = Warning "process-ended", "the process ended while it was counted";
    COMMAND_FAILED = Warning "command-failed", "the command ended with an exit code other than 0, or by a signal";
    COMMAND_INTERRUPTED = Warning "command-interrupted", "the command was interrupted: its counts end there";
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "counters",
    parameters: &[parameters::ALL],
    metrics: &[METRICS, conditions::METRICS],
    families: &[events::FAMILIES],
    findings: &[findings::ALL, events::findings::ALL, conditions::findings::ALL],
    published: &[],
};
