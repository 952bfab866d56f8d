//! Job files of any bytes: none of them ends the program, and each is a plan or a list of places and sentences.

use proptest::prelude::*;

use super::blank::value;
use super::experiment::{Experiment, Kind, experiments};
use super::{Plan, plan, source};
use crate::cli;

fn known() -> Vec<Experiment> {
    experiments(&cli::definition())
}

/// Pieces of which job files consist, sound ones and others.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "[a]",
        "[b]",
        "[defaults]",
        "[a.matrix]",
        "[[a]]",
        "[disk]",
        "[null]",
        "['a b']",
        "[a.b.c]",
        "\n",
        "\r\n",
        "#",
        "experiment = 'disk'",
        "experiment = 'null'",
        "experiment = 7",
        "paths = ['null:']",
        "paths = 'a\tb'",
        "matrix.depth = [1, 2]",
        "matrix = 1",
        "depth = 4",
        "depth = [1, [2]]",
        "cases = 0x7f",
        "pause = 1e400",
        "block_size = '8KiB'",
        "block-size = 8192",
        "seed = nan",
        "on = '''x\ny'''",
        "huge-pages = off",
        "= 1",
        "\u{feff}",
        "a.b = {c = [{}]}",
        "x = 1979-05-27T07:32:00Z",
        "\"\\u0000\" = 1",
        "depth = -9223372036854775809",
    ];
    prop_oneof![
        6 => prop::sample::select(fixed.to_vec()).prop_map(String::from),
        1 => "\\PC{0,12}",
        1 => (0_usize..300).prop_map(|depth| format!("x = {}", "[".repeat(depth))),
        1 => (0_usize..300).prop_map(|depth| format!("{} = 1", "a.".repeat(depth))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_of_job_files_in_any_order_are_a_plan_or_have_a_line(
        pieces in prop::collection::vec((piece(), prop_oneof!["\n", " ", ""]), 0..24),
        set in prop::collection::vec("[a-z.=\\[\\]'0-9]{0,12}", 0..3),
    ) {
        let text: String = pieces.iter().flat_map(|(piece, end)| [piece.as_str(), end]).collect();
        let lines = 1 + text.matches('\n').count();
        let Plan { runs, problems, .. } = plan(&text, &set, &[], &known());
        prop_assert!(!runs.is_empty() || !problems.is_empty());
        for run in runs {
            // Its words may be refused; that they are made or refused is all.
            let _ = run.words();
        }
        for problem in problems {
            prop_assert!(!problem.sentence.contains('\n') && problem.sentence.len() < 2000, "{problem:?}");
            if let super::problem::Place::Line(line) = problem.place {
                prop_assert!((1..=lines).contains(&line), "{line} of {lines}");
            }
        }
    }

    #[test]
    fn bytes_of_any_kind_are_a_plan_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = source::text(&bytes) {
            let _ = plan(text, &[], &[], &known());
        }
    }

    #[test]
    fn every_value_reaches_the_command_line_as_it_stands(
        (depth, seed, count) in (1_usize..1000, any::<u32>(), 1_u32..),
        (buffered, pages) in any::<(bool, bool)>(),
        path in "[ -~]{1,20}",
    ) {
        let path = format!("/{path}");
        let text = format!(
            "[disk]\npaths = [{}]\ndepth = {depth}\nseed = {seed}\ncount = {count}\nbuffered = {buffered}\n\
             huge_pages = {pages}\n",
            toml::Value::String(path.clone())
        );
        let words = plan(&text, &[], &[], &known()).runs[0].words().unwrap();
        let line = ["readpath".to_string()].into_iter().chain(words);
        let matches = cli::definition().try_get_matches_from(line).unwrap();
        let (_, disk) = matches.subcommand().unwrap();
        prop_assert_eq!(disk.get_one::<usize>("depth"), Some(&depth));
        prop_assert_eq!(disk.get_one::<u64>("seed"), Some(&u64::from(seed)));
        prop_assert_eq!(disk.get_one::<u64>("count"), Some(&u64::from(count)));
        prop_assert_eq!((disk.get_flag("buffered"), disk.get_one::<bool>("huge_pages")), (buffered, Some(&pages)));
        let found = disk.get_many::<std::path::PathBuf>("paths").unwrap().cloned().collect::<Vec<_>>();
        prop_assert_eq!(found, vec![std::path::PathBuf::from(path)]);
    }
}

#[test]
fn what_the_command_line_takes_is_written_as_toml_takes_it() {
    let written = |kind: Kind, word: &str| value(kind, word).toml();
    for word in ["on", "ON", "true", "t", "yes", "y", "1"] {
        assert_eq!(written(Kind::Switch, word), "true", "{word}");
    }
    assert_eq!(["off", "n", "0"].map(|word| written(Kind::Switch, word)), ["false"; 3]);
    assert_eq!(["007", "+5", "12"].map(|word| written(Kind::Whole, word)), ["7", "5", "12"]);
    let fractions = ["5.", ".5", "1e300", "100", "0.25"].map(|word| written(Kind::Fraction, word));
    assert_eq!(fractions, ["5.0", "0.5", "1e300", "100", "0.25"]);
    for word in ["007", "5.", "1e300"] {
        let line = format!("x = {}", written(Kind::Fraction, word));
        assert!(toml::from_str::<toml::Table>(&line).is_ok(), "{line}");
    }
}

#[test]
fn a_choice_that_is_false_is_off_and_does_not_have_its_default() {
    let words = |value: &str| {
        let text = format!("[profile]\nfiles = 'a.trc'\nfold-literals = {value}\n");
        plan(&text, &[], &[], &known()).runs[0].words().unwrap()
    };
    assert_eq!(words("false"), ["profile", "a.trc", "--fold-literals=never"]);
    assert_eq!(words("true"), ["profile", "a.trc", "--fold-literals"]);
    assert_eq!(words("'auto'"), ["profile", "a.trc", "--fold-literals=auto"]);
    // What has no word for it is left out.
    let follow = plan("[profile]\nfiles = 'a.trc'\nfollow = false\n", &[], &[], &known());
    assert_eq!(follow.runs[0].words().unwrap(), ["profile", "a.trc"]);
}

#[test]
fn a_list_without_a_job_is_not_taken_for_jobs_without_names() {
    let said = |text: &str| plan(text, &[], &[], &known()).problems[0].sentence.clone();
    assert_eq!(said("depth = []\n[null]\n"), "'depth' stands in no job: write it below [defaults] or [NAME]");
    assert_eq!(said("[[null]]\n"), "[[null]] gives jobs no names: write [NAME] above each job");
}

#[test]
fn a_time_without_quotation_marks_is_answered_with_how_to_write_it() {
    let said = |value: &str| {
        plan(&format!("[profile]\nfiles = 'a.trc'\nsince = {value}\n"), &[], &[], &known()).problems[0].sentence.clone()
    };
    for value in ["2026-11-22T09:00:00", "2026-11-22 09:00:00", "2026-11-22", "09:00:00"] {
        let written = value.replace(' ', "T");
        let advice = format!("if a time is meant, write it as a text, since = \"{written}\"");
        assert_eq!(said(value), format!("'since' is a date of TOML: {advice}"));
    }
}

#[test]
fn a_job_that_makes_one_run_too_many_is_not_blamed_for_a_matrix() {
    let said = |text: String| plan(&text, &[], &[], &known()).problems[0].sentence.clone();
    let matrix = |values: usize| {
        let values: Vec<String> = (0..values).map(|value| value.to_string()).collect();
        format!("[a]\nexperiment = 'null'\nmatrix.cases = [{}]\n", values.join(","))
    };
    let one_more = said(format!("{}[null]\n", matrix(1000)));
    assert_eq!(one_more, "with this job the file makes 1001 runs: a file has at most 1000");
    assert_eq!(said(matrix(1001)), "the matrix makes 1001 runs: a file has at most 1000");
}

#[test]
fn a_value_of_several_lines_adds_no_line_to_what_names_the_run() {
    let text = "[profile]\n[profile.matrix]\nfiles = [\"a\\n b.trc\", 'c.trc']\n";
    let names: Vec<String> = plan(text, &[], &[], &known()).runs.into_iter().map(|run| run.name).collect();
    assert_eq!(names, ["profile/files=a\\n b.trc", "profile/files=c.trc"]);
}

#[test]
fn runs_of_files_that_differ_at_the_end_of_a_long_path_have_different_names() {
    let folder = "/u01/app/oracle/diag/rdbms/orclcdb/orclcdb1/trace";
    let file = |number: u32| format!("'{folder}/orclcdb1_ora_{number}.trc'");
    let text = format!("[profile]\n[profile.matrix]\nfiles = [{}, {}]\n", file(4711), file(4712));
    let names: Vec<String> = plan(&text, &[], &[], &known()).runs.into_iter().map(|run| run.name).collect();
    let ends = ["/trace/orclcdb1_ora_4711.trc", "/trace/orclcdb1_ora_4712.trc"];
    assert_eq!(names.len(), 2);
    assert!(names.iter().zip(ends).all(|(name, end)| name.ends_with(end)), "{names:?}");
}

#[test]
fn every_parameter_of_every_experiment_can_be_set_in_a_job_file() {
    for experiment in known() {
        for parameter in &experiment.parameters {
            let wrong = parameter.name.clone() + "x";
            let of = |key: &str| plan(&format!("[{}]\n{key} = 1\n", experiment.name), &[], &[], &known()).problems;
            assert!(of(&parameter.name).is_empty(), "{}: {}", experiment.name, parameter.name);
            let problems = of(&wrong);
            assert!(problems[0].sentence.contains(&format!("'{}'", parameter.name)), "{problems:?}");
        }
    }
}
