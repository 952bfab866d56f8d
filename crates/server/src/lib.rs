//! A PostgreSQL server: a given one, treated as production, or a private one that this program starts and removes.
//!
//! A [`Session`] sends its statements by a link: a connection, or a recorder for dry runs. Everything that is made lies
//! in a [`Schema`], which removes itself on every way out. A [`private::PrivateServer`] belongs to this process. What
//! an experiment asks of a server is not known here.

pub mod activity;
pub mod backend;
mod cluster;
mod encryption;
pub mod error;
pub mod explain;
pub mod facts;
mod hosts;
pub mod identifier;
mod link;
mod listing;
mod live;
mod one_line;
mod parameters;
pub mod place;
mod pooler;
pub mod private;
mod recording;
pub mod schema;
pub mod session;
pub mod space;
pub mod statements;
mod wire;

pub use backend::BackendAccount;
pub use cluster::ClusterCopy;
pub use error::ServerError;
pub use explain::{Buffers, Plan};
pub use facts::ServerFacts;
pub use parameters::{Defaults, home_of_account};
pub use place::{Address, Place};
pub use schema::Schema;
pub use session::{Limits, Session};
pub use statements::Statements;
pub use wire::{Row, UNREADABLE};
