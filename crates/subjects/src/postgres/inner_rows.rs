//! The inner table of joins on a PostgreSQL server: the engine's keys and values in the engine's order.

use measure::quantity::grouped;
use server::schema::full_name;

use super::copy_text::CHUNK_BYTES;
use super::layout::{self, BLOCKS_MAX, whole_values_max};
use super::needs::Needs;
use crate::error::SubjectError;
use crate::nested_loops::InnerTable;

/// The two numbers of a row, and the head of the longest filler.
const NUMBERS_BYTES: u64 = 16;
const LONG_HEAD_BYTES: u64 = 4;
/// An entry of the index with its pointer, where leaves are two thirds full, as keys in no order leave them.
const INDEX_BYTES_A_ROW: u64 = (16 + 4) * 3 / 2;

/// The table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerRows {
    table: InnerTable,
}

impl InnerRows {
    /// The table's name in the schema.
    pub const NAME: &str = "inner_rows";

    /// The index's name in the schema.
    pub const INDEX: &str = "inner_by_key";

    /// A table of this shape.
    pub fn new(table: InnerTable) -> InnerRows {
        InnerRows { table }
    }

    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.table.rows
    }

    /// Per cent of them that are out of the order of the keys.
    pub fn rand(&self) -> u8 {
        self.table.rand
    }

    /// The columns.
    pub fn columns() -> &'static str {
        "key bigint, value bigint, filler text"
    }

    /// The table and its index with their schema before them.
    pub fn relations() -> [String; 2] {
        [full_name(InnerRows::NAME), full_name(InnerRows::INDEX)]
    }

    /// Refuses a filler that would be compressed, so that next to nothing of it would be left to read, and more rows
    /// than a table holds, on a server with these blocks.
    pub fn check(&self, block_bytes: u64) -> Result<(), String> {
        let longest = whole_values_max(block_bytes) - NUMBERS_BYTES - LONG_HEAD_BYTES;
        match u64::from(self.table.pad) {
            pad if pad > longest => Err(format!(
                "--pad {pad} is too much for PostgreSQL, which keeps no such row whole in its page: give at most \
                 {longest}"
            )),
            _ if self.blocks(block_bytes) > BLOCKS_MAX => Err(format!(
                "--rows {} is too much for PostgreSQL, whose tables hold no more than {} blocks: give fewer",
                self.rows(),
                grouped(BLOCKS_MAX)
            )),
            _ => Ok(()),
        }
    }

    /// The blocks that its rows need.
    pub fn blocks(&self, block_bytes: u64) -> u64 {
        self.rows().div_ceil(self.rows_a_block(block_bytes))
    }

    /// Rows that a block holds.
    pub(super) fn rows_a_block(&self, block_bytes: u64) -> u64 {
        layout::rows_a_block(layout::end_of_value(NUMBERS_BYTES, self.table.pad.into()), block_bytes)
    }

    /// Bytes that table and index take on the server.
    pub fn bytes_needed(&self, block_bytes: u64) -> u64 {
        self.blocks(block_bytes) * block_bytes + self.index_bytes()
    }

    fn index_bytes(&self) -> u64 {
        self.rows() * INDEX_BYTES_A_ROW
    }

    /// What an experiment on the table makes on a server.
    pub(super) fn needs(&self, block_bytes: u64) -> Needs {
        Needs { made: self.bytes_needed(block_bytes), temporary: self.index_bytes(), ..Needs::default() }
    }

    /// The rows as COPY takes them: key, value and filler. `progress` hears how many rows of how many are made.
    pub fn chunks<'a>(
        &self,
        progress: &'a mut dyn FnMut(u64, u64),
    ) -> Result<impl Iterator<Item = Vec<u8>> + use<'a>, SubjectError> {
        let InnerTable { rows, pad, .. } = self.table;
        let keyed = self.table.keyed_rows()?;
        // No statement reads the filler: only its length counts.
        let filler = "f".repeat(pad as usize);
        let mut next = 0;
        Ok(std::iter::from_fn(move || {
            let mut chunk = Vec::with_capacity(CHUNK_BYTES + 2 * filler.len());
            while next < rows && chunk.len() < CHUNK_BYTES {
                let key = keyed.key(next);
                chunk.extend_from_slice(format!("{key}\t{}\t{filler}\n", keyed.value(key)).as_bytes());
                next += 1;
            }
            progress(next, rows);
            (!chunk.is_empty()).then_some(chunk)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested_loops::Keys;

    fn rows(count: u64) -> InnerRows {
        InnerRows::new(InnerTable { rows: count, pad: 1000, rand: 100 })
    }

    #[test]
    fn every_key_is_sent_once_with_its_value() {
        let mut heard = 0;
        let mut progress = |made: u64, _of: u64| heard = made;
        let text: Vec<u8> = rows(2500).chunks(&mut progress).unwrap().flatten().collect();
        let text = String::from_utf8(text).unwrap();
        let column = |line: &str, at: usize| line.split('\t').nth(at).unwrap().parse::<i64>().unwrap();
        let mut keys: Vec<i64> = text.lines().map(|line| column(line, 0)).collect();
        assert!(!keys.is_sorted() && heard == 2500);
        keys.sort_unstable();
        assert_eq!(keys, (1..=2500).collect::<Vec<i64>>());
        let sum: i64 = text.lines().map(|line| column(line, 1)).sum();
        assert_eq!(rows(2500).table.sum(Keys { first: 1, count: 2500 }).unwrap(), sum);
    }

    #[test]
    fn servers_get_the_bytes_that_they_always_got() {
        let sum = |rows, pad, rand| {
            let mut quiet = |_, _| ();
            let text: Vec<u8> =
                InnerRows::new(InnerTable { rows, pad, rand }).chunks(&mut quiet).unwrap().flatten().collect();
            let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            text.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
        };
        assert_eq!(sum(2500, 1000, 100), 4_717_119_844_264_650_303);
        assert_eq!(sum(3000, 0, 0), 2_937_303_471_927_939_929);
        assert_eq!(sum(3000, 20, 37), 1_641_687_088_865_176_825);
    }

    #[test]
    fn a_filler_that_would_be_compressed_is_refused() {
        let of = |pad, block_bytes| InnerRows::new(InnerTable { rows: 10, pad, rand: 0 }).check(block_bytes);
        assert_eq!((of(8116, 8192), of(4020, 4096)), (Ok(()), Ok(())));
        let refused = of(8117, 8192).unwrap_err();
        assert!(refused.contains("--pad 8117") && refused.ends_with("at most 8116"), "{refused}");
        assert!(of(4021, 4096).unwrap_err().ends_with("at most 4020"));
    }

    #[test]
    fn rows_whose_bytes_no_number_holds_are_refused_and_not_forecast_as_few() {
        let refused = rows(u64::MAX).check(8192).unwrap_err();
        assert!(refused.starts_with("--rows 18446744073709551615 is too much"), "{refused}");
        assert_eq!(rows(7 * BLOCKS_MAX).check(8192), Ok(()));
        assert!(rows(7 * BLOCKS_MAX + 1).check(8192).is_err());
    }

    #[test]
    fn seven_rows_of_1000_bytes_stand_in_a_block() {
        assert_eq!(rows(2500).blocks(8192), 358);
    }
}
