//! The checksum of a page: CRC32C over everything behind the checksum's own field.
//!
//! CRC32C because the processor computes it (x86-64 since SSE 4.2, aarch64 with the CRC extension) and because it
//! provably finds every change of up to three bits in a page: its Hamming distance at 65 504 bits is 4 (Koopman,
//! "32-Bit Cyclic Redundancy Codes for Internet Applications", DSN 2002, polynomial 0x8F6E37A0).

use crate::page::id::PAGE_SIZE;

/// Where the checksum stands; it is the only field that it does not cover.
pub const CHECKSUM_AT: usize = 0;

/// Bytes of the checksum.
pub const CHECKSUM_BYTES: usize = 4;

/// The checksum that `page` should hold.
pub fn compute(page: &[u8; PAGE_SIZE]) -> u32 {
    crc32c::crc32c(&page[CHECKSUM_AT + CHECKSUM_BYTES..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomial_is_the_published_one() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8A91_36AA);
    }

    #[test]
    fn the_stored_checksum_does_not_change_the_computed_one() {
        let mut page = [7; PAGE_SIZE];
        let before = compute(&page);
        page[..CHECKSUM_BYTES].fill(0);
        assert_eq!(compute(&page), before);
    }
}
