//! What hears a source: the tables of the profile, and an observer of the caller's choice.

use super::collector::Collector;
use crate::event::Observer;

/// The tables of the profile and one more observer. The tables are a concrete type, so that a source's calls into them,
/// which are most of what a profile costs, are direct.
pub type Listeners<'a> = (&'a mut Collector, &'a mut (dyn Observer + Send));
