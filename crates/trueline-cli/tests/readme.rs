//! The README's example is what the binary prints, but for the time it took.

use std::path::Path;
use std::process::Command;

fn without_time(line: &str) -> String {
    match line.rsplit_once(", ") {
        Some((start, time)) if time.ends_with(" ms") || time.ends_with(" s") => start.to_string(),
        _ => line.to_string(),
    }
}

#[test]
fn the_readme_shows_what_the_binary_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_trueline"))
        .current_dir(&root)
        .args(["check", "--width", "80", "--color", "never", "examples/queue-violation.jsonl"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed = printed.replace("--width 80 --color never ", "");
    let lines = |text: &str| text.lines().map(without_time).collect::<Vec<_>>();
    assert_eq!(lines(&printed), lines(block));
}
