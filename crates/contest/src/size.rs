//! readpath at the published size: how fast a table is loaded, and whether six access paths over 69,642,625 rows are
//! measured within ten minutes.
//!
//! ```sh
//! cargo run --release -p contest -- size [--pairs 5] [--payload 1GiB] [--rows 69642625] [--directory DIR]
//!     [--results DIR] [--fail-on-miss]
//! ```
//!
//! There is no peer: the bars are figures. The paths of the published size take 16 GB of memory. What is computed is
//! tested by `tests/contests/size.rs`.

mod bars;
pub(crate) mod command;
