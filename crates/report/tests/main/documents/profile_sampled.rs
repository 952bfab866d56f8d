//! A profile of a running server made by hand, as the sampler writes it into a run document.

use measure::schema::profile::COVERED;
use measure::schema::profile::findings as row;
use measure::schema::sampled::ACTIVE_SESSIONS;
use measure::schema::sampled::findings as own;
use measure::schema::tiers::findings as tiers;
use measure::{Host, Metric, Run, Unit};
use serde_json::{Value, json};

use super::{case, run, single};

/// Metrics of times in µs, and of counts.
fn metrics(times: &[(&str, f64)], counts: &[(&str, f64)]) -> Vec<Metric> {
    let times = times.iter().map(|(name, micros)| single(name, Unit::Microseconds, "samples", *micros));
    times.chain(counts.iter().map(|(name, count)| single(name, Unit::Count, "samples", *count))).collect()
}

fn add(run: &mut Run, parameters: Value, metrics: Vec<Metric>) {
    run.cases.push(case(parameters, metrics));
}

/// A class with its event, its samples and the error of its share; none where it is no sampled class.
fn class(run: &mut Run, (class, event): (&str, &str), total: f64, sampled: Option<(f64, f64)>) {
    let mut of_class = metrics(&[("total", total)], &[]);
    if let Some((samples, error)) = sampled {
        of_class.extend(metrics(&[], &[("samples", samples)]));
        of_class.push(single("share_error", Unit::Percent, "samples", error));
    }
    add(run, json!({"table": "class", "class": class}), of_class);
    if let Some((samples, _)) = sampled.filter(|_| !event.is_empty()) {
        let of_event = || metrics(&[("total", total)], &[("samples", samples)]);
        add(run, json!({"table": "class_event", "class": class, "event": event}), of_event());
        add(run, json!({"table": "event", "event": event}), of_event());
    }
}

fn blocker(run: &mut Run, [node, parent, level]: [u64; 3], process: &str, words: [&str; 3], total: f64) {
    let [state, id, event] = words;
    add(
        run,
        json!({"table": "blocker", "node": node, "parent": parent, "level": level, "process": process,
               "state": state, "id": id, "event": event}),
        metrics(&[("total", total)], &[("samples", total / 20_000.0)]),
    );
}

fn sampling(run: &mut Run) {
    let times = [
        ("sampled", 60_012_000.0),
        ("not_sampled", 0.0),
        ("db_time", 205_000_000.0),
        ("db_time_error", 1_100_000.0),
        ("db_time_of_server", 206_310_000.0),
        ("sample_time", 412.0),
    ];
    let mut of_all = metrics(&times, &[("looks", 2_981.0), ("samples", 10_250.0)]);
    let ratios = [("active_sessions", 3.416), ("active_sessions_p95", 8.0), ("active_sessions_p99", 11.0)];
    of_all.extend(ratios.map(|(name, value)| single(name, Unit::Ratio, "samples", value)));
    let shares = [("own_cpu", 0.62), ("own_session", 1.9), ("stolen", 0.2)];
    of_all.extend(shares.map(|(name, value)| single(name, Unit::Percent, "clock", value)));
    add(run, json!({"table": "sampling"}), of_all);
}

/// Its reads: two tiers, a statement that leans on the page cache, and its table.
fn reads(run: &mut Run) {
    add(run, json!({"table": "tracing"}), metrics(&[], &[("records", 2_500_000.0), ("lost_records", 0.0)]));
    for (tier, reads, total, [from, until]) in
        [("page-cache", 800_300.0, 3_281_000.0, [2, 4]), ("device", 12_000.0, 15_000_000.0, [512, 1_024])]
    {
        let mut of = metrics(&[("total", total)], &[("calls", reads), ("blocks", reads), ("bytes", 8192.0 * reads)]);
        of.push(single("share", Unit::Percent, "tracepoints", 100.0 * reads / 812_300.0));
        of.push(single("latency", Unit::Microseconds, "tracepoints", total / reads));
        if tier == "device" {
            of.extend(metrics(&[("queue", 600_000.0), ("service", 14_000_000.0)], &[]));
        }
        add(run, json!({"table": "read_tier", "tier": tier}), of);
        for (edge, part) in [(from, 0.75), (until, 0.25)] {
            let of = metrics(&[("total", part * total)], &[("calls", part * reads), ("blocks", part * reads)]);
            add(run, json!({"table": "read_latency", "tier": tier, "from_us": edge}), of);
        }
    }
    let ahead = json!({"table": "read_request", "purpose": "read-ahead"});
    add(run, ahead, metrics(&[("service", 9_000.0)], &[("calls", 40.0), ("bytes", 5_242_880.0)]));
    let leaning = || {
        let times = [
            ("total", 18_281_000.0),
            ("page_cache_time", 3_281_000.0),
            ("device_time", 15_000_000.0),
            ("queue", 600_000.0),
            ("service", 14_000_000.0),
            ("from_device", 1_000_375_000.0),
            ("more_from_device", 997_094_000.0),
        ];
        let counts = [
            ("calls", 812_300.0),
            ("page_cache_reads", 800_300.0),
            ("device_reads", 12_000.0),
            ("distinct_blocks", 61_200.0),
        ];
        metrics(&times, &counts)
    };
    add(run, json!({"table": "read_statement", "reader": "statement", "id": "8211"}), leaning());
    let unmet =
        metrics(&[("total", 900.0), ("page_cache_time", 900.0)], &[("calls", 200.0), ("page_cache_reads", 200.0)]);
    add(run, json!({"table": "read_statement", "reader": "unmet"}), unmet);
    add(run, json!({"table": "read_relation", "object": "items"}), leaning());
}

/// A class, its time in seconds, and how it lies over the steps.
type Shape = (&'static str, f64, fn(usize) -> f64);

/// Its minute in steps of a second, of which the server could not be asked in two: reads that swell, locks in the last
/// third, and as much of each class in all as the table of classes has.
fn timeline(run: &mut Run) {
    let is_covered = |step: usize| step != 20 && step != 21;
    let shapes: [Shape; 4] = [
        ("single-block-reads", 80.0, |step| 2.0 + (step as f64 / 6.0).sin()),
        ("cpu", 70.0, |step| 1.0 + (step % 3) as f64 / 4.0),
        ("application", 44.0, |step| if step >= 40 { 2.0 } else { 0.0 }),
        ("run-queue", 11.0, |step| if step % 10 < 4 { 0.5 } else { 0.0 }),
    ];
    let mut all = vec![0.0; 60];
    let mut add_class = |run: &mut Run, (class, total, shape): Shape| {
        let steps: Vec<f64> = (0..60).map(|step| if is_covered(step) { shape(step) } else { 0.0 }).collect();
        let scale = total / steps.iter().sum::<f64>();
        let steps: Vec<f64> = steps.iter().map(|step| (step * scale * 1e6).round() / 1e6).collect();
        all.iter_mut().zip(&steps).for_each(|(sum, step)| *sum += step);
        let parameters = json!({"table": "timeline", "step_seconds": 1, "first_second": 1_795_341_600, "class": class});
        let metric = ACTIVE_SESSIONS.of_samples("samples of the sessions", &steps).unwrap();
        add(run, parameters, vec![metric]);
    };
    shapes.into_iter().for_each(|shape| add_class(run, shape));
    let covered: Vec<f64> = (0..60).map(|step| if is_covered(step) { 1e6 } else { 0.0 }).collect();
    let whole = [ACTIVE_SESSIONS.of_samples("samples of the sessions", &all), COVERED.of_samples("samples", &covered)];
    let parameters = json!({"table": "timeline", "step_seconds": 1, "first_second": 1_795_341_600});
    add(run, parameters, whole.into_iter().flatten().collect());
}

/// A minute of a shop: reads, locks that an open transaction holds, and a writer in the background.
pub(crate) fn profile_sampled() -> Run {
    let mut run = run(
        "profile",
        json!({
            "kind": "postgres", "version": "15.18", "server": "postgres://me@db.example/shop",
            "shared_buffers": 134_217_728_u64, "block_bytes": 8192, "source": "PostgreSQL, sampled",
            "rate": 50.0, "level": "sql and /proc",
            "first_clock": "2026-11-22T10:00:00", "last_clock": "2026-11-22T10:01:00", "sort": "response-time",
            "top": 10,
        }),
    );
    run.host = Host::default();
    run.own_cost.clear();
    sampling(&mut run);
    let times = [
        ("interval", 506_310_000.0),
        ("cpu", 70_000_000.0),
        ("waits", 435_000_000.0),
        ("unaccounted_between", 1_310_000.0),
    ];
    add(&mut run, json!({"table": "summary"}), metrics(&times, &[("physical_reads", 812_300.0)]));
    class(&mut run, ("single-block-reads", "IO:DataFileRead"), 80_000_000.0, Some((4_000.0, 0.9)));
    class(&mut run, ("cpu", ""), 70_000_000.0, Some((4_050.0, 0.9)));
    class(&mut run, ("application", "Lock:transactionid"), 44_000_000.0, Some((2_200.0, 0.8)));
    class(&mut run, ("run-queue", "Processor:RunQueue"), 11_000_000.0, None);
    class(&mut run, ("think-time", "Client:ClientRead (idle)"), 300_000_000.0, Some((15_000.0, 0.0)));
    class(&mut run, ("unaccounted-between", ""), 1_310_000.0, None);
    for (id, text, time, [executions, gets, reads]) in [
        ("8211", "SELECT * FROM items WHERE order_id = $1", 120_000_000.0, [40_100.0, 9_812_300.0, 812_000.0]),
        ("-77", "UPDATE stock SET amount = amount - $1 WHERE item = $2", 74_000_000.0, [5_020.0, 25_100.0, 300.0]),
    ] {
        let of = metrics(
            &[("response_time", time), ("think_time", 0.0), ("idle", 0.0)],
            &[("executions", executions), ("rows", executions), ("logical_reads", gets), ("physical_reads", reads)],
        );
        add(&mut run, json!({"table": "statement", "id": id}), of);
        add(
            &mut run,
            json!({"table": "statement_text", "id": id, "text": text}),
            metrics(&[], &[("text_bytes", 60.0)]),
        );
    }
    let holder = "4711 shop@shop batch";
    blocker(&mut run, [1, 0, 0], holder, ["idle in transaction", "-77", ""], 44_000_000.0);
    blocker(&mut run, [2, 1, 1], "4712 shop@shop", ["active", "-77", "Lock:transactionid"], 30_000_000.0);
    blocker(&mut run, [3, 2, 2], "4713 shop@shop", ["active", "-77", "Lock:tuple"], 14_000_000.0);
    let background = json!({"table": "background", "process": "checkpointer", "event": "IO:DataFileWrite"});
    add(&mut run, background, metrics(&[("total", 9_000_000.0)], &[("samples", 450.0)]));
    reads(&mut run);
    timeline(&mut run);
    run.findings = vec![
        row::ANSWER_CLASS.of("Largest class: single-block reads, 38.8 % of the response time of 206 s."),
        own::BLOCKERS
            .of("Session 4711 shop@shop batch (idle in transaction), with statement -77 blocked others for 44.0 s."),
        tiers::READ_TIERS
            .of("Of 812 300 reads of files, the page cache 98.5 % in 4.10 µs each and the device 1.48 % in \
                              1.25 ms each answered."),
        row::PRACTICE.named("single-block-reads", "Read fewer blocks first."),
        own::LEVEL.of("Made from samples of pg_stat_activity, 50.0 a second."),
        own::DB_TIME_AGREES.of("Sessions were at work for 205 s by the samples and 206 s by the server's own account \
                                (-0.6 %; sampling and the account's delay explain up to 4.52 s)."),
    ];
    run
}
