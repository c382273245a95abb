//! `cargo xtask ci`: all that must pass.
//!
//! The tests take longest, most of it to build. The lints, the documentation and the sanitizer
//! share nothing with that build but the sources, so they run beside it, in a target directory of
//! their own: cargo locks a target directory while it builds. Steps of a lane run in order, and the
//! first that fails ends its lane.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use crate::{FEATURES, licences, sanitize, tools};

/// Histories that nobody here wrote. They are no part of the repository.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");

/// A command of cargo.
struct Step {
    arguments: Vec<&'static str>,
    /// What it prints is shown as it comes; otherwise when it fails.
    shown: bool,
}

fn quiet(arguments: &[&'static str]) -> Step {
    Step { arguments: arguments.to_vec(), shown: false }
}

/// Runs every check. The benchmarks are linted, not run.
pub(crate) fn ci() -> ExitCode {
    let in_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    let missing = tools::missing(in_ci);
    if !licences::check() || !run(&quiet(&["fmt", "--all", "--check"]), None) {
        return ExitCode::FAILURE;
    }
    let tests = tests(missing.iter().flat_map(|tool| tool.tests).copied());
    let lints = target_directory().join("lints");
    let ok = thread::scope(|scope| {
        let lints = scope.spawn(|| {
            lints_and_documentation().iter().all(|step| run(step, Some(&lints)))
                && (!sanitize::IS_THERE || sanitize::sanitize(true, Some(&lints)))
        });
        let tests = tests.iter().all(|step| run(step, None));
        lints.join().unwrap_or(false) && tests
    });
    if !sanitize::IS_THERE {
        println!("skipped: the address sanitizer, which needs Linux on x86-64");
    }
    if !Path::new(CORPUS).exists() {
        println!(
            "skipped: the corpus, which is not beside this clone; examples/histories was decided"
        );
    }
    tools::tell_skipped(&missing);
    if ok && (missing.is_empty() || !in_ci) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The tests and the doc tests, without some.
fn tests(skipped: impl Iterator<Item = &'static str>) -> [Step; 2] {
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
    let mut arguments = [tests, &workspace].concat();
    let mut skipped = skipped.peekable();
    if skipped.peek().is_some() {
        arguments.push("--");
        arguments.extend(skipped.flat_map(|test| ["--skip", test]));
    }
    let doc_tests = [&["test", "--doc", "--quiet"], &workspace[..]].concat();
    [Step { arguments, shown: true }, quiet(&doc_tests)]
}

fn lints_and_documentation() -> [Step; 5] {
    const DENY: [&str; 4] = ["--quiet", "--", "-D", "warnings"];
    let clippy = |what: &[&'static str]| quiet(&[&["clippy"], what, &DENY].concat());
    [
        clippy(&["--workspace", "--all-targets", "--features", FEATURES]),
        // The libraries as their users compile them, without the algorithms of papers.
        clippy(&["-p", "trueline", "-p", "trueline-explore", "-p", "trueline-model", "--lib"]),
        // The objects as they ship, without the feature that others need: nothing of the explorer
        // is compiled then.
        clippy(&["-p", "trueline-objects", "--all-targets"]),
        // Those of them that need no std.
        clippy(&["-p", "trueline-objects", "--lib", "--no-default-features"]),
        quiet(&["doc", "--workspace", "--no-deps", "--quiet"]),
    ]
}

/// Where cargo builds, as this binary was built there.
fn target_directory() -> PathBuf {
    let built = env::current_exe().ok();
    // target/debug/xtask
    let folder = built.as_deref().and_then(|path| path.ancestors().nth(2));
    folder.map_or_else(|| PathBuf::from("target"), Path::to_path_buf)
}

fn run(step: &Step, target: Option<&Path>) -> bool {
    let mut command = Command::new("cargo");
    // What is built once gains nothing from being prepared for the next time.
    command.args(&step.arguments).env("CARGO_INCREMENTAL", "0").env("RUSTDOCFLAGS", "-D warnings");
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    report(&format!("cargo {}", step.arguments.join(" ")), command, step.shown)
}

/// Runs a command and says how long it took. Unless it is shown as it comes, its output is printed
/// if it fails. Whether it succeeded.
pub(crate) fn report(name: &str, mut command: Command, shown: bool) -> bool {
    println!("> {name}");
    let started = Instant::now();
    let (ok, output) = if shown {
        (command.status().is_ok_and(|status| status.success()), String::new())
    } else {
        match command.output() {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                (output.status.success(), String::from_utf8_lossy(&text).into_owned())
            }
            Err(error) => (false, error.to_string()),
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    if ok {
        println!("  {seconds:.1} s: {name}");
    } else {
        println!("{output}\n  {seconds:.1} s, failed: {name}");
    }
    ok
}
