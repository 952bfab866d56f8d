//! What a profile comes to in a run document: the subject, all cases, all findings.

use measure::quantity::grouped;
use measure::schema::profile::findings as row;
use measure::{Case, Finding, Metric, Parameters};

use crate::document::{self, Selection};
use crate::findings;
use crate::ingest::Ingested;
use crate::observe::instruments::Instruments;

/// A profile in the words of a run document.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was profiled.
    pub subject: Parameters,
    /// The rows of all tables.
    pub cases: Vec<Case>,
    /// What the profile found.
    pub findings: Vec<Finding>,
}

/// Everything that a run keeps of a profile; `instruments` heard the same calls and waits.
pub fn outcome(ingested: &mut Ingested, instruments: &Instruments, selection: &Selection) -> Outcome {
    // They find folded statements by their texts.
    let of_instruments = instruments.cases(&ingested.profile);
    if selection.hides_texts {
        ingested.profile.hide_texts();
    }
    let profile = &ingested.profile;
    let mut cases = document::cases(profile, selection);
    let is_known = |metric: &Metric| !ingested.unmeasured.has(&metric.name);
    cases.iter_mut().for_each(|case| case.metrics.retain(is_known));
    cases.extend(of_instruments);
    cases.extend(document::files::unread(ingested));
    if let Some(sampled) = &profile.sampled {
        document::sampled::settle(profile, sampled, &mut cases);
        cases.extend(document::sampled::cases(profile, sampled));
    }
    // Behind `settle`, which takes a table of samples for one of a trace.
    cases.extend(document::timeline::cases(profile));
    let mut findings = Vec::new();
    findings.extend(ingested.folded_as_once.map(|(once, all)| {
        let message = format!(
            "{} of {} statements were executed once and most differ in their literals alone: they are added up. Use \
             bind variables; --fold-literals=never shows them one by one.",
            grouped(once as u64),
            grouped(all as u64)
        );
        row::FOLDED_BY_ITSELF.of(message)
    }));
    findings.extend(ingested.folded.filter(|folded| *folded > 0).map(|_| {
        let message = "Where a statement calls another one that is seen together with it, time with recursive \
                       children counts the call twice; own figures do not.";
        row::FOLDED_INCLUSIVE.of(message)
    }));
    findings.extend(findings::findings(profile, &instruments.hot_spots(), selection.order, &ingested.begun));
    findings.extend(instruments.findings(profile));
    findings.extend(document::timeline::finding(&profile.active));
    findings.extend(findings::of_files(ingested));
    Outcome { subject: document::files::subject(ingested), cases, findings }
}
