//! The table `customers` of the access-path experiment: 23 columns shaped like those of the Sales History schema.
//!
//! Rows are of different length, and still any can be made without those before its group: [`GROUP_ROWS`] rows
//! together stay below a fixed number of bytes. Their lengths vary so little in the sum that they fit, and where a
//! group comes too close to its end its last rows are made short ([`CustomerRows::each`]); the same seed gives the same
//! values everywhere either way.

use std::ops::Range;

use measure::random::{SplitMix64, mix};

use crate::column::{Column, ColumnType};
use crate::letters::eight;
use crate::row::Row;

/// Rows of every group but the last. The published table has 69 642 625 rows in 1 613 824 blocks, 43.2 a block.
pub const GROUP_ROWS: u32 = 43;

/// Most bytes of a group's rows, as [`Row::packed_bytes`] counts them and [`POINTER_BYTES`] more for each: what a page
/// of 8 KiB has room for behind a head of 40 bytes.
pub const GROUP_BYTES: usize = 8152;

/// What a row takes of a group besides its own bytes.
pub const POINTER_BYTES: usize = 2;

/// Columns of a row.
pub const COLUMNS: usize = 23;

/// Bytes of a packed row on average, rounded.
pub const NOMINAL_ROW_LENGTH: u32 = 181;

/// No packed row is longer than this.
pub(crate) const ROW_BYTES_MAX: usize = 228;

/// A packed row with all texts at their shortest is no longer than this.
const SHORT_ROW_BYTES_MAX: usize = 160;

// Whatever the rows before, a group has room for the rest of its rows in their short form.
const _: () = assert!(GROUP_ROWS as usize * (SHORT_ROW_BYTES_MAX + POINTER_BYTES) <= GROUP_BYTES);

/// The columns in their order. The predicate's column is first, the counted one last.
pub static SCHEMA: [Column; COLUMNS] = [
    Column::new("cust_id", ColumnType::Number, false),
    Column::new("cust_first_name", ColumnType::Text, false),
    Column::new("cust_last_name", ColumnType::Text, false),
    Column::new("cust_gender", ColumnType::Text, false),
    Column::new("cust_year_of_birth", ColumnType::Number, false),
    Column::new("cust_marital_status", ColumnType::Text, true),
    Column::new("cust_street_address", ColumnType::Text, false),
    Column::new("cust_postal_code", ColumnType::Text, false),
    Column::new("cust_city", ColumnType::Text, false),
    Column::new("cust_city_id", ColumnType::Number, false),
    Column::new("cust_state_province", ColumnType::Text, false),
    Column::new("cust_state_province_id", ColumnType::Number, false),
    Column::new("country_id", ColumnType::Number, false),
    Column::new("cust_main_phone_number", ColumnType::Text, false),
    Column::new("cust_income_level", ColumnType::Text, true),
    Column::new("cust_credit_limit", ColumnType::Number, true),
    Column::new("cust_email", ColumnType::Text, true),
    Column::new("cust_total", ColumnType::Text, false),
    Column::new("cust_total_id", ColumnType::Number, false),
    Column::new("cust_src_id", ColumnType::Number, true),
    Column::new("cust_eff_from", ColumnType::Date, true),
    Column::new("cust_eff_to", ColumnType::Date, true),
    Column::new("cust_valid", ColumnType::Text, true),
];

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

/// ... over this many years; about half of the customers are born after 1950.
const YEARS: u64 = 76;

/// The day from which all rows are in effect: 1 January 1998.
const EFFECTIVE_FROM: i64 = 10_227;

/// One customer in ten has no `cust_valid`.
const WITHOUT_VALID: u64 = 10;

/// The rows of one table.
#[derive(Clone, Debug)]
pub struct CustomerRows {
    seed: u64,
    rows: u64,
}

impl CustomerRows {
    /// A number of customers, counted from 0; `cust_id` counts from 1.
    pub fn new(rows: u64, seed: u64) -> CustomerRows {
        CustomerRows { seed: mix(seed), rows }
    }

    /// Makes these rows one after the other.
    ///
    /// A row is made in its short form where otherwise the rows of its group after it might not fit in theirs.
    pub fn each(&self, numbers: Range<u64>, mut take: impl FnMut(&Row)) {
        let mut row = Row::default();
        let group = u64::from(GROUP_ROWS);
        let mut start = numbers.start - numbers.start % group;
        while start < numbers.end {
            let end = (start + group).min(self.rows);
            let mut free = GROUP_BYTES;
            for number in start..end.min(numbers.end) {
                let needed_after = (end - number - 1) as usize * (SHORT_ROW_BYTES_MAX + POINTER_BYTES);
                self.fill(number, Form::Full, &mut row);
                if row.packed_bytes() + POINTER_BYTES + needed_after > free {
                    self.fill(number, Form::Short, &mut row);
                }
                free -= row.packed_bytes() + POINTER_BYTES;
                if number >= numbers.start {
                    take(&row);
                }
            }
            start += group;
        }
    }

    /// Makes row `number` in one of its forms.
    fn fill(&self, number: u64, form: Form, row: &mut Row) {
        let mut random = SplitMix64::new(self.seed ^ number);
        let mut draw = |of: u64| random.below(of);
        row.clear();
        let city = draw(distinct::CITIES);
        let province = city % distinct::PROVINCES;
        row.push_number(number as i64 + 1);
        let first = Name { kind: 1, index: draw(distinct::FIRST_NAMES), lengths: (3, 10) };
        let last = Name { kind: 2, index: draw(distinct::LAST_NAMES), lengths: (4, 12) };
        push_name(row, first, form);
        push_name(row, last, form);
        row.push_text(if draw(2) == 0 { b"F" } else { b"M" });
        row.push_number(FIRST_YEAR + draw(YEARS) as i64);
        match draw(3) {
            0 => row.push_null(),
            _ => push_name(row, Name { kind: 3, index: draw(distinct::MARITAL_STATES), lengths: (6, 10) }, form),
        }
        push_name(row, Name { kind: 4, index: mix(number ^ self.seed), lengths: (14, 26) }, form);
        row.push_text(&digits::<5>(30_000 + city * 97));
        push_name(row, Name { kind: 5, index: city, lengths: (5, 14) }, form);
        row.push_number(51_040 + city as i64);
        push_name(row, Name { kind: 6, index: province, lengths: (5, 16) }, form);
        row.push_number(52_505 + province as i64);
        row.push_number(52_769 + (province % distinct::COUNTRIES) as i64);
        row.push_text(&digits::<12>(100_000_000_000 + draw(900_000_000_000)));
        push_name(row, Name { kind: 7, index: draw(distinct::INCOME_LEVELS), lengths: (15, 22) }, form);
        row.push_number(1500 + 1500 * draw(distinct::CREDIT_LIMITS) as i64);
        push_email(row, first, last, number, form);
        row.push_text(b"Customer total");
        row.push_number(52_772);
        row.push_null();
        row.push_number(EFFECTIVE_FROM);
        row.push_null();
        match draw(WITHOUT_VALID) {
            0 => row.push_null(),
            other => row.push_text(if other < 4 { b"A" } else { b"I" }),
        }
        debug_assert!(row.packed_bytes() <= if form == Form::Short { SHORT_ROW_BYTES_MAX } else { ROW_BYTES_MAX });
    }
}

/// Whether texts have their full length or the least.
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
    /// Its letters, and how many of them count.
    fn letters(self, form: Form) -> ([u8; 32], usize) {
        let word = mix(self.kind << 56 ^ self.index);
        let (least, greatest) = self.lengths;
        let length = if form == Form::Short { least } else { least + word % (greatest - least + 1) };
        let mut letters = [0; 32];
        for (part, half) in letters.chunks_exact_mut(8).enumerate() {
            half.copy_from_slice(&eight(mix(word.wrapping_add(part as u64))).to_le_bytes());
        }
        letters[0] = letters[0].to_ascii_uppercase();
        (letters, length as usize)
    }
}

fn push_name(row: &mut Row, name: Name, form: Form) {
    let (letters, length) = name.letters(form);
    row.push_text(&letters[..length]);
}

/// First letter of the first name, last name, a number and a domain: almost every customer has another.
fn push_email(row: &mut Row, first: Name, last: Name, number: u64, form: Form) {
    let (first, _) = first.letters(form);
    let (last, length) = last.letters(form);
    row.push_text_of(|text| {
        text.push(first[0]);
        text.extend_from_slice(&last[..length]);
        text.extend_from_slice(&digits::<4>(number % 10_000));
        text.extend_from_slice(b"@mail.example");
    });
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
    use crate::row::Value;

    fn row_of(seed: u64, number: u64, form: Form) -> Row {
        let mut row = Row::default();
        CustomerRows::new(1 << 40, seed).fill(number, form, &mut row);
        row
    }

    #[test]
    fn rows_hold_what_the_schema_says() {
        for number in [0, 1, 255, 65_535, 69_642_624] {
            let row = row_of(1, number, Form::Full);
            assert_eq!(row.values().len(), SCHEMA.len());
            assert_eq!(row.values().next(), Some(Value::Number(number as i64 + 1)));
        }
    }

    #[test]
    fn neither_form_is_longer_than_its_bound() {
        for number in (0..200_000).chain(69_500_000..69_642_625) {
            assert!(row_of(7, number, Form::Full).packed_bytes() <= ROW_BYTES_MAX);
            assert!(row_of(7, number, Form::Short).packed_bytes() <= SHORT_ROW_BYTES_MAX);
        }
    }

    #[test]
    fn every_group_has_room_for_its_rows_and_is_nearly_full() {
        let rows = CustomerRows::new(1 << 40, 1);
        let mut taken = 0;
        for group in 0..2000 {
            let mut bytes = 0;
            let first = group * u64::from(GROUP_ROWS);
            rows.each(first..first + u64::from(GROUP_ROWS), |row| bytes += row.packed_bytes() + POINTER_BYTES);
            assert!(bytes <= GROUP_BYTES);
            taken += bytes;
        }
        assert!(taken / 2000 > GROUP_BYTES * 9 / 10, "{} bytes of a group are in use", taken / 2000);
    }

    #[test]
    fn about_half_are_born_after_1950_and_a_tenth_has_no_valid() {
        let (mut young, mut without) = (0, 0);
        for number in 0..100_000 {
            let row = row_of(1, number, Form::Full);
            young += i32::from(matches!(row.values().nth(4), Some(Value::Number(1951..))));
            without += i32::from(row.values().nth(22) == Some(Value::Null));
        }
        assert!((49_000..51_000).contains(&young), "{young}");
        assert!((9_500..10_500).contains(&without), "{without}");
    }
}
