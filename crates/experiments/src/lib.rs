//! What is asked: one file an experiment, each with its parameters, its procedure, its cases and its findings.

pub mod journal;
