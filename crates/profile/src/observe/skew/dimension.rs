//! The dimensions by which time is broken down.

use std::fmt;

use measure::quantity::QuantityError;
use measure::schema::Parameter;
use measure::schema::profile::parameters as named;
use thiserror::Error;

use crate::event::{Context, Scope};
use crate::observe::skew::item::Item;

/// Most dimensions of one breakdown.
pub const DIMENSIONS_MAX: usize = 3;

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
    /// An operator that the dimension does not have.
    #[error(
        "'{operator}' means nothing for {dimension}: texts take =, != and ~, numbers and times =, !=, <, <=, >, >="
    )]
    WrongOperator {
        /// The dimension.
        dimension: &'static str,
        /// The operator as written.
        operator: &'static str,
    },
    /// A number was expected.
    #[error("'{text}' is not a number: {dimension} takes whole numbers, such as {dimension}=7")]
    NotANumber {
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
    DIMENSIONS.map(|(parameter, _)| parameter.name).join(", ")
}

/// A dimension of calls and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// What was waited for; `CPU` for calls.
    Event,
    /// The wait class, or the class of CPU time.
    Class,
    /// The file of a wait for a block.
    File,
    /// The (first) block of a wait, with its file.
    Block,
    /// Blocks of the request.
    Blocks,
    /// The object of a wait for a block.
    Object,
    /// The statement.
    Statement,
    /// The session.
    Session,
    /// The module.
    Module,
    /// The action.
    Action,
    /// The service.
    Service,
    /// The client identifier.
    Client,
    /// The container.
    Container,
    /// The call, or the call that a wait is inside.
    Call,
    /// The time itself, in powers of two of µs.
    Latency,
    /// Recursion depth.
    Depth,
    /// Seconds of the source's clock.
    Second,
}

/// Every dimension with the parameter that has its name, in the order in which they are listed.
pub const DIMENSIONS: [(Parameter, Dimension); 17] = [
    (named::EVENT, Dimension::Event),
    (named::CLASS, Dimension::Class),
    (named::FILE, Dimension::File),
    (named::BLOCK, Dimension::Block),
    (named::BLOCKS, Dimension::Blocks),
    (named::OBJECT, Dimension::Object),
    (named::STATEMENT, Dimension::Statement),
    (named::SESSION, Dimension::Session),
    (named::MODULE, Dimension::Module),
    (named::ACTION, Dimension::Action),
    (named::SERVICE, Dimension::Service),
    (named::CLIENT, Dimension::Client),
    (named::CONTAINER, Dimension::Container),
    (named::CALL, Dimension::Call),
    (named::LATENCY, Dimension::Latency),
    (named::DEPTH, Dimension::Depth),
    (named::SECOND, Dimension::Second),
];

/// What a dimension's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Time,
}

/// A value of an item in a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Number(i64),
    Block { file: i64, block: i64 },
}

impl Dimension {
    /// The dimension of this name.
    pub fn parse(name: &str) -> Result<Dimension, SkewError> {
        let name = name.trim();
        // A filter on time reads better as `elapsed > 5ms`.
        let wanted = if name == "elapsed" { "latency" } else { name };
        let found = DIMENSIONS.iter().find(|(known, _)| known.name.eq_ignore_ascii_case(wanted));
        found.map(|(_, dimension)| *dimension).ok_or_else(|| SkewError::UnknownDimension(name.into()))
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
        self.parameter().name
    }

    /// The parameter of cases that has its values.
    pub(crate) fn parameter(self) -> Parameter {
        let of = DIMENSIONS.iter().find(|(_, dimension)| *dimension == self);
        of.map_or(named::EVENT, |(parameter, _)| *parameter)
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Dimension::Latency => Kind::Time,
            Dimension::File | Dimension::Blocks | Dimension::Object | Dimension::Depth | Dimension::Second => {
                Kind::Number
            }
            Dimension::Block => Kind::Number,
            _ => Kind::Text,
        }
    }

    /// What `item` is in this dimension; `None` where it has no value in it.
    pub(crate) fn value<'a>(self, context: &'a Context, item: &Item<'a>) -> Option<Value<'a>> {
        let scope = |field: fn(&Scope) -> &String| {
            let text = context.scopes.get(item.scope.0 as usize).map(field)?;
            (!text.is_empty()).then_some(Value::Text(text))
        };
        let address = item.block_wait.and_then(|wait| wait.address);
        match self {
            Dimension::Event => Some(Value::Text(event_name(context, item))),
            Dimension::Class => Some(Value::Text(item.class.key())),
            Dimension::File => address.map(|address| Value::Number(address.file)),
            Dimension::Block => address.map(|address| Value::Block { file: address.file, block: address.block }),
            Dimension::Blocks => {
                item.block_wait.and_then(|wait| wait.blocks).map(|blocks| Value::Number(blocks.into()))
            }
            Dimension::Object => item.object.map(Value::Number),
            Dimension::Statement => {
                context.statements.get(item.statement.0 as usize).map(|statement| Value::Text(&statement.id))
            }
            Dimension::Session => context.sessions.get(item.session.0 as usize).map(|session| Value::Text(&session.id)),
            Dimension::Module => scope(|scope| &scope.module),
            Dimension::Action => scope(|scope| &scope.action),
            Dimension::Service => scope(|scope| &scope.service),
            Dimension::Client => scope(|scope| &scope.client),
            Dimension::Container => scope(|scope| &scope.container),
            Dimension::Call => Some(Value::Text(item.call)),
            Dimension::Latency => Some(Value::Number(latency_bucket(item.time.0.div_euclid(125)))),
            Dimension::Depth => item.depth.map(|depth| Value::Number(depth.into())),
            Dimension::Second => item.end.map(|end| Value::Number(end.0.div_euclid(125_000_000))),
        }
    }

    /// A number of this dimension as a table shows it.
    pub(crate) fn number_text(self, number: i64) -> String {
        match (self, number) {
            (Dimension::Latency, i64::MIN) => "below 0".into(),
            (Dimension::Latency, -1) => "below 1 µs".into(),
            (Dimension::Latency, bits) => {
                let edge = |bits: i64| measure::quantity::format_nanos(1e3 * (bits as f64).exp2());
                format!("{} to {}", edge(bits), edge(bits + 1))
            }
            _ => number.to_string(),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

fn event_name<'a>(context: &'a Context, item: &Item<'a>) -> &'a str {
    match item.event {
        None => "CPU",
        Some(event) => context.events.get(event.0 as usize).map_or("", |event| &event.name),
    }
}

/// The power of two at or below this number of µs, as an exponent; -1 below one µs.
fn latency_bucket(micros: i64) -> i64 {
    match micros {
        i64::MIN..0 => i64::MIN,
        0 => -1,
        _ => i64::from(micros.ilog2()),
    }
}
