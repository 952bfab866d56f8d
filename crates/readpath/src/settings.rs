//! The environment, read here and nowhere else: default directories, locale, colour, width of the terminal.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use report::Style;
use server::{Defaults, home_of_account};

/// Width of a page where no terminal says otherwise, and the least of what a terminal may say: under it a table is
/// unreadable.
const WIDTH_DEFAULT: usize = 80;
const WIDTH_MIN: usize = 40;

/// What the environment asks for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Default directory of the store; absent where neither XDG_DATA_HOME nor HOME says one.
    pub(crate) store_dir: Option<PathBuf>,
    /// Default directory of files that may be made again; absent where neither XDG_CACHE_HOME nor HOME says one.
    pub(crate) cache_dir: Option<PathBuf>,
    /// What standard output can show.
    pub(crate) style: Style,
    /// Whether a progress line on standard error would be seen.
    pub(crate) stderr_is_terminal: bool,
    /// Whether a page may take the place of the one before.
    pub(crate) stdout_is_terminal: bool,
    /// What PostgreSQL's own programs take from the environment for a server. A password on a command line could be
    /// read by every user of the machine.
    pub(crate) servers: Defaults,
    /// The proxy by way of which programs of PostgreSQL are fetched.
    pub(crate) proxy: Option<String>,
}

/// How large the terminal of standard output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    /// Lines.
    pub(crate) rows: usize,
    /// Characters of a line.
    pub(crate) columns: usize,
}

impl TerminalSize {
    /// Its size now, which changes with its window; that of the oldest terminals where it does not say.
    pub(crate) fn now() -> TerminalSize {
        let said = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let size = said.map(|size| TerminalSize { rows: size.ws_row.into(), columns: size.ws_col.into() });
        size.filter(|size| size.rows > 0 && size.columns > 0).unwrap_or(TerminalSize { rows: 24, columns: 80 })
    }
}

/// What is known of the terminal.
#[derive(Clone, Copy, Debug, Default)]
struct Terminal {
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    columns: Option<usize>,
}

impl Settings {
    /// The settings of this process.
    pub(crate) fn from_environment() -> Settings {
        let stdout = io::stdout();
        let terminal = Terminal {
            stdout_is_terminal: stdout.is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            columns: rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col)),
        };
        Settings::of(|name| env::var_os(name), terminal)
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>, terminal: Terminal) -> Settings {
        let text = |name: &str| variable(name)?.into_string().ok().filter(|text| !text.is_empty());
        // The specification of the XDG base directories has relative paths ignored.
        let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = directory("HOME");
        let data = directory("XDG_DATA_HOME").or_else(|| Some(home.as_ref()?.join(".local/share")));
        let cache = directory("XDG_CACHE_HOME").or_else(|| Some(home.as_ref()?.join(".cache")));
        let is_dumb = text("TERM").is_some_and(|name| name == "dumb");
        let style = Style {
            width: width(text("COLUMNS"), terminal),
            color: terminal.stdout_is_terminal && text("NO_COLOR").is_none() && !is_dumb,
            unicode: is_utf8(["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text)),
        };
        Settings {
            store_dir: data.map(|path| path.join("readpath/runs")),
            cache_dir: cache.map(|path| path.join("readpath")),
            style,
            stderr_is_terminal: terminal.stderr_is_terminal && !is_dumb,
            stdout_is_terminal: terminal.stdout_is_terminal && !is_dumb,
            servers: Defaults::new(text, home.or_else(home_of_account)),
            proxy: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].into_iter().find_map(text),
        }
    }
}

/// Columns of a message on standard error; `None` where it goes to no terminal, or to one that does not say.
pub(crate) fn width_of_messages() -> Option<usize> {
    let stderr = io::stderr();
    let size = rustix::termios::tcgetwinsize(&stderr).ok().filter(|size| size.ws_col > 0)?;
    stderr.is_terminal().then(|| usize::from(size.ws_col).min(Style::WIDTH_MAX))
}

fn width(columns: Option<String>, terminal: Terminal) -> usize {
    // A shell without a terminal may say 0, which asks for nothing.
    let asked = columns.and_then(|text| text.parse::<usize>().ok()).filter(|columns| *columns > 0);
    let known = asked.or(terminal.columns.filter(|columns| terminal.stdout_is_terminal && *columns > 0));
    known.map_or(WIDTH_DEFAULT, |columns: usize| columns.clamp(WIDTH_MIN, Style::WIDTH_MAX))
}

/// Whether the locale's name ends in an encoding that is UTF-8; the locale of nothing set is C, which is ASCII.
fn is_utf8(locale: Option<String>) -> bool {
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Terminal = Terminal { stdout_is_terminal: true, stderr_is_terminal: true, columns: Some(200) };

    fn settings(variables: &[(&str, &str)], terminal: Terminal) -> Settings {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        Settings::of(find, terminal)
    }

    #[test]
    fn directories_come_from_xdg_then_home_then_nowhere() {
        let home = settings(&[("HOME", "/home/ada")], TERMINAL);
        assert_eq!(home.store_dir, Some("/home/ada/.local/share/readpath/runs".into()));
        assert_eq!(home.cache_dir, Some("/home/ada/.cache/readpath".into()));
        let xdg =
            settings(&[("HOME", "/home/ada"), ("XDG_DATA_HOME", "/data"), ("XDG_CACHE_HOME", "relative")], TERMINAL);
        assert_eq!(xdg.store_dir, Some("/data/readpath/runs".into()));
        assert_eq!(xdg.cache_dir, Some("/home/ada/.cache/readpath".into()));
        assert_eq!(settings(&[], TERMINAL).store_dir, None);
    }

    #[test]
    fn without_home_the_files_for_servers_are_looked_for_where_the_system_has_the_users_home() {
        let home = |variables: &[(&str, &str)]| format!("{:?}", settings(variables, TERMINAL).servers);
        let known = format!("home: {:?}", home_of_account());
        assert!(home(&[]).contains(&known) && home(&[("HOME", "")]).contains(&known), "{known}");
        assert!(home(&[("HOME", "/home/ada")]).contains("home: Some(\"/home/ada\")"));
    }

    #[test]
    fn colour_needs_a_terminal_and_no_word_against_it() {
        assert!(settings(&[], TERMINAL).style.color);
        assert!(settings(&[("NO_COLOR", "")], TERMINAL).style.color, "an empty NO_COLOR asks for nothing");
        assert!(!settings(&[("NO_COLOR", "1")], TERMINAL).style.color);
        assert!(!settings(&[("TERM", "dumb")], TERMINAL).style.color);
        assert!(!settings(&[], Terminal::default()).style.color);
    }

    #[test]
    fn width_is_asked_for_or_the_terminals_or_80() {
        assert_eq!(settings(&[], Terminal::default()).style.width, 80);
        assert_eq!(settings(&[], TERMINAL).style.width, Style::WIDTH_MAX);
        assert_eq!(settings(&[("COLUMNS", "90")], TERMINAL).style.width, 90);
        for unknown in ["many", "0"] {
            assert_eq!(settings(&[("COLUMNS", unknown)], Terminal::default()).style.width, 80);
            assert_eq!(settings(&[("COLUMNS", unknown)], TERMINAL).style.width, Style::WIDTH_MAX);
        }
    }

    #[test]
    fn the_first_locale_variable_that_is_set_decides() {
        assert!(settings(&[("LANG", "de_DE.UTF-8")], TERMINAL).style.unicode);
        assert!(!settings(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], TERMINAL).style.unicode);
        assert!(!settings(&[], TERMINAL).style.unicode);
    }
}
