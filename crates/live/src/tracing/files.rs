//! Which file a read was of: from the number of the file, or from the descriptor, to the relation and its block.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sys::file::DeviceNumber;

use super::window::Ended;

/// The bytes of a segment of a relation, but for servers that were built with others.
const SEGMENT_BYTES: u64 = 1 << 30;

/// How long a file is known by its number before it is looked at again, and by a descriptor, in ns: both are used again
/// for other files.
const NUMBER_NANOS: u64 = 1_000_000_000;
const DESCRIPTOR_NANOS: u64 = 100_000_000;

/// Most files that are known, by either.
const KNOWN_MAX: usize = 1 << 16;

/// The folder of all files is looked through at most once in this time, and for at most this part of it.
const WALK_NANOS: u64 = 1_000_000_000;
const WALK_PART: u64 = 50;

/// Files that are not relations.
const TEMPORARY: &str = "temporary files";
const GONE: &str = "files that are gone";

/// The mark of a file that has no name any more.
const DELETED: &str = " (deleted)";

/// A place in a file of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The relation by the path of its file below the data directory, without the number of the segment.
    pub(super) file: Arc<str>,
    /// The first block of the segment.
    pub(super) first_block: u64,
}

/// A file as it was found.
#[derive(Clone, Debug)]
struct Known {
    path: PathBuf,
    /// `None` for a file that is not the server's.
    place: Option<Place>,
    checked: u64,
}

/// The files of a server.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Its data directory as this process reaches it, and as its own processes name it.
    root: PathBuf,
    folder: String,
    /// Where tablespaces are, with the name of their link.
    tablespaces: Vec<(String, String)>,
    segment_blocks: u64,
    by_number: HashMap<(u64, u64), Known>,
    by_descriptor: HashMap<(u32, u32), (u64, Option<Place>)>,
    names: HashMap<String, Arc<str>>,
    /// Names that have not been handed out yet.
    fresh: Vec<Arc<str>>,
    /// The paths of relations' files by their file systems and their numbers there.
    walked: HashMap<(DeviceNumber, u64), PathBuf>,
    /// File systems of these files whose own numbers records need not have.
    anonymous: Vec<DeviceNumber>,
    next_walk: u64,
}

impl Files {
    /// The files of the server whose first process has this number: it works in its data directory.
    pub(super) fn of(postmaster: u32, block_bytes: u64) -> Result<Files, String> {
        let root = PathBuf::from(format!("/proc/{postmaster}/cwd"));
        let folder =
            fs::read_link(&root).map_err(|error| format!("the server's data directory cannot be seen: {error}"))?;
        let mut files = Files {
            folder: folder.to_string_lossy().into_owned(),
            segment_blocks: SEGMENT_BYTES / block_bytes.max(512),
            root,
            ..Files::default()
        };
        files.find_tablespaces();
        Ok(files)
    }

    fn find_tablespaces(&mut self) {
        let links = fs::read_dir(self.root.join("pg_tblspc")).into_iter().flatten().flatten();
        self.tablespaces = links
            .filter_map(|link| {
                let target = fs::read_link(link.path()).ok()?.to_string_lossy().into_owned();
                Some((target, format!("pg_tblspc/{}", link.file_name().to_string_lossy())))
            })
            .collect();
    }

    /// Names of files that were found since this was asked last.
    pub(super) fn take_fresh(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.fresh)
    }

    /// Where a read was; `None` in a file that is not the server's.
    pub(super) fn place(&mut self, read: &Ended) -> Option<Place> {
        match read.inode {
            Some(number) => self.by_number(number, read),
            None => self.by_descriptor(read),
        }
    }

    fn by_number(&mut self, number: (u64, u64), read: &Ended) -> Option<Place> {
        if let Some(known) = self.by_number.get_mut(&number) {
            let is_fresh = read.end.saturating_sub(known.checked) < NUMBER_NANOS;
            if is_fresh || has_number(&known.path, number) {
                known.checked = if is_fresh { known.checked } else { read.end };
                return known.place.clone();
            }
        }
        let (path, place) = match self.find(number, read) {
            Some((path, text)) => (path, self.classified(&text)),
            None => (PathBuf::new(), Some(Place { file: self.shared(GONE), first_block: 0 })),
        };
        if self.by_number.len() >= KNOWN_MAX {
            self.by_number.clear();
        }
        self.by_number.insert(number, Known { path, place: place.clone(), checked: read.end });
        place
    }

    /// The path of the file with this number on this file system, as this process reaches it and as the server's
    /// processes name it.
    fn find(&mut self, number: (u64, u64), read: &Ended) -> Option<(PathBuf, String)> {
        let link = PathBuf::from(format!("/proc/{}/fd/{}", read.process, read.descriptor));
        if has_number(&link, number) {
            let text = fs::read_link(&link).ok()?.to_string_lossy().into_owned();
            let below = text.strip_prefix(&self.folder).and_then(|below| below.strip_prefix('/'));
            let path = below.map_or(link, |below| self.root.join(below));
            return Some((path, text));
        }
        // Its process has closed it meanwhile, or has gone.
        self.walk(read.end);
        let below = self.walked_with(number)?;
        Some((self.root.join(below), format!("{}/{}", self.folder, below.display())))
    }

    /// The relation's file with this number on this file system, as it was found last.
    fn walked_with(&self, (number, system): (u64, u64)) -> Option<&PathBuf> {
        let known = self.walked.get(&(DeviceNumber::of_record(system), number));
        known.or_else(|| self.anonymous.iter().find_map(|system| self.walked.get(&(*system, number))))
    }

    fn by_descriptor(&mut self, read: &Ended) -> Option<Place> {
        let key = (read.process, read.descriptor);
        if let Some((at, place)) = self.by_descriptor.get(&key)
            && read.end.saturating_sub(*at) < DESCRIPTOR_NANOS
        {
            return place.clone();
        }
        let link = fs::read_link(format!("/proc/{}/fd/{}", read.process, read.descriptor));
        let place = match link {
            Ok(path) => self.classified(&path.to_string_lossy()),
            Err(_) => Some(Place { file: self.shared(GONE), first_block: 0 }),
        };
        if self.by_descriptor.len() >= KNOWN_MAX {
            self.by_descriptor.clear();
        }
        self.by_descriptor.insert(key, (read.end, place.clone()));
        place
    }

    /// Looks for the numbers of all relations' files, where it is time to.
    fn walk(&mut self, now: u64) {
        if now < self.next_walk {
            return;
        }
        let begun = std::time::Instant::now();
        self.find_tablespaces();
        self.walked.clear();
        self.anonymous.clear();
        let mut folders: Vec<PathBuf> = vec!["global".into()];
        folders.extend(below(&self.root, Path::new("base")));
        for (_, link) in &self.tablespaces {
            for version in below(&self.root, Path::new(link)) {
                folders.extend(below(&self.root, &version));
            }
        }
        for folder in folders {
            let path = self.root.join(&folder);
            let Ok(system) = fs::metadata(&path).map(|metadata| DeviceNumber::of(metadata.dev())) else { continue };
            if is_anonymous(system) && !self.anonymous.contains(&system) {
                self.anonymous.push(system);
            }
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                if self.walked.len() < 16 * KNOWN_MAX {
                    self.walked.insert((system, entry.ino()), folder.join(entry.file_name()));
                }
            }
        }
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.next_walk = now.saturating_add(took.saturating_mul(WALK_PART).max(WALK_NANOS));
    }

    /// The place of a path; `None` where it is not below the data directory or a tablespace.
    fn classified(&mut self, path: &str) -> Option<Place> {
        let path = path.strip_suffix(DELETED).unwrap_or(path);
        let under = |folder: &str| path.strip_prefix(folder)?.strip_prefix('/');
        let below = match under(&self.folder) {
            Some(below) => below.to_string(),
            None => self.tablespaces.iter().find_map(|(target, link)| Some(format!("{link}/{}", under(target)?)))?,
        };
        let (name, first_block) = named(&below, self.segment_blocks);
        Some(Place { file: self.shared(name), first_block })
    }

    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        if self.names.len() >= KNOWN_MAX {
            self.names.clear();
        }
        let shared: Arc<str> = Arc::from(name);
        self.names.insert(name.to_string(), Arc::clone(&shared));
        self.fresh.push(Arc::clone(&shared));
        shared
    }
}

/// The name of a file below the data directory, and the first block of its segment.
fn named(below: &str, segment_blocks: u64) -> (&str, u64) {
    if below.contains("pgsql_tmp") {
        return (TEMPORARY, 0);
    }
    let folder = below.split('/').next().unwrap_or(below);
    if !matches!(folder, "base" | "global" | "pg_tblspc") {
        return (folder, 0);
    }
    match below.rsplit_once('.').map(|(name, segment)| (name, segment.parse::<u64>())) {
        Some((name, Ok(segment))) => (name, segment.saturating_mul(segment_blocks)),
        _ => (below, 0),
    }
}

/// Whether the file of a path may have this number on this file system, as a record gives both.
fn has_number(path: &Path, (number, system): (u64, u64)) -> bool {
    let may_have = |metadata: fs::Metadata| {
        metadata.ino() == number && may_be(DeviceNumber::of(metadata.dev()), DeviceNumber::of_record(system))
    };
    fs::metadata(path).is_ok_and(may_have)
}

/// Whether a file system that calls give this number may be that of a record.
fn may_be(system: DeviceNumber, of_record: DeviceNumber) -> bool {
    system == of_record || is_anonymous(system)
}

/// Whether a file system stands on no device of its own. On such ones, as btrfs and overlayfs, calls give other numbers
/// than records.
fn is_anonymous(system: DeviceNumber) -> bool {
    system.major == 0
}

/// The folders in a folder, by their paths below `root`.
fn below(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    entries.map(|entry| folder.join(entry.file_name())).collect()
}

#[cfg(test)]
mod tests {
    use profile::event::Ticks;
    use profile::tables::read_tiers::ReadTier;

    use super::*;

    #[test]
    fn segments_are_one_relation_and_other_files_are_named_by_their_folder() {
        let of = |below: &'static str| named(below, 131_072);
        assert_eq!(of("base/5/16384"), ("base/5/16384", 0));
        assert_eq!(of("base/5/16384.2"), ("base/5/16384", 262_144));
        assert_eq!(of("base/5/16384_fsm"), ("base/5/16384_fsm", 0));
        assert_eq!(of("pg_tblspc/9/PG_15_2/5/77.1"), ("pg_tblspc/9/PG_15_2/5/77", 131_072));
        assert_eq!(of("pg_wal/0000000100000000000000A1"), ("pg_wal", 0));
        assert_eq!(of("base/pgsql_tmp/pgsql_tmp12.3"), (TEMPORARY, 0));
        assert_eq!(of("base/pgsql_tmp/pgsql_tmp1.fileset/o1of8.p0.0"), (TEMPORARY, 0));
    }

    /// The number of a file system as records have it.
    fn of_record(major: u32, minor: u32) -> u64 {
        (u64::from(major) << 20) | u64::from(minor)
    }

    fn read(inode: Option<(u64, u64)>, descriptor: u32, end: u64) -> Ended {
        Ended {
            process: std::process::id(),
            begun: 0,
            end,
            descriptor,
            position: 0,
            inode,
            bytes: 8192,
            tier: ReadTier::PageCache,
            queue: Ticks::ZERO,
            service: Ticks::ZERO,
        }
    }

    /// The files of this process, as if the folder that it works in were a data directory.
    fn files(folder: &Path) -> Files {
        let mut files = Files::of(std::process::id(), 8192).unwrap();
        files.root = folder.into();
        files.folder = folder.display().to_string();
        files
    }

    #[test]
    fn a_file_is_found_by_its_descriptor_or_by_its_number_and_never_by_a_number_that_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("base/5")).unwrap();
        let path = folder.path().join("base/5/100.1");
        fs::write(&path, "rows").unwrap();
        let file = fs::File::open(&path).unwrap();
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file).cast_unsigned();
        let metadata = file.metadata().unwrap();
        let DeviceNumber { major, minor } = DeviceNumber::of(metadata.dev());
        let number = (metadata.ino(), of_record(major, minor));
        let expected = Some(Place { file: "base/5/100".into(), first_block: 131_072 });
        let mut files = files(folder.path());
        assert_eq!(files.place(&read(None, descriptor, 0)), expected);
        assert_eq!(files.place(&read(Some(number), descriptor, 0)), expected);
        // Another process, which has gone, read it by a descriptor of its own.
        let other = Ended { process: u32::MAX, ..read(Some(number), 9999, 0) };
        let mut walking = self::files(folder.path());
        assert_eq!(walking.place(&other), expected);
        assert_eq!(walking.take_fresh(), ["base/5/100".into()]);
        fs::rename(&path, folder.path().join("base/5/200")).unwrap();
        let later = Ended { end: 3 * NUMBER_NANOS, ..other.clone() };
        assert_eq!(walking.place(&later), Some(Place { file: "base/5/200".into(), first_block: 0 }));
        let gone = walking.place(&Ended { inode: Some((u64::MAX, 0)), ..other }).unwrap();
        assert_eq!(&*gone.file, GONE);
    }

    #[test]
    fn a_file_of_another_file_system_with_the_number_of_a_relations_file_is_not_the_relation() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path());
        let on = |minor: u32| (DeviceNumber { major: 8, minor }, 77);
        files.walked.insert(on(1), "base/5/100".into());
        files.walked.insert(on(2), "base/6/200".into());
        // The folders, which are not there, are not looked through.
        files.next_walk = u64::MAX;
        let mut found = |minor: u32| {
            let other = Ended { process: u32::MAX, ..read(Some((77, of_record(8, minor))), 9999, 0) };
            files.place(&other).unwrap().file.to_string()
        };
        assert_eq!([found(1), found(2)], ["base/5/100", "base/6/200"]);
        // A log on a disk of its own.
        assert_eq!(found(3), GONE);
    }

    #[test]
    fn a_file_system_without_a_device_may_have_another_number_in_records() {
        let [disk, other, btrfs] = [(8, 1), (8, 2), (0, 45)].map(|(major, minor)| DeviceNumber { major, minor });
        assert!(may_be(disk, disk) && !may_be(disk, other) && !may_be(disk, btrfs));
        assert!(may_be(btrfs, btrfs) && may_be(btrfs, disk));
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path());
        (files.anonymous, files.next_walk) = (vec![btrfs], u64::MAX);
        files.walked.insert((btrfs, 77), "base/5/100".into());
        let found = files.walked_with((77, of_record(8, 1)));
        assert_eq!(found.map(PathBuf::as_path), Some(Path::new("base/5/100")));
    }

    #[test]
    fn a_file_of_another_program_is_not_the_servers() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::open("/proc/self/exe").unwrap();
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file).cast_unsigned();
        assert_eq!(files(folder.path()).place(&read(None, descriptor, 0)), None);
    }
}
