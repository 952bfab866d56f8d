//! The privilege levels at which events are counted.

/// In whose name the processor has to run for an event to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rings {
    /// The program itself; needs the least permission.
    User,
    /// The program, and the kernel while it works for it.
    UserAndKernel,
}

impl Rings {
    /// The rings as a source names them.
    pub fn name(self) -> &'static str {
        match self {
            Rings::User => "user mode",
            Rings::UserAndKernel => "user and kernel mode",
        }
    }
}
