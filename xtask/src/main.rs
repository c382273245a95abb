//! Chores of the repository: `cargo xtask ci`.
#![forbid(unsafe_code)]

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

const HELP: &str = "\
cargo xtask ci      formatting, lints, build, tests (the corpus among them), doc tests: all that must pass

Where cargo-nextest is installed it runs the tests; otherwise cargo test does.";

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("ci") => ci(),
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
        &["nextest", "run", "--workspace", "--exclude", "trueline-bench", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--exclude", "trueline-bench", "--lib", "--bins", "--tests"]
    };
    let steps: &[&[&str]] = &[
        &["fmt", "--all", "--check"],
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
        tests,
        &["test", "-p", "trueline", "--features", "live", "--test", "example_watch_queue"],
        &["test", "-p", "trueline", "--features", "live", "--doc", "--quiet", "live"],
        &["test", "--workspace", "--exclude", "trueline-bench", "--doc", "--quiet"],
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
    let ok = Command::new(program).args(arguments).status().is_ok_and(|status| status.success());
    println!("  {:.1} s{}", started.elapsed().as_secs_f64(), if ok { "" } else { ": failed" });
    ok
}
