//! The pages as a terminal without colours shows them.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use profile::source::sampled::{Backend, Sample};
use profile::tables::read_tiers::{ByTier, ReadSums, ReadTier};

use super::*;
use crate::tests::{TENTH, sample, seconds_of};
use crate::view::Asked;

fn history() -> History {
    let mut samples = vec![
        sample(11, "select * from orders where id = 5", Some("IO:DataFileRead")),
        sample(12, "select * from orders where id = 6", None),
        sample(13, "update stock set n = n - 1", Some("Lock:transactionid")),
    ];
    let mut open = sample(14, "update stock set n = 0", Some("Client:ClientRead"));
    open.state = State::IdleInTransaction;
    samples.push(open);
    let mut history = seconds_of(1, &samples);
    history.blocking(&[(13, vec![14])]);
    (0..60).for_each(|_| history.look(Duration::from_millis(100), &samples));
    history
}

fn facts() -> Facts {
    Facts { server: "db:5432/shop  PostgreSQL 18.1".into(), level: "of its memory".into(), ..Facts::default() }
}

fn drawn(history: &History, view: &View, facts: &Facts, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            Drawn::new(history, view, facts).draw(frame);
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol().to_string()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_string()).collect()
}

fn pressed(keys: &str) -> View {
    let mut view = View::default();
    for key in keys.chars() {
        let code = if key == '<' { KeyCode::Left } else { KeyCode::Char(key) };
        view.press(KeyEvent::new(code, KeyModifiers::NONE), 7, 7);
    }
    view
}

#[test]
fn eighty_columns_show_the_load_its_classes_and_the_statements() {
    let lines = drawn(&history(), &View::default(), &facts(), (80, 24));
    let page = lines.join("\n");
    assert!(
        lines[0].starts_with("readpath top  db:5432/shop  PostgreSQL 18.1") && lines[0].ends_with("live"),
        "{page}"
    );
    assert!(lines[1].starts_with("3.00 sessions at work on average of 5 s  (10.0 samples a second"), "{page}");
    let statement = lines.iter().find(|line| line.contains("select * from orders")).unwrap();
    // Two literals, one statement; half of its time is of each class.
    assert!(statement.starts_with(" 67 %  2.00  ") && !page.contains("id = 5"), "{page}");
    assert!(statement.contains("CCCCCRRRRR") || statement.contains("RRRRRCCCCC"), "{page}");
    assert!(lines[23].starts_with("q quit"), "{page}");
}

#[test]
fn the_time_of_unknown_statements_is_not_missing_among_the_statements() {
    let samples = [sample(11, "select 1", None), sample(12, "", None), sample(13, "", None), sample(14, "begin", None)];
    let page = drawn(&seconds_of(5, &samples), &View::default(), &facts(), (80, 24));
    let at = |text: &str| page.iter().position(|line| line.ends_with(text)).unwrap();
    assert!(page[at("(not known)")].starts_with(" 50 %  2.00  "), "{page:?}");
    assert!(at("(not known)") < at("select ?").min(at("begin")), "{page:?}");
    let known = drawn(&history(), &View::default(), &facts(), (80, 24)).join("\n");
    assert!(!known.contains("(not known)"), "{known}");
}

#[test]
fn each_table_shows_its_own() {
    let shows = |keys: &str, parts: &[&str]| {
        let page = drawn(&history(), &pressed(keys), &facts(), (100, 30)).join("\n");
        for part in parts {
            assert!(page.contains(part), "no {part}: {page}");
        }
    };
    shows("2", &["shop@db", "100 %  IO:DataFileRead", "0.0 %  idle in transaction", "update stock set"]);
    shows("3", &[" 33 %  1.00  Lock:transactionid"]);
    shows("4", &["14 shop@db (idle in transaction)  update stock", "  13 shop@db  5.00 s  Lock:transactionid"]);
    shows("?", &["Nothing is changed on the server."]);
}

#[test]
fn forty_columns_leave_out_what_is_needed_least_and_cut_no_word() {
    let has = |keys: &str, wanted: &dyn Fn(&str) -> bool| {
        let lines = drawn(&history(), &pressed(keys), &facts(), (40, 24));
        assert!(lines.iter().any(|line| wanted(line)), "{keys}: {lines:#?}");
        lines.join("\n")
    };
    has("1", &|line: &str| line.starts_with(" 67 %") && line.ends_with("  select *..."));
    has("1", &|line: &str| line == " 1 statements   2   3   4   5");
    has("1", &|line: &str| line == "q quit  space stop  1-5 tables  ? help");
    has("1", &|line: &str| line.trim_start().starts_with("a second each  ") && line.ends_with('Z'));
    has("2", &|line: &str| line == "    pid  % busy  doing");
    let sessions = has("2", &|line: &str| line.ends_with(" 0.0 %  idle in transaction"));
    assert!(!sessions.contains("shop@db"), "{sessions}");
    has("4", &|line: &str| line.starts_with("14 shop@db (idle in transaction)") && line.ends_with("..."));
    has("?", &|line: &str| line == KEYS_OF_HELP[0]);
    let samples = [sample(11, "select * from orders where id = 5", None)];
    let mut history = seconds_of(0, &samples);
    for look in 0..40 {
        let (reads, hits) = counted(look / 10);
        history.reads(Some(&reads), Some(hits));
        history.look(TENTH, &samples);
    }
    let lines = drawn(&history, &pressed("5"), &facts(), (40, 24));
    for row in ["blocks/s      %  answered by", "   6\u{202f}000   30.0  the kernel's page cache"] {
        assert!(lines.iter().any(|line| line == row), "{row}: {lines:#?}");
    }
}

/// What the kernel's tracepoints and the server have counted so far, a second after another.
fn counted(second: u64) -> (ByTier, u64) {
    let sums = |reads: u64, blocks: u64, micros: i64| ReadSums {
        reads,
        blocks,
        bytes: blocks * 8192,
        time: profile::event::Ticks::from_micros(micros),
        ..ReadSums::default()
    };
    let mut reads = ByTier::default();
    *reads.of_mut(ReadTier::PageCache) = sums(3000 * second, 6000 * second, 9_000 * second as i64);
    *reads.of_mut(ReadTier::Device) = sums(100 * second, 100 * second, 50_000 * second as i64);
    (reads, 13_900 * second)
}

#[test]
fn reads_are_shown_by_the_tier_that_answered_or_the_reason_why_not() {
    let samples = [sample(11, "select * from orders where id = 5", None)];
    let mut history = seconds_of(0, &samples);
    for look in 0..40 {
        let (reads, hits) = counted(look / 10);
        history.reads(Some(&reads), Some(hits));
        history.look(Duration::from_millis(100), &samples);
    }
    let lines = drawn(&history, &pressed("5"), &facts(), (80, 24));
    let row = |name: &str| {
        let line = lines.iter().find(|line| line.ends_with(name)).unwrap_or_else(|| panic!("{lines:#?}"));
        // The digits of a number are grouped by a thin space.
        line.split(' ').filter(|word| !word.is_empty()).take(5).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(row("shared buffers")[..2], ["13\u{202f}900", "69.5"]);
    assert_eq!(row("the kernel's page cache"), ["6\u{202f}000", "30.0", "3\u{202f}000", "46.9", "3.00"]);
    assert_eq!(row("the device")[..4], ["100", "0.5", "100", "0.781"]);
    assert!(!lines.join("\n").contains("not seen whole") && lines[23].contains("1-5 tables"), "{lines:#?}");
    let why = "the kernel lets this process trace no other one (kernel.perf_event_paranoid is 2); root may";
    let untraced = Facts { untraced: Some(why.into()), ..facts() };
    let mut history = seconds_of(0, &samples);
    (0..40).for_each(|look| {
        history.reads(None, Some(look * 100));
        history.look(Duration::from_millis(100), &samples);
    });
    let lines = drawn(&history, &pressed("5"), &untraced, (80, 24));
    let page = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("is not known: the kernel lets this process trace no other one"), "{lines:#?}");
    assert!(page.contains("1 000 shared buffers"), "{lines:#?}");
}

#[test]
fn what_was_not_seen_whole_has_no_share_and_takes_none_from_the_tiers() {
    let samples = [sample(11, "select * from orders where id = 5", None)];
    let mut history = seconds_of(0, &samples);
    for look in 0..40 {
        let (mut reads, hits) = counted(look / 10);
        let (lost, blocks) = (100 * (look / 10), 20_000 * (look / 10));
        *reads.of_mut(ReadTier::NotSeen) = ReadSums { reads: lost, blocks, ..ReadSums::default() };
        history.reads(Some(&reads), Some(hits));
        history.look(Duration::from_millis(100), &samples);
    }
    let lines = drawn(&history, &pressed("5"), &facts(), (80, 24));
    let row = |name: &str| {
        let line = lines.iter().find(|line| line.ends_with(name)).unwrap_or_else(|| panic!("{lines:#?}"));
        line.split(' ').filter(|word| !word.is_empty()).take(2).map(String::from).collect::<Vec<_>>()
    };
    let shares = ["shared buffers", "the kernel's page cache", "the device"].map(|name| row(name)[1].clone());
    assert_eq!(shares, ["69.5", "30.0", "0.5"]);
    // Its second number is that of its reads.
    assert_eq!(row("not seen whole"), ["20\u{202f}000", "100"]);
}

#[test]
fn a_table_that_was_moved_beyond_its_last_line_moves_back_at_the_first_key() {
    let (history, facts) = (history(), facts());
    let key = |code| KeyEvent::new(code, KeyModifiers::NONE);
    let mut view = View::default();
    (0..1000).for_each(|_| assert_eq!(view.press(key(KeyCode::Down), 7, 7), Asked::Nothing));
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut first = 0;
    terminal.draw(|frame| first = Drawn::new(&history, &view, &facts).draw(frame)).unwrap();
    // Two statements were at work.
    assert_eq!((view.first, first), (1000, 1));
    view.first = first;
    view.press(key(KeyCode::Up), 7, 7);
    assert_eq!(view.first, 0);
}

#[test]
fn the_help_is_whole_on_a_small_terminal_and_names_every_letter_and_what_q_does_there() {
    assert!(HELP.len() <= 21 && HELP.iter().all(|line| line.chars().count() <= 80), "{HELP:#?}");
    let lines = drawn(&history(), &pressed("?"), &facts(), (80, 24));
    assert_eq!(&lines[2..2 + HELP.len()], HELP);
    assert!(lines[23].starts_with("q leave this help") && !lines[23].contains("q quit"), "{}", lines[23]);
    let explained = HELP.join("  ");
    for row in measure::wait_class::CLASSES {
        let letter = format!("  {} ", mark(row.class).0);
        assert!(format!("  {explained}").contains(&letter), "no {letter} of {}", row.key);
    }
    // A letter of two classes is explained by the titles that the legend has.
    for class in [Class::Concurrency, Class::Configuration, Class::Application] {
        assert!(explained.contains(class.title(true)), "{class:?}");
    }
}

#[test]
fn what_has_no_room_is_left_out_whole_and_the_legend_takes_more_lines() {
    let events = [
        "IO:DataFileRead",
        "IO:WALSync",
        "Lock:transactionid",
        "LWLock:WALWrite",
        "Client:ClientWrite",
        "Extension:Other",
        "IO:BufFileRead",
    ];
    let samples: Vec<_> = events
        .iter()
        .zip(20..)
        .map(|(event, pid)| sample(pid, "select 1", Some(event)))
        .chain([sample(11, "select 1", None)])
        .collect();
    let long = Facts { server: "postgres://me@a.long.host.example:5432/shop  PostgreSQL 18.1".into(), ..facts() };
    let many = Facts { level: "of pg_stat_activity".into(), ..long };
    let history = seconds_of(7, &samples);
    let lines = drawn(&history, &View::default(), &many, (80, 24));
    let page = lines.join("\n");
    assert!(lines[0].contains("PostgreSQL 18.1 ") && lines[0].ends_with("live"), "{page}");
    assert!(lines[1].ends_with(" samples/s, of pg_stat_activity)"), "{page}");
    let classes: std::collections::BTreeSet<&str> =
        events.iter().map(|event| measure::wait_class::class_of(event).title(true)).collect();
    let share = |line: &String, title: &str| line.split_once(title).is_some_and(|(_, rest)| rest.contains(" %"));
    let legend = lines.iter().filter(|line| classes.iter().any(|title| share(line, title))).count();
    assert!(legend > 1 && classes.iter().all(|title| lines.iter().any(|line| share(line, title))), "{page}");
    assert!(lines[23].starts_with("q quit") && page.contains("select ?"), "{page}");
}

#[test]
fn a_waiter_whose_holder_was_not_asked_for_says_so() {
    let samples = [sample(13, "update stock set n = n - 1", Some("Lock:transactionid"))];
    let page = drawn(&seconds_of(7, &samples), &pressed("4"), &facts(), (80, 24)).join("\n");
    assert!(page.contains(UNKNOWN_HOLDER) && UNKNOWN_HOLDER.len() <= 80, "{page}");
}

#[test]
fn what_stands_still_says_so_and_what_is_silent_too() {
    let lines = drawn(&history(), &pressed("<"), &facts(), (80, 24));
    assert!(lines[0].ends_with("STOPPED"), "{}", lines[0]);
    let silent = Facts { trouble: Some("The server has not answered for 9 s.".into()), ..facts() };
    let lines = drawn(&history(), &View::default(), &silent, (80, 24));
    assert!(lines[0].ends_with("no samples") && lines[1].contains("for 9 s"), "{lines:?}");
}

#[test]
fn texts_that_are_not_wanted_are_not_shown() {
    let facts = Facts { hides_texts: true, ..facts() };
    for keys in ["1", "2", "4"] {
        let page = drawn(&history(), &pressed(keys), &facts, (100, 30)).join("\n");
        assert!(!page.contains("orders") && !page.contains("stock"), "{page}");
    }
}

#[test]
fn nothing_yet_and_no_room_are_drawn_too() {
    let empty = History::new(0);
    assert!(drawn(&empty, &View::default(), &facts(), (80, 24))[1].contains("Waiting for the first second."));
    for size in [(1, 1), (5, 3), (20, 6), (40, 12), (300, 100)] {
        for keys in ["", "2", "3", "4", "5", "?", "-----<"] {
            drawn(&history(), &pressed(keys), &facts(), size);
            drawn(&empty, &pressed(keys), &facts(), size);
        }
    }
}

#[test]
fn a_time_without_samples_is_not_said_to_be_before_the_first_second() {
    let mut history = History::new(0);
    history.lose(Duration::from_secs(5));
    let line = &drawn(&history, &View::default(), &facts(), (80, 24))[1];
    assert_eq!(line, "5.00 s without samples");
}

#[test]
fn a_server_that_is_away_moves_the_chart_on_by_a_column_of_question_marks_a_second() {
    let mut history = seconds_of(7, &[sample(11, "select 1", None)]);
    (0..3).for_each(|_| history.lose(Duration::from_secs(4)));
    let lines = drawn(&history, &View::default(), &facts(), (80, 24));
    let columns = format!(" {}{}", "C".repeat(7), "?".repeat(12));
    assert!(lines.iter().any(|line| line.ends_with(&columns)), "{lines:#?}");
    assert!(lines.iter().any(|line| line.ends_with("08:00:19Z")), "{lines:#?}");
}

#[test]
fn the_first_time_below_the_chart_stands_at_the_column_that_it_names() {
    let times = |seconds: usize| {
        let history = seconds_of(seconds, &[sample(11, "select 1", None)]);
        let lines = drawn(&history, &View::default(), &facts(), (80, 24));
        lines.into_iter().find(|line| line.contains("a second each")).unwrap()
    };
    let (few, some, many) = (times(3), times(20), times(100));
    assert!(few.ends_with("  08:00:03Z") && !few.contains("08:00:01Z"), "{few}");
    // 74 columns have room.
    assert!(some.find("08:00:01Z") == Some(6 + 74 - 20) && some.ends_with("  08:00:20Z"), "{some}");
    assert!(many.find("08:00:27Z") == Some(6) && many.ends_with("  08:01:40Z"), "{many}");
    assert!([few, some, many].iter().all(|line| line.len() == 80));
}

#[test]
fn sessions_that_wait_for_each_other_are_shown_next_to_others_that_wait() {
    let waiting = |pid: u32| sample(pid, "update stock set n = n - 1", Some("Lock:transactionid"));
    let samples = [waiting(4021), waiting(4022), waiting(4031)];
    let mut history = seconds_of(1, &samples);
    history.blocking(&[(4021, vec![4022]), (4022, vec![4021]), (4031, vec![4030])]);
    (0..60).for_each(|_| history.look(Duration::from_millis(100), &samples));
    let page = drawn(&history, &pressed("4"), &facts(), (100, 30)).join("\n");
    for process in ["4021", "4022", "4030", "4031"] {
        assert!(page.contains(process), "{process}: {page}");
    }
}

fn waiting(pid: u32) -> Sample {
    sample(pid, "update stock set n = n - 1", Some("Lock:transactionid"))
}

#[test]
fn a_chain_stands_below_its_own_top_and_not_below_that_of_a_later_one() {
    let mut history = History::new(0);
    // 33 waits for 32; when that is over, 32 waits for 31.
    for (waiter, blocker) in [(33, 32), (32, 31)] {
        history.blocking(&[(waiter, vec![blocker])]);
        (0..20).for_each(|_| history.look(TENTH, &[waiting(waiter)]));
    }
    let lines = drawn(&history, &pressed("4"), &facts(), (100, 30));
    let place = |start: &str| {
        let place = lines.iter().position(|line| line.starts_with(start));
        place.unwrap_or_else(|| panic!("no {start}: {lines:#?}"))
    };
    assert_eq!(place("  32 shop@db  2.00 s"), place("31") + 1, "{lines:#?}");
    assert_eq!(place("  33 shop@db  2.00 s"), place("32 shop@db (active)") + 1, "{lines:#?}");
}

#[test]
fn sessions_that_block_each_other_in_turn_have_one_line_for_each_wait() {
    let pids = 41..=49_u32;
    let mut history = History::new(0);
    // Each in turn holds the lock of a row that all others want.
    for holder in pids.clone() {
        let others: Vec<u32> = pids.clone().filter(|pid| *pid != holder).collect();
        history.blocking(&others.iter().map(|pid| (*pid, vec![holder])).collect::<Vec<_>>());
        let samples: Vec<Sample> = others.iter().map(|pid| waiting(*pid)).collect();
        (0..10).for_each(|_| history.look(TENTH, &samples));
    }
    let (view, facts) = (pressed("4--"), facts());
    let (_, lines) = Drawn::new(&history, &view, &facts).blockers();
    assert_eq!(lines.len(), 9 + 9 * 8, "the holders, and the waits for each");
}

#[test]
fn a_queue_of_any_length_is_shown_to_its_end() {
    let samples: Vec<Sample> = (51..=62).map(waiting).collect();
    let mut history = History::new(0);
    // Each waits for the one before it, and the first for a prepared transaction, which has no process.
    let queue: Vec<(u32, Vec<u32>)> = (51..=62).map(|pid| (pid, vec![if pid > 51 { pid - 1 } else { 0 }])).collect();
    history.blocking(&queue);
    (0..50).for_each(|_| history.look(TENTH, &samples));
    let lines = drawn(&history, &pressed("4"), &facts(), (100, 40));
    let first = lines.iter().position(|line| line == PREPARED_HOLDER).unwrap_or_else(|| panic!("{lines:#?}"));
    for (line, pid) in lines[first + 1..].iter().zip(51..=62) {
        assert!(line.trim_start().starts_with(&format!("{pid} shop@db  5.00 s")), "{pid}: {lines:#?}");
    }
}

#[test]
fn sessions_that_are_not_seen_are_counted_and_not_taken_for_idle_ones() {
    let hidden = |pid: u32| {
        let seen = sample(pid, "", None);
        let backend = Backend { start: 0, kind: String::new(), ..Backend::clone(&seen.backend) };
        Sample { backend: Arc::new(backend), state: State::Hidden, ..seen }
    };
    let mut samples: Vec<Sample> = (61..=72).map(hidden).collect();
    let headline = |history: &History| drawn(history, &View::default(), &facts(), (80, 24))[1].clone();
    let said = headline(&seconds_of(7, &samples));
    assert!(said.ends_with("; 12 unseen: GRANT pg_read_all_stats"), "{said}");
    samples.push(Sample { state: State::Disabled, ..sample(73, "", None) });
    let said = headline(&seconds_of(7, &samples[12..]));
    assert!(said.contains("; 1 with track_activities off"), "{said}");
    // Where memory is read it shows them, and only the server's own answers between hide them.
    let seen = [sample(61, "select 1", None)];
    let mut history = History::new(0);
    (0..70).for_each(|look| history.look(TENTH, if look % 5 == 0 { &samples[..1] } else { &seen }));
    assert!(!headline(&history).contains("unseen"), "{}", headline(&history));
}

#[test]
fn the_session_that_all_others_wait_for_is_named_however_many_they_are() {
    let mut samples: Vec<Sample> = (101..=200).map(waiting).collect();
    let holder = Sample { state: State::IdleInTransaction, ..sample(100, "delete from stock", None) };
    samples.push(holder);
    let mut history = History::new(0);
    history.blocking(&(101..=200).map(|pid| (pid, vec![100])).collect::<Vec<_>>());
    (0..50).for_each(|_| history.look(TENTH, &samples));
    let page = drawn(&history, &pressed("4"), &facts(), (100, 30)).join("\n");
    assert!(page.contains("100 shop@db (idle in transaction)  delete from stock"), "{page}");
}

#[test]
fn a_holder_that_is_not_at_work_or_serves_no_client_is_named() {
    let vacuums = sample(301, "", None);
    let backend = Backend { kind: "autovacuum worker".into(), user: String::new(), ..Backend::clone(&vacuums.backend) };
    let vacuums = Sample { backend: Arc::new(backend), ..vacuums };
    let idle = Sample { state: State::Idle, ..sample(302, "", None) };
    let samples = [vacuums, idle, waiting(401), waiting(402)];
    let mut history = History::new(0);
    history.blocking(&[(401, vec![301]), (402, vec![302])]);
    (0..50).for_each(|_| history.look(TENTH, &samples));
    let page = drawn(&history, &pressed("4"), &facts(), (100, 30)).join("\n");
    assert!(page.contains("301 autovacuum worker (active)") && page.contains("302 shop@db (idle)"), "{page}");
    let page = drawn(&history, &pressed("2"), &facts(), (100, 30)).join("\n");
    assert!(page.contains("0.0 %  idle") && !page.contains("301"), "what it works is not known: {page}");
    // They have done no work of a client.
    assert_eq!(history.seconds()[0].classes.iter().map(|(_, time)| time.as_secs()).sum::<u64>(), 2);
}

#[test]
fn the_chart_of_an_hour_adds_up_what_it_shows_and_not_all_that_is_kept() {
    // As many sessions, statements and waits as a second keeps.
    let samples: Vec<Sample> =
        (1..=70).map(|pid| sample(pid, &format!("select c{pid}"), Some("Lock:transactionid"))).collect();
    let history = seconds_of(1, &samples);
    let hours = vec![&history.seconds()[0]; 10 * 3600];
    let begun = std::time::Instant::now();
    let column = column_of(&hours).unwrap();
    let took = begun.elapsed();
    assert!(column.len() == 1 && (column[0].1 - 70.0).abs() < 1e-6, "{column:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}
