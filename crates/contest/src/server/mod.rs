//! A private PostgreSQL server as a contender.

pub(crate) mod backend;
pub(crate) mod installation;
pub(crate) mod plan;
pub(crate) mod server;
pub(crate) mod wire;
