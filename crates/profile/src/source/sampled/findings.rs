//! What was found while a server was sampled, and what a reader of its figures has to know.

use measure::Finding;
use measure::quantity::{counted, format_nanos, grouped, three_digits};
use measure::schema::sampled::findings as row;

use super::accounting::Accounting;
use super::observed::Observed;
use crate::event::{Context, Ticks};
use crate::tables::sampled::{BlockerRow, Sampled, share_error};

/// Samples of sessions at work under which shares say little: the error of one half is ten points.
const SAMPLES_MIN: u64 = 100;

/// The share with the largest error.
const HALF: f64 = 0.5;

/// Part of the samples that were asked for, from which on the rate counts as reached.
const RATE_REACHED: f64 = 0.9;

/// Part of the sampled time, summed over sessions, from which on pauses within transactions are worth a word.
const IDLE_PART: f64 = 0.1;

/// Part of the processors' time from which on what a hypervisor took is worth a word.
const STOLEN_PART: f64 = 0.01;

/// Most sessions that are named one by one.
const LEFT_MAX: usize = 5;

/// What the findings are made of.
pub(super) struct Judged<'a> {
    pub(super) accounting: &'a Accounting,
    pub(super) sampled: &'a Sampled,
    pub(super) observed: &'a Observed,
    pub(super) context: &'a Context,
}

/// All that is worth a word.
pub(super) fn findings(of: &Judged<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    found.extend(of.blockers());
    found.extend((!of.observed.level.is_empty()).then(|| row::LEVEL.of(of.observed.level.join(" "))));
    let scarce = scarce(of.sampled, of.is_idle_by_account(), of.accounting.hidden);
    found.extend(of.db_time(scarce.is_some()));
    found.extend(scarce);
    found.extend(numbered(of.context));
    found.extend(hidden(of.accounting.hidden, of.accounting.sessions_max));
    found.extend(disabled(of.accounting.disabled));
    found.extend(of.observed.away.iter().map(away));
    found.extend(of.observed.ended.as_ref().map(|why| {
        row::SAMPLING_ENDED.of(format!("The sampling ended early: {why}. What was sampled before is whole."))
    }));
    found.extend(of.observed.rate_asked.map(|asked| rate_cut(asked, of.observed.rate)));
    found.extend((!of.sampled.is_exact).then(|| rate(of.sampled.looks, of.sampled.time, of.observed.rate)).flatten());
    found.extend(idle_in_transaction(of.accounting.idle_in_transaction, of.sampled.time));
    found.extend(of.sampled.stolen.and_then(|part| stolen(part, of.sampled.is_exact)));
    found.extend(of.observed.logged.map(|asks| {
        let lines = counted(asks, "line", "lines");
        // Further questions and the opening write lines too.
        let message = format!("log_statement is all there: the server wrote at least {lines} of readpath to its log.");
        row::LOGS_EVERY_SAMPLE.of(message)
    }));
    found.extend(left_alone(&of.observed.left));
    found.extend(of.observed.load_failed.as_ref().map(|why| row::LOAD_FAILED.of(why.clone())));
    found
}

impl Judged<'_> {
    /// The session for which others waited most.
    fn blockers(&self) -> Option<Finding> {
        let root = self.sampled.blockers.first()?;
        let unknown = self.accounting.blockers.unknown();
        Some(row::BLOCKERS.of(blocked(root, self.context.statement_id(root.statement), unknown)))
    }

    /// Whether by the server's own account no session was at work.
    fn is_idle_by_account(&self) -> bool {
        self.observed.db_time.as_ref().is_some_and(|known| known.as_ref().is_ok_and(|time| *time <= Ticks::ZERO))
    }

    /// How the account agrees with the samples. That neither has a session at work may have been said of both.
    fn db_time(&self, is_said: bool) -> Option<Finding> {
        match self.observed.db_time.as_ref()? {
            Ok(_) if is_said && self.sampled.db_time <= Ticks::ZERO && self.is_idle_by_account() => None,
            Ok(of_server) => Some(agreement(self.sampled, *of_server)),
            Err(why) => {
                let of = if self.sampled.is_exact { "waits" } else { "samples" };
                let message =
                    format!("The {of} cannot be compared with the server's own account of its sessions' time: {why}.");
                Some(row::NO_DB_TIME.of(message))
            }
        }
    }
}

/// The sampled time of sessions at work beside the server's.
fn agreement(sampled: &Sampled, of_server: Ticks) -> Finding {
    let (samples, error) = (sampled.db_time, sampled.stated_error());
    let made_from = if sampled.is_exact { "their waits" } else { "the samples" };
    if samples <= Ticks::ZERO && of_server <= Ticks::ZERO {
        let message = format!("No session was at work, by {made_from} and by the server's own account.");
        return row::DB_TIME_AGREES.of(message);
    }
    let off = (samples - of_server).0.abs();
    let explained = match sampled.is_exact {
        true => Some("its account leaves out the receipt of a request and the sending of its last rows".to_string()),
        false if error <= Ticks::ZERO => None,
        false => {
            let causes = match sampled.own_error() > Ticks::ZERO {
                true => "sampling, the account's delay and readpath's own session",
                false => "sampling and the account's delay",
            };
            Some(format!("{causes} explain up to {}", shown(error)))
        }
    };
    // No part of nothing.
    let share = (of_server > Ticks::ZERO && samples > Ticks::ZERO)
        .then(|| format!("{:+.1} %", 100.0 * (samples.0 as f64 / of_server.0 as f64 - 1.0)));
    let notes: Vec<String> = share.into_iter().chain(explained).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    let message = format!(
        "Sessions were at work for {} by {made_from} and {} by the server's own account{notes}",
        time_at_work(samples),
        time_at_work(of_server),
    );
    if off <= error.0 || sampled.is_exact {
        return row::DB_TIME_AGREES.of(message + ".");
    }
    let why = match of_server > samples {
        true => ": sessions came and went between samples, or may not be seen.",
        false => {
            ": the server adds the time of a session late where its statements touch no table, so that nothing is \
                  taken for unaccounted."
        }
    };
    row::DB_TIME_DIFFERS.of(message + why)
}

/// A time of sessions at work in words.
fn time_at_work(time: Ticks) -> String {
    if time <= Ticks::ZERO { "no time".into() } else { shown(time) }
}

/// How long it blocked others: samples do not show in how many waits.
fn blocked(root: &BlockerRow, statement: &str, unknown: Ticks) -> String {
    let state = if root.state.is_empty() { String::new() } else { format!(" ({})", root.state) };
    let last = if root.statement.0 == 0 { String::new() } else { format!(", with statement {statement}") };
    let rest = if unknown > Ticks::ZERO {
        format!(
            " Who held the locks of {} more is not known: these waits were over before it was asked.",
            shown(unknown)
        )
    } else {
        String::new()
    };
    format!("Session {}{state}{last} blocked others for {}.{rest}", root.process, shown(root.time))
}

/// Whether sessions were at work, and found there often enough; `is_idle` says that the server's own account has none.
/// Of those that may not be seen nothing is known.
fn scarce(sampled: &Sampled, is_idle: bool, hidden: u64) -> Option<Finding> {
    let samples = counted(sampled.samples, "sample", "samples");
    let account = if is_idle { ", and the server's own account has none" } else { "" };
    let message = match sampled.samples {
        0 if sampled.is_exact => format!(
            "No session that was watched was at work{account}: there is no time to divide. Watch when there is work."
        ),
        // What was seen whole rests on no samples.
        _ if sampled.is_exact => return None,
        0 if sampled.looks == 0 => {
            "No sample was taken: that takes two polls, because each one stands for the time since the one before. \
             Sample for longer."
                .into()
        }
        0 if hidden > 0 && !is_idle => {
            "No sample found a session at work among those that the role of readpath may see: there is no time to \
             divide. The role needs pg_read_all_stats to see the others."
                .into()
        }
        0 => format!(
            "No sample found a session at work{account}: there is no time to divide. Sample when there is work."
        ),
        _ if sampled.db_time <= Ticks::ZERO => format!(
            "No sample found a session at work{account}: all of the time is that of pauses in transactions ({samples})."
        ),
        SAMPLES_MIN.. => return None,
        few => format!(
            "The shares rest on {samples} of sessions at work: each may be off by up to ± {} points. Sample for \
             longer, or when there is work.",
            three_digits(share_error(HALF, few)?)
        ),
    };
    Some(row::SCARCE_SAMPLES.of(message))
}

/// What a number in the place of a wait's name means.
fn numbered(context: &Context) -> Option<Finding> {
    let number = |name: &str| {
        let (kind, number) = name.split_once(":#")?;
        number.bytes().all(|digit| digit.is_ascii_digit()).then(|| (kind.to_string(), number.to_string()))
    };
    let mut names = context.events.iter().filter_map(|event| number(&event.name));
    let (kind, first) = names.next()?;
    let others = match names.count() as u64 {
        0 => String::new(),
        more => format!(", and {more} more like it"),
    };
    let message = format!(
        "{kind}:#{first} is wait event number {first} of the type {kind}{others}: the server's memory has the number, \
         and neither this program's table for that version nor pg_stat_activity, which shows few of them, gave the \
         name."
    );
    Some(row::NUMBERED_EVENTS.of(message))
}

fn hidden(hidden: u64, all: u64) -> Option<Finding> {
    (hidden > 0).then(|| {
        let message = format!(
            "{} of {} {} and may not be seen: {} work is not in the profile, but in the server's account of time. \
             GRANT pg_read_all_stats (or pg_monitor) to the role of readpath.",
            grouped(hidden),
            // Parallel workers are among them: the server does not say which these are.
            counted(all, "process", "processes"),
            if hidden == 1 { "belongs to another role" } else { "belong to other roles" },
            if hidden == 1 { "its" } else { "their" }
        );
        row::HIDDEN_SESSIONS.of(message)
    })
}

fn disabled(count: u64) -> Option<Finding> {
    (count > 0).then(|| {
        let who = counted(count, "session does", "sessions do");
        let message = format!("{who} not report their work (track_activities is off there): it is not in the profile.");
        row::WITHOUT_ACTIVITY.of(message)
    })
}

fn away((why, time): &(String, Ticks)) -> Finding {
    // Nor was a server asked while no recorder ran, and what a recorder saw may not have been written.
    let message = format!("There are no samples of {}: {why}. That time is not in the profile.", shown(*time));
    row::SERVER_WENT_AWAY.of(message)
}

fn rate(looks: u64, time: Ticks, asked: f64) -> Option<Finding> {
    let seconds = time.micros() / 1e6;
    let reached = looks as f64 / seconds;
    (seconds >= 1.0 && reached < RATE_REACHED * asked).then(|| {
        let message = format!(
            "{} samples a second were taken of the {} that were to be taken: the server with its rest after slow \
             answers, the way to it or the wait for a processor of this machine took longer. \
             Each stands for the time since the one before, so that no time is missing.",
            three_digits(reached),
            three_digits(asked)
        );
        row::RATE_NOT_REACHED.of(message)
    })
}

/// That fewer looks were taken than were asked for, because each of them is a query.
fn rate_cut(asked: f64, taken: f64) -> Finding {
    row::RATE_NOT_REACHED.of(format!(
        "--rate {asked} was not followed: where the server's shared memory is not read, each sample is a query, and at \
         most {taken} a second are sent."
    ))
}

fn idle_in_transaction(idle: Ticks, time: Ticks) -> Option<Finding> {
    let part = idle.0 as f64 / time.0.max(1) as f64;
    (part >= IDLE_PART).then(|| {
        let message = format!(
            "Sessions were idle in transaction for {}, {} on average: they hold their locks and old row versions \
             meanwhile. Commit before the program waits for anything else.",
            shown(idle),
            three_digits(part)
        );
        row::IDLE_IN_TRANSACTION.of(message)
    })
}

fn stolen(part: f64, is_exact: bool) -> Option<Finding> {
    (part >= STOLEN_PART).then(|| {
        let place = match is_exact {
            true => "CPU in this profile holds it",
            false => "that part of the sessions' time on a processor is a class of its own, taken evenly from all",
        };
        let message =
            format!("The hypervisor took {} % of the processors' busy time: {place}.", three_digits(100.0 * part));
        row::STOLEN_TIME.of(message)
    })
}

/// The sessions that were not watched to the end: the first of them one by one, and how many there are besides.
fn left_alone(left: &[(u32, String)]) -> Vec<Finding> {
    let named = left.iter().take(LEFT_MAX).map(|(process, why)| {
        format!("Session {process} was not watched to the end: {why}. What was seen before is whole.")
    });
    let more = left.len().saturating_sub(LEFT_MAX) as u64;
    let rest = (more > 0).then(|| {
        format!("{} not watched to the end either.", counted(more, "further session was", "further sessions were"))
    });
    named.chain(rest).map(|message| row::LEFT_ALONE.of(message)).collect()
}

/// A time as sentences have it.
pub(super) fn shown(time: Ticks) -> String {
    format_nanos(time.micros() * 1e3)
}

#[cfg(test)]
mod tests;
