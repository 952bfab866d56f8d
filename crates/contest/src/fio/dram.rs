//! Memory latency: the ladder's rungs against a pointer chase written in C.

use std::fs;
use std::path::{Path, PathBuf};

use measure::schema::ladder::{self, parameters};
use measure::{Run, Statistics};

use crate::bars::{Bar, Judged, Wanted};
use crate::kept_run::{run_of, statistics};
use crate::program::{argv, output_of, scratch_folder};

/// A rung's latency, in the pointer chase's.
const LATENCY_BAR: Judged = Judged::ratio(Wanted::Between(0.85, 1.15), "off");

/// Bytes that the chase walks when the ladder does not say how many it walked. Far beyond any cache, and small enough
/// for a machine with little memory.
const CHASE_BYTES: u64 = 2 << 30;

/// Rounds of chase, ladder and chase: one alone is at the mercy of the neighbours' memory traffic.
const ROUNDS: usize = 3;

/// The two rungs, and the chase's argument for the same pages.
const RUNGS: [(&str, &[&str]); 2] = [("dram", &[]), ("dram-huge", &["huge"])];

/// One bar a rung. The chase runs before and after the ladder, so that a drift in between shows as neither's fault.
pub(crate) fn bars(readpath: &str) -> Vec<Bar> {
    let rounds: Result<Vec<_>, String> = (0..ROUNDS).map(|_| compare(readpath)).collect();
    let of_rung = |index: usize| {
        let ratios: Vec<f64> = rounds.clone()?.iter().map(|round| round[index].clone()).collect::<Result<_, _>>()?;
        Statistics::of_samples(&ratios).ok_or_else(|| "a round gave no number".to_string())
    };
    let bar = |(index, (rung, _)): (usize, &(&str, _))| {
        Bar::new(format!("ladder's {rung} in the pointer chase's"), LATENCY_BAR, of_rung(index))
            .from("one ratio a round")
    };
    RUNGS.iter().enumerate().map(bar).collect()
}

fn compare(readpath: &str) -> Result<Vec<Result<f64, String>>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for the pointer chase: {error}"))?;
    let chase = compile(folder.path())?;
    let before: Vec<_> = RUNGS.iter().map(|(_, pages)| chase_ns(&chase, CHASE_BYTES, pages)).collect();
    let scratch = scratch_folder()?.display().to_string();
    let run = run_of(&argv([readpath, "ladder", "--dir", &scratch, "--format=json", "--no-store", "--quiet"]))?;
    let ratio = |((rung, pages), before): (&(&str, &[&str]), Result<f64, String>)| {
        let (ours, bytes) = rung_ns(&run, rung)?;
        // Where the ladder walked another size, the chase before it was of the wrong one: only the second counts.
        let after = chase_ns(&chase, bytes, pages)?;
        let peer = if bytes == CHASE_BYTES { (before? + after) / 2.0 } else { after };
        Ok(ours / peer)
    };
    Ok(RUNGS.iter().zip(before).map(ratio).collect())
}

fn compile(folder: &Path) -> Result<PathBuf, String> {
    let source = folder.join("pointer_chase.c");
    fs::write(&source, include_str!("pointer_chase.c")).map_err(|error| format!("{}: {error}", source.display()))?;
    let program = folder.join("pointer_chase");
    let (source, target) = (source.display().to_string(), program.display().to_string());
    output_of(&argv(["cc", "-std=c11", "-O2", "-o", &target, &source]))?;
    Ok(program)
}

/// One rung's latency in ns, and the bytes that it walked.
fn rung_ns(run: &Run, rung: &str) -> Result<(f64, u64), String> {
    let case = run.cases_where(parameters::RUNG.name, rung).next();
    let case = case.ok_or_else(|| format!("the ladder has no rung {rung} here"))?;
    let bytes = parameters::FOOTPRINT.in_case(case).and_then(|bytes| bytes.parse().ok()).unwrap_or(CHASE_BYTES);
    Ok((statistics(&case.metrics, &ladder::LATENCY)?.median, bytes))
}

fn chase_ns(program: &Path, bytes: u64, pages: &[&str]) -> Result<f64, String> {
    let mut command = argv([program.display().to_string(), bytes.to_string()]);
    command.extend(argv(pages));
    first_number(&output_of(&command)?)
}

/// The chase prints the time of one load as its first number.
fn first_number(output: &str) -> Result<f64, String> {
    let number = output.split_whitespace().find_map(|word| word.parse().ok());
    number.ok_or_else(|| "the pointer chase printed no number".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept_run::parse;

    #[test]
    fn a_rung_is_found_by_its_name() {
        let run = r#"{"schema": "readpath.run/1", "id": "", "command": [], "started": "", "host": {},
            "experiment": "ladder", "subject": {}, "findings": [], "cases": [{"metrics": [],
            "parameters": {"rung": "dram", "footprint": 4096}}]}"#;
        let mut run = parse(run).unwrap();
        run.cases[0].metrics.push(ladder::LATENCY.single("chase", 447.0));
        assert_eq!(rung_ns(&run, "dram"), Ok((447.0, 4096)));
        assert!(rung_ns(&run, "dram-huge").unwrap_err().contains("dram-huge"));
    }

    #[test]
    fn the_chase_speaks_in_numbers() {
        assert_eq!(first_number("292.4\n2097152 lines\n"), Ok(292.4));
        assert!(first_number("no memory").is_err());
    }
}
