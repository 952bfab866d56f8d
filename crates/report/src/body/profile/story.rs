//! The whole story of one statement: its text, its calls, its waits, its plans, its reads by length.

use measure::Run;
use measure::schema::{Spec, profile};
use measure::sorting;
use serde_json::Value;

use super::amount::{count, counted, exact_time, of_micros, scale, share};
use super::calls;
use super::row::{Row, rows, text_of};
use super::statements::response_time;
use super::time;
use crate::body::source::source_words;
use crate::page::number;
use crate::page::table::Scale;
use crate::page::{Align, Section, Table};

/// Lines of a text that are shown; the run document has all of it.
const TEXT_LINES_MAX: usize = 40;

/// The page of the statement `id`.
pub(super) fn sections(run: &Run, id: &str, summary: &Row) -> Vec<Section> {
    let of = |table: &'static str| rows(run, table).filter(move |row| row.text("id") == id).collect::<Vec<Row>>();
    let statements = of("statement");
    let Some(row) = statements.first() else {
        return vec![Section::Text(format!("The statement {id} is not in this profile."))];
    };
    let total = row.value("response_time").unwrap_or(0.0);
    let tables = calls::table(&of("statement_call")).into_iter().chain(waits(&of("statement_event"), total));
    let tables = tables.chain(plans(&of("plan_line"))).chain(histograms(&of("statement_histogram")));
    let found = of("statement_text");
    let text = found.first().map(|row| text(row.text("text")));
    let tables = binds(&of("binds")).into_iter().chain(callers(run, id)).chain(tables);
    // A log of plans does not say who parsed a statement.
    let parsed = found.first().filter(|_| source_words(run).says_parser).and_then(parsed);
    [head(id, row, time::served(run, summary))]
        .into_iter()
        .chain(parsed)
        .chain(text)
        .chain(without_binds(run, &of("binds")))
        .chain(tables.map(Section::Table))
        .collect()
}

/// Who parsed it, how deep it was called, and for what it was optimized.
fn parsed(row: &Row) -> Option<Section> {
    let user = row.number("user").filter(|_| !row.text("text").ends_with(", not declared in the trace)"))?;
    let depth = row.number("depth").unwrap_or(0.0);
    let goal = Some(row.text("goal")).filter(|goal| !goal.is_empty());
    let called = if depth > 0.0 { format!("called at depth {depth}") } else { "called by the client".into() };
    let user = if user == 0.0 { "SYS".into() } else { format!("user {user}") };
    let goal = goal.map_or(String::new(), |goal| format!(", optimizer goal {goal}"));
    Some(Section::Text(format!("parsed by {user}, {called}{goal}")))
}

/// That there are no bind values, where the run was asked for them.
fn without_binds(run: &Run, rows: &[Row]) -> Option<Section> {
    let is_asked_for = run.subject.get("binds").and_then(Value::as_bool) == Some(true);
    let sentence = "No bind values of it are in the trace: events at level 4 or 12 write them.";
    (is_asked_for && rows.is_empty()).then(|| Section::Text(sentence.into()))
}

/// The bind values of its first executions, where the run was asked for them.
fn binds(rows: &[Row]) -> Option<Table> {
    Table::over(rows)
        .column("binds of execution", Align::Right, |row| row.number("number").map(count))
        .column("values", Align::Left, |row| row.text("text"))
        .unless_empty()
}

/// The statements that called it, and those that it called.
fn callers(run: &Run, id: &str) -> Option<Table> {
    let mut edges: Vec<(String, Row)> = Vec::new();
    edges.extend(rows(run, "call_tree").filter(|row| row.text("id") == id).map(|row| ("called by".into(), row)));
    edges.extend(rows(run, "call_tree").filter(|row| row.text("parent") == id).map(|row| ("calls".into(), row)));
    let scale = scale(edges.iter().filter_map(|(_, row)| row.value("inclusive_elapsed")).sum());
    let other = |(_, row): &(String, Row)| {
        if row.text("id") == id { row.text("parent").to_string() } else { row.text("id").to_string() }
    };
    Table::over(&edges)
        .column("call tree", Align::Left, |(role, _)| role.clone())
        .column("statement", Align::Left, other)
        .column("count", Align::Right, |(_, row)| row.value("calls").map(count))
        .column(scale.heading, Align::Right, |(_, row)| row.value("inclusive_elapsed").map(|us| scale.cell(us)))
        .column("text", Align::Left, |edge| text_of(run, &other(edge)))
        .unless_empty()
}

fn head(id: &str, row: &Row, served: f64) -> Section {
    let own = response_time(row);
    let inclusive = row.value("inclusive_elapsed").unwrap_or(0.0);
    let between = row.value("outside").unwrap_or(0.0);
    // Without response time there is nothing to be a part of.
    let part = share(own, served).map(|share| format!(" ({} % of the response time)", share.text));
    let mut text = format!(
        "statement {id}: {} own{}{}; its calls with recursive children take {}",
        exact_time(own),
        part.unwrap_or_default(),
        if between > 0.0 {
            format!(", of it {} between its calls", number::time(between * 1e3))
        } else {
            String::new()
        },
        exact_time(inclusive),
    );
    let counts = [
        (profile::EXECUTIONS, "execution", "executions"),
        (profile::PARSES, "parse", "parses"),
        (profile::FETCHES, "fetch", "fetches"),
        (profile::ROWS, "row", "rows"),
        (profile::LOGICAL_READS, "get", "gets"),
        (profile::PHYSICAL_READS, "read", "reads"),
        (profile::ERRORS, "error", "errors"),
    ];
    for (spec, one, many) in counts {
        if let Some(value) = row.value(&spec.name).filter(|value| *value > 0.0) {
            text += &format!(", {}", counted(value, one, many));
        }
    }
    Section::Text(text + ".")
}

fn text(text: &str) -> Section {
    let mut items: Vec<String> = text.lines().take(TEXT_LINES_MAX).map(String::from).collect();
    let lines = text.lines().count();
    if lines > TEXT_LINES_MAX {
        items.push(format!("({})", counted((lines - TEXT_LINES_MAX) as f64, "more line", "more lines")));
    }
    Section::List { heading: None, items, indent: 2 }
}

fn waits(waits: &[Row], total: f64) -> Option<Table> {
    let scale = scale(total);
    let mut sorted = waits.to_vec();
    sorting::by(&mut sorted, |a, b| b.total().total_cmp(&a.total()));
    Table::over(&sorted)
        .column(format!("waits, {}", scale.heading), Align::Left, |wait| wait.text("event"))
        .column("total", Align::Right, |wait| scale.cell(wait.total()))
        .column("%", Align::Right, |wait| share(wait.total(), total))
        .column("count", Align::Right, |wait| wait.value("calls").map(count))
        .column("mean", Align::Decimal, |wait| wait.value("mean").map(of_micros))
        .optional("min", Align::Decimal, |wait| wait.value("min").map(of_micros))
        .optional("max", Align::Decimal, |wait| wait.value("max").map(of_micros))
        .optional("blocks", Align::Right, |wait| wait.value("blocks").filter(|blocks| *blocks > 0.0).map(count))
        .unless_empty()
}

/// Each plan with what its lines do themselves.
fn plans(lines: &[Row]) -> Vec<Table> {
    lines.chunk_by(|one, other| one.number("plan") == other.number("plan")).map(plan).collect()
}

fn plan(lines: &[Row]) -> Table {
    let total: f64 = lines.iter().filter_map(|row| row.value("time")).map(|time| time.max(0.0)).sum();
    let scale = scale(total);
    let hash = lines.first().and_then(|row| row.integer("plan_hash")).filter(|hash| *hash > 0);
    let level = |line: &Row| line.number("level").unwrap_or(0.0).clamp(0.0, 20.0) as usize;
    Table::over(lines)
        .column(hash.map_or("plan".into(), |hash| format!("plan {hash}")), Align::Left, |line| {
            format!("{}{}", "  ".repeat(level(line)), line.text("operation"))
        })
        .column("rows", Align::Right, |line| line.value("rows").map(count))
        .optional("expected", Align::Right, |line| line.value("estimated_rows").map(count))
        .each((total > 0.0).then_some(scale), |table, scale| {
            table
                .column(format!("own {}", scale.heading), Align::Right, |line| {
                    line.value("time").map(|us| scale.cell(us))
                })
                .column("%", Align::Right, |line| line.value("time").and_then(|us| share(us, total)))
        })
        .optional("own gets", Align::Right, |line| line.value("gets").map(count))
        .optional("own reads", Align::Right, |line| line.value("physical_reads").map(count))
        .optional("starts", Align::Right, |line| line.value("starts").map(count))
        .noted(expected(lines))
        .done()
}

/// What the expected rows are of, where a plan has some.
fn expected(lines: &[Row]) -> &'static str {
    let has = |name: &str| lines.iter().any(|line| line.value(name).is_some());
    if has("estimated_rows") { "Rows are those of all starts, expected ones those of one start." } else { "" }
}

/// One histogram an event that has blocks, by calls and by time.
fn histograms(buckets: &[Row]) -> Vec<Table> {
    let of_events = buckets.chunk_by(|one, other| one.text("event") == other.text("event"));
    let has_blocks = |of: &&[Row]| of.iter().any(|row| row.value("blocks").is_some_and(|blocks| blocks > 0.0));
    of_events.filter(has_blocks).map(|of| histogram(of[0].text("event"), of)).collect()
}

fn histogram(event: &str, buckets: &[Row]) -> Table {
    let sum = |spec: &Spec| buckets.iter().filter_map(|row| row.value(&spec.name)).sum::<f64>();
    let (calls, total) = (sum(&profile::CALLS), sum(&profile::TOTAL));
    let here = |bucket: &Row| bucket.value("calls").unwrap_or(0.0);
    Table::over(buckets)
        .column(format!("{event} from"), Align::Decimal, |bucket| {
            number::time(bucket.number("from_us").unwrap_or(0.0) * 1e3)
        })
        .column("count", Align::Right, |bucket| count(here(bucket)))
        .column("% calls", Align::Right, |bucket| share(here(bucket), calls))
        .column("% time", Align::Right, |bucket| share(bucket.total(), total))
        .bars("calls", Scale::Linear, |bucket| Some(here(bucket)))
        .done()
}
