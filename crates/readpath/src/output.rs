//! Standard output for results, standard error for complaints. A reader that went away is no failure.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use report::{Media, Shown, Style};

use crate::exit::Failure;
use crate::options::Context;
use crate::secrets::without_secrets;
use crate::settings::width_of_messages;

/// Columns by which the lines of a message after its first stand in.
const HANGING: usize = 2;

/// Since when a write to standard output waits for its reader.
static WAITING_SINCE: Mutex<Option<Instant>> = Mutex::new(None);

/// Standard output, whose writes can be seen to wait.
struct Output(StdoutLock<'static>);

impl Output {
    fn lock() -> Output {
        Output(io::stdout().lock())
    }

    fn watched<T>(&mut self, write: impl FnOnce(&mut StdoutLock<'static>) -> T) -> T {
        let set = |since| *WAITING_SINCE.lock().unwrap_or_else(PoisonError::into_inner) = since;
        set(Some(Instant::now()));
        let written = write(&mut self.0);
        set(None);
        written
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.watched(|output| output.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.watched(|output| output.flush())
    }
}

/// How long the reader of standard output has taken nothing that was written for it.
pub(crate) fn waited() -> Option<Duration> {
    WAITING_SINCE.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
}

/// Prints a result in the format that was asked for.
pub(crate) fn print_result(result: Shown<'_>, context: &Context) -> Result<(), Failure> {
    check_open()?;
    let (renderer, style) = (context.globals.format, &context.settings.style);
    if let (Some((heading, tell)), Media::Rows) = (&context.rows_under, renderer.media) {
        let mut rows = Vec::new();
        let written = (renderer.write)(result, style, &mut rows);
        return reached(written.and_then(|()| print_rows(&rows, heading, tell)));
    }
    let mut stdout = BufWriter::new(Output::lock());
    let written = (renderer.write)(result, style, &mut stdout);
    reached(written.and_then(|()| stdout.flush()))
}

/// Prints rows with the heading that is their first line, unless they continue those that stand under the same heading.
fn print_rows(rows: &[u8], heading: &str, tell: &dyn Fn(&str) -> io::Result<()>) -> io::Result<()> {
    let end = rows.iter().position(|byte| *byte == b'\n').map_or(rows.len(), |at| at + 1);
    let (own, below) = rows.split_at(end);
    let is_same = own == heading.as_bytes();
    let mut stdout = Output::lock();
    stdout.write_all(if is_same { below } else { rows }).and_then(|()| stdout.flush())?;
    // Where it cannot be told, the next run repeats its heading.
    let _ = tell(&String::from_utf8_lossy(own));
    Ok(())
}

/// Prints text as it is. `| head -1` closes the pipe early and has what it wanted.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    check_open()?;
    let mut stdout = Output::lock();
    reached(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Refuses to print where there is no standard output: it would go to the null device, as if that had been asked for.
pub(crate) fn check_open() -> Result<(), Failure> {
    match sys::process::stdout_was_closed() {
        true => Err(not_printed("it is closed")),
        false => Ok(()),
    }
}

fn reached(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(not_printed),
    }
}

/// Whether standard output and standard error are one file, as with `2>&1`.
pub(crate) fn is_one_file() -> bool {
    let [stdout, stderr] = [rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr())]
        .map(|data| data.ok().map(|data| (data.st_dev, data.st_ino)));
    stdout.is_some() && stdout == stderr
}

/// Says on standard error what went wrong.
pub(crate) fn complain(message: &str) {
    warn(&format!("readpath: {message}"));
}

/// Prints lines on standard error. A server, a file name or a document may have had a part in the words: no control
/// character of theirs reaches the terminal, and no password of the command line.
pub(crate) fn warn(text: &str) {
    let line: Vec<OsString> = env::args_os().collect();
    // There is nowhere to report that this could not be printed.
    let _ = writeln!(io::stderr(), "{}", laid_out(&printable(&without_secrets(text.trim_end(), &line))));
}

/// A message for standard error. Lines that a terminal would break within words are broken between them; elsewhere
/// they stay whole, for logs and scripts. A path stays whole on a terminal too, so that it can be copied.
fn laid_out(message: &str) -> String {
    width_of_messages().map_or_else(|| message.into(), |columns| wrapped(message, columns))
}

/// Lines of at most `columns`. What goes on in another line stands in there, as on a page; a line that fits keeps its
/// spaces.
fn wrapped(text: &str, columns: usize) -> String {
    let one = |line: &str| {
        let said = line.trim_start();
        let margin = line.len() - said.len();
        let style = Style { width: columns.saturating_sub(margin), ..Style::default() };
        let lines = style.wrap_whole_words(said, HANGING);
        let is_whole = !lines.contains('\n');
        if is_whole {
            line.into()
        } else {
            line[..margin].to_string() + &lines.replace('\n', &format!("\n{:margin$}", ""))
        }
    };
    text.lines().map(one).collect::<Vec<_>>().join("\n")
}

/// Says which servers have something of ours left, each with the command that removes it.
pub(crate) fn complain_of_leftovers() {
    for (what, server) in subjects::left_on_servers() {
        complain(&format!("{what} may still be on the server; remove it: readpath clean --on {server}"));
    }
}

/// A text without control characters, but for the ends of its lines.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() && letter != '\n' { '?' } else { letter }).collect()
}

/// A result that did not reach its reader.
pub(crate) fn not_printed(error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("the result could not be written to standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_broken_between_words_and_stands_in_like_a_sentence_of_a_page() {
        let said = "readpath: the run was interrupted by ^C; the 12 cases it had finished are kept as 0197c0de.";
        assert_eq!(
            wrapped(said, 40),
            "readpath: the run was interrupted by ^C;\n  the 12 cases it had finished are kept\n  as 0197c0de."
        );
        assert_eq!(wrapped(said, 200), said);
    }

    #[test]
    fn a_path_that_is_longer_than_the_terminal_is_wide_can_be_copied_from_a_message() {
        let path = "/srv/measurements/of-the-new-array/0197c0de-0000-7000-8000-000000000001.json";
        let said = format!("readpath: {path} could not be read: it is damaged.");
        assert_eq!(wrapped(&said, 60), format!("readpath:\n  {path}\n  could not be read: it is damaged."));
    }

    #[test]
    fn lines_that_fit_keep_their_spaces_and_those_that_do_not_keep_their_margin() {
        let said = "error: it is wrong\n\n  tip:   --rate is of disk\n\n    Usage: readpath disk [OPTIONS] <PATH>...";
        assert_eq!(wrapped(said, 50), said);
        let (short, usage) = said.rsplit_once('\n').unwrap();
        let expected = format!("{short}\n    Usage: readpath disk\n      [OPTIONS] <PATH>...");
        assert_eq!(wrapped(said, 30), expected, "{usage}");
    }
}
