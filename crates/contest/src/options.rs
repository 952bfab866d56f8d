//! The parts of the command line that several contests share.

use std::path::PathBuf;

use clap::Args;
use server::private::Installation;

use crate::installed;
use crate::program::{argv, beside_this_program, output_of};
use crate::progress::progress;

// What every contest takes. No comment for clap: it would replace the contest's own about.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How often all contenders run in turn; fewer than 5 make a trial, not a result.
    #[arg(long, visible_alias = "rounds", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pairs: u64,
    /// Where to keep the result, in a folder named by date and processor.
    #[arg(long)]
    pub(crate) results: Option<PathBuf>,
    /// The readpath binary; by default the one next to this program, which cargo builds first.
    #[arg(long)]
    readpath: Option<PathBuf>,
    /// Exit with 1 when a bar is missed or could not be judged.
    #[arg(long)]
    pub(crate) fail_on_miss: bool,
}

// What every contest with a private server takes.
#[derive(Args, Debug)]
pub(crate) struct ServerOptions {
    /// The directory that holds `postgres` and `initdb`; by default the newest installed ones.
    #[arg(long)]
    pub(crate) postgres: Option<PathBuf>,
    /// Where the private server and all other files are made and removed; by default the system's directory for
    /// temporary files.
    #[arg(long)]
    directory: Option<PathBuf>,
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
}

impl ServerOptions {
    /// Where files are made.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// A server that `start` makes, or why there is none: it is left out, or none is installed. One that was named
    /// must be there.
    pub(crate) fn start<T>(
        &self,
        is_left_out: bool,
        rows: u64,
        start: impl FnOnce(&Installation) -> Result<T, String>,
    ) -> Result<Result<T, String>, String> {
        if is_left_out {
            return Ok(Err("it was left out".into()));
        }
        match installed::find(self.postgres.as_deref()) {
            Err(reason) if self.postgres.is_some() => Err(reason),
            Err(reason) => Ok(Err(reason)),
            Ok(installation) => {
                progress(&format!("loading {rows} rows into a private {}", installed::name(&installation)));
                start(&installation).map(Ok)
            }
        }
    }
}
