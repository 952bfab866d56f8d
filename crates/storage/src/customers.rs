//! The table `customers` of the access-path experiment: 23 columns shaped like those of the Sales History schema.
//!
//! Rows are of different length, and still any page can be made without those before it: each holds
//! [`ROWS_PER_PAGE`] rows. Their lengths vary so little in the sum that they fit, and where a page comes too close to
//! its end its last rows are made short ([`CustomerGenerator::fill_page`]); the same seed gives the same bytes
//! everywhere either way. Numbers and dates are stored as [`crate::number`] writes them.

use measure::random::{SplitMix64, mix};

use crate::number;
use crate::page::{PAGE_ROOM, PageMut, SLOT_BYTES};
use crate::row::{NULL, SHORT_LENGTH_MAX};

/// Rows of every page but the last. The published table has 69 642 625 rows in 1 613 824 blocks, 43.2 a block.
pub const ROWS_PER_PAGE: u32 = 43;

/// Bytes of a row's values with their lengths, on average and rounded.
pub const NOMINAL_ROW_LENGTH: u32 = 181;

/// Columns of a row.
pub const COLUMNS: usize = 23;

/// No row is longer than this, as it is stored.
const ROW_BYTES_MAX: usize = 228;

/// A row with all texts at their shortest is no longer than this.
const SHORT_ROW_BYTES_MAX: usize = 160;

// Whatever the rows before, a page has room for the rest of its rows in their short form.
const _: () = assert!(ROWS_PER_PAGE as usize * (SHORT_ROW_BYTES_MAX + SLOT_BYTES) <= PAGE_ROOM);

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// A whole number, as [`crate::number`] stores it.
    Number,
    /// Bytes.
    Text,
    /// Days since 1970, stored as a number.
    Date,
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it may be null.
    pub is_nullable: bool,
}

const fn column(name: &'static str, kind: ColumnType, is_nullable: bool) -> Column {
    Column { name, kind, is_nullable }
}

/// The columns in their order. The predicate's column is first, the counted one last.
pub const SCHEMA: [Column; COLUMNS] = [
    column("cust_id", ColumnType::Number, false),
    column("cust_first_name", ColumnType::Text, false),
    column("cust_last_name", ColumnType::Text, false),
    column("cust_gender", ColumnType::Text, false),
    column("cust_year_of_birth", ColumnType::Number, false),
    column("cust_marital_status", ColumnType::Text, true),
    column("cust_street_address", ColumnType::Text, false),
    column("cust_postal_code", ColumnType::Text, false),
    column("cust_city", ColumnType::Text, false),
    column("cust_city_id", ColumnType::Number, false),
    column("cust_state_province", ColumnType::Text, false),
    column("cust_state_province_id", ColumnType::Number, false),
    column("country_id", ColumnType::Number, false),
    column("cust_main_phone_number", ColumnType::Text, false),
    column("cust_income_level", ColumnType::Text, true),
    column("cust_credit_limit", ColumnType::Number, true),
    column("cust_email", ColumnType::Text, true),
    column("cust_total", ColumnType::Text, false),
    column("cust_total_id", ColumnType::Number, false),
    column("cust_src_id", ColumnType::Number, true),
    column("cust_eff_from", ColumnType::Date, true),
    column("cust_eff_to", ColumnType::Date, true),
    column("cust_valid", ColumnType::Text, true),
];

/// The column of this name, counted from 0.
pub fn column_index(name: &str) -> Option<usize> {
    SCHEMA.iter().position(|column| column.name == name)
}

/// Distinct values of the columns that have few.
mod distinct {
    pub(super) const FIRST_NAMES: u64 = 1300;
    pub(super) const LAST_NAMES: u64 = 908;
    pub(super) const MARITAL_STATES: u64 = 11;
    pub(super) const CITIES: u64 = 620;
    pub(super) const PROVINCES: u64 = 145;
    pub(super) const COUNTRIES: u64 = 19;
    pub(super) const INCOME_LEVELS: u64 = 12;
    pub(super) const CREDIT_LIMITS: u64 = 8;
}

/// Years of birth run from here ...
const FIRST_YEAR: i64 = 1913;

/// ... over so many years; about half of the customers are born after 1950.
const YEARS: u64 = 76;

/// The day from which all rows are in effect: 1 January 1998.
const EFFECTIVE_FROM: i64 = 10_227;

/// One customer in so many has no `cust_valid`.
const WITHOUT_VALID: u64 = 10;

/// Makes the rows.
#[derive(Clone, Debug)]
pub struct CustomerGenerator {
    seed: u64,
}

impl CustomerGenerator {
    /// The rows of this seed.
    pub fn new(seed: u64) -> CustomerGenerator {
        CustomerGenerator { seed: mix(seed) }
    }

    /// Appends rows `rows` (counted from 0; `cust_id` counts from 1) to a page that is empty. `row` is a buffer.
    ///
    /// A row is made in its short form where otherwise the rows after it might not fit in theirs.
    pub fn fill_page(&self, rows: std::ops::Range<u64>, page: &mut PageMut<'_>, row: &mut Vec<u8>) {
        for number in rows.clone() {
            let needed_after = (rows.end - number - 1) as usize * (SHORT_ROW_BYTES_MAX + SLOT_BYTES);
            self.row(number, Form::Full, row);
            if row.len() + SLOT_BYTES + needed_after > page.view().free_bytes() {
                self.row(number, Form::Short, row);
            }
            page.append(row).expect("a page has room for its rows in their short form");
        }
    }

    /// Writes row `number` in its stored form to `row`.
    fn row(&self, number: u64, form: Form, row: &mut Vec<u8>) {
        let mut random = SplitMix64::new(self.seed ^ number);
        let mut draw = |of: u64| random.below(of);
        row.clear();
        row.push(COLUMNS as u8);
        let city = draw(distinct::CITIES);
        let province = city % distinct::PROVINCES;
        push_number(row, number as i64 + 1);
        let first = Name { kind: 1, index: draw(distinct::FIRST_NAMES), lengths: (3, 10) };
        let last = Name { kind: 2, index: draw(distinct::LAST_NAMES), lengths: (4, 12) };
        push_name(row, first, form);
        push_name(row, last, form);
        push_text(row, if draw(2) == 0 { b"F" } else { b"M" });
        push_number(row, FIRST_YEAR + draw(YEARS) as i64);
        match draw(3) {
            0 => row.push(NULL),
            _ => push_name(row, Name { kind: 3, index: draw(distinct::MARITAL_STATES), lengths: (6, 10) }, form),
        }
        push_name(row, Name { kind: 4, index: mix(number ^ self.seed), lengths: (14, 26) }, form);
        push_digits::<5>(row, 30_000 + city * 97);
        push_name(row, Name { kind: 5, index: city, lengths: (5, 14) }, form);
        push_number(row, 51_040 + city as i64);
        push_name(row, Name { kind: 6, index: province, lengths: (5, 16) }, form);
        push_number(row, 52_505 + province as i64);
        push_number(row, 52_769 + (province % distinct::COUNTRIES) as i64);
        push_digits::<12>(row, 100_000_000_000 + draw(900_000_000_000));
        push_name(row, Name { kind: 7, index: draw(distinct::INCOME_LEVELS), lengths: (15, 22) }, form);
        push_number(row, 1500 + 1500 * draw(distinct::CREDIT_LIMITS) as i64);
        push_email(row, first, last, number, form);
        push_text(row, b"Customer total");
        push_number(row, 52_772);
        row.push(NULL);
        push_number(row, EFFECTIVE_FROM);
        row.push(NULL);
        match draw(WITHOUT_VALID) {
            0 => row.push(NULL),
            other => push_text(row, if other < 4 { b"A" } else { b"I" }),
        }
        debug_assert!(row.len() <= if form == Form::Short { SHORT_ROW_BYTES_MAX } else { ROW_BYTES_MAX });
    }
}

/// Whether texts have the length that they should, or the least.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    Short,
}

/// A text that follows from a number.
#[derive(Clone, Copy)]
struct Name {
    /// Keeps the names of different columns apart.
    kind: u64,
    /// Which of them.
    index: u64,
    /// Least and greatest length.
    lengths: (u64, u64),
}

impl Name {
    /// Its letters, as many as two words give, and how many of them count.
    fn letters(self, form: Form) -> ([u8; 32], usize) {
        let word = mix(self.kind << 56 ^ self.index);
        let (least, greatest) = self.lengths;
        let length = if form == Form::Short { least } else { least + word % (greatest - least + 1) };
        let mut letters = [0; 32];
        for (part, half) in letters.chunks_exact_mut(8).enumerate() {
            half.copy_from_slice(&syllables(mix(word.wrapping_add(part as u64))).to_le_bytes());
        }
        letters[0] = letters[0].to_ascii_uppercase();
        (letters, length as usize)
    }
}

/// Eight letters out of the bits of a word: `a` to `p`, four bits each.
fn syllables(word: u64) -> u64 {
    (word & 0x0F0F_0F0F_0F0F_0F0F) + 0x6161_6161_6161_6161
}

fn push_name(row: &mut Vec<u8>, name: Name, form: Form) {
    let (letters, length) = name.letters(form);
    push_text(row, &letters[..length]);
}

/// First letter of the first name, last name, a number and a domain: almost every customer has another.
fn push_email(row: &mut Vec<u8>, first: Name, last: Name, number: u64, form: Form) {
    let (first, _) = first.letters(form);
    let (last, length) = last.letters(form);
    let length_at = row.len();
    row.push(0);
    row.push(first[0]);
    row.extend_from_slice(&last[..length]);
    row.extend_from_slice(&digits::<4>(number % 10_000));
    row.extend_from_slice(b"@mail.example");
    row[length_at] = (row.len() - length_at - 1) as u8;
}

fn push_text(row: &mut Vec<u8>, text: &[u8]) {
    debug_assert!(text.len() <= SHORT_LENGTH_MAX);
    row.push(text.len() as u8);
    row.extend_from_slice(text);
}

fn push_number(row: &mut Vec<u8>, value: i64) {
    let (bytes, length) = number::encode(value);
    push_text(row, &bytes[..length]);
}

fn push_digits<const N: usize>(row: &mut Vec<u8>, value: u64) {
    push_text(row, &digits::<N>(value));
}

/// The last `N` decimal digits.
fn digits<const N: usize>(mut value: u64) -> [u8; N] {
    let mut text = [b'0'; N];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{PageKind, PageView};
    use crate::page_id::{PAGE_SIZE, PageId, SegmentId};
    use crate::row::RowView;

    fn row_of(seed: u64, number: u64, form: Form) -> Vec<u8> {
        let mut row = Vec::new();
        CustomerGenerator::new(seed).row(number, form, &mut row);
        row
    }

    fn page_of(generator: &CustomerGenerator, first: u64) -> Box<[u8; PAGE_SIZE]> {
        let mut bytes = Box::new([0; PAGE_SIZE]);
        let id = PageId { segment: SegmentId(0), number: 0 };
        let mut page = PageMut::format(&mut bytes, id, PageKind::Heap);
        generator.fill_page(first..first + u64::from(ROWS_PER_PAGE), &mut page, &mut Vec::new());
        page.seal();
        bytes
    }

    #[test]
    fn rows_are_well_formed_and_hold_what_the_schema_says() {
        for number in [0, 1, 255, 65_535, 69_642_624] {
            let row = row_of(1, number, Form::Full);
            let view = RowView::new(&row);
            assert_eq!(view.check(), Ok(()));
            assert_eq!(usize::from(view.column_count()), COLUMNS);
            for (column, value) in SCHEMA.iter().zip(view.columns()) {
                let Some(value) = value else {
                    assert!(column.is_nullable, "{}", column.name);
                    continue;
                };
                if column.kind != ColumnType::Text {
                    assert!(number::decode(value).is_some(), "{}", column.name);
                }
            }
            assert_eq!(number::decode(view.column(1).unwrap().unwrap()), Some(number as i64 + 1));
        }
    }

    #[test]
    fn neither_form_is_longer_than_its_bound() {
        for number in (0..200_000).chain(69_500_000..69_642_625) {
            assert!(row_of(7, number, Form::Full).len() <= ROW_BYTES_MAX);
            assert!(row_of(7, number, Form::Short).len() <= SHORT_ROW_BYTES_MAX);
        }
    }

    #[test]
    fn every_page_holds_its_rows_and_is_nearly_full() {
        let generator = CustomerGenerator::new(1);
        let mut free = 0;
        for page in 0..2000 {
            let bytes = page_of(&generator, page * u64::from(ROWS_PER_PAGE));
            let view = PageView::verify(&bytes, PageId { segment: SegmentId(0), number: 0 }).unwrap();
            assert_eq!(u32::from(view.slots()), ROWS_PER_PAGE);
            free += view.free_bytes();
        }
        assert!(free / 2000 < PAGE_SIZE / 10, "{} bytes of a page are empty", free / 2000);
    }

    #[test]
    fn about_half_are_born_after_1950_and_a_tenth_has_no_valid() {
        let (mut young, mut without) = (0, 0);
        for number in 0..100_000 {
            let row = row_of(1, number, Form::Full);
            let view = RowView::new(&row);
            young += i32::from(number::decode(view.column(5).unwrap().unwrap()).unwrap() > 1950);
            without += i32::from(view.column(23).unwrap().is_none());
        }
        assert!((49_000..51_000).contains(&young), "{young}");
        assert!((9_500..10_500).contains(&without), "{without}");
    }

    #[test]
    fn the_same_numbers_give_the_same_bytes_for_ever() {
        assert_eq!(crc32c::crc32c(&row_of(1, 7, Form::Full)), CRC_OF_ROW_7);
        assert_ne!(row_of(1, 7, Form::Full), row_of(2, 7, Form::Full));
    }

    /// Taken when the layout was laid down; another value means that kept tables are no longer what they were.
    const CRC_OF_ROW_7: u32 = 2_525_812_764;
}
