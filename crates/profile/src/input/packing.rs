//! The endings of names by which packed files and archives are known. What a file really is, its bytes tell: the names
//! say which files of a folder are looked at, and of which the size tells nothing.

/// How packed files end, and how a tar archive that is packed in this way may end for short.
const PACKINGS: [(&str, Option<&str>); 5] = [
    (".gz", Some(".tgz")),
    (".zst", Some(".tzst")),
    (".xz", Some(".txz")),
    (".bz2", Some(".tbz2")),
    // It holds files itself, so that no tar archive is put into it.
    (".zip", None),
];

/// The ending of a tar archive.
const TAR: &str = ".tar";

/// The ending of a zip archive, which may be a trace or a log that is packed, or a folder of them.
const ZIP: &str = ".zip";

/// A name in small letters without the ending of its packing.
pub(super) fn unpacked(name: &str) -> &str {
    PACKINGS.iter().find_map(|(ending, _)| name.strip_suffix(ending)).unwrap_or(name)
}

/// Whether a name in small letters is that of an archive, packed or not.
pub(super) fn is_archive(name: &str) -> bool {
    name.ends_with(ZIP) || unpacked(name).ends_with(TAR) || is_tar_for_short(name)
}

/// Whether a file of this name is packed, so that its size does not say how many bytes will be read of it.
pub fn is_packed_name(name: &str) -> bool {
    let name = name.to_lowercase();
    unpacked(&name).len() < name.len() || is_tar_for_short(&name)
}

fn is_tar_for_short(name: &str) -> bool {
    PACKINGS.iter().any(|(_, short)| short.is_some_and(|short| name.ends_with(short)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_pack_a_file_is_known_by_its_ending_and_so_is_a_tar_archive_that_is_packed_so() {
        for (ending, short) in PACKINGS {
            assert_eq!(unpacked(&format!("a.trc{ending}")), "a.trc");
            assert!(is_packed_name(&format!("A.TRC{}", ending.to_uppercase())), "{ending}");
            assert!(is_archive(&format!("a.tar{ending}")), "{ending}");
            let short = short.map(|short| format!("a{short}"));
            assert!(short.is_none_or(|short| is_archive(&short) && is_packed_name(&short)), "{ending}");
        }
        assert!(is_archive("a.zip") && is_archive("a.tar") && !is_archive("a.trc.gz"));
        assert!(!is_packed_name("a.tar") && !is_packed_name("a.trc"));
    }
}
