//! Names of wait events by their numbers in memory. No version's numbers are built in: each name is learned from the
//! server, when its view and the memory show the same wait.

use std::collections::HashMap;
use std::sync::Arc;

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    names: HashMap<u32, Arc<str>>,
    numbers: HashMap<u32, Arc<str>>,
}

impl Events {
    /// The name of a wait; `IO:#7` where it is not known. `None` for no wait.
    pub(super) fn name(&mut self, wait: u32) -> Option<Arc<str>> {
        if wait == 0 {
            return None;
        }
        if let Some(name) = self.names.get(&wait) {
            return Some(Arc::clone(name));
        }
        let numbered = || Arc::from(format!("{}:#{}", class(wait), wait & 0xffff));
        Some(Arc::clone(self.numbers.entry(wait).or_insert_with(numbered)))
    }

    /// Takes down what the server calls a wait.
    pub(super) fn learn(&mut self, wait: u32, name: &Arc<str>) {
        if wait != 0 && name.split(':').next() == Some(class(wait)) {
            self.names.entry(wait).or_insert_with(|| Arc::clone(name));
        }
    }

    pub(super) fn is_known(&self, wait: u32) -> bool {
        wait == 0 || self.names.contains_key(&wait)
    }
}

/// The type of a wait, which is in the highest byte of its number in all versions from 13 on.
fn class(wait: u32) -> &'static str {
    match wait >> 24 {
        0x01 => "LWLock",
        0x03 => "Lock",
        0x04 => "BufferPin",
        0x05 => "Activity",
        0x06 => "Client",
        0x07 => "Extension",
        0x08 => "IPC",
        0x09 => "Timeout",
        0x0a => "IO",
        0x0b => "InjectionPoint",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_its_number_until_the_server_names_it_and_no_name_of_another_type() {
        let mut events = Events::default();
        assert_eq!(events.name(0), None);
        assert_eq!(events.name(0x0a00_0007).as_deref(), Some("IO:#7"));
        events.learn(0x0a00_0007, &"Client:ClientRead".into());
        assert!(!events.is_known(0x0a00_0007), "the session had gone on");
        events.learn(0x0a00_0007, &"IO:DataFileRead".into());
        events.learn(0x0a00_0007, &"IO:WALSync".into());
        assert_eq!(events.name(0x0a00_0007).as_deref(), Some("IO:DataFileRead"));
    }
}
