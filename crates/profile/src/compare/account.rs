//! Whether the server's own account of its sessions' time counts where two profiles of samples are compared.

/// What decides whether the server's account counts in a comparison of profiles of samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfAccount {
    /// Whether there is one.
    pub(super) is_known: bool,
    /// Whether the samples met no session at work.
    pub(super) has_no_sample: bool,
    /// Whether it has more than the samples by more than the error of both explains.
    pub(super) is_beyond: bool,
}

/// Whether what the server's account has more than the samples is left out of a comparison: it would be a difference of
/// what is known, or one that the stated errors explain.
pub(super) fn leaves_out_accounts(sides: [OfAccount; 2]) -> bool {
    let [first, second] = sides;
    let is_one_alone = first.is_known != second.is_known;
    is_one_alone || sides.iter().any(|side| side.has_no_sample) || !sides.iter().any(|side| side.is_beyond)
}
