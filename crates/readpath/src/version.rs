//! What this program is built from.

use std::sync::LazyLock;

use measure::Build;

/// The build of this program.
pub(crate) fn build() -> Build {
    Build::new(env!("CARGO_PKG_VERSION"), env!("READPATH_COMMIT"), env!("READPATH_PROFILE"))
}

/// The same as `--version` prints it.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| build().to_string());
    &TEXT
}
