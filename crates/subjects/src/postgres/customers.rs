//! The table of customers on a PostgreSQL server: the engine's rows, loaded by COPY, with its indexes.

use server::session::identifier;
use server::{ServerError, Session};
use storage::SegmentId;
use storage::customers::{Column, ColumnType, SCHEMA};
use storage::loader::build_page;
use storage::manifest::{TableInfo, TableSpec};
use storage::number;
use storage::page::PageView;
use storage::page_id::PAGE_SIZE;
use storage::row::RowView;
use storage::table_rows::TableRows;

use crate::logical_reads::SubjectError;

/// Bytes of a row with its head, its pointer and its part of the room that is left in a block; and of its entries in
/// the three indexes, with what sorting them takes. Measured on 15 and 18: 222 and 54, with a tenth on top.
const TABLE_BYTES_A_ROW: u64 = 244;
const INDEX_BYTES_A_ROW: u64 = 60;

/// Rows are sent in messages of about this size.
const CHUNK_BYTES: usize = 1 << 20;

/// An index of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomersIndex {
    /// On the customer's number: the rows stand in its order.
    Id,
    /// On the postal code: the rows of one code stand anywhere.
    PostalCode,
    /// On the customer's number, with the counted column beside it.
    IdWithValid,
}

impl CustomersIndex {
    /// All of them, in the order in which they are made.
    pub const ALL: [CustomersIndex; 3] = [CustomersIndex::Id, CustomersIndex::PostalCode, CustomersIndex::IdWithValid];

    /// The column by which it is ordered.
    pub fn column(self) -> &'static str {
        match self {
            CustomersIndex::Id | CustomersIndex::IdWithValid => "cust_id",
            CustomersIndex::PostalCode => "cust_postal_code",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            CustomersIndex::Id => "by_id",
            CustomersIndex::PostalCode => "by_postal_code",
            CustomersIndex::IdWithValid => "by_id_with_valid",
        }
    }

    fn definition(self) -> &'static str {
        match self {
            CustomersIndex::Id => "(cust_id)",
            CustomersIndex::PostalCode => "(cust_postal_code)",
            CustomersIndex::IdWithValid => "(cust_id) INCLUDE (cust_valid)",
        }
    }
}

/// A table of customers on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Customers {
    /// The schema and the table's name in it.
    schema: String,
    name: String,
    rows: u64,
    seed: u64,
}

impl Customers {
    /// The table of so many rows by this name.
    pub fn new(schema: &str, name: &str, rows: u64, seed: u64) -> Customers {
        Customers { schema: schema.into(), name: name.into(), rows, seed }
    }

    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Its name in the schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name with the schema's, as statements have it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, identifier(&self.name))
    }

    /// The name of one of its indexes, without the schema's.
    pub fn index_name(&self, index: CustomersIndex) -> String {
        format!("{}_{}", self.name, index.ending())
    }

    /// Bytes that so many rows take with all indexes.
    pub fn bytes_needed(rows: u64) -> u64 {
        rows.saturating_mul(TABLE_BYTES_A_ROW + INDEX_BYTES_A_ROW)
    }

    /// Bytes of the table alone.
    pub fn table_bytes(rows: u64) -> u64 {
        rows.saturating_mul(TABLE_BYTES_A_ROW)
    }

    /// The columns: numbers and days take four bytes, the least that holds them all; texts compare byte by byte, as
    /// the engine's do, whatever language the database speaks.
    pub fn columns() -> String {
        let column = |column: &Column| {
            let kind = if column.kind == ColumnType::Text { "varchar COLLATE \"C\"" } else { "integer" };
            let null = if column.is_nullable { "" } else { " NOT NULL" };
            format!("{} {kind}{null}", column.name)
        };
        SCHEMA.iter().map(column).collect::<Vec<String>>().join(", ")
    }

    /// Fills the table, which is there and empty, makes its indexes, and makes all rows visible to all. `progress`
    /// hears how many blocks of the engine's of how many were sent.
    pub fn fill(&self, session: &mut Session, progress: &mut dyn FnMut(u64, u64)) -> Result<(), SubjectError> {
        let table = self.full_name();
        let copy = format!("COPY {table} FROM STDIN");
        let mut blocks = Blocks::of(self.rows, self.seed)?;
        let mut chunks = std::iter::from_fn(|| {
            progress(u64::from(blocks.next), u64::from(blocks.info.pages));
            blocks.next_chunk()
        });
        let sent = session.copy(&copy, &mut chunks)?;
        if sent != self.rows && !session.is_rehearsal() {
            return Err(ServerError::answer(&copy, &sent.to_string(), "the number of rows that were sent").into());
        }
        for index in CustomersIndex::ALL {
            let name = identifier(&self.index_name(index));
            session.run(&format!("CREATE INDEX {name} ON {table} {}", index.definition()))?;
        }
        // Frozen, so that no scan has to ask which transaction made a row; and counted for the planner.
        session.run(&format!("VACUUM (FREEZE, ANALYZE) {table}"))?;
        Ok(())
    }
}

/// The rows of so many customers as COPY takes them: a tab between columns, a line for each row, numbers in decimals.
pub fn copy_chunks(rows: u64, seed: u64) -> Result<impl Iterator<Item = Vec<u8>>, SubjectError> {
    let mut blocks = Blocks::of(rows, seed)?;
    Ok(std::iter::from_fn(move || blocks.next_chunk()))
}

/// Blocks of rows, made one after the other.
struct Blocks {
    info: TableInfo,
    rows: TableRows,
    next: u32,
    page: Box<[u8; PAGE_SIZE]>,
}

impl Blocks {
    fn of(rows: u64, seed: u64) -> Result<Blocks, SubjectError> {
        let spec = TableSpec::customers("customers", rows, seed);
        let info = TableInfo::planned(&spec, SegmentId(0))?;
        Ok(Blocks { info, rows: TableRows::of(&spec)?, next: 0, page: Box::new([0; PAGE_SIZE]) })
    }

    /// The rows of the next blocks as COPY takes them: a tab between columns, a line for each row, numbers in
    /// decimals. Their texts are letters and digits, so nothing is to be escaped.
    fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + 2 * PAGE_SIZE);
        while chunk.len() < CHUNK_BYTES && self.next < self.info.pages {
            build_page(&self.info, &self.rows, self.next, &mut self.page);
            self.next += 1;
            PageView::verified(&self.page).rows().for_each(|row| push_line(row, &mut chunk));
        }
        (!chunk.is_empty()).then_some(chunk)
    }
}

fn push_line(row: RowView<'_>, chunk: &mut Vec<u8>) {
    for (column, value) in SCHEMA.iter().zip(row.columns()) {
        match (value, column.kind) {
            (None, _) => chunk.extend_from_slice(b"\\N"),
            (Some(text), ColumnType::Text) => chunk.extend_from_slice(text),
            (Some(bytes), _) => {
                chunk.extend_from_slice(number::decode(bytes).unwrap_or(0).to_string().as_bytes());
            }
        }
        chunk.push(b'\t');
    }
    chunk.pop();
    chunk.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_line_with_all_its_columns_and_nulls_are_told() {
        let text = String::from_utf8(copy_chunks(100_000, 1).unwrap().collect::<Vec<_>>().concat()).unwrap();
        assert_eq!(text.lines().count(), 100_000);
        assert!(text.lines().all(|line| line.split('\t').count() == SCHEMA.len()));
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("100000\t") && last.contains("\t\\N\t"), "{last}");
    }

    #[test]
    fn numbers_texts_and_nulls_are_told_apart() {
        let columns = Customers::columns();
        assert!(columns.starts_with("cust_id integer NOT NULL, cust_first_name varchar COLLATE \"C\" NOT NULL"));
        assert!(columns.ends_with("cust_eff_to integer, cust_valid varchar COLLATE \"C\""), "{columns}");
    }
}
