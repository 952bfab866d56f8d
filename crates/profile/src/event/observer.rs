//! The trait of everything that is made of calls and waits: tables, curves, exports.

use super::call::{Call, Failure, PlanLine, Root, Segment, Transaction, Wait};
use super::context::Context;

/// Hears what a source emits.
pub trait Observer {
    /// What comes next is of this file, as a person would name it.
    fn begin_file(&mut self, _name: &str) {}
    /// A call is complete, with its children taken off.
    fn call(&mut self, _context: &Context, _call: &Call) {}
    /// A wait has its place.
    fn wait(&mut self, _context: &Context, _wait: &Wait) {}
    /// A call has no traced parent.
    fn root(&mut self, _context: &Context, _root: &Root) {}
    /// A plan line was written.
    fn plan_line(&mut self, _context: &Context, _line: &PlanLine) {}
    /// A call failed.
    fn failure(&mut self, _context: &Context, _failure: &Failure) {}
    /// A transaction ended.
    fn transaction(&mut self, _context: &Context, _transaction: &Transaction) {}
    /// A segment of a session's time is complete.
    fn segment(&mut self, _context: &Context, _segment: &Segment) {}
}

/// Both, one after the other.
impl<A: Observer + ?Sized, B: Observer + ?Sized> Observer for (&mut A, &mut B) {
    fn begin_file(&mut self, name: &str) {
        self.0.begin_file(name);
        self.1.begin_file(name);
    }
    fn call(&mut self, context: &Context, call: &Call) {
        self.0.call(context, call);
        self.1.call(context, call);
    }
    fn wait(&mut self, context: &Context, wait: &Wait) {
        self.0.wait(context, wait);
        self.1.wait(context, wait);
    }
    fn root(&mut self, context: &Context, root: &Root) {
        self.0.root(context, root);
        self.1.root(context, root);
    }
    fn plan_line(&mut self, context: &Context, line: &PlanLine) {
        self.0.plan_line(context, line);
        self.1.plan_line(context, line);
    }
    fn failure(&mut self, context: &Context, failure: &Failure) {
        self.0.failure(context, failure);
        self.1.failure(context, failure);
    }
    fn transaction(&mut self, context: &Context, transaction: &Transaction) {
        self.0.transaction(context, transaction);
        self.1.transaction(context, transaction);
    }
    fn segment(&mut self, context: &Context, segment: &Segment) {
        self.0.segment(context, segment);
        self.1.segment(context, segment);
    }
}
