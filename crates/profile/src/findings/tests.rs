//! The findings of a profile, read on both sides of their conditions.

mod answers;
mod caveats;
mod files;
mod instruments;
mod made;
mod practices;
mod problems;
mod repeated;
mod trace;

use measure::schema::profile;
use sides::both_sides;

use super::*;
use crate::document::Selection;
use crate::event::Unread;
use crate::event::{CallKind, Context, Cost, Event, EventIndex, Problem, ProblemKind, Statement, StatementIndex};
use crate::ingest::Ingested;
use crate::source::SourceFile;
use crate::source::unread::LISTED_MAX;
use crate::tables::sampled::Sampled;
use crate::tables::{CallSums, EventSums, SessionProfile, StatementProfile, Transactions};

fn micros(micros: i64) -> Ticks {
    Ticks::from_micros(micros)
}

/// A second, most of it reads of single blocks; 100 executions of a statement, each with a parse.
fn profile() -> Profile {
    let calls = |calls, cpu| {
        let own = Cost { cpu: Some(micros(cpu)), elapsed: micros(cpu), consistent_gets: 10, ..Cost::default() };
        CallSums { calls, own, ..CallSums::default() }
    };
    let event = Event::new("db file sequential read", &[]);
    let statement = Statement { id: "9qf3hs81ntb6d".into(), text: "select 1".into(), ..Statement::default() };
    Profile {
        context: Context {
            events: vec![event],
            statements: vec![statement],
            call_names: vec!["PARSE".into(), "EXEC".into()],
            ..Context::default()
        },
        whole: SessionProfile {
            interval: micros(1_000_000),
            cpu: micros(60_000),
            waits: micros(950_000),
            unaccounted_within: micros(-10_000),
            waits_are_traced: true,
            calls: [((0, false), calls(100, 20_000)), ((1, false), calls(100, 40_000))].into(),
            events: [(EventIndex(0), EventSums { count: 9, total: micros(950_000), ..EventSums::default() })].into(),
            ..SessionProfile::default()
        },
        statements: vec![StatementProfile {
            statement: StatementIndex(0),
            calls: [(0, calls(100, 20_000)), (1, calls(100, 40_000))].into_iter().collect(),
            ..StatementProfile::default()
        }],
        ..Profile::default()
    }
}

fn ids(profile: &Profile) -> Vec<String> {
    findings(profile, &HotSpots::default(), Order::ResponseTime, &["a.trc".into()])
        .into_iter()
        .map(|finding| finding.id)
        .collect()
}

#[test]
fn the_largest_class_is_named_and_has_its_practices_and_small_ones_have_none() {
    let found = findings(&profile(), &HotSpots::default(), Order::ResponseTime, &[]);
    let largest = found.iter().find(|finding| finding.id == "answer-class").unwrap();
    assert_eq!(largest.message, "Largest class: single-block reads, 95.0 % of the response time of 1.00 s.");
    let practices: Vec<&str> =
        found.iter().map(|finding| finding.id.as_str()).filter(|id| id.starts_with("practice-")).collect();
    assert_eq!(practices, ["practice-single-block-reads"]);
}

#[test]
fn time_that_no_class_has_is_not_called_the_largest_class() {
    let mut profile = made::profile(10, &[]);
    profile.whole.unaccounted_between = micros(90);
    profile.sampled = Some(Box::default());
    let found = made::found(&profile);
    let largest = found.iter().find(|finding| row::ANSWER_CLASS.made(finding)).unwrap();
    assert!(largest.message.starts_with("Largest part: unaccounted for, 90.0 % of "), "{}", largest.message);
    assert!(largest.message.ends_with("; then CPU, 10.0 %."), "{}", largest.message);
}

#[test]
fn commits_of_two_days_are_not_spread_over_the_time_between_the_traces() {
    let mut profile = made::profile(3_000_000, &[]);
    profile.whole.unrecorded = micros(1_000_000);
    profile.whole.transactions = Transactions { commits: 100, ..Transactions::default() };
    profile.sessions = vec![SessionProfile::default(); 2];
    (profile.first_clock, profile.last_clock) = (Some(0), Some(86_400_000_000));
    let found = made::found(&profile);
    let said = found.iter().find(|finding| row::TRANSACTIONS.made(finding)).unwrap();
    assert!(said.message.ends_with("; 50.0 commits a second."), "{}", said.message);
}

#[test]
fn an_instance_that_is_called_like_a_shared_server_has_servers_of_its_own() {
    let is_shared = |name: &str| is_shared_server(&[name.into()]);
    assert!(is_shared("/u01/trace/shop_s000_77.trc") && is_shared("C:\\trace\\shop_s012_77.trc"));
    assert!(is_shared("ora_s000_77.trc") && is_shared("s100_s000_77_tag.trc"));
    assert!(["s100_ora_77.trc", "s100_j000_77.trc", "/s000_x/shop_ora_77.trc"].iter().all(|name| !is_shared(name)));
}

#[test]
fn what_explains_or_spoils_a_number_is_said() {
    let mut profile = profile();
    assert!(ids(&profile).contains(&"negative-unaccounted-within".into()));
    assert!(ids(&profile).contains(&"parsed-at-every-execution".into()));
    assert!(!ids(&profile).contains(&"waits-not-traced".into()));
    profile.whole.waits_are_traced = false;
    profile.context.events[0].name = "an event of a release to come".into();
    let problem = Problem { kind: ProblemKind::SizeLimit, count: 1, first_file: 0, first_offset: 77 };
    profile.problems.push(problem);
    let found = findings(&profile, &HotSpots::default(), Order::ResponseTime, &["a.trc".into()]);
    for id in ["waits-not-traced", "events-without-class", "size-limit"] {
        assert!(found.iter().any(|finding| finding.id == id), "{id}");
    }
    assert!(found.iter().any(|finding| finding.message.contains("first in a.trc, byte 77")));
}

#[test]
fn a_problem_whose_place_no_source_knows_is_said_without_the_first_byte_of_the_first_file() {
    let mut profile = profile();
    profile.problems.extend(Problem::without_place(ProblemKind::TooLarge, 3));
    assert_eq!(Problem::without_place(ProblemKind::SessionsShared, 0), None);
    let found = findings(&profile, &HotSpots::default(), Order::ResponseTime, &["a.log".into()]);
    let large = found.iter().find(|finding| finding.id == "number-too-large").unwrap();
    assert!(large.message.ends_with("were left out of every sum: the file is damaged."), "{}", large.message);
}

#[test]
fn statements_of_samples_that_are_added_up_bring_no_advice_that_is_refused() {
    let said = |sampled: Option<Box<Sampled>>| -> String {
        let mut profile = Profile { sampled, ..made::profile(10, &[]) };
        for number in 0..2_001 {
            made::add(&mut profile, made::query(&number.to_string()), &[]);
        }
        let found = made::found(&profile).into_iter().find(|finding| finding.id == "statements-added-up");
        found.unwrap().message
    };
    assert!(said(None).contains("--fold-literals"));
    let of_samples = said(Some(Box::default()));
    assert!(of_samples.ends_with("have their own."), "{of_samples}");
}

#[test]
fn sessions_that_share_a_row_are_not_counted_as_one_where_waits_were_not_traced() {
    let said = |is_traced: bool, folded: u64| {
        let mut profile = profile();
        let calls = &profile.whole.calls;
        let sessions = [false, true, is_traced].map(|waits_are_traced| SessionProfile {
            calls: calls.clone(),
            unaccounted_within: micros(5),
            waits_are_traced,
            ..SessionProfile::default()
        });
        (profile.sessions, profile.sessions_folded) = (sessions.into(), folded);
        let found = findings(&profile, &HotSpots::default(), Order::ResponseTime, &[]);
        let found = found.into_iter().find(|finding| finding.id == "waits-of-sessions-not-traced");
        found.unwrap().message.split(" no wait").next().unwrap().to_string()
    };
    assert_eq!(said(true, 0), "1 of 3 sessions has");
    assert_eq!(said(true, 600), "At least 1 of 602 sessions has");
    assert_eq!(said(false, 600), "601 of 602 sessions have");
}

#[test]
fn an_error_of_number_0_is_named_and_is_none_of_the_others() {
    let errors = [(Some(0), 7), (None, 2)].into_iter().collect();
    let found = findings(&Profile { errors, ..profile() }, &HotSpots::default(), Order::ResponseTime, &[]);
    let failed = found.iter().find(|finding| finding.id == "failed-calls").unwrap();
    assert!(failed.message.starts_with("9 calls failed (error 0: 7, others: 2);"), "{}", failed.message);
}

#[test]
fn an_empty_profile_says_nothing_rather_than_dividing_by_it() {
    assert!(findings(&Profile::default(), &HotSpots::default(), Order::Cpu, &[]).is_empty());
}

#[test]
fn a_question_mark_in_a_text_is_not_taken_for_several_texts() {
    let is_of_several = |id: &str, folded: u64| {
        let mut profile = made::profile(10, &[]);
        let known = Statement { text: "select a from t where regexp_like(b, 'colou?r')".into(), ..made::query(id) };
        made::add(&mut profile, known, &[]).folded = folded;
        super::naming::is_of_several_texts(&profile, &profile.statements[0])
    };
    assert!(!is_of_several("9qf3hs81ntb6d", 0));
    assert!(is_of_several("9qf3hs81ntb6d", 1));
    assert!(is_of_several("folded-1", 0), "the registry's row of many such statements");
}

#[test]
fn parses_of_many_statements_in_one_row_get_no_advice_for_one_text() {
    let mut many = made::profile(0, &[]);
    let parses = CallSums { misses: 200, ..made::calls(200, 200_000, 0, 0) };
    many.whole.cpu = micros(200_000);
    many.whole.calls = [((CallKind::Parse as u16, false), parses.clone())].into();
    let done = [(CallKind::Parse, parses), (CallKind::Exec, made::calls(200, 0, 0, 0))];
    made::add(&mut many, Statement { text: String::new(), ..made::query("other statements") }, &done);
    let said: Vec<String> = made::found(&many).into_iter().map(|finding| finding.message).collect();
    let said = said.join(" ");
    assert!(said.contains("200 of 200 parses are hard. Use bind variables"), "{said}");
    assert!(!said.contains("the text is the same") && !said.contains("is parsed at every execution"), "{said}");
}

#[test]
fn the_row_of_all_further_statements_has_no_saving_as_if_it_were_one() {
    let mut many = made::profile(10, &[]);
    for number in 0..=STATEMENTS_MAX {
        let done = [(CallKind::Exec, made::calls(1, 0, 0, 0)), (CallKind::Fetch, made::calls(100, 0, 0, 200))];
        made::add(&mut many, made::query(&format!("s{number}")), &done);
    }
    let selection = Selection { order: Order::ResponseTime, top: 0, statement: None, hides_texts: false };
    let cases = crate::document::cases(&many, &selection);
    let saves = |id: &str| {
        let mut rows = cases.iter().filter(|case| case.parameter("table").as_deref() == Some("statement"));
        let row = rows.find(|case| case.parameter("id").as_deref() == Some(id)).unwrap();
        row.metric("round_trips_saved").is_some()
    };
    assert!(saves("s0") && !saves("(others)"));
}

#[test]
fn a_wait_for_a_lock_that_the_program_asked_for_is_explained_and_gets_no_advice_for_locks_on_rows() {
    let of_locks = |event: &str| {
        let found = made::found(&made::profile(10, &[(event, 90)]));
        found.into_iter().find(|finding| finding.id == "practice-application").unwrap().message
    };
    let said = of_locks("Lock:advisory");
    assert!(said.contains("Lock:advisory: The program takes these locks by numbers of its own"), "{said}");
    assert!(!said.contains("foreign keys"), "{said}");
    assert!(of_locks("Lock:transactionid").contains("foreign keys"));
}

#[test]
fn advice_for_an_event_that_is_the_lesser_part_of_a_class_does_not_stand_for_all_of_it() {
    let of_locks = |rows: i64, advisory: i64| {
        let waits = [("Lock:transactionid", rows), ("Lock:advisory", advisory)];
        let mut found = made::found(&made::profile(10, &waits)).into_iter();
        found.find(|finding| finding.id == "practice-application").unwrap().message
    };
    let of_rows = of_locks(70, 30);
    let (advisory, class) = (of_rows.find("Lock:advisory: "), of_rows.find("Make transactions shorter"));
    assert!(advisory.is_some() && advisory < class, "{of_rows}");
    let of_advisory = of_locks(30, 70);
    assert!(of_advisory.contains("Lock:advisory: ") && !of_advisory.contains("foreign keys"), "{of_advisory}");
}

#[test]
fn a_list_of_unread_lines_is_not_offered_where_it_is_shown_and_says_where_it_was_cut() {
    let lines = |lines: u64| Unread { kind: "other line", lines, ..Unread::default() };
    let said = |files: usize, lists_unread: bool| {
        let unread_within = (0..files).map(|number| (format!("a.tar/{number}.trc"), lines(1))).collect();
        let unread = vec![lines(LISTED_MAX as u64 + 7)];
        let file = SourceFile { name: "a.tar".into(), unread, unread_within, ..SourceFile::default() };
        let ingested = Ingested { files: vec![file], lists_unread, ..trace::ingested(profile()) };
        let mut found = trace::said(ingested).into_iter().filter(|finding| finding.id == "unread-lines");
        found.next().unwrap().message
    };
    let (offered, rows) = (said(LISTED_MAX, false), grouped(LISTED_MAX as u64));
    assert!(offered.ends_with("). --explain-unread lists them by file."), "{offered}");
    assert!(said(9, true).ends_with(&format!("(other line: {}).", grouped(4_103))), "no cut, but lines of no file");
    let cut = said(LISTED_MAX, true);
    let rest =
        format!("7 of those in a.tar are listed without their file: the list names files in {rows} rows at most.");
    assert!(cut.ends_with(&rest), "{cut}");
}

#[test]
fn what_a_profile_says_follows_from_its_values() {
    let of_tables = answers::readings().into_iter().chain(practices::readings()).chain(repeated::readings());
    let of_caveats = caveats::readings().into_iter().chain(problems::readings());
    let of_inputs = files::readings().into_iter().chain(instruments::readings());
    both_sides(&profile::findings::ALL, of_tables.chain(of_caveats).chain(of_inputs));
}
