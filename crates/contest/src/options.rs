//! The parts of the command line that several contests share.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;
use server::private::{Installation, Version};

use crate::installed::{self, Programs};
use crate::program::{argv, beside_this_program, output_of};
use crate::progress::progress;

/// Why a server is absent that was left out.
const LEFT_OUT: &str = "it was left out";

/// A contender's name, and the contender or why it is absent.
pub(crate) type Contender<T> = (String, Result<T, String>);

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
    /// The server's programs: the directory that holds `postgres` and `initdb`, or a version such as postgres:18, which
    /// is fetched; by default the newest installed ones. Given several times, `join` compares with each.
    #[arg(long, value_name = "PROGRAMS")]
    postgres: Vec<Programs>,
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

    /// Builds the binary where none was named and cargo started this program: a stale one must not be compared. Says
    /// which build it is, which can be another than that of this program.
    pub(crate) fn build_readpath(&self) -> Result<String, String> {
        if let Some(cargo) = std::env::var("CARGO").ok().filter(|_| self.readpath.is_none()) {
            progress("building readpath");
            let manifest = concat!("--manifest-path=", env!("CARGO_MANIFEST_DIR"), "/../readpath/Cargo.toml");
            let profile = if cfg!(debug_assertions) { "--profile=dev" } else { "--release" };
            output_of(&argv([cargo.as_str(), "build", "--quiet", manifest, profile]))?;
        }
        output_of(&argv([self.readpath().as_str(), "--version"])).map(|version| version.trim().to_string())
    }
}

impl ServerOptions {
    /// Where files are made.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// The programs of a contest's only server.
    pub(crate) fn installation(&self, stop: &AtomicBool) -> Result<Installation, String> {
        match self.postgres.as_slice() {
            [] => installed::newest_installed(),
            [programs] => programs.find(stop),
            _ => Err("this contest compares with one server: give --postgres once".into()),
        }
    }

    /// The only server, which `start` makes, or why there is none: it is left out, or none is installed. One that was
    /// named must be there.
    pub(crate) fn start<T>(
        &self,
        is_left_out: bool,
        rows: u64,
        stop: &AtomicBool,
        start: impl FnOnce(&Installation) -> Result<T, String>,
    ) -> Result<Result<T, String>, String> {
        if is_left_out {
            return Ok(Err(LEFT_OUT.into()));
        }
        match self.installation(stop) {
            Err(reason) if !self.postgres.is_empty() => Err(reason),
            Err(reason) => Ok(Err(reason)),
            Ok(installation) => {
                announce(rows, &installation);
                start(&installation).map(Ok)
            }
        }
    }

    /// All servers of a contest that takes several, which `start` makes: those that were named, each of which must be
    /// there, or by default the newest installed one, and the newest that can be fetched where that is newer.
    pub(crate) fn start_each<T>(
        &self,
        is_left_out: bool,
        rows: u64,
        stop: &AtomicBool,
        mut start: impl FnMut(&Installation) -> Result<T, String>,
    ) -> Result<Vec<Contender<T>>, String> {
        let found = match self.postgres.as_slice() {
            _ if is_left_out => vec![("PostgreSQL".into(), Err(LEFT_OUT.into()))],
            [] => installed::newest_of_both(stop),
            named => named
                .iter()
                .map(|programs| Ok((programs.name(), Ok(programs.find(stop)?))))
                .collect::<Result<Vec<Contender<Installation>>, String>>()?,
        };
        told_apart(found.iter().filter_map(|(_, found)| found.as_ref().ok()))?;
        let started = |(name, found): Contender<Installation>| match found {
            Err(reason) => Ok((name, Err(reason))),
            Ok(installation) => {
                announce(rows, &installation);
                Ok((installed::name(&installation), Ok(start(&installation)?)))
            }
        };
        found.into_iter().map(started).collect()
    }
}

fn announce(rows: u64, installation: &Installation) {
    progress(&format!("loading {rows} rows into a private {}", installed::name(installation)));
}

/// Errors where two servers are of one version: their figures would be one series.
fn told_apart<'a>(installations: impl Iterator<Item = &'a Installation>) -> Result<(), String> {
    let mut majors = Vec::new();
    for Version { major, .. } in installations.map(Installation::version) {
        if majors.contains(major) {
            return Err(format!("two servers of version {major} cannot be told apart: name one of each version"));
        }
        majors.push(*major);
    }
    Ok(())
}
