//! Bars of eighth blocks, or of `#` where the locale is not UTF-8.

use crate::style::Style;

/// Blocks of one to eight eighths of a cell.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A bar whose length goes with the logarithm of `value`: one eighth for `smallest`, `cells` for `largest`.
///
/// Empty for a value that has no logarithm.
pub(crate) fn logarithmic(value: f64, smallest: f64, largest: f64, cells: usize, style: &Style) -> String {
    if !(value > 0.0 && smallest > 0.0 && largest.is_finite()) {
        return String::new();
    }
    let span = (largest / smallest).ln();
    let share = if span > 0.0 { (value / smallest).ln() / span } else { 0.0 };
    draw(share, cells, style)
}

/// A bar whose length goes with `value`: `cells` for `largest`.
pub(crate) fn linear(value: f64, largest: f64, cells: usize, style: &Style) -> String {
    if value > 0.0 && largest > 0.0 { draw(value / largest, cells, style) } else { String::new() }
}

/// At least an eighth, so that what was measured can be seen.
fn draw(share: f64, cells: usize, style: &Style) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (cells * 8) as f64).round().max(1.0) as usize;
    if !style.unicode {
        return "#".repeat(eighths.div_ceil(8));
    }
    let mut bar = EIGHTHS[7].to_string().repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).map(|index| EIGHTHS[index]));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { width: 80, color: false, unicode: false };

    #[test]
    fn bars_end_where_the_scale_does() {
        let style = Style::default();
        assert_eq!(logarithmic(1.0, 1.0, 100.0, 4, &style), "▏");
        assert_eq!(logarithmic(10.0, 1.0, 100.0, 4, &style), "██");
        assert_eq!(logarithmic(100.0, 1.0, 100.0, 4, &style), "████");
        assert_eq!(linear(3.0, 4.0, 2, &style), "█▌");
        assert_eq!(logarithmic(10.0, 1.0, 100.0, 4, &PLAIN), "##");
    }

    #[test]
    fn what_has_no_length_has_no_bar() {
        for value in [0.0, -1.0, f64::NAN] {
            assert_eq!(logarithmic(value, 1.0, 2.0, 4, &PLAIN), "");
            assert_eq!(linear(value, 2.0, 4, &PLAIN), "");
        }
        assert_eq!(logarithmic(1.0, 1.0, 1.0, 4, &PLAIN), "#", "a scale of one value");
    }
}
