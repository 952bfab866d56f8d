//! The part of the command line that every benchmark has, and how a benchmark ends.

use std::path::PathBuf;

use clap::Args;

use crate::bars::{Bar, Verdict, overall};
use crate::document::{Document, keep};
use crate::program::{argv, beside_this_program, output_of};
use crate::report::{Report, progress};

/// Fewest pairs that make a result.
const PAIRS_OF_A_RESULT: u64 = 5;

// What every benchmark can be told. No comment for clap: it would take the place of the benchmark's own about.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How often all contenders run in turn; fewer than 5 make a trial, not a result.
    #[arg(long, visible_alias = "rounds", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pairs: u64,
    /// Where to keep the report, in a folder named by date and processor.
    #[arg(long)]
    pub(crate) results: Option<PathBuf>,
    /// The readpath binary; when not given, the one beside this program, which cargo builds first.
    #[arg(long)]
    readpath: Option<PathBuf>,
    /// Exit with 1 when a bar is missed or could not be judged.
    #[arg(long)]
    pub(crate) fail_on_miss: bool,
}

impl Options {
    /// The readpath binary.
    pub(crate) fn readpath(&self) -> String {
        self.readpath.clone().unwrap_or_else(|| beside_this_program("readpath")).display().to_string()
    }

    /// Builds the binary where none was named and cargo started this program: a stale one must not be compared.
    pub(crate) fn build_readpath(&self) -> Result<(), String> {
        let cargo = std::env::var("CARGO").ok().filter(|_| self.readpath.is_none());
        let Some(cargo) = cargo else { return Ok(()) };
        progress("building readpath");
        let manifest = concat!("--manifest-path=", env!("CARGO_MANIFEST_DIR"), "/../readpath/Cargo.toml");
        let profile = if cfg!(debug_assertions) { "--profile=dev" } else { "--release" };
        output_of(&argv([cargo.as_str(), "build", "--quiet", manifest, profile])).map(drop)
    }

    /// A line for the heading where the pairs are too few; empty otherwise.
    pub(crate) fn trial_notice(&self) -> String {
        match self.pairs {
            PAIRS_OF_A_RESULT.. => String::new(),
            _ => format!("Fewer than {PAIRS_OF_A_RESULT} pairs: a trial, not a result.\n"),
        }
    }

    /// Writes the verdict, keeps the report as `name` where that was asked for, and gives the exit code: 1 when a bar
    /// was missed or could not be judged and `--fail-on-miss` was given.
    pub(crate) fn conclude(
        &self,
        report: &mut Report<'_>,
        name: &str,
        bars: &[Bar],
        document: Document,
    ) -> Result<u8, String> {
        report.write(&format!("{}\n", overall(bars)))?;
        if let Some(folder) = &self.results {
            let kept = keep(folder, name, &document.judged(bars), report.text())?;
            report.write(&format!("kept in {}\n", kept.display()))?;
        }
        let all_met = bars.iter().all(|bar| bar.verdict() == Verdict::Met);
        Ok(u8::from(self.fail_on_miss && !all_met))
    }
}
