//! Bounds of a model's parameters: what cannot be is refused by name, with the bound that it breaks.

/// A field that breaks its bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {breaks}")]
pub struct Bound {
    /// The field's name in the file.
    pub field: String,
    /// Which bound it breaks.
    pub breaks: String,
}

impl Bound {
    pub(crate) fn new(field: &str, breaks: &str) -> Bound {
        Bound { field: field.into(), breaks: breaks.into() }
    }
}

/// Looks at one field after the other and keeps the first that is wrong.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    first: Option<Bound>,
}

impl Bounds {
    /// Wants `value` between `least` and `most`, both included; what is no number is neither.
    pub(crate) fn within(&mut self, field: &str, value: f64, least: f64, most: f64) {
        if self.first.is_none() && !(least..=most).contains(&value) {
            let breaks = format!("is {value}: it must lie between {least} and {most}");
            self.first = Some(Bound { field: field.into(), breaks });
        }
    }

    pub(crate) fn finish(self) -> Result<(), Bound> {
        self.first.map_or(Ok(()), Err)
    }
}
