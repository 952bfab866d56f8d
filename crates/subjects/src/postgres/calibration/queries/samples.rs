//! A private server for the tests of several files.

use std::path::Path;
use std::sync::Arc;

use sys::time::Clock;

use crate::postgres::calibration::{Calibration, CalibrationAsked};
use crate::{Environment, Opening, Places};

/// Where Debian has its PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql/15";

/// A calibration with its tables of 1 MiB on a private server; `None` where Debian's PostgreSQL is not installed.
pub(in crate::postgres::calibration) fn on_debians_server() -> Option<Box<Calibration>> {
    if !Path::new(DEBIAN).exists() {
        return None;
    }
    let places: Places = format!("postgres:{DEBIAN}").parse().unwrap();
    let asked = CalibrationAsked { has_queries: false, payload: Some(1 << 20), seed: 1 };
    let mut opening = Opening {
        environment: &Environment::new(std::env::temp_dir()),
        clock: Clock::calibrate(),
        stop: Arc::default(),
        progress: &mut |_, _| {},
    };
    Some(places.iter().next().unwrap().calibration(asked).unwrap().open(&mut opening).unwrap())
}
