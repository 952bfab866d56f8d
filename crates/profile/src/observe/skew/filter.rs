//! Which calls and waits a breakdown looks at: `event=db file sequential read and latency>5ms`.

use measure::quantity::parse_time;
use measure::schema::profile::parameters as named;

use crate::event::{Call, Context, Ticks, Wait};
use crate::observe::skew::dimension::{ALTERNATIVE, Dimension, Kind, SkewError, Value, has_latency};
use crate::observe::skew::item::Item;
use crate::source::clock::timestamp;
use crate::source::period::WallClock;

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    dimension: Dimension,
    operator: Operator,
    operand: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Contains,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Text(String),
    Number(i64),
    /// In a file, where the filter names it.
    Block {
        file: Option<i64>,
        block: i64,
    },
    Nanos(i128),
    /// A second of the wall clock.
    Clock(i64),
}

/// Operators as they are written, the longer ones first.
const OPERATORS: [(&str, Operator); 7] = [
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("~", Operator::Contains),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Filter {
    /// The filter of `texts`, each of one condition or of several joined by `and`; all of them must hold. None at all
    /// lets everything pass.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Filter, SkewError> {
        let mut terms = Vec::new();
        for text in texts {
            for condition in conditions(text.as_ref()) {
                terms.push(Term::parse(condition)?);
            }
        }
        Ok(Filter { terms })
    }

    /// All of several filters: what passes passes each.
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter { terms: filters.into_iter().flat_map(|filter| filter.terms).collect() }
    }

    /// Of what its conditions are, each once.
    pub(crate) fn dimensions(&self) -> Vec<Dimension> {
        let mut dimensions: Vec<Dimension> = Vec::new();
        for term in &self.terms {
            if !dimensions.contains(&term.dimension) {
                dimensions.push(term.dimension);
            }
        }
        dimensions
    }

    /// Whether a call passes.
    pub(crate) fn accepts_call(&self, context: &Context, call: &Call) -> bool {
        self.accepts(context, &Item::of_call(context, call))
    }

    /// Whether a wait passes; one for the client from `think_time` on is think time.
    pub(crate) fn accepts_wait(&self, context: &Context, wait: &Wait, think_time: Ticks) -> bool {
        self.accepts(context, &Item::of_wait(context, wait, think_time))
    }

    pub(crate) fn accepts(&self, context: &Context, item: &Item<'_>) -> bool {
        self.terms.iter().all(|term| term.accepts(context, item))
    }
}

/// Splits at ` and ` where a condition follows, so that a value may hold the word.
fn conditions(text: &str) -> Vec<&str> {
    let mut conditions = Vec::new();
    let mut start = 0;
    for (position, word) in text.match_indices(" and ") {
        let next = position + word.len();
        if position >= start && begins_condition(&text[next..]) {
            conditions.push(&text[start..position]);
            start = next;
        }
    }
    conditions.push(&text[start..]);
    conditions
}

/// Whether a value goes on with a condition as an alternative, which would be taken for a part of it.
fn has_alternative(value: &str) -> bool {
    // Letters that are none of ASCII keep their places.
    let small = value.to_ascii_lowercase();
    small.match_indices(ALTERNATIVE).any(|(at, word)| begins_condition(&value[at + word.len()..]))
}

/// Whether the text begins with a word and an operator.
fn begins_condition(text: &str) -> bool {
    let rest = text.trim_start().trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let has_word = rest.len() < text.trim_start().len();
    has_word && OPERATORS.iter().any(|(sign, _)| rest.trim_start().starts_with(sign))
}

impl Term {
    fn parse(text: &str) -> Result<Term, SkewError> {
        let first = OPERATORS.iter().filter_map(|(sign, operator)| Some((text.find(sign)?, *sign, *operator)));
        // The longer sign comes first in the table, and `min_by_key` keeps the first of equals.
        let Some((position, sign, operator)) = first.min_by_key(|(position, ..)| *position) else {
            return Err(SkewError::NoOperator(text.trim().into()));
        };
        let dimension = Dimension::parse(&text[..position])?;
        let value = text[position + sign.len()..].trim();
        let written = unquoted(value);
        if written == value && has_alternative(value) {
            return Err(SkewError::Alternatives(text.trim().into()));
        }
        if value.is_empty() {
            return Err(SkewError::NoValue { condition: text.trim().into(), operator: sign });
        }
        let is_order = !matches!(operator, Operator::Equal | Operator::NotEqual | Operator::Contains);
        let is_wrong = match dimension.kind() {
            Kind::Text => is_order,
            Kind::Number | Kind::Block | Kind::Time | Kind::Clock => operator == Operator::Contains,
        };
        if is_wrong {
            return Err(SkewError::WrongOperator {
                operator: sign,
                dimension: dimension.name(),
                kind: dimension.kind().noun(),
                operators: dimension.kind().operators(),
            });
        }
        Ok(Term { dimension, operator, operand: operand(dimension, written)? })
    }

    /// Whether the condition holds; what has no value in the dimension is only `!=` to something.
    fn accepts(&self, context: &Context, item: &Item<'_>) -> bool {
        if let Operand::Nanos(nanos) = self.operand {
            return match has_latency(item) {
                true => self.operator.holds(i128::from(item.time.0) * 8, nanos),
                false => self.operator == Operator::NotEqual,
            };
        }
        let Some(value) = self.dimension.value(context, item) else {
            return self.operator == Operator::NotEqual;
        };
        match (value, &self.operand) {
            (Value::Text(text) | Value::Container { name: text, .. }, Operand::Text(wanted)) => {
                self.operator.holds_text(text, wanted)
            }
            (Value::Number(number) | Value::Clock(number), Operand::Number(wanted))
            | (Value::Clock(number), Operand::Clock(wanted)) => self.operator.holds(number, *wanted),
            // A second of the source's own clock is at no known time of the wall clock.
            (Value::Number(_), Operand::Clock(_)) => self.operator == Operator::NotEqual,
            (Value::Block { file, block }, Operand::Block { file: wanted_file, block: wanted }) => {
                let is_in_file = wanted_file.is_none_or(|wanted| wanted == file);
                match self.operator {
                    Operator::NotEqual => !(is_in_file && block == *wanted),
                    operator => is_in_file && operator.holds(block, *wanted),
                }
            }
            _ => false,
        }
    }
}

impl Operator {
    fn holds<T: Ord>(self, left: T, right: T) -> bool {
        match self {
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
            Operator::Contains => false,
        }
    }

    fn holds_text(self, text: &str, wanted: &str) -> bool {
        match self {
            Operator::Equal => text == wanted,
            Operator::NotEqual => text != wanted,
            Operator::Contains => text.contains(wanted),
            _ => false,
        }
    }
}

fn operand(dimension: Dimension, written: &str) -> Result<Operand, SkewError> {
    let number = |text: &str| {
        text.trim().parse::<i64>().map_err(|_| SkewError::NotANumber { dimension: dimension.name(), text: text.into() })
    };
    match dimension.kind() {
        Kind::Text => Ok(Operand::Text(written.into())),
        Kind::Block => match written.split_once(':') {
            Some((file, block)) => Ok(Operand::Block { file: Some(number(file)?), block: number(block)? }),
            None => Ok(Operand::Block { file: None, block: number(written)? }),
        },
        // A hash has all 64 bits, and tables show it without a sign.
        Kind::Number if dimension.parameter() == named::PLAN_HASH => {
            written.trim().parse::<u64>().map(u64::cast_signed).or_else(|_| number(written)).map(Operand::Number)
        }
        Kind::Number => number(written).map(Operand::Number),
        Kind::Clock => {
            // A second of the source's own clock has digits alone, as a date can have. Both parsers skip an offset and
            // the name of a zone: the time would be hours away.
            let has_zone = written.contains(['+', '[']) || written.matches('-').count() > 2;
            let clock = || written.parse::<WallClock>().ok().filter(|_| !has_zone && number(written).is_err());
            let refused = |_| SkewError::NotAClock { dimension: dimension.name(), text: written.into() };
            let is_whole = |(_, length): &(i64, usize)| *length == written.len();
            let stamp = timestamp(written.as_bytes()).filter(is_whole).map(|(micros, _)| micros);
            match stamp.or_else(|| clock().map(WallClock::micros)) {
                Some(micros) => Ok(Operand::Clock(micros.div_euclid(1_000_000))),
                None => number(written).map(Operand::Number).map_err(refused),
            }
        }
        Kind::Time => parse_time(written).map(|nanos| Operand::Nanos(nanos.0.into())).map_err(SkewError::NotATime),
    }
}

fn unquoted(text: &str) -> &str {
    let inner = ["'", "\""].iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ticks;
    use crate::observe::tests::{context, wait};
    use proptest::prelude::*;

    fn accepts(filter: &str, micros: i64, parameters: [i64; 3]) -> bool {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let wait = wait(0, micros, parameters);
        let item = Item::of_wait(&context, &wait, Ticks::from_micros(1_000_000));
        Filter::parse(&[filter]).unwrap().accepts(&context, &item)
    }

    #[test]
    fn conditions_mean_what_they_say() {
        let read = |filter: &str| accepts(filter, 5000, [4, 100, 1]);
        for holds in [
            "event=db file sequential read",
            "event~sequential and file=4",
            "event != log file sync and block=100 and latency>=5ms",
            "block=4:100",
            "block!=5:100",
            "block>99 and block<101",
            "elapsed>4.9ms",
            "latency<=5000us",
            "call=FETCH and depth=0",
            "module!=anything",
            "class='single-block-reads'",
        ] {
            assert!(read(holds), "{holds}");
        }
        for fails in ["event=db file", "file!=4", "block=5:100", "latency>5ms", "latency<5ms", "module=x", "object=1"] {
            assert!(!read(fails), "{fails}");
        }
    }

    #[test]
    fn a_hash_that_a_table_shows_is_found_also_where_its_highest_bit_is_set() {
        let context = context(&[("db file sequential read", &["file#", "block#", "blocks"])]);
        let wait = Wait { plan_hash: 12_345_678_901_234_567_890, ..wait(0, 5, [4, 100, 1]) };
        let accepts = |text: &str| Filter::parse(&[text]).unwrap().accepts_wait(&context, &wait, Ticks(1));
        assert!(accepts("plan_hash=12345678901234567890") && !accepts("plan_hash=12345678901234567891"));
        assert!(accepts("plan_hash=-6101065172474983726"), "the same bits with a sign");
        assert!(Filter::parse(&["plan_hash=four"]).is_err());
    }

    #[test]
    fn a_time_of_the_clock_needs_no_seconds_and_no_time_of_day() {
        let operand = |text: &str| Filter::parse(&[text]).unwrap().terms[0].operand.clone();
        for text in ["minute=2026-11-22 09:00", "second>=2026-11-22 09:00:00", "second<2026-11-22T09:00"] {
            assert_eq!(operand(text), Operand::Clock(1_795_338_000), "{text}");
        }
        assert_eq!(operand("second>=2026-11-22"), Operand::Clock(1_795_305_600));
        assert_eq!(operand("second=20261122"), Operand::Number(20_261_122), "of the source's own clock");
        for refused in ["nine", "2026-11-22T09:00+01:00", "2026-11-22 09:00-05:00", "2026-11-22 09:00[Europe/Berlin]"] {
            assert!(Filter::parse(&[format!("second={refused}")]).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_time_to_the_second_with_an_offset_is_not_taken_for_one_without() {
        let parse = |text: &str| Filter::parse(&[format!("second>={text}")]);
        for zone in ["+01:00", "-05:00", "[Europe/Berlin]", " CET"] {
            let refused = parse(&format!("2026-11-22 09:00:00{zone}")).unwrap_err().to_string();
            assert!(refused.contains("is no time without an offset"), "{refused}");
        }
        assert_eq!(parse("2026-11-22 09:00:00.25").unwrap().terms[0].operand, Operand::Clock(1_795_338_000));
    }

    #[test]
    fn what_has_no_date_is_not_taken_for_what_came_before_one() {
        let stamped = context(&[("db file sequential read", &[])]);
        let undated = stamped.clone();
        // The same second of the source's own clock, with and without a stamp.
        let at = Ticks::from_micros(77_000_000);
        let stamped = Context { clock: Some((1_795_338_000_000_000, at)), ..stamped };
        let wait = Wait { end: Some(at), ..wait(0, 5, [0; 3]) };
        let accepts = |text: &str| {
            let filter = Filter::parse(&[text]).unwrap();
            [&stamped, &undated].map(|context| filter.accepts_wait(context, &wait, Ticks(1)))
        };
        assert_eq!(accepts("second<2026-11-22 09:00:01"), [true, false]);
        assert_eq!(accepts("minute>=2026-11-22 09:00"), [true, false]);
        assert_eq!(accepts("second!=2026-11-22 09:00"), [false, true]);
        assert_eq!(accepts("second=77"), [false, true], "a second of its own clock");
    }

    #[test]
    fn a_value_may_hold_the_word_that_joins_conditions() {
        let filter = Filter::parse(&["module=Search and rescue and file=4"]).unwrap();
        assert_eq!(filter.terms.len(), 2);
        assert_eq!(filter.terms[0].operand, Operand::Text("Search and rescue".into()));
        let separate = Filter::parse(&["module=x", "file>3"]).unwrap();
        assert_eq!(separate.terms.len(), 2);
    }

    #[test]
    fn an_alternative_is_refused_and_no_part_of_a_value_unless_it_is_quoted() {
        for text in
            ["event=x or event=y", "file=4 OR file=5", "module=x and event=y or latency>5ms", "latency>1s or x~y"]
        {
            let refused = Filter::parse(&[text]).unwrap_err();
            assert!(matches!(refused, SkewError::Alternatives(_)), "{text}: {refused}");
            assert!(refused.to_string().contains("with 'or'") && refused.to_string().contains("'and'"), "{refused}");
        }
        for (text, value) in [("module=now or never", "now or never"), ("module='a or b=1'", "a or b=1")] {
            assert_eq!(Filter::parse(&[text]).unwrap().terms[0].operand, Operand::Text(value.into()));
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_with_what_to_write() {
        let error = |text: &str| Filter::parse(&[text]).unwrap_err().to_string();
        assert!(error("evnt=x").contains("'evnt' is not a dimension"), "{}", error("evnt=x"));
        assert!(error("evnt=x").contains("event, class, file"));
        assert!(error("event").contains("no operator"));
        assert!(error("event>x").contains("'>'"));
        let of_number = "'~' is no operator for user, which is a number: write =, !=, <, <=, > or >=";
        assert_eq!(error("user~SCOTT"), of_number, "what a text takes is of no use there");
        assert!(error("event<x").ends_with("which is a text: write =, != or ~ (contains)"), "{}", error("event<x"));
        assert!(error("file=four").contains("'four'"));
        let no_value = "'event~' has no value behind '~': write one, or '' where it is to be empty";
        assert_eq!(error("event~ "), no_value, "every event has an empty text in it");
        for text in ["event=", "module!=", "file>=", "event~ and file=4"] {
            assert!(error(text).contains("has no value"), "{}", error(text));
        }
        assert_eq!(Filter::parse(&["module=''"]).unwrap().terms[0].operand, Operand::Text(String::new()));
        assert!(error("latency>5").contains("500us"));
        assert!(error("").contains("no operator"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", tail in "[a-z]{0,8}(=|!=|~|<|>| and |[0-9]|:)*") {
            let _ = Filter::parse(&[&text, &tail]);
            let _ = Dimension::parse_list(&text);
        }
    }
}
