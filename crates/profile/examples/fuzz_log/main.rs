//! Feeds server logs that are wrong in many ways to the reader of plans; needs no nightly compiler and no fuzzer.
//!
//! `cargo run --release -p profile --example fuzz_log [-- INPUTS [SEED]]`: two million inputs by default. A broken
//! promise ends it with a panic that names the input.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

mod judge;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use measure::random::{SplitMix64, mix};

/// Bytes that mean something to one of the readers.
const TELLING: &[&str] = &[
    "\n",
    "\t",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    ":  ",
    " ms",
    "null",
    "-1",
    "9223372036854775807",
    "0.0005",
    "\"Plans\": [{",
    "\"Plan\": {",
    "\"Actual Loops\": 0",
    "\"Workers Launched\": 3",
    "\"CTE Name\": \"x\"",
    "\u{1f600}",
    "2026-11-21 10:45:53.123 UTC [7] me@shop LOG:  ",
    "CONTEXT:  PL/pgSQL function f()",
    "\\ud800",
    "\0",
];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a whole number"));
    let (inputs, seed) = (arguments.next().unwrap_or(2_000_000), arguments.next().unwrap_or(1));
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    for input in 0..inputs {
        let mut random = SplitMix64::new(mix(seed).wrapping_add(input));
        let mut bytes = sample(&mut random);
        spoil(&mut bytes, &mut random);
        match catch_unwind(AssertUnwindSafe(|| judge::judge(&bytes))) {
            Ok(answer) => *answers.entry(name_of(answer)).or_default() += 1,
            Err(panic) => {
                println!("input {input} of seed {seed} broke a promise:\n{}", String::from_utf8_lossy(&bytes));
                resume_unwind(panic);
            }
        }
    }
    println!("{inputs} inputs of seed {seed}: no promise was broken");
    answers.iter().for_each(|(answer, count)| println!("{count:12} {answer}"));
}

fn name_of(answer: Option<(profile::source::postgres_log::format::LogFormat, u64)>) -> String {
    match answer {
        None => "no log".into(),
        Some((format, 0)) => format!("{} without a plan", format.name()),
        Some((format, _)) => format!("{} with plans", format.name()),
    }
}

/// A well-formed log of one to three entries, in one of the formats.
fn sample(random: &mut SplitMix64) -> Vec<u8> {
    let format = random.below(4);
    let mut log = String::new();
    for entry in 0..=random.below(3) {
        let plan = format!("{{\"Query Text\": \"select {}\", \"Plan\": {}}}", random.below(3), node(random, 3));
        let depth = random.below(3);
        let context = if depth == 0 { "" } else { "PL/pgSQL function f() line 3 at PERFORM" };
        let message = format!("duration: {}.{:03} ms  plan:\n{plan}", random.below(50), random.below(1000));
        let (second, quoted) = (10 + entry, |text: &str| text.replace('"', "\"\""));
        match format {
            0 => {
                let prefix = format!("2026-11-21 10:45:{second}.123 UTC [7] me@shop ");
                log += &format!("{prefix}LOG:  {}\n", message.replace('\n', "\n\t"));
                if depth > 0 {
                    log += &format!("{prefix}CONTEXT:  {context}\n");
                }
            }
            1 => {
                log += &format!(
                    "2026-11-21 10:45:{second}.123 UTC,\"me\",\"shop\",7,\"[local]\",69.4d,3,\"SELECT\",2026-11-21 \
                     10:00:00 UTC,3/4,0,LOG,00000,\"{}\",,,,,\"{context}\",,,,\"psql\",\"client backend\",,-42\n",
                    quoted(&message)
                );
            }
            2 => {
                let message = message.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                log += &format!(
                    "{{\"timestamp\":\"2026-11-21 10:45:{second}.123 UTC\",\"pid\":7,\"error_severity\":\"LOG\",\
                     \"message\":\"{message}\",\"context\":\"{context}\"}}\n"
                );
            }
            _ => log = plan,
        }
    }
    log.into_bytes()
}

fn node(random: &mut SplitMix64, levels: u64) -> String {
    let kind = ["Seq Scan", "Gather", "CTE Scan", "Sort"][random.below(4) as usize];
    let mut text = format!(
        "{{\"Node Type\": \"{kind}\", \"Actual Total Time\": {}.{:03}, \"Actual Rows\": {}, \"Actual Loops\": {}, \
         \"Shared Hit Blocks\": {}, \"Shared Read Blocks\": {}, \"I/O Read Time\": 0.{:03}, \"CTE Name\": \"x\"",
        random.below(20),
        random.below(1000),
        random.below(99),
        random.below(4),
        random.below(99),
        random.below(9),
        random.below(1000)
    );
    if kind == "Gather" {
        text += ", \"Workers Launched\": 2";
    }
    if random.below(4) == 0 {
        text += ", \"Parent Relationship\": \"InitPlan\", \"Subplan Name\": \"CTE x\"";
    }
    let children = if levels == 0 { 0 } else { random.below(3) };
    if children > 0 {
        let children: Vec<String> = (0..children).map(|_| node(random, levels - 1)).collect();
        text += &format!(", \"Plans\": [{}]", children.join(", "));
    }
    text + "}"
}

/// Changes, cuts, repeats or adds in some places.
fn spoil(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    for _ in 0..random.below(5) {
        let length = bytes.len() as u64;
        if length == 0 {
            return;
        }
        let at = random.below(length) as usize;
        match random.below(6) {
            0 => bytes[at] = random.next_u64() as u8,
            1 => bytes.truncate(at),
            2 => {
                let end = (at + random.below(60) as usize).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + random.below(200) as usize).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() as u64) as usize;
                bytes.splice(to..to, piece);
            }
            _ => {
                let word = TELLING[random.below(TELLING.len() as u64) as usize];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
}
