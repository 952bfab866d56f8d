//! The dimensions by which time is broken down.

use jiff::Timestamp;
use measure::quantity::QuantityError;
use measure::schema::Parameter;
use measure::schema::profile::{UNNAMED_SESSION, parameters as named};
use thiserror::Error;

use crate::event::block_wait::{BlockAddress, block_class};
use crate::event::{Context, Scope, ScopeIndex, Ticks};
use crate::observe::skew::item::Item;

/// Most dimensions of one breakdown.
pub const DIMENSIONS_MAX: usize = 3;

/// What stands between conditions of which one is to hold, in small letters.
pub(super) const ALTERNATIVE: &str = " or ";

/// A breakdown that could not be read; the sentence says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SkewError {
    /// No such dimension.
    #[error("'{0}' is not a dimension: write one of {list}", list = names())]
    UnknownDimension(String),
    /// The same dimension twice.
    #[error("the dimension '{0}' stands twice: write it once")]
    RepeatedDimension(&'static str),
    /// Too many.
    #[error("{0} dimensions are too many: write up to {DIMENSIONS_MAX}")]
    TooManyDimensions(usize),
    /// A condition without an operator.
    #[error("'{0}' has no operator: write DIMENSION=VALUE with =, !=, ~ (contains), <, <=, > or >=")]
    NoOperator(String),
    /// A condition that ends with its operator.
    #[error("'{condition}' has no value behind '{operator}': write one, or '' where it is to be empty")]
    NoValue {
        /// The condition as written.
        condition: String,
        /// Its operator.
        operator: &'static str,
    },
    /// Conditions of which one is to hold.
    #[error(
        "'{0}' joins conditions with '{word}', which is not supported: join them with 'and' where all must hold, and \
         give each alternative a command of its own; a value with such words in it goes in quotation marks",
        word = ALTERNATIVE.trim()
    )]
    Alternatives(String),
    /// An operator that the dimension does not have.
    #[error("'{operator}' is no operator for {dimension}, which is {kind}: write {operators}")]
    WrongOperator {
        /// The operator as written.
        operator: &'static str,
        /// The dimension.
        dimension: &'static str,
        /// What its values are.
        kind: &'static str,
        /// The operators that it takes.
        operators: &'static str,
    },
    /// A number was expected.
    #[error("'{text}' is not a number: {dimension} takes whole numbers, such as {dimension}=7")]
    NotANumber {
        /// The dimension.
        dimension: &'static str,
        /// What was written.
        text: String,
    },
    /// A time of the clock was expected.
    #[error(
        "'{text}' is no time without an offset: {dimension} takes one such as {dimension}='2026-11-22 09:00', or a \
         whole second of the source's own clock"
    )]
    NotAClock {
        /// The dimension.
        dimension: &'static str,
        /// What was written.
        text: String,
    },
    /// A time was expected.
    #[error(transparent)]
    NotATime(QuantityError),
}

fn names() -> String {
    DIMENSIONS.iter().map(|row| row.parameter.name).collect::<Vec<_>>().join(", ")
}

/// A dimension of calls and waits.
#[derive(Clone, Copy, Debug)]
pub struct Dimension(&'static Row);

impl PartialEq for Dimension {
    fn eq(&self, other: &Dimension) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

/// A row of the table of dimensions.
#[derive(Debug)]
struct Row {
    /// The parameter of cases that has its name and its values.
    parameter: Parameter,
    kind: Kind,
    value: ValueOf,
}

/// What an item is in a dimension; `None` where it has no value in it.
type ValueOf = for<'a> fn(&'a Context, &Item<'a>) -> Option<Value<'a>>;

const fn row(parameter: Parameter, kind: Kind, value: ValueOf) -> Row {
    Row { parameter, kind, value }
}

/// Every dimension, in the order in which they are listed.
static DIMENSIONS: [Row; 24] = [
    row(named::EVENT, Kind::Text, |context, item| {
        Some(Value::Text(item.event.map_or("CPU", |event| context.event_name(event))))
    }),
    row(named::CLASS, Kind::Text, |_, item| Some(Value::Text(item.class.key()))),
    row(named::FILE, Kind::Number, |_, item| address(item).map(|address| Value::Number(address.file))),
    row(named::BLOCK, Kind::Block, |_, item| {
        address(item).map(|BlockAddress { file, block }| Value::Block { file, block })
    }),
    row(named::BLOCKS, Kind::Number, |_, item| item.block_wait?.blocks.map(|blocks| Value::Number(blocks.into()))),
    row(named::BLOCK_CLASS, Kind::Number, |_, item| item.block_wait?.class.map(Value::Number)),
    row(named::OBJECT, Kind::Number, |_, item| item.object.map(Value::Number)),
    row(named::STATEMENT, Kind::Text, |context, item| Some(Value::Text(&context.statement(item.statement)?.id))),
    row(named::PLAN_HASH, Kind::Number, |_, item| {
        (item.plan_hash > 0).then(|| Value::Number(item.plan_hash.cast_signed()))
    }),
    row(named::USER, Kind::Number, |context, item| context.statement(item.statement)?.user.map(Value::Number)),
    row(named::SESSION, Kind::Text, |context, item| {
        let id = context.sessions.get(item.session.0 as usize)?.id.as_str();
        Some(Value::Text(if id.is_empty() { UNNAMED_SESSION } else { id }))
    }),
    row(named::MODULE, Kind::Text, |context, item| scope(context, item, |scope| &scope.module)),
    row(named::ACTION, Kind::Text, |context, item| scope(context, item, |scope| &scope.action)),
    row(named::SERVICE, Kind::Text, |context, item| scope(context, item, |scope| &scope.service)),
    row(named::CLIENT, Kind::Text, |context, item| scope(context, item, |scope| &scope.client)),
    row(named::CONTAINER, Kind::Text, |context, item| match scope(context, item, |scope| &scope.container)? {
        Value::Text(name) => Some(Value::Container { name, scope: item.scope }),
        other => Some(other),
    }),
    row(named::CALL, Kind::Text, |_, item| Some(Value::Text(item.call))),
    row(named::P1, Kind::Number, |context, item| parameter(context, item, 0)),
    row(named::P2, Kind::Number, |context, item| parameter(context, item, 1)),
    row(named::P3, Kind::Number, |context, item| parameter(context, item, 2)),
    row(named::LATENCY, Kind::Time, |_, item| {
        has_latency(item).then(|| Value::Number(latency_bucket(item.time.0.div_euclid(125))))
    }),
    row(named::DEPTH, Kind::Number, |_, item| item.depth.map(|depth| Value::Number(depth.into()))),
    row(named::SECOND, Kind::Clock, |context, item| clock(context, item, 1)),
    row(named::MINUTE, Kind::Clock, |context, item| clock(context, item, 60)),
];

/// Whether an item is one wait, whose time is its latency: neither the CPU time of a call nor the time of many is.
pub(crate) fn has_latency(item: &Item<'_>) -> bool {
    item.event.is_some() && item.sum_of.is_none()
}

/// What a dimension's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Block,
    Time,
    /// A second by the wall clock, or by the source's own.
    Clock,
}

impl Kind {
    /// What a value is, in a sentence.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Kind::Text => "a text",
            Kind::Number => "a number",
            Kind::Block => "a block's number",
            Kind::Time => "a length of time",
            Kind::Clock => "a time of the clock",
        }
    }

    /// The operators that conditions on it take, in a sentence.
    pub(super) fn operators(self) -> &'static str {
        match self {
            Kind::Text => "=, != or ~ (contains)",
            Kind::Number | Kind::Block | Kind::Time | Kind::Clock => "=, !=, <, <=, > or >=",
        }
    }
}

/// A value of an item in a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Number(i64),
    /// Seconds since 1970 as if the wall clock showed UTC.
    Clock(i64),
    Block {
        file: i64,
        block: i64,
    },
    /// A container by what it is called so far, and a scope that has it.
    Container {
        name: &'a str,
        scope: ScopeIndex,
    },
}

impl Dimension {
    /// What was waited for; `CPU` for calls.
    pub fn event() -> Dimension {
        Dimension(&DIMENSIONS[0])
    }

    /// Every dimension.
    pub(super) fn all() -> impl Iterator<Item = Dimension> {
        DIMENSIONS.iter().map(Dimension)
    }

    /// The dimension of this name.
    pub fn parse(name: &str) -> Result<Dimension, SkewError> {
        let name = name.trim();
        // A filter on time reads better as `elapsed > 5ms`.
        let wanted = if name == "elapsed" { "latency" } else { name };
        let found = DIMENSIONS.iter().find(|row| row.parameter.name.eq_ignore_ascii_case(wanted));
        found.map(Dimension).ok_or_else(|| SkewError::UnknownDimension(name.into()))
    }

    /// Dimensions separated by commas: one to [`DIMENSIONS_MAX`], each once.
    pub fn parse_list(text: &str) -> Result<Vec<Dimension>, SkewError> {
        let dimensions = text.split(',').map(Dimension::parse).collect::<Result<Vec<_>, _>>()?;
        if dimensions.len() > DIMENSIONS_MAX {
            return Err(SkewError::TooManyDimensions(dimensions.len()));
        }
        for (index, dimension) in dimensions.iter().enumerate() {
            if dimensions[..index].contains(dimension) {
                return Err(SkewError::RepeatedDimension(dimension.name()));
            }
        }
        Ok(dimensions)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.parameter.name
    }

    /// The parameter of cases that has its values.
    pub(crate) fn parameter(self) -> Parameter {
        self.0.parameter
    }

    pub(crate) fn kind(self) -> Kind {
        self.0.kind
    }

    /// Whether a person reads its values in their own order, as a histogram's: times and points in time.
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self.kind(), Kind::Time | Kind::Clock)
    }

    /// What `item` is in this dimension; `None` where it has no value in it.
    pub(crate) fn value<'a>(self, context: &'a Context, item: &Item<'a>) -> Option<Value<'a>> {
        (self.0.value)(context, item)
    }

    /// A number of this dimension as a table shows it.
    pub(crate) fn number_text(self, context: &Context, number: i64) -> String {
        match (self.kind(), number) {
            _ if self.parameter() == named::OBJECT => context.object_name(number),
            _ if self.parameter() == named::BLOCK_CLASS => format!("{number} {}", block_class(number)),
            _ if self.parameter() == named::PLAN_HASH => number.cast_unsigned().to_string(),
            _ if self.parameter() == named::P1 => enqueue(number).unwrap_or_else(|| number.to_string()),
            (Kind::Time, i64::MIN) => "below 0".into(),
            (Kind::Time, -1) => "below 1 µs".into(),
            (Kind::Time, bits) => {
                let edge = |bits: i64| measure::quantity::format_nanos(1e3 * (bits as f64).exp2());
                format!("{} to {}", edge(bits), edge(bits + 1))
            }
            _ => number.to_string(),
        }
    }
}

/// A parameter of a wait, where its event has it.
fn parameter<'a>(context: &'a Context, item: &Item<'a>, place: usize) -> Option<Value<'a>> {
    let has_it = context.event(item.event?)?.parameters.len() > place;
    item.parameters.filter(|_| has_it).map(|parameters| Value::Number(parameters[place]))
}

/// The step of the wall clock in which something ended; of the source's clock where nothing says what time it was.
fn clock<'a>(context: &'a Context, item: &Item<'a>, seconds: i64) -> Option<Value<'a>> {
    let end = item.end?;
    let step = |micros: i64| micros.div_euclid(1_000_000 * seconds) * seconds;
    Some(match context.clock {
        Some((wall, at)) => Value::Clock(step(wall + (end - at).0.div_euclid(Ticks::PER_MICROSECOND))),
        None => Value::Number(step(end.0.div_euclid(Ticks::PER_MICROSECOND))),
    })
}

/// A second of the wall clock as a table shows it.
pub(crate) fn clock_text(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default();
    time.trim_end_matches('Z').replace('T', " ")
}

/// Name and mode of a lock, which one parameter holds: two letters in its upper bytes, the mode in the lower ones.
fn enqueue(number: i64) -> Option<String> {
    let [first, second, high, mode] = u32::try_from(number).ok()?.to_be_bytes();
    let is_name = first.is_ascii_uppercase() && second.is_ascii_uppercase() && high == 0 && mode <= 6;
    is_name.then(|| format!("{}{} mode {mode}", char::from(first), char::from(second)))
}

/// The (first) block of a wait for one.
fn address(item: &Item<'_>) -> Option<BlockAddress> {
    item.block_wait?.address
}

/// A part of the scope; `None` where it is empty.
fn scope<'a>(context: &'a Context, item: &Item<'a>, part: fn(&Scope) -> &String) -> Option<Value<'a>> {
    let text = context.scopes.get(item.scope.0 as usize).map(part)?;
    (!text.is_empty()).then_some(Value::Text(text))
}

/// The power of two at or below this number of µs, as an exponent; -1 below one µs.
fn latency_bucket(micros: i64) -> i64 {
    match micros {
        i64::MIN..0 => i64::MIN,
        0 => -1,
        _ => i64::from(micros.ilog2()),
    }
}
