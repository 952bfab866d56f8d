//! The trait of everything that is made of calls and waits: tables, curves, exports.

use std::sync::Arc;

use super::call::{Binds, Call, Child, Failure, PlanLine, Root, Segment, Transaction, Wait};
use super::context::Context;

/// Work of an observer that can wait, and that any thread may do meanwhile.
pub trait Aside: Send + Sync {
    /// Does what there is; whether there was anything that no other thread does.
    fn work(&self) -> bool;
}

/// Declares what an observer hears, and hands it on to both of two observers, one after the other.
macro_rules! observer {
    ($($(#[$doc:meta])* $heard:ident($what:ty);)*) => {
        /// Hears what a source emits.
        pub trait Observer {
            /// What comes next is of this file, as a person would name it.
            fn begin_file(&mut self, _name: &str) {}
            /// What it has to do beside the hearing, where that can wait.
            fn aside(&self) -> Option<Arc<dyn Aside>> {
                None
            }
            $($(#[$doc])* fn $heard(&mut self, _context: &Context, _what: &$what) {})*
        }

        impl<A: Observer + ?Sized, B: Observer + ?Sized> Observer for (&mut A, &mut B) {
            fn begin_file(&mut self, name: &str) {
                self.0.begin_file(name);
                self.1.begin_file(name);
            }
            fn aside(&self) -> Option<Arc<dyn Aside>> {
                self.0.aside().or_else(|| self.1.aside())
            }
            $(fn $heard(&mut self, context: &Context, what: &$what) {
                self.0.$heard(context, what);
                self.1.$heard(context, what);
            })*
        }
    };
}

observer! {
    /// A call is complete, with its children taken off.
    call(Call);
    /// A wait has its place.
    wait(Wait);
    /// A call has no traced parent.
    root(Root);
    /// A call was made by another one.
    child(Child);
    /// Bind variables have values.
    binds(Binds);
    /// A plan line was written.
    plan_line(PlanLine);
    /// A call failed.
    failure(Failure);
    /// A transaction ended.
    transaction(Transaction);
    /// A segment of a session's time is complete.
    segment(Segment);
}
