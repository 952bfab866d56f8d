//! Why a file is not read, as a sentence that names it.

use std::io;
use std::path::PathBuf;

use measure::quantity::grouped;

use crate::input::given::Given;

/// Why something is not read.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A file that cannot be read, or not to its end.
    #[error("{name} could not be read: {error}")]
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// A folder that cannot be listed.
    #[error("the folder {name} could not be listed: {error}")]
    Unlisted {
        /// The folder.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// A file that was named before, by this or another name.
    #[error("{}", repeated(name, first))]
    Repeated {
        /// The file.
        name: String,
        /// How it was named before.
        first: String,
    },
    /// A folder's files that are named like server logs, and none is one.
    #[error("{}", no_logs(*count, first))]
    NoLogs {
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
    /// A pattern that no file has.
    #[error("no file matches {pattern}")]
    NoMatch {
        /// The pattern.
        pattern: String,
    },
    /// A folder without a trace.
    #[error(
        "the folder {name} holds no file named like a trace (*.trc) or a server log (*.log, *.csv, *.json), plain or \
         compressed with gzip, zstd, xz, bzip2 or zip, and no segment of a recording (a recorder writes its first one \
         within 80 s)"
    )]
    NoTraces {
        /// The folder.
        name: String,
    },
    /// Archives in folders, which are read only if they are named.
    #[error("{}", passed_over(paths))]
    ArchivesPassedOver {
        /// Their paths; one at least.
        paths: Vec<PathBuf>,
    },
    /// No file is left by its name and its time.
    #[error("no file fits what --name, --since and --until ask for; files looked at: {}", grouped(*count))]
    NoneChosen {
        /// How many there are.
        count: u64,
    },
    /// A recording that has nothing of the time that was asked for.
    #[error("{sentence}")]
    NotRecorded {
        /// Of what time it has something.
        sentence: String,
        /// Whether the time that was asked for ends before it begins.
        is_backwards: bool,
    },
    /// An input of another source than the others.
    #[error("{name} is left out because the inputs are read as {plural}: profile it separately")]
    OtherSource {
        /// The input.
        name: String,
        /// As what the inputs are read: `server logs`.
        plural: &'static str,
    },
    /// An input of another source than the others, of which that one has nothing to show.
    #[error("{name} is {noun} in which nothing can be profiled, and is passed over: {lacks}")]
    NothingToProfile {
        /// The input.
        name: String,
        /// What it is, with an article.
        noun: &'static str,
        /// What it lacks.
        lacks: &'static str,
    },
    /// A recording of another server than the others.
    #[error(
        "{name} was recorded on {server}, and others on {first}: profile its folder separately, and where both are in \
         one folder the time of each (--from, --to)"
    )]
    OtherServer {
        /// Its first segment.
        name: String,
        /// The server that it names.
        server: String,
        /// The server of those before it.
        first: String,
    },
    /// A recording of a time that another one has.
    #[error(
        "{name} was recorded while other segments were, and that time counts once{}",
        if *is_same_server { "" } else { ": if it is another server's, profile its folder separately" }
    )]
    SameTime {
        /// The first of its segments that is left out.
        name: String,
        /// Whether it and all that was read before it name the identifier of their server.
        is_same_server: bool,
    },
    /// A segment of a recording that was read from another folder, with the same bytes.
    #[error("{name} is a copy of {first}, which counts once: copies in its folder are left out")]
    Copied {
        /// The first of its folder that is left out.
        name: String,
        /// The segment that was read.
        first: String,
    },
    /// A file that is no SQL trace, and no server log either.
    #[error("{name} is neither an SQL trace nor a server log: {what}")]
    NotATrace {
        /// The file.
        name: String,
        /// What it is instead.
        what: &'static str,
    },
}

impl Problem {
    /// A file that cannot be read.
    pub fn unreadable(given: &Given, error: io::Error) -> Problem {
        Problem::Unreadable { name: given.name(), error }
    }
}

/// What is said of a file that was named before.
fn repeated(name: &str, first: &str) -> String {
    match name == first {
        true => format!("{name} is named more than once: it is read once"),
        false => format!("{name} is {first}, which was named before: it is read once"),
    }
}

/// Of `count` files that are named like server logs none is one.
fn no_logs(count: usize, first: &str) -> String {
    match count {
        1 => format!("{first} has the name of a server log but is not one"),
        _ => {
            let count = grouped(count as u64);
            format!("{count} files have the names of server logs but none is one: {first} is the first of them")
        }
    }
}

/// These archives stand in folders, and none of them is named.
fn passed_over(paths: &[PathBuf]) -> String {
    let first = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
    match paths.len() {
        1 => format!("1 archive in a folder was passed over: give its path as a FILE to have it read ({first})"),
        count => format!(
            "{} archives in folders were passed over: give the path of each as a FILE to have it read ({first} is the \
             first of them)",
            grouped(count as u64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_files_are_counted_in_groups_of_digits() {
        let said = [
            Problem::NoneChosen { count: 18_000 },
            Problem::NoLogs { count: 18_000, first: "a.log".into() },
            Problem::ArchivesPassedOver { paths: vec!["a.tar".into(); 18_000] },
        ];
        assert!(said.iter().all(|one| one.to_string().contains("18\u{202f}000")), "{said:?}");
    }
}
