//! A running server under observation.
//!
//! A sampler looks at all its processes at one moment; [`Watch`] asks it again and again, gives what it saw to a
//! profile, and holds that against the server's own account. A [`Recorder`] hears the same and keeps it in files. It
//! makes nothing on the server and changes nothing there.
//! What a sample means is known below, in `profile`; nothing here renders.

mod active_time;
mod burden;
mod counters;
mod exact;
mod further;
mod hits;
mod listener;
mod memory;
mod process;
mod processors;
mod question;
mod recorder;
mod refusal;
mod row;
mod sampler;
mod sleeps;
mod sql;
mod statements;
mod tracing;
mod watch;

pub use exact::Chosen;
pub use listener::Listener;
pub use recorder::{News, Recorder, RecorderSettings};
pub use watch::{Settings, Watch, WatchedFor};
