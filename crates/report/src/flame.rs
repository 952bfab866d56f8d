//! A flame graph: stacks of functions as boxes upon each other, each as wide as its share of the samples (Gregg, "The
//! Flame Graph", Communications of the ACM 59(6), 2016). One SVG file that needs no script to look at.

use std::collections::BTreeMap;
use std::fmt::Write;

use measure::quantity::counted;

use crate::markup::escaped;

/// The picture in points.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const MARGIN: f64 = 10.0;
const HEAD: f64 = 44.0;

/// Width of a letter of the monospaced font at 11 points.
const LETTER: f64 = 6.7;

/// Boxes narrower than this are not drawn: they would be invisible.
const NARROWEST: f64 = 0.3;

/// Samples after which the sampler stops, `sys::process::sampler`.
const SAMPLES_MAX: usize = 1 << 14;

/// A function, and those that it called.
#[derive(Default)]
struct Node {
    samples: u64,
    called: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, stack: &[String]) {
        self.samples += 1;
        if let Some((outermost, rest)) = stack.split_first() {
            self.called.entry(outermost.clone()).or_default().add(rest);
        }
    }

    fn depth(&self) -> usize {
        1 + self.called.values().map(Node::depth).max().unwrap_or(0)
    }
}

/// The picture of stacks, each with its outermost function first.
pub fn render(title: &str, stacks: &[Vec<String>]) -> String {
    let mut root = Node::default();
    stacks.iter().for_each(|stack| root.add(stack));
    let height = HEAD + root.depth() as f64 * ROW + MARGIN;
    let (title, samples) = (escaped(title), counted(root.samples, "sample", "samples"));
    let is_cut = stacks.len() >= SAMPLES_MAX;
    let cut = if is_cut { " (sampling stopped there: what ran later is not in the picture)" } else { "" };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} \
         {height}\" font-family=\"monospace\" font-size=\"11\">\n<title>{title}</title>\n<rect width=\"100%\" \
         height=\"100%\" fill=\"#ffffff\"/>\n<text x=\"{MARGIN}\" y=\"20\" font-size=\"14\">{title}</text>\n\
         <text x=\"{MARGIN}\" y=\"36\">{samples} of CPU time{cut}; width is share, callers stand below what they \
         call</text>\n"
    );
    let picture = Picture { samples: root.samples.max(1), bottom: height - MARGIN };
    picture.draw(&mut svg, "all", &root, 0, 0);
    svg + "</svg>\n"
}

struct Picture {
    samples: u64,
    bottom: f64,
}

impl Picture {
    /// Draws a box, and upon it those of what was called. `before` samples stand to its left.
    fn draw(&self, svg: &mut String, name: &str, node: &Node, level: usize, before: u64) {
        let scale = (WIDTH - 2.0 * MARGIN) / self.samples as f64;
        let (x, width) = (MARGIN + before as f64 * scale, node.samples as f64 * scale);
        if width < NARROWEST {
            return;
        }
        let y = self.bottom - (level + 1) as f64 * ROW;
        let share = 100.0 * node.samples as f64 / self.samples as f64;
        let whole = escaped(name);
        let letters = ((width - 4.0) / LETTER).max(0.0) as usize;
        let shown = escaped(&shortened(name, letters));
        // Writing into a text in memory does not fail.
        let _ = writeln!(
            svg,
            "<g><title>{whole}: {}, {share:.1} %</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{shown}</text></g>",
            counted(node.samples, "sample", "samples"),
            (width - 0.4).max(0.2),
            ROW - 1.0,
            color(name),
            x + 2.0,
            y + 12.0
        );
        let mut left = before;
        for (name, called) in &node.called {
            self.draw(svg, name, called, level + 1, left);
            left += called.samples;
        }
    }
}

/// The end of a path says most.
fn shortened(name: &str, letters: usize) -> String {
    let count = name.chars().count();
    match letters {
        _ if count <= letters => name.into(),
        0..3 => String::new(),
        _ => format!("…{}", name.chars().skip(count - letters + 1).collect::<String>()),
    }
}

/// A warm colour that depends on the name alone, so that two pictures can be compared.
fn color(name: &str) -> String {
    let hash = name.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
    format!("#f{:x}{:02x}4{:x}", hash % 16, 0x60 + (hash >> 8) % 0x80, (hash >> 4) % 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_as_wide_as_its_share_and_names_cannot_break_the_file() {
        let stack = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let svg = render("a <title>", &[stack(&["main", "scan<T>"]), stack(&["main", "walk"]), stack(&["main"])]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("main: 3 samples, 100.0 %") && svg.contains("scan&lt;T&gt;: 1 sample, 33.3 %"));
        assert!(!svg.contains("<title>scan<") && svg.contains("a &lt;title&gt;"));
    }

    #[test]
    fn a_picture_of_all_samples_that_are_kept_does_not_pass_for_one_of_the_whole_run() {
        let sampler = include_str!("../../sys/src/process/sampler.rs");
        assert!(sampler.contains("const SAMPLES_MAX: usize = 1 << 14;"), "the sampler stops elsewhere now");
        let of = |samples: usize| render("lio", &vec![vec!["main".to_string()]; samples]);
        assert!(of(SAMPLES_MAX).contains("16\u{202f}384 samples of CPU time (sampling stopped there: "));
        assert!(!of(SAMPLES_MAX - 1).contains("stopped"));
    }

    #[test]
    fn no_sample_is_a_picture_too() {
        assert!(render("nothing", &[]).contains("0 samples"));
    }
}
