//! The ladder as a chart on a logarithmic axis.

use measure::schema::ladder;
use measure::{Run, Unit};

use super::{Line, label, lines};
use crate::body::drawing::{Drawing, RANGE, figure, ratio};
use crate::page::{Axis, Chart, Datum, Plot, Row};

/// What is drawn of a ladder.
pub(in crate::body) fn drawing(run: &Run) -> Drawing {
    let lines = lines(run);
    let value = Axis::logarithmic("time of one read or load", Unit::Nanoseconds);
    let of = |line: &Line| Some(Row::of(label(line), Datum::median(ladder::LATENCY.in_case(line.case)?)));
    let rows = Plot::Rows(lines.iter().filter_map(of).collect());
    let note = "L1 to L3 and DRAM with 4 KiB or 2 MiB pages: one load at random. A system call reads nothing. All \
                others, DRAM in sequence too: a block of 8 KiB. Equal distances are equal ratios.";
    let chart = Chart::new("ladder", "What one read costs at every level", value, rows)
        .noted(note)
        .of_medians()
        .thin_line(RANGE)
        .concerning(&["answer-*", "just-written", "core-*", "stolen-*", "cpu-*", "l3-*", "huge-page-buffers"]);
    let find = |name: &str| lines.iter().find(|line| line.rung.name == name);
    let logical = find("lio").or(find("pool-get"));
    let physical = find("device-random-depth-1");
    let shown = |what: &str, line: Option<&Line>| {
        Some(figure(what, Unit::Nanoseconds, &Datum::median(ladder::LATENCY.in_case(line?.case)?)))
    };
    let times = logical.zip(physical).and_then(|(logical, physical)| {
        ratio("a physical read over a logical one", physical.nanos, logical.nanos, "the two medians, divided")
    });
    let figures = [shown("a logical read", logical), shown("a physical read of one block", physical), times];
    let figures = figures.into_iter().chain([shown("a load from DRAM", find("dram"))]);
    Drawing::new(figures, chart.with_at_least(2).into_iter().collect())
}
