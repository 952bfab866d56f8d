//! The disk's buffer: what it has read before, and what it reads ahead behind the last request.

use std::collections::VecDeque;

use super::geometry::Geometry;
use super::parameters::SECTOR;

/// A run of sectors in the buffer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    end: u64,
}

/// Reading ahead: the head stays where the last read ended and reads on until something else is to be done.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// First sector that is in the buffer.
    first: u64,
    /// The head was at the beginning of this sector...
    from: u64,
    /// ...at this moment, in nanoseconds.
    since: f64,
    /// End of what the host has asked for.
    consumed: u64,
}

/// The buffer, in segments of equal size; the oldest gives way.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    segments: VecDeque<Segment>,
    count: usize,
    /// Sectors of a segment.
    size: u64,
    revolution: f64,
    stream: Option<Stream>,
    /// Sectors of the disk: there is nothing to read behind them.
    sectors: u64,
}

impl Buffer {
    pub(super) fn new(bytes: u64, count: u32, revolution: f64, sectors: u64) -> Buffer {
        let size = bytes / SECTOR / u64::from(count.max(1));
        Buffer {
            segments: VecDeque::new(),
            count: if size == 0 { 0 } else { count as usize },
            size,
            revolution,
            stream: None,
            sectors,
        }
    }

    /// When the sectors from `first` to `end` are in the buffer, if they are or will be without moving the arm:
    /// `now` or later, in nanoseconds.
    pub(super) fn ready(&self, geometry: &Geometry, first: u64, end: u64, now: f64) -> Option<f64> {
        if self.segments.iter().any(|segment| segment.first <= first && end <= segment.end) {
            return Some(now);
        }
        let stream = self.stream.as_ref().filter(|stream| self.is_ahead(geometry, stream, (first, end), now))?;
        if end <= stream.from {
            return Some(now);
        }
        Some((stream.since + geometry.revolutions(stream.from, end) * self.revolution).max(now))
    }

    /// Whether the sectors from `first` to `end` are in what is read ahead, or will be without moving the arm.
    fn is_ahead(&self, geometry: &Geometry, stream: &Stream, (first, end): (u64, u64), now: f64) -> bool {
        let is_within = stream.first <= first && first <= self.reached(geometry, stream, now);
        is_within && end <= stream.consumed + self.size && end <= self.sectors
    }

    /// How far the head has read at `now`.
    fn reached(&self, geometry: &Geometry, stream: &Stream, now: f64) -> u64 {
        let most = (stream.consumed + self.size).min(self.sectors).saturating_sub(stream.from);
        let turned = ((now - stream.since) / self.revolution).max(0.0);
        stream.from + geometry.sectors_in(stream.from, turned, most)
    }

    /// The host has taken the sectors from `first` to `end` at `now`. A head that had to stop because the segment was
    /// full goes on when half of it is free, at the next pass of its sector. Sectors of an older segment, which may lie
    /// anywhere, say nothing of what the host has taken of those that are read ahead.
    pub(super) fn consume(&mut self, geometry: &Geometry, (first, end): (u64, u64), now: f64) {
        let Some(mut stream) = self.stream else { return };
        if !self.is_ahead(geometry, &stream, (first, end), now) {
            return;
        }
        let reached = self.reached(geometry, &stream, now);
        let was_full = reached == stream.consumed + self.size;
        if end > stream.consumed {
            stream.consumed = end;
        }
        stream.first = stream.first.max(reached.saturating_sub(self.size));
        if was_full && reached < self.sectors && reached - stream.consumed.min(reached) <= self.size / 2 {
            let turn = now / self.revolution;
            let wait = (geometry.angle(&geometry.place(reached)) - turn).rem_euclid(1.0);
            (stream.from, stream.since) = (reached, now + wait * self.revolution);
        }
        self.stream = Some(stream);
    }

    /// The arm moves away at `now`: what was read ahead stays in its segment.
    pub(super) fn interrupt(&mut self, geometry: &Geometry, now: f64) {
        let Some(stream) = self.stream.take() else { return };
        let end = self.reached(geometry, &stream, now).max(stream.consumed);
        self.segments.push_back(Segment { first: stream.first.max(end.saturating_sub(self.size)), end });
        while self.segments.len() > self.count {
            self.segments.pop_front();
        }
    }

    /// The sectors from `first` to `end` were read from the platter by `now`; the head reads on.
    pub(super) fn read(&mut self, first: u64, end: u64, now: f64) {
        if self.count > 0 {
            // Of a read that is longer than a segment its end is there.
            let first = first.max(end.saturating_sub(self.size));
            self.stream = Some(Stream { first, from: end, since: now, consumed: end });
        }
    }
}
