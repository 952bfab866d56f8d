//! Files and block devices opened for reading, the test file that the tool makes itself, and what the kernel knows
//! about both: extents, the page cache, counters of the device.

mod alignment;
pub mod awaited;
mod block_device;
mod caching;
mod device_number;
pub mod extents;
mod fill;
mod mount;
pub mod own_folder;
pub mod plain;
mod target;
mod test_file;
pub mod witness;

pub use alignment::Alignment;
pub use block_device::{BlockDevice, DeviceCounters, NoBlockDevice};
pub use caching::Caching;
pub use device_number::DeviceNumber;
pub use fill::{Filling, SEGMENT_BYTES, reserve};
pub use own_folder::OwnFolder;
pub use target::{Kind, Target, TargetError, is_in_memory};
pub use test_file::{TestFile, TestFileError, expected_block, scratch_file};
