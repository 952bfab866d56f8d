//! How much of a server's time our questions take: one that answers slowly is asked less often. A server in trouble is
//! not to be kept busy by us.

use std::time::Duration;

/// How many times as long as it worked for a look the server rests before the next one, so that looks take a fifth of
/// the time of one of its processes at most; and the longest rest, because a longer one would be a gap.
const RESTS: u32 = 4;
const REST_MAX: Duration = Duration::from_millis(400);

/// How many times as long as it worked for a further question the server is not asked the same again.
const FURTHER_RESTS: u32 = 10;

/// How long the server rests after a look for which it worked so long.
pub(crate) fn rest_after_look(worked: Duration) -> Duration {
    worked.saturating_mul(RESTS).min(REST_MAX)
}

/// From one time that a further question is asked to the next, where the server worked so long for the last answer.
pub(crate) fn until_asked_again(usual: Duration, worked: Duration) -> Duration {
    worked.saturating_mul(FURTHER_RESTS).max(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_answers_slowly_is_asked_less_often_and_a_fast_one_as_often_as_before() {
        let millis = Duration::from_millis;
        // A usual look takes less than a millisecond of each 20; that of ten thousand sessions takes 30.
        assert_eq!([millis(0), millis(1), millis(30)].map(rest_after_look), [millis(0), millis(4), millis(120)]);
        assert_eq!(rest_after_look(millis(5_000)), REST_MAX, "no gap");
        let asked = |worked| until_asked_again(millis(500), millis(worked));
        assert_eq!([0, 20, 50, 1_000].map(asked), [millis(500), millis(500), millis(500), millis(10_000)]);
    }
}
