//! readpath as the profiler of a server, beside a load.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use measure::Case;
use measure::schema::Spec;
use measure::schema::profile::parameters::TABLE;
use measure::schema::sampled::{LOOKS, OWN_CPU, SAMPLED};

use crate::kept_run::{parse, statistics};

/// Until it samples, and how long it goes on after the load.
const BEFORE: Duration = Duration::from_millis(1500);
const AFTER: Duration = Duration::from_millis(500);

/// A profile under way.
pub(crate) struct Watcher {
    child: Child,
}

/// What a profile cost, and how often it looked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// CPU time of readpath, in per cent of one processor.
    pub(crate) cpu: f64,
    /// Samples a second.
    pub(crate) rate: f64,
}

impl Watcher {
    /// Profiles the server over a load of this many seconds, and a little before and after.
    pub(crate) fn start(readpath: &str, url: &str, seconds: u64) -> Result<Watcher, String> {
        let duration = BEFORE + Duration::from_secs(seconds) + AFTER;
        let child = Command::new(readpath)
            .args(["profile", "--format=json", "--no-store", "--quiet", "--on", url])
            .arg(format!("--duration={}ms", duration.as_millis()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{readpath} could not be started: {error}"))?;
        thread::sleep(BEFORE);
        Ok(Watcher { child })
    }

    /// Waits for the profile.
    pub(crate) fn finish(self) -> Result<Cost, String> {
        let output = self.child.wait_with_output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("readpath ended with {}: {}", output.status, complaint.trim()));
        }
        cost_of(&parse(&String::from_utf8_lossy(&output.stdout))?.cases)
    }
}

fn cost_of(cases: &[Case]) -> Result<Cost, String> {
    let case = cases.iter().find(|case| TABLE.in_case(case).as_deref() == Some("sampling"));
    let metrics = case.map_or(&[][..], |case| &case.metrics);
    let of = |spec: &Spec| statistics(metrics, spec).map(|statistics| statistics.median);
    Ok(Cost { cpu: of(&OWN_CPU)?, rate: of(&LOOKS)? / (of(&SAMPLED)? / 1e6) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_its_own_cost_is_an_error_and_not_free() {
        assert!(cost_of(&[]).unwrap_err().contains("`own_cpu`"));
        let mut case = Case::new([TABLE.of("sampling")].into_iter().collect());
        case.metrics =
            vec![OWN_CPU.single("test", 1.5), LOOKS.single("test", 3000.0), SAMPLED.single("test", 3_000_000.0)];
        let cost = cost_of(&[case]).unwrap();
        assert_eq!((cost.cpu, cost.rate), (1.5, 1000.0));
    }
}
