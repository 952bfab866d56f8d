//! The question in the engine's words, and which columns of the table it is about.

use dataset::customers::COLUMNS;
use storage::exec::question::{Comparison, Operator, Question};

use crate::access_paths::Asked;

/// Columns of the table, from 1.
pub(super) const CUST_ID: u8 = 1;
const YEAR_OF_BIRTH: u8 = 5;
pub(super) const POSTAL_CODE: u8 = 8;
/// `cust_valid`, the last one.
pub(super) const COUNTED: u8 = COLUMNS as u8;

/// About half of the customers are born later.
const YEAR: i64 = 1950;

/// The question that all paths answer, except those that compare an index's key.
pub(super) fn question(asked: Asked) -> Question {
    let compare = |column, constant| Some(Comparison { column, operator: Operator::Greater, constant });
    let comparison = match asked {
        Asked::AllPass => compare(CUST_ID, 0),
        Asked::NoPredicate => None,
        Asked::HalfPass => compare(YEAR_OF_BIRTH, YEAR),
    };
    Question { comparison, counted: COUNTED }
}
