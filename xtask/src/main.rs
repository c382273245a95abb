//! Chores of the repository: `cargo xtask ci`, `cargo xtask soak`.
#![forbid(unsafe_code)]

mod soak;

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

const HELP: &str = "\
cargo xtask ci      formatting, lints, build, tests (the corpus among them), doc tests: all that must pass
cargo xtask soak    the randomised tests with new seeds, until the time is over or one fails (--help says more)

Where cargo-nextest is installed it runs the tests; otherwise cargo test does.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(2).collect();
    match env::args().nth(1).as_deref() {
        Some("ci") => ci(),
        Some("soak") => soak::soak(&arguments),
        _ => {
            eprintln!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// Runs every check, in order of cost; the first that fails ends it. The benches are linted, not run.
fn ci() -> ExitCode {
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    let tests: &[&str] = if nextest {
        &["nextest", "run", "--no-fail-fast"]
    } else {
        &["test", "--lib", "--bins", "--tests"]
    };
    // One set of features for all, so that nothing is built twice.
    let workspace = ["--workspace", "--exclude", "trueline-bench", "--features", "trueline/live"];
    let tests = [tests, &workspace].concat();
    let doc_tests = [&["test", "--doc", "--quiet"], &workspace[..]].concat();
    let steps: &[&[&str]] = &[
        &["fmt", "--all", "--check"],
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "trueline/live",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        // The objects as they ship, without the feature that others need: nothing of the explorer is compiled then.
        &["clippy", "-p", "trueline-objects", "--all-targets", "--quiet", "--", "-D", "warnings"],
        &tests,
        &doc_tests,
    ];
    for step in steps {
        if !run("cargo", step) {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(program: &str, arguments: &[&str]) -> bool {
    println!("> {program} {}", arguments.join(" "));
    let started = Instant::now();
    // What is built once gains nothing from being prepared for the next time.
    let mut command = Command::new(program);
    command.args(arguments).env("CARGO_INCREMENTAL", "0");
    let ok = command.status().is_ok_and(|status| status.success());
    println!("  {:.1} s{}", started.elapsed().as_secs_f64(), if ok { "" } else { ": failed" });
    ok
}
