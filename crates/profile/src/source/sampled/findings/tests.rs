//! Its findings, read on both sides of their conditions.

use measure::schema::sampled;
use sides::{Reading, both_sides, reading, says};

use super::*;
use crate::event::{Event, StatementIndex};
use crate::tables::sampled::ActiveSessions;

fn judged(of: &dyn Fn(&mut Accounting, &mut Sampled, &mut Observed)) -> Vec<Finding> {
    judged_with(&Context::default(), of)
}

fn judged_with(context: &Context, of: &dyn Fn(&mut Accounting, &mut Sampled, &mut Observed)) -> Vec<Finding> {
    let mut accounting = Accounting::new(0);
    let (mut sampled, mut observed) = (Sampled::default(), Observed::default());
    (sampled.looks, sampled.samples) = (1, 5_000);
    of(&mut accounting, &mut sampled, &mut observed);
    findings(&Judged { accounting: &accounting, sampled: &sampled, observed: &observed, context })
}

fn micros(micros: i64) -> Ticks {
    Ticks::from_micros(micros)
}

fn of_sessions() -> Vec<Reading> {
    let hidden = reading(
        row::HIDDEN_SESSIONS,
        0..4_u64,
        |count| judged(&|accounting, _, _| (accounting.hidden, accounting.sessions_max) = (*count, 7)),
        |count| {
            let whose = if *count == 1 { "belongs to another role" } else { "belong to other roles" };
            (*count > 0).then(|| says![format!("{count} of 7 processes {whose}"), "pg_read_all_stats"])
        },
    );
    let disabled = reading(
        row::WITHOUT_ACTIVITY,
        0..3_u64,
        |count| judged(&|accounting, _, _| accounting.disabled = *count),
        |count| (*count > 0).then(|| says![if *count == 1 { "1 session does" } else { "2 sessions do" }]),
    );
    let in_transaction = reading(
        row::IDLE_IN_TRANSACTION,
        0..3_000_000_i64,
        |idle| {
            judged(&|accounting, sampled, _| {
                (accounting.idle_in_transaction, sampled.time) = (micros(*idle), micros(10_000_000));
            })
        },
        |idle| (*idle >= 1_000_000).then(|| says!["idle in transaction"]),
    );
    let blockers = reading(
        row::BLOCKERS,
        // How often it was found that a session waits.
        0..3_u64,
        |found| {
            judged(&|_, sampled, _| {
                let row = |level: usize| BlockerRow {
                    level,
                    process: "4711 shop".into(),
                    statement: StatementIndex(0),
                    samples: *found,
                    time: micros(2_000_000),
                    ..BlockerRow::default()
                };
                // All of them are of one session.
                sampled.blockers = if *found > 0 { vec![row(0), row(1)] } else { Vec::new() };
            })
        },
        |found| (*found > 0).then(|| says!["Session 4711 shop", "blocked others for 2.00 s."]),
    );
    vec![hidden, disabled, scarce(), in_transaction, blockers]
}

/// Samples, for how many µs sessions were at work, and whether every wait was seen: 0 is yes.
fn scarce() -> Reading {
    reading(
        row::SCARCE_SAMPLES,
        (0..200_u64, 0..4_i64, 0..3_u8),
        |(count, at_work, exact)| {
            judged(&|_, sampled, _| {
                (sampled.samples, sampled.db_time, sampled.is_exact) = (*count, micros(*at_work), *exact == 0);
            })
        },
        |(count, at_work, exact)| {
            let said = match (count, at_work) {
                (0, _) if *exact == 0 => "No session that was watched was at work: there is no time".into(),
                _ if *exact == 0 => return None,
                (0, _) => "No sample found a session at work: there is no time to divide.".into(),
                (_, 0) => "No sample found a session at work: all of the time is that of pauses".into(),
                (100.., _) => return None,
                (1, _) => "1 sample of".into(),
                (count, _) => format!("{count} samples of"),
            };
            Some(says![said])
        },
    )
}

#[test]
fn a_role_that_may_not_see_the_work_is_not_told_that_there_was_none() {
    let said = |hidden: u64, of_server: i64| {
        let found = judged(&|accounting, sampled, observed| {
            (accounting.hidden, sampled.samples) = (hidden, 0);
            observed.db_time = Some(Ok(micros(of_server)));
        });
        let scarce = found.iter().find(|finding| row::SCARCE_SAMPLES.made(finding)).unwrap();
        scarce.message.clone()
    };
    assert!(said(0, 5).ends_with("Sample when there is work.") && said(3, 0).ends_with("Sample when there is work."));
    assert!(said(3, 5).ends_with("The role needs pg_read_all_stats to see the others."), "{}", said(3, 5));
}

#[test]
fn a_server_that_no_sample_met_is_not_said_to_have_been_idle() {
    let found = judged(&|_, sampled, _| (sampled.looks, sampled.samples) = (0, 0));
    let said = &found.iter().find(|finding| row::SCARCE_SAMPLES.made(finding)).unwrap().message;
    assert!(said.starts_with("No sample was taken") && !said.contains("when there is work"), "{said}");
}

fn of_the_account() -> Vec<Reading> {
    // 10 s sampled with an error of 100 ms, and 0.5 sessions at work: the account may be 500 ms late besides.
    let beside = |of_server: i64| {
        judged(&|_, sampled, observed| {
            sampled.db_time = micros(10_000_000);
            sampled.db_time_error = micros(100_000);
            sampled.active = ActiveSessions { mean: 0.5, ..ActiveSessions::default() };
            observed.db_time = Some(Ok(micros(of_server)));
        })
    };
    let is_near = |of_server: &i64| (10_000_000 - of_server).abs() <= 600_000;
    let agrees = reading(
        row::DB_TIME_AGREES,
        9_000_000..11_000_000_i64,
        move |of_server| beside(*of_server),
        move |of_server| is_near(of_server).then(|| says!["10.0 s by the samples", "up to 600 ms)."]),
    );
    let differs = reading(
        row::DB_TIME_DIFFERS,
        9_000_000..11_000_000_i64,
        move |of_server| beside(*of_server),
        move |of_server| {
            let why = if *of_server > 10_000_000 { "sessions came and went" } else { "the server adds the time" };
            (!is_near(of_server)).then(|| says![format!("up to 600 ms): {why}")])
        },
    );
    let none = reading(
        row::NO_DB_TIME,
        0..2_u8,
        |is_known| {
            judged(&|_, _, observed| {
                let known = if *is_known == 1 { Ok(micros(1)) } else { Err("it was restarted".into()) };
                observed.db_time = Some(known);
            })
        },
        |is_known| (*is_known == 0).then(|| says!["account of its sessions' time: it was restarted."]),
    );
    vec![agrees, differs, none]
}

fn of_numbers() -> Reading {
    reading(
        row::NUMBERED_EVENTS,
        0..4_usize,
        |count| {
            let names = ["IO:DataFileRead", "Lock:#x", "IO:#70", "Lock:#5", "Client:#0"];
            let events = names[..2 + count].iter().map(|name| Event::new(name, &[])).collect();
            judged_with(&Context { events, ..Context::default() }, &|_, _, _| {})
        },
        |count| {
            let others = match count {
                0 => return None,
                1 => "of the type IO: the".to_string(),
                count => format!("of the type IO, and {} more like it: the", count - 1),
            };
            Some(says![format!("IO:#70 is wait event number 70 {others}")])
        },
    )
}

#[test]
fn a_server_without_work_is_said_to_have_none_and_nothing_is_divided_by_it() {
    let said = |samples: i64, of_server: i64| {
        let found = judged(&|_, sampled, observed| {
            sampled.db_time = micros(samples);
            observed.db_time = Some(Ok(micros(of_server)));
        });
        let about = [row::DB_TIME_AGREES, row::DB_TIME_DIFFERS];
        found.into_iter().find(|one| about.iter().any(|row| row.made(one))).unwrap().message
    };
    for (samples, of_server, part) in [
        (0, 20_000, "for no time by the samples and 20.0 ms by the server's own account: sessions came and went"),
        (20_000, 0, "for 20.0 ms by the samples and no time by the server's own account: the server adds"),
    ] {
        let said = said(samples, of_server);
        assert!(said.contains(part) && !said.contains(" %") && !said.contains("0 ns"), "{said}");
    }
}

#[test]
fn a_server_without_work_is_said_to_have_none_once() {
    let said = |samples: u64, is_exact: bool| {
        let found = judged(&|_, sampled, observed| {
            (sampled.samples, sampled.is_exact) = (samples, is_exact);
            observed.db_time = Some(Ok(Ticks::ZERO));
        });
        let said = found.into_iter().map(|one| one.message).filter(|said| said.contains("at work"));
        said.collect::<Vec<String>>()
    };
    for (samples, is_exact, part) in [
        (0, true, "was at work, and the server's own account has none: there is no time to divide. Watch when"),
        (0, false, "at work, and the server's own account has none: there is no time to divide. Sample when"),
        (7, false, "at work, and the server's own account has none: all of the time is that of pauses"),
    ] {
        let said = said(samples, is_exact);
        assert!(said.len() == 1 && said[0].contains(part), "{said:?}");
    }
    // What was seen whole, and is no work, is said by the account alone.
    assert_eq!(said(7, true), ["No session was at work, by their waits and by the server's own account."]);
}

#[test]
fn a_rate_that_a_server_is_not_asked_at_is_not_cut_in_silence() {
    let found = judged(&|_, _, observed| (observed.rate, observed.rate_asked) = (100.0, Some(500.0)));
    let said: Vec<&str> =
        found.iter().filter(|one| row::RATE_NOT_REACHED.made(one)).map(|one| one.message.as_str()).collect();
    assert!(said.len() == 1 && said[0].starts_with("--rate 500 was not followed: "), "{said:?}");
    assert!(said[0].ends_with("at most 100 a second are sent."), "{said:?}");
}

/// A finding that stands where something was observed.
fn observed(row: measure::schema::FindingSpec, note: fn(&mut Observed), said: &'static str) -> Reading {
    reading(
        row,
        0..2_u8,
        move |stands| {
            judged(&|_, _, observed| {
                if *stands == 1 {
                    note(observed);
                }
            })
        },
        move |stands| (*stands == 1).then(|| says![said]),
    )
}

fn of_the_way() -> Vec<Reading> {
    let stolen = reading(
        row::STOLEN_TIME,
        0..40_u32,
        |thousandths| judged(&|_, sampled, _| sampled.stolen = Some(f64::from(*thousandths) / 1e3)),
        |thousandths| (*thousandths >= 10).then(|| says!["of the processors' busy time"]),
    );
    let rate = reading(
        row::RATE_NOT_REACHED,
        1..1_000_u64,
        |looks| {
            judged(&|_, sampled, observed| {
                (sampled.looks, sampled.time, observed.rate) = (*looks, micros(10_000_000), 50.0);
            })
        },
        |looks| (*looks < 450).then(|| says!["of the 50.0 that were to be taken"]),
    );
    vec![
        stolen,
        rate,
        observed(row::LEVEL, |observed| observed.level = vec!["Made from samples.".into()], "Made from samples."),
        observed(
            row::SERVER_WENT_AWAY,
            |observed| observed.away = vec![("it was closed".into(), micros(3_000_000))],
            "There are no samples of 3.00 s: it was closed.",
        ),
        observed(
            row::SAMPLING_ENDED,
            |observed| observed.ended = Some("the server did not come back".into()),
            "ended early: the server did not come back. What was sampled before is whole.",
        ),
        observed(row::LOGS_EVERY_SAMPLE, |observed| observed.logged = Some(9), "wrote at least 9 lines of readpath"),
        observed(
            row::LEFT_ALONE,
            |observed| observed.left = vec![(7, "it ended".into())],
            "Session 7 was not watched to the end: it ended.",
        ),
        observed(
            row::LOAD_FAILED,
            |observed| observed.load_failed = Some("The command failed.".into()),
            "The command failed.",
        ),
    ]
}

#[test]
fn what_sampling_met_and_could_not_see_is_said_where_it_is_so() {
    let all = of_sessions().into_iter().chain(of_the_account()).chain(of_the_way()).chain([of_numbers()]);
    both_sides(&sampled::findings::ALL, all);
}

#[test]
fn sessions_that_were_left_alone_are_counted_beyond_those_that_are_named() {
    let left: Vec<(u32, String)> = (1..=7).map(|process| (process, "its waits come fast".into())).collect();
    let said = left_alone(&left);
    assert_eq!((said.len(), left_alone(&left[..5]).len()), (6, 5));
    assert_eq!(said[5].message, "2 further sessions were not watched to the end either.");
}
