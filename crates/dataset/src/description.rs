//! A data set in a few numbers: what its rows are made from.

use measure::quantity::counted;
use serde::{Deserialize, Serialize};

use crate::column::{Column, ColumnType};
use crate::customers::{self, CustomerRows};
use crate::keyed::{self, KeyedRows, KeyedShape};
use crate::refused::Refused;
use crate::rows::Rows;
use crate::uniform::{RowShape, UniformRows};

/// What the rows hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Text columns of equal length; see [`crate::uniform`].
    #[default]
    Uniform,
    /// Customers; see [`crate::customers`].
    Customers,
    /// Keys, values and filler; see [`crate::keyed`].
    Keyed {
        /// Per cent of the rows that are out of key order, 0 to 100.
        rand: u8,
    },
}

impl Content {
    fn is_uniform(&self) -> bool {
        *self == Content::Uniform
    }
}

/// What a table's rows are made from. Equal data sets have equal rows, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSet {
    /// What the rows hold. Absent in a file for uniform rows.
    #[serde(default, skip_serializing_if = "Content::is_uniform")]
    pub content: Content,
    /// Bytes of all columns of a row together; where rows differ in length, a nominal length.
    pub row_length: u32,
    /// Number of columns.
    pub columns: u32,
    /// Bytes of all columns of all rows together; a last row that would exceed it is left out.
    pub payload: u64,
    /// The seed of the random text.
    pub seed: u64,
}

impl DataSet {
    /// Uniform rows, as many as this payload holds.
    pub fn uniform(shape: RowShape, payload: u64, seed: u64) -> DataSet {
        let RowShape { row_length, columns } = shape;
        DataSet { content: Content::Uniform, row_length, columns, payload, seed }
    }

    /// A number of customers.
    pub fn customers(rows: u64, seed: u64) -> DataSet {
        let row_length = customers::NOMINAL_ROW_LENGTH;
        let columns = customers::SCHEMA.len() as u32;
        let payload = rows.saturating_mul(row_length.into());
        DataSet { content: Content::Customers, row_length, columns, payload, seed }
    }

    /// Rows with the keys 1 to `rows`.
    pub fn keyed(shape: KeyedShape, rows: u64, seed: u64) -> DataSet {
        let row_length = shape.nominal_row_length();
        let content = Content::Keyed { rand: shape.rand };
        let payload = rows.saturating_mul(row_length.into());
        DataSet { content, row_length, columns: keyed::SCHEMA.len() as u32, payload, seed }
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.payload / u64::from(self.row_length.max(1))
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> Vec<Column> {
        let text = |number| Column { name: format!("c{number}").into(), kind: ColumnType::Text, is_nullable: false };
        match self.content {
            Content::Uniform => (1..=self.columns).map(text).collect(),
            Content::Customers => customers::SCHEMA.to_vec(),
            Content::Keyed { .. } => keyed::SCHEMA.to_vec(),
        }
    }

    /// Length and number of the columns.
    pub fn shape(&self) -> RowShape {
        RowShape { row_length: self.row_length, columns: self.columns }
    }

    /// How many rows belong together, where their bytes are counted together: every group but the last has this many,
    /// and any group can be made without those before it. `None` where each row stands for itself.
    pub fn group(&self) -> Option<u32> {
        (self.content == Content::Customers).then_some(customers::GROUP_ROWS)
    }

    /// Bytes of the longest row, as [`Row::packed_bytes`](crate::Row::packed_bytes) counts them.
    pub fn row_bytes_max(&self) -> usize {
        match self.content {
            Content::Uniform => self.shape().encoded_bytes(),
            Content::Customers => customers::ROW_BYTES_MAX,
            Content::Keyed { rand } => KeyedShape::of_row_length(self.row_length, rand).packed_bytes_max(),
        }
    }

    /// Errors where there is no row or none can be made like this, with what to ask for instead.
    pub fn check(&self) -> Result<(), Refused> {
        match self.content {
            Content::Keyed { rand } => KeyedShape::of_row_length(self.row_length, rand).check()?,
            Content::Uniform | Content::Customers => self.shape().check()?,
        }
        if self.count() == 0 {
            let DataSet { payload, row_length, .. } = self;
            let reason = format!(
                "{} of payload {} less than one row of {}; ask for more payload",
                counted(*payload, "byte", "bytes"),
                if *payload == 1 { "is" } else { "are" },
                counted(u64::from(*row_length), "byte", "bytes")
            );
            return Err(Refused(reason));
        }
        Ok(())
    }

    /// Its rows. Errors as [`DataSet::check`].
    pub fn rows(&self) -> Result<Rows, Refused> {
        self.check()?;
        Ok(match self.content {
            Content::Uniform => Rows::Uniform(UniformRows::new(self.shape(), self.seed)?),
            Content::Customers => Rows::Customers(CustomerRows::new(self.count(), self.seed)),
            Content::Keyed { rand } => {
                let shape = KeyedShape::of_row_length(self.row_length, rand);
                Rows::Keyed(KeyedRows::new(shape, self.count(), self.seed)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Value;

    fn all() -> [DataSet; 3] {
        let shape = RowShape { row_length: 26, columns: 5 };
        let keyed = KeyedShape { rand: 50, pad: 9 };
        [DataSet::uniform(shape, 26 * 500, 1), DataSet::customers(500, 1), DataSet::keyed(keyed, 500, 1)]
    }

    #[test]
    fn a_description_comes_back_as_it_was_written_and_means_what_kept_tables_mean_by_it() {
        for data in all() {
            let text = serde_json::to_string(&data).unwrap();
            assert_eq!(serde_json::from_str::<DataSet>(&text).unwrap(), data);
        }
        let text = |data: &DataSet| serde_json::to_string(data).unwrap();
        let [uniform, customers, keyed] = all();
        assert_eq!(text(&uniform), r#"{"row_length":26,"columns":5,"payload":13000,"seed":1}"#);
        assert!(text(&customers).starts_with(r#"{"content":"customers","row_length":181,"columns":23,"#));
        assert!(text(&keyed).starts_with(r#"{"content":{"keyed":{"rand":50}},"row_length":25,"columns":3,"#));
    }

    #[test]
    fn every_row_has_the_values_that_the_schema_says_and_no_more_bytes_than_the_longest() {
        for data in all() {
            let (rows, schema) = (data.rows().unwrap(), data.schema());
            let mut made = 0;
            rows.each(0..data.count(), |row| {
                assert_eq!(row.values().len(), schema.len());
                assert!(row.packed_bytes() <= data.row_bytes_max());
                for (value, column) in row.values().zip(&schema) {
                    match value {
                        Value::Null => assert!(column.is_nullable, "{}", column.name),
                        Value::Number(_) => assert_ne!(column.kind, ColumnType::Text, "{}", column.name),
                        Value::Text(_) => assert_eq!(column.kind, ColumnType::Text, "{}", column.name),
                    }
                }
                made += 1;
            });
            assert_eq!((made, data.count()), (500, 500));
        }
    }

    #[test]
    fn a_payload_of_less_than_a_row_is_refused() {
        let [uniform, ..] = all();
        let small = DataSet { payload: 25, ..uniform };
        let said = |payload| DataSet { payload, ..small.clone() }.check().unwrap_err().to_string();
        assert!(said(25).starts_with("25 bytes of payload are less than one row of 26 bytes;"), "{}", said(25));
        assert!(said(1).starts_with("1 byte of payload is less than one row of 26 bytes;"), "{}", said(1));
        assert!(small.rows().is_err());
    }

    #[test]
    fn rows_are_the_same_whichever_range_they_are_made_in() {
        for data in all() {
            let rows = data.rows().unwrap();
            let made = |from, to| {
                let mut made = Vec::new();
                rows.each(from..to, |row| made.push(format!("{:?}", row.values().collect::<Vec<_>>())));
                made
            };
            let whole = made(0, 500);
            let parts = [made(0, 40), made(40, 41), made(41, 130), made(130, 500)].concat();
            assert_eq!(whole, parts);
        }
    }
}
