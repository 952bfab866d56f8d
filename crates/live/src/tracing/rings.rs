//! Requests of io_urings that read, and which of them a thread works on: the one that submits it, a thread of the
//! kernel that takes it up, or none while it waits.

use std::collections::HashMap;

use super::window::Window;

/// Most requests that are under way at once; and how long one may be, in ns: the end of one may have been lost.
const REQUESTS_MAX: usize = 1 << 14;
const REQUEST_NANOS_MAX: u64 = 60_000_000_000;

/// Requests under way, each by the address that the kernel has it at.
#[derive(Debug, Default)]
pub(super) struct Rings {
    requests: HashMap<u64, Window>,
    at_work: HashMap<u32, u64>,
    /// By thread: what its present call has submitted.
    submitted: HashMap<u32, Vec<u64>>,
}

impl Rings {
    /// A thread submits a request, and works on it.
    pub(super) fn submit(&mut self, thread: u32, request: u64, window: Window) {
        if self.requests.len() >= REQUESTS_MAX {
            return;
        }
        self.requests.insert(request, window);
        self.at_work.insert(thread, request);
        self.submitted.entry(thread).or_default().push(request);
    }

    /// A thread takes a request up, and finds its file.
    pub(super) fn take_up(&mut self, thread: u32, request: u64, descriptor: u32) {
        if let Some(window) = self.requests.get_mut(&request) {
            window.descriptor = descriptor;
            self.at_work.insert(thread, request);
        }
    }

    /// A thread leaves a request to one of the kernel.
    pub(super) fn hand_on(&mut self, thread: u32, request: u64) {
        self.at_work.remove(&thread);
        if let Some(submitted) = self.submitted.get_mut(&thread) {
            submitted.retain(|one| *one != request);
        }
    }

    /// A thread's call returns: what it has submitted, has not left to others and is not complete waits.
    pub(super) fn leave(&mut self, thread: u32) {
        self.at_work.remove(&thread);
        for request in self.submitted.remove(&thread).unwrap_or_default() {
            if let Some(window) = self.requests.get_mut(&request) {
                window.slept = true;
            }
        }
    }

    /// A request is complete.
    pub(super) fn complete(&mut self, request: u64) -> Option<Window> {
        self.requests.remove(&request)
    }

    /// The request that a thread works on.
    pub(super) fn request_of(&self, thread: u32) -> Option<u64> {
        self.at_work.get(&thread).copied()
    }

    /// The window of that one.
    pub(super) fn worked_on(&mut self, thread: u32) -> Option<&mut Window> {
        let request = self.at_work.get(&thread)?;
        self.requests.get_mut(request)
    }

    /// The window of a request.
    pub(super) fn window(&mut self, request: u64) -> Option<&mut Window> {
        self.requests.get_mut(&request)
    }

    /// Forgets what never ended, and threads that work on nothing.
    pub(super) fn sweep(&mut self, now: u64) {
        self.requests.retain(|_, window| now.saturating_sub(window.begun) < REQUEST_NANOS_MAX);
        let requests = &self.requests;
        self.at_work.retain(|_, request| requests.contains_key(request));
        self.submitted.retain(|_, all| all.iter().any(|request| requests.contains_key(request)));
    }
}
