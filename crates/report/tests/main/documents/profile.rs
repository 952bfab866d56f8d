//! Profiles made by hand, as the profiler writes them into run documents.

use measure::schema::profile::findings as row;
use measure::{Host, Metric, Run, Unit};
use serde_json::{Value, json};

use super::{case, run, single};

fn count(name: &str, value: f64) -> Metric {
    single(name, Unit::Count, "trace", value)
}

fn time(name: &str, micros: f64) -> Metric {
    single(name, Unit::Microseconds, "trace", micros)
}

fn metrics(times: &[(&str, f64)], counts: &[(&str, f64)]) -> Vec<Metric> {
    let times = times.iter().map(|(name, micros)| time(name, *micros));
    times.chain(counts.iter().map(|(name, value)| count(name, *value))).collect()
}

/// An empty profile of one file.
fn empty() -> Run {
    let mut run = run(
        "profile",
        json!({
            "kind": "trace", "path": "shop_ora_4712.trc", "files": ["shop_ora_4712.trc"], "versions": ["11.2.0.3.0"],
            "instances": ["shop"], "hosts": ["db1"], "services": ["shop.web"],
            "first_clock": "2024-01-31T10:58:57.903120", "last_clock": "2024-01-31T10:59:08.4031",
        }),
    );
    run.host = Host::default();
    run.own_cost.clear();
    run
}

fn add(run: &mut Run, parameters: Value, metrics: Vec<Metric>) {
    run.cases.push(case(parameters, metrics));
}

fn class(run: &mut Run, class: &str, calls: f64, total: f64) {
    add(run, json!({"table": "class", "class": class}), metrics(&[("total", total)], &[("calls", calls)]));
}

/// An event with its class: calls, total, shortest, longest.
fn event(run: &mut Run, class: &str, event: &str, figures: [f64; 4]) {
    let [calls, total, min, max] = figures;
    add(
        run,
        json!({"table": "class_event", "class": class, "event": event}),
        metrics(&[("total", total)], &[("calls", calls)]),
    );
    let times = [("total", total), ("min", min), ("max", max), ("mean", total / calls), ("inside", total)];
    add(run, json!({"table": "event", "event": event}), metrics(&times, &[("calls", calls)]));
}

fn call(run: &mut Run, name: &str, recursive: bool, figures: [f64; 6]) {
    let [calls, cpu, elapsed, reads, gets, rows] = figures;
    add(
        run,
        json!({"table": "call", "call": name, "recursive": recursive}),
        metrics(
            &[("cpu", cpu), ("elapsed", elapsed)],
            &[
                ("calls", calls),
                ("physical_reads", reads),
                ("consistent_gets", gets),
                ("current_gets", 0.0),
                ("rows", rows),
                ("misses", 0.0),
            ],
        ),
    );
}

fn statement(run: &mut Run, id: &str, text: &str, figures: [f64; 6]) {
    let [response, cpu, reads, gets, rows, executions] = figures;
    add(
        run,
        json!({"table": "statement", "id": id}),
        metrics(
            &[("response_time", response), ("cpu", cpu), ("inclusive_elapsed", response * 1.1), ("outside", 900.0)],
            &[
                ("calls", executions * 3.0),
                ("physical_reads", reads),
                ("logical_reads", gets),
                ("rows", rows),
                ("parses", 1.0),
                ("executions", executions),
                ("fetches", (rows / 100.0).ceil()),
                ("fetched_rows", rows),
            ],
        ),
    );
    add(
        run,
        json!({"table": "statement_text", "id": id, "text": text, "user": 84, "goal": "ALL_ROWS"}),
        metrics(&[], &[("text_bytes", 60.0)]),
    );
}

/// A sort that spills, run once: CPU, temporary I/O and a scan.
pub(crate) fn profile() -> Run {
    let mut run = empty();
    let times = [
        ("interval", 10_500_000.0),
        ("response_time", 10_499_200.0),
        ("in_calls", 10_498_193.0),
        ("cpu", 6_010_000.0),
        ("waits", 4_741_007.0),
        ("unaccounted_within", -251_807.0),
        ("unaccounted_between", 800.0),
    ];
    add(&mut run, json!({"table": "summary"}), metrics(&times, &[("roots", 7.0), ("logical_reads", 31_226.0)]));
    add(&mut run, json!({"table": "summary", "session": "71.4203"}), metrics(&times, &[("roots", 7.0)]));
    class(&mut run, "cpu", 9_050.0, 6_010_000.0);
    class(&mut run, "temporary-io", 27_000.0, 2_600_000.0);
    class(&mut run, "multi-block-reads", 411.0, 2_100_000.0);
    class(&mut run, "single-block-reads", 60.0, 40_000.0);
    class(&mut run, "network", 2.0, 7.0);
    class(&mut run, "think-time", 2.0, 1_000.0);
    class(&mut run, "unaccounted-within", 0.0, -251_807.0);
    class(&mut run, "unaccounted-between", 0.0, 800.0);
    event(&mut run, "temporary-io", "direct path write temp", [9_000.0, 500_000.0, 8.0, 1_500.0]);
    event(&mut run, "temporary-io", "direct path read temp", [18_000.0, 2_100_000.0, 5.0, 9_900.0]);
    event(&mut run, "multi-block-reads", "db file scattered read", [411.0, 2_100_000.0, 333.0, 44_100.0]);
    event(&mut run, "single-block-reads", "db file sequential read", [60.0, 40_000.0, 71.0, 5_100.0]);
    event(&mut run, "network", "SQL*Net message to client", [2.0, 7.0, 3.0, 4.0]);
    event(&mut run, "think-time", "SQL*Net message from client", [2.0, 1_000.0, 400.0, 600.0]);
    call(&mut run, "PARSE", false, [2.0, 7_000.0, 6_100.0, 0.0, 0.0, 0.0]);
    call(&mut run, "EXEC", false, [3.0, 403_000.0, 390_000.0, 20.0, 226.0, 3.0]);
    call(&mut run, "FETCH", true, [9_045.0, 5_600_000.0, 10_102_000.0, 60_123.0, 31_000.0, 900_000.0]);
    let text = "SELECT region, sum(amount)\n  FROM sales\n GROUP BY region\n ORDER BY 2 DESC";
    statement(&mut run, "5ncdvm4r9w3cx", text, [10_102_000.0, 5_600_000.0, 60_123.0, 31_000.0, 900_000.0, 1.0]);
    statement(&mut run, "9babjv8yq8ru3", "BEGIN report(:1); END;", [396_000.0, 410_000.0, 20.0, 226.0, 1.0, 1.0]);
    run.findings = vec![
        row::ANSWER_CLASS.of("Largest class: CPU, 57.2 % of the response time of 10.5 s; then temporary I/O, 24.8 %."),
        row::ANSWER_STATEMENTS
            .of("1 of 2 statements accounts for 96.2 % of the response time: 5ncdvm4r9w3cx SELECT ..."),
        row::PRACTICE.named(
            "cpu",
            "93.2 % of it is 5ncdvm4r9w3cx SELECT ...: 5.60 s in 31 000 gets. Gets do not explain that much CPU: look \
             at the lines of its plan and at the functions that it calls. See --by statement,call --where class=cpu.",
        ),
        row::PRACTICE.named(
            "temporary-io",
            "Give the statements that sort or hash more memory, by statement rather than for all. See --by \
             object,statement --where class=temporary-io.",
        ),
        row::NEGATIVE_WITHIN.of("Unaccounted for within calls is -252 ms: CPU inside waits."),
    ];
    run
}

/// Two sessions with modules, shown by physical reads, in a file with a hostile name.
pub(crate) fn profile_sessions() -> Run {
    let mut run = profile();
    run.subject.insert("path".into(), json!("/tmp/\u{1b}[31mred.trc"));
    run.subject.insert("sort".into(), json!("physical-reads"));
    run.subject.insert("top".into(), json!(1));
    let mut second = run.cases[1].clone();
    second.parameters.insert("session".into(), json!("72.99 \u{202e}"));
    run.cases.push(second);
    for (module, action, micros) in [("batch", "nightly", 9e6), ("web \u{1b}[2J", "", 3e6)] {
        add(
            &mut run,
            json!({"table": "scope", "module": module, "action": action, "service": "SYS$USERS"}),
            metrics(&[("response_time", micros), ("cpu", micros / 2.0)], &[("calls", 4.0), ("physical_reads", 70.0)]),
        );
    }
    run
}

/// The same, asked for the story of one statement: it is called by another one, and calls a recursive one.
pub(crate) fn profile_statement() -> Run {
    let mut run = profile();
    let id = "5ncdvm4r9w3cx";
    run.subject.insert("statement".into(), json!(id));
    for (parent, called, calls, elapsed) in
        [("9babjv8yq8ru3", id, 9_047.0, 11.1e6), (id, "87gaftwrm2h68", 12.0, 4_100.0)]
    {
        let parameters = json!({"table": "call_tree", "id": called, "parent": parent});
        add(&mut run, parameters, metrics(&[("inclusive_elapsed", elapsed)], &[("calls", calls)]));
    }
    let binds = json!({"table": "binds", "id": id, "number": 1, "text": ":1 = 17, :2 = \"Europe\""});
    add(&mut run, binds, metrics(&[], &[("values", 2.0)]));
    for (name, calls, elapsed) in [("PARSE", 1.0, 1_900.0), ("EXEC", 1.0, 40.0), ("FETCH", 9_045.0, 10_100_000.0)] {
        add(
            &mut run,
            json!({"table": "statement_call", "id": id, "call": name}),
            metrics(&[("cpu", elapsed / 2.0), ("elapsed", elapsed)], &[("calls", calls), ("rows", calls * 100.0)]),
        );
    }
    add(
        &mut run,
        json!({"table": "statement_event", "id": id, "event": "db file scattered read"}),
        metrics(
            &[("total", 2_100_000.0), ("mean", 5_109.0), ("min", 333.0), ("max", 44_100.0)],
            &[("calls", 411.0), ("blocks", 30_000.0)],
        ),
    );
    for (from, calls, total) in [(256, 40.0, 18_000.0), (1024, 221.0, 482_000.0), (4096, 150.0, 1_600_000.0)] {
        add(
            &mut run,
            json!({"table": "statement_histogram", "id": id, "event": "db file scattered read", "from_us": from}),
            metrics(&[("total", total)], &[("calls", calls), ("blocks", calls * 70.0)]),
        );
    }
    for (line, level, operation, micros) in [(1, 0, "SORT GROUP BY", 7.9e6), (2, 1, "TABLE ACCESS FULL SALES", 2.1e6)] {
        let parameters = json!({
            "table": "plan_line", "id": id, "plan": 1, "plan_hash": 811_000_111_u64, "line": line, "parent": line - 1,
            "level": level, "operation": operation, "object": 0,
        });
        let counts = [
            ("rows", 9e5),
            ("estimated_rows", 1.2e5),
            ("starts", 1.0),
            ("gets", 31_000.0 * f64::from(level)),
            ("physical_reads", 30_000.0),
        ];
        add(&mut run, parameters, metrics(&[("time", micros)], &counts));
    }
    run
}
