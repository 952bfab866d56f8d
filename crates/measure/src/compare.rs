//! Compare two runs: medians, ratio, and whether the difference exceeds the noise of the samples.
