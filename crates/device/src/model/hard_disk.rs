//! A hard disk: an arm that seeks, platters that turn, zones of tracks, a command queue, and a buffer that reads ahead.
//!
//! What it leaves out: remapped sectors, errors and their repetition, heat and vibration, the time of the host's
//! adapter, and everything that a controller's firmware does besides queueing.

mod buffer;
mod geometry;
mod parameters;
mod seek;

use measure::Nanos;

use self::buffer::Buffer;
use self::geometry::{Geometry, Place};
use self::parameters::SECTOR;
use self::seek::SeekCurve;
use super::bound::{Bounds, BrokenBounds};
use super::timing::{Request, Timing, transfer};
pub use parameters::HardDiskParameters;

/// Nanoseconds in a millisecond.
const MILLI: f64 = 1e6;

impl HardDiskParameters {
    /// Says which fields break which bounds.
    pub fn check(&self) -> Result<(), BrokenBounds> {
        let mut bounds = Bounds::default();
        bounds.within("capacity", self.capacity as f64, 1e6, 1e15);
        bounds.within("rpm", self.rpm, 60.0, 1e6);
        bounds.within("heads", f64::from(self.heads), 1.0, 256.0);
        bounds.within("zones", f64::from(self.zones), 1.0, 10_000.0);
        bounds.within("outer_sectors_per_track", f64::from(self.outer_sectors_per_track), 1.0, 1e6);
        let outer = f64::from(self.outer_sectors_per_track);
        bounds.within("inner_sectors_per_track", f64::from(self.inner_sectors_per_track), 1.0, outer);
        bounds.within("full_stroke_ms", self.full_stroke_ms, 0.0, 10_000.0);
        bounds.within("average_seek_ms", self.average_seek_ms, 0.0, self.full_stroke_ms);
        bounds.within("track_to_track_ms", self.track_to_track_ms, 0.0, self.average_seek_ms);
        bounds.within("track_switch_ms", self.track_switch_ms, 0.0, self.revolution_ms());
        bounds.within("command_overhead_ms", self.command_overhead_ms, 0.0, 1000.0);
        bounds.within("buffer_overhead_ms", self.buffer_overhead_ms, 0.0, 1000.0);
        bounds.within("queue_depth", f64::from(self.queue_depth), 1.0, 65_536.0);
        bounds.within("buffer_bytes", self.buffer_bytes as f64, 0.0, 1e12);
        bounds.within("buffer_segments", f64::from(self.buffer_segments), 1.0, 65_536.0);
        bounds.within("interface_mb_s", self.interface_mb_s, 0.001, 1e6);
        bounds.finish()?;
        let cylinders = Geometry::new(self).cylinders();
        if SeekCurve::new(self, cylinders).rises(cylinders) {
            return Ok(());
        }
        let sentence = "average_seek_ms does not fit between track_to_track_ms and full_stroke_ms: a longer seek would \
                        take less time";
        Err(BrokenBounds(vec![sentence.into()]))
    }

    /// What using only the outer part of the disk is worth to reads of `block` bytes: `share` is the part of the
    /// capacity, from 0 to 1.
    pub fn outer_part(&self, share: f64, block: u64) -> OuterPart {
        let geometry = Geometry::new(self);
        let curve = SeekCurve::new(self, geometry.cylinders());
        let [part, whole] = [share, 1.0].map(|share| (self.capacity as f64 * share / SECTOR as f64).max(1.0));
        let [last_of_part, last] = [part, whole].map(|sectors| geometry.place(sectors as u64 - 1));
        let cylinders = last_of_part.cylinder + 1;
        let rest = self.command_overhead_ms + self.revolution_ms() / 2.0;
        // Each track takes a revolution for its sectors and then the change to the next one: outside it has more.
        let track_ms = self.revolution_ms() + self.track_switch_ms;
        let transfer_ms =
            |sectors: f64, last: Place| track_ms * (block as f64 / SECTOR as f64) * (last.track + 1) as f64 / sectors;
        let part_ms = curve.mean_within(cylinders) + rest + transfer_ms(part, last_of_part);
        let whole_ms = curve.mean_within(geometry.cylinders()) + rest + transfer_ms(whole, last);
        OuterPart {
            share,
            block,
            cylinders: cylinders as f64 / geometry.cylinders() as f64,
            seek_ms: curve.mean_within(cylinders),
            whole_seek_ms: curve.mean_within(geometry.cylinders()),
            rate_gain: whole_ms / part_ms,
        }
    }
}

/// The outer part of a disk against the whole of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OuterPart {
    /// Part of the capacity that is used, from 0 to 1.
    pub share: f64,
    /// Bytes of a read.
    pub block: u64,
    /// Part of the cylinders that it lies on.
    pub cylinders: f64,
    /// Mean seek within it, in ms.
    pub seek_ms: f64,
    /// Mean seek over the whole disk, in ms.
    pub whole_seek_ms: f64,
    /// Random reads of this size a second against those over the whole disk, with one read at a time.
    pub rate_gain: f64,
}

/// The disk at work.
#[derive(Debug)]
pub struct HardDisk {
    parameters: HardDiskParameters,
    geometry: Geometry,
    curve: SeekCurve,
    buffer: Buffer,
    /// One revolution in nanoseconds.
    revolution: f64,
    /// Where the arm is.
    arm: Place,
    /// Idle since.
    free: Nanos,
    queue: Vec<(Nanos, Request)>,
    in_service: Option<(Nanos, Request)>,
}

/// A read as the disk would do it.
#[derive(Clone, Copy, Debug)]
struct Access {
    /// When its first sector comes under the head, or is in the buffer: what the queue is ordered by.
    begins: f64,
    ends: f64,
    from_buffer: bool,
}

impl HardDisk {
    /// A disk with its arm at the outermost cylinder. The parameters have been checked.
    pub fn new(parameters: HardDiskParameters) -> HardDisk {
        let geometry = Geometry::new(&parameters);
        let revolution = parameters.revolution_ms() * MILLI;
        let sectors = parameters.capacity / SECTOR;
        HardDisk {
            curve: SeekCurve::new(&parameters, geometry.cylinders()),
            buffer: Buffer::new(parameters.buffer_bytes, parameters.buffer_segments, revolution, sectors),
            revolution,
            arm: geometry.place(0),
            free: Nanos::ZERO,
            queue: Vec::new(),
            in_service: None,
            geometry,
            parameters,
        }
    }

    fn sectors(request: &Request) -> (u64, u64) {
        (request.offset / SECTOR, (request.offset + request.length).div_ceil(SECTOR))
    }

    /// What a read would take that is begun at `now`, in nanoseconds.
    fn access(&self, request: &Request, now: f64) -> Access {
        let (first, end) = HardDisk::sectors(request);
        let cached = now + self.parameters.buffer_overhead_ms * MILLI;
        if let Some(ready) = self.buffer.ready(&self.geometry, first, end, cached) {
            let bus = transfer(request.length, self.parameters.interface_mb_s).0 as f64;
            return Access { begins: ready, ends: ready + bus, from_buffer: true };
        }
        let place = self.geometry.place(first);
        let seek = match place.cylinder.abs_diff(self.arm.cylinder) {
            0 if place.track != self.arm.track => self.parameters.track_switch_ms,
            distance => self.curve.millis(distance),
        };
        let there = now + (self.parameters.command_overhead_ms + seek) * MILLI;
        let turn = there / self.revolution;
        let wait = (self.geometry.angle(&place) - turn).rem_euclid(1.0);
        let begins = there + wait * self.revolution;
        let ends = begins + self.geometry.revolutions(first, end) * self.revolution;
        Access { begins, ends, from_buffer: false }
    }

    /// Begins the read of the queue whose data comes first (shortest access time first, over what the disk's own queue
    /// holds).
    fn start(&mut self) {
        let Some(oldest) = self.queue.iter().map(|(submitted, _)| *submitted).min() else { return };
        let now = self.free.max(oldest);
        let known = self.queue.iter().take(self.parameters.queue_depth as usize).enumerate();
        let chosen = known
            .filter(|(_, (submitted, _))| *submitted <= now)
            .map(|(index, (_, request))| (index, self.access(request, now.0 as f64)))
            .min_by(|(_, one), (_, other)| one.begins.total_cmp(&other.begins));
        let Some((index, access)) = chosen else { return };
        let (_, request) = self.queue.remove(index);
        let (first, end) = HardDisk::sectors(&request);
        if access.from_buffer {
            self.buffer.consume(&self.geometry, (first, end), access.ends);
        } else {
            self.buffer.interrupt(&self.geometry, now.0 as f64);
            self.buffer.read(first, end, access.ends);
            self.arm = self.geometry.place(end.max(first + 1) - 1);
        }
        self.in_service = Some((Nanos(access.ends.ceil() as u64), request));
    }
}

impl Timing for HardDisk {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.queue.push((now, request));
    }

    fn next_event(&mut self) -> Option<Nanos> {
        if self.in_service.is_none() {
            self.start();
        }
        self.in_service.map(|(end, _)| end)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<u64>) {
        while let Some((end, request)) = self.in_service
            && end <= now
        {
            done.push(request.id);
            self.free = end;
            self.in_service = None;
            // The disk goes on with what it has: the host's answer to this read comes too late to be chosen next.
            self.start();
        }
    }
}

#[cfg(test)]
mod tests;
