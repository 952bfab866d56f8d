//! The rows that all contenders have, made by the engine's generator.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use dataset::DataSet;
use dataset::customers::column_index;
use storage::SegmentId;
use storage::loader::build_page;
use storage::manifest::{TableInfo, TableSpec};
use storage::number;
use storage::page::PageView;
use storage::page_id::PAGE_SIZE;
use storage::row::RowView;
use storage::table_rows::TableRows;

/// What the rows depend on.
pub(crate) const SEED: u64 = 1;

/// Blocks of rows, made one after the other.
pub(crate) struct Blocks {
    info: TableInfo,
    rows: TableRows,
    next: u32,
    page: Box<[u8; PAGE_SIZE]>,
}

impl Blocks {
    /// The blocks of a table of so many customers.
    pub(crate) fn of(rows: u64) -> Result<Blocks, String> {
        let spec = TableSpec::new("customers", DataSet::customers(rows, SEED));
        let refused = |error: storage::StorageError| error.to_string();
        let info = TableInfo::planned(&spec, SegmentId(0)).map_err(refused)?;
        Ok(Blocks { info, rows: TableRows::of(&spec).map_err(refused)?, next: 0, page: Box::new([0; PAGE_SIZE]) })
    }

    /// The rows of the next block; `None` after the last one.
    fn advance(&mut self) -> Option<impl Iterator<Item = RowView<'_>>> {
        if self.next >= self.info.pages {
            return None;
        }
        build_page(&self.info, &self.rows, self.next, &mut self.page);
        self.next += 1;
        Some(PageView::verified(&self.page).rows())
    }

    /// Writes the three columns of the questions for the libraries: `cust_id` as 32-bit numbers, `cust_year_of_birth`
    /// as 16-bit ones, and of `cust_valid` a byte, its letter or 0 for a null.
    pub(crate) fn write_columns(mut self, folder: &Path) -> Result<(), String> {
        let sentence =
            |error: std::io::Error| format!("the columns could not be written to {}: {error}", folder.display());
        let file = |name: &str| File::create(folder.join(name)).map(BufWriter::new).map_err(sentence);
        let (mut ids, mut years, mut valids) = (file("cust_id")?, file("cust_year_of_birth")?, file("cust_valid")?);
        let number_at = |name: &str| column_index(name).map_or(0, |index| index as u8 + 1);
        let columns = ["cust_id", "cust_year_of_birth", "cust_valid"].map(number_at);
        while let Some(rows) = self.advance() {
            for row in rows {
                let [id, year, valid] = columns.map(|column| row.column(column).flatten().unwrap_or_default());
                let (id, year) = (number::decode(id).unwrap_or(0) as i32, number::decode(year).unwrap_or(0) as i16);
                ids.write_all(&id.to_le_bytes()).map_err(sentence)?;
                years.write_all(&year.to_le_bytes()).map_err(sentence)?;
                valids.write_all(&[valid.first().copied().unwrap_or(0)]).map_err(sentence)?;
            }
        }
        [ids, years, valids].iter_mut().try_for_each(|file| file.flush().map_err(sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_libraries_are_those_of_the_rows() {
        let folder = tempfile::tempdir().unwrap();
        Blocks::of(1000).unwrap().write_columns(folder.path()).unwrap();
        let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes("cust_id")[3996..], 1000_i32.to_le_bytes());
        assert_eq!(bytes("cust_year_of_birth").len(), 2000);
        let valid = bytes("cust_valid");
        assert!(valid.len() == 1000 && valid.iter().all(|byte| [0, b'A', b'I'].contains(byte)));
    }
}
