//! A predicate in terms of codes: what a kernel is given.

/// Splits codes into those above it and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    code: u64,
    is_itself_above: bool,
}

impl Limit {
    /// No code is above it.
    ///
    /// A code has no bit that is not in `u64::MAX`, so this is decided by the planes, one after the other, as for
    /// every limit: a scan costs the same and reads the same.
    pub(super) const NONE_ABOVE: Limit = Limit { code: u64::MAX, is_itself_above: false };

    /// `code` and all greater ones are above it.
    pub(super) fn from(code: u64) -> Limit {
        Limit { code, is_itself_above: true }
    }

    /// Whether a code is above it; what the planes compute for 512 rows at a time.
    pub(super) fn is_below(self, code: u64) -> bool {
        if self.is_itself_above { code >= self.code } else { code > self.code }
    }

    /// The answer for codes of which no bit was seen yet: equal to the limit.
    #[inline(always)]
    pub(super) fn start(self) -> u64 {
        if self.is_itself_above { u64::MAX } else { 0 }
    }

    /// The limit's bit of a plane.
    #[inline(always)]
    pub(super) fn bit(self, plane: usize) -> bool {
        self.code >> plane & 1 == 1
    }
}

/// Codes above the lower limit and not above the upper one; a limit that is not there lets every code pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) lower: Option<Limit>,
    pub(super) upper: Option<Limit>,
}

impl Filter {
    /// Whether a code passes.
    pub(super) fn passes(&self, code: u64) -> bool {
        self.lower.is_none_or(|limit| limit.is_below(code)) && !self.upper.is_some_and(|limit| limit.is_below(code))
    }
}
