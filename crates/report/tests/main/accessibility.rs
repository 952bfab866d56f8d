//! Whether everyone can read a page: axe-core, the checker that most accessibility tools are made of, looks at it in a
//! real browser, in light and dark colours, on a large screen and on a phone.

use std::fs;
use std::path::Path;
use std::process::Command;

use report::html;
use serde_json::Value;

use crate::browser::{browser, opened};
use crate::documents;
use crate::pages::kept;

/// The checker. It is fetched and not kept here, because its licence (MPL 2.0) is not that of readpath.
const CHECKER: &str = "axe-core@4.14.1";

/// The checker's text, fetched once from the registry of npm; a skip where that cannot be.
#[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
fn checker() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(CHECKER);
    let file = folder.join("package/axe.min.js");
    if !file.is_file() && std::env::var_os("CARGO_NET_OFFLINE").is_none() {
        fs::create_dir_all(&folder).unwrap();
        let command = format!(
            "npm pack {CHECKER} --fetch-retries=0 --fetch-timeout=20000 && tar -xzf axe-core-*.tgz package/axe.min.js"
        );
        // Whether it came is seen by the file.
        let _ = Command::new("sh").args(["-c", &command]).current_dir(&folder).output();
    }
    let text = fs::read_to_string(file).ok();
    if text.is_none() {
        println!("skipped: {CHECKER} could not be fetched by npm");
    }
    text
}

/// Faults that keep some readers from what the page says.
fn serious(answer: &Value) -> Vec<&Value> {
    let all = answer["faults"].as_array().unwrap();
    assert!(all[0]["count"].as_u64() > Some(10), "the checker has not looked: {answer}");
    all.iter().filter(|fault| ["serious", "critical"].iter().any(|impact| fault["impact"] == *impact)).collect()
}

#[test]
fn no_page_has_a_serious_accessibility_fault_in_light_and_dark_and_on_a_phone() {
    let Some(browser) = browser() else { return };
    let Some(checker) = checker() else { return };
    // One run of each experiment as it is kept, one that has its own page, and two beside each other.
    let mut runs: Vec<_> = kept().into_iter().map(|(_, run)| run).collect();
    runs.extend([documents::calibrate(), documents::disk_sweep()]);
    let page = html::report(&runs, &["a run that is not read".into()]);
    for is_dark in [false, true] {
        let (answers, log) = opened(&browser, ("accessible", &page), is_dark, &[&checker]);
        for answer in answers {
            assert_eq!(answer["dark"], is_dark, "{log}");
            assert_eq!(serious(&answer), Vec::<&Value>::new(), "{answer:#}");
        }
    }
    let small = html::report(&[documents::disk_sweep()], &[]);
    let unnamed = small.replacen("<main", "<img src=\"data:,\"><main", 1);
    let (answers, _) = opened(&browser, ("inaccessible", &unnamed), false, &[&checker]);
    for answer in answers {
        assert_eq!(serious(&answer)[0]["rule"], "image-alt", "a fault is not found: {answer:#}");
    }
}
