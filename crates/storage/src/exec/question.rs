//! The question that every access path is asked: how many rows that pass a comparison have a value in a column.

/// How a column's value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Greater than the constant.
    Greater,
    /// Greater than the constant, or equal to it.
    GreaterOrEqual,
    /// Less than the constant.
    Less,
    /// Less than the constant, or equal to it.
    LessOrEqual,
    /// Equal to the constant.
    Equal,
}

/// A comparison of a number column with a constant. A null passes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// The column, counted from 1.
    pub column: u8,
    /// How.
    pub operator: Operator,
    /// With what.
    pub constant: i64,
}

impl Comparison {
    /// The numbers that pass, as a range with both ends; empty where the lower end is above the upper.
    pub fn bounds(&self) -> (i64, i64) {
        let constant = self.constant;
        let nothing = (i64::MAX, i64::MIN);
        match self.operator {
            Operator::Greater => constant.checked_add(1).map_or(nothing, |low| (low, i64::MAX)),
            Operator::GreaterOrEqual => (constant, i64::MAX),
            Operator::Less => constant.checked_sub(1).map_or(nothing, |high| (i64::MIN, high)),
            Operator::LessOrEqual => (i64::MIN, constant),
            Operator::Equal => (constant, constant),
        }
    }

    /// Whether a value passes.
    #[inline]
    pub fn accepts(&self, value: i64) -> bool {
        match self.operator {
            Operator::Greater => value > self.constant,
            Operator::GreaterOrEqual => value >= self.constant,
            Operator::Less => value < self.constant,
            Operator::LessOrEqual => value <= self.constant,
            Operator::Equal => value == self.constant,
        }
    }
}

/// `COUNT(column)`, with or without a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// Which rows count; all where there is none.
    pub comparison: Option<Comparison>,
    /// The column whose values are counted, from 1; nulls are not.
    pub counted: u8,
}

/// The answer and what was looked at for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows that were looked at.
    pub rows: u64,
    /// Rows that passed the comparison and have the value.
    pub count: u64,
}

impl std::ops::AddAssign for Answer {
    fn add_assign(&mut self, other: Answer) {
        self.rows += other.rows;
        self.count += other.count;
    }
}
