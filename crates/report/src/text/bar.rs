//! Bars of eighth blocks, or of `#` where the locale is not UTF-8.

use crate::style::Style;

/// Blocks of one to eight eighths of a cell.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A bar that is `share` of `cells` long: at least an eighth, so that what was measured can be seen.
pub(super) fn draw(share: f64, cells: usize, style: &Style) -> String {
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

    #[test]
    fn bars_are_as_long_as_their_share() {
        let style = Style::default();
        let drawn = [0.0, 0.5, 1.0, 0.375].map(|share| draw(share, 4, &style));
        assert_eq!(drawn, ["▏", "██", "████", "█▌"]);
        let plain = Style { unicode: false, ..style };
        assert_eq!([0.0, 0.5].map(|share| draw(share, 4, &plain)), ["#", "##"]);
    }
}
