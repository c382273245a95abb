//! The example crates outside of the workspace: unit tests with a dev-dependency, integration tests with a feature, plain builds over
//! std; a test that fails, its report, and the line that runs it again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs cargo in an example crate, offline, in a target directory that the examples share.
fn cargo(example: &str, arguments: &[&str], replay: Option<&str>) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("examples");
    let mut command = Command::new(env!("CARGO"));
    command
        .args(arguments)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .env("RUST_BACKTRACE", "0")
        .env_remove("RUSTFLAGS")
        .env_remove("TRUELINE_REPLAY");
    if let Some(replay) = replay {
        command.env("TRUELINE_REPLAY", replay);
    }
    command.output().expect("cargo runs")
}

/// What cargo printed, if it succeeded.
#[track_caller]
fn succeeds(example: &str, arguments: &[&str], replay: Option<&str>) -> String {
    let output = cargo(example, arguments, replay);
    let text = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "cargo {arguments:?}\n{told}\n{text}");
    format!("{told}\n{text}")
}

#[test]
fn the_example_crates_are_explored_by_their_own_tests() {
    succeeds("treiber", &["test", "--offline", "--quiet", "--lib"], None);
    let integration = ["--features", "trueline", "--test", "integration"];
    succeeds("treiber", &[&["test", "--offline", "--quiet"], &integration[..]].concat(), None);
    succeeds("treiber", &["build", "--offline", "--quiet"], None);

    let test = ["test", "--offline", "--quiet", "--lib", "--", "--nocapture"];
    let told = succeeds("containers", &test, None);
    let scope = "holds: all matrices up to 2 threads x 2 operations; sequentially consistent; \
                 no spurious failures or wakeups; complete";
    assert!(told.matches(scope).count() >= 3, "{told}");
    succeeds("containers", &["build", "--offline", "--quiet"], None);

    // The report of the one that is wrong stands in the documentation.
    let report = report(&told);
    for page in [include_str!("../../../docs/testing-code.md"), include_str!("../../../README.md")]
    {
        let after = page.split("against the example crate -->\n```text\n").nth(1);
        let shown = after.and_then(|rest| rest.split("```").next());
        assert_eq!(shown.expect("a block"), report);
    }

    // The last line of the report runs it again: one execution, the same failure.
    let again = report.lines().last().expect("a report has lines").trim();
    let rest = again.strip_prefix("again: TRUELINE_REPLAY='").expect("the line that runs it again");
    let (replay, command) = rest.split_once("' cargo test ").expect("a command");
    assert_eq!(command, "set::tests::a_hasty_length_is_not");
    let test = ["test", "--offline", "--quiet", "--lib", command, "--", "--nocapture"];
    let told = succeeds("containers", &test, Some(replay));
    assert!(told.contains("1 scenario, 1 execution,"), "{told}");
    let lanes =
        |text: &str| text.lines().filter(|l| l.contains('╞')).collect::<Vec<_>>().join("\n");
    assert_eq!(lanes(&told), lanes(&report));
}

/// The report within what a test printed.
fn report(told: &str) -> String {
    let start = told.find("not linearizable: ").expect("a report");
    let lines: Vec<&str> = told[start..].lines().collect();
    let last = lines.iter().position(|line| line.contains("again: ")).expect("its last line");
    lines[..=last].iter().map(|line| format!("{line}\n")).collect()
}
