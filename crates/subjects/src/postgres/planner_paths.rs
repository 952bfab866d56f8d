//! The planner's paths to the table of customers, how to leave it one of them, and whether it takes it.

use server::{Buffers, Plan, ServerError, Session};

use super::customers::{Customers, CustomersIndex};
use crate::access_paths::{AccessPath, Asked, PathOffer};
use crate::error::SubjectError;

/// Settings of the session. One process does all the work, in the order of the table and without being compiled.
pub(super) const SETTINGS: [(&str, &str); 3] =
    [("max_parallel_workers_per_gather", "0"), ("jit", "off"), ("synchronize_seqscans", "off")];

/// The planner's ways to a table, each of which can be turned off.
const SWITCHES: [&str; 4] = ["enable_seqscan", "enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"];

/// A path as the planner knows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlannerPath {
    pub(super) path: AccessPath,
    /// The index that it goes by.
    pub(super) index: Option<CustomersIndex>,
    /// The switches that stay on. An index-only scan is an index scan to the planner, and where it can be, the cheaper
    /// one.
    on: &'static [&'static str],
    /// The step of the plan that gives the rows.
    step: &'static str,
}

/// All of them.
pub(super) const PATHS: [PlannerPath; 5] = [
    PlannerPath {
        path: AccessPath::IndexBadClustering,
        index: Some(CustomersIndex::PostalCode),
        on: &["enable_indexscan"],
        step: "Index Scan",
    },
    PlannerPath {
        path: AccessPath::BitmapScan,
        index: Some(CustomersIndex::PostalCode),
        on: &["enable_bitmapscan"],
        step: "Bitmap Heap Scan",
    },
    PlannerPath {
        path: AccessPath::IndexGoodClustering,
        index: Some(CustomersIndex::Id),
        on: &["enable_indexscan"],
        step: "Index Scan",
    },
    PlannerPath { path: AccessPath::FullScan, index: None, on: &["enable_seqscan"], step: "Seq Scan" },
    PlannerPath {
        path: AccessPath::IndexOnlyScan,
        index: Some(CustomersIndex::IdWithValid),
        on: &["enable_indexscan", "enable_indexonlyscan"],
        step: "Index Only Scan",
    },
];

/// The paths with the reason where one cannot answer the question.
pub(super) fn offers(asked: Asked) -> Vec<PathOffer> {
    PATHS.iter().map(|of| PathOffer::of_planner(of.path, of.absence(asked))).collect()
}

impl PlannerPath {
    /// The planner's path; an error where it has none.
    pub(super) fn of(path: AccessPath) -> Result<&'static PlannerPath, SubjectError> {
        let none = || SubjectError::Parameters(format!("PostgreSQL has no path {}", path.name()));
        PATHS.iter().find(|of| of.path == path).ok_or_else(none)
    }

    fn absence(&self, asked: Asked) -> Option<&'static str> {
        match (self.path, asked) {
            (AccessPath::FullScan, _) | (_, Asked::AllPass) | (AccessPath::IndexOnlyScan, Asked::NoPredicate) => None,
            (_, Asked::NoPredicate) => {
                Some("PostgreSQL goes by an index only where something is compared with its key")
            }
            (_, Asked::HalfPass) => Some("an index scan compares its key and no other column"),
        }
    }

    /// The settings that leave the planner no other way.
    pub(super) fn settings(&self) -> [(&'static str, &'static str); 4] {
        SWITCHES.map(|switch| (switch, if self.on.contains(&switch) { "on" } else { "off" }))
    }

    /// The statement that asks the question of a table.
    pub(super) fn statement(&self, asked: Asked, table: &Customers) -> String {
        let condition = match (self.index, asked) {
            (_, Asked::NoPredicate) => "",
            (_, Asked::HalfPass) => " WHERE cust_year_of_birth > 1950",
            (Some(CustomersIndex::PostalCode), Asked::AllPass) => " WHERE cust_postal_code > '0'",
            (_, Asked::AllPass) => " WHERE cust_id > 0",
        };
        format!("SELECT count(cust_valid) FROM {}{condition}", table.full_name())
    }

    /// Leaves the planner this way to a table.
    pub(super) fn turn_to(&self, session: &mut Session) -> Result<(), ServerError> {
        session.set_all(self.settings())
    }

    /// Runs the statement over a table and gives its plan; an error where the planner goes another way.
    pub(super) fn explained(
        &self,
        session: &mut Session,
        asked: Asked,
        table: &Customers,
    ) -> Result<Plan, ServerError> {
        let statement = self.statement(asked, table);
        let plan = session.explain(&statement, Plan::assumed(self.step, Buffers::default()))?;
        let index = self.index.map(|index| table.index_name(index));
        let steps = plan.top.steps();
        let goes = steps.iter().any(|step| step.kind == self.step);
        let by = steps.iter().find_map(|step| step.index.clone());
        if !session.is_rehearsal() && (!goes || by != index) {
            let found = format!("{} {}", plan.top.kinds().join(", "), by.unwrap_or_default());
            return Err(ServerError::answer(&statement, found.trim(), "a plan that goes the way measured"));
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_is_left_to_the_planner() {
        for of in PATHS {
            let on = of.settings().into_iter().filter(|(_, value)| *value == "on").count();
            assert_eq!(on, if of.path == AccessPath::IndexOnlyScan { 2 } else { 1 }, "{of:?}");
        }
    }

    #[test]
    fn a_question_about_an_index_is_about_its_key() {
        let table = Customers::new("readpath", "customers", 1, 1);
        let statement = |path, asked| PlannerPath::of(path).unwrap().statement(asked, &table);
        assert_eq!(
            statement(AccessPath::BitmapScan, Asked::AllPass),
            "SELECT count(cust_valid) FROM readpath.\"customers\" WHERE cust_postal_code > '0'"
        );
        assert!(statement(AccessPath::IndexOnlyScan, Asked::AllPass).ends_with("WHERE cust_id > 0"));
        assert!(statement(AccessPath::FullScan, Asked::NoPredicate).ends_with("\"customers\""));
        assert!(offers(Asked::AllPass).iter().all(|offer| offer.absence.is_none()));
        let absent = offers(Asked::HalfPass).into_iter().filter(|offer| offer.absence.is_some()).count();
        assert_eq!(absent, 4, "only the full scan compares another column than a key");
    }
}
