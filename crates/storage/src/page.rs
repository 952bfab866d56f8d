//! The page: what stands in 8 KiB, how it is checked, walked and changed.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `id.rs` | how pages and rows are addressed |
//! | `slotted.rs` | the layout of a page of rows; reading and building one |
//! | `row.rs`, `number.rs` | the layout of a row, and of a number in it |
//! | `checksum.rs`, `verify.rs` | when a page from a disk can be trusted |
//! | `walk.rs` | how a page is read fast |
//! | `access.rs` | what readers and writers ask of a store of pages |

pub mod access;
pub mod checksum;
pub mod id;
pub mod number;
pub mod row;
mod slotted;
mod verify;
pub mod walk;

pub use slotted::{
    ChangeNumber, Damage, FORMAT_VERSION, MAGIC, PAGE_ROOM, PageBytes, PageKind, PageMut, PageView, ROW_BYTES_MAX,
    SLOT_BYTES, SLOTS_MAX, field,
};
pub(crate) use slotted::{pack_link, put, u16_at, u32_at, unpack_link};
