//! How much memory columns may take, and how much they have taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::StorageError;

/// An amount of memory that several builders share. Nothing is taken before it was asked for here.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    taken: AtomicU64,
    taken_max: AtomicU64,
}

impl Budget {
    /// `limit` bytes.
    pub fn new(limit: u64) -> Budget {
        Budget { limit, taken: AtomicU64::new(0), taken_max: AtomicU64::new(0) }
    }

    /// The most that was ever taken at one time, in bytes.
    pub fn taken_max(&self) -> u64 {
        self.taken_max.load(Ordering::Relaxed)
    }

    /// Takes `bytes`. Errors with [`StorageError::MemoryLimit`] and takes nothing where they are not left.
    fn take(&self, bytes: u64) -> Result<(), StorageError> {
        let grown = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.limit);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown) {
            Ok(before) => {
                self.taken_max.fetch_max(before + bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(taken) => Err(StorageError::MemoryLimit { needed: taken.saturating_add(bytes), limit: self.limit }),
        }
    }

    fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes taken from a budget, given back when dropped.
#[derive(Debug)]
pub(super) struct Taken {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Taken {
    /// Nothing yet.
    pub(super) fn nothing(budget: &Arc<Budget>) -> Taken {
        Taken { budget: Arc::clone(budget), bytes: 0 }
    }

    /// The budget that it is taken from.
    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Takes `bytes` more.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), StorageError> {
        self.budget.take(bytes as u64)?;
        self.bytes += bytes as u64;
        Ok(())
    }

    /// Gives everything back but `bytes`.
    pub(super) fn shrink_to(&mut self, bytes: u64) {
        self.budget.give_back(self.bytes.saturating_sub(bytes));
        self.bytes = self.bytes.min(bytes);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Budget {
        /// Bytes that are taken now.
        pub(in crate::column) fn taken(&self) -> u64 {
            self.taken.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn more_than_the_limit_is_refused_with_both_figures_and_takes_nothing() {
        let budget = Arc::new(Budget::new(100));
        let mut first = Taken::nothing(&budget);
        first.add(60).unwrap();
        let message = Taken::nothing(&budget).add(50).unwrap_err().to_string();
        assert!(message.contains("110") && message.contains("100"), "{message}");
        assert_eq!(budget.taken(), 60);
        first.shrink_to(20);
        assert_eq!((budget.taken(), budget.taken_max()), (20, 60));
        drop(first);
        assert_eq!(budget.taken(), 0);
        assert!(Taken::nothing(&budget).add(usize::MAX).is_err());
    }
}
