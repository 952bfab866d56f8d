//! The columns of the questions for the libraries, made from the rows that all contenders have.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use dataset::customers::SCHEMA;
use dataset::{DataSet, Row, Value};

use crate::scan::question::SEED;

/// Writes the three columns of a table of this many customers: `cust_id` as 32-bit numbers, `cust_year_of_birth` as
/// 16-bit ones, and of `cust_valid` a byte, its letter or 0 for a null.
pub(crate) fn write_columns(rows: u64, folder: &Path) -> Result<(), String> {
    let made = DataSet::customers(rows, SEED).rows().map_err(|error| error.to_string())?;
    let places = ["cust_id", "cust_year_of_birth", "cust_valid"]
        .map(|name| SCHEMA.iter().position(|column| column.name == name).unwrap_or(0));
    let file = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
    let write = || -> io::Result<()> {
        let (mut ids, mut years, mut valids) = (file("cust_id")?, file("cust_year_of_birth")?, file("cust_valid")?);
        let mut write_row = |row: &Row| -> io::Result<()> {
            let [id, year, valid] = places.map(|place| row.values().nth(place).unwrap_or(Value::Null));
            ids.write_all(&(number(id) as i32).to_le_bytes())?;
            years.write_all(&(number(year) as i16).to_le_bytes())?;
            valids.write_all(&[letter(valid)])
        };
        let mut written = Ok(());
        made.each(0..rows, |row| {
            if written.is_ok() {
                written = write_row(row);
            }
        });
        written?;
        [ids, years, valids].iter_mut().try_for_each(Write::flush)
    };
    write().map_err(|error| format!("the columns could not be written to {}: {error}", folder.display()))
}

fn number(value: Value<'_>) -> i64 {
    if let Value::Number(number) = value { number } else { 0 }
}

fn letter(value: Value<'_>) -> u8 {
    if let Value::Text([first, ..]) = value { *first } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_libraries_are_those_of_the_rows() {
        let folder = tempfile::tempdir().unwrap();
        write_columns(1000, folder.path()).unwrap();
        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes("cust_id")[3996..], 1000_i32.to_le_bytes());
        assert_eq!(bytes("cust_year_of_birth").len(), 2000);
        let valid = bytes("cust_valid");
        assert!(valid.len() == 1000 && valid.iter().all(|byte| [0, b'A', b'I'].contains(byte)));
    }
}
