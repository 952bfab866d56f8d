//! The versions of PostgreSQL whose archives are known, with their checksums.

/// One version whose archives are known.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) major: u32,
    /// The archive's own version.
    pub(super) version: &'static str,
    /// SHA-256 of the archives for amd64 and arm64v8.
    pub(super) amd64: &'static str,
    pub(super) arm64: &'static str,
}

/// The newest archive of each version on 2026-11-21. To take a newer one, change its row: version, and the SHA-256 of
/// the two archives.
pub(super) const KNOWN: [Known; 4] = [
    Known {
        major: 15,
        version: "15.19.0",
        amd64: "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
        arm64: "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911",
    },
    Known {
        major: 16,
        version: "16.15.0",
        amd64: "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
        arm64: "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c",
    },
    Known {
        major: 17,
        version: "17.11.0",
        amd64: "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
        arm64: "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b",
    },
    Known {
        major: 18,
        version: "18.6.0",
        amd64: "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
        arm64: "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be",
    },
];

/// Major versions that have archives, in order.
pub const VERSIONS: [u32; 4] = [KNOWN[0].major, KNOWN[1].major, KNOWN[2].major, KNOWN[3].major];

/// The versions, for a sentence.
pub(super) fn known() -> String {
    let (last, others) = VERSIONS.split_last().unwrap_or((&0, &[]));
    let others: Vec<String> = others.iter().map(u32::to_string).collect();
    format!("{} and {last}", others.join(", "))
}
