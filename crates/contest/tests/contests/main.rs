//! The contests, tested without a contest's time: each runs small, and notices a contender that is slow, dear or wrong.

mod calibrate;
mod fio;
mod join;
mod postgres;
mod profile;
mod program;
mod sampling;
mod scan;
mod size;
