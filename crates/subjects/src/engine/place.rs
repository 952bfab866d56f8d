//! The engine as a word of `--on`.

use std::time::Duration;

use sys::file::Caching;

use super::access_paths::AccessEngine;
use super::logical_reads::{Engine, check_cell};
use super::nested_loops::EngineLoops;
use crate::access_paths::{self, AccessPaths, AccessSettings};
use crate::logical_reads::{Access, Asked, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::place::{Offer, Opener, Place};
use crate::subject::{Absence, ENGINE};

/// The embedded engine, which needs no address.
#[derive(Clone, Copy, Debug)]
pub struct EnginePlace;

impl Place for EnginePlace {
    fn word(&self) -> String {
        ENGINE.into()
    }

    fn takes_statements(&self) -> bool {
        false
    }

    fn logical_reads(&self, asked: &Asked) -> Offer<'_, dyn LogicalReads> {
        if asked.accesses.iter().all(|access| *access == Access::Index) {
            let reason = "--access index is not for the engine alone: name a server with --on, or write full-scan, \
                          rowid or one-page.";
            return Err(Absence::new("absent-index", reason));
        }
        for cell in &asked.cells {
            check_cell(cell, asked.changed_rows_max() > 0)
                .map_err(|error| Absence::new("absent-engine", error.to_string()))?;
        }
        let asked = asked.clone();
        Ok(Opener::new(Box::new(move |opening| {
            (opening.progress)("preparing the buffer pool", Duration::from_secs(1));
            Ok(Box::new(Engine::new(asked, opening.clock, opening.stop.clone())?))
        })))
    }

    fn access_paths(&self, settings: &AccessSettings) -> Offer<'_, dyn AccessPaths> {
        access_paths::check_wanted(ENGINE, &AccessEngine::offers(settings.asked), settings)?;
        let settings = settings.clone();
        Ok(Opener::new(Box::new(move |opening| {
            Ok(Box::new(AccessEngine::new(settings, opening.clock, opening.stop.clone())?))
        })))
    }

    fn nested_loops(&self, asked: &nested_loops::Asked) -> Offer<'_, dyn NestedLoops> {
        check_page_cache(asked)?;
        let asked = asked.clone();
        Ok(Opener::new(Box::new(move |opening| {
            Ok(Box::new(EngineLoops::new(asked, opening.clock, opening.stop.clone())?))
        })))
    }
}

/// Refuses reads through a page cache that the device does not have.
fn check_page_cache(asked: &nested_loops::Asked) -> Result<(), Absence> {
    if !asked.buffered || asked.device.as_os_str().is_empty() {
        return Ok(());
    }
    let absence = |reason: String| Absence::new("absent-page-cache", reason);
    let device = device::open(&asked.device, Caching::Buffered).map_err(|error| absence(error.to_string()))?;
    match device.witnesses().target() {
        Some(_) => Ok(()),
        None => Err(absence(format!("--buffered has no effect on {}: it has no page cache.", device.name()))),
    }
}
