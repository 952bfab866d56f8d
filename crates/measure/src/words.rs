//! Choices that have a word each: on the command line, in a file of parameters and in run documents it is the same.

/// A choice among a few that have a word each; [`words!`](crate::words!) makes them.
pub trait Word: Copy + PartialEq + Send + Sync + 'static {
    /// What the choice is about, as an error names it: "zone".
    const WHAT: &'static str;

    /// Every choice with its word and one line of help, in the order in which they are listed.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// Every choice, in that order.
    fn all() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().map(|(choice, ..)| *choice)
    }

    /// The word.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(choice, ..)| *choice == self).map_or("", |(_, word, _)| word)
    }

    /// The choice of this word; otherwise a sentence with the words that there are.
    fn of_word(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == word);
        found.map(|(choice, ..)| *choice).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, word, _)| *word).collect();
            format!("there is no {} '{word}': write {}", Self::WHAT, known.join(", "))
        })
    }
}

/// Declares an enum whose variants have a word each, with `name`, `Display`, `FromStr`, serde and [`Word`].
///
/// The first line of a variant's documentation is its line in the help.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident ($what:literal) {
            $(#[doc = $help:literal] $(#[doc = $more:literal])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $(#[doc = $help] $(#[doc = $more])* $variant),+
        }

        impl $name {
            /// The word on the command line, in files and in run documents.
            $visibility fn name(self) -> &'static str {
                $crate::words::Word::word(self)
            }
        }

        impl $crate::words::Word for $name {
            const WHAT: &'static str = $what;
            const ALL: &'static [(Self, &'static str, &'static str)] = &[$(($name::$variant, $word, $help)),+];
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<$name, String> {
                $crate::words::Word::of_word(word)
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let word: String = $crate::serde::Deserialize::deserialize(deserializer)?;
                word.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Word;

    crate::words! {
        /// A size.
        enum Shirt ("shirt") {
            /// For most
            Medium = "medium",
            /// For some
            ///
            /// Rarely sold.
            ExtraLarge = "extra-large",
        }
    }

    #[test]
    fn a_choice_has_one_word_everywhere() {
        assert_eq!(Shirt::ExtraLarge.to_string(), "extra-large");
        assert_eq!("medium".parse(), Ok(Shirt::Medium));
        assert_eq!(serde_json::to_string(&Shirt::ExtraLarge).unwrap(), r#""extra-large""#);
        assert_eq!(serde_json::from_str::<Shirt>(r#""extra-large""#).unwrap(), Shirt::ExtraLarge);
        assert_eq!(Shirt::ALL.iter().map(|(_, _, help)| help.trim()).collect::<Vec<_>>(), ["For most", "For some"]);
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        let error = serde_json::from_str::<Shirt>(r#""small""#).unwrap_err().to_string();
        assert!(error.starts_with("there is no shirt 'small': write medium, extra-large"), "{error}");
    }
}
