//! Bounds of a model's parameters: what cannot be is refused by name, with the bound that it breaks.

/// The fields that break their bounds, one sentence each: the field's name in the file, and the bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct BrokenBounds(pub Vec<String>);

/// Looks at one field after the other and keeps what is wrong.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    broken: Vec<String>,
}

impl Bounds {
    /// Wants `value` between `least` and `most`, both included; what is no number is neither.
    pub(crate) fn within(&mut self, field: &str, value: f64, least: f64, most: f64) {
        if !(least..=most).contains(&value) {
            self.broken.push(format!("{field} is {value}: it must lie between {least} and {most}"));
        }
    }

    /// Adds what is wrong with a part that stands under `field`.
    pub(crate) fn of_part(&mut self, field: &str, checked: Result<(), BrokenBounds>) {
        let broken = checked.err().into_iter().flat_map(|BrokenBounds(broken)| broken);
        self.broken.extend(broken.map(|sentence| format!("{field}.{sentence}")));
    }

    pub(crate) fn finish(self) -> Result<(), BrokenBounds> {
        if self.broken.is_empty() { Ok(()) } else { Err(BrokenBounds(self.broken)) }
    }
}
