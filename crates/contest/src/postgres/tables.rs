//! PostgreSQL's tables: the engine's rows, all visible, all in shared buffers.

use storage::catalog::TableSpec;
use subjects::postgres::copy_text;

use crate::postgres::cell::{BLOCK_BYTES, Cell, TOUCHES};
use crate::private_postgres::Connection;

/// A table without rows: what a statement costs besides its blocks.
pub(crate) const EMPTY: &str = "no_rows";

/// Rows stay whole in their page, as the engine's do. Without it, values of rows beyond 2 KiB are compressed or moved
/// away.
const WHOLE_ROWS: &str = "toast_tuple_target = 8160";

/// Room in the shared buffers for everything that is not a table.
const ROOM_BYTES: u64 = 128 << 20;

/// A loaded table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Which.
    pub(crate) cell: Cell,
    /// Its rows.
    pub(crate) rows: u64,
    /// Its blocks.
    pub(crate) blocks: u64,
}

/// Shared buffers that hold the tables of all cells.
///
/// A scan of a table beyond a quarter of them would pass through a ring of 32 buffers and leave nothing behind.
pub(crate) fn buffer_bytes(cells: &[Cell], payload: u64) -> u64 {
    let bytes = |cell: &Cell| cell.postgres_blocks(cell.spec(payload).rows()) * BLOCK_BYTES;
    let (all, largest) = cells.iter().map(bytes).fold((0, 0_u64), |(all, largest), one| (all + one, largest.max(one)));
    all.max(4 * largest) + all / 50 + ROOM_BYTES
}

/// Makes the empty table.
pub(crate) fn create_empty(session: &mut Connection) -> Result<(), String> {
    session.run(&format!("CREATE TABLE {EMPTY} (c1 varchar)"))
}

/// Makes and fills the table of a cell, and scans it until all its blocks are in shared buffers.
pub(crate) fn load(session: &mut Connection, cell: Cell, payload: u64) -> Result<Table, String> {
    let spec = cell.spec(payload);
    let name = cell.table();
    let mut quiet = |_, _| ();
    let chunks = copy_text::chunks(&spec.data, &mut quiet).map_err(|error| error.to_string())?;
    session.fill(&name, &format!("({}) WITH ({WHOLE_ROWS})", columns(&spec)), chunks)?;
    session.run(&format!("VACUUM (FREEZE, ANALYZE) {name}"))?;
    for touch in TOUCHES {
        session.run(&format!("SELECT {} FROM {name}", touch.counted(cell)))?;
    }
    let blocks = session.visible_blocks(&name)?;
    let table = Table { cell, rows: spec.rows(), blocks };
    check(session, &table)?;
    Ok(table)
}

/// The kinds of the columns, each as long as its text: `c1 varchar(50), c2 varchar(50)`.
fn columns(spec: &TableSpec) -> String {
    let lengths = spec.data.shape().column_lengths();
    let columns: Vec<String> =
        (1..).zip(lengths).map(|(number, length)| format!("c{number} varchar({length})")).collect();
    columns.join(", ")
}

/// What the comparison takes for granted: every row is there and in its block, every block is cached.
fn check(session: &mut Connection, table: &Table) -> Result<(), String> {
    let Table { cell, rows, blocks } = *table;
    let name = cell.table();
    let found = session.number(&format!("SELECT count(*) FROM {name}"))?;
    let moved = format!(
        "SELECT coalesce(sum(pg_relation_size(reltoastrelid)), 0) FROM pg_class \
         WHERE oid = '{name}'::regclass AND reltoastrelid <> 0"
    );
    let moved = session.number(&moved)?;
    let refused = |what: String| Err(format!("PostgreSQL's table of {cell}: {what}"));
    if found != rows {
        return refused(format!("{found} rows instead of {rows}"));
    }
    if moved != 0 {
        return refused(format!("{moved} bytes of values were moved out of their rows"));
    }
    session.expect_cached(&format!("SELECT count(*) FROM {name}"), blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_long_as_their_text() {
        assert_eq!(
            columns(&Cell::new(26, 5).spec(0)),
            "c1 varchar(6), c2 varchar(5), c3 varchar(5), c4 varchar(5), c5 varchar(5)"
        );
    }

    #[test]
    fn no_table_is_beyond_a_quarter_of_the_buffers() {
        let cells = [Cell::new(25, 25), Cell::new(2500, 1)];
        let largest = cells[0].postgres_blocks(cells[0].spec(256 << 20).rows()) * BLOCK_BYTES;
        assert!(buffer_bytes(&cells, 256 << 20) > 4 * largest);
    }
}
