//! A JSON reader that cannot run out of stack: it hands out one token after the other and keeps no tree.
//!
//! Plans nest as deep as a query joins, and a log may hold anything. A recursive reader either overflows the stack or
//! refuses plans that PostgreSQL wrote; this one keeps one bit a level. It is strict about structure, so that a cut
//! plan is found, and lenient about bytes that are no UTF-8, because logs mix the encodings of their databases.

use std::borrow::Cow;

/// Levels of nesting that are read; a plan has two levels a node.
const DEPTH_MAX: usize = 20_000;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// The name of an object's next value.
    Key(Cow<'a, str>),
    /// A string value.
    Text(Cow<'a, str>),
    /// A number as it stands.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`
    Null,
}

/// Why a text is no JSON, as a sentence's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The text ends too early.
    Cut,
    /// A character stands where it must not.
    Malformed,
    /// More levels than are read.
    TooDeep,
    /// A number that cannot be true, or is none.
    OutOfRange,
}

/// What the reader expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    FirstValueOrEnd,
    FirstKeyOrEnd,
    Key,
    CommaOrEnd,
    Nothing,
}

/// Reads one JSON value.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// One entry a level: whether it is an object.
    levels: Vec<bool>,
    expect: Expect,
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of `text`.
    pub fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, at: 0, levels: Vec::new(), expect: Expect::Value }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many objects and arrays are open.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The next token, or `None` behind the value's end.
    pub fn read_token(&mut self) -> Result<Option<Token<'a>>, Fault> {
        loop {
            self.skip_space();
            let Some(&byte) = self.text.get(self.at) else {
                return if self.expect == Expect::Nothing { Ok(None) } else { Err(Fault::Cut) };
            };
            match (self.expect, byte) {
                (Expect::Nothing, _) => return Ok(None),
                (Expect::CommaOrEnd, b',') => {
                    self.at += 1;
                    self.expect = if self.levels.last() == Some(&true) { Expect::Key } else { Expect::Value };
                }
                (Expect::CommaOrEnd | Expect::FirstKeyOrEnd, b'}') if self.levels.last() == Some(&true) => {
                    return Ok(Some(self.close(Token::ObjectEnd)));
                }
                (Expect::CommaOrEnd | Expect::FirstValueOrEnd, b']') if self.levels.last() == Some(&false) => {
                    return Ok(Some(self.close(Token::ArrayEnd)));
                }
                (Expect::Key | Expect::FirstKeyOrEnd, b'"') => return self.key().map(Some),
                (Expect::Value | Expect::FirstValueOrEnd, _) => return self.value(byte).map(Some),
                _ => return Err(Fault::Malformed),
            }
        }
    }

    /// Passes over the value that comes next, whole.
    pub fn skip_value(&mut self) -> Result<(), Fault> {
        let depth = self.depth();
        loop {
            self.read_token()?.ok_or(Fault::Cut)?;
            if self.depth() <= depth {
                return Ok(());
            }
        }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
    }

    fn close(&mut self, token: Token<'a>) -> Token<'a> {
        self.at += 1;
        self.levels.pop();
        self.value_is_over();
        token
    }

    fn value_is_over(&mut self) {
        self.expect = if self.levels.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
    }

    fn open(&mut self, is_object: bool) -> Result<Token<'a>, Fault> {
        if self.levels.len() >= DEPTH_MAX {
            return Err(Fault::TooDeep);
        }
        self.at += 1;
        self.levels.push(is_object);
        self.expect = if is_object { Expect::FirstKeyOrEnd } else { Expect::FirstValueOrEnd };
        Ok(if is_object { Token::ObjectStart } else { Token::ArrayStart })
    }

    fn key(&mut self) -> Result<Token<'a>, Fault> {
        let key = self.string()?;
        self.skip_space();
        match self.text.get(self.at) {
            Some(b':') => self.at += 1,
            Some(_) => return Err(Fault::Malformed),
            None => return Err(Fault::Cut),
        }
        self.expect = Expect::Value;
        Ok(Token::Key(key))
    }

    fn value(&mut self, byte: u8) -> Result<Token<'a>, Fault> {
        let token = match byte {
            b'{' => return self.open(true),
            b'[' => return self.open(false),
            b'"' => Token::Text(self.string()?),
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word(b"true", Token::Bool(true))?,
            b'f' => self.word(b"false", Token::Bool(false))?,
            b'n' => self.word(b"null", Token::Null)?,
            _ => return Err(Fault::Malformed),
        };
        self.value_is_over();
        Ok(token)
    }

    fn word(&mut self, word: &[u8], token: Token<'a>) -> Result<Token<'a>, Fault> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(token);
        }
        Err(if word.starts_with(rest) { Fault::Cut } else { Fault::Malformed })
    }

    fn number(&mut self) -> Result<Token<'a>, Fault> {
        let rest = &self.text[self.at..];
        let length =
            rest.iter().take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')).count();
        self.at += length;
        // Only letters of ASCII were taken.
        std::str::from_utf8(&rest[..length]).map(Token::Number).map_err(|_| Fault::Malformed)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            end += memchr::memchr2(b'"', b'\\', &self.text[end..]).ok_or(Fault::Cut)?;
            if self.text[end] == b'"' {
                break;
            }
            end += 2;
            if end > self.text.len() {
                return Err(Fault::Cut);
            }
        }
        self.at = end + 1;
        let raw = &self.text[start..end];
        Ok(if raw.contains(&b'\\') { Cow::Owned(unescape(raw)) } else { String::from_utf8_lossy(raw) })
    }
}

/// The text of a string with its escapes resolved; an escape that is none stays as it stands.
fn unescape(raw: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        if raw[at] != b'\\' {
            bytes.push(raw[at]);
            at += 1;
            continue;
        }
        let (text, length) = escape(&raw[at..]);
        let mut room = [0; 4];
        bytes.extend_from_slice(text.encode_utf8(&mut room).as_bytes());
        at += length;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The character that an escape stands for, and the escape's length; at least one byte is taken.
fn escape(raw: &[u8]) -> (char, usize) {
    match raw.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(letter @ (b'"' | b'\\' | b'/')) => (char::from(*letter), 2),
        Some(b'u') => match (unit(raw, 2), unit(raw, 8)) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) if raw[6..].starts_with(b"\\u") => {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
            }
            (Some(code), _) => (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
            (None, _) => ('\\', 1),
        },
        _ => ('\\', 1),
    }
}

/// Four hexadecimal digits at `at`.
fn unit(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 4)?;
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<Token<'_>>, Fault> {
        let mut reader = Reader::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(token) = reader.read_token()? {
            found.push(token);
        }
        Ok(found)
    }

    #[test]
    fn a_value_comes_out_token_by_token() {
        use Token::{ArrayEnd, ArrayStart, Bool, Key, Null, Number, ObjectEnd, ObjectStart, Text};
        let found = tokens(r#" {"a": [1, -2.5e3, "x\n\u00e4\ud83d\ude00"], "b" : {}, "c":[], "d": true, "e":null} "#);
        let expected = vec![
            ObjectStart,
            Key("a".into()),
            ArrayStart,
            Number("1"),
            Number("-2.5e3"),
            Text("x\nä😀".into()),
            ArrayEnd,
            Key("b".into()),
            ObjectStart,
            ObjectEnd,
            Key("c".into()),
            ArrayStart,
            ArrayEnd,
            Key("d".into()),
            Bool(true),
            Key("e".into()),
            Null,
            ObjectEnd,
        ];
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn a_text_cut_anywhere_is_found_to_be_cut() {
        let whole = r#"{"Plan": {"a": [true, null, "b\"c"], "d": 1}}"#;
        for length in 0..whole.len() {
            assert_eq!(tokens(&whole[..length]), Err(Fault::Cut), "{length}");
        }
        assert!(tokens(whole).is_ok());
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["{]", "[}", "{\"a\" 1}", "[1 2]", "[,]", "{\"a\":}", "[1,]", "{\"a\":1,}", "{1:2}", "x", "trap"] {
            assert_eq!(tokens(text), Err(Fault::Malformed), "{text}");
        }
    }

    #[test]
    fn nesting_without_end_overflows_no_stack() {
        assert_eq!(tokens(&"[".repeat(5_000_000)), Err(Fault::TooDeep));
        assert_eq!(tokens(&"{\"a\":".repeat(5_000_000)), Err(Fault::TooDeep));
        let depth = 10_000;
        assert_eq!(tokens(&format!("{}{}", "[".repeat(depth), "]".repeat(depth))).unwrap().len(), 2 * depth);
    }

    #[test]
    fn a_value_is_passed_over_whole() {
        let mut reader = Reader::new(br#"{"skip": {"x": [1, {"y": 2}]}, "keep": 7}"#);
        assert_eq!(reader.read_token(), Ok(Some(Token::ObjectStart)));
        assert_eq!(reader.read_token(), Ok(Some(Token::Key("skip".into()))));
        reader.skip_value().unwrap();
        assert_eq!(reader.read_token(), Ok(Some(Token::Key("keep".into()))));
        assert_eq!(reader.read_token(), Ok(Some(Token::Number("7"))));
    }

    #[test]
    fn escapes_that_are_none_stay_as_they_stand() {
        assert_eq!(unescape(br"\q\u12\ud800x\"), "\\q\\u12\u{fffd}x\\");
    }
}
