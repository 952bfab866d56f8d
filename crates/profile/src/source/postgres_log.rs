//! PostgreSQL's server logs with the plans of auto_explain in JSON: from bytes to calls, waits and plan lines.
//!
//! The path: lines → entries (plain text, CSV, JSON) → plan messages → nodes with their own figures → observers. Of the
//! versions 13 to 19, whose keys differ. Nothing here recurses over a plan, and nothing here trusts one.

pub mod csvlog;
pub mod entry;
pub mod figures;
pub mod findings;
pub mod format;
pub mod json;
pub mod jsonlog;
pub mod message;
pub mod number;
mod order;
pub mod plan;
pub mod source;
pub mod stderr;

pub use source::ROW;
