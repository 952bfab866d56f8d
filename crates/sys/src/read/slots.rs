//! Which slots are in flight and what the others hold: the bookkeeping that every I/O method needs.

use std::ptr::NonNull;
use std::sync::Arc;

use super::method::{Completion, MethodError, ReadRequest, Setup};
use crate::memory::Arena;

/// The buffers of a method with the state of each.
#[derive(Debug)]
pub(super) struct Slots {
    arena: Arc<Arena>,
    states: Vec<State>,
    in_flight: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight { length: usize },
    Holds { bytes: usize },
}

impl Slots {
    /// Makes and touches the buffers. Panics when `depth` is 0: nothing could ever be read.
    pub(super) fn new(setup: &Setup<'_>) -> Result<Slots, MethodError> {
        let Setup { depth, slot_bytes, pages, .. } = *setup;
        assert!(depth > 0, "a method needs at least one slot");
        let arena = Arena::on(pages, depth, slot_bytes)
            .map_err(|reason| MethodError::Memory { bytes: depth.saturating_mul(slot_bytes), reason })?;
        let states = vec![State::Holds { bytes: 0 }; depth];
        Ok(Slots { arena: Arc::new(arena), states, in_flight: 0 })
    }

    pub(super) fn depth(&self) -> usize {
        self.states.len()
    }

    /// Reads taken and not yet ended.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Marks the request's slot as in flight and returns its address. Panics where [`super::ReadMethod::queue`] does.
    pub(super) fn begin(&mut self, request: &ReadRequest) -> NonNull<u8> {
        let state = &mut self.states[request.slot];
        assert!(matches!(state, State::Holds { .. }), "slot {} is in flight", request.slot);
        let slot_bytes = self.arena.slot_bytes();
        assert!(request.length <= slot_bytes, "{} bytes asked of a slot of {slot_bytes}", request.length);
        *state = State::InFlight { length: request.length };
        self.in_flight += 1;
        self.arena.pointer(request.slot)
    }

    /// Notes that a read has ended. Panics when it was not in flight or returned more than was asked for.
    pub(super) fn end(&mut self, completion: &Completion) {
        let State::InFlight { length } = self.states[completion.slot] else {
            panic!("slot {} ended without being in flight", completion.slot);
        };
        let bytes = *completion.result.as_ref().unwrap_or(&0);
        assert!(bytes <= length, "{bytes} bytes read where {length} were asked for");
        self.states[completion.slot] = State::Holds { bytes };
        self.in_flight -= 1;
    }

    /// What the last read put into `slot`. Panics while the slot is in flight.
    pub(super) fn data(&self, slot: usize) -> &[u8] {
        let State::Holds { bytes } = self.states[slot] else { panic!("slot {slot} is in flight") };
        &self.arena.slot(slot)[..bytes]
    }
}
