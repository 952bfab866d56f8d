//! Tells the program what it is built from, so that a result can be kept with the build that made it.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../");
    let profile = env::var("PROFILE").unwrap_or_default();
    // Without a clone, as from an archive, the commit is not known: it stays empty.
    let commit = commit().unwrap_or_default();
    println!("cargo::rustc-env=READPATH_PROFILE={profile}");
    println!("cargo::rustc-env=READPATH_COMMIT={commit}");
}

/// The commit of this clone, with `-dirty` where files differ from it.
fn commit() -> Option<String> {
    let crates = Path::new("..").canonicalize().ok()?;
    // An archive that was unpacked inside another clone must not be given that one's commit.
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?) != crates.parent()? {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}

/// What git prints, or nothing where there is no git or it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}
