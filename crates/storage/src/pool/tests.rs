//! Tests of the pool that do not stand beside what they test.

mod word;
