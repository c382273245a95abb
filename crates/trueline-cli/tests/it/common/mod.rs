//! Runs the binary and writes down what a person would see.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::Expect;

/// A folder of its own with files in it, gone with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{n}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Folder {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs `trueline` with these arguments, which spaces separate, inside the folder.
    pub(crate) fn run(&self, args: &str) -> Run {
        self.run_with(args, b"")
    }

    pub(crate) fn run_with(&self, args: &str, stdin: &[u8]) -> Run {
        let mut child = command(args)
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let output = child.wait_with_output().unwrap();
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().expect("no signal ended it"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits until the child has read all that the file has, as the system tells. A child that is gone
/// is not waited for.
#[cfg(target_os = "linux")]
pub(crate) fn await_read(child: &Child, file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let position = || {
        let open = fs::read_dir(process.join("fd")).ok()?.flatten();
        let is_file = |path: PathBuf| path.file_name() == file.file_name();
        let number = open.into_iter().find(|fd| fs::read_link(fd.path()).is_ok_and(is_file))?;
        let info = fs::read_to_string(process.join("fdinfo").join(number.file_name())).ok()?;
        info.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse::<u64>().ok()
    };
    while position() != Some(length) {
        let status = fs::read_to_string(process.join("stat")).unwrap_or_default();
        if status.is_empty() || status.contains(") Z ") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

pub(crate) fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    command.args(args.split_whitespace()).env_remove("COLUMNS").env("NO_COLOR", "1");
    command
}

/// The examples of the project.
pub(crate) fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    fs::read_to_string(path).unwrap()
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Run {
    /// Compares with what is expected: standard output, standard error behind `! `, the exit code.
    #[track_caller]
    pub(crate) fn shows(&self, expect: Expect) {
        let mut text = String::new();
        for line in self.stdout.lines() {
            text += &redacted(line);
            text.push('\n');
        }
        for line in self.stderr.lines() {
            text += &format!("! {line}\n");
        }
        text += &format!("exit code {}\n", self.code);
        expect.assert_eq(&text);
    }

    /// An input error: nothing on standard output, one line on standard error, exit code 2.
    #[track_caller]
    pub(crate) fn complains(&self, expect: Expect) {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{self:?}");
        expect.assert_eq(&self.stderr);
    }
}

/// The line without what varies from run to run or from algorithm to algorithm.
fn redacted(line: &str) -> String {
    let fields: Vec<&str> = line.split(", ").collect();
    match fields[..] {
        [spec, _, operations, partitions, states, _]
            if states.ends_with(" states") || states.ends_with(" state") =>
        {
            format!("{spec}, ALGORITHM, {operations}, {partitions}, STATES, TIME")
        }
        _ => line.to_string(),
    }
}
