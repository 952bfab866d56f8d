//! A step of the work for each tenth of a load: more lines would only flicker.

use std::time::Duration;

use crate::opening::Progress;

/// A callback for loaders, which hands over `text(done, of)` once a tenth.
pub fn tenths<'a>(
    progress: &'a mut Progress<'_>,
    text: impl Fn(u64, u64) -> (String, Duration) + 'a,
) -> impl FnMut(u64, u64) + 'a {
    let mut shown = 0;
    move |done, of| {
        let tenth = done.saturating_mul(10) / of.max(1);
        if tenth > shown {
            shown = tenth;
            let (what, left) = text(done, of);
            progress(&what, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_many_rows_draws_ten_lines() {
        let mut lines = Vec::new();
        let mut progress = |what: &str, _: Duration| lines.push(what.to_string());
        let mut load = tenths(&mut progress, |done, of| (format!("{done} of {of}"), Duration::ZERO));
        (0..=1000).for_each(|done| load(done, 1000));
        load(0, 0);
        drop(load);
        assert_eq!((lines.len(), lines[0].as_str()), (10, "100 of 1000"));
    }
}
