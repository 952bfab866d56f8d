//! A comparison of two profiles, made by hand.

use measure::compare::{
    Amount, LineSide, PlanChange, PlanLineChange, ProfileComparison, ProfileSide, Spread, StatementAlone, TimeChange,
};
use measure::schema::profile::findings::WAITS_NOT_TRACED;

fn amount(total_us: f64, executions: u64, rows: u64) -> Amount {
    let per = |count: u64| (count > 0).then(|| total_us / count as f64);
    Amount { total_us, count: Some(executions), execution_us: per(executions), row_us: per(rows), ..Amount::default() }
}

fn change(name: &str, before: f64, after: f64, spread: Spread) -> TimeChange {
    let (before, after) = (amount(before, 120, 4_000), amount(after, 118, 3_950));
    TimeChange {
        name: name.into(),
        class: None,
        text: None,
        before,
        after,
        difference_us: after.total_us - before.total_us,
        execution_difference_us: after.execution_us.zip(before.execution_us).map(|(after, before)| after - before),
        execution_interval_us: None,
        spread,
    }
}

fn event(class: &str, name: &str, before: f64, after: f64, spread: Spread) -> TimeChange {
    TimeChange { class: Some(class.into()), ..change(name, before, after, spread) }
}

fn statement(id: &str, before: f64, after: f64, spread: Spread) -> TimeChange {
    let text = "select o.id, o.day, o.state\n  from orders o where o.customer = :1".to_string();
    TimeChange { text: Some(text), ..change(id, before, after, spread) }
}

fn side(name: &str, interval_us: f64, executions: u64, rows: u64) -> ProfileSide {
    ProfileSide {
        name: name.into(),
        files: Some(1),
        interval_us,
        executions: Some(executions),
        rows: Some(rows),
        ..ProfileSide::default()
    }
}

fn lines() -> Vec<PlanLineChange> {
    let line = |side, level, operation: &str| PlanLineChange { side, level, operation: operation.into() };
    vec![
        line(LineSide::Both, 0, "SORT ORDER BY"),
        line(LineSide::Before, 1, "TABLE ACCESS BY INDEX ROWID ORDERS"),
        line(LineSide::Before, 2, "INDEX RANGE SCAN ORDERS_CUSTOMER"),
        line(LineSide::After, 1, "TABLE ACCESS FULL ORDERS"),
    ]
}

/// A statement with another plan got slower, another one faster; one is new, and one vanished.
pub(crate) fn profile_comparison() -> ProfileComparison {
    let alone = |id: &str, total_us: f64, executions: u64| StatementAlone {
        id: id.into(),
        text: Some("select /* night */ count(*) from items".into()),
        amount: amount(total_us, executions, executions),
    };
    let warning = WAITS_NOT_TRACED.of("The trace has no line of a wait.");
    ProfileComparison {
        lacks_spread: false,
        source: None,
        passes_nothing: false,
        before: side("traces/monday.trc", 3_402_000.0, 120, 4_000),
        after: side("traces/tuesday.trc", 5_116_000.0, 118, 3_950),
        response_time: change("", 1_102_000.0, 2_816_000.0, Spread::Beyond),
        classes: vec![
            change("multi-block-reads", 214_000.0, 2_011_000.0, Spread::Beyond),
            change("cpu", 402_000.0, 311_000.0, Spread::Within),
            change("think-time", 2_300_000.0, 2_200_000.0, Spread::Within),
            change("unaccounted-between", 10_000.0, -4_000.0, Spread::Unknown),
        ],
        events: vec![
            event("multi-block-reads", "db file scattered read", 214_000.0, 2_011_000.0, Spread::Beyond),
            event("think-time", "SQL*Net message from client", 2_300_000.0, 2_200_000.0, Spread::Within),
        ],
        statements: vec![
            statement("4kz7x0w2mfu1q", 210_000.0, 1_990_000.0, Spread::Beyond),
            statement("9qf3hs81ntb6d", 402_000.0, 311_000.0, Spread::Within),
        ],
        vanished: vec![alone("0aaaaaaaaaaaa", 12_000.0, 2)],
        new: vec![alone("7bbbbbbbbbbbb", 40_000.0, 1), alone("8ccccccccccccc", 90.0, 0)],
        left_out: 0,
        plans: vec![
            PlanChange { id: "4kz7x0w2mfu1q".into(), before: vec![811], after: vec![902], lines: lines() },
            PlanChange { id: "9qf3hs81ntb6d".into(), before: vec![7, 8], after: vec![9], lines: Vec::new() },
        ],
        top: 10,
        warnings: (Vec::new(), vec![warning]),
    }
}
