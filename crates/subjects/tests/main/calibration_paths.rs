//! Paths to rows of a calibration on a real server: with the other ways closed the planner takes the one that is left,
//! and each gives the rows that were asked for.

use std::path::Path;

use subjects::postgres::calibration::{ChosenPlan, Clustering, Probe, Ways};

use crate::verification_queries::{DEBIAN, open};

#[test]
fn a_path_that_is_timed_is_the_one_in_the_plan_and_gives_every_row_that_was_asked_for() {
    if !Path::new(DEBIAN).exists() {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
        return;
    }
    let mut tables = open();
    tables.load().unwrap();
    let most = tables.sizes().rows / 2;
    for path in ChosenPlan::ALL {
        tables.allow(Ways::Only(path)).unwrap();
        let mut last = 0.0;
        for clustering in Clustering::ALL {
            for rows in [1, 300, most] {
                let probe = Probe::Fetch { clustering, rows };
                assert_eq!(tables.chosen(probe).unwrap(), Some(path), "{clustering:?} {rows}");
                let executed = tables.execute(probe, Ways::Only(path)).unwrap();
                assert_eq!(executed.rows, Some(rows), "{path:?} {clustering:?}");
                let cost = tables.cost_of(probe, path).unwrap().unwrap();
                // A path that is closed and taken all the same costs ten billion more.
                assert!(cost > 0.0 && cost < 1e7, "{path:?} {clustering:?} {rows}: {cost}");
                last = f64::max(last, cost);
            }
        }
        // Blocks that cost twice as much make each path dearer: the cost is one by the constants that are set.
        let constants = ["seq_page_cost", "random_page_cost"];
        tables.set_constants(&constants, &[("seq_page_cost", 2.0), ("random_page_cost", 8.0)]).unwrap();
        let scattered = Probe::Fetch { clustering: Clustering::Random, rows: most };
        let dear = tables.cost_of(scattered, path).unwrap().unwrap();
        assert!(dear > last, "{path:?}: {dear} and {last}");
        tables.set_constants(&constants, &[]).unwrap();
    }
    tables.allow(Ways::All).unwrap();
    let few = Probe::Fetch { clustering: Clustering::Good, rows: 30 };
    assert_eq!(tables.chosen(few).unwrap(), Some(ChosenPlan::Index));
    assert_eq!(tables.cost_of(few, ChosenPlan::FullScan).unwrap(), None, "the planner goes another way");
}
