//! readpath as the profiler of a server, beside a load.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use measure::schema::Spec;
use measure::schema::profile::parameters::TABLE;
use measure::schema::sampled::findings::LEVEL;
use measure::schema::sampled::{LOOKS, SAMPLED};
use measure::{Case, Finding, Run};

use super::bars::{READPATH, WITH_TIERS};
use super::profiler::{Profiler, Seen, UnderWay};
use crate::kept_run::{parse, statistics};
use crate::private_postgres::PrivatePostgres;
use crate::program::{argv, output_of};

/// Until it samples, and how long it goes on after the load.
const BEFORE: Duration = Duration::from_millis(1500);
const AFTER: Duration = Duration::from_millis(1500);

/// The finding that says what its page begins with.
const ANSWER: &str = "answer-class";

/// The program, with or without the tier of every read.
pub(crate) struct Readpath {
    pub(crate) program: String,
    pub(crate) tiers: Tiers,
}

/// Whether the kernel's tracepoints show which tier answers each read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tiers {
    LeftOut,
    Traced,
}

/// A profile under way.
struct Watcher {
    child: Option<Child>,
    process: u32,
    tiers: Tiers,
}

impl Profiler for Readpath {
    fn name(&self) -> &'static str {
        match self.tiers {
            Tiers::LeftOut => READPATH,
            Tiers::Traced => WITH_TIERS,
        }
    }

    fn version(&self, _: &PrivatePostgres) -> Result<Option<String>, String> {
        output_of(&argv([self.program.as_str(), "--version"])).map(|version| Some(version.trim().into()))
    }

    fn begin(&self, server: &PrivatePostgres, seconds: u64) -> Result<Box<dyn UnderWay>, String> {
        let duration = BEFORE + Duration::from_secs(seconds) + AFTER;
        let child = Command::new(&self.program)
            .args(["profile", "--format=json", "--no-store", "--quiet", "--on", &server.url()])
            .arg(format!("--duration={}ms", duration.as_millis()))
            .args((self.tiers == Tiers::LeftOut).then_some("--no-tiers"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", self.program))?;
        thread::sleep(BEFORE);
        let process = child.id();
        Ok(Box::new(Watcher { child: Some(child), process, tiers: self.tiers }))
    }
}

impl UnderWay for Watcher {
    fn processes(&self) -> Vec<u32> {
        vec![self.process]
    }

    fn application(&self) -> Option<&'static str> {
        Some("readpath")
    }

    fn end(mut self: Box<Self>, _: &PrivatePostgres) -> Result<Seen, String> {
        let child = self.child.take().ok_or("the profile was ended before")?;
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("readpath ended with {}: {}", output.status, complaint.trim()));
        }
        let run = parse(&String::from_utf8_lossy(&output.stdout))?;
        check(&run.cases, &run.findings, self.tiers)?;
        seen(&run)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It has nothing to lose, and may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Refuses a run that traced what was to be left out, or did not trace what was asked for.
fn check(cases: &[Case], findings: &[Finding], tiers: Tiers) -> Result<(), String> {
    let is_traced = cases.iter().any(|case| TABLE.in_case(case).as_deref() == Some("tracing"));
    match (tiers, is_traced) {
        (Tiers::LeftOut, false) | (Tiers::Traced, true) => Ok(()),
        (Tiers::LeftOut, true) => Err("readpath traced reads in spite of --no-tiers".into()),
        (Tiers::Traced, false) => {
            let level = findings.iter().find(|finding| finding.id == LEVEL.id);
            Err(format!("reads were not traced. {}", level.map_or("", |finding| finding.message.as_str())))
        }
    }
}

fn seen(run: &Run) -> Result<Seen, String> {
    let first = run.findings.iter().find(|finding| finding.id == ANSWER);
    let shown = first.map_or_else(|| "no session at work".into(), |finding| finding.message.clone());
    Ok(Seen { rate: Some(rate_of(&run.cases)?), shown })
}

fn rate_of(cases: &[Case]) -> Result<f64, String> {
    let case = cases.iter().find(|case| TABLE.in_case(case).as_deref() == Some("sampling"));
    let metrics = case.map_or(&[][..], |case| &case.metrics);
    let of = |spec: &Spec| statistics(metrics, spec).map(|statistics| statistics.median);
    Ok(of(&LOOKS)? / (of(&SAMPLED)? / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_traced_is_no_run_of_samples_alone_and_the_reverse() {
        let traced = [Case::new([TABLE.of("tracing")].into_iter().collect())];
        assert_eq!(check(&traced, &[], Tiers::Traced), Ok(()));
        assert_eq!(check(&[], &[], Tiers::LeftOut), Ok(()));
        assert!(check(&traced, &[], Tiers::LeftOut).unwrap_err().contains("--no-tiers"));
        let why = LEVEL.of("Which tier answered a read is not known: no rights.");
        assert!(check(&[], &[why], Tiers::Traced).unwrap_err().contains("no rights"));
    }

    #[test]
    fn a_run_that_does_not_say_how_often_it_looked_is_an_error_and_not_the_usual_rate() {
        assert!(rate_of(&[]).unwrap_err().contains("`looks`"));
        let mut case = Case::new([TABLE.of("sampling")].into_iter().collect());
        case.metrics = vec![LOOKS.single("test", 3000.0), SAMPLED.single("test", 3_000_000.0)];
        assert_eq!(rate_of(&[case]), Ok(1000.0));
    }
}
