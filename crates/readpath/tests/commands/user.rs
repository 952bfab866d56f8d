//! A user who calls readpath: a home directory and a folder for temporary files of their own, nothing else of this
//! machine's environment; and what they look at afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use measure::random::SplitMix64;
use serde_json::Value;
use tempfile::TempDir;

/// The programs of Debian's PostgreSQL 15.
pub(crate) const DEBIAN: &str = "/usr/lib/postgresql/15";

/// Counts the schemas that readpath may leave on a server.
pub(crate) const SCHEMAS: &str = "SELECT count(*) FROM pg_namespace WHERE nspname = 'readpath'";

/// The words of a command line.
pub(crate) trait Words {
    /// One by one.
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl Words for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const COUNT: usize> Words for [&str; COUNT] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}

/// A user.
pub(crate) struct User {
    /// On the build's disk, which knows direct reads. Commands are called there.
    pub(crate) home: TempDir,
    /// Other users can enter it: a private server may run as another one.
    pub(crate) temporary: TempDir,
    /// What each command line begins with.
    beginning: &'static str,
}

impl User {
    pub(crate) fn new() -> User {
        User::calling("")
    }

    /// A user each of whose command lines begins with these words.
    pub(crate) fn calling(beginning: &'static str) -> User {
        let temporary = TempDir::new().unwrap();
        fs::set_permissions(temporary.path(), fs::Permissions::from_mode(0o755)).unwrap();
        User { home: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), temporary, beginning }
    }

    /// The program, without a word.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_readpath"));
        command.env_clear().env("HOME", self.home.path()).current_dir(self.home.path());
        command.env("TMPDIR", self.temporary.path()).env("LANG", "C.UTF-8").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn command(&self, words: &(impl Words + ?Sized)) -> Command {
        let mut command = self.program();
        command.args(self.beginning.words()).args(words.words());
        command
    }

    pub(crate) fn run(&self, words: &(impl Words + ?Sized)) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints that must succeed.
    pub(crate) fn ok(&self, words: &(impl Words + ?Sized)) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{:?}: {}", words.words(), complaint(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The document of a command that must succeed.
    pub(crate) fn document(&self, words: &(impl Words + ?Sized)) -> Value {
        let words = [words.words(), vec!["--format", "json"]].concat();
        serde_json::from_str(&self.ok(&words)).unwrap()
    }

    /// What a command says that fails with this code before its first case.
    pub(crate) fn refused(&self, words: &(impl Words + ?Sized), code: i32) -> String {
        let output = self.run(words);
        let (complaint, words) = (complaint(&output), words.words());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {complaint}");
        assert!(output.stdout.is_empty() && !complaint.contains("panicked"), "{words:?}: {complaint}");
        complaint
    }

    /// Writes a file into the home, with the folders above it; its path.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().into()
    }

    /// Where its runs are kept.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.path().join(".local/share/readpath/runs")
    }
}

/// Random bytes, eight at a time: byte by byte, in code that nothing optimises, making them took seconds.
pub(crate) fn random_data(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let mut data = vec![0_u8; bytes];
    data.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
    data
}

/// Whether the tests run under `nohup`: readpath then outlives its terminal, as all programs do there.
pub(crate) fn hangups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1
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
