//! The state of the core around a measurement, which most experiments record.

use super::spec::metrics;

metrics! {
    CORE_CLOCK = "core_clock", Gigahertz, "frequency of the core before and after";
    CORE_ADDITIONS = "core_additions", Count, "independent additions a cycle before and after: fewer on a shared core";
}
