//! Names of wait events by their numbers in memory. No version's numbers are built in: each name is learned from the
//! server, when its view and the memory show the same wait. A server that lists its events (17 and later) does so in
//! the order of their numbers, which is believed of a type of waits until one that is learned says otherwise.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    names: HashMap<u32, Arc<str>>,
    listed: HashMap<u32, Arc<str>>,
    numbers: HashMap<u32, Arc<str>>,
    /// Names that were learned of waits which were shown by their numbers before, with what was shown.
    renamed: Vec<(Arc<str>, Arc<str>)>,
}

impl Events {
    /// The name of a wait; `IO:#7` where it is not known. `None` for no wait.
    pub(super) fn name(&mut self, wait: u32) -> Option<Arc<str>> {
        if wait == 0 {
            return None;
        }
        if let Some(name) = self.names.get(&wait).or_else(|| self.listed.get(&wait)) {
            return Some(Arc::clone(name));
        }
        let numbered = || Arc::from(format!("{}:#{}", class(wait), wait & 0xffff));
        Some(Arc::clone(self.numbers.entry(wait).or_insert_with(numbered)))
    }

    /// Takes down what the server calls a wait.
    pub(super) fn learn(&mut self, wait: u32, name: &Arc<str>) {
        if wait != 0 && name.split(':').next() == Some(class(wait)) {
            if self.listed.get(&wait).is_some_and(|listed| listed != name) {
                self.listed.retain(|listed, _| listed >> 24 != wait >> 24);
            }
            if let Entry::Vacant(place) = self.names.entry(wait) {
                place.insert(Arc::clone(name));
                self.renamed.extend(self.numbers.remove(&wait).map(|number| (number, Arc::clone(name))));
            }
        }
    }

    /// What was shown by its number and has a name now: the number and the name.
    pub(super) fn take_renamed(&mut self) -> Vec<(Arc<str>, Arc<str>)> {
        std::mem::take(&mut self.renamed)
    }

    /// Takes the server's list of its events: types and names.
    pub(super) fn list(&mut self, events: impl Iterator<Item = (String, String)>) {
        let mut next: HashMap<u32, u32> = HashMap::new();
        for (kind, name) in events {
            if let Some(class) = LISTED.into_iter().find(|listed| class(listed << 24) == kind) {
                let number = next.entry(class).or_insert(0);
                self.listed.insert(class << 24 | *number, Arc::from(format!("{kind}:{name}")));
                *number += 1;
            }
        }
    }

    pub(super) fn is_known(&self, wait: u32) -> bool {
        wait == 0 || self.names.contains_key(&wait) || self.listed.contains_key(&wait)
    }
}

/// The types whose events are numbered in the order of the server's list.
const LISTED: [u32; 6] = [0x04, 0x05, 0x06, 0x08, 0x09, 0x0a];

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
    fn the_servers_list_names_waits_by_their_order_until_it_is_seen_to_be_wrong() {
        let list =
            [("IO", "AioIoCompletion"), ("LWLock", "BufferContent"), ("IO", "BasebackupRead"), ("IPC", "AppendReady")];
        let mut events = Events::default();
        events.list(list.into_iter().map(|(kind, name)| (kind.to_string(), name.to_string())));
        assert_eq!(events.name(0x0a00_0001).as_deref(), Some("IO:BasebackupRead"));
        assert_eq!(events.name(0x0800_0000).as_deref(), Some("IPC:AppendReady"));
        // Locks of memory have numbers of their own.
        assert_eq!(events.name(0x0100_0000).as_deref(), Some("LWLock:#0"));
        events.learn(0x0a00_0000, &"IO:DataFileRead".into());
        assert_eq!(events.name(0x0a00_0001).as_deref(), Some("IO:#1"));
        assert_eq!(events.name(0x0800_0000).as_deref(), Some("IPC:AppendReady"));
    }

    #[test]
    fn an_extensions_own_wait_has_the_name_that_the_extension_gave_it_and_until_then_its_number() {
        let mut events = Events::default();
        let list = [("Extension", "Extension"), ("Extension", "PgStatement"), ("IO", "DataFileRead")];
        events.list(list.into_iter().map(|(kind, name)| (kind.to_string(), name.to_string())));
        // Extensions number their waits as they come: the order of the server's list says nothing of them.
        assert_eq!(events.name(0x0700_0005).as_deref(), Some("Extension:#5"));
        assert_eq!(events.name(0x0700_0001).as_deref(), Some("Extension:#1"));
        events.learn(0x0700_0005, &"Extension:X".into());
        assert!(events.is_known(0x0700_0005) && !events.is_known(0x0700_0001));
        assert_eq!(events.name(0x0700_0005).as_deref(), Some("Extension:X"));
        assert_eq!(events.name(0x0700_0001).as_deref(), Some("Extension:#1"));
    }

    #[test]
    fn a_wait_has_its_number_until_the_server_names_it_and_no_name_of_another_type() {
        let mut events = Events::default();
        assert_eq!(events.name(0), None);
        assert_eq!(events.name(0x0a00_0007).as_deref(), Some("IO:#7"));
        events.learn(0x0a00_0007, &"Client:ClientRead".into());
        assert!(!events.is_known(0x0a00_0007), "the session had gone on");
        events.learn(0x0a00_0007, &"IO:DataFileRead".into());
        events.learn(0x0a00_0007, &"IO:WALSync".into());
        assert_eq!(events.take_renamed(), [("IO:#7".into(), "IO:DataFileRead".into())]);
        assert_eq!(events.name(0x0a00_0007).as_deref(), Some("IO:DataFileRead"));
    }
}
