//! PostgreSQL as a contender: the whole table in shared buffers, and an index on either column.

use std::path::Path;

use dataset::customers::SCHEMA;
use dataset::{Column, ColumnType, DataSet};
use server::BackendAccount;
use server::private::Installation;
use subjects::access_paths::{AccessPath, Asked};
use subjects::postgres::copy_text;

use crate::interruption::Interruption;
use crate::private_postgres::{Connection, PrivatePostgres};
use crate::scan::engine::ROW_PATHS;
use crate::scan::question::{Reading, SEED};

/// Bytes of a row with its head, and room for what is no row; the rows take 215.
const ROW_BYTES_MAX: u64 = 240;
const ROOM_BYTES: u64 = 256 << 20;

/// A scan of a table beyond a quarter of the buffers would pass through a ring of 32 and leave nothing behind.
const TABLES_IN_BUFFERS: u64 = 4;

/// What the planner is left with for one path, and what it must then choose.
struct Plan {
    path: AccessPath,
    statement: &'static str,
    /// The line of `EXPLAIN` that shows that the path is taken.
    node: &'static str,
    /// How often the statement runs in one turn; the median counts.
    repeats: usize,
}

const PLANS: [Plan; 3] = [
    Plan {
        path: ROW_PATHS[0],
        statement: "SELECT count(cust_valid) FROM customers WHERE cust_id > 0",
        node: "Seq Scan on customers",
        repeats: 3,
    },
    Plan {
        path: ROW_PATHS[1],
        statement: "SELECT count(cust_valid) FROM customers WHERE cust_id > 0",
        node: "Index Scan using by_id on customers",
        repeats: 3,
    },
    Plan {
        path: ROW_PATHS[2],
        statement: "SELECT count(cust_valid) FROM customers WHERE cust_postal_code > '0'",
        node: "Index Scan using by_postal_code on customers",
        repeats: 1,
    },
];

/// The name of a path by PostgreSQL among the contenders.
pub(crate) fn name(path: AccessPath) -> String {
    format!("PostgreSQL {}", path.name())
}

/// A private server with the table.
pub(crate) struct Postgres {
    session: Connection,
    backend: BackendAccount,
    // Stopped when dropped, after the session.
    server: PrivatePostgres,
    count: u64,
    rows: u64,
}

impl Postgres {
    /// Starts a server and loads the table; every block is in shared buffers afterwards.
    pub(crate) fn start(
        installation: &Installation,
        directory: &Path,
        rows: u64,
        interruption: &Interruption,
    ) -> Result<Postgres, String> {
        let buffers = TABLES_IN_BUFFERS * rows * ROW_BYTES_MAX + ROOM_BYTES;
        let server = PrivatePostgres::start(installation, directory, buffers, interruption)?;
        let mut session = server.connect()?;
        load(&mut session, rows, interruption)?;
        let count = session.number("SELECT count(cust_valid) FROM customers")?;
        let backend = session.backend()?;
        let mut postgres = Postgres { session, backend, server, count, rows };
        for plan in &PLANS {
            interruption.check()?;
            postgres.check(plan)?;
        }
        Ok(postgres)
    }

    /// Its version.
    pub(crate) fn name(&self) -> &str {
        &self.server.name
    }

    /// One turn over all paths.
    pub(crate) fn take_turn(&mut self, interruption: &Interruption) -> Result<Vec<Reading>, String> {
        let reading = |plan: &Plan| {
            interruption.check()?;
            self.turn_to(plan)?;
            let ns = self.session.statement_ns(self.backend, plan.statement, self.count, plan.repeats)?;
            let row_ns = ns / self.rows as f64;
            Ok(Reading { contender: name(plan.path), asked: Asked::AllPass, row_ns, count: self.count })
        };
        PLANS.iter().map(reading).collect()
    }

    /// Leaves the planner no other way.
    fn turn_to(&mut self, plan: &Plan) -> Result<(), String> {
        let on = |is_on: bool| if is_on { "on" } else { "off" };
        let (index, full) = (on(plan.path.is_index()), on(!plan.path.is_index()));
        let settings = format!(
            "SET enable_seqscan = {full}; SET enable_indexscan = {index}; SET enable_bitmapscan = off; \
             SET enable_indexonlyscan = off"
        );
        self.session.run(&settings)
    }

    /// What the comparison takes for granted: the path is taken, and nothing is read.
    fn check(&mut self, plan: &Plan) -> Result<(), String> {
        self.turn_to(plan)?;
        let lines = self.session.lines(&format!("EXPLAIN (COSTS OFF) {}", plan.statement))?;
        if !lines.iter().any(|line| line.trim_start_matches([' ', '-', '>']) == plan.node) {
            return Err(format!("PostgreSQL takes another path than {}:\n{}", plan.path.name(), lines.join("\n")));
        }
        // The first run brings what is not there yet.
        self.session.run(plan.statement)?;
        match self.session.buffers(plan.statement)?.reads {
            0 => Ok(()),
            reads => Err(format!("PostgreSQL read {reads} blocks for {}", plan.path.name())),
        }
    }
}

fn load(session: &mut Connection, rows: u64, interruption: &Interruption) -> Result<(), String> {
    let mut quiet = |_, _| ();
    let chunks = copy_text::chunks(&DataSet::customers(rows, SEED), &mut quiet).map_err(|error| error.to_string())?;
    session.fill("customers", &format!("({})", columns()), chunks)?;
    interruption.check()?;
    session.run("SET maintenance_work_mem = '1GB'")?;
    session.run("CREATE INDEX by_id ON customers (cust_id)")?;
    interruption.check()?;
    session.run("CREATE INDEX by_postal_code ON customers (cust_postal_code)")?;
    session.run("VACUUM (FREEZE, ANALYZE) customers")?;
    // What loading left to be written is written now and not while a contender is measured.
    session.run("CHECKPOINT")?;
    session.visible_blocks("customers")?;
    let found = session.number("SELECT count(*) FROM customers")?;
    if found == rows { Ok(()) } else { Err(format!("PostgreSQL has {found} rows of {rows}")) }
}

/// Numbers and days take four bytes, the least that holds them all.
fn columns() -> String {
    let column = |column: &Column| {
        let kind = if column.kind == ColumnType::Text { "varchar" } else { "integer" };
        format!("{} {kind}", column.name)
    };
    SCHEMA.iter().map(column).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_have_columns_of_their_own_types() {
        let columns = columns();
        assert!(columns.starts_with("cust_id integer, cust_first_name varchar"), "{columns}");
        assert!(columns.ends_with("cust_eff_to integer, cust_valid varchar"), "{columns}");
    }
}
