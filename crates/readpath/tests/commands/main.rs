//! The program as its users call it: real files, real servers, wrong words, ^C and kill at any moment.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]
#![allow(clippy::print_stdout, reason = "a skip is counted by its line")]

mod access_paths;
mod agreement;
mod calibrate;
mod calibrate_servers;
mod children;
mod command_line;
mod compare_traces;
mod counters;
mod dashboards;
mod examples;
mod export;
mod follow;
mod grafana;
mod jobs;
mod kills;
mod limited;
mod logical_reads;
mod measuring;
mod nested_loops;
mod notebook;
mod options;
mod page;
mod postgres_announced;
mod postgres_join;
mod postgres_lio;
mod postgres_scan;
mod postgres_versions;
mod profile;
mod profile_skew;
mod python_module;
mod record;
mod removal;
mod running;
mod sqlite;
mod terminal;
mod top;
mod user;
mod waiting;
