//! The example crate outside of the workspace: its unit tests with a dev-dependency, its integration tests with a feature, and a
//! plain build over std.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs cargo in the example crate, offline, in a target directory of its own beside that of this test.
#[track_caller]
fn cargo(arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/treiber");
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("treiber");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--quiet"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "cargo {arguments:?}\n{told}\n{text}");
}

#[test]
fn the_example_crate_is_explored_by_its_own_tests() {
    cargo(&["test", "--lib"]);
    cargo(&["test", "--features", "trueline", "--test", "integration"]);
    cargo(&["build"]);
}
