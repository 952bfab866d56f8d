//! Other profilers of PostgreSQL, each run as its own documentation says, at its usual rate.
//!
//! Their programs are looked for in the folder that `--peers` names, and then in `PATH`. One that is not there, or that
//! does not begin on this server and machine, is absent with its own words.

mod activity;
mod pgcenter;
mod program;
mod wait_sampling;
mod wait_tracer;

use std::env;
use std::path::{Path, PathBuf};

use server::private::Installation;

use activity::Activity;
use pgcenter::Pgcenter;
use wait_sampling::WaitSampling;
use wait_tracer::WaitTracer;

use super::profiler::Profiler;

pub(crate) use wait_sampling::NAME as WAIT_SAMPLING;
pub(crate) use wait_tracer::{EXACT as WAIT_TRACER_EXACT, SAMPLED as WAIT_TRACER};

/// All peers on a server of this installation; `folder` has some of their programs.
pub(crate) fn all(installation: &Installation, folder: Option<&Path>) -> Vec<Box<dyn Profiler>> {
    let found = |name: &str| found(name, folder);
    vec![
        Box::new(WaitSampling::of(installation)),
        Box::new(WaitTracer::sampled(found("pg_wait_tracer"))),
        Box::new(WaitTracer::exact(found("pg_wait_tracer"))),
        Box::new(Activity { program: found("pg_activity") }),
        Box::new(Pgcenter { program: found("pgcenter") }),
    ]
}

/// A peer's program, or what to do where there is none.
fn found(name: &str, folder: Option<&Path>) -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = folder.map(Path::to_path_buf).into_iter().chain(env::split_paths(&path));
    let mut programs = places.map(|place| place.join(name));
    programs
        .find(|program| program.is_file())
        .ok_or_else(|| format!("there is no program {name} in PATH; --peers names the folder that it is in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_the_named_folder_goes_before_an_installed_one_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sh"), "").unwrap();
        assert_eq!(found("sh", Some(folder.path())), Ok(folder.path().join("sh")));
        assert_ne!(found("sh", None), Ok(folder.path().join("sh")));
        assert!(found("no-such-profiler", Some(folder.path())).unwrap_err().contains("--peers"));
    }
}
