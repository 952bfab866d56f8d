//! Hybrid columnar units: some thousand rows at a time, stored column by column and compressed, over ordinary blocks.
//!
//! A unit is a string of bytes ([`mod@format`]) that is cut into blocks ([`table`]); the blocks are got from the pool
//! like any others, so that their gets count. Every section of a unit has its own checksum: a scan that needs two
//! columns reads and checks two. A damaged unit is named and never used.

pub mod builder;
pub mod format;
pub mod level;
pub mod section;
pub mod table;

pub use builder::UnitBuilder;
pub use level::Level;
pub use table::UnitTable;
