//! A user who calls readpath: a home directory and a folder for temporary files of their own, nothing else of this
//! machine's environment; and what they look at afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The programs of Debian's PostgreSQL 15.
pub(crate) const DEBIAN: &str = "/usr/lib/postgresql/15";

/// Counts the schemas that readpath may leave on a server.
pub(crate) const SCHEMAS: &str = "SELECT count(*) FROM pg_namespace WHERE nspname = 'readpath'";

/// A user.
pub(crate) struct User {
    /// On the build's disk, which knows direct reads.
    pub(crate) home: TempDir,
    /// Other users can enter it: a private server may run as another one.
    pub(crate) temporary: TempDir,
}

impl User {
    pub(crate) fn new() -> User {
        let temporary = TempDir::new().unwrap();
        fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
        User { home: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), temporary }
    }

    /// A command from words with blanks between them.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_readpath"));
        command.args(words.split_whitespace()).env_clear().env("HOME", self.home.path());
        command.env("TMPDIR", self.temporary.path()).env("LANG", "C.UTF-8").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// The run document of a command that must succeed.
    pub(crate) fn document(&self, words: &str) -> Value {
        let output = self.run(&format!("{words} --format json"));
        assert!(output.status.success(), "{words}: {}", complaint(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What a command says that fails with this code before its first case.
    pub(crate) fn refused(&self, words: &str, code: i32) -> String {
        let output = self.run(words);
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(code), "{words}: {complaint}");
        assert!(output.stdout.is_empty() && !complaint.contains("panicked"), "{words}: {complaint}");
        complaint
    }
}

/// What a command said on standard error.
pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether Debian's server is installed; a skip where it is not.
#[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
pub(crate) fn has_debian() -> bool {
    let is_there = Path::new(DEBIAN).join("bin/initdb").is_file();
    if !is_there {
        println!("skipped: Debian's PostgreSQL 15 is not installed");
    }
    is_there
}

/// The cases of a run document.
pub(crate) fn cases(document: &Value) -> impl Iterator<Item = &Value> {
    document["cases"].as_array().unwrap().iter()
}

/// Those measured on a server.
pub(crate) fn on_server(document: &Value) -> impl Iterator<Item = &Value> {
    cases(document).filter(|case| case["parameters"]["subject"].as_str().unwrap().starts_with("postgres"))
}

/// A metric that a case must have.
pub(crate) fn metric<'a>(case: &'a Value, name: &str) -> &'a Value {
    let metrics = case["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name}: {case}"))
}

/// The median of a metric that a case must have.
pub(crate) fn median(case: &Value, name: &str) -> f64 {
    metric(case, name)["median"].as_f64().unwrap()
}

/// The names of the findings.
pub(crate) fn ids(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}
