//! The page: what is shown of a run, without a word on how. A renderer needs nothing but this.

pub(crate) mod cell;
pub(crate) mod chart;
pub(crate) mod course;
pub(crate) mod number;
pub(crate) mod parameters;
pub(crate) mod section;
pub(crate) mod table;
pub(crate) mod wording;

pub use cell::Cell;
pub use chart::{Axis, Chart, Datum, HeatColumn, Key, Layers, Line, Place, Plot, Row, Shape};
pub use course::Course;
pub use section::{Figure, Findings, Page, Section};
pub use table::{Align, Column, Scale, Table};
