//! A PostgreSQL server: one that is given, and treated as somebody's production, or a private one that this program
//! starts and removes.
//!
//! A [`Session`] is one connection, or a rehearsal of one that only notes its statements. A [`Schema`] is the one place
//! where anything is made, and removes itself on every way out. A [`private::PrivateServer`] is a server of this
//! process's own. What an experiment asks of a server is not known here.

pub mod activity;
pub mod backend;
mod cancel;
mod encryption;
pub mod error;
pub mod explain;
pub mod facts;
pub mod place;
mod pooler;
pub mod private;
pub mod schema;
pub mod session;
pub mod space;
pub mod statements;

pub use backend::BackendAccount;
pub use error::ServerError;
pub use explain::{Buffers, Plan};
pub use facts::ServerFacts;
pub use place::{Address, Place};
pub use schema::Schema;
pub use session::{Limits, Session};
pub use statements::Statements;
