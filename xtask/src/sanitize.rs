//! `cargo xtask sanitize`: the objects as they ship, under the address sanitizer.
//!
//! The sanitizer is part of the stable compiler, but for the flag, which `RUSTC_BOOTSTRAP` allows.
//! It needs `--target`, so that build scripts are not built with it, and sees every access of the
//! crate's own code and of what is generic in std.

use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Whether this machine can run it.
pub(crate) const IS_THERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// What `--quick` leaves out: the modules whose tests are long because they use real threads.
const LONG: [&str; 2] = ["production::", "ordered::"];

/// Runs all integration tests of the objects as they ship; with `quick`, as in CI, without the long
/// ones. Without the feature `simulate` none of the tests explores. With a target directory it runs
/// beside other commands, and prints only what fails.
pub(crate) fn sanitize(quick: bool, target: Option<&Path>) -> bool {
    let mut command = Command::new("cargo");
    command.args(["test", "--profile", "dev", "--package", "trueline-objects", "--target", TARGET]);
    command.args(["--test", "it", "--test", "user_code"]);
    if quick {
        command.arg("--").args(LONG.iter().flat_map(|module| ["--skip", module]));
    }
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        // Memory goes back to the allocator of the sanitizer: see `tests/user_code/wild.rs`.
        .env("TRUELINE_SANITIZE", "1");
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    let name = if quick { "cargo xtask sanitize --quick" } else { "cargo xtask sanitize" };
    crate::ci::report(name, command, target.is_none())
}
