//! What holds for every row of the table of devices.

use std::io::Write;
use std::path::{Path, PathBuf};

use device::{DEVICES, Device, Slots, Witnesses};
use measure::random::SplitMix64;
use sys::file::{Caching, Target};
use sys::read::{ReadMethod, ReadRequest, Wait};
use tempfile::NamedTempFile;

const BLOCK: usize = 8192;

/// A file of this many blocks, each filled with its own number.
const BLOCKS: u64 = 64;

fn file() -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    (0..BLOCKS).for_each(|number| file.write_all(&[number as u8; BLOCK]).unwrap());
    file
}

/// Words that open devices: a file, and the examples of every row.
fn words(file: &NamedTempFile) -> Vec<PathBuf> {
    let examples = DEVICES.iter().flat_map(|row| (row.examples)()).map(PathBuf::from);
    [file.path().to_path_buf()].into_iter().chain(examples).collect()
}

fn devices(file: &NamedTempFile) -> Vec<Box<dyn Device>> {
    words(file).iter().map(|word| device::open(word, Caching::Buffered).unwrap()).collect()
}

fn slots(depth: usize) -> Slots {
    Slots { method: None, depth, bytes: BLOCK, pages: sys::memory::Pages::Huge }
}

/// Reads `count` random blocks and returns how many ended, each of them whole and once.
fn ended(device: &dyn Device, method: &mut dyn ReadMethod, count: usize) -> usize {
    let mut random = SplitMix64::new(7);
    let blocks = device.size() / BLOCK as u64;
    let (mut free, mut done, mut issued, mut ended): (Vec<usize>, _, _, _) =
        ((0..method.depth()).collect(), Vec::new(), 0, 0);
    while ended < count {
        while let Some(slot) = free.pop_if(|_| issued < count) {
            // The last block first: what lies at the end can be read.
            let number = if issued == 0 { blocks - 1 } else { random.below(blocks) };
            method.queue(ReadRequest { offset: number * BLOCK as u64, length: BLOCK, slot });
            issued += 1;
        }
        method.reap(Wait { at_least: 1, timeout: None }, &mut done).unwrap();
        for completion in done.drain(..) {
            assert_eq!(completion.result.unwrap(), BLOCK, "{}", device.name());
            assert!(!free.contains(&completion.slot), "{}: a read ended twice", device.name());
            free.push(completion.slot);
            ended += 1;
        }
    }
    ended
}

#[test]
fn every_read_of_every_device_ends_once_and_whole_at_any_depth() {
    let file = file();
    for device in devices(&file) {
        for depth in [1, 4, 32] {
            let mut opened = device.open(&[slots(depth)]).unwrap();
            let method = opened.methods[0].as_mut();
            assert_eq!(method.depth(), depth, "{}", device.name());
            assert_eq!(ended(device.as_ref(), method, 200), 200, "{}", device.name());
        }
    }
}

#[test]
fn a_team_has_a_method_for_each_member_and_each_can_be_read_at_the_same_time() {
    let file = file();
    for device in devices(&file) {
        let opened = device.open(&[slots(1), slots(2), slots(3)]).unwrap();
        let depths: Vec<usize> = opened.methods.iter().map(|method| method.depth()).collect();
        assert_eq!(depths, [1, 2, 3], "{}", device.name());
        let read = |mut method: Box<dyn ReadMethod>| {
            let device = device.as_ref();
            move || ended(device, method.as_mut(), 50)
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = opened.methods.into_iter().map(|method| scope.spawn(read(method))).collect();
            assert!(workers.into_iter().all(|worker| worker.join().unwrap() == 50), "{}", device.name());
        });
    }
}

#[test]
fn a_device_says_what_it_is_and_what_can_prove_which_level_served_a_read() {
    let file = file();
    for device in devices(&file) {
        let description = device.describe();
        assert!(!device.name().is_empty() && description.subject.contains_key("kind"), "{device:?}");
        assert_eq!(description.subject["size"], device.size(), "{device:?}");
        assert!(device::check_block_size(device.as_ref(), BLOCK as u64).is_ok(), "{device:?}");
        assert!(device::check_block_size(device.as_ref(), 0).is_err(), "{device:?}");
        let is_virtual = device.open(&[slots(1)]).unwrap().clock.is_some();
        assert_eq!(description.is_virtual, is_virtual, "{device:?}");
        match device.witnesses() {
            Witnesses::Kernel { target, .. } => assert_eq!(target.size(), device.size()),
            Witnesses::Absent(absent) => {
                assert!(![absent.tier, absent.name, absent.no_page_cache].contains(&""), "{absent:?}");
            }
        }
    }
}

#[test]
fn a_block_size_that_direct_reads_refuse_is_named_with_the_right_multiple() {
    let file = NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(65_536).unwrap();
    let target = match Target::open(file.path(), Caching::Direct) {
        Ok(target) => target,
        Err(error) => return println!("skipped: {error}"),
    };
    let check = |block| device::check_block_size(&target, block).map_err(|error| error.to_string());
    let multiple = u64::from(target.alignment().offset);
    assert_eq!([check(multiple), check(8192)], [Ok(()), Ok(())]);
    let refused = check(multiple + 1).unwrap_err();
    assert!(refused.contains(&format!("a multiple of {multiple}, or --buffered")), "{refused}");
    assert!(check(0).is_err() && check(1 << 20).unwrap_err().contains("do not fit"));
    let buffered = target.reopen(Caching::Buffered).unwrap();
    assert!(device::check_block_size(&buffered, 100).is_ok());
}

#[test]
fn a_device_that_a_kernel_reads_is_known_by_its_word_alone() {
    let file = file();
    for word in words(&file) {
        let device = device::open(&word, Caching::Buffered).unwrap();
        let reads = device.witnesses().target().is_some();
        assert_eq!(device::without_kernel(&word).is_none(), reads, "{}", word.display());
    }
}

#[test]
fn a_word_that_names_no_device_is_refused_in_a_sentence() {
    for word in ["/absent", "null:x", "model:floppy", "model:", "model:/absent.toml", "/"] {
        let error = device::open(Path::new(word), Caching::Buffered).unwrap_err().to_string();
        assert!(error.contains(' ') && !error.is_empty(), "{word}: {error}");
    }
    assert!(device::has_prefix(Path::new("model:ssd")) && !device::has_prefix(Path::new("/data/model:ssd")));
}

#[test]
fn files_on_a_device_keep_their_bytes_or_are_refused() {
    let (one, other) = (file(), file());
    for word in words(&one) {
        let bytes = BLOCKS * BLOCK as u64;
        let placed = device::place(&word, Caching::Buffered, &[(one.path(), bytes), (other.path(), bytes)]);
        let placed = placed.map_err(|error| {
            let is_refused = error.to_string().contains(' ') && word != one.path();
            assert!(is_refused && !word.to_string_lossy().starts_with("model:"), "{}: {error}", word.display());
        });
        for device in placed.into_iter().flatten() {
            assert_eq!(device.size(), bytes);
            let mut opened = device.open(&[slots(1)]).unwrap();
            let method = opened.methods[0].as_mut();
            let mut done = Vec::new();
            method.queue(ReadRequest { offset: 5 * BLOCK as u64, length: BLOCK, slot: 0 });
            method.reap(Wait { at_least: 1, timeout: None }, &mut done).unwrap();
            assert!(method.data(0).iter().all(|byte| *byte == 5), "{}", word.display());
        }
    }
}

#[test]
fn the_table_has_a_null_row_and_ends_with_the_one_that_takes_every_path() {
    assert!(DEVICES.iter().any(|row| (row.examples)() == ["null:"]));
    let (last, others) = DEVICES.split_last().unwrap();
    assert!(last.prefix.is_empty() && others.iter().all(|row| row.prefix.ends_with(':')));
}
