//! Where a sector lies: zones, cylinders, tracks, and the angle under which it passes the head.

use super::parameters::{HardDiskParameters, SECTOR};

/// A place on the platters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// Number of the cylinder, 0 outermost.
    pub(super) cylinder: u64,
    /// Number of the track, counted over all cylinders and heads.
    pub(super) track: u64,
    /// Number of the sector on its track.
    pub(super) sector: u64,
    /// Sectors of the track.
    pub(super) sectors_per_track: u64,
}

/// A band of cylinders with as many sectors on each track.
#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    sectors_per_track: u64,
}

/// The map from sector numbers to places.
///
/// Cylinders are divided evenly among the zones, and the sectors of a track fall in even steps from the outermost zone
/// to the innermost: a data sheet gives these two and the number of zones. The number of cylinders is what the
/// capacity then takes.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    cylinders: u64,
    skew: f64,
}

impl Geometry {
    pub(super) fn new(disk: &HardDiskParameters) -> Geometry {
        let heads = u64::from(disk.heads);
        let zones = u64::from(disk.zones);
        let sectors_of = |zone: u64| {
            let (outer, inner) = (f64::from(disk.outer_sectors_per_track), f64::from(disk.inner_sectors_per_track));
            let share = if zones > 1 { zone as f64 / (zones - 1) as f64 } else { 0.0 };
            (outer - (outer - inner) * share).round() as u64
        };
        let sectors = disk.capacity.div_ceil(SECTOR);
        let per_step: u64 = (0..zones).map(|zone| sectors_of(zone) * heads).sum();
        let width = sectors.div_ceil(per_step).max(1);
        let mut first_sector = 0;
        let zones = (0..zones)
            .map(|zone| {
                let sectors_per_track = sectors_of(zone);
                let this = Zone { first_sector, first_cylinder: zone * width, sectors_per_track };
                first_sector += width * heads * sectors_per_track;
                this
            })
            .collect();
        let skew = disk.track_switch_ms / disk.revolution_ms();
        Geometry { zones, heads, cylinders: width * u64::from(disk.zones), skew }
    }

    /// Number of cylinders.
    pub(super) fn cylinders(&self) -> u64 {
        self.cylinders
    }

    /// Where a sector lies.
    pub(super) fn place(&self, sector: u64) -> Place {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1];
        let within = sector - zone.first_sector;
        let track = within / zone.sectors_per_track;
        Place {
            cylinder: zone.first_cylinder + track / self.heads,
            track: zone.first_cylinder * self.heads + track,
            sector: within % zone.sectors_per_track,
            sectors_per_track: zone.sectors_per_track,
        }
    }

    /// The part of a revolution, from 0 to 1, at which a place comes under the head.
    ///
    /// Each track begins as much later than the one before as the head takes to change to it, so that reading in
    /// sequence goes on without losing a revolution.
    pub(super) fn angle(&self, place: &Place) -> f64 {
        (place.sector as f64 / place.sectors_per_track as f64 + place.track as f64 * self.skew).fract()
    }

    /// Revolutions from the beginning of sector `from` to the end of the sector before `to`, in sequence.
    pub(super) fn revolutions(&self, from: u64, to: u64) -> f64 {
        let mut turned = 0.0;
        let mut sector = from;
        while sector < to {
            let place = self.place(sector);
            let here = (place.sectors_per_track - place.sector).min(to - sector);
            turned += here as f64 / place.sectors_per_track as f64;
            sector += here;
            if sector < to {
                turned += self.skew;
            }
        }
        turned
    }

    /// How many sectors from `from` on pass the head in `revolutions` revolutions, at most `most`.
    pub(super) fn sectors_in(&self, from: u64, revolutions: f64, most: u64) -> u64 {
        let mut left = revolutions;
        let mut read = 0;
        while read < most {
            let place = self.place(from + read);
            let here = (place.sectors_per_track - place.sector).min(most - read);
            let passed = (left * place.sectors_per_track as f64) as u64;
            if passed < here {
                return read + passed;
            }
            left -= here as f64 / place.sectors_per_track as f64 + self.skew;
            read += here;
            if left < 0.0 {
                return read;
            }
        }
        most
    }
}
