//! What the tool itself costs on this machine in this run.

use measure::schema::own_cost;
use sys::time::system_call;

use crate::journal::Journal;
use crate::machine::Machine;

/// Samples of the loop over the null device: about 5 ms each.
const SAMPLES: usize = 7;

/// Depth of the null-device loop that a run reports by default.
const DEPTH: usize = 32;

/// Measures the clock read, the clock's resolution, the empty loop and the null device, and adds them to the run.
pub fn measure(machine: &Machine, journal: &mut dyn Journal) {
    if machine.is_rehearsal() {
        return;
    }
    let clock = &machine.clock;
    let name = clock.name();
    let resolution = clock.resolution().0 as f64;
    let metrics = [
        own_cost::CLOCK_READ.of_samples(&name, &clock.read_cost_ns()),
        Some(own_cost::CLOCK_RESOLUTION.single("smallest step between two reads", resolution)),
        own_cost::EMPTY_LOOP.of_samples("loop around nothing", &system_call::empty_loop_ns(clock)),
        own_cost::NULL_DEVICE_READ.of_samples(
            "the read loop over a device that does nothing, depth 32",
            &device::own_cost::null_device_read_ns(clock, DEPTH, SAMPLES),
        ),
    ];
    metrics.into_iter().flatten().for_each(|metric| journal.own_cost(metric));
}
