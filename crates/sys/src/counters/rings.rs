//! The privilege levels at which events are counted.

/// The privilege levels in which events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rings {
    /// The program itself; needs the least permission.
    User,
    /// The program, and the kernel on its behalf.
    UserAndKernel,
}

impl Rings {
    /// The rings as a metric's source names them.
    pub fn name(self) -> &'static str {
        match self {
            Rings::User => "user mode",
            Rings::UserAndKernel => "user and kernel mode",
        }
    }
}
