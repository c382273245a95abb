//! Chores of the repository: `cargo xtask ci`.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

const HELP: &str = "\
cargo xtask ci      formatting, lints, build, tests, doc tests, the corpus: all that must pass

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

/// Runs every check, in order of cost; the first that fails ends it.
fn ci() -> ExitCode {
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    let tests: &[&str] = if nextest {
        &["nextest", "run", "--workspace", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--lib", "--bins", "--tests"]
    };
    let steps: &[&[&str]] = &[
        &["fmt", "--all", "--check"],
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
        tests,
        &["test", "--workspace", "--doc", "--quiet"],
    ];
    for step in steps {
        if !run("cargo", step) {
            return ExitCode::FAILURE;
        }
    }
    if !corpus() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Checks every history of the corpus against its stated verdict. Undecided rows are allowed here.
fn corpus() -> bool {
    let manifest = "../shared/corpus/MANIFEST.tsv";
    if !Path::new(manifest).exists() {
        println!("skipped: there is no corpus at {manifest}");
        return true;
    }
    let arguments =
        ["run", "--release", "--quiet", "-p", "trueline-cli", "--bin", "trueline", "--"];
    let started = Instant::now();
    println!("> trueline corpus {manifest} --timeout 2s");
    let status = Command::new("cargo")
        .args(arguments)
        .args(["corpus", manifest, "--timeout", "2s"])
        .status();
    println!("  {:.1} s", started.elapsed().as_secs_f64());
    // 3: some rows were not decided in time.
    matches!(status.map(|s| s.code()), Ok(Some(0 | 3)))
}

fn run(program: &str, arguments: &[&str]) -> bool {
    println!("> {program} {}", arguments.join(" "));
    let started = Instant::now();
    let ok = Command::new(program).args(arguments).status().is_ok_and(|status| status.success());
    println!("  {:.1} s{}", started.elapsed().as_secs_f64(), if ok { "" } else { ": failed" });
    ok
}
