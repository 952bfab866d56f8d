//! Statements whose texts differ in their literals alone, seen as one.

use std::collections::{HashMap, HashSet};

use crate::event::{CallKind, Merge, Statement, StatementIndex, StatementKind};
use crate::tables::{Profile, StatementProfile};

/// What stands for a literal.
const PLACE: char = '?';

/// Plans that a folded statement keeps: those of the first of its statements.
const PLANS_MAX: usize = 16;

/// Most dollar quotes of a text whose ends are looked for in vain.
const UNCLOSED_MAX: usize = 16;

/// Adds up the statements whose texts differ in literals alone. The sum has the identifier of the first one in the
/// trace and the folded text. Gives how many statements were folded into others.
pub fn fold(profile: &mut Profile) -> usize {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut moved: HashMap<StatementIndex, StatementIndex> = HashMap::new();
    let mut folded: Vec<StatementProfile> = Vec::new();
    let mut count = 0;
    for one in std::mem::take(&mut profile.statements) {
        let known = profile.context.statements.get_mut(one.statement.0 as usize);
        let text = known.filter(|known| has_text(known));
        let Some(known) = text else {
            folded.push(one);
            continue;
        };
        let key = fold_text(&known.text);
        match places.get(&key) {
            Some(place) => {
                let sum = &mut folded[*place];
                sum.merge(&one);
                sum.folded += 1;
                moved.insert(one.statement, sum.statement);
                let room = PLANS_MAX.saturating_sub(sum.plans.len());
                sum.plans.extend(one.plans.into_iter().take(room));
                count += 1;
            }
            None => {
                known.text.clone_from(&key);
                places.insert(key, folded.len());
                folded.push(one);
            }
        }
    }
    profile.statements = folded;
    move_callers(profile, &moved);
    count
}

/// Adds up the calls between statements that are seen together.
fn move_callers(profile: &mut Profile, moved: &HashMap<StatementIndex, StatementIndex>) {
    let place = |index: StatementIndex| moved.get(&index).copied().unwrap_or(index);
    for ((parent, called), sums) in std::mem::take(&mut profile.callers) {
        profile.callers.entry((place(parent), place(called))).or_default().merge(&sums);
    }
}

/// Statements from which on the share of those that were executed once says something. A page of fewer rows is read as
/// it is.
const STATEMENTS_MIN: usize = 20;

/// Statements of a profile that were executed once, and all; `None` where they are few, or too many were not.
pub fn executed_once(profile: &Profile) -> Option<(usize, usize)> {
    let is_declared = |one: &&StatementProfile| {
        profile.context.statement(one.statement).is_some_and(|known| known.kind == StatementKind::Declared)
    };
    let (mut all, mut once) = (0, 0);
    for one in profile.statements.iter().filter(is_declared) {
        all += 1;
        once += usize::from(one.calls_of(&profile.context, CallKind::Exec).calls == 1);
    }
    (all >= STATEMENTS_MIN && once * 10 >= all * 9).then_some((once, all))
}

/// Whether at most half of the texts that can be folded are left when their literals are.
pub fn is_worth_it(profile: &Profile) -> bool {
    let known = profile.statements.iter().filter_map(|one| profile.context.statement(one.statement));
    let texts: Vec<&Statement> = known.filter(|known| has_text(known)).collect();
    let folded: HashSet<String> = texts.iter().map(|known| fold_text(&known.text)).collect();
    folded.len() * 2 <= texts.len() && !texts.is_empty()
}

/// Whether a statement has a text of its own. The others are named by what the source says of them.
fn has_text(known: &Statement) -> bool {
    known.kind == StatementKind::Declared && !known.text.is_empty()
}

/// A text with a question mark for every literal and one space for all white space; lists of literals are one.
/// Names, quoted names, bind variables and comments stay as they are.
pub fn fold_text(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut folded = String::with_capacity(text.len());
    let (mut at, mut unclosed) = (0, 0);
    while let Some(letter) = letters.get(at).copied() {
        let rest = &letters[at..];
        let dollars = if letter == '$' { dollar_quoted(&folded, rest, &mut unclosed) } else { 0 };
        at += match letter {
            _ if dollars > 0 => literal(&mut folded, rest, dollars),
            '\'' => {
                let count = text_literal(&folded, rest);
                literal(&mut folded, rest, count)
            }
            '"' => copy(&mut folded, rest, quoted(rest, '"')),
            '-' if rest.starts_with(&['-', '-']) => copy(&mut folded, rest, until(rest, &['\n'])),
            '/' if rest.starts_with(&['/', '*']) => copy(&mut folded, rest, until(rest, &['*', '/'])),
            '-' if is_sign(&folded, &rest[1..]) => literal(&mut folded, rest, 1 + number(&rest[1..])),
            _ if letter.is_whitespace() => space(&mut folded),
            _ if is_number(&folded, rest) => literal(&mut folded, rest, number(rest)),
            _ => copy(&mut folded, rest, 1),
        };
    }
    folded.trim_end().to_string()
}

fn copy(folded: &mut String, rest: &[char], count: usize) -> usize {
    let count = count.min(rest.len());
    folded.extend(&rest[..count]);
    count
}

fn space(folded: &mut String) -> usize {
    if !folded.is_empty() && !folded.ends_with(' ') {
        folded.push(' ');
    }
    1
}

/// One place for the literal; none where it continues a list of literals.
fn literal(folded: &mut String, rest: &[char], count: usize) -> usize {
    let before = folded.trim_end();
    let is_list = before.strip_suffix(',').is_some_and(|list| list.trim_end().ends_with(PLACE));
    if is_list {
        let end = before.len() - 1;
        let list = folded[..end].trim_end().len();
        folded.truncate(list);
    } else {
        folded.push(PLACE);
    }
    count.min(rest.len())
}

/// Characters of a text from its first quote to the one that closes it, as the letter ahead of it says: within `E'...'`
/// (PostgreSQL) a backslash takes a quote's meaning, and `q'[...]'` (Oracle) has a delimiter of its own.
fn text_literal(folded: &str, rest: &[char]) -> usize {
    let mut before = folded.chars().rev();
    let prefix = before.next().map(|letter| letter.to_ascii_lowercase());
    // A national text begins with `nq'`.
    let mut ahead = before.next();
    if prefix == Some('q') && matches!(ahead, Some('n' | 'N')) {
        ahead = before.next();
    }
    let is_name = ahead.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#'));
    match prefix.filter(|_| !is_name) {
        Some('e') => escaped(rest),
        Some('q') => delimited(rest),
        _ => quoted(rest, '\''),
    }
}

/// The same where a backslash takes the meaning of the character behind it.
fn escaped(rest: &[char]) -> usize {
    let mut at = 1;
    while let Some(letter) = rest.get(at) {
        at += 1;
        match letter {
            '\'' if rest.get(at) != Some(&'\'') => break,
            '\\' | '\'' => at += 1,
            _ => {}
        }
    }
    at
}

/// The same of a text with a delimiter, which is neither a quote nor white space.
fn delimited(rest: &[char]) -> usize {
    let close = match rest.get(1).copied() {
        Some('[') => ']',
        Some('(') => ')',
        Some('{') => '}',
        Some('<') => '>',
        Some(other) if other != '\'' && !other.is_whitespace() => other,
        _ => return quoted(rest, '\''),
    };
    let end = rest[2..].windows(2).position(|window| window == [close, '\'']);
    end.map_or(rest.len(), |end| 2 + end + 2)
}

/// Characters of a text between dollars, `$$...$$` or `$tag$...$tag$` (PostgreSQL); 0 where the dollar begins none: it
/// is part of a name, or of a bind variable (`$1`), or its end is missing. An end has no name behind it: the dollars of
/// `$$PLSQL_UNIT` (Oracle) quote nothing.
fn dollar_quoted(folded: &str, rest: &[char], unclosed: &mut usize) -> usize {
    let is_of_name = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#');
    let continues = folded.chars().next_back().is_some_and(|last| is_of_name(&last));
    let tag = rest[1..].iter().take_while(|letter| letter.is_alphanumeric() || **letter == '_').count();
    let is_tag = !rest.get(1).is_some_and(char::is_ascii_digit) && rest.get(1 + tag) == Some(&'$');
    if continues || !is_tag || *unclosed >= UNCLOSED_MAX {
        return 0;
    }
    let (delimiter, text) = rest.split_at(tag + 2);
    let is_end = |end: &usize| !text.get(end + delimiter.len()).is_some_and(is_of_name);
    let end = text.windows(delimiter.len()).position(|window| window == delimiter).filter(is_end);
    *unclosed += usize::from(end.is_none());
    end.map_or(0, |end| end + 2 * delimiter.len())
}

/// Characters from the quote to the one that closes it; a doubled quote is none.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while let Some(letter) = rest.get(at) {
        at += 1;
        if *letter == quote {
            if rest.get(at) != Some(&quote) {
                break;
            }
            at += 1;
        }
    }
    at
}

/// Characters up to and with `end`.
fn until(rest: &[char], end: &[char]) -> usize {
    // Its first characters may be those of its end: `/*/` closes no comment.
    let begin = end.len();
    let found = rest.windows(end.len()).skip(begin).position(|window| window == end);
    found.map_or(rest.len(), |at| begin + at + end.len())
}

/// Whether a number begins here: a digit that continues neither a name nor a bind variable.
fn is_number(folded: &str, rest: &[char]) -> bool {
    let digit = |at: usize| rest.get(at).is_some_and(char::is_ascii_digit);
    let before = folded.chars().next_back();
    let continues = before.is_some_and(|last| last.is_alphanumeric() || matches!(last, '_' | '$' | '#' | ':' | '.'));
    !continues && (digit(0) || rest[0] == '.' && digit(1))
}

/// Whether a minus before `rest` is the sign of a number and takes nothing off what stands before it: what one
/// execution writes as `+ -7` another one writes as `+ 7`.
fn is_sign(folded: &str, rest: &[char]) -> bool {
    let before = folded.trim_end().chars().next_back();
    before.is_some_and(|last| "(,=<>+*/".contains(last)) && !rest.is_empty() && is_number("", rest)
}

/// Characters of a number with fraction and exponent.
fn number(rest: &[char]) -> usize {
    let mut at = 0;
    while let Some(letter) = rest.get(at) {
        let is_sign = matches!(letter, '+' | '-') && matches!(rest.get(at.wrapping_sub(1)), Some('e' | 'E'));
        let is_sign = is_sign && rest.get(at + 1).is_some_and(char::is_ascii_digit);
        if !letter.is_ascii_alphanumeric() && *letter != '.' && !is_sign {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Ticks};
    use crate::tables::{CallSums, CallerSums};
    use proptest::prelude::*;

    #[test]
    fn literals_become_places_and_names_stay() {
        let folded = [
            ("select * from t where id = 42", "select * from t where id = ?"),
            ("select  a1,\n t2.c3 from t2 where x='it''s 5' ", "select a1, t2.c3 from t2 where x=?"),
            ("where id in (1, 2,3 , 4)", "where id in (?)"),
            ("insert into t values ('a',1)", "insert into t values (?)"),
            ("where a = :1 and b = :b2 and c > 1.5e-3", "where a = :1 and b = :b2 and c > ?"),
            ("select /*+ index(t 2) */ \"9 lives\" from t -- 7", "select /*+ index(t 2) */ \"9 lives\" from t -- 7"),
            ("select 'never closed", "select ?"),
            ("select E'it\\'s', a, e'\\\\', 'b\\', c", "select E?, a, e?, c"),
            ("select q'[it's]', a, nq'!'!', b, name'c', d", "select q?, a, nq?, b, name?, d"),
            ("select q'never 'closed', a", "select q?"),
            ("select q'', 'a' from t", "select q? from t"),
            ("select /*/ 5 */ 6 /**/ -- 7", "select /*/ 5 */ ? /**/ -- 7"),
            ("insert into t values (3, -7, -.5)", "insert into t values (?)"),
            ("update t set a = a + -3, b = -4 where c-3 > a -1", "update t set a = a + ?, b = ? where c-? > a -?"),
        ];
        for (text, expected) in folded {
            assert_eq!(fold_text(text), expected);
        }
    }

    #[test]
    fn a_text_between_dollars_is_a_literal_and_dollars_in_names_quote_nothing() {
        let folded = [
            ("select $$it's 5$$, a", "select ?, a"),
            ("select $a1$ $$ it's $b$ 7 $a1$ from t", "select ? from t"),
            ("values ($$$$, $_$x$_$, 'y')", "values (?)"),
            (
                "select a$$b, c$1$ from v$session where d = $1 or d=$2",
                "select a$$b, c$1$ from v$session where d = $1 or d=$2",
            ),
            ("begin p($$PLSQL_UNIT, $$PLSQL_LINE, 7); end;", "begin p($$PLSQL_UNIT, $$PLSQL_LINE, ?); end;"),
            ("do $a$ never closed, 5 and $$", "do $a$ never closed, ? and $$"),
        ];
        for (text, expected) in folded {
            assert_eq!(fold_text(text), expected);
        }
        let hostile: String = (0..20_000).map(|number| format!("$a{number}$ ")).collect();
        assert_eq!(fold_text(&hostile), hostile.trim_end());
    }

    #[test]
    fn folded_statements_are_added_up_and_others_stay_alone() {
        let texts = ["select 1", "select 2", "delete from t", ""];
        let statement = |text: &str| Statement { text: text.into(), ..Statement::default() };
        let mut profile = Profile {
            context: Context { statements: texts.map(statement).to_vec(), ..Context::default() },
            ..Profile::default()
        };
        profile.statements = (0..4)
            .map(|place| StatementProfile {
                statement: StatementIndex(place),
                between: Ticks::from_micros(10),
                calls: [(0, CallSums { calls: 1, ..CallSums::default() })].into_iter().collect(),
                ..StatementProfile::default()
            })
            .collect();
        let edge =
            |called: u32| ((StatementIndex(2), StatementIndex(called)), CallerSums { calls: 3, ..Default::default() });
        profile.callers = [edge(0), edge(1)].into();
        assert_eq!(fold(&mut profile), 1);
        let edges: Vec<_> = profile.callers.iter().map(|(edge, sums)| (edge.1, sums.calls)).collect();
        assert_eq!(edges, [(StatementIndex(0), 6)], "calls of what is seen together are one row");
        assert_eq!(profile.statements[0].folded, 1);
        assert_eq!(profile.statements.len(), 3);
        assert_eq!(profile.statements[0].between, Ticks::from_micros(20));
        assert_eq!(profile.statements[0].calls.get(0).unwrap().calls, 2);
        assert_eq!(profile.context.statements[0].text, "select ?");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_fold_and_folding_twice_changes_nothing(text in "[ -~\n]{0,60}|\\PC{0,20}") {
            let once = fold_text(&text);
            prop_assert!(once.len() <= text.len() + 1);
            let has_no_comment = !text.contains("--") && !text.contains("/*") && !text.contains(['"', '\'', '?']);
            prop_assert!(!has_no_comment || fold_text(&once) == once, "{once}");
        }
    }
}
