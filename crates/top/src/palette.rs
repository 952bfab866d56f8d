//! How a class is drawn: a letter, and a colour where the terminal has some. And how text stands out, or stands back.

use measure::wait_class::Class;
use ratatui::style::{Color, Modifier, Style};

pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// A class's letter and colour. Colours are those of Okabe and Ito, which colour-blind readers tell apart, as near as a
/// terminal of 256 has them; what they say, the letter says too.
pub(crate) fn mark(class: Class) -> (char, Color) {
    match class {
        Class::Cpu | Class::CpuParse => ('C', Color::Indexed(36)),
        Class::RunQueue | Class::Scheduler => ('Q', Color::Indexed(227)),
        Class::Stolen => ('S', Color::Indexed(179)),
        Class::SingleBlockReads => ('R', Color::Indexed(32)),
        Class::MultiBlockReads => ('M', Color::Indexed(117)),
        Class::TemporaryIo | Class::SessionIo | Class::SystemIo => ('I', Color::Indexed(25)),
        Class::Commit => ('W', Color::Indexed(214)),
        Class::Application => ('L', Color::Indexed(166)),
        Class::Concurrency | Class::Configuration => ('X', Color::Indexed(175)),
        Class::Network => ('N', Color::Indexed(250)),
        _ => ('O', Color::Indexed(242)),
    }
}
