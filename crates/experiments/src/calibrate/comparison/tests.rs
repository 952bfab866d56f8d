//! What is said of a round, and which queries are run once before the rounds.

mod planted;

use super::*;

#[test]
fn a_query_that_was_given_up_is_not_said_to_be_run_in_a_round() {
    let changed = || Compared::of("q", vec![Variant::of(&[0], &[9.0]), Variant::of(&[1], &[9.0])]);
    let same = Compared::of("same", vec![Variant::of(&[0, 1], &[])]);
    let failed = Some(Unfinished::Failed("it ends with an error".into()));
    let given_up = [Compared { not_timed: failed, ..changed() }, Compared { is_left: true, ..changed() }];
    let all: Vec<Compared> = [same, changed()].into_iter().chain(given_up).collect();
    let sets = vec![own(), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
    let said = round_in_words(&Comparison::timed(State::Cached, sets, all), 2);
    assert_eq!(said, "1 query whose plan changes, cached by the server, round 2");
}

#[test]
fn the_first_run_that_marks_the_rows_of_a_restored_backup_counts_for_no_plan() {
    let found = |state| {
        let changed = |name| Compared::of(name, vec![Variant::of(&[0], &[]), Variant::of(&[1], &[])]);
        let not_run = Compared { not_timed: Some(Unfinished::Refused("it writes".into())), ..changed("not run") };
        let same = Compared::of("same", vec![Variant::of(&[0, 1], &[])]);
        let sets = vec![own(), ConstantSet { name: "cached", values: vec![("seq_page_cost", 0.5)] }];
        unmarked(&Comparison::timed(state, sets, vec![same, changed("first"), not_run, changed("last")]))
    };
    assert_eq!(found(State::OwnCold), [1, 3]);
    for state in [State::AsFound, State::Cold, State::Cached, State::System] {
        assert_eq!(found(state), [0; 0], "{state:?}");
    }
}
