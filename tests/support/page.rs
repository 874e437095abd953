//! Tables of the documentation that tests write.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(page)
}

/// A page of `docs/` as it stands.
pub(crate) fn read(page: &str) -> String {
    fs::read_to_string(path(page)).expect("the page is there")
}

/// The table of that name, in a page of `docs/`, is what the test saw. With `TIDEGATE_WRITE_DOCS` in
/// the environment it is made so.
///
/// A table stands between `<!-- name -->` and `<!-- end -->`.
#[track_caller]
pub(crate) fn assert_table(page: &str, name: &str, seen: &str) {
    let text = read(page);
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = text.split_once(&begin).expect("the table begins");
    let (table, after) = rest.split_once("<!-- end -->").expect("the table ends");
    if table == seen {
        return;
    }
    if env::var_os("TIDEGATE_WRITE_DOCS").is_some() {
        let text = [before, &begin, seen, "<!-- end -->", after].concat();
        fs::write(path(page), text).expect("the page can be written");
        return;
    }
    panic!("docs/{page} says something else; TIDEGATE_WRITE_DOCS=1 writes what was seen:\n{seen}");
}
