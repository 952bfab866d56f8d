//! A private PostgreSQL server: fetched, initialised, started, restarted and removed by this program.
//!
//! It listens on a socket in a directory of its own, which no other user can enter, and on nothing else. It ends with
//! this process, `kill -9` included; the next run removes a directory that was left then ([`sweep`]). It keeps nothing
//! safe: everything it holds was made to be measured and discarded. On a copy of a data directory that the user names
//! ([`crate::ClusterCopy`]), it leaves the directory as a server leaves it that is stopped.
//!
//! It judges nothing, and knows no experiment.

mod account;
mod archive;
mod copied_cluster;
mod error;
mod installation;
mod page_cache;
mod room;
mod running;
mod settings;
mod single_user;
mod start_options;
mod starter;
mod unpacked;
mod versions;

pub use archive::Archive;
pub use error::PrivateServerError;
pub use installation::{Installation, Source, Version};
pub use page_cache::{drop_from_page_cache, files_of_relation};
pub use room::sweep;
pub use running::PrivateServer;
pub use settings::ServerSettings;
pub use single_user::CountedStatements;
pub use starter::Starter;
pub use versions::VERSIONS;
