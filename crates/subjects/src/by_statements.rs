//! What subjects of logical reads have in common that read by the statements of one session: the ways to a block that
//! statements have, and what no statement does.

use dataset::DataSet;
use measure::Finding;
use measure::schema::subjects::findings as row;

use crate::logical_reads::{Access, Asked, Pass, Population, Touch, TouchAxis};

/// The ways to a block that statements have.
const ACCESSES: [Access; 3] = [Access::FullScan, Access::Rowid, Access::Index];

/// Most rows that are looked for one by one.
pub(crate) const LOOKED_FOR_MAX: u64 = 50_000;

/// Columns shorter than this hold the same text in many rows, so that an index on one leads to no single row.
const KEY_LENGTH_MIN: usize = 10;

/// Whether the first column differs from row to row, so that an index on it leads to one row.
pub(crate) fn has_key(data: &DataSet) -> bool {
    data.shape().column_lengths().next().is_some_and(|length| length >= KEY_LENGTH_MIN)
}

/// The ways that are asked for and that statements have, through an index only where the first column is a key.
pub(crate) fn possible(asked: &Asked, has_key: bool) -> Vec<Access> {
    let is_possible = |access: &Access| ACCESSES.contains(access) && (*access != Access::Index || has_key);
    asked.accesses.iter().copied().filter(is_possible).collect()
}

/// What is asked of a table.
#[derive(Debug)]
pub(crate) struct Question {
    /// The statement that is measured, and what it counts.
    pub(crate) statement: String,
    pub(crate) count: u64,
    /// A statement that does all but reading the table, and what that counts.
    pub(crate) beside: String,
    pub(crate) beside_count: u64,
}

impl Question {
    /// The statement of the two that touches this, and what it counts.
    pub(crate) fn of_touch(self, touch: Touch) -> (String, u64) {
        match touch {
            Touch::Nothing => (self.beside, self.beside_count),
            _ => (self.statement, self.count),
        }
    }
}

/// Such a subject, in sentences.
pub(crate) struct ByStatements {
    /// The option that names it: `--on sqlite`.
    pub(crate) option: &'static str,
    /// What it is: `SQLite`.
    pub(crate) name: &'static str,
    /// What alone reads: `session`.
    pub(crate) reader: &'static str,
    /// What it keeps of earlier states: `no versions of rows`.
    pub(crate) versions: &'static str,
}

impl ByStatements {
    /// Why it can do nothing of what is asked, apart from the shapes of tables; `None` where it can do some.
    pub(crate) fn unfit(&self, asked: &Asked) -> Option<String> {
        let ByStatements { option, name, reader, versions } = self;
        if !asked.threads.contains(&1) {
            return Some(format!("--threads has to contain 1 with {option}: one {reader} reads"));
        }
        if !asked.changed_rows.contains(&0) {
            return Some(format!("--changed-rows has to contain 0 with {option}: {name} keeps {versions}"));
        }
        if asked.touches.iter().all(|touch| *touch == TouchAxis::Every(Touch::Directory)) {
            return Some(format!(
                "--touch directory cannot go alone with {option}: write rows, column-N or column-last"
            ));
        }
        let is_one_possible = asked.accesses.iter().any(|access| ACCESSES.contains(access));
        (!is_one_possible)
            .then(|| format!("--access one-page cannot go alone with {option}: write full-scan, rowid or index"))
    }

    /// Why a table does not come into the cache in this order, or with changes of this percentage of its rows.
    pub(crate) fn populated(
        &self,
        name: &str,
        population: Population,
        changed_rows: Option<u32>,
    ) -> Result<(), Finding> {
        match (population, changed_rows) {
            (Population::FullScan, None | Some(0)) => Ok(()),
            (Population::FullScan, Some(_)) => {
                let reason = format!("Changed rows were not read on {name}: it keeps {}.", self.versions);
                Err(row::ABSENT_CHANGED_ROWS.of(reason))
            }
            (Population::Interleaved, _) => {
                let order = "in the order in which statements ask for them";
                Err(row::ABSENT_POPULATION.of(format!("{name} brings blocks into its cache {order}.")))
            }
        }
    }

    /// Why a pass cannot be made over a table; `None` where it can. `accesses` are those that the table was prepared
    /// for.
    pub(crate) fn absence(
        &self,
        name: &str,
        pass: &Pass,
        mut accesses: impl Iterator<Item = Access>,
    ) -> Option<Finding> {
        let access = pass.access;
        if !accesses.any(|prepared| prepared == access) {
            let reason = format!("{name} was not read by {access}: no statement does.");
            return Some(row::ABSENT_ACCESS.named(access.name(), reason));
        }
        if pass.threads != 1 {
            let reason = format!("{name} was not read by several threads: one {} reads.", self.reader);
            return Some(row::ABSENT_THREADS.of(reason));
        }
        let reason = || format!("The directory of rows was not read on {name}: no statement stops there.");
        (pass.touch == Touch::Directory).then(|| row::ABSENT_DIRECTORY.of(reason()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: ByStatements =
        ByStatements { option: "--on sqlite", name: "SQLite", reader: "connection", versions: "no versions of rows" };

    fn asked(is_else_asked: bool) -> Asked {
        let directory = TouchAxis::Every(Touch::Directory);
        let (mut threads, mut changed_rows, mut touches, mut accesses) =
            (vec![2], vec![10], vec![directory], vec![Access::OnePage]);
        if is_else_asked {
            threads.push(1);
            changed_rows.push(0);
            touches.push(TouchAxis::LastColumn);
            accesses.push(Access::Rowid);
        }
        Asked { threads, changed_rows, touches, accesses, ..Asked::default() }
    }

    #[test]
    fn what_no_statement_does_is_refused_where_nothing_else_is_asked_and_not_otherwise() {
        let (possible, other) = (asked(true), asked(false));
        assert_eq!(SUBJECT.unfit(&possible), None);
        for (asked, option) in [
            (Asked { threads: other.threads, ..possible.clone() }, "--threads"),
            (Asked { changed_rows: other.changed_rows, ..possible.clone() }, "--changed-rows"),
            (Asked { touches: other.touches, ..possible.clone() }, "--touch"),
            (Asked { accesses: other.accesses, ..possible.clone() }, "--access"),
        ] {
            let said = SUBJECT.unfit(&asked).unwrap();
            assert!(said.starts_with(option) && said.contains("with --on sqlite: "), "{said}");
        }
    }
}
