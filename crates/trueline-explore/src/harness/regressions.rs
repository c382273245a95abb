//! Scenarios that failed once, kept beside `Cargo.toml` and run first:
//! `trueline-regressions/NAME.txt`.
//!
//! One line each: the scenario as indices into the list of operations, then the names of these
//! operations. A scenario is more useful than a schedule: after the code has changed, the schedule
//! leads elsewhere, but the scenario is explored again. If the operations of a line have changed,
//! the line is stale: it is reported and skipped.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::scenario::Scenario;

const DIRECTORY: &str = "trueline-regressions";
const HEADER: &str = "# Scenarios that failed once; they are run first. A line may be deleted.\n";

/// The file of a test, and its content.
pub(crate) struct Regressions {
    file: PathBuf,
    lines: Vec<String>,
}

/// Beside the `Cargo.toml` of the package that is tested.
pub(crate) fn directory() -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
    root.join(DIRECTORY)
}

impl Regressions {
    /// Those of a test.
    pub(crate) fn open(directory: &Path, test: &str) -> Regressions {
        let letter = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = test.replace("::", "-").chars().map(letter).collect();
        let file = directory.join(format!("{name}.txt"));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        Regressions { lines: lines.map(String::from).collect(), file }
    }

    /// The scenarios that still have the same operations, and messages about the others.
    pub(crate) fn scenarios<O: Debug>(&self, alphabet: &[O]) -> (Vec<Scenario>, Vec<String>) {
        let mut scenarios = Vec::new();
        let mut stale = Vec::new();
        for line in &self.lines {
            let (indices, told) = line.split_once(" = ").unwrap_or((line, ""));
            let known = indices.parse::<Scenario>().ok().filter(|scenario| {
                scenario.calls().iter().all(|&(_, call)| call < alphabet.len())
                    && scenario.show(alphabet) == told
            });
            match known {
                Some(scenario) => scenarios.push(scenario),
                None => stale.push(format!(
                    "{}: '{line}' is stale and skipped: these are not the operations of the test",
                    self.file.display()
                )),
            }
        }
        (scenarios, stale)
    }

    /// Keeps a scenario, unless it is there already.
    pub(crate) fn keep<O: Debug>(&mut self, scenario: &Scenario, alphabet: &[O]) -> io::Result<()> {
        let line = format!("{scenario} = {}", scenario.show(alphabet));
        if self.lines.contains(&line) {
            return Ok(());
        }
        self.lines.push(line);
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&self.file, format!("{HEADER}{text}"))
    }

    /// Where they are kept.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_kept_once_and_stale_ones_are_told() {
        let name = format!("trueline-regressions-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let scenario: Scenario = "/0.1,1/".parse().unwrap();
        let mut kept = Regressions::open(&directory, "my::test");
        kept.keep(&scenario, &["a", "b"]).unwrap();
        kept.keep(&scenario, &["a", "b"]).unwrap();
        assert!(kept.file().ends_with("my-test.txt"));
        let again = Regressions::open(&directory, "my::test");
        assert_eq!(again.lines, [r#"/0.1,1/ = "a" "b" | "b""#]);
        assert_eq!(again.scenarios(&["a", "b"]), (vec![scenario], vec![]));
        for other in [&["a", "c"][..], &["a"]] {
            let (scenarios, stale) = again.scenarios(other);
            assert!(scenarios.is_empty() && stale.len() == 1 && stale[0].contains("stale"));
        }
        fs::remove_dir_all(directory).unwrap();
    }
}
