//! The tool's own cost, of which every run keeps a record.

use super::spec::metrics;

metrics! {
    CLOCK_READ = "clock_read", Nanoseconds, "one read of the clock";
    CLOCK_RESOLUTION = "clock_resolution", Nanoseconds, "smallest step between two reads of the clock";
    EMPTY_LOOP = "empty_loop", Nanoseconds, "one turn of a loop around nothing";
    NULL_DEVICE_READ = "null_device_read", Nanoseconds, "one read by the read loop on a device that does nothing";
    SHARE_OF_SERVER = "share_of_server", Percent, "readpath's part of the CPU time while a server worked";
}
