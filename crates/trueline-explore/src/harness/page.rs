//! The page of a failing test, if `TRUELINE_HTML` names a folder for it.

use std::path::Path;
use std::{env, fs};

use trueline_report::{Report, Section};

/// The folder for the pages of failing tests.
const VARIABLE: &str = "TRUELINE_HTML";

/// Writes the page of a failure if one was requested; the report then names it. `number`
/// distinguishes the failures of one test.
pub(crate) fn write(report: &mut Report, test: Option<&str>, number: u32) {
    let Some(folder) = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) else { return };
    let file = Path::new(&folder).join(format!("{}.html", file_name(test, number)));
    let page = report.page();
    match fs::create_dir_all(&folder).and_then(|()| fs::write(&file, page)) {
        Ok(()) => report.page = Some(file.display().to_string()),
        Err(error) => {
            let text = format!("{VARIABLE}: {}: {error}", file.display());
            report.sections.push(Section::dim(text));
        }
    }
}

/// `set::tests::grows` as a file name. A test may check several objects.
fn file_name(test: Option<&str>, number: u32) -> String {
    let readable = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '-' };
    let name: String = test.unwrap_or("test").replace("::", "-").chars().map(readable).collect();
    format!("{name}-{number:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_are_names_of_files() {
        assert_eq!(file_name(Some("set::tests::grows"), 1), "set-tests-grows-00000001");
        assert_eq!(file_name(Some("../a/b c"), 0xabc), "..-a-b-c-00000abc");
        assert_eq!(file_name(None, 0), "test-00000000");
    }
}
