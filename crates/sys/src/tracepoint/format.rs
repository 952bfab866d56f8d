//! The kernel's description of a tracepoint: its number, and where its fields stand in a record.

use thiserror::Error;

/// Longest description that is read: those of the kernel have a few thousand bytes.
pub(super) const BYTES_MAX: u64 = 64 << 10;

/// The end of the widest record: it has two bytes for its length.
const RECORD_BYTES_MAX: usize = 1 << 16;

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// It has no line with a number that an event can have.
    #[error("it has no number")]
    NoNumber,
    /// A field that is needed is not in it.
    #[error("it has no field {0}")]
    NoField(String),
    /// A field that is needed is no number.
    #[error("its field {0} is no number of 1, 2, 4 or 8 bytes")]
    NoNumberIn(String),
}

/// A field of a record that holds a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    offset: usize,
    size: usize,
    is_signed: bool,
}

impl Field {
    /// Where it begins in a record, and its bytes.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.offset, self.size)
    }

    pub(super) fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// Its value in a record, widened to 64 bits with its sign; `None` where the record ends before it.
    pub fn value(&self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut wide = [0_u8; 8];
        let (low, high) = if cfg!(target_endian = "little") { (0, self.size) } else { (8 - self.size, 8) };
        wide[low..high].copy_from_slice(bytes);
        let value = u64::from_ne_bytes(wide);
        let spare = 64 - 8 * self.size as u32;
        Some(if self.is_signed { ((value << spare).cast_signed() >> spare).cast_unsigned() } else { value })
    }
}

/// A tracepoint as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The number of the event, which each of its records begins with.
    pub number: u16,
    /// Each with whether it is a number.
    fields: Vec<(String, Field, bool)>,
}

impl Format {
    /// Reads a description, such as `events/block/block_rq_issue/format`. Lines that are not understood are left out.
    ///
    /// # Errors
    /// Where it has no number that an event can have.
    pub fn parse(text: &str) -> Result<Format, FormatError> {
        let number = text.lines().find_map(|line| line.strip_prefix("ID:")).and_then(|rest| rest.trim().parse().ok());
        let fields = text.lines().filter_map(|line| field(line.trim().strip_prefix("field:")?)).collect();
        Ok(Format { number: number.ok_or(FormatError::NoNumber)?, fields })
    }

    /// The field of this name.
    ///
    /// # Errors
    /// Where there is none, or it is no number.
    pub fn field(&self, name: &str) -> Result<Field, FormatError> {
        match self.find(name)? {
            (field, true) => Ok(field),
            _ => Err(FormatError::NoNumberIn(name.into())),
        }
    }

    /// The first byte of the field of this name, which may be a text of fixed length.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn first_byte(&self, name: &str) -> Result<Field, FormatError> {
        self.find(name).map(|(field, _)| Field { size: 1, is_signed: false, ..field })
    }

    fn find(&self, name: &str) -> Result<(Field, bool), FormatError> {
        let found = self.fields.iter().find(|(known, ..)| known == name);
        found.map(|(_, field, is_number)| (*field, *is_number)).ok_or_else(|| FormatError::NoField(name.into()))
    }
}

/// A field by its line, such as `unsigned int fd; offset:16; size:8; signed:0;`, with whether it is a number.
fn field(line: &str) -> Option<(String, Field, bool)> {
    let mut parts = line.split(';').map(str::trim);
    let declared = parts.next()?;
    let name = declared.split(|letter: char| letter.is_whitespace() || letter == '*').rfind(|word| !word.is_empty())?;
    let (name, is_array) = name.split_once('[').map_or((name, false), |(name, _)| (name, true));
    let (mut offset, mut size, mut is_signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse::<usize>().ok(),
            Some(("size", value)) => size = value.trim().parse::<usize>().ok(),
            Some(("signed", value)) => is_signed = value.trim() == "1",
            _ => {}
        }
    }
    let (offset, size) = (offset?, size?);
    let is_number = !is_array && matches!(size, 1 | 2 | 4 | 8) && offset < RECORD_BYTES_MAX;
    Some((name.to_string(), Field { offset, size, is_signed }, is_number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:const struct iovec * vec;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d\", ((unsigned int) ((REC->dev) >> 20)), field:int fake; offset:1; size:4; signed:1;\n";

    #[test]
    fn fields_stand_where_the_kernel_says_and_texts_are_no_numbers() {
        let format = Format::parse(ISSUE).unwrap();
        assert_eq!(format.number, 2104);
        let mut record = [0_u8; 64];
        record[4..8].copy_from_slice(&(-7_i32).to_ne_bytes());
        record[8..12].copy_from_slice(&0xfe00_0001_u32.to_ne_bytes());
        record[16..24].copy_from_slice(&u64::MAX.to_ne_bytes());
        let value = |name: &str| format.field(name).unwrap().value(&record);
        assert_eq!(value("common_pid"), Some((-7_i64).cast_unsigned()));
        assert_eq!((value("dev"), value("sector"), value("vec")), (Some(0xfe00_0001), Some(u64::MAX), Some(0)));
        assert_eq!(format.field("rwbs"), Err(FormatError::NoNumberIn("rwbs".into())));
        assert_eq!(format.field("fake"), Err(FormatError::NoField("fake".into())));
        assert_eq!(format.field("sector").unwrap().value(&record[..20]), None, "a record that ends early");
    }

    #[test]
    fn a_description_without_a_number_is_refused() {
        for text in ["", "ID: \n", "ID: 70000\n", "ID: -1\n", "name: x\nformat:\n"] {
            assert_eq!(Format::parse(text), Err(FormatError::NoNumber), "{text:?}");
        }
    }

    /// Lines that are nearly those of a field.
    const HOSTILE: &str = "(ID: ?|\tfield:)?[ -~\t]{0,40}(;\toffset: ?-?[0-9]{0,21};)?\
        (\tsize:[0-9]{0,21};)?(\tsigned:[01x];)?";

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever a description says, reading a record by it stays within the record.
        #[test]
        fn no_description_makes_a_field_reach_beyond_its_record(
            lines in prop::collection::vec(HOSTILE, 0..12),
            record in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let text = format!("ID: 7\n{}", lines.join("\n"));
            let format = Format::parse(&text).unwrap();
            for (name, field, _) in format.fields.iter().filter(|(.., is_number)| *is_number) {
                if let Some(value) = field.value(&record) {
                    let field = format.field(name);
                    prop_assert!(record.len() >= field.map_or(1, |field| field.size), "{value}");
                }
            }
        }

        #[test]
        fn a_well_formed_field_is_found_again(offset in 0_usize..60_000, place in 0_usize..4, is_signed: bool) {
            let size = [1, 2, 4, 8][place];
            let sign = u8::from(is_signed);
            let text = format!("ID: 1\n\tfield:u64 here;\toffset:{offset};\tsize:{size};\tsigned:{sign};\n");
            let found = Format::parse(&text).unwrap().field("here");
            prop_assert_eq!(found, Ok(Field { offset, size, is_signed }));
        }
    }
}
