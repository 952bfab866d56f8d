//! The whole story of one statement: its text, its calls, its waits, its plans, its reads by length.

use measure::Run;

use super::amount::{exact_time, scale, share};
use super::calls::{count, render};
use super::row::{Row, rows};
use crate::bar;
use crate::number::{grouped, time};
use crate::style::Style;
use crate::table::{Align, Table};
use crate::text::wrap;

/// Lines of a text that are shown; the run document has all of it.
const TEXT_LINES_MAX: usize = 40;

/// Columns of a bar of a histogram.
const BAR_COLUMNS: usize = 24;

/// The page of the statement `id`.
pub(super) fn page(run: &Run, id: &str, summary: &Row, style: &Style) -> String {
    let of = |table: &'static str| rows(run, table).filter(move |row| row.text("id") == id);
    let Some(row) = of("statement").next() else {
        return wrap(&format!("The statement {id} is not in this profile."), style.width, 0);
    };
    let total = row.value("response_time").unwrap_or(0.0);
    let calls: Vec<Row> = of("statement_call").collect();
    crate::join_sections(&[
        head(id, &row, summary, style),
        of("statement_text").next().map_or(String::new(), |row| text(row.text("text"), style)),
        render(&calls, total, style),
        waits(&of("statement_event").collect::<Vec<_>>(), total, style),
        plans(&of("plan_line").collect::<Vec<_>>(), style),
        histograms(&of("statement_histogram").collect::<Vec<_>>(), style),
    ])
}

fn head(id: &str, row: &Row, summary: &Row, style: &Style) -> String {
    let own = row.value("response_time").unwrap_or(0.0);
    let interval = summary.value("interval").unwrap_or(0.0);
    let inclusive = row.value("inclusive_elapsed").unwrap_or(0.0);
    let between = row.value("outside").unwrap_or(0.0);
    let mut text = format!(
        "statement {id}: {} own ({} % of the interval){}; its calls with recursive children take {}",
        exact_time(own),
        share(own, interval),
        if between > 0.0 { format!(", of it {} between its calls", time(between * 1e3)) } else { String::new() },
        exact_time(inclusive),
    );
    let counted = [
        ("executions", "execution", "executions"),
        ("parses", "parse", "parses"),
        ("fetches", "fetch", "fetches"),
        ("rows", "row", "rows"),
        ("logical_reads", "get", "gets"),
        ("physical_reads", "read", "reads"),
        ("errors", "error", "errors"),
    ];
    for (name, one, many) in counted {
        if let Some(value) = row.value(name).filter(|value| *value > 0.0) {
            text += &format!(", {} {}", grouped(value as u64), if value == 1.0 { one } else { many });
        }
    }
    wrap(&(text + "."), style.width, 2)
}

fn text(text: &str, style: &Style) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let indented = |line: &&str| {
        let start = line.len() - line.trim_start().len();
        format!(
            "  {}{}",
            " ".repeat(start.min(16)),
            wrap(line.trim(), style.width.saturating_sub(2 + start.min(16)), 4)
        )
    };
    let mut shown: Vec<String> = lines.iter().take(TEXT_LINES_MAX).map(indented).collect();
    if lines.len() > TEXT_LINES_MAX {
        shown.push(format!("  ({} more lines)", lines.len() - TEXT_LINES_MAX));
    }
    shown.join("\n")
}

fn waits(waits: &[Row], total: f64, style: &Style) -> String {
    if waits.is_empty() {
        return String::new();
    }
    let scale = scale(total);
    let mut sorted = waits.to_vec();
    sorted.sort_by(|a, b| b.value("total").unwrap_or(0.0).total_cmp(&a.value("total").unwrap_or(0.0)));
    let mut table = Table::new()
        .column(&format!("waits, {}", scale.heading), Align::Left)
        .column("total", Align::Right)
        .column("%", Align::Right)
        .column("count", Align::Right)
        .column("mean", Align::Decimal)
        .optional_column("min", Align::Decimal)
        .optional_column("max", Align::Decimal)
        .optional_column("blocks", Align::Right);
    for wait in sorted {
        let amount = wait.value("total").unwrap_or(0.0);
        let shown = |name: &str| wait.value(name).map_or(String::new(), |us| time(us * 1e3));
        table.row([
            wait.text("event").to_string(),
            scale.show(amount),
            share(amount, total),
            count(wait.value("calls")),
            shown("mean"),
            shown("min"),
            shown("max"),
            count(wait.value("blocks").filter(|blocks| *blocks > 0.0)),
        ]);
    }
    table.render(style)
}

/// Each plan with what its lines do themselves.
fn plans(lines: &[Row], style: &Style) -> String {
    let mut numbers: Vec<f64> = lines.iter().filter_map(|row| row.number("plan")).collect();
    numbers.dedup();
    let plan = |number: f64| {
        let of: Vec<Row> = lines.iter().copied().filter(|row| row.number("plan") == Some(number)).collect();
        plan_table(&of, style)
    };
    numbers.into_iter().map(plan).collect::<Vec<_>>().join("\n\n")
}

fn plan_table(lines: &[Row], style: &Style) -> String {
    let total: f64 = lines.iter().filter_map(|row| row.value("time")).map(|time| time.max(0.0)).sum();
    let scale = scale(total);
    let hash = lines.first().and_then(|row| row.number("plan_hash")).filter(|hash| *hash > 0.0);
    let title = hash.map_or("plan".into(), |hash| format!("plan {hash}"));
    let mut table = Table::new()
        .column(&title, Align::Left)
        .column(&format!("own {}", scale.heading), Align::Right)
        .column("%", Align::Right)
        .column("rows", Align::Right)
        .optional_column("own gets", Align::Right)
        .optional_column("own reads", Align::Right)
        .optional_column("starts", Align::Right);
    for line in lines {
        let level = line.number("level").unwrap_or(0.0).clamp(0.0, 20.0) as usize;
        let own = line.value("time");
        table.row([
            format!("{}{}", "  ".repeat(level), line.text("operation")),
            own.map_or(String::new(), |us| scale.show(us)),
            own.map_or(String::new(), |us| share(us, total)),
            count(line.value("rows")),
            count(line.value("gets")),
            count(line.value("physical_reads")),
            count(line.value("starts")),
        ]);
    }
    table.render(style)
}

/// One histogram an event that has blocks, by calls and by time.
fn histograms(buckets: &[Row], style: &Style) -> String {
    let mut events: Vec<&str> = buckets.iter().map(|row| row.text("event")).collect();
    events.dedup();
    let reads = |event: &&str| {
        let of = buckets.iter().filter(|row| row.text("event") == *event);
        of.clone().any(|row| row.value("blocks").is_some_and(|blocks| blocks > 0.0))
    };
    let one = |event: &str| {
        let of: Vec<Row> = buckets.iter().copied().filter(|row| row.text("event") == event).collect();
        histogram(event, &of, style)
    };
    events.into_iter().filter(reads).map(one).collect::<Vec<_>>().join("\n\n")
}

fn histogram(event: &str, buckets: &[Row], style: &Style) -> String {
    let sum = |name: &str| buckets.iter().filter_map(|row| row.value(name)).sum::<f64>();
    let (calls, total) = (sum("calls"), sum("total"));
    let most = buckets.iter().filter_map(|row| row.value("calls")).fold(0.0, f64::max);
    let mut table = Table::new()
        .column(&format!("{event} from"), Align::Decimal)
        .column("count", Align::Right)
        .column("% calls", Align::Right)
        .column("% time", Align::Right)
        .optional_column("calls", Align::Left);
    for bucket in buckets {
        let count_here = bucket.value("calls").unwrap_or(0.0);
        table.row([
            time(bucket.number("from_us").unwrap_or(0.0) * 1e3),
            count(Some(count_here)),
            share(count_here, calls),
            share(bucket.value("total").unwrap_or(0.0), total),
            bar::linear(count_here, most, BAR_COLUMNS, style),
        ]);
    }
    table.render(style)
}
