//! Where blocks come from, and the read loop that asks for them with a queue depth.
//!
//! A device is a row of [`DEVICES`]: files and block devices are opened by `sys`, models take virtual time, the null
//! device does nothing. The loop measures and returns data: it knows no experiment, and prints nothing.

pub mod audit;
pub mod content;
mod device;
pub mod file;
pub mod meter;
pub mod model;
pub mod null;
pub mod own_cost;
pub mod pattern;
pub mod plan;
pub mod read_loop;
mod row;
mod table;
pub mod tier;
pub mod time_source;
pub mod windows;
pub mod workers;

pub use device::{
    Description, Device, DeviceError, Opened, Slots, Unwitnessed, Witnesses, check_block_size, uncounted,
};
pub use row::{DeviceRow, Files, PageCache, Placed, Word};
pub use table::{DEVICES, has_prefix, not_a_file, open, open_direct_or_buffered, place, without_kernel};
