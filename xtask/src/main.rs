//! Chores of the repository: `cargo xtask ci`, `cargo xtask evidence`, `cargo xtask sanitize`, `cargo xtask soak`.
#![forbid(unsafe_code)]

mod licences;
mod sanitize;
mod soak;

use std::env;
use std::process::{Command, ExitCode};
use std::time::Instant;

const HELP: &str = "\
cargo xtask ci      formatting, licences, lints, documentation, build, tests (the corpus among them), doc tests, the objects under the address
                    sanitizer: all that must pass
cargo xtask soak    the randomised tests with new seeds, until the time is over or one fails (--help says more)
cargo xtask evidence [--quick] [OBJECT...]
                    models, explorations, stress and mutants of every object of trueline-objects; writes docs/evidence.md, and fails
                    unless every object is clean and every mutant is found. With --quick, or for some objects alone, it prints the
                    page and writes nothing.
cargo xtask sanitize [--quick]
                    the objects of trueline-objects under the address sanitizer: values of all sizes, user's code of all manners, waves of
                    threads (Linux on x86-64; --quick leaves the longer tests out)

Where cargo-nextest is installed it runs the tests; otherwise cargo test does.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(2).collect();
    match env::args().nth(1).as_deref() {
        Some("ci") => ci(),
        Some("soak") => soak::soak(&arguments),
        Some("evidence") => evidence(arguments),
        Some("sanitize") => sanitize::sanitize(arguments == ["--quick"]),
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
    let workspace = ["--workspace", "--exclude", "trueline-bench", "--features", FEATURES];
    let tests = [tests, &workspace].concat();
    let doc_tests = [&["test", "--doc", "--quiet"], &workspace[..]].concat();
    let steps: &[&[&str]] = &[
        &["fmt", "--all", "--check"],
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            FEATURES,
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        // The objects as they ship, without the feature that others need: nothing of the explorer is compiled then.
        &["clippy", "-p", "trueline-objects", "--all-targets", "--quiet", "--", "-D", "warnings"],
        // Those of them that need no std.
        &[
            "clippy",
            "-p",
            "trueline-objects",
            "--lib",
            "--no-default-features",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
        &["doc", "--workspace", "--no-deps", "--quiet"],
        &tests,
        &doc_tests,
    ];
    if !licences::check() {
        return ExitCode::FAILURE;
    }
    for step in steps {
        if !run("cargo", step) {
            return ExitCode::FAILURE;
        }
    }
    if sanitize::IS_THERE { sanitize::sanitize(true) } else { ExitCode::SUCCESS }
}

/// The work is done by an example of trueline-objects, in release: what it measures is what ships.
fn evidence(arguments: Vec<String>) -> ExitCode {
    let mut command: Vec<&str> = EVIDENCE.to_vec();
    command.extend(arguments.iter().map(String::as_str));
    if arguments.is_empty() {
        command.extend(["--write", concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evidence.md")]);
    }
    if run("cargo", &command) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const EVIDENCE: [&str; 10] = [
    "run",
    "--release",
    "--quiet",
    "--package",
    "trueline-objects",
    "--features",
    "evidence",
    "--example",
    "evidence",
    "--",
];

/// What the tests need beyond the default.
const FEATURES: &str = "trueline/live,trueline-objects/evidence";

fn run(program: &str, arguments: &[&str]) -> bool {
    println!("> {program} {}", arguments.join(" "));
    let started = Instant::now();
    // What is built once gains nothing from being prepared for the next time.
    let mut command = Command::new(program);
    command.args(arguments).env("CARGO_INCREMENTAL", "0").env("RUSTDOCFLAGS", "-D warnings");
    let ok = command.status().is_ok_and(|status| status.success());
    println!("  {:.1} s{}", started.elapsed().as_secs_f64(), if ok { "" } else { ": failed" });
    ok
}
