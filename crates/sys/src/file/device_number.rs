//! Major and minor numbers: how the kernel names a block device.

use std::fmt;

/// Major and minor number of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceNumber {
    /// Which driver; 0 for a file system that stands on no single device.
    pub major: u32,
    /// Which of the driver's devices.
    pub minor: u32,
}

/// Bits of the minor number in the kernel's own records (`MINORBITS`); the major one stands above them.
const MINOR_BITS: u32 = 20;

impl DeviceNumber {
    /// A number as calls such as stat return it.
    pub fn of(device: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }

    /// A number as the kernel keeps it, which is how tracepoints give it. Source: `MKDEV` in include/linux/kdev_t.h.
    pub fn of_record(device: u64) -> DeviceNumber {
        let (major, minor) = (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1));
        DeviceNumber { major: major as u32, minor: minor as u32 }
    }

    /// A number as the kernel writes it: `8:1`.
    pub(crate) fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_record_and_one_of_a_call_are_the_same_device() {
        for (major, minor) in [(8, 1), (259, 300), (0, 45), (254, 0xf_ffff)] {
            let number = DeviceNumber { major, minor };
            assert_eq!(DeviceNumber::of_record((u64::from(major) << 20) | u64::from(minor)), number);
            assert_eq!(DeviceNumber::of(rustix::fs::makedev(major, minor)), number);
        }
    }
}
