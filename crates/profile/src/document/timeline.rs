//! The sessions at work over time as cases and a finding of a run document: a case a class, a sample a step.

use measure::quantity::format_nanos;
use measure::schema::profile::findings as row;
use measure::schema::profile::{self as schema, parameters as named};
use measure::schema::sampled::ACTIVE_SESSIONS;
use measure::{Case, Finding};

use super::metrics::case;
use crate::event::Ticks;
use crate::tables::Profile;
use crate::tables::active_over_time::{ActiveOverTime, NoTimeline};

/// The table.
const TABLE: &str = "timeline";

/// How the numbers were obtained.
const FROM_SAMPLES: &str = "samples of the sessions";
const FROM_LINES: &str = "ends and lengths of calls and waits";

/// Digits behind the point of a number of sessions: a step has room for no more.
const PRECISION: f64 = 1e6;

/// All classes together with the time that is covered, then each class.
pub(crate) fn cases(profile: &Profile) -> Vec<Case> {
    let ActiveOverTime::Known { timeline, is_wall_clock } = &profile.active else { return Vec::new() };
    let source = if profile.sampled.is_some() { FROM_SAMPLES } else { FROM_LINES };
    let parameters = || {
        let begin = is_wall_clock.then(|| named::FIRST_SECOND.of(timeline.first_second));
        [named::TABLE.of(TABLE), named::STEP_SECONDS.of(timeline.step_seconds)].into_iter().chain(begin)
    };
    let active = |steps: Vec<f64>| {
        let rounded: Vec<f64> = steps.iter().map(|active| (active * PRECISION).round() / PRECISION).collect();
        ACTIVE_SESSIONS.of_samples(source, &rounded)
    };
    let sum = |step: usize| timeline.classes.iter().map(|(_, active)| active[step]).sum::<f64>();
    let covered: Vec<f64> = timeline.covered.iter().map(|covered| covered.micros()).collect();
    let all = active((0..covered.len()).map(sum).collect());
    let covered = schema::COVERED.of_samples(source, &covered);
    let whole = case(parameters(), all.into_iter().chain(covered).collect());
    let classes = timeline.classes.iter().map(|(class, steps)| {
        case(parameters().chain([named::CLASS.of(class.key())]), active(steps.clone()).into_iter().collect())
    });
    std::iter::once(whole).chain(classes).collect()
}

/// Why there is none.
pub(crate) fn finding(active: &ActiveOverTime) -> Option<Finding> {
    let ActiveOverTime::Unknown(why) = active else { return None };
    let nanos = |time: Ticks| format_nanos(1e3 * time.micros());
    let message = match why {
        NoTimeline::TooShort => {
            "The sessions at work are not shown over time: the profile covers less than three steps of a second."
                .to_string()
        }
        NoTimeline::SeveralClocks => {
            "The sessions at work are not shown over time: the files have clocks of their own, and no stamp of the \
             wall clock says how these lie to each other. Profile one file."
                .to_string()
        }
        NoTimeline::Unplaced { unplaced, all } => format!(
            "The sessions at work are not shown over time: for {} of their {} the source does not say by the wall \
             clock when it passed.",
            nanos(*unplaced),
            nanos(*all)
        ),
    };
    Some(row::NO_TIMELINE.of(message))
}
