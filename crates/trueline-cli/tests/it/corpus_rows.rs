//! No row of the corpus disagrees with its stated verdict. Skipped where the corpus is absent.

use std::path::Path;
use std::process::Command;

#[test]
fn no_row_of_the_corpus_disagrees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = "../shared/corpus/MANIFEST.tsv";
    if !root.join(manifest).exists() {
        println!("skipped: there is no corpus at {manifest}");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_trueline"))
        .current_dir(&root)
        .args(["corpus", manifest, "--timeout", "5s"])
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    println!("{printed}");
    let tally = printed.lines().last().unwrap_or_default();
    assert!(tally.contains(" 0 failed, "), "{printed}");
    // 3: a row was not decided in time, which a slow machine may cause.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {printed}", output.status);
    assert!(!tally.starts_with("0 passed"), "{printed}");
}
