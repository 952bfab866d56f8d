//! How much of this machine's memory one thing of a subject may take, such as a cache.

use measure::quantity::whole_mebibytes;
use sys::host;

use crate::error::SubjectError;

/// Share of the available memory that it may take, in percent; the rest is for other processes.
const SHARE: u64 = 80;

/// What a subject wants to hold in memory.
pub(crate) struct Wanted {
    /// What it is, as the beginning of a sentence.
    pub(crate) what: &'static str,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// What to do where that is too much.
    pub(crate) advice: &'static str,
}

/// Bytes that it may take now. No limit is known where the kernel does not say how much memory is available.
pub(crate) fn bytes_max() -> u64 {
    host::available_memory().map_or(u64::MAX, |available| available / 100 * SHARE)
}

/// Refuses what would drive the machine out of memory.
pub(crate) fn check(wanted: &Wanted) -> Result<(), SubjectError> {
    check_against(bytes_max(), wanted)
}

fn check_against(most: u64, wanted: &Wanted) -> Result<(), SubjectError> {
    let Wanted { what, bytes, advice } = *wanted;
    if bytes <= most {
        return Ok(());
    }
    Err(SubjectError::Failed(format!(
        "{what} needs {} and may take {}, {SHARE} % of the available memory: {advice}",
        whole_mebibytes(bytes),
        whole_mebibytes(most)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_refused_beyond_its_share_which_is_not_called_the_available_memory() {
        let of = |bytes| Wanted { what: "the buffer pool", bytes, advice: "ask for less" };
        assert_eq!(check_against(800 << 20, &of(800 << 20)), Ok(()));
        let refused = check_against(800 << 20, &of(2 << 30)).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the buffer pool needs 2 GiB and may take 800 MiB, 80 % of the available memory: ask for less"
        );
    }
}
