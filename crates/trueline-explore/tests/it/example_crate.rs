//! The example crates outside of the workspace: unit tests with a dev-dependency, integration tests
//! with a feature, plain builds over std; a test that fails, its report, and the line that runs it
//! again.
//!
//! For cargo a crate outside of the workspace has dependencies of its own, even in the same target
//! directory: `cargo test` in an example would compile trueline and trueline-explore a second time.
//! So the tests are compiled as cargo would, but with the library that this test was linked with.
//! That the manifests offer that library, cargo is asked.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An example crate.
struct Example(&'static str);

impl Example {
    fn root(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(self.0)
    }

    /// Where its binaries go.
    fn folder(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(self.0);
        fs::create_dir_all(&folder).expect("a folder for binaries");
        folder
    }

    /// Runs a program in the crate; what it printed, if it succeeded.
    #[track_caller]
    fn run(&self, command: &mut Command) -> String {
        command.current_dir(self.root()).env("RUST_BACKTRACE", "0").env_remove("RUSTFLAGS");
        let Output { status, stdout, stderr } = command.output().expect("it starts");
        let text =
            format!("{}\n{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{command:?}\n{text}");
        text
    }

    /// Builds it as its users do: over std, without trueline.
    #[track_caller]
    fn builds_over_std(&self) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--quiet"]).env("CARGO_TARGET_DIR", self.folder());
        self.run(&mut cargo);
    }

    /// Its manifest has the library among the dependencies, with these arguments.
    #[track_caller]
    fn depends_on_the_library(&self, arguments: &[&str]) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "--invert", "trueline-explore"]).args(arguments);
        let tree = self.run(&mut cargo);
        assert!(tree.contains(&format!("{} v0.1.0", self.0)), "{tree}");
    }

    /// Compiles a file of the crate with the library; the result.
    #[track_caller]
    fn compile(&self, name: &str, file: &str, arguments: &[&str]) -> PathBuf {
        let library = library();
        let output = self.folder().join(name);
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
        rustc.args(["--edition", "2024", "-C", "opt-level=1", file]).args(arguments);
        rustc.arg("--extern").arg(format!("trueline_explore={}", library.display()));
        rustc.arg("-L").arg(format!("dependency={}", deps().display())).arg("-o").arg(&output);
        self.run(&mut rustc);
        output
    }

    /// Runs tests of the crate.
    #[track_caller]
    fn test(&self, binary: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let mut test = Command::new(binary);
        test.args(arguments).env_remove("TRUELINE_REPLAY").env_remove("TRUELINE_HTML");
        self.run(test.envs(variables.iter().copied()))
    }
}

/// Where cargo puts the binary of this test and the libraries.
fn deps() -> PathBuf {
    let test = env::current_exe().expect("a path");
    test.parent().expect("a folder").to_path_buf()
}

/// The library that this test was linked with: the youngest that is older than the test. Others are
/// of builds with other features, or left from former compilers.
fn library() -> PathBuf {
    let age = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).expect("a time");
    let built = age(&env::current_exe().expect("a path"));
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libtrueline_explore-") && name.ends_with(".rlib") && age(path) <= built
    };
    let files = fs::read_dir(deps()).expect("a folder").map(|entry| entry.expect("a file").path());
    files.filter(is_library).max_by_key(|path| age(path)).expect("the library beside the test")
}

#[test]
fn the_example_crates_are_explored_by_their_own_tests() {
    let treiber = Example("treiber");
    treiber.depends_on_the_library(&[]);
    let unit = treiber.compile("unit", "src/lib.rs", &["--crate-name", "treiber", "--test"]);
    treiber.test(&unit, &[], &[]);
    // An integration test sees the crate as it is compiled for others: with a feature.
    treiber.depends_on_the_library(&["--edges", "normal", "--features", "trueline"]);
    let feature =
        ["--crate-name", "treiber", "--crate-type", "lib", "--cfg", "feature=\"trueline\""];
    let built = treiber.compile("libtreiber.rlib", "src/lib.rs", &feature);
    let with = format!("treiber={}", built.display());
    let integration = ["--crate-name", "integration", "--test", "--extern", &with];
    let integration = treiber.compile("integration", "tests/integration.rs", &integration);
    treiber.test(&integration, &[], &[]);
    treiber.builds_over_std();

    let containers = Example("containers");
    containers.depends_on_the_library(&[]);
    let unit = containers.compile("unit", "src/lib.rs", &["--crate-name", "containers", "--test"]);
    let told = containers.test(&unit, &["--nocapture"], &[]);
    let scope = "holds: all matrices up to 2 threads x 2 operations; sequentially consistent; \
                 no spurious failures or wakeups; complete";
    assert!(told.matches(scope).count() >= 3, "{told}");
    containers.builds_over_std();

    // The report of the one that is wrong stands in the documentation.
    let report = report(&told);
    for page in
        [include_str!("../../../../docs/testing-code.md"), include_str!("../../../../README.md")]
    {
        let after = page.split("with the example crate -->\n```text\n").nth(1);
        let shown = after.and_then(|rest| rest.split("```").next());
        assert_eq!(shown.expect("a block"), report);
    }

    // The last line of the report runs it again: one execution, the same failure.
    let again = report.lines().last().expect("a report has lines").trim();
    let rest =
        again.strip_prefix("reproduce: TRUELINE_REPLAY='").expect("the line that runs it again");
    let (replay, command) = rest.split_once("' cargo test ").expect("a command");
    assert_eq!(command, "set::tests::a_hasty_length_is_not");
    // A page is written where one is wanted; the last line names it.
    let pages = containers.folder().join("pages");
    let variables =
        [("TRUELINE_REPLAY", replay), ("TRUELINE_HTML", pages.to_str().expect("a path"))];
    let told = containers.test(&unit, &[command, "--nocapture"], &variables);
    assert!(told.contains("1 scenario, 1 execution,"), "{told}");
    let line = told.lines().find_map(|line| line.strip_prefix("  page: ")).expect("a page");
    assert_eq!(Path::new(line), pages.join("set-tests-a_hasty_length_is_not-f8662875.html"));
    let page = fs::read_to_string(line).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("hasty_len() -> 0"), "{page}");
    let lanes =
        |text: &str| text.lines().filter(|l| l.contains('╞')).collect::<Vec<_>>().join("\n");
    assert_eq!(lanes(&told), lanes(&report));
}

/// The report within what a test printed.
fn report(told: &str) -> String {
    let start = told.find("not linearizable: ").expect("a report");
    let lines: Vec<&str> = told[start..].lines().collect();
    let last = lines.iter().position(|line| line.contains("reproduce: ")).expect("its last line");
    lines[..=last].iter().map(|line| format!("{line}\n")).collect()
}
