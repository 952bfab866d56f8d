//! This process and others: what the kernel has charged to them, waiting for their end, and where their time goes.

pub mod affinity;
mod bound_child;
mod child;
pub mod sampler;
mod usage;

pub use bound_child::{Account as BoundAccount, BoundChild, bind};
pub use child::*;
pub use usage::*;
