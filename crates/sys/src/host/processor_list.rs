//! Lists of processors as the kernel and `taskset -c` write them.

/// Most processors that a list names. A kernel is built for 8192 at most; a damaged list is not followed without end.
const PROCESSORS_MAX: usize = 1 << 14;

/// The numbers in a list such as `0-3,8`. What is no number is left out.
pub(crate) fn listed(list: &str) -> Vec<usize> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.split(',').filter_map(part).flatten().take(PROCESSORS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn processors_are_listed_one_by_one() {
        assert_eq!(listed("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(listed("x-2,5,3-"), [5]);
        assert!(listed("").is_empty());
        assert_eq!(listed("0-18446744073709551615").len(), PROCESSORS_MAX);
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in "\\PC*|[0-9,x-]*") {
            prop_assert!(listed(&text).len() <= PROCESSORS_MAX);
        }
    }
}
