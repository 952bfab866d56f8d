//! The page on the run document against the schema. `UPDATE_DOCS=1 cargo test -p measure` writes its tables anew.

use std::env;
use std::fs;
use std::path::Path;

use crate::document;

#[test]
fn a_metric_that_the_page_does_not_name_is_not_in_the_schema_either() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run-document.md");
    let page = fs::read_to_string(&path).unwrap();
    let updated = document::updated(&page).unwrap();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &updated).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap();
    assert!(page == updated, "{} is older than the schema: UPDATE_DOCS=1 cargo test -p measure", path.display());
    assert_eq!(document::updated("a page without the lines"), None);
}
