//! Numbers that stand for texts and plans. Identifiers are made from them, so they are the same in every release.

use crate::source::postgres_log::plan::Node;

/// A number for the shape of a plan: operations, objects and how they hang together, without any figure.
pub(super) fn plan_hash(nodes: &[Node]) -> u64 {
    let mut text = Vec::new();
    for node in nodes {
        text.extend_from_slice(&node.parent.map_or(0, |parent| parent as u64 + 1).to_le_bytes());
        text.extend_from_slice(node.operation.as_bytes());
    }
    hash(&text)
}

/// FNV-1a: the same in every version of this program, so that identifiers made from it can be compared.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
