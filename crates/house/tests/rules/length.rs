//! The rule about long functions, and its ratchet.

use crate::tree::SourceFile;

/// Lines that a function may have, from `fn` to its closing brace.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;

/// Functions that are longer for now: path, name, lines. An entry may only shrink: when the function gets shorter,
/// the number here must follow, and at 70 lines the entry must go.
pub(crate) const LONGER_FOR_NOW: &[(&str, &str, usize)] = &[];

/// One function of a Rust file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// The line of its `fn`, from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace, both counted.
    pub(crate) lines: usize,
}

/// The functions of a file that rustfmt has formatted: each ends at the first line that is a closing brace with the
/// indentation of its `fn`.
pub(crate) fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(index, line)| Some((index, function_name(line)?)));
    starts
        .filter_map(|(index, name)| {
            let lines = length(&lines[index..])?;
            Some(Function { name, line: index + 1, lines })
        })
        .collect()
}

/// Complaints about the functions of one file, given the exceptions.
pub(crate) fn long_functions(file: &SourceFile, exceptions: &[(&str, &str, usize)]) -> Vec<String> {
    if !file.is(".rs") {
        return Vec::new();
    }
    functions(&file.text).iter().filter_map(|function| complaint(file, function, exceptions)).collect()
}

fn complaint(file: &SourceFile, function: &Function, exceptions: &[(&str, &str, usize)]) -> Option<String> {
    let allowed = exceptions.iter().find(|(path, name, _)| *path == file.path && *name == function.name);
    let place = format!("{}:{}: `{}` has {} lines", file.path, function.line, function.name, function.lines);
    match allowed {
        None if function.lines > FUNCTION_LINES_MAX => Some(format!("{place}, more than {FUNCTION_LINES_MAX}")),
        Some((_, _, lines)) if function.lines > *lines => Some(format!("{place}, more than its {lines}")),
        Some((_, _, lines)) if function.lines < *lines => Some(format!("{place}: turn its ratchet down from {lines}")),
        _ => None,
    }
}

/// The name after `fn`, where the words before it are only qualifiers.
fn function_name(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern", "\"C\""];
    // `pub(in crate::a)` has a space in it.
    let before = match before.trim_start().strip_prefix("pub(in ").and_then(|rest| rest.split_once(')')) {
        Some((_, qualifiers)) => qualifiers,
        None => before,
    };
    let is_declaration = before.split_whitespace().all(|word| qualifiers.contains(&word));
    let name: String = after.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    (is_declaration && !name.is_empty()).then_some(name)
}

/// Lines of the function that begins with the first of these; `None` for a declaration without a body.
fn length(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?;
    if first.ends_with('}') {
        return Some(1);
    }
    if first.ends_with(';') {
        return None;
    }
    let indentation = &first[..first.len() - first.trim_start().len()];
    for (index, line) in lines.iter().enumerate().skip(1) {
        let same_level = line.strip_prefix(indentation).filter(|rest| !rest.starts_with(' '));
        match same_level {
            Some("}") => return Some(index + 1),
            Some(rest) if rest.starts_with(')') && rest.ends_with(';') => return None,
            _ => {}
        }
    }
    None
}
