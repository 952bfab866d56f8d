//! JSON, one object at a time: its values stay text until they are asked for.
//!
//! Plans nest as deep as a query joins, and a log may hold anything. A reader that recurses overflows the stack, or
//! refuses plans that PostgreSQL wrote.

use std::collections::HashMap;

use serde_json::Deserializer;
use serde_json::value::RawValue;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The text ends too early.
    Cut,
    /// It is no JSON, or no JSON of this kind.
    Malformed,
    /// More levels or nodes than are read.
    TooDeep,
    /// A number that cannot be true, or is none.
    OutOfRange,
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Fault {
        if error.is_eof() { Fault::Cut } else { Fault::Malformed }
    }
}

/// An object: its values by their keys. A key without a value (`null`) counts as absent.
#[derive(Debug)]
pub struct Object<'a>(HashMap<&'a str, &'a RawValue>);

impl<'a> Object<'a> {
    /// The object at the beginning of a text, and the text behind it.
    ///
    /// # Errors
    /// Where no whole object stands there.
    pub fn read(text: &'a str) -> Result<(Object<'a>, &'a str), Fault> {
        let mut values = Deserializer::from_str(text).into_iter();
        let object = Object(values.next().ok_or(Fault::Cut)??);
        Ok((object, &text[values.byte_offset()..]))
    }

    /// The value of a key as it stands in the text.
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|value| value.get()).filter(|value| *value != "null")
    }

    /// A text, or a number as it stands; empty where the key is absent.
    ///
    /// # Errors
    /// Where the value is an object or an array.
    pub fn text(&self, key: &str) -> Result<String, Fault> {
        match self.value(key).unwrap_or_default() {
            quoted if quoted.starts_with('"') => Ok(serde_json::from_str(quoted)?),
            nested if nested.starts_with(['{', '[']) => Err(Fault::Malformed),
            plain => Ok(plain.into()),
        }
    }

    /// A number as `parse` reads it; `None` where the key is absent.
    ///
    /// # Errors
    /// Where the value is no number, or none that `parse` takes.
    pub fn number<T>(&self, key: &str, parse: fn(&str) -> Option<T>) -> Result<Option<T>, Fault> {
        let is_number = |text: &str| text.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit());
        let read = |text| if is_number(text) { parse(text).ok_or(Fault::OutOfRange) } else { Err(Fault::Malformed) };
        self.value(key).map(read).transpose()
    }

    /// Sums of numbers, each over several keys; `None` where all keys of a sum are absent.
    ///
    /// # Errors
    /// As for [`Object::number`].
    pub fn sums<const N: usize>(
        &self,
        keys: [&[&str]; N],
        parse: fn(&str) -> Option<i64>,
    ) -> Result<[Option<i64>; N], Fault> {
        let mut sums = [None; N];
        for (sum, keys) in sums.iter_mut().zip(keys) {
            for key in keys {
                if let Some(more) = self.number(key, parse)? {
                    *sum = Some(sum.unwrap_or(0_i64).saturating_add(more));
                }
            }
        }
        Ok(sums)
    }

    /// The elements of an array; none where the key is absent.
    ///
    /// # Errors
    /// Where the value is no array.
    pub fn elements(&self, key: &str) -> Result<Vec<&'a RawValue>, Fault> {
        self.value(key).map_or(Ok(Vec::new()), |array| Ok(serde_json::from_str(array)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_out_as_what_it_is() {
        let text = r#" {"a": "x\n\u00e4\ud83d\ude00", "b": [{"c": 1}, 2], "d": -7, "e": null, "f": {}} rest"#;
        let (object, rest) = Object::read(text).unwrap();
        assert_eq!((object.text("a").unwrap().as_str(), rest), ("x\nä😀", " rest"));
        assert_eq!(object.elements("b").unwrap().len(), 2);
        let parse = |text: &str| text.parse::<i64>().ok();
        assert_eq!((object.number("d", parse), object.number("e", parse)), (Ok(Some(-7)), Ok(None)));
        assert_eq!(object.sums([&["d", "e", "d"], &["e"]], parse), Ok([Some(-14), None]));
        assert_eq!((object.text("d").as_deref(), object.text("e").as_deref()), (Ok("-7"), Ok("")));
        assert_eq!((object.text("b"), object.number("a", parse)), (Err(Fault::Malformed), Err(Fault::Malformed)));
        assert_eq!(object.number("d", |_| None::<u8>), Err(Fault::OutOfRange));
    }

    #[test]
    fn a_text_cut_anywhere_is_found_to_be_cut() {
        let whole = r#"{"Plan": {"a": [true, null, "b\"c"], "d": 1}}"#;
        for length in 0..whole.len() {
            assert_eq!(Object::read(&whole[..length]).unwrap_err(), Fault::Cut, "{length}");
        }
        assert!(Object::read(whole).is_ok());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["{]", "[]", "{\"a\" 1}", "{\"a\":[1 2]}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "x", "trap"] {
            assert_eq!(Object::read(text).unwrap_err(), Fault::Malformed, "{text}");
        }
    }

    #[test]
    fn nesting_without_end_overflows_no_stack() {
        for nested in ["[", "{\"a\":"] {
            let text = format!("{{\"a\": {}", nested.repeat(5_000_000));
            assert_eq!(Object::read(&text).unwrap_err(), Fault::Cut);
        }
    }
}
