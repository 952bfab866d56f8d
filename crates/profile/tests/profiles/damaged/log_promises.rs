//! What is promised of every log, whatever its bytes: no panic, nothing dropped without a count, sums that fit.

use profile::event::{Call, Context, Observer, PlanLine, Root, Ticks, Wait};
use profile::source::postgres_log::format::LogFormat;
use profile::source::postgres_log::source::LogSource;

/// Reads some bytes as a log and holds the promises; the format and the number of plans.
pub(crate) fn judge(bytes: &[u8]) -> Option<(LogFormat, u64)> {
    let mut source = LogSource::new();
    let mut sums = Sums::default();
    let format = source.read_log(bytes, &mut sums).expect("memory can be read")?;
    let (accounted, summary) = source.end(&mut sums);
    let unread: u64 = summary.unread.iter().map(|unread| unread.bytes).sum();
    assert_eq!(summary.plan_bytes + unread, bytes.len() as u64, "bytes are read or counted");
    assert_eq!(sums.calls, summary.plans);
    assert_eq!(sums.roots, sums.own, "own times add up to those of the calls without a parent");
    assert!(sums.statements_max < accounted.context.statements.len().max(1) as u32);
    Some((format, summary.plans))
}

#[derive(Default)]
struct Sums {
    calls: u64,
    own: Ticks,
    roots: Ticks,
    statements_max: u32,
}

impl Observer for Sums {
    fn call(&mut self, _: &Context, call: &Call) {
        assert_eq!(call.number, self.calls);
        self.calls += 1;
        self.own += call.own.elapsed;
        self.statements_max = self.statements_max.max(call.statement.0);
    }
    fn wait(&mut self, context: &Context, wait: &Wait) {
        assert!(wait.elapsed > Ticks::ZERO && (wait.event.0 as usize) < context.events.len());
    }
    fn root(&mut self, _: &Context, root: &Root) {
        self.roots += root.inclusive.elapsed;
    }
    fn plan_line(&mut self, _: &Context, line: &PlanLine) {
        assert!(line.parent < line.id && line.figures.is_some());
    }
}
