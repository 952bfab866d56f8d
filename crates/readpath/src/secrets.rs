//! Passwords of servers' addresses on the command line, kept out of what is said about it.
//!
//! A wrong address is what most complaints are about, so a password is looked for by where it stands, not by whether
//! the address can be read. What is no address, such as the name of a file, is shown as it is, whatever its letters.

use std::ffi::OsString;
use std::ops::Range;

use server::place::colon_of_port;
use subjects::places::addresses;

/// What stands in place of a password.
const HIDDEN: &str = "***";

/// The option whose value is an address even where its beginning was forgotten.
const OF_ADDRESS: &str = "--on";

/// How the path of a file begins.
const PATHS: [&str; 3] = ["/", "./", "../"];

/// A text about a command line without the passwords in that line's words.
pub(crate) fn without_secrets(text: &str, line: &[OsString]) -> String {
    let schemes: Vec<&str> = addresses().filter_map(|address| address.split(':').next()).collect();
    without_secrets_of_line(text, line, &schemes)
}

/// The same, where servers' addresses begin with these schemes, such as `postgres`.
fn without_secrets_of_line(text: &str, line: &[OsString], schemes: &[&str]) -> String {
    let mut text = text.to_string();
    let mut is_address = false;
    for word in line.iter().skip(1) {
        let word = word.to_string_lossy();
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (Some(option), value),
            _ => (None, &*word),
        };
        is_address |= option == Some(OF_ADDRESS);
        if looks_like_address(value, schemes) || is_address && !PATHS.iter().any(|path| value.starts_with(path)) {
            text = without_secrets_of(value, text, schemes);
        }
        is_address = option.is_none() && word == OF_ADDRESS;
    }
    text.split_inclusive(char::is_whitespace).map(|word| of_file(word, schemes)).collect()
}

/// Whether a word is a server's address by its scheme, also where a slash or the colon of it was forgotten, a list of
/// keywords, or what a job's `on` is set to.
fn looks_like_address(word: &str, schemes: &[&str]) -> bool {
    let word = word.trim_start_matches(|sign: char| !sign.is_alphanumeric() && !"/.~".contains(sign));
    let has_scheme = word.split_once("://").is_some_and(|(before, _)| !before.contains('/'));
    let behind = |scheme: &&str| word.strip_prefix(*scheme);
    let is_ours = schemes.iter().filter_map(behind).any(|rest| rest.starts_with(':') || rest.starts_with("//"));
    let has_keywords = ["host=", "user=", "dbname=", "password="].iter().any(|keyword| word.starts_with(keyword));
    let is_set = word.strip_prefix("on=").is_some_and(|value| !PATHS.iter().any(|path| value.starts_with(path)));
    has_scheme || is_ours || has_keywords || is_set
}

/// A word of the text that a file may have given, such as that of a job: only what looks like a server's address.
fn of_file(word: &str, schemes: &[&str]) -> String {
    let is_address = looks_like_address(word, schemes) && (word.contains('@') || word.contains("password="));
    let is_advice = word.contains(":PASSWORD@");
    if !is_address || is_advice {
        return word.into();
    }
    // What ends the word is no part of a password: the quotation mark of the sentence, and the space behind it.
    let closed = word.trim_end_matches(|letter: char| letter.is_whitespace() || ".,:;)".contains(letter));
    let shown = if closed.ends_with(['\'', '"']) { closed.trim_end_matches(['\'', '"']) } else { word.trim_end() };
    masked(shown, 0, &secrets(shown, schemes)) + &word[shown.len()..]
}

/// A list of values is split at commas, also at those of a password: each piece is looked for.
fn without_secrets_of(value: &str, mut text: String, schemes: &[&str]) -> String {
    let secrets = secrets(value, schemes);
    if secrets.is_empty() {
        return text;
    }
    // What follows the scheme is taken for a directory where the slashes were forgotten.
    for start in [0, scheme_bytes(value, schemes)] {
        text = text.replace(&value[start..], &masked(&value[start..], start, &secrets));
    }
    let mut start = 0;
    for piece in value.split(',') {
        let shown = masked(piece, start, &secrets);
        if shown != piece {
            text = text.replace(&format!("'{piece}'"), &format!("'{shown}'"));
        }
        start += piece.len() + 1;
    }
    text
}

/// The bytes of `piece`, which begins at `start` of a value, outside of the value's secrets.
fn masked(piece: &str, start: usize, secrets: &[Range<usize>]) -> String {
    let mut shown = String::new();
    for (at, letter) in piece.char_indices() {
        match secrets.iter().find(|secret| secret.contains(&(start + at))) {
            None => shown.push(letter),
            Some(secret) if at == 0 || secret.start == start + at => shown += HIDDEN,
            Some(_) => {}
        }
    }
    shown
}

/// Where passwords stand in a word.
fn secrets(word: &str, schemes: &[&str]) -> Vec<Range<usize>> {
    let account = word.find("//").map_or_else(|| scheme_bytes(word, schemes), |at| at + 2);
    let of_account = match word.rfind('@') {
        Some(at) => word.get(account..at).and_then(|account| account.find(':')).map(|colon| (colon, at)),
        None => of_forgotten_host(word, account),
    };
    let in_account = of_account.map(|(colon, end)| account + colon + 1..end);
    let lower = word.to_ascii_lowercase();
    let named = lower.match_indices("password=").map(|(at, name)| {
        let start = at + name.len();
        start..lower[start..].find('&').map_or(word.len(), |end| start + end)
    });
    in_account.into_iter().chain(named).filter(|secret| !secret.is_empty()).collect()
}

/// Bytes of `postgres:` at the beginning of an address whose slashes were forgotten.
fn scheme_bytes(word: &str, schemes: &[&str]) -> usize {
    let is_before = |scheme: &&str| word.strip_prefix(*scheme).is_some_and(|rest| rest.starts_with(':'));
    schemes.iter().copied().find(is_before).map_or(0, |scheme| scheme.len() + 1)
}

/// Without `@` the host may have been forgotten: what stands for the port is then the password.
fn of_forgotten_host(word: &str, account: usize) -> Option<(usize, usize)> {
    let place = word.get(account..).filter(|_| word.contains("//"))?;
    let end = place.find(['/', '?']).unwrap_or(place.len());
    let colon = colon_of_port(&place[..end])?;
    place[colon + 1..end].starts_with(|letter: char| !letter.is_ascii_digit()).then_some((colon, account + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_of(word: &str, text: &str) -> String {
        without_secrets(text, &["readpath".into(), "lio".into(), "--on".into(), word.into()])
    }

    #[test]
    fn no_address_however_wrong_shows_its_password() {
        for word in [
            "postgres://me:s3cret@localhost:99999/shop",
            "postgres://me:s3cret@localhost?sslmode=foo",
            "postgres//me:s3cret@localhost",
            "postgres:/me:s3cret@localhost",
            "postgres:me:s3cret@localhost",
            "postgress://me:s3cret@localhost",
            "me:s3cret@localhost/shop",
            "postgres://me:s3cret",
            "postgres://localhost/shop?user=me&password=s3cret&x=y",
            "host=localhost password=s3cret",
            "sqlite,postgres://me:s3cret@localhost:99999",
            "postgres://me:s3cret@ends@localhost",
            "postgres://me:1,s3cret@localhost",
        ] {
            for text in [format!("invalid value '{word}' for --on"), format!("'{word}' names no server")] {
                let said = said_of(word, &text);
                assert!(!said.contains("s3cret") && said.contains(HIDDEN), "{word}: {said}");
            }
            for piece in word.split(',') {
                let said = said_of(word, &format!("invalid value '{piece}' for --on"));
                assert!(!said.contains("s3cret"), "{word}: {said}");
            }
            let option = without_secrets(&format!("'{word}'"), &["readpath".into(), format!("--on={word}").into()]);
            assert!(!option.contains("s3cret"), "{option}");
        }
    }

    #[test]
    fn the_password_of_another_kind_of_server_is_shown_nowhere_either() {
        let words = ["mysql://me:s3cret@h:99999", "mysql//me:s3cret@h", "mysql:/me:s3cret@h", "mysql:me:s3cret@h"];
        let said_by = |word: &str, line: &[&str], schemes: &[&str]| {
            let line: Vec<OsString> = line.iter().map(OsString::from).collect();
            without_secrets_of_line(&format!("'{word}' is wrong"), &line, schemes)
        };
        for word in words {
            // As a word of the command line, and as that of a file.
            for line in [vec!["readpath", "clean", word], vec!["readpath"]] {
                let said = said_by(word, &line, &["postgres", "mysql"]);
                assert!(!said.contains("s3cret") && said.contains(HIDDEN), "{line:?}: {said}");
            }
        }
        assert!(said_by(words[3], &["readpath"], &["postgres"]).contains("s3cret"), "the scheme is what tells it");
    }

    #[test]
    fn an_address_that_a_file_gave_shows_no_password_either() {
        let said = without_secrets("'on' cannot be 'postgres//me:s3cret@localhost': no", &["readpath".into()]);
        assert_eq!(said, "'on' cannot be 'postgres//me:***@localhost': no");
        let advice = "write postgres://USER:PASSWORD@HOST:PORT/DATABASE or postgres://me@host:1";
        assert_eq!(without_secrets(advice, &["readpath".into()]), advice);
    }

    #[test]
    fn a_sentence_keeps_the_quotation_mark_behind_a_password() {
        let word = "host=localhost dbname=shop password=s3cret";
        let said = said_of(word, &format!("invalid value '{word}' for '--on <URL>': it is none"));
        assert_eq!(said, "invalid value 'host=localhost dbname=shop password=***' for '--on <URL>': it is none");
        let said = without_secrets("it names 'password=s3cret', and ends", &["readpath".into()]);
        assert_eq!(said, "it names 'password=***', and ends");
    }

    #[test]
    fn the_name_of_a_file_is_shown_whatever_its_letters() {
        for path in ["/tmp/a:b@c.dat", "a:b@c.dat", "./x//a:b@d", "/data/postgres/a:b@c", "/x/password=y", "~/a:b@c"] {
            let text = format!("{path} does not exist");
            assert_eq!(without_secrets(&text, &["readpath".into(), "disk".into(), path.into()]), text);
        }
        for path in ["/tmp/a:b@c.dat", "./a:b@c.dat"] {
            let text = format!("{path} does not exist");
            assert_eq!(said_of(path, &text), text, "the file of a ladder");
        }
        let said = without_secrets("'postgres://me:s3cret@h' is no file", &["readpath".into(), "disk".into()]);
        assert_eq!(said, "'postgres://me:***@h' is no file");
    }

    #[test]
    fn what_holds_no_password_is_said_as_it_is() {
        let by_number = ["postgres://[::1]:5432/shop", "postgres://a,[fe80::1]/shop"];
        let others = ["postgres://me@localhost:99999/shop", "me@host:22", "postgres:18", "a:b", "/data/a.dbf", ""];
        for word in by_number.into_iter().chain(others) {
            let text = format!("invalid value '{word}' for --on");
            assert_eq!(said_of(word, &text), text);
        }
        let said = said_of("postgres://me:s3cret@localhost:99999", "'postgres://me:s3cret@localhost:99999' is wrong");
        assert_eq!(said, "'postgres://me:***@localhost:99999' is wrong");
    }
}
