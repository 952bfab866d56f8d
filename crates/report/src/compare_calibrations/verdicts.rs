//! The queries whose verdict differs between two calibrations, by the sets that the advice of either is about.

use std::collections::{HashMap, HashSet};

use measure::schema::calibrate::parameters as plan;
use measure::{Case, Run, sorting};

use super::parts::{self, Key, NOW, key, part};
use crate::body::{Ended, is_excepted, ratio_of, whose_queries};
use crate::page::number::{ABSENT, three_digits};
use crate::page::parameters::cell;
use crate::page::wording::joined;
use crate::page::{Align, Section, Table};

const NONE: &str = "No query's verdict differs for an advised set that both runs tried.";
const ALONE: &str = "Advised sets that only one of the runs tried, so that no verdicts by them are compared:";

/// What stands where a run could not judge a query.
const REFUSED: &str = "refused";

/// What stands behind a verdict where plans were ended, and what it means.
const ENDED: &str = "ended";
const ABOUT_ENDED: &str = "ended, now ended, both ended: the plan by the set, the current plan or both were ended at a \
                           limit, so that the time is at least (≥) or at most (≤) that";
const ABOUT_ABSENT: &str = "–: no other plan with the set, or not among the queries of that run";

/// A query of one run by one of its sets.
struct Judged {
    set: Key,
    query: String,
    said: Said,
}

/// The verdict on a query.
struct Said {
    word: String,
    ended: Ended,
    is_excepted: bool,
    ratio: Option<f64>,
}

impl Said {
    fn of(query: &Case) -> Said {
        let word = cell(query, plan::VERDICT.name).split(',').next().unwrap_or_default().to_string();
        Said { word, ended: Ended::of(query), is_excepted: is_excepted(query), ratio: ratio_of(query) }
    }

    /// Whether it is another verdict: with another ratio, it is the same.
    fn differs_from(&self, other: &Said) -> bool {
        self.word != other.word || self.ended != other.ended || self.is_excepted != other.is_excepted
    }

    fn text(&self) -> String {
        let sign = self.ended.sign_of_ratio();
        let ratio = self.ratio.map_or(String::new(), |ratio| format!(" {sign}{}", three_digits(ratio)));
        let ended = match (self.ended.now, self.ended.then) {
            (false, false) => String::new(),
            (false, true) => format!(", {ENDED}"),
            (true, false) => format!(", now {ENDED}"),
            (true, true) => format!(", both {ENDED}"),
        };
        let excepted = if self.is_excepted { ", excepted" } else { "" };
        format!("{}{ratio}{ended}{excepted}", self.word)
    }
}

/// What one run found of queries.
struct Side {
    /// The sets that it tried, each with its name.
    sets: HashMap<Key, String>,
    /// Those that its advice is about.
    advised: Vec<Key>,
    /// The states of the caches in which it tried sets.
    states: HashSet<String>,
    /// The queries whose plan a set changes.
    judged: Vec<Judged>,
    /// The states and names of queries that it could not judge.
    refused: HashSet<[String; 2]>,
}

impl Side {
    fn of(run: &Run) -> Side {
        let named = |case: &Case, name: &str| [cell(case, plan::STATE.name), cell(case, name)];
        let mut keys: HashMap<[String; 2], Key> = HashMap::new();
        let (mut sets, mut advised, mut states) = (HashMap::new(), Vec::new(), HashSet::new());
        for set in part(run, "set") {
            let ([state, name], key) = (named(set, plan::CONSTANTS.name), key(set));
            if !cell(set, plan::ADVICE.name).is_empty() && name != NOW {
                advised.push(key.clone());
            }
            sets.insert(key.clone(), parts::named(set));
            states.insert(state.clone());
            keys.insert([state, name], key);
        }
        let judged = |query: &Case| {
            let set = keys.get(&named(query, plan::CONSTANTS.name))?.clone();
            Some(Judged { set, query: cell(query, plan::QUERY.name), said: Said::of(query) })
        };
        let judged: Vec<Judged> = part(run, "query").filter_map(judged).collect();
        // One that gets another plan by a set was refused for something else, such as a run that was ended.
        let has_plans: HashSet<[String; 2]> = part(run, "query").map(|case| named(case, plan::QUERY.name)).collect();
        let refused = part(run, "refused").map(|case| named(case, plan::QUERY.name));
        let refused = refused.filter(|query| !has_plans.contains(query)).collect();
        Side { sets, advised, states, judged, refused }
    }

    /// What stands for a query that it has no verdict on.
    fn without_verdict(&self, state: &str, query: &str) -> String {
        let is_refused = self.refused.contains(&[state.to_string(), query.to_string()]);
        if is_refused { REFUSED.into() } else { ABSENT.into() }
    }
}

/// A query with another verdict in the second run.
struct Row {
    state: String,
    set: String,
    query: String,
    sides: [String; 2],
}

/// The queries whose verdict differs, or that none does. A set that one run did not try is left out, and named.
pub(super) fn sections(runs: [&Run; 2]) -> Vec<Section> {
    let sides = runs.map(Side::of);
    let about = sorting::each_once(sides.iter().flat_map(|side| &side.advised)).into_iter();
    let (both, alone): (Vec<&Key>, Vec<&Key>) =
        about.partition(|set| sides.iter().all(|side| side.sets.contains_key(*set)));
    let mut sections = Vec::new();
    let rows = rows(&sides, &both.iter().copied().collect());
    if !rows.is_empty() {
        sections.push(Section::Table(table(&rows)));
    } else if !both.is_empty() {
        sections.push(Section::Text(NONE.into()));
    }
    // That a run judged nothing in a state, the advice says.
    let is_of_both = |set: &&Key| sides.iter().all(|side| side.states.contains(&set[0]));
    let item = |set: &Key| {
        let (at, which) = if sides[0].sets.contains_key(set) { (0, "first") } else { (1, "second") };
        let name = sides[at].sets.get(set).cloned().unwrap_or_default();
        format!("{}: {name}, in the {which} run only", whose_queries(&set[0]))
    };
    sections.extend(Section::list(ALONE, alone.into_iter().filter(is_of_both).map(item).collect()));
    sections
}

/// The queries with another verdict by these sets, by the state of the caches.
fn rows(sides: &[Side; 2], sets: &HashSet<&Key>) -> Vec<Row> {
    let mut found: HashMap<(&Key, &str), [Option<&Said>; 2]> = HashMap::new();
    let mut order: Vec<(&Key, &str)> = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        for judged in side.judged.iter().filter(|judged| sets.contains(&judged.set)) {
            let one = (&judged.set, judged.query.as_str());
            let both = found.entry(one).or_insert_with(|| {
                order.push(one);
                [None, None]
            });
            both[at] = Some(&judged.said);
        }
    }
    let is_changed = |both: &[Option<&Said>; 2]| match both {
        [Some(first), Some(second)] => first.differs_from(second),
        _ => true,
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut states: HashMap<String, usize> = HashMap::new();
    for (set, query) in order {
        let both = found[&(set, query)];
        if is_changed(&both) {
            let state = &set[0];
            let next = states.len();
            states.entry(state.clone()).or_insert(next);
            let text = |at: usize| both[at].map_or_else(|| sides[at].without_verdict(state, query), Said::text);
            let set = name_in_both(sides, set);
            rows.push(Row { state: state.clone(), set, query: query.into(), sides: [text(0), text(1)] });
        }
    }
    sorting::by_key(&mut rows, |row| states.get(&row.state).copied());
    rows
}

/// The name of a set in each run, where these differ.
fn name_in_both(sides: &[Side; 2], set: &Key) -> String {
    let [first, second] = sides.each_ref().map(|side| side.sets.get(set).map_or("", String::as_str));
    if first == second { first.into() } else { format!("{first} / {second}") }
}

fn table(rows: &[Row]) -> Table {
    let has = |is_it: fn(&str) -> bool| rows.iter().flat_map(|row| &row.sides).any(|side| is_it(side));
    let ended = if has(|side| side.contains(ENDED)) { ABOUT_ENDED } else { "" };
    let absent = if has(|side| side == ABSENT) { ABOUT_ABSENT } else { "" };
    let marks = joined([ended, absent], "; ");
    let marks = if marks.is_empty() { marks } else { format!(" ({marks})") };
    Table::over(rows)
        .column("query", Align::Left, |row| row.query.clone())
        .column("set", Align::Word, |row| row.set.clone())
        .column("first", Align::Left, |row| row.sides[0].clone())
        .column("second", Align::Left, |row| row.sides[1].clone())
        .groups(|row| whose_queries(&row.state))
        .titled(format!("Queries with another verdict, and their time by the set divided by their time now{marks}:"))
        .done()
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate;
    use measure::schema::calibrate::parameters::{ADVICE, CONSTANTS, ENDED, PART, QUERY, STATE, VERDICT};
    use measure::{Metric, Parameters};

    use super::*;

    /// A set of the user's queries, advised.
    fn set(name: &str, random_page_cost: f64) -> Case {
        let parameters = [PART.of("set"), STATE.of("as-found"), CONSTANTS.of(name), ADVICE.of("change")];
        let mut set = Case::new(Parameters::from_iter(parameters));
        set.metrics.push(calibrate::SETTING.of("random_page_cost").single("t", random_page_cost));
        set
    }

    fn query(name: &str, set: &str, verdict: &str, metrics: Vec<Metric>) -> Case {
        let parameters =
            [PART.of("query"), STATE.of("as-found"), CONSTANTS.of(set), QUERY.of(name), VERDICT.of(verdict)];
        Case { metrics, ..Case::new(Parameters::from_iter(parameters)) }
    }

    fn refused(name: &str) -> Case {
        Case::new(Parameters::from_iter([PART.of("refused"), STATE.of("as-found"), QUERY.of(name)]))
    }

    fn compared(first: Vec<Case>, second: Vec<Case>) -> Vec<Section> {
        let [first, second] = [first, second].map(|cases| Run { cases, ..Run::default() });
        sections([&first, &second])
    }

    /// The cells of the rows of two runs, joined by `|`, and the title over them.
    fn lines(first: Vec<Case>, second: Vec<Case>) -> (Vec<String>, String) {
        let sections = compared(first, second);
        let Some(Section::Table(table)) = sections.first() else { return (Vec::new(), String::new()) };
        let row = |at: usize| table.columns.iter().map(|column| column.cells[at].text.as_str()).collect::<Vec<_>>();
        ((0..table.rows()).map(|at| row(at).join("|")).collect(), table.title.clone().unwrap_or_default())
    }

    #[test]
    fn a_query_that_one_run_could_not_judge_is_not_said_to_have_no_other_plan_there() {
        let second = vec![set("cached", 1.0), refused("q")];
        let (rows, title) = lines(vec![set("cached", 1.0), query("q", "cached", "faster", Vec::new())], second);
        assert_eq!(rows, ["q|cached|faster|refused"]);
        assert!(!title.contains('–'), "{title}");
        let second = vec![set("cached", 1.0)];
        let (rows, title) = lines(vec![set("cached", 1.0), query("q", "cached", "faster", Vec::new())], second);
        assert_eq!(rows, ["q|cached|faster|–"]);
        assert!(title.contains("or not among the queries of that run"), "{title}");
        let other = vec![query("q", "random-1.1", "slower", Vec::new()), refused("q")];
        let second = [vec![set("cached", 1.0)], other].concat();
        let (rows, _) = lines(vec![set("cached", 1.0), query("q", "cached", "faster", Vec::new())], second);
        assert_eq!(rows, ["q|cached|faster|–"], "it has plans, so only another plan of it was not run");
    }

    #[test]
    fn a_ratio_that_a_limit_bounds_is_not_shown_as_a_measured_one() {
        let one = |verdict: &str, ended: &str, metric: Option<Metric>| {
            let mut query = query("q", "cached", verdict, metric.into_iter().collect());
            query.parameters.extend((!ended.is_empty()).then(|| ENDED.of(ended)));
            vec![set("cached", 1.0), query]
        };
        let timed = || one("undecided", "", Some(calibrate::RATIO.single("t", 1.0)));
        let of = |second: Vec<Case>| lines(timed(), second).0;
        let then = one("slower, ended after 10.0 s", "then", Some(calibrate::RATIO.single("t", 50.0)));
        assert_eq!(of(then), ["q|cached|undecided 1.00|slower ≥50.0, ended"]);
        let now =
            one("faster, the current plan ended after 10.0 s", "now", Some(calibrate::RATIO_HIGH.single("t", 0.7)));
        assert_eq!(of(now), ["q|cached|undecided 1.00|faster ≤0.700, now ended"]);
        let both = one("undecided, both plans ended after 10.0 s", "both", None);
        assert_eq!(of(both), ["q|cached|undecided 1.00|undecided, both ended"], "its word is the same");
        assert_eq!(of(one("undecided", "", Some(calibrate::RATIO.single("t", 1.2)))), [""; 0], "another ratio alone");
    }

    #[test]
    fn an_exception_in_one_run_alone_is_another_verdict() {
        let mut excepted = query("q", "cached", "slower", Vec::new());
        excepted.parameters.extend([ADVICE.of("keep")]);
        let first = vec![set("cached", 1.0), query("q", "cached", "slower", Vec::new())];
        let (rows, _) = lines(first, vec![set("cached", 1.0), excepted]);
        assert_eq!(rows, ["q|cached|slower|slower, excepted"]);
    }

    #[test]
    fn sets_of_the_same_rank_with_other_constants_are_not_compared_and_those_with_the_same_are() {
        let with = |name: &str, cost: f64, verdict: &str| vec![set(name, cost), query("q", name, verdict, Vec::new())];
        let (rows, _) = lines(with("tried-1", 0.5, "faster"), with("tried-2", 0.5, "slower"));
        let names = "tried-1: random_page_cost = 0.500 / tried-2: random_page_cost = 0.500";
        assert_eq!(rows, [format!("q|{names}|faster|slower")]);
        let other = compared(with("tried-1", 0.5, "faster"), with("tried-1", 2.0, "slower"));
        let [Section::List { items, .. }] = other.as_slice() else { panic!("{other:?}") };
        assert!(items[0].ends_with("tried-1: random_page_cost = 0.500, in the first run only"), "{items:?}");
        assert!(items[1].ends_with("tried-1: random_page_cost = 2.00, in the second run only"), "{items:?}");
    }

    #[test]
    fn the_set_between_the_states_is_one_set_whether_it_was_safe_or_not() {
        let with = |name: &str, verdict: &str| vec![set(name, 0.5), query("q", name, verdict, Vec::new())];
        let (rows, _) = lines(with("between", "faster"), with("safe", "slower"));
        assert_eq!(rows, ["q|between / safe|faster|slower"]);
    }

    #[test]
    fn where_no_set_could_be_compared_no_verdict_is_said_to_be_the_same() {
        assert!(compared(Vec::new(), Vec::new()).is_empty());
        let same = compared(vec![set("cached", 1.0)], vec![set("cached", 1.0)]);
        assert_eq!(same, [Section::Text(NONE.into())]);
    }
}
