//! Names of wait events by their numbers in memory. They are first those that are built into the server's version
//! and, of a server that lists its events (17 and later), those of its list, which is in the order of their numbers.
//! Both are believed of a type of waits until the server's view says otherwise. Each other name is learned, when the
//! view and the memory show the same wait.

use std::collections::HashMap;
use std::sync::Arc;

use super::numbers::built_in;

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    names: HashMap<u32, Arc<str>>,
    listed: HashMap<u32, Arc<str>>,
    /// Names other than the listed ones that the server's view has shown, and how often in turn.
    doubts: HashMap<u32, (Arc<str>, u32)>,
    numbers: HashMap<u32, Arc<str>>,
    /// Names that were learned of waits which were shown by their numbers before, with what was shown.
    renamed: Vec<(Arc<str>, Arc<str>)>,
}

/// How often in turn the view has to contradict a list. The memory may meet a session that reads and writes in turn in
/// one wait before and after, and the view in the other one: now and then twice in turn.
const SURE: u32 = 4;

/// Most numbers that are kept because they have no name.
const NUMBERS_MAX: usize = 1 << 12;

impl Events {
    /// What is built into a major version.
    pub(super) fn of(major: u32) -> Events {
        let name = |(wait, name)| (wait, Arc::from(format!("{}:{name}", class(wait))));
        Events { listed: built_in(major).map(name).collect(), ..Events::default() }
    }

    /// The name of a wait; `IO:#7` where it is not known. `None` for no wait.
    pub(super) fn name(&mut self, wait: u32) -> Option<Arc<str>> {
        if wait == 0 {
            return None;
        }
        if let Some(name) = self.names.get(&wait).or_else(|| self.listed.get(&wait)) {
            return Some(Arc::clone(name));
        }
        if self.numbers.len() >= NUMBERS_MAX {
            self.numbers.clear();
        }
        let numbered = || Arc::from(format!("{}:#{}", class(wait), wait & 0xffff));
        Some(Arc::clone(self.numbers.entry(wait).or_insert_with(numbered)))
    }

    /// Takes down what the server calls a wait. Where that contradicts a list, nothing that was listed of its type
    /// holds any more, but only when the server has said it [`SURE`] times, and not of another number before: now and
    /// then its view shows another wait of a process that had the same one before and after. For the same reason, a
    /// number that no list has takes a name that is listed for another one only when it was said as often.
    pub(super) fn learn(&mut self, wait: u32, name: &Arc<str>) {
        if wait == 0 || name.split(':').next() != Some(class(wait)) || self.names.contains_key(&wait) {
            return;
        }
        let is_unlisted = !self.listed.contains_key(&wait);
        if is_unlisted && self.listed.values().any(|listed| listed == name) && !self.is_sure(wait, name) {
            return;
        }
        if self.listed.get(&wait).is_some_and(|listed| listed != name) {
            if !self.is_sure(wait, name) || self.names.values().any(|known| known == name) {
                return;
            }
            self.listed.retain(|listed, _| listed >> 24 != wait >> 24);
        }
        self.names.insert(wait, Arc::clone(name));
        self.renamed.extend(self.numbers.remove(&wait).map(|number| (number, Arc::clone(name))));
    }

    /// Counts that the view has shown a wait by this name, and says whether it did so often enough in turn.
    fn is_sure(&mut self, wait: u32, name: &Arc<str>) -> bool {
        let doubt = self.doubts.entry(wait).or_insert_with(|| (Arc::clone(name), 0));
        *doubt = (Arc::clone(name), if doubt.0 == *name { doubt.1 + 1 } else { 1 });
        doubt.1 >= SURE
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

    impl Events {
        /// The waits that are listed, where nothing has contradicted them.
        pub(in crate::memory) fn listed(&self) -> impl Iterator<Item = (u32, Arc<str>)> {
            self.listed.iter().map(|(wait, name)| (*wait, Arc::clone(name)))
        }

        /// The waits that the server has named.
        pub(in crate::memory) fn learned(&self) -> impl Iterator<Item = (u32, Arc<str>)> {
            self.names.iter().map(|(wait, name)| (*wait, Arc::clone(name)))
        }
    }

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
        for _ in 1..SURE {
            events.learn(0x0a00_0000, &"IO:WALSync".into());
        }
        assert_eq!(events.name(0x0a00_0001).as_deref(), Some("IO:BasebackupRead"), "the session had gone on");
        events.learn(0x0a00_0000, &"IO:WALSync".into());
        assert_eq!(events.name(0x0a00_0001).as_deref(), Some("IO:#1"));
        assert_eq!(events.name(0x0800_0000).as_deref(), Some("IPC:AppendReady"));
    }

    #[test]
    fn a_fork_whose_numbers_differ_keeps_none_of_that_type_and_all_of_the_others() {
        let mut events = Events::of(15);
        assert_eq!(events.name(0x0a00_0014).as_deref(), Some("IO:DataFileWrite"));
        assert_eq!(events.name(0x0300_0005).as_deref(), Some("Lock:transactionid"));
        for _ in 0..SURE {
            events.learn(0x0a00_0014, &"IO:ForkRead".into());
        }
        assert_eq!(events.name(0x0a00_0014).as_deref(), Some("IO:ForkRead"));
        assert_eq!(events.name(0x0a00_0013).as_deref(), Some("IO:#19"));
        assert_eq!(events.name(0x0300_0005).as_deref(), Some("Lock:transactionid"));
        assert!(events.is_known(0x0900_0002) && !events.is_known(0x0a00_0013));
    }

    #[test]
    fn a_name_that_was_seen_stays_whatever_the_view_shows_of_a_session_that_went_on() {
        let mut events = Events::of(15);
        events.learn(0x0a00_0048, &"IO:WALWrite".into());
        for _ in 0..5 {
            events.learn(0x0a00_0048, &"IO:WALSync".into());
        }
        assert_eq!(events.name(0x0a00_0048).as_deref(), Some("IO:WALWrite"));
        assert!(events.is_known(0x0a00_0046), "the list holds");
    }

    #[test]
    fn a_name_that_another_number_has_contradicts_no_list() {
        let mut events = Events::of(16);
        events.learn(0x0a00_0011, &"IO:DataFileRead".into());
        let listed = events.listed.clone();
        for _ in 0..9 {
            events.learn(0x0a00_0014, &"IO:DataFileRead".into());
        }
        assert_eq!(events.listed, listed, "a session that reads and writes in turn");
    }

    #[test]
    fn a_number_that_no_list_has_is_shown_until_its_name_is_learned() {
        let mut events = Events::of(15);
        // An extension's group of locks, a number that has no lock, and a version that is not known.
        assert_eq!(events.name(0x0100_004b).as_deref(), Some("LWLock:#75"));
        assert_eq!(events.name(0x0100_000a).as_deref(), Some("LWLock:#10"));
        assert_eq!(Events::of(19).name(0x0a00_0014).as_deref(), Some("IO:#20"));
        events.learn(0x0100_004b, &"LWLock:pg_stat_statements".into());
        assert_eq!(events.name(0x0100_004b).as_deref(), Some("LWLock:pg_stat_statements"));
        assert_eq!(events.name(0x0100_0008).as_deref(), Some("LWLock:WALWrite"), "that says nothing of the others");
    }

    #[test]
    fn a_number_that_no_list_has_takes_no_name_that_a_list_has_for_another() {
        let mut events = Events::of(15);
        // Between two waits for the extension's lock, the view met one for the log.
        events.learn(0x0100_004b, &"LWLock:WALWrite".into());
        assert!(!events.is_known(0x0100_004b));
        events.learn(0x0100_004b, &"LWLock:pg_stat_statements".into());
        assert_eq!(events.name(0x0100_004b).as_deref(), Some("LWLock:pg_stat_statements"));
        assert_eq!(events.name(0x0100_0008).as_deref(), Some("LWLock:WALWrite"));
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
    fn memory_that_shows_ever_new_numbers_fills_none_of_ours() {
        let mut events = Events::default();
        for wait in 0x0b00_0000..0x0b00_0000 + 3 * NUMBERS_MAX as u32 {
            assert!(events.name(wait).is_some() && events.numbers.len() <= NUMBERS_MAX);
        }
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
