//! The histories of `examples/histories` have the verdicts that their names say. The verdicts were
//! argued by hand (the manifest has the reasons) and confirmed by a search over all orders that
//! shares no code with trueline.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::common::command;

struct Row {
    path: String,
    format: String,
    spec: String,
    verdict: String,
    why: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/histories")
}

fn rows() -> Vec<Row> {
    let manifest = fs::read_to_string(folder().join("MANIFEST.tsv")).unwrap();
    let row = |line: &str| {
        let columns: Vec<String> = line.split('\t').map(str::to_string).collect();
        let [path, format, spec, _, _, verdict, why] = columns.try_into().expect("seven columns");
        Row { path, format, spec, verdict, why }
    };
    manifest.lines().skip(1).map(row).collect()
}

#[test]
fn each_history_is_listed_and_named_by_its_verdict() {
    let rows = rows();
    for Row { path, spec, verdict, why, .. } in &rows {
        let name = spec.split(':').next().unwrap_or_default();
        assert!(path.starts_with(&format!("{name}-{verdict}-")), "{path}");
        assert!(!why.is_empty(), "{path}");
    }
    let listed: BTreeSet<String> = rows.iter().map(|row| row.path.clone()).collect();
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
    let others = BTreeSet::from(["MANIFEST.tsv", "README.md"].map(String::from));
    assert_eq!(&files - &others, listed);
    let distinct = |of: fn(&Row) -> &String| rows.iter().map(of).collect::<BTreeSet<_>>().len();
    assert!(
        rows.len() >= 40 && distinct(|row| &row.format) == 10 && distinct(|row| &row.spec) >= 20
    );
}

/// The format is recognised from the content.
#[test]
fn check_finds_the_verdict_of_each() {
    for Row { path, spec, verdict, why, .. } in rows() {
        let arguments = format!("check {path} --spec {spec} --json");
        let output = command(&arguments).current_dir(folder()).output().unwrap();
        let said: Json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{path}: {error}: {output:?}"));
        assert_eq!(said["verdict"], *verdict, "{path}: {why}");
        let code = if verdict == "linearizable" { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{path}");
    }
}

#[test]
fn corpus_passes_all_of_them() {
    let output = command("corpus MANIFEST.tsv").current_dir(folder()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected = format!("{} passed, 0 failed, 0 skipped", rows().len());
    assert_eq!(printed.lines().last(), Some(expected.as_str()), "{printed}");
    assert!(output.status.success());
}
