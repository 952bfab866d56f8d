//! Profiles of real, made, damaged and odd input. Memory and calling off have programs of their own: they are about a
//! whole process.

mod advised;
mod borne_out;
mod compared;
mod damaged;
mod expected;
mod given_records;
mod mixtures;
mod mixtures_made;
mod odd_traces;
mod postgres_logs;
mod postgres_plans;
mod postgres_server;
mod readings;
mod recorded;
mod recorded_reads;
mod reports;
mod support;
mod synthetic;
mod synthetic_trace;
