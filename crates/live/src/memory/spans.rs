//! What the processes show, as it was read last: their waits and their entries.

use std::io;

use sys::process::{Part, SharedMapping, read_memory};

use super::entry::{ENTRY_BYTES, Entry, offset};
use super::process::Process;

/// Parts of memory this near to each other are read as one: copying is cheaper than another part.
const NEAR: u64 = 2048;

/// How often an entry is copied anew that its process changes meanwhile.
const TRIES: usize = 3;

/// What is read in each look.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    /// What one call reads; parts that lie near each other are one.
    parts: Vec<Part>,
    bytes: Vec<u8>,
    /// Where the waits and the entries of all processes stand in `bytes`, in their order.
    waits: Vec<usize>,
    entries: Vec<usize>,
}

impl Spans {
    /// A process's entry.
    pub(super) fn entry(&self, at: usize) -> Entry<'_> {
        let place = self.entries.get(at).copied().unwrap_or(usize::MAX);
        Entry::new(self.bytes.get(place..).map_or(&[], |bytes| &bytes[..bytes.len().min(ENTRY_BYTES)]))
    }

    /// For what a process waits; 0 for nothing.
    pub(super) fn wait(&self, at: usize) -> u32 {
        let place = self.waits.get(at).copied().unwrap_or(usize::MAX);
        let bytes = self.bytes.get(place..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Room for what is copied of each process, one behind the other. Nothing has been copied yet.
    pub(super) fn apart(processes: &[Process]) -> Spans {
        let count = processes.len();
        let begin = count * size_of::<u32>();
        Spans {
            parts: Vec::new(),
            bytes: vec![0; begin + count * ENTRY_BYTES],
            waits: (0..count).map(|at| at * size_of::<u32>()).collect(),
            entries: (0..count).map(|at| begin + at * ENTRY_BYTES).collect(),
        }
    }

    /// Copies what has changed since the last time: an entry says by its count of changes whether it has. Says whether
    /// all of it is in the mapping.
    pub(super) fn copy(&mut self, mapping: &SharedMapping, processes: &[Process]) -> bool {
        for (at, process) in processes.iter().enumerate() {
            let Some(wait) = mapping.word(process.wait) else { return false };
            let place = self.waits[at];
            self.bytes[place..place + size_of::<u32>()].copy_from_slice(&wait.to_le_bytes());
            let changes = || mapping.word(process.entry + offset::CHANGES as u64).map(u32::cast_signed);
            for _ in 0..TRIES {
                let known = self.entry(at);
                if !known.is_changing() && Some(known.changes()) == changes() {
                    break;
                }
                let place = self.entries[at];
                if !mapping.copy(process.entry, &mut self.bytes[place..place + ENTRY_BYTES]) {
                    return false;
                }
            }
        }
        true
    }

    /// Room for what one call reads: the parts that hold what all these processes show.
    pub(super) fn joined(processes: &[Process]) -> Spans {
        let waits = processes.iter().map(|process| (process.wait, size_of::<u32>()));
        let entries = processes.iter().map(|process| (process.entry, ENTRY_BYTES));
        let wanted: Vec<(u64, usize)> = waits.chain(entries).collect();
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|at| wanted[*at].0);
        let mut parts: Vec<Part> = Vec::new();
        let (mut places, mut before) = (vec![0; wanted.len()], 0);
        for at in order {
            let (address, length) = wanted[at];
            match parts.last_mut().filter(|part| address <= part.address + part.length as u64 + NEAR) {
                Some(part) => part.length = part.length.max((address - part.address) as usize + length),
                None => {
                    before += parts.last().map_or(0, |part| part.length);
                    parts.push(Part { address, length });
                }
            }
            let begin = parts.last().map_or(address, |part| part.address);
            places[at] = before + (address - begin) as usize;
        }
        let size = parts.iter().map(|part| part.length).sum();
        let entries = places.split_off(processes.len());
        Spans { parts, bytes: vec![0; size], waits: places, entries }
    }

    /// Reads all parts with one call.
    pub(super) fn read(&mut self, process: u32, processes: &[Process]) -> io::Result<()> {
        read_memory(process, &self.parts, &mut self.bytes)?;
        // An entry that its process was changing is read once more, on its own.
        for (at, one) in processes.iter().enumerate() {
            if self.entry(at).is_changing() {
                let place = self.entries[at];
                let part = Part { address: one.entry, length: ENTRY_BYTES };
                read_memory(process, &[part], &mut self.bytes[place..place + ENTRY_BYTES])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_lie_near_each_other_are_read_as_one_and_each_process_finds_its_own() {
        let memory: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
        let base = memory.as_ptr() as u64;
        let of = |number: u32, wait: u64, entry: u64| Process::new(number, base + wait, base + entry);
        let processes = [of(1, 100_000, 880), of(2, 100_880, 432), of(3, 180_000, 5_000)];
        let mut spans = Spans::joined(&processes);
        assert_eq!(spans.parts.len(), 4, "two entries, one, two waits, one");
        spans.read(std::process::id(), &processes).unwrap();
        for (at, process) in processes.iter().enumerate() {
            let begin = |address: u64| ((address - base) % 251) as u8;
            assert_eq!(spans.bytes[spans.waits[at]], begin(process.wait));
            assert_eq!(spans.bytes[spans.entries[at]], begin(process.entry));
        }
    }
}
