//! The trace that all contenders read: made here, and gone at the end.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use measure::random::SplitMix64;
use tempfile::NamedTempFile;

use crate::program::scratch_folder;

/// Time between two repetitions, in the trace's unit.
const PAUSE: i64 = 1_000_000;

/// When the made trace begins.
const BEGIN: i64 = 1_000_000_000_000;

/// How the first line behind a preamble begins, and one within it that looks alike.
const RECORDS: [&[u8]; 5] = [b"*** ", b"=====", b"WAIT #", b"PARSE #", b"EXEC #"];
const CONTINUED: &[u8] = b"*** TRACE DUMP CONTINUED";

/// Calls of a synthetic trace that is repeated.
const SYNTHETIC_FETCHES: u64 = 20_000;

/// A made trace, and what it was made of.
pub(crate) struct TraceFile {
    file: NamedTempFile,
    /// Bytes.
    pub(crate) bytes: u64,
    /// What it was made of, as a phrase.
    pub(crate) origin: String,
}

impl TraceFile {
    /// Makes a trace of at least `size` bytes of the traces in `folder`, or of a synthetic one.
    pub(crate) fn make(folder: &Path, size: u64) -> Result<TraceFile, String> {
        let sources = sources(folder)?;
        let origin = match sources.len() {
            0 => "a synthetic trace, repeated".into(),
            count => format!("{count} real traces, repeated"),
        };
        let sources = if sources.is_empty() { vec![synthetic()] } else { sources };
        let target = scratch_folder()?;
        let sentence = |error| format!("a trace of {size} bytes could not be made in {}: {error}", target.display());
        let file = tempfile::Builder::new().prefix("profile-bench-").suffix(".trc").tempfile_in(&target);
        let file = file.map_err(sentence)?;
        let bytes = repeat(&sources, size, file.as_file()).map_err(sentence)?;
        Ok(TraceFile { file, bytes, origin })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }
}

/// The uncompressed bytes of the traces in a folder that have calls; none where there is no such folder.
fn sources(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let name = path.to_string_lossy();
        if !name.ends_with(".trc") && !name.ends_with(".trc.gz") {
            continue;
        }
        let sentence = |error: io::Error| format!("{name} could not be read: {error}");
        let packed = fs::read(&path).map_err(sentence)?;
        let mut bytes = Vec::new();
        if name.ends_with(".gz") {
            MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).map_err(sentence)?;
        } else {
            bytes = packed;
        }
        if times(&bytes).is_some() {
            sources.push(bytes);
        }
    }
    Ok(sources)
}

/// What a trace has behind its preamble.
fn body(trace: &[u8]) -> &[u8] {
    let mut at = 0;
    for line in trace.split_inclusive(|byte| *byte == b'\n') {
        let is_record = RECORDS.iter().any(|record| line.starts_with(record));
        if is_record && !line.starts_with(CONTINUED) {
            break;
        }
        at += line.len();
    }
    &trace[at..]
}

/// Writes the sources one after the other, each with its times moved behind those before, until there are enough bytes.
/// The preamble of the first one alone is written: another one begins another trace.
fn repeat(sources: &[Vec<u8>], size: u64, file: &fs::File) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let (mut written, mut now) = (0, BEGIN);
    while written < size {
        for source in sources {
            let source = if written == 0 { source.as_slice() } else { body(source) };
            let (first, last) = times(source).unwrap_or((0, 0));
            written += moved(source, now - first, &mut out)?;
            now += last - first + PAUSE;
            if written >= size {
                break;
            }
        }
    }
    out.flush()?;
    Ok(written)
}

/// The places of the times of calls and waits: behind `tim=`, where that ends a field.
fn time_places(bytes: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(bytes, b"tim=")
        .filter(|at| *at > 0 && matches!(bytes[at - 1], b',' | b' '))
        .map(|at| at + 4)
}

fn number_at(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((std::str::from_utf8(&bytes[at..at + digits]).ok()?.parse().ok()?, digits))
}

/// The least and the greatest time of a trace.
fn times(bytes: &[u8]) -> Option<(i64, i64)> {
    let all = || time_places(bytes).filter_map(|at| number_at(bytes, at)).map(|(time, _)| time);
    Some((all().min()?, all().max()?))
}

fn moved(bytes: &[u8], by: i64, out: &mut impl Write) -> io::Result<u64> {
    let (mut done, mut written) = (0, 0);
    for at in time_places(bytes) {
        let Some((time, digits)) = number_at(bytes, at) else { continue };
        let number = (time + by).to_string();
        out.write_all(&bytes[done..at])?;
        out.write_all(number.as_bytes())?;
        written += at - done + number.len();
        done = at + digits;
    }
    out.write_all(&bytes[done..])?;
    Ok((written + bytes.len() - done) as u64)
}

/// Fetches with reads, a new statement now and then: what a report in a busy database writes.
fn synthetic() -> Vec<u8> {
    let mut random = SplitMix64::new(1);
    let mut text = String::from("*** SESSION ID:(9.1) 2015-03-10 14:08:53.050\n");
    let mut time = 5_000_000_u64;
    for fetch in 0..SYNTHETIC_FETCHES {
        let cursor = 140_472_196_000_000 + fetch / 100 % 50 * 4096;
        if fetch % 100 == 0 {
            text += &format!(
                "=====================\nPARSING IN CURSOR #{cursor} len=38 dep=0 uid=9 oct=3 lid=9 tim={time} hv={} \
                 ad='7f' sqlid='{:013}'\nselect a, b from t where c = :1 and d=1\nEND OF STMT\n",
                fetch % 5000,
                fetch % 5000
            );
        }
        let (mut elapsed, reads) = (20, random.below(4));
        for _ in 0..reads {
            let wait = 100 + random.below(9000);
            (elapsed, time) = (elapsed + wait, time + wait);
            let block = random.below(4_000_000);
            text += &format!(
                "WAIT #{cursor}: nam='db file sequential read' ela= {wait} file#=7 block#={block} blocks=1 obj#=82008 \
                 tim={time}\n"
            );
        }
        time += 20;
        text += &format!(
            "FETCH #{cursor}:c=20,e={elapsed},p={reads},cr={},cu=0,mis=0,r=1,dep=0,og=1,plh=1457651150,tim={time}\n",
            reads + 3
        );
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_trace_has_the_same_lines_later() {
        let mut out = Vec::new();
        let text = b"EXEC #1:c=0,e=1,tim=99\nWAIT #1: nam='x' ela= 1 tim=5\nselect anytim=7\n";
        assert_eq!(moved(text, 10, &mut out).unwrap() as usize, out.len());
        assert_eq!(out, b"EXEC #1:c=0,e=1,tim=109\nWAIT #1: nam='x' ela= 1 tim=15\nselect anytim=7\n");
    }

    #[test]
    fn a_repeated_trace_has_one_preamble_and_every_record() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let record = "*** SESSION ID:(9.1)\nEXEC #1:c=0,e=1,tim=99\n";
        let source = format!("*** TRACE DUMP CONTINUED FROM FILE  ***\nOracle Database 10g\n\n{record}");
        repeat(&[source.clone().into_bytes()], 2 * source.len() as u64, file.as_file()).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        let count = |part: &str| text.matches(part).count();
        assert_eq!((count("Oracle Database"), count("SESSION"), count("EXEC")), (1, 3, 3), "{text}");
    }

    #[test]
    fn times_grow_from_repetition_to_repetition() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let source = b"EXEC #1:c=0,e=1,tim=99\nEXEC #1:c=0,e=1,tim=500\n".to_vec();
        repeat(&[source], 200, file.as_file()).unwrap();
        let text = fs::read(file.path()).unwrap();
        let all: Vec<i64> = time_places(&text).filter_map(|at| number_at(&text, at)).map(|(time, _)| time).collect();
        assert!(all.len() > 4 && all.is_sorted());
    }
}
