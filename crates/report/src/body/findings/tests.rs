//! Its findings, read on both sides of their conditions.

use measure::run::{Host, SCHEMA};
use measure::schema::page;
use sides::proptest::option;
use sides::proptest::prelude::{Just, any};
use sides::proptest::sample::select;
use sides::{both_sides, reading, says};

use super::*;

fn run(finished: Option<&str>, findings: Vec<Finding>) -> Run {
    Run {
        schema: SCHEMA.into(),
        id: "a".into(),
        command: Vec::new(),
        started: String::new(),
        finished: finished.map(String::from),
        build: None,
        job: None,
        host: Host::default(),
        own_cost: Vec::new(),
        experiment: "null".into(),
        subject: measure::Parameters::new(),
        cases: Vec::new(),
        findings,
    }
}

#[test]
fn a_run_without_an_end_is_called_so_unless_a_finding_says_why() {
    let values =
        (option::of(Just("2026-01-31T12:35:56Z")), any::<bool>(), select(vec![every::INTERRUPTED, every::FAILED]));
    let of = |(finished, says_why, why): &(Option<&str>, bool, measure::schema::FindingSpec)| {
        let others = [every::STORE_OPEN.of("Others.")].into_iter();
        unfinished(&run(*finished, others.chain(says_why.then(|| why.of("It ended."))).collect()))
    };
    let unfinished = reading(row::UNFINISHED, values, of, |(finished, says_why, _)| {
        (finished.is_none() && !says_why).then(|| says!["The run did not end"])
    });
    both_sides(&page::findings::ALL, [unfinished]);
}
