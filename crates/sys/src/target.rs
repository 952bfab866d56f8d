//! (to be written)
/// An open file or block device.
#[derive(Debug)]
pub struct Target {}
