//! The table of customers on a PostgreSQL server: loaded by COPY, with its indexes.

use dataset::customers::SCHEMA;
use dataset::{Column, ColumnType, DataSet};
use server::Session;
use server::session::identifier;

use super::copy_text;
use crate::logical_reads::SubjectError;

/// Bytes of a row with its head, its pointer and its part of the room that is left in a block; and of its entries in
/// the three indexes, with what sorting them takes. Measured on 15 and 18: 222 and 54, with a tenth on top.
const TABLE_BYTES_A_ROW: u64 = 244;
const INDEX_BYTES_A_ROW: u64 = 60;

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
    pub(super) name: String,
    pub(super) rows: u64,
    /// What the rows depend on.
    pub(super) seed: u64,
}

impl Customers {
    /// A table of this name.
    pub fn new(schema: &str, name: &str, rows: u64, seed: u64) -> Customers {
        Customers { schema: schema.into(), name: name.into(), rows, seed }
    }

    /// Its name with the schema's, as statements have it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, identifier(&self.name))
    }

    /// The name of one of its indexes, without the schema's.
    pub fn index_name(&self, index: CustomersIndex) -> String {
        format!("{}_{}", self.name, index.ending())
    }

    /// Bytes that `rows` rows take with all indexes.
    pub fn bytes_needed(rows: u64) -> u64 {
        rows.saturating_mul(TABLE_BYTES_A_ROW + INDEX_BYTES_A_ROW)
    }

    /// Bytes of the largest index: that of two columns has less than half of what all three take.
    pub fn index_bytes_max(rows: u64) -> u64 {
        rows.saturating_mul(INDEX_BYTES_A_ROW / 2)
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

    /// Fills the table, which is there and empty, makes its indexes, and makes all rows visible to all.
    pub fn fill(&self, session: &mut Session) -> Result<(), SubjectError> {
        let (table, mut quiet) = (self.full_name(), |_, _| ());
        let mut chunks = copy_text::chunks(&DataSet::customers(self.rows, self.seed), &mut quiet)?;
        session.copy_all(&format!("COPY {table} FROM STDIN"), &mut chunks, self.rows)?;
        for index in CustomersIndex::ALL {
            let name = identifier(&self.index_name(index));
            session.run(&format!("CREATE INDEX {name} ON {table} {}", index.definition()))?;
        }
        // Frozen, so that no scan has to ask which transaction made a row; and counted for the planner.
        session.run(&format!("VACUUM (FREEZE, ANALYZE) {table}"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_and_nulls_are_told_apart() {
        let columns = Customers::columns();
        assert!(columns.starts_with("cust_id integer NOT NULL, cust_first_name varchar COLLATE \"C\" NOT NULL"));
        assert!(columns.ends_with("cust_eff_to integer, cust_valid varchar COLLATE \"C\""), "{columns}");
    }
}
