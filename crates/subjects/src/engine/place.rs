//! The engine as a word of `--on`.

use std::time::Duration;

use super::access_paths::AccessEngine;
use super::logical_reads::{Engine, check_cell};
use super::nested_loops::{EngineLoops, JoinEngine};
use crate::access_paths::{self, AccessPaths, AccessSettings};
use crate::logical_reads::{Access, Asked, LogicalReads};
use crate::nested_loops::{self, NestedLoops};
use crate::place::{Offer, Opener, Place};
use crate::subject::ENGINE;

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
            let reason = "--access index is not for the engine, whose tables of this experiment have none: write \
                          full-scan, rowid or one-page, or name another subject with --on";
            return Err(reason.into());
        }
        for cell in &asked.cells {
            check_cell(cell, asked.changed_rows_max() > 0).map_err(|error| error.to_string())?;
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
        JoinEngine::check(asked).map_err(|error| error.to_string())?;
        let asked = asked.clone();
        Ok(Opener::new(Box::new(move |opening| {
            Ok(Box::new(EngineLoops::new(asked, opening.clock, opening.stop.clone())?))
        })))
    }
}
