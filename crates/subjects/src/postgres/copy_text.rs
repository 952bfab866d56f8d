//! Rows of a data set as COPY takes them: a line for each row, a tab between columns.

use dataset::{DataSet, Refused, Row, Value};

/// Rows are sent in messages of about this size.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Rows that are made between two looks at the size of the message, where the data set does not say.
const ROWS_AT_ONCE: u32 = 32;

/// All rows in their order: numbers in decimals, `\N` for nulls. Texts of data sets are letters, digits and marks that
/// COPY takes as they are, so nothing needs escaping. `progress` hears how many rows of how many are made.
pub fn chunks<'a>(
    data: &DataSet,
    progress: &'a mut dyn FnMut(u64, u64),
) -> Result<impl Iterator<Item = Vec<u8>> + use<'a>, Refused> {
    let (rows, count) = (data.rows()?, data.count());
    let at_once = u64::from(data.group().unwrap_or(ROWS_AT_ONCE));
    let mut next = 0;
    Ok(std::iter::from_fn(move || {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        while next < count && chunk.len() < CHUNK_BYTES {
            let end = (next + at_once).min(count);
            rows.each(next..end, |row| push_line(row, &mut chunk));
            next = end;
        }
        progress(next, count);
        (!chunk.is_empty()).then_some(chunk)
    }))
}

fn push_line(row: &Row, chunk: &mut Vec<u8>) {
    for value in row.values() {
        match value {
            Value::Null => chunk.extend_from_slice(b"\\N"),
            Value::Number(number) => chunk.extend_from_slice(number.to_string().as_bytes()),
            Value::Text(text) => chunk.extend_from_slice(text),
        }
        chunk.push(b'\t');
    }
    chunk.pop();
    chunk.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataset::uniform::RowShape;

    /// FNV-1a of the text as it was sent when servers were first loaded.
    fn sum(data: &DataSet) -> u64 {
        let mut quiet = |_, _| ();
        let text = chunks(data, &mut quiet).unwrap().flatten();
        text.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    #[test]
    fn servers_get_the_bytes_that_they_always_got() {
        let uniform = |row_length, columns| {
            sum(&DataSet::uniform(RowShape { row_length, columns }, 25 * 100_000, crate::subject::TABLE_SEED))
        };
        assert_eq!(uniform(25, 5), 15_511_956_703_980_314_152);
        assert_eq!(uniform(25, 25), 13_862_952_345_384_263_516);
        assert_eq!(uniform(2500, 5), 11_545_960_812_259_347_910);
        assert_eq!(uniform(2511, 10), 14_871_159_688_334_400_506);
        assert_eq!(uniform(251, 1), 3_456_402_126_507_367_685);
        let customers = |rows, seed| sum(&DataSet::customers(rows, seed));
        assert_eq!(customers(1, 1), 15_629_873_216_495_914_524);
        assert_eq!(customers(43, 1), 4_771_214_401_005_111_740);
        assert_eq!(customers(30_000, 1), 16_391_743_674_041_559_080);
        assert_eq!(customers(100_001, 7), 5_961_666_529_312_483_631);
    }

    #[test]
    fn every_row_is_a_line_with_all_its_columns_and_progress_hears_of_all() {
        let data = DataSet::customers(100_000, 1);
        let mut heard = 0;
        let mut progress = |made: u64, _of: u64| heard = made;
        let sent: Vec<Vec<u8>> = chunks(&data, &mut progress).unwrap().collect();
        assert!(sent.len() > 1);
        let text = String::from_utf8(sent.concat()).unwrap();
        assert_eq!((text.lines().count(), heard), (100_000, 100_000));
        assert!(text.lines().all(|line| line.split('\t').count() == data.schema().len()));
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("100000\t") && last.contains("\t\\N\t"), "{last}");
    }
}
