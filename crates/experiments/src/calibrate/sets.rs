//! Sets of constants: all that were measured or none, in the units that the server's other costs are in.
//!
//! The cost of a row keeps the server's value, so that what is compared with costs keeps its meaning: the parallel
//! costs, the limits of compilation, the costs of functions. A constant that does not repeat itself is withheld, and
//! what takes its place keeps the server's own ratio to its neighbour.

pub(super) use measure::schema::calibrate::{BETWEEN, SAFE, SET_CONSTANTS as CONSTANTS};
use measure::sorting;
use measure::statistics::median;

use super::estimate::{Estimate, ratio};

/// A constant whose passes differ by more than this many times is withheld.
pub(super) const SPREAD_MAX: f64 = 1.5;

/// Steps a decade of the values that are given: two runs that differ by less than a step differ by one step at most.
const STEPS: f64 = 10.0;

/// The constant whose value stays, and by which the others are measured.
pub(super) const SCALE: &str = "cpu_tuple_cost";
pub(super) const SEQ_PAGE: &str = "seq_page_cost";
pub(super) const RANDOM_PAGE: &str = "random_page_cost";
pub(super) const OPERATOR: &str = "cpu_operator_cost";
pub(super) const INDEX_TUPLE: &str = "cpu_index_tuple_cost";

/// The values of a set, one for each of [`CONSTANTS`], in their order.
type Values = [f64; CONSTANTS.len()];

/// PostgreSQL's own values with a block at random at what is said of solid-state disks: the advice that a user finds
/// everywhere; and the cost of a row by which they are meant.
const USUAL_ADVICE: Values = [1.0, 1.1, USUAL_SCALE, 0.005, 0.0025];
const USUAL_SCALE: f64 = 0.01;

/// Sets for blocks that are in memory, in the same unit. The first has PostgreSQL's own values with both blocks at an
/// eighth: they are cheap against rows, and a block at random stays at four times one in sequence. Where the two cost
/// the same, long queries do not get plans that read whole tables. The second has both costs low against those of rows,
/// which PostgreSQL's documentation advises there. Its values are those of a tried set that gains much on each of
/// several data sets.
///
/// Source: docs/decisions/0023 on the first; PostgreSQL 18, "Planner Cost Constants", on databases that are cached, and
/// docs/decisions/0016 on the values of the second.
const MEMORY_ADVICE: [(&str, Values); 2] = [
    ("eighth-pages", [0.125, 0.5, USUAL_SCALE, 0.005, 0.0025]),
    ("in-memory", [0.25, 0.275, USUAL_SCALE, 0.005, 0.001]),
];

/// PostgreSQL's own values with a block at random at half of its cost, and with both blocks at half: what was advised
/// most often where nothing was cached. A block at random stays at two or four times one in sequence; for blocks in
/// memory, the two cost nearly the same. And with both blocks at twice their cost: where large tables are read from a
/// disk, blocks cost more against rows than PostgreSQL assumes.
///
/// Source: docs/decisions/0022 and 0029.
const DISK_ADVICE: [(&str, Values); 3] = [
    ("random-2", [1.0, 2.0, USUAL_SCALE, 0.005, 0.0025]),
    ("half-pages", [0.5, 2.0, USUAL_SCALE, 0.005, 0.0025]),
    ("double-pages", [2.0, 8.0, USUAL_SCALE, 0.005, 0.0025]),
];

/// What is tried on the user's own queries besides: blocks at a part of the server's own cost, a block at random at
/// this many times one in sequence where it is not the server's own ratio, and operators at this part of their cost.
///
/// They are parts of the server's own costs and not of what was measured: two runs then choose among the same sets.
const PARTS: [f64; 5] = [1.0, 0.5, 0.25, 0.125, 0.0625];
/// The same where nothing is cached: a disk can be slower than the server's own costs assume, too.
const PARTS_COLD: [f64; 7] = [1.0, 0.5, 0.25, 0.125, 0.0625, 2.0, 4.0];
const RATIOS: [Option<f64>; 3] = [None, Some(2.0), Some(1.1)];
const OPERATORS: [f64; 2] = [1.0, 0.4];

/// The names of the server's own constants, and of what is advised everywhere.
const OWN: &str = "now";
const USUAL: &str = "random-1.1";

/// The name of a set that is one of many.
pub(super) const TRIED: &str = "tried";

/// Those of them that are shown: the one that is advised, and the next best.
pub(super) const LEFT: [&str; 3] = ["tried-1", "tried-2", "tried-3"];

/// A set with its name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConstantSet {
    pub(super) name: &'static str,
    /// Empty for the server's own.
    pub(super) values: Vec<(&'static str, f64)>,
}

/// A cost in several passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Passes {
    /// Microseconds, the samples of each pass.
    pub(super) passes: Vec<Vec<f64>>,
}

/// What passes say of a constant, in units of the row's cost at the server's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settled {
    /// The median of the passes, with the interval of the pass in the middle.
    pub(super) value: Estimate,
    /// The largest pass over the least.
    pub(super) spread: f64,
    /// Whether it repeats itself and is above 0 for sure.
    pub(super) is_given: bool,
}

impl Passes {
    /// All samples.
    pub(super) fn samples(&self) -> Vec<f64> {
        self.passes.concat()
    }

    /// Whether each pass has samples that can differ.
    pub(super) fn have_intervals(&self) -> bool {
        self.passes.iter().all(|pass| pass.len() > 1)
    }

    /// The cost as a multiple of `row`'s, times the server's value for that.
    pub(super) fn settled(&self, row: &Passes, scale: f64) -> Option<Settled> {
        let of_pass = |(over, under): (&Vec<f64>, &Vec<f64>)| ratio(over, under);
        let mut found: Vec<Estimate> = self.passes.iter().zip(&row.passes).filter_map(of_pass).collect();
        if found.is_empty() || found.len() < self.passes.len() {
            return None;
        }
        sorting::by(&mut found, |one, other| one.value.total_cmp(&other.value));
        let middle = found[found.len() / 2];
        let value = median(&found.iter().map(|pass| pass.value).collect::<Vec<_>>())?;
        let [low, high] = [found[0].value, found[found.len() - 1].value];
        let spread = if low > 0.0 { high / low } else { f64::INFINITY };
        let is_given = spread <= SPREAD_MAX && middle.low > 0.0 && value * scale > 0.0;
        let value = Estimate { value: value * scale, low: middle.low * scale, high: middle.high * scale };
        Some(Settled { value, spread, is_given })
    }
}

/// All constants from what was settled, and the server's own values; `None` where a block has no cost to go by.
pub(super) fn of_measured(
    name: &'static str,
    settled: impl Fn(&'static str) -> Option<Settled>,
    now: impl Fn(&'static str) -> f64,
) -> Option<ConstantSet> {
    let given = |name| settled(name).filter(|settled| settled.is_given).map(|settled| rounded(settled.value.value));
    let page = given(SEQ_PAGE);
    let random = given(RANDOM_PAGE);
    // A block that is withheld follows the other one by the server's own ratio.
    let (page, random) = match (page, random) {
        (Some(page), Some(random)) => (page, random.max(page)),
        (Some(page), None) => (page, page * own_ratio(&now)?),
        (None, Some(random)) => (random / own_ratio(&now)?.max(1.0), random),
        (None, None) => return None,
    };
    let value = |name: &'static str| match name {
        SEQ_PAGE => page,
        RANDOM_PAGE => random,
        SCALE => now(SCALE),
        // The row keeps its value, so a cost that is withheld keeps its ratio to it by staying.
        other => given(other).unwrap_or_else(|| now(other)),
    };
    Some(ConstantSet { name, values: CONSTANTS.map(|name| (name, value(name))).into() })
}

/// The server's own cost of a block at random in blocks in sequence; `None` where these cost nothing.
fn own_ratio(now: impl Fn(&'static str) -> f64) -> Option<f64> {
    (now(SEQ_PAGE) > 0.0).then(|| now(RANDOM_PAGE) / now(SEQ_PAGE))
}

/// The constants that others are multiples of, where the server has them at 0.
pub(super) fn zero(now: impl Fn(&'static str) -> f64) -> Vec<&'static str> {
    [SEQ_PAGE, SCALE].into_iter().filter(|name| now(name) == 0.0).collect()
}

/// The set between the sets of several states: geometric means of its blocks' costs.
pub(super) fn between(name: &'static str, sets: &[ConstantSet]) -> Option<ConstantSet> {
    let first = sets.first().filter(|_| sets.len() > 1)?;
    let mean = |at: usize| {
        let logarithms = sets.iter().map(|set| set.values[at].1.ln());
        rounded((logarithms.sum::<f64>() / sets.len() as f64).exp())
    };
    let values = first.values.iter().enumerate().map(|(at, (name, value))| match *name {
        SEQ_PAGE | RANDOM_PAGE => (*name, mean(at)),
        name => (name, *value),
    });
    Some(ConstantSet { name, values: values.collect() })
}

/// The server's own constants.
pub(super) fn own() -> ConstantSet {
    ConstantSet { name: OWN, values: Vec::new() }
}

/// What is advised everywhere, in the unit of the server's cost of a row.
pub(super) fn usual_advice(row: f64) -> ConstantSet {
    by_row(USUAL, USUAL_ADVICE, row)
}

/// What is advised where blocks are in memory, in the same unit.
pub(super) fn memory_advice(row: f64) -> [ConstantSet; 2] {
    MEMORY_ADVICE.map(|(name, values)| by_row(name, values, row))
}

/// What is advised where nothing is cached, in the same unit.
pub(super) fn disk_advice(row: f64) -> [ConstantSet; 3] {
    DISK_ADVICE.map(|(name, values)| by_row(name, values, row))
}

fn by_row(name: &'static str, values: Values, row: f64) -> ConstantSet {
    let scale = if row > 0.0 { row / USUAL_SCALE } else { 1.0 };
    ConstantSet { name, values: CONSTANTS.into_iter().zip(values.map(|value| value * scale)).collect() }
}

/// Sets from the server's own constants to cheap blocks, and where nothing is cached to dear ones, none of them among
/// `others`; none where blocks cost nothing.
pub(super) fn tried(now: impl Fn(&'static str) -> f64, is_cold: bool, others: &[ConstantSet]) -> Vec<ConstantSet> {
    let Some(own) = own_ratio(&now) else { return Vec::new() };
    let parts = if is_cold { &PARTS_COLD[..] } else { &PARTS };
    let mut sets = others.to_vec();
    for operators in OPERATORS {
        for part in parts {
            for times in RATIOS {
                let page = now(SEQ_PAGE) * part;
                let value = |name: &'static str| match name {
                    SEQ_PAGE => page,
                    RANDOM_PAGE => page * times.unwrap_or(own),
                    OPERATOR => now(OPERATOR) * operators,
                    other => now(other),
                };
                let values: Vec<(&'static str, f64)> = CONSTANTS.map(|name| (name, value(name))).into();
                let is_own = values.iter().all(|(name, value)| *value == now(name));
                if !is_own && !sets.iter().any(|set| set.values == values) {
                    sets.push(ConstantSet { name: TRIED, values });
                }
            }
        }
    }
    sets.split_off(others.len())
}

impl ConstantSet {
    /// Whether it is one of many that are only tried.
    pub(super) fn is_tried(&self) -> bool {
        self.name == TRIED || LEFT.contains(&self.name)
    }

    /// Whether it is what is advised everywhere.
    pub(super) fn is_usual(&self) -> bool {
        self.name == USUAL
    }

    /// Whether it is one of those for blocks that are in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        MEMORY_ADVICE.iter().any(|(name, _)| *name == self.name)
    }

    /// Whether it is one of those for queries that run with nothing cached.
    pub(super) fn is_for_disks(&self) -> bool {
        DISK_ADVICE.iter().any(|(name, _)| *name == self.name)
    }

    /// Whether its values come from what was measured, and so differ a little from run to run.
    pub(super) fn is_measured(&self) -> bool {
        !self.is_tried() && !self.is_for_disks() && !self.is_in_memory() && ![OWN, USUAL].contains(&self.name)
    }

    /// How far it is from the server's own constants: of each, the logarithm of how many times as large or small it is,
    /// summed.
    pub(super) fn distance(&self, now: impl Fn(&'static str) -> f64) -> f64 {
        let of = |(name, value): &(&'static str, f64)| (value / now(name)).ln().abs();
        self.values.iter().map(of).filter(|one| one.is_finite()).sum()
    }
}

/// Whether a set is one of the known ones: what is advised everywhere and the sets for blocks that are in memory, or
/// where those for disks were tried, because nothing was cached, these.
pub(super) fn is_known(sets: &[ConstantSet], set: usize) -> bool {
    match sets.iter().any(ConstantSet::is_for_disks) {
        true => sets[set].is_for_disks(),
        false => sets[set].is_usual() || sets[set].is_in_memory(),
    }
}

/// A value at one of ten steps a decade, with two digits; 0 where it is not above that.
pub(super) fn rounded(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let step = 10f64.powf((value.log10() * STEPS).round() / STEPS);
    let digits = 10f64.powf(step.log10().floor() - 1.0);
    (step / digits).round() * digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(values: &[[f64; 3]]) -> Passes {
        Passes { passes: values.iter().map(|pass| pass.to_vec()).collect() }
    }

    fn now(name: &str) -> f64 {
        match name {
            SEQ_PAGE => 1.0,
            RANDOM_PAGE => 4.0,
            SCALE => 0.01,
            "cpu_index_tuple_cost" => 0.005,
            _ => 0.0025,
        }
    }

    fn settled(value: f64, is_given: bool) -> Option<Settled> {
        Some(Settled { value: Estimate { value, low: value, high: value }, spread: 1.0, is_given })
    }

    #[test]
    fn a_cost_is_given_in_the_servers_unit_and_only_where_its_passes_agree() {
        let row = passes(&[[0.05, 0.05, 0.05], [0.06, 0.06, 0.06], [0.05, 0.05, 0.05]]);
        let steady = passes(&[[0.5, 0.51, 0.49], [0.6, 0.61, 0.6], [0.55, 0.55, 0.54]]).settled(&row, 0.01).unwrap();
        assert!(steady.is_given && (steady.value.value - 0.1).abs() < 1e-9 && steady.spread < 1.2, "{steady:?}");
        let moving = passes(&[[0.5, 0.5, 0.5], [0.9, 0.9, 0.9], [0.45, 0.45, 0.45]]).settled(&row, 0.01).unwrap();
        assert!(!moving.is_given && moving.spread > SPREAD_MAX, "{moving:?}");
        let through_zero = passes(&[[0.01, -0.01, 0.02]; 3]).settled(&row, 0.01).unwrap();
        assert!(!through_zero.is_given, "{through_zero:?}");
    }

    #[test]
    fn all_constants_stand_in_a_set_and_the_row_keeps_its_value() {
        let set = of_measured("cached", |name| if name == SCALE { None } else { settled(0.08, true) }, now).unwrap();
        assert_eq!(set.values.iter().map(|(name, _)| *name).collect::<Vec<_>>(), CONSTANTS);
        assert_eq!(set.values[2].1, 0.01);
    }

    #[test]
    fn a_constant_that_is_withheld_keeps_the_servers_ratio_to_its_neighbour() {
        let of = |page: bool, random: bool| {
            let settled = move |name: &'static str| match name {
                SEQ_PAGE => settled(0.1, page),
                RANDOM_PAGE => settled(0.2, random),
                _ => settled(9.0, false),
            };
            of_measured("cached", settled, now)
                .map(|set| set.values.iter().map(|(_, value)| *value).collect::<Vec<_>>())
        };
        assert_eq!(of(true, true), Some(vec![0.1, 0.2, 0.01, 0.005, 0.0025]));
        assert_eq!(of(true, false), Some(vec![0.1, 0.4, 0.01, 0.005, 0.0025]));
        assert_eq!(of(false, true), Some(vec![0.05, 0.2, 0.01, 0.005, 0.0025]));
        assert_eq!(of(false, false), None);
    }

    #[test]
    fn what_is_advised_everywhere_keeps_its_ratios_on_a_server_with_another_cost_of_a_row() {
        let values = |row| usual_advice(row).values.into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(values(0.01), [1.0, 1.1, 0.01, 0.005, 0.0025]);
        assert_eq!(values(0.02), [2.0, 2.2, 0.02, 0.01, 0.005]);
        assert_eq!(values(0.0), values(0.01), "no unit to go by");
        let blocks = |row| disk_advice(row).map(|set| (set.name, set.values[0].1, set.values[1].1));
        assert_eq!(blocks(0.02), [("random-2", 2.0, 4.0), ("half-pages", 1.0, 4.0), ("double-pages", 4.0, 16.0)]);
    }

    #[test]
    fn no_advised_value_stands_in_the_place_of_another_constant() {
        assert!([SEQ_PAGE, RANDOM_PAGE, SCALE, OPERATOR].iter().all(|name| CONSTANTS.contains(name)));
        let sets = [&[usual_advice(0.01)][..], &memory_advice(0.01), &disk_advice(0.01)].concat();
        assert_eq!(sets.len(), 6);
        for set in sets {
            let dearest = if set.name == "double-pages" { 2.0 } else { 1.0 };
            for (name, value) in &set.values {
                // Advice changes these three, and leaves all others at PostgreSQL's own value.
                let (least, most) = match *name {
                    SEQ_PAGE | RANDOM_PAGE | OPERATOR => (now(name) / 20.0, now(name) * dearest),
                    _ => (now(name), now(name)),
                };
                assert!((least..=most).contains(value), "{name}: {set:?}");
            }
        }
    }

    #[test]
    fn a_server_whose_blocks_or_rows_cost_nothing_gets_no_value_that_is_no_number() {
        for zeros in [&[SEQ_PAGE][..], &[RANDOM_PAGE], &[SCALE], &[SEQ_PAGE, RANDOM_PAGE], &CONSTANTS] {
            let now = |name: &'static str| if zeros.contains(&name) { 0.0 } else { now(name) };
            let mut sets = tried(now, true, &[usual_advice(now(SCALE))]);
            for (page, random) in [(true, true), (true, false), (false, true)] {
                let settled = |name: &'static str| match name {
                    SEQ_PAGE => settled(0.1, page),
                    RANDOM_PAGE => settled(0.2, random),
                    _ => settled(9.0, false),
                };
                sets.extend(of_measured("cached", settled, now));
            }
            sets.extend(between(BETWEEN, &sets.clone()));
            let is_number = |set: &ConstantSet| set.values.iter().all(|(_, value)| value.is_finite() && *value >= 0.0);
            assert!(sets.iter().all(is_number), "{zeros:?}: {sets:?}");
            assert!(!zeros.contains(&SEQ_PAGE) || sets.iter().all(|set| !set.is_tried()), "{zeros:?}: {sets:?}");
        }
        assert_eq!((zero(now), zero(|_| 0.0)), (vec![], vec![SEQ_PAGE, SCALE]));
        let row = passes(&[[0.05; 3]; 3]);
        assert!(!row.settled(&row, 0.0).unwrap().is_given, "no multiple of nothing");
        assert_eq!(rounded(0.0), 0.0);
    }

    #[test]
    fn values_a_tenth_apart_are_given_as_the_same_or_as_neighbours() {
        assert_eq!([0.1, 0.0996, 0.098, 1.26, 0.0249].map(rounded), [0.1, 0.1, 0.1, 1.3, 0.025]);
        for value in [0.0123, 0.7, 3.3, 41.0] {
            for part in [0.85, 0.95, 1.05, 1.15] {
                let apart = rounded(value * part) / rounded(value);
                assert!((0.76..1.32).contains(&apart), "{value} {part} {apart}");
            }
        }
    }

    #[test]
    fn each_set_that_is_tried_differs_from_the_others_and_the_least_change_comes_first() {
        let sets = tried(now, false, &[usual_advice(0.01)]);
        assert!(sets.len() > 20, "{}", sets.len());
        let dearest = |sets: &[ConstantSet]| sets.iter().map(|set| set.values[0].1).fold(0.0, f64::max);
        assert_eq!([&sets, &tried(now, true, &[])].map(|sets| dearest(sets)), [1.0, 4.0], "dear blocks are on a disk");
        for (at, set) in sets.iter().enumerate() {
            assert!(sets[..at].iter().all(|other| other.values != set.values), "{set:?}");
            assert!(set.values != usual_advice(0.01).values && set.values != CONSTANTS.map(|name| (name, now(name))));
        }
        let of =
            |set: &ConstantSet, name: &str| set.values.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
        assert_eq!((of(&sets[0], SEQ_PAGE), of(&sets[0], RANDOM_PAGE)), (Some(1.0), Some(2.0)));
        assert!(sets.iter().all(|set| of(set, SCALE) == Some(0.01)), "a row keeps its value");
    }

    #[test]
    fn the_nearest_to_what_is_set_has_the_least_distance_and_measured_sets_are_known_by_their_names() {
        let distance = |part: f64, times: f64| {
            let values = vec![(SEQ_PAGE, part), (RANDOM_PAGE, part * times), (SCALE, 0.01)];
            ConstantSet { name: TRIED, values }.distance(now)
        };
        assert!(distance(1.0, 4.0) < distance(1.0, 2.0) && distance(1.0, 2.0) < distance(0.5, 4.0));
        assert!(distance(0.5, 4.0) < distance(0.25, 4.0) && distance(0.25, 4.0) < distance(0.0625, 1.1));
        let is_measured = |name| ConstantSet { name, values: Vec::new() }.is_measured();
        assert_eq!(["cold", "system", "cached", BETWEEN, SAFE].map(is_measured), [true; 5]);
        let known = ["now", "random-1.1", "random-2", "half-pages", "double-pages", "eighth-pages", "in-memory"];
        assert_eq!(known.map(is_measured), [false; 7]);
        assert_eq!([TRIED, LEFT[0]].map(is_measured), [false; 2]);
    }

    #[test]
    fn the_set_between_states_lies_between_their_blocks() {
        let set = |page: f64, random: f64| ConstantSet {
            name: "one",
            values: CONSTANTS.into_iter().zip([page, random, 0.01, 0.005, 0.0025]).collect(),
        };
        let middle = between(BETWEEN, &[set(0.1, 0.1), set(10.0, 40.0)]).unwrap();
        assert_eq!((middle.values[0].1, middle.values[1].1, middle.values[2].1), (1.0, 2.0, 0.01));
        assert_eq!(between(BETWEEN, &[set(0.1, 0.1)]), None);
    }
}
