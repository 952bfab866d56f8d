//! `counters`: what the processor and the kernel count of a command or a process.

use super::spec::{Experiment, metrics, parameters};
use super::{conditions, events};

parameters! {
    COMMAND = "command", "the command line that was counted";
    PID = "pid", "the process that was counted";
}

metrics! {
    ELAPSED = "elapsed", Nanoseconds, "time by the clock";
    TASK_CLOCK = "task_clock", Nanoseconds, "CPU time";
    USER_TIME = "user_time", Nanoseconds, "CPU time in user mode";
    SYSTEM_TIME = "system_time", Nanoseconds, "CPU time in the kernel";
    CONTEXT_SWITCHES = "context_switches", Count, "times that a processor was taken or given away";
    CPU_MIGRATIONS = "cpu_migrations", Count, "moves to another processor";
    PAGE_FAULTS = "page_faults", Count, "page faults";
    MAJOR_FAULTS = "major_faults", Count, "page faults that read";
    CORE_GHZ = "core_ghz", Gigahertz, "cycles over CPU time";
    IPC = "ipc", Ratio, "instructions over cycles";
    CPUS_USED = "cpus_used", Ratio, "CPU time over elapsed time";
}

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "counters",
    parameters: &[parameters::ALL],
    metrics: &[METRICS, conditions::METRICS],
    families: &[events::FAMILIES],
    published: &[],
};
