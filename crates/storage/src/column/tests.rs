//! Columns in memory against the simplest program that could answer the same questions.

pub(super) mod reading;

use std::sync::Arc;

use dataset::{Column, ColumnType};
use measure::random::{SplitMix64, mix};
use measure::words::Word;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Budget, ColumnTable, Kernel, Question, Scan, Scanned, TableBuilder, UNIT_ROWS, ValueRange, ZoneMaps};
use crate::error::StorageError;
use crate::page::number;
use reading::Datum;

fn spec(name: &'static str, kind: ColumnType) -> Column {
    Column { name: name.into(), kind, is_nullable: true }
}

fn budget() -> Arc<Budget> {
    Arc::new(Budget::new(2 << 30))
}

/// Every way of scanning on this processor.
fn scans() -> Vec<Scan> {
    let kernels = Kernel::all().filter(|kernel| kernel.is_available());
    kernels.flat_map(|kernel| [ZoneMaps::On, ZoneMaps::Off].map(|zone_maps| Scan { kernel, zone_maps })).collect()
}

fn plainest() -> Scan {
    Scan { kernel: Kernel::Portable, zone_maps: ZoneMaps::Off }
}

/// One scan by one thread.
fn scanned(table: &ColumnTable, question: &Question, scan: Scan) -> Result<Scanned, StorageError> {
    table.with_workers(1, |workers| workers.scan(question, scan))
}

/// A table of one column of numbers and one of texts.
fn table(integers: &[Option<i64>], texts: &[Option<Vec<u8>>]) -> ColumnTable {
    let specs = [spec("number", ColumnType::Number), spec("text", ColumnType::Text)];
    let mut builder = TableBuilder::new(&specs, integers.len(), &budget()).unwrap();
    for (integer, text) in integers.iter().zip(texts) {
        let integer = integer.map(i64::to_le_bytes);
        builder.append_row([integer.as_ref().map(|bytes| &bytes[..]), text.as_deref()]).unwrap();
    }
    builder.finish().unwrap()
}

fn ranges(value: i64) -> [ValueRange; 5] {
    [ValueRange::above, ValueRange::at_least, ValueRange::below, ValueRange::at_most, ValueRange::equal]
        .map(|range| range(value))
}

/// Asks in every way, and compares with `expected`.
fn assert_answers(table: &ColumnTable, question: &Question, expected: usize) {
    for threads in [1, 3] {
        let answered = table.with_workers(threads, |workers| {
            for scan in scans() {
                let found = workers.scan(question, scan).unwrap();
                assert_eq!(found.count, expected as u64, "{question:?} {scan:?} by {threads} threads");
                assert_eq!(found.rows, table.rows());
                assert_eq!(found.units_read + found.units_skipped + found.units_counted, table.units() as u64);
                assert!(scan.zone_maps == ZoneMaps::On || found.units_skipped == 0);
            }
            Ok(())
        });
        answered.unwrap();
    }
}

/// Numbers of one kind a case: few, many, in runs, ascending, at the type's edges; some or all null.
fn integers() -> impl Strategy<Value = Vec<Option<i64>>> {
    let edges = vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let number = prop_oneof![
        (any::<i64>(), 0..=63_u32).prop_map(|(base, shift)| (base, u64::MAX >> shift)),
        Just((0, 0)),
        Just((1_000_000, 6)),
    ];
    let kind = (number, 0..4_u8, 0..=10_u32, any::<u64>(), proptest::sample::select(edges));
    (kind, 0..1600_usize).prop_map(|((number, kind, nulls, seed, edge), rows)| {
        let (base, spread) = number;
        let mut random = SplitMix64::new(seed);
        let value = |row: usize, random: u64| match kind {
            0 => base.wrapping_add((random & spread) as i64),
            1 => base.wrapping_add(row as i64),
            2 => base.wrapping_add((mix(row as u64 / 97) & spread) as i64),
            _ => {
                if random.is_multiple_of(8) {
                    edge
                } else {
                    base
                }
            }
        };
        (0..rows).map(|row| (random.below(10) >= u64::from(nulls)).then(|| value(row, random.next_u64()))).collect()
    })
}

/// Texts: few or many different ones, or in runs; some or all null.
fn texts(rows: usize) -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    let texts = prop_oneof![
        vec(proptest::option::weighted(0.8, vec(proptest::sample::select(b"\0Aa\xFF".to_vec()), 0..3)), rows),
        vec(proptest::option::weighted(0.9, vec(any::<u8>(), 0..40)), rows),
        vec(Just(None), rows),
        vec(Just(Some(b"A".to_vec())), rows),
    ];
    (texts, 0..2_u8).prop_map(|(mut texts, kind)| {
        if kind == 0 {
            texts.sort();
        }
        texts
    })
}

fn rows() -> impl Strategy<Value = (Vec<Option<i64>>, Vec<Option<Vec<u8>>>)> {
    integers().prop_flat_map(|integers| {
        let rows = integers.len();
        (Just(integers), texts(rows))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn values_come_back_as_they_were_appended((integers, texts) in rows()) {
        let table = table(&integers, &texts);
        prop_assert_eq!(table.rows(), integers.len() as u64);
        for (row, (integer, text)) in (0..).zip(integers.iter().zip(&texts)) {
            prop_assert_eq!(table.value(0, row), Some(integer.map_or(Datum::Null, Datum::Integer)));
            prop_assert_eq!(table.value(1, row), Some(text.as_ref().map_or(Datum::Null, |text| Datum::Text(text))));
        }
        prop_assert_eq!(table.value(0, integers.len() as u64), None);
        prop_assert_eq!(table.value(2, 0), None);
    }

    #[test]
    fn every_kernel_thread_and_zone_map_answers_as_a_loop_over_the_rows(
        (integers, texts) in rows(), at in any::<prop::sample::Index>(), other in any::<i64>(),
    ) {
        let table = table(&integers, &texts);
        let here = |row: usize| integers.get(row).copied().flatten();
        let constants = [0, other, i64::MIN, i64::MAX].into_iter()
            .chain((!integers.is_empty()).then(|| here(at.index(integers.len()))).flatten());
        let both: Vec<_> = integers.iter().zip(&texts).collect();
        for constant in constants {
            for range in ranges(constant) {
                let passes = |value: &Option<i64>| value.is_some_and(|value| range.passes(value));
                let expected = both.iter().filter(|(integer, text)| passes(integer) && text.is_some()).count();
                let predicate = Some((0, range));
                assert_answers(&table, &Question { counted: 1, predicate }, expected);
                let alone = integers.iter().filter(|integer| passes(integer)).count();
                assert_answers(&table, &Question { counted: 0, predicate }, alone);
            }
        }
        assert_answers(&table, &Question { counted: 0, predicate: None }, integers.iter().flatten().count());
        assert_answers(&table, &Question { counted: 1, predicate: None }, texts.iter().flatten().count());
    }
}

/// A table as of customers: a dense number, a year, a flag that is null at every third row.
fn customers(rows: usize, budget: &Arc<Budget>) -> Result<ColumnTable, StorageError> {
    let specs = [spec("id", ColumnType::Number), spec("year", ColumnType::Number), spec("valid", ColumnType::Text)];
    let mut builder = TableBuilder::new(&specs, rows, budget)?;
    for row in 0..rows {
        let [(id, id_bytes), (year, year_bytes)] =
            [row as i64 + 1, (1911 + mix(row as u64) % 80) as i64].map(number::encode);
        let valid: Option<&[u8]> = [Some(&b"A"[..]), Some(b"I"), None][row % 3];
        builder.append_row([Some(&id[..id_bytes]), Some(&year[..year_bytes]), valid])?;
    }
    builder.finish()
}

#[test]
fn units_that_are_full_and_one_that_is_not_answer_together() {
    let rows = 2 * UNIT_ROWS + 777;
    let table = customers(rows, &budget()).unwrap();
    assert_eq!(table.units(), 3);
    let above = |column, value| Some((column, ValueRange::above(value)));
    let not_null = rows - rows / 3;
    assert_answers(&table, &Question { counted: 2, predicate: above(0, 0) }, not_null);
    let is_counted = |row: usize| row % 3 != 2 && 1911 + mix(row as u64) % 80 > 1950;
    let expected = (0..rows).filter(|row| is_counted(*row)).count();
    assert_answers(&table, &Question { counted: 2, predicate: above(1, 1950) }, expected);
    assert_answers(&table, &Question { counted: 2, predicate: None }, not_null);
}

#[test]
fn each_column_of_customers_is_kept_as_its_values_suggest() {
    let table = customers(UNIT_ROWS, &budget()).unwrap();
    let summary = table.summary();
    let kept: Vec<String> = summary.iter().map(|column| column.encodings[0].to_string()).collect();
    assert_eq!(
        kept,
        [
            "frame of reference, 19 bits; no nulls",
            "frame of reference, 7 bits; no nulls",
            "dictionary, 1 bit; nulls in a bitmap"
        ]
    );
    assert!(summary.iter().all(|column| column.compression_ratio().unwrap() > 1.5));
    assert_eq!(summary[2].nulls, UNIT_ROWS as u64 / 3);
}

#[test]
fn zone_maps_that_are_off_decide_nothing_and_those_that_are_on_skip_what_they_can() {
    let table = customers(3 * UNIT_ROWS, &budget()).unwrap();
    let ask = |value, zone_maps| {
        let predicate = Some((0, ValueRange::above(value)));
        scanned(&table, &Question { counted: 2, predicate }, Scan { zone_maps, ..plainest() }).unwrap()
    };
    let first_unit = UNIT_ROWS as i64;
    for (value, skipped) in [(0, 3), (first_unit, 3), (first_unit + 5, 2), (i64::MAX, 3), (i64::MIN, 3)] {
        let (with, without) = (ask(value, ZoneMaps::On), ask(value, ZoneMaps::Off));
        assert_eq!(with.count, without.count);
        assert_eq!((with.units_skipped, with.units_read), (skipped, 3 - skipped));
        assert_eq!((without.units_skipped, without.units_read), (0, 3));
        // 19 bits of the number and one bit of the flag's nulls.
        assert_eq!(without.bytes, 3 * UNIT_ROWS as u64 * 20 / 8);
        assert_eq!(with.bytes, without.bytes / 3 * with.units_read);
    }
}

#[test]
fn a_table_without_rows_and_columns_without_values_answer_zero() {
    let empty = customers(0, &budget()).unwrap();
    assert_eq!((empty.rows(), empty.units(), empty.forecast(5)), (0, 0, None));
    let predicate = Some((0, ValueRange::above(0)));
    assert_eq!(scanned(&empty, &Question { counted: 2, predicate }, plainest()).unwrap(), Scanned::default());
    let nulls = table(&vec![None; 600], &vec![None; 600]);
    assert!((0..2).all(|column| nulls.columns[column].units[0].null_encoding() == "all null"));
    assert_eq!(nulls.bytes(), 0);
    assert_eq!(nulls.summary()[0].compression_ratio(), None);
}

/// Numbers that make a unit of the encoding with this name, with nulls among them and the type's edges where it can
/// hold them.
fn numbers_kept_as(encoding: &str) -> Vec<Option<i64>> {
    let (rows, edges) = (3000, [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]);
    let number = |row: u64| match encoding {
        "bit-packing" => (mix(row) >> 1) as i64,
        "frame of reference" => mix(row) as i64,
        "dictionary" => edges[(mix(row) % 7) as usize],
        _ => edges[(row / 500) as usize],
    };
    let mut numbers: Vec<Option<i64>> =
        (0..rows).map(|row| (!mix(row ^ 77).is_multiple_of(9)).then(|| number(row))).collect();
    match encoding {
        "bit-packing" => [numbers[1], numbers[2999]] = [Some(0), Some(i64::MAX)],
        "frame of reference" => [numbers[1], numbers[2999]] = [Some(i64::MIN), Some(i64::MAX)],
        _ => {}
    }
    numbers
}

#[test]
fn the_edges_of_the_type_are_compared_right_in_every_encoding_and_by_every_kernel() {
    for encoding in ["bit-packing", "frame of reference", "dictionary", "run-length"] {
        let numbers = numbers_kept_as(encoding);
        let table = table(&numbers, &vec![None; numbers.len()]);
        assert_eq!(table.columns[0].units[0].encoding(), encoding);
        for constant in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX] {
            for range in ranges(constant) {
                let expected = numbers.iter().flatten().filter(|number| range.passes(**number)).count();
                let predicate = Some((0, range));
                assert_answers(&table, &Question { counted: 0, predicate }, expected);
            }
        }
    }
}

#[test]
fn columns_of_one_value_or_of_none_answer_with_that_and_nothing_else() {
    let texts = vec![Some(b"A".to_vec()); 2000];
    for value in [None, Some(i64::MIN), Some(0), Some(i64::MAX)] {
        let table = table(&vec![value; 2000], &texts);
        for constant in [i64::MIN, -1, 0, 1, i64::MAX] {
            for range in ranges(constant) {
                let expected = if value.is_some_and(|value| range.passes(value)) { 2000 } else { 0 };
                let predicate = Some((0, range));
                assert_answers(&table, &Question { counted: 1, predicate }, expected);
            }
        }
    }
}

#[test]
fn parts_that_were_built_apart_answer_as_one_table() {
    let whole = customers(2 * UNIT_ROWS, &budget()).unwrap();
    let integers: Vec<_> = (0..2500).map(|row| (row % 7 != 0).then_some(row * 1_000_003)).collect();
    let texts: Vec<_> = (0..2500).map(|row| (row % 5 != 0).then(|| format!("{}", row % 11).into_bytes())).collect();
    let part = |rows: std::ops::Range<usize>| table(&integers[rows.clone()], &texts[rows]);
    let joined = ColumnTable::join([part(0..1000), part(1000..1000), part(1000..2500)]).unwrap();
    let together = part(0..2500);
    for row in 0..2500 {
        assert!((0..2).all(|column| joined.value(column, row) == together.value(column, row)), "row {row}");
    }
    let predicate = Some((0, ValueRange::above(1_000_000_000)));
    let question = Question { counted: 1, predicate };
    let expected = scanned(&together, &question, plainest()).unwrap().count;
    assert_answers(&joined, &question, expected as usize);
    assert!(ColumnTable::join([whole, together]).unwrap_err().to_string().contains("same columns"));
}

#[test]
fn threads_that_stay_answer_every_question_and_go_home_when_the_work_panics() {
    let rows = 5 * UNIT_ROWS;
    let table = customers(rows, &budget()).unwrap();
    let ask = |value| Question { counted: 2, predicate: Some((1, ValueRange::above(value))) };
    let alone: Vec<Scanned> = (1940..1950).map(|year| scanned(&table, &ask(year), plainest()).unwrap()).collect();
    let answered = table.with_workers(3, |workers| {
        for _ in 0..20 {
            for (year, expected) in (1940..1950).zip(&alone) {
                assert_eq!(workers.scan(&ask(year), plainest()).unwrap(), *expected);
            }
        }
        // Long enough for the threads to go to sleep.
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(workers.scan(&ask(1940), plainest()).unwrap(), alone[0]);
        let wrong = Question { counted: 0, predicate: Some((2, ValueRange::above(0))) };
        assert!(workers.scan(&wrong, plainest()).is_err());
        assert_eq!(workers.scan(&ask(1940), plainest()).unwrap(), alone[0]);
        Ok(())
    });
    answered.unwrap();
    let panicking = std::panic::AssertUnwindSafe(|| table.with_workers::<()>(3, |_| panic!("on purpose")));
    assert!(std::panic::catch_unwind(panicking).is_err());
}

#[test]
fn questions_that_cannot_be_answered_say_why() {
    let table = table(&[Some(1)], &[Some(b"a".to_vec())]);
    let refusal = |counted, column| {
        let question = Question { counted, predicate: Some((column, ValueRange::above(0))) };
        scanned(&table, &question, plainest()).unwrap_err().to_string()
    };
    assert!(refusal(0, 1).contains("column text holds texts, and numbers are compared"));
    assert!(refusal(2, 0).contains("no column 2"));
    assert!(refusal(0, 2).contains("no column 2"));
}

#[test]
fn rows_of_the_wrong_shape_are_refused_and_named() {
    let specs = [spec("number", ColumnType::Number), spec("text", ColumnType::Text)];
    let refusal = |row: &[Option<&[u8]>]| {
        let mut builder = TableBuilder::new(&specs, 10, &budget()).unwrap();
        builder.append_row(row.iter().copied()).unwrap_err().to_string()
    };
    assert!(refusal(&[None]).contains("1 columns and the table has 2"));
    assert!(refusal(&[None; 3]).contains("more columns"));
    assert!(refusal(&[Some(&[0; 9]), None]).contains("column number holds numbers, and [00, 00"));
}

#[test]
fn columns_never_take_more_memory_than_they_were_given_and_give_it_back() {
    let rows = UNIT_ROWS + 5000;
    let roomy = budget();
    let table = customers(rows, &roomy).unwrap();
    assert_eq!(roomy.taken(), table.bytes());
    drop(table);
    assert_eq!(roomy.taken(), 0);
    let just_enough = Arc::new(Budget::new(roomy.taken_max()));
    let table = customers(rows, &just_enough).unwrap();
    assert!(just_enough.taken_max() <= roomy.taken_max());
    drop(table);
    for limit in [0, 1 << 20, roomy.taken_max() - 1] {
        let tight = Arc::new(Budget::new(limit));
        let refusal = customers(rows, &tight).unwrap_err();
        assert!(matches!(refusal, StorageError::MemoryLimit { limit: said, .. } if said == limit), "{refusal}");
        assert_eq!(tight.taken(), 0);
    }
}

#[test]
fn a_small_table_foretells_what_a_large_one_takes() {
    let forecast = customers(UNIT_ROWS, &budget()).unwrap().forecast(4 * UNIT_ROWS as u64).unwrap();
    let roomy = budget();
    let table = customers(4 * UNIT_ROWS, &roomy).unwrap();
    let units: u64 = table.summary().iter().map(|column| column.bytes).sum();
    // At most a huge page of each of the three columns is unused.
    assert!((table.bytes()..=units + (6 << 20)).contains(&forecast.table_bytes), "{forecast:?} {units}");
    assert!(roomy.taken_max() <= forecast.table_bytes + forecast.building_bytes, "{roomy:?} {forecast:?}");
}
