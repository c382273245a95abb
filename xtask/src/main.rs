//! Chores of the repository: `cargo xtask ci`, `cargo xtask evidence`, `cargo xtask sanitize`,
//! `cargo xtask soak`.
#![forbid(unsafe_code)]

mod ci;
mod licences;
mod sanitize;
mod soak;
mod tools;

use std::env;
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask ci      formatting, licences, lints, documentation, build, tests (the corpus among them), doc tests, the objects under the address
                    sanitizer: all that must pass. It names what it skipped and the command that installs what is missing. With the
                    variable CI set, it installs that itself where it is root, and a test that was skipped is a failure.
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
        Some("ci") => ci::ci(),
        Some("soak") => soak::soak(&arguments),
        Some("evidence") => evidence(arguments),
        Some("sanitize") => code(sanitize::sanitize(arguments == ["--quick"], None)),
        _ => {
            eprintln!("{HELP}");
            ExitCode::from(2)
        }
    }
}

/// The work is done by an example of trueline-objects, in release: what it measures is what ships.
fn evidence(arguments: Vec<String>) -> ExitCode {
    let mut command: Vec<&str> = EVIDENCE.to_vec();
    command.extend(arguments.iter().map(String::as_str));
    if arguments.is_empty() {
        command.extend(["--write", concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evidence.md")]);
    }
    let mut cargo = Command::new("cargo");
    cargo.args(&command).env("CARGO_INCREMENTAL", "0");
    code(ci::report(&format!("cargo {}", command.join(" ")), cargo, true))
}

fn code(ok: bool) -> ExitCode {
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
