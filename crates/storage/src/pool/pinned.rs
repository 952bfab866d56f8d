//! Guards: the bytes of a page, for as long as the guard lives.
//!
//! With `frames.rs` and `words.rs` the pool's home of unsafe code. Why the references made here never clash:
//!
//! - A [`Pinned`] exists only between a `pin` (or a `publish` with one pin) of its word and its own `unpin`. Meanwhile
//!   the word has at least one pin, so `lock`, `evict` and `discard` refuse it: no code makes a `&mut` to the frame and
//!   the frame keeps its page.
//! - A [`PinnedMut`] exists only between a `lock` (or an exclusive `publish`) and its own `unlock`. Meanwhile the word
//!   is exclusive: `pin`, `lock`, `evict` and `discard` refuse it, so there is no other reference of either kind.
//! - Each frame is named by at most one word: it is written into a word only by consuming an `OwnFrame`.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::word::Word;
use crate::page::PageBytes;

/// A page that stays in its frame, unchanged, until this is dropped.
#[derive(Debug)]
pub struct Pinned<'pool> {
    word: &'pool Word,
    bytes: NonNull<PageBytes>,
}

// SAFETY: it gives `&PageBytes` to its holder, and dropping it is one atomic operation on a word that outlives it.
unsafe impl Send for Pinned<'_> {}
// SAFETY: sharing it shares nothing but `&PageBytes`.
unsafe impl Sync for Pinned<'_> {}

impl<'pool> Pinned<'pool> {
    /// Takes over one pin of `word`, whose frame's bytes stand at `bytes`.
    #[inline]
    pub(super) fn new(word: &'pool Word, bytes: NonNull<PageBytes>) -> Pinned<'pool> {
        Pinned { word, bytes }
    }
}

impl Deref for Pinned<'_> {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        // SAFETY: the pin that `self` owns keeps writers out and the page in its frame; the frames live for 'pool.
        unsafe { self.bytes.as_ref() }
    }
}

impl Drop for Pinned<'_> {
    #[inline]
    fn drop(&mut self) {
        self.word.unpin();
    }
}

/// A page for its holder alone until this is dropped. It is dirty from then on and stays in the pool.
#[derive(Debug)]
pub struct PinnedMut<'pool> {
    word: &'pool Word,
    bytes: NonNull<PageBytes>,
}

// SAFETY: it is the only access to the frame, as a `&mut PageBytes` would be, and that may be sent.
unsafe impl Send for PinnedMut<'_> {}
// SAFETY: a shared reference to it gives `&PageBytes` only.
unsafe impl Sync for PinnedMut<'_> {}

impl<'pool> PinnedMut<'pool> {
    /// Takes over the lock of `word`, whose frame's bytes stand at `bytes`.
    pub(super) fn new(word: &'pool Word, bytes: NonNull<PageBytes>) -> PinnedMut<'pool> {
        PinnedMut { word, bytes }
    }
}

impl Deref for PinnedMut<'_> {
    type Target = PageBytes;

    fn deref(&self) -> &PageBytes {
        // SAFETY: the lock that `self` owns excludes everyone else; the frames live for 'pool.
        unsafe { self.bytes.as_ref() }
    }
}

impl DerefMut for PinnedMut<'_> {
    fn deref_mut(&mut self) -> &mut PageBytes {
        // SAFETY: as above, and `&mut self` excludes the references that `deref` gave.
        unsafe { self.bytes.as_mut() }
    }
}

impl Drop for PinnedMut<'_> {
    fn drop(&mut self) {
        self.word.unlock();
    }
}
