//! Resident memory: a run ten times longer must not need more.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use measure::{Statistics, Unit};

use crate::bars::Bar;
use crate::fio::arguments::Arguments;
use crate::fio::reader;
use crate::fio::wanted::RESIDENT;
use crate::fio::workload::{Turn, WORKLOADS};

/// How often the kernel is asked for the peak so far. The last answer before the end counts, so what is missed is at
/// most what the reader adds in this time.
const ASKED_EVERY: Duration = Duration::from_millis(2);

/// How much longer the long run is.
const LONGER: u64 = 10;

/// Reads at depth 32 for `milliseconds` and for ten times that, and compares the peaks.
pub(crate) fn bar(arguments: &Arguments, file: &Path, milliseconds: u64) -> Bar {
    let workload = WORKLOADS.iter().find(|workload| workload.name == "random-32").unwrap_or(&WORKLOADS[0]);
    let peak = |milliseconds| {
        let command = reader::command(arguments, workload, file, Turn { milliseconds, seed: 1 });
        peak_bytes(&command)
    };
    let peaks = peak(milliseconds).and_then(|short| Ok((short, peak(milliseconds * LONGER)?)));
    let name = match &peaks {
        Ok((short, long)) => {
            format!("peak memory, {LONGER} times longer ({} KiB, then {} KiB)", short >> 10, long >> 10)
        }
        Err(_) => format!("peak memory, {LONGER} times longer"),
    };
    let measured = peaks.map(|(short, long)| Statistics::single(long as f64 / short as f64));
    Bar { name, wanted: RESIDENT, word: "grows", unit: Unit::Ratio, measured }
}

/// The peak resident memory of a program, in bytes, from the kernel's `VmHWM`. Waiting with `wait4` would give it
/// after the end, but only through code that the house allows in `sys` alone.
fn peak_bytes(argv: &[String]) -> Result<u64, String> {
    let (program, rest) = argv.split_first().ok_or("a command needs a program")?;
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    // A full pipe would stop the reader before its end.
    let mut output = child.stdout.take().ok_or("the reader has no output")?;
    let drain = thread::spawn(move || output.read_to_end(&mut Vec::new()));
    let peak = watch(&mut child);
    drain.join().map_err(|_| "the reader's output could not be taken")?.map_err(|error| error.to_string())?;
    peak
}

fn watch(child: &mut Child) -> Result<u64, String> {
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = None;
    loop {
        let status = fs::read_to_string(&status_file).unwrap_or_default();
        peak = peak_of_status(&status).max(peak);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(end) if end.success() => return peak.ok_or_else(|| "the reader was gone at once".into()),
            Some(end) => return Err(format!("the reader ended with {end}")),
            None => thread::sleep(ASKED_EVERY),
        }
    }
}

/// The peak in a `/proc/PID/status`, in bytes; `None` where the process has no memory any more.
fn peak_of_status(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_kernels_own_words() {
        assert_eq!(peak_of_status("Name:\tx\nVmHWM:\t    5120 kB\nVmRSS:\t 4 kB\n"), Some(5 << 20));
        assert_eq!(peak_of_status("Name:\tx\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_program_that_fails_has_no_peak() {
        let command = ["sh", "-c", "sleep 0.05; exit 3"].map(String::from);
        assert!(peak_bytes(&command).unwrap_err().contains('3'));
    }

    #[test]
    fn a_program_that_runs_has_one() {
        let command = ["sh", "-c", "sleep 0.05"].map(String::from);
        assert!(peak_bytes(&command).unwrap() > 64 << 10);
    }
}
