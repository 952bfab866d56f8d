//! The rules of the house, as tests over the repository's own files.
//!
//! There is no code here: the rules stand in `tests/rules` and run with every other test. A rule that nothing checks
//! is a wish. Each rule is a pure function from text to complaints, is first shown a bad sample that it must refuse,
//! and is then applied to the repository. What rustfmt and clippy already check is not checked again.
