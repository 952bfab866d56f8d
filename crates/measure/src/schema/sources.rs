//! What the page of a profile says that depends on its source. The subject of a run document names the source
//! (`source`); that of a profile of traces names none.

/// The words of a page that differ by the source of the profile.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceWords {
    /// The source as a run document names it; `None` where the document names none.
    pub name: Option<&'static str>,
    /// What all that was read is: `trace`.
    pub whole: &'static str,
    /// Whether the source says who parsed a statement, at which depth of calls, and for which goal of the optimizer.
    pub says_parser: bool,
    /// The name of the class of time that was not recorded; `None` where it has the class's own name.
    pub unrecorded: Option<&'static str>,
}

/// The words of each source.
pub const SOURCES: &[SourceWords] = &[
    SourceWords { name: None, whole: "trace", says_parser: true, unrecorded: None },
    SourceWords {
        name: Some("PostgreSQL server log"),
        whole: "log",
        says_parser: false,
        unrecorded: Some("not in the log, between statements"),
    },
    SourceWords {
        name: Some("PostgreSQL, sampled"),
        whole: "profile",
        says_parser: false,
        unrecorded: Some("not recorded"),
    },
];

/// The words of a source that this version does not know: they are true of any.
const ANY: SourceWords =
    SourceWords { name: None, whole: "profile", says_parser: false, unrecorded: Some("not recorded") };

/// The words of the source of this name.
pub fn words_of(name: Option<&str>) -> &'static SourceWords {
    SOURCES.iter().find(|words| words.name == name).unwrap_or(&ANY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_without_words_of_its_own_is_called_neither_a_trace_nor_a_log() {
        for words in SOURCES {
            assert_eq!(words_of(words.name), words);
        }
        // The name alone says nothing: this one ends like that of a log of plans.
        for name in ["another server's slow log", ""] {
            let words = words_of(Some(name));
            assert_eq!((words.whole, words.says_parser), ("profile", false), "{name}");
            assert_eq!(words.unrecorded, Some("not recorded"), "{name}");
        }
    }
}
