//! Texts one after the other: what a column of texts without repetition is, and what a dictionary of texts holds.

/// Any number of texts in two pieces of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Where each text ends.
    ends: Vec<u32>,
}

impl Texts {
    /// Room for this many texts and bytes of text, and no more.
    pub(super) fn with_room(texts: usize, bytes: usize) -> Texts {
        Texts { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(texts) }
    }

    /// Bytes by which it must grow before a text of `length` bytes is appended; 0 where there is room.
    #[inline]
    pub(super) fn growth_for(&self, length: usize) -> usize {
        let wanted = self.bytes.len() + length;
        if wanted <= self.bytes.capacity() {
            0
        } else {
            (wanted - self.bytes.capacity()).max(self.bytes.capacity() / 2)
        }
    }

    /// Grows by this many bytes.
    pub(super) fn grow(&mut self, bytes: usize) {
        let room = self.bytes.capacity() + bytes - self.bytes.len();
        self.bytes.reserve_exact(room);
    }

    /// Appends a text; `false`, and nothing appended, where 4 GiB would be exceeded.
    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) -> bool {
        let Ok(end) = u32::try_from(self.bytes.len() + text.len()) else { return false };
        self.bytes.extend_from_slice(text);
        self.ends.push(end);
        true
    }

    /// Number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all texts together.
    pub(super) fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that it takes, as it stands.
    pub(super) fn bytes(&self) -> usize {
        texts_bytes(self.len(), self.text_bytes())
    }

    /// Text number `index`. Panics beyond the last one.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[index] as usize]
    }

    /// All texts in order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Forgets all texts and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Bytes that this many texts with this many bytes of text take.
pub(super) fn texts_bytes(texts: usize, bytes: usize) -> usize {
    bytes + texts * size_of::<u32>()
}
