//! `readpath report`: runs as one page for a browser, and their charts as files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ::measure::Run;
use ::measure::atomic_file::{self, Draft, Existing};
use ::measure::quantity::counted;
use ::measure::sorting;
use ::profile::compare::compare_kept;
use ::report::{html, svg, without_texts};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};

use super::named::{Named, load, named};
use super::profile;
use super::show::refuse_store_of_files;
use super::unused::refuse_unused;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};
use crate::output;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "report", define: Arguments::augment_args, run };

const EXAMPLES: &str = "\
Examples:
  readpath report -o page.html                        the last run
  readpath report last~1 last -o page.html            two runs side by side
  readpath report --all -o page.html                  all kept runs
  readpath report orcl_ora_4711.trc -o page.html      the profile of a trace
  readpath report here.json there.json -o page.html   this machine and another
  readpath report last -o - | ssh web 'cat > page.html'
  readpath report last --charts charts                each chart as an SVG file";

/// The word for standard output in the place of a file.
const STANDARD_OUTPUT: &str = "-";

/// What files of other formats end in.
const OTHER_ENDINGS: [&str; 8] = ["csv", "json", "md", "parquet", "pdf", "png", "svg", "txt"];

/// Statements of each kind that a comparison of two profiles shows.
const STATEMENTS: usize = 10;

/// Letters of an identifier in the name of a file: the time in milliseconds and the version. More are taken where two
/// runs share these.
const ID_LENGTH: usize = 13;

/// Most letters of one: twice those that readpath gives a run, and short enough for the name of a file.
const ID_LENGTH_MAX: usize = 64;

/// Makes one page of runs for a browser: charts, the numbers under them, and what they mean
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Identifiers or their beginnings, `last`, `last~1` for the one before, run documents, traces [default: last]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// All runs of the store, the oldest first
    #[arg(long, conflicts_with = "runs")]
    all: bool,
    /// File to write the page to, in HTML, or - for standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder to write each chart to, as an SVG file
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
    /// Leave the texts of statements out
    #[arg(long)]
    no_text: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let arguments = arguments::<Arguments>(matches)?;
    if matches.value_source("format") == Some(ValueSource::CommandLine) {
        return Err(Failure::wrong("--format has no effect here: a page is HTML and a chart SVG. Leave it out."));
    }
    if arguments.output.is_none() && arguments.charts.is_none() {
        let sentence =
            "nothing says where to: name the page with -o FILE, or a folder for its charts with --charts DIR.";
        return Err(Failure::wrong(sentence));
    }
    let is_file = arguments.file().is_some() || arguments.charts.is_some();
    refuse_unused(matches, &[("force", is_file, "standard output replaces no file")])?;
    if !arguments.runs.is_empty() {
        refuse_store_of_files(matches, &arguments.runs.iter().collect::<Vec<_>>())?;
    }
    if let Some(page) = arguments.file() {
        refuse_other_format(page)?;
        refuse_to_replace(page, arguments.force)?;
        // Before traces are read, which may take minutes.
        Draft::beside(&target(page)).map_err(|error| not_written(page, &error))?;
    }
    arguments.charts.as_deref().map_or(Ok(()), refuse_file)?;
    let (mut runs, failures) = runs(&arguments, context)?;
    let exit = Exit::of_rest(&failures);
    let complaints: Vec<String> = failures.into_iter().map(|failure| failure.message).collect();
    complaints.iter().for_each(|complaint| output::complain(complaint));
    if runs.is_empty() {
        let exit = if exit == Exit::Done { Exit::Failed } else { exit };
        return Err(Failure::new(exit, "there is no run to show, so nothing was written."));
    }
    if arguments.no_text {
        runs.iter_mut().for_each(without_texts);
    }
    // No page is written where one of the charts would be refused.
    let charts = arguments.charts.as_ref().map(|folder| (folder, charts(folder, &runs)));
    for (path, _) in charts.iter().flat_map(|(_, charts)| charts) {
        refuse_to_replace(path, arguments.force)?;
    }
    // Texts that were taken out of the runs are in no comparison of them.
    let profiles = |before: &Run, after: &Run| compare_kept(before, after, STATEMENTS);
    let page_of = |runs: &[Run]| html::report_comparing(runs, &complaints, Some(&profiles));
    if let Some(page) = arguments.file() {
        write(page, &page_of(&runs), arguments.force)?;
        output::print(&format!("{}\n", page.display()))?;
    } else if arguments.output.is_some() {
        output::print(&page_of(&runs))?;
    }
    if let Some((folder, charts)) = charts {
        let written = match write_charts(folder, &charts, arguments.force)? {
            0 => format!("no chart is drawn of what was named, so nothing was written to {}\n", folder.display()),
            count => format!("{}: {}\n", folder.display(), counted(count, "chart", "charts")),
        };
        // Not into a page that is on its way to standard output.
        let is_free = arguments.output.is_none() || arguments.file().is_some();
        if is_free { output::print(&written)? } else { output::warn(&written) }
    }
    Ok(exit)
}

impl Arguments {
    /// The file of the page, where it goes to one.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|page| *page != Path::new(STANDARD_OUTPUT))
    }
}

/// The runs that are named, and why each of the rest could not be read: the others are shown.
fn runs(arguments: &Arguments, context: &Context) -> Result<(Vec<Run>, Vec<Failure>), Failure> {
    if arguments.all {
        return all(context);
    }
    if arguments.runs.is_empty() {
        return Ok((vec![load("last", context)?], Vec::new()));
    }
    let mut runs = Vec::new();
    let mut failures = Vec::new();
    for reference in &arguments.runs {
        match one(reference, context) {
            Ok((run, is_all_there)) => {
                runs.push(run);
                let sentence = || format!("not everything that {reference} names was read: its profile says why.");
                failures.extend((!is_all_there).then(|| Failure::failed(sentence())));
            }
            Err(failure) if matches!(failure.exit, Exit::Failed | Exit::NotKept) => failures.push(failure),
            // A name that is not there is a mistake of the command line: a page without it would hide that. After ^C
            // there is no page at all.
            Err(failure) => return Err(failure),
        }
    }
    Ok((runs, failures))
}

fn all(context: &Context) -> Result<(Vec<Run>, Vec<Failure>), Failure> {
    let store = context.store_to_read()?;
    let listing = store.list()?;
    let mut failures: Vec<Failure> = listing.unreadable.iter().map(Failure::from).collect();
    let mut runs = Vec::new();
    for summary in listing.runs.iter().rev() {
        match store.load_listed(&summary.id) {
            Ok(run) => runs.extend(run),
            // The store listed it: what is wrong with it is no mistake of the command line.
            Err(error) => failures.push(Failure::new(Exit::NotKept, error)),
        }
    }
    Ok((runs, failures))
}

/// A run of the store, of a file, or of a trace; and whether everything was read that is named so.
fn one(reference: &str, context: &Context) -> Result<(Run, bool), Failure> {
    match named(reference, context)? {
        Named::Run(run) => Ok((*run, true)),
        Named::Profiled(path) => profile::of_file(&path, context),
    }
}

/// Each chart of each run with its place, those of several runs under names with the run in them. A run that is named
/// twice has its charts once.
fn charts(folder: &Path, runs: &[Run]) -> Vec<(PathBuf, String)> {
    let mut charts: Vec<(PathBuf, String)> = Vec::new();
    let mut runs_once: Vec<&Run> = Vec::new();
    // A copy that was changed keeps its identifier, and has charts of its own.
    let mut of_id: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let known = of_id.entry(run.id.as_str()).or_default();
        if !known.contains(&run) {
            known.push(run);
            runs_once.push(run);
        }
    }
    let ids = short_ids(&runs_once);
    for (run, id) in runs_once.into_iter().zip(ids) {
        for (name, text) in svg::files(run) {
            let name = if runs.len() > 1 { format!("{name}-{id}.svg") } else { format!("{name}.svg") };
            charts.push((folder.join(name), text));
        }
    }
    charts
}

/// The beginnings of the identifiers of different runs, as long as it takes to tell them apart; with a number behind
/// them from the second run of one identifier on.
fn short_ids(runs: &[&Run]) -> Vec<String> {
    let of_length = |length: usize| -> Vec<String> {
        let letters = |run: &&Run| run.id.chars().filter(char::is_ascii_alphanumeric).take(length).collect::<String>();
        runs.iter().map(letters).collect()
    };
    let longest = runs.iter().map(|run| run.id.len()).max().unwrap_or(0).min(ID_LENGTH_MAX);
    let different = sorting::set(runs.iter().map(|run| &run.id)).len();
    let are_apart = |ids: &Vec<String>| sorting::set(ids).len() == different;
    let ids = (ID_LENGTH..longest).map(of_length).find(are_apart).unwrap_or_else(|| of_length(longest));
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    // The letters of an identifier have no hyphen among them, so that no other one is the same.
    let numbered = |id: String| {
        let count = counts.entry(id.clone()).or_default();
        *count += 1;
        if *count == 1 { id } else { format!("{id}-{count}") }
    };
    ids.into_iter().map(numbered).collect()
}

/// Writes charts that [`refuse_to_replace`] let pass; gives how many. Where that fails, the folders that were made for
/// them and hold nothing are gone again.
fn write_charts(folder: &Path, charts: &[(PathBuf, String)], is_forced: bool) -> Result<u64, Failure> {
    if charts.is_empty() {
        return Ok(0);
    }
    let is_new = |one: &&Path| !one.as_os_str().is_empty() && fs::symlink_metadata(one).is_err();
    // The innermost first.
    let new: Vec<&Path> = folder.ancestors().take_while(is_new).collect();
    let made = fs::create_dir_all(folder).map_err(|error| not_written(folder, &error));
    let written = made.and_then(|()| charts.iter().try_for_each(|(path, text)| write(path, text, is_forced)));
    written.inspect_err(|_| {
        // One that has something in it stays.
        new.iter().for_each(|one| {
            let _ = fs::remove_dir(one);
        });
    })?;
    Ok(charts.len() as u64)
}

/// Refuses to write where a file is, unless that is asked for, and where there is a folder, a device or a pipe, whose
/// place no file takes.
pub(super) fn refuse_to_replace(path: &Path, is_forced: bool) -> Result<(), Failure> {
    if path == Path::new(STANDARD_OUTPUT) {
        let sentence = "this cannot be written to standard output: name a file, or ./- for a file called -.";
        return Err(Failure::wrong(sentence));
    }
    // A link is followed; one that leads nowhere stands for itself.
    let sentence = match fs::metadata(path).or_else(|_| fs::symlink_metadata(path)) {
        Ok(data) if data.is_dir() => format!("{} is a folder: name a file.", path.display()),
        Ok(data) if !data.is_file() && !data.is_symlink() => {
            format!("{} is not a regular file and stays as it is: name another file.", path.display())
        }
        Ok(_) if !is_forced => {
            format!("{} is there already. Name another file, or replace it with --force.", path.display())
        }
        _ => return Ok(()),
    };
    Err(Failure::wrong(sentence))
}

/// Refuses to write HTML to a file whose name promises another format.
fn refuse_other_format(page: &Path) -> Result<(), Failure> {
    let ending = page.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match OTHER_ENDINGS.contains(&ending.as_str()) {
        true => Err(Failure::wrong(format!(
            "{} would hold HTML, which is not what .{ending} stands for: name it .html. --charts DIR writes SVG, \
             `readpath show RUN --format json` and csv print a run for programs, and a browser prints a page to PDF.",
            page.display()
        ))),
        false => Ok(()),
    }
}

/// Refuses a file in the place of the folder that charts are written to.
fn refuse_file(folder: &Path) -> Result<(), Failure> {
    match fs::metadata(folder) {
        Ok(data) if !data.is_dir() => {
            Err(Failure::wrong(format!("{} is a file, and --charts takes a folder: name a folder.", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Writes a file whole or not at all.
pub(super) fn write(path: &Path, text: &str, is_forced: bool) -> Result<(), Failure> {
    let written = atomic_file::write(&target(path), text.as_bytes(), existing(is_forced));
    written.map_err(|error| not_written(path, &error))
}

/// The file that a link leads to, where it is one.
pub(super) fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// What becomes of a file that [`refuse_to_replace`] let pass, or that has appeared since.
pub(super) fn existing(is_forced: bool) -> Existing {
    if is_forced { Existing::Replace } else { Existing::Refuse }
}

pub(super) fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{} could not be written: {error}. Nothing was left there.", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_runs_that_began_in_one_millisecond_have_different_names() {
        let runs = ["0197c0de-0000-7a11-8000-000000000001", "0197c0de-0000-7a12-8000-000000000001"]
            .map(|id| Run { id: id.into(), ..Run::default() });
        let ids = |runs: &[Run]| short_ids(&runs.iter().collect::<Vec<_>>());
        assert_eq!(ids(&runs), ["0197c0de00007a11", "0197c0de00007a12"]);
        assert_eq!(ids(&runs[..1]), ["0197c0de00007"]);
    }

    #[test]
    fn charts_of_documents_that_share_an_identifier_have_different_names() {
        let ids = |ids: &[&str]| {
            let runs: Vec<Run> = ids.iter().map(|id| Run { id: (*id).into(), ..Run::default() }).collect();
            short_ids(&runs.iter().collect::<Vec<_>>())
        };
        let id = "0197c0de-0000-7a11-8000-000000000001";
        assert_eq!(ids(&[id, id, id]), ["0197c0de00007", "0197c0de00007-2", "0197c0de00007-3"]);
        assert_eq!(ids(&["a-b", "ab", ""]), ["ab", "ab-2", ""]);
        let long = [format!("{id}{}1", "0".repeat(300)), format!("{id}{}2", "0".repeat(300))];
        let [first, second]: [String; 2] = ids(&[&long[0], &long[1]]).try_into().unwrap();
        assert_eq!((first.len(), format!("{first}-2")), (ID_LENGTH_MAX, second));
    }

    #[test]
    fn charts_that_cannot_be_written_leave_no_folder_that_was_not_there() {
        let home = tempfile::tempdir().unwrap();
        let [there, new] = ["there", "new"].map(|name| home.path().join(name));
        fs::create_dir(&there).unwrap();
        let is_refused = |folder: &Path| {
            // No file has a place in a folder that is missing, as none has on a full disk.
            let charts = [(folder.join("missing").join("chart.svg"), "<svg/>".to_string())];
            write_charts(folder, &charts, false).is_err()
        };
        assert!(is_refused(&there) && there.is_dir());
        assert!(is_refused(&new.join("charts")) && !new.exists());
    }
}
