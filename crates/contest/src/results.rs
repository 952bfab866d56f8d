//! Kept results: the run document and the page, in a folder named by date and processor.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use measure::Run;
use measure::atomic_file::{self, Existing};

/// Most results of one contest, day and machine, which a number distinguishes.
const RESULTS_MAX: u32 = 1000;

/// Writes the run document and the page to `DIR/<date>-<cpu>/<name>`, each whole or not at all, and returns the path of
/// the former. A result that is there stays: the next one of the day has a number behind its name.
pub(crate) fn keep(folder: &Path, name: &str, run: &Run, page: &str) -> Result<PathBuf, String> {
    let folder = folder.join(folder_name(run));
    let sentence = |error: std::io::Error| format!("the result could not be kept in {}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(sentence)?;
    let document = serde_json::to_string_pretty(run).map_err(|error| error.to_string())? + "\n";
    for number in 1..=RESULTS_MAX {
        let stem = if number == 1 { name.to_string() } else { format!("{name}-{number}") };
        let path = folder.join(format!("{stem}.json"));
        // The writer refuses a place that is taken too, but only after it has written the document.
        if fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        match atomic_file::write(&path, document.as_bytes(), Existing::Refuse) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(sentence(error)),
            Ok(()) => {
                let page_path = folder.join(format!("{stem}.txt"));
                atomic_file::replace(&page_path, page.as_bytes()).map_err(sentence)?;
                return Ok(path);
            }
        }
    }
    Err(format!("{} holds {RESULTS_MAX} results of {name}", folder.display()))
}

fn folder_name(run: &Run) -> String {
    let date = run.started.get(..10).unwrap_or("undated");
    let lower = run.host.cpu.as_deref().unwrap_or("unknown processor").to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    format!("{date}-{}", words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;
    use measure::run::{Host, SCHEMA};
    use measure::store::read_run;

    fn run() -> Run {
        Run {
            schema: SCHEMA.into(),
            id: "0197c0de-0000-7000-8000-000000000000".into(),
            command: Vec::new(),
            started: "2026-11-20T10:00:00Z".into(),
            finished: None,
            build: None,
            job: None,
            host: Host { cpu: Some("AMD EPYC(tm) 9R14".into()), ..Host::default() },
            own_cost: Vec::new(),
            experiment: "contest-fio".into(),
            subject: serde_json::Map::new(),
            cases: Vec::new(),
            findings: Vec::new(),
        }
    }

    #[test]
    fn a_folder_is_named_by_date_and_processor() {
        assert_eq!(folder_name(&run()), "2026-11-20-amd-epyc-tm-9r14");
        assert_eq!(folder_name(&Run { host: Host::default(), ..run() }), "2026-11-20-unknown-processor");
    }

    #[test]
    fn a_result_of_the_same_day_does_not_overwrite_the_first_and_both_are_run_documents() {
        let folder = tempfile::tempdir().unwrap();
        let first = keep(folder.path(), "fio", &run(), "first\n").unwrap();
        let second = keep(folder.path(), "fio", &run(), "second\n").unwrap();
        assert_ne!(first, second);
        assert_eq!(fs::read_to_string(first.with_extension("txt")).unwrap(), "first\n");
        for path in [first, second] {
            assert_eq!(read_run(&path).unwrap(), run());
        }
    }

    #[test]
    #[ignore = "not a test: the child that `a_result_that_cannot_be_written_whole_takes_no_name` starts"]
    fn child_that_keeps_a_result_where_no_file_may_have_a_byte() {
        let folder = tempfile::tempdir().unwrap();
        let refused = keep(folder.path(), "fio", &run(), "page\n").unwrap_err();
        assert!(refused.starts_with("the result could not be kept in "), "{refused}");
        assert_eq!(fs::read_dir(folder.path().join(folder_name(&run()))).unwrap().count(), 0);
    }

    #[test]
    fn a_result_that_cannot_be_written_whole_takes_no_name() {
        // Beyond the limit a signal would end the child; where that is ignored, the write fails as on a full disk.
        let mut child = Command::new("sh");
        child.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]).arg(env::current_exe().unwrap());
        let name = "results::tests::child_that_keeps_a_result_where_no_file_may_have_a_byte";
        let output = child.args(["--exact", name, "--ignored"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
