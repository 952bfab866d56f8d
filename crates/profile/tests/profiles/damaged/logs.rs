//! Makes inputs: server logs in each format, with bytes, segments and words changed.

use measure::random::SplitMix64;

/// Bytes that mean something to one of the readers.
const WORDS: &[&str] = &[
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

/// An input.
pub(super) fn input(random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = sample(random);
    spoil(&mut bytes, random);
    bytes
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
                let word = WORDS[random.below(WORDS.len() as u64) as usize];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
}
