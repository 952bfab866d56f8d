//! The tree against an ordered set of the same pairs.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::error::StorageError;
use crate::page::access::{PageAccess, PageUpdate};
use crate::page::id::{PAGE_SIZE, PageId, RowId};
use crate::page::{PageBytes, PageView};
use crate::tests::index_entries::{entries, rows_of};
use crate::tests::memory_pages::{MemoryPages, TABLE, UNDO};

/// The segment of the trees.
const INDEX: crate::page::id::SegmentId = UNDO;

/// A key of a test, as it owns it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Number(i64),
    Text(Vec<u8>),
}

impl Held {
    fn key(&self) -> Key<'_> {
        match self {
            Held::Number(number) => Key::Number(*number),
            Held::Text(text) => Key::Text(text),
        }
    }

    fn stored(&self, keys: KeyKind) -> Vec<u8> {
        self.key().encode(keys).unwrap().to_vec()
    }
}

type Model = BTreeSet<(Held, RowId)>;

type Pairs = Vec<(Held, RowId)>;

fn row(number: u32, slot: u16) -> RowId {
    RowId { page: PageId { segment: TABLE, number }, slot }
}

fn place() -> TreePlace {
    TreePlace { segment: INDEX, table: TABLE, name: "test.index".into() }
}

fn built(access: &MemoryPages, keys: KeyKind, fill_percent: u8, model: &Model) -> BTree {
    let settings = BulkSettings { keys, fill_percent, segment: INDEX };
    let fill = |add: &mut dyn FnMut(Key<'_>, RowId) -> Result<(), StorageError>| {
        model.iter().try_for_each(|(key, row)| add(key.key(), *row))
    };
    BTree::create_from(access, place(), settings, fill).unwrap()
}

/// Pairs as a walk gives them.
fn stored<'a>(tree: &BTree, pairs: impl IntoIterator<Item = &'a (Held, RowId)>) -> Vec<(Vec<u8>, RowId)> {
    pairs.into_iter().map(|(key, row)| (key.stored(tree.keys()), *row)).collect()
}

fn everything(access: &MemoryPages, tree: &BTree) -> Result<Vec<(Vec<u8>, RowId)>, StorageError> {
    entries(access, tree, (Bound::Unbounded, Bound::Unbounded))
}

fn in_bounds(key: &Held, (lower, upper): &(Bound<Held>, Bound<Held>)) -> bool {
    let is_above = match lower {
        Bound::Unbounded => true,
        Bound::Included(low) => key >= low,
        Bound::Excluded(low) => key > low,
    };
    let is_below = match upper {
        Bound::Unbounded => true,
        Bound::Included(high) => key <= high,
        Bound::Excluded(high) => key < high,
    };
    is_above && is_below
}

fn keys_of(bound: &Bound<Held>) -> Bound<Key<'_>> {
    bound.as_ref().map(Held::key)
}

/// Whether the tree holds the same as the set, by every way into it.
fn check(access: &MemoryPages, tree: &BTree, model: &Model, probes: &[Held]) -> Result<(), TestCaseError> {
    prop_assert_eq!(everything(access, tree).unwrap(), stored(tree, model));
    prop_assert_eq!(tree.built().entries, model.len() as u64);
    for probe in probes {
        let rows: Vec<RowId> = model.iter().filter(|(key, _)| key == probe).map(|(_, row)| *row).collect();
        prop_assert_eq!(rows_of(access, tree, probe.key()).unwrap(), rows, "{:?}", probe);
    }
    for pair in probes.windows(2) {
        for lower in [Bound::Unbounded, Bound::Included(pair[0].clone()), Bound::Excluded(pair[0].clone())] {
            for upper in [Bound::Unbounded, Bound::Included(pair[1].clone()), Bound::Excluded(pair[1].clone())] {
                let bounds = (lower.clone(), upper);
                let expected = stored(tree, model.iter().filter(|(key, _)| in_bounds(key, &bounds)));
                let range = entries(access, tree, (keys_of(&bounds.0), keys_of(&bounds.1))).unwrap();
                prop_assert_eq!(range, expected, "{:?}", bounds);
            }
        }
    }
    // Every page is one that could stand on a disk.
    for number in 0..tree.built().pages {
        let id = PageId { segment: INDEX, number };
        let mut bytes = *access.get(id).unwrap();
        if PageView::verified(&bytes).kind().is_some() {
            crate::page::PageMut::verified(&mut bytes).seal();
            prop_assert!(node::NodeView::verify(&bytes, id).is_ok(), "{:?}", node::NodeView::verify(&bytes, id));
        }
    }
    Ok(())
}

fn number() -> impl Strategy<Value = Held> {
    let edges = prop_oneof![Just(i64::MIN), Just(i64::MIN + 1), Just(-1), Just(0), Just(i64::MAX - 1), Just(i64::MAX)];
    prop_oneof![4 => -50..50_i64, 1 => any::<i64>(), 1 => edges, 4 => 0..3000_i64].prop_map(Held::Number)
}

fn text() -> impl Strategy<Value = Held> {
    let long = (0..4_usize, vec(0..2_u8, 0..8), 900..KEY_BYTES_MAX - 8)
        .prop_map(|(letter, end, length)| [vec![b"abc\0"[letter]; length], end].concat());
    prop_oneof![vec(0..2_u8, 0..6), vec(any::<u8>(), 0..20), long.clone(), long].prop_map(Held::Text)
}

fn pairs(key: impl Strategy<Value = Held>, count: usize) -> impl Strategy<Value = Pairs> {
    vec((key, (0..5_u32, 0..4_u16)).prop_map(|(key, (number, slot))| (key, row(number, slot))), 0..count)
}

fn built_alike(pairs: Pairs, probes: &[Held], (keys, fill): (KeyKind, u8)) -> Result<(), TestCaseError> {
    let access = MemoryPages::blank(INDEX, 400);
    let model: Model = pairs.into_iter().collect();
    check(&access, &built(&access, keys, fill, &model), &model, probes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_tree_of_texts_holds_what_an_ordered_set_holds(
        pairs in pairs(text(), 300), probes in vec(text(), 5), fill in 50..=100_u8,
    ) {
        built_alike(pairs, &probes, (KeyKind::Text, fill))?;
    }

    #[test]
    fn a_tree_of_numbers_holds_what_an_ordered_set_holds(
        pairs in pairs(number(), 5000), probes in vec(number(), 5), fill in 50..=100_u8,
    ) {
        built_alike(pairs, &probes, (KeyKind::Number, fill))?;
    }
}

/// Texts of nearly 1000 bytes, three at a time alike but for their ends: a few thousand make a tree of several levels.
/// A leaf holds eight, so it often ends between two that are alike, and what separates two leaves is as long too.
fn family_text(number: u64) -> Held {
    let family = (number / 3).to_be_bytes();
    Held::Text([family.to_vec(), vec![family[7]; 970], number.to_be_bytes().to_vec()].concat())
}

#[test]
fn a_tree_of_several_levels_of_long_texts_holds_all_of_them() {
    let access = MemoryPages::blank(INDEX, 6000);
    let model: Model = (0..4000).map(|number| (family_text(number), row(1, 1))).collect();
    let tree = built(&access, KeyKind::Text, 100, &model);
    check(&access, &tree, &model, &[]).unwrap();
    assert!(tree.built().height >= 3, "{}", tree.built().height);
}

/// The same, eight at a time alike, so that each leaf ends between two that are: what separates nodes of all levels is
/// long, and a node above the leaves has nine children.
fn eight_alike(number: u64) -> Held {
    let family = ((number + 4) / 8).to_be_bytes();
    Held::Text([family.to_vec(), vec![family[7]; 970], number.to_be_bytes().to_vec()].concat())
}

#[test]
fn a_node_that_is_full_when_the_tree_is_finished_is_not_lost_with_all_below_it() {
    let mut highest = 0;
    for count in (560..800).step_by(3) {
        let access = MemoryPages::blank(INDEX, 200);
        let model: Model = (0..count).map(|number| (eight_alike(number), row(1, 1))).collect();
        let tree = built(&access, KeyKind::Text, 100, &model);
        assert!(everything(&access, &tree).unwrap() == stored(&tree, &model), "{count} entries");
        highest = highest.max(tree.built().height);
    }
    assert!(highest >= 4, "{highest}");
}

#[test]
fn one_key_with_more_rows_than_a_leaf_holds_keeps_all_of_them_in_order() {
    let access = MemoryPages::blank(INDEX, 100);
    let rows: Vec<RowId> = (0..5000).map(|number| row(number / 7, (number % 7) as u16)).collect();
    let model: Model = rows.iter().map(|row| (Held::Text(b"the same".to_vec()), *row)).collect();
    let tree = built(&access, KeyKind::Text, 90, &model);
    assert!(tree.built().leaves > 5);
    assert_eq!(rows_of(&access, &tree, Key::Text(b"the same")).unwrap(), rows);
    assert!(rows_of(&access, &tree, Key::Text(b"the sam")).unwrap().is_empty());
    assert_eq!(tree.built().clustering_factor, u64::from(4999_u32 / 7 + 1));
}

#[test]
fn the_clustering_factor_lies_between_the_pages_and_the_rows_of_a_table() {
    let access = MemoryPages::blank(INDEX, 100);
    let in_order: Model = (0..3000).map(|at| (Held::Number(at), row(at as u32 / 30, (at % 30) as u16))).collect();
    assert_eq!(built(&access, KeyKind::Number, 100, &in_order).built().clustering_factor, 100);
    let across: Model = (0..3000).map(|at| (Held::Number(at), row(at as u32 % 100, (at / 100) as u16))).collect();
    assert_eq!(built(&access, KeyKind::Number, 100, &across).built().clustering_factor, 3000);
}

#[test]
fn entries_out_of_order_or_twice_are_refused_in_a_bulk_build() {
    let access = MemoryPages::blank(INDEX, 10);
    let settings = BulkSettings { keys: KeyKind::Number, fill_percent: 100, segment: INDEX };
    for second in [Key::Number(4), Key::Number(5)] {
        let error = BTree::create_from(&access, place(), settings, |add| {
            add(Key::Number(5), row(1, 1))?;
            add(second, row(1, 1))
        });
        assert!(error.unwrap_err().to_string().contains("entry 1 of an index does not come after"));
    }
    let too_full = BTree::create_from(&access, place(), BulkSettings { fill_percent: 101, ..settings }, |_| Ok(()));
    assert!(too_full.unwrap_err().to_string().contains("50 to 100 %"));
}

#[test]
fn keys_that_cannot_be_indexed_say_why() {
    let access = MemoryPages::blank(INDEX, 10);
    let settings = BulkSettings { keys: KeyKind::Text, fill_percent: 100, segment: INDEX };
    let refusal = |key: Key<'_>| {
        BTree::create_from(&access, place(), settings, |add| add(key, row(0, 0))).unwrap_err().to_string()
    };
    assert!(refusal(Key::Text(&[b'x'; 1001])).contains("1000 bytes can"));
    assert!(refusal(Key::Number(7)).contains("a number was given"));
}

/// A tree of some leaves, of which `change` changes one page.
fn spoilt(number: u32, change: impl FnOnce(&mut PageBytes)) -> (MemoryPages, BTree) {
    let access = MemoryPages::blank(INDEX, 100);
    let model: Model = (0..30_000).map(|at| (Held::Number(at), row(at as u32, 0))).collect();
    let tree = built(&access, KeyKind::Number, 100, &model);
    change(&mut access.get_mut(PageId { segment: INDEX, number }).unwrap());
    (access, tree)
}

#[test]
fn links_that_lead_in_a_ring_or_astray_end_in_an_error_that_names_the_page() {
    let message = |access: &MemoryPages, tree: &BTree| everything(access, tree).unwrap_err().to_string();
    let link = |to: u32| move |page: &mut PageBytes| crate::page::put(page, node::field::LINK, to.to_le_bytes());
    let (access, tree) = spoilt(3, link(1));
    assert!(message(&access, &tree).contains("test.index: page 1 is damaged (it does not come after the leaf"));
    let (access, tree) = spoilt(3, link(3));
    assert!(message(&access, &tree).contains("page 3 is damaged"));
    let root = tree.built().pages - 1;
    let (access, tree) = spoilt(3, link(root));
    assert!(message(&access, &tree).contains("it has level 1 and should have 0"));
    let (access, tree) = spoilt(3, link(5000));
    assert!(message(&access, &tree).contains("there is no page"));
    let (access, tree) = spoilt(root, link(root));
    assert!(message(&access, &tree).contains(&format!("page {root} is damaged (it has level 1 and should have 0")));
    // An empty leaf that leads to itself.
    let access = MemoryPages::blank(INDEX, 1);
    let tree = built(&access, KeyKind::Number, 100, &Model::new());
    link(0)(&mut access.get_mut(PageId { segment: INDEX, number: 0 }).unwrap());
    assert!(message(&access, &tree).contains("page 0 is damaged"));
    let (access, tree) = spoilt(3, |page| *page = [0; PAGE_SIZE]);
    assert!(message(&access, &tree).contains("page 3 is damaged (it is no node of this index"));
}

#[test]
fn an_empty_index_has_one_leaf_and_finds_nothing() {
    let access = MemoryPages::blank(INDEX, 1);
    let tree = built(&access, KeyKind::Number, 100, &Model::new());
    assert_eq!((tree.built().pages, tree.built().leaves, tree.built().height, tree.built().entries), (1, 1, 1, 0));
    assert!(everything(&access, &tree).unwrap().is_empty());
    assert!(rows_of(&access, &tree, Key::Number(0)).unwrap().is_empty());
    assert!(rows_of(&access, &tree, Key::Text(b"0")).is_err());
}

#[test]
fn readers_beside_each_other_find_the_same() {
    let access = MemoryPages::blank(INDEX, 100);
    let model: Model = (0..20_000).map(|at| (Held::Number(at * 3), row(at as u32, 0))).collect();
    let tree = built(&access, KeyKind::Number, 80, &model);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (access, tree, model) = (&access, &tree, &model);
            scope.spawn(move || {
                let low = Held::Number(thread * 1000);
                let range = entries(access, tree, (Bound::Excluded(low.key()), Bound::Unbounded)).unwrap();
                assert_eq!(range, stored(tree, model.iter().filter(|(key, _)| *key > low)));
            });
        }
    });
}
