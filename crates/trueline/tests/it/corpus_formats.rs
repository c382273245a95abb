//! Every file of the corpus, and of the histories in this repository, reads, is recognised, and has
//! the operations that the manifest counts.

use std::fs;
use std::path::{Path, PathBuf};

use trueline::History;
use trueline::formats::{Format, Keys, ReadOptions, read};

/// A row of the manifest.
struct Row {
    path: String,
    format: Format,
    keys: bool,
    operations: usize,
}

/// The corpus lies beside the workspace; it is no part of it.
fn corpus() -> Option<(PathBuf, Vec<Row>)> {
    let corpus = rows_of("../../../shared/corpus");
    if corpus.is_none() {
        eprintln!("skipped: there is no corpus beside the workspace");
    }
    corpus
}

/// The histories that every clone has.
fn own() -> (PathBuf, Vec<Row>) {
    rows_of("../../examples/histories").expect("the repository has histories")
}

/// The rows of the manifest in a folder, if there is one.
fn rows_of(folder: &str) -> Option<(PathBuf, Vec<Row>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let manifest = fs::read_to_string(folder.join("MANIFEST.tsv")).ok()?;
    let rows = manifest.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        Row {
            path: columns[0].to_string(),
            format: columns[1].parse().unwrap(),
            keys: columns[3] == "yes",
            operations: columns[4].parse().unwrap(),
        }
    });
    Some((folder, rows.collect()))
}

/// The manifest counts failed operations, which a history drops. No file has a failed event that is
/// no client's.
fn failed(bytes: &[u8]) -> usize {
    let words = bytes.split(|b| b" \t\n,{}".contains(b));
    words.filter(|word| *word == b":fail").count()
}

#[test]
fn every_file_reads_and_counts() {
    let Some((folder, rows)) = corpus() else { return };
    read_and_count(&folder, &rows);
}

#[test]
fn every_history_of_our_own_reads_and_counts() {
    let (folder, rows) = own();
    read_and_count(&folder, &rows);
}

fn read_and_count(folder: &Path, rows: &[Row]) {
    let mut wrong = Vec::new();
    for row in rows {
        let bytes = fs::read(folder.join(&row.path)).unwrap();
        let options = ReadOptions { format: Some(row.format), keys: Keys::Auto };
        match read(&bytes[..], &options) {
            Err(error) => wrong.push(format!("{}:{error}", row.path)),
            Ok((history, _)) => {
                let keys = history.parts().iter().any(|part| !part.key.is_nil());
                let failed = failed(&bytes);
                if history.len() + failed != row.operations || keys != row.keys {
                    wrong.push(format!(
                        "{}: {} operations and {failed} failed, manifest {}; keys {keys}, manifest {}",
                        row.path,
                        history.len(),
                        row.operations,
                        row.keys,
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_format_is_recognised() {
    let Some((folder, rows)) = corpus() else { return };
    assert_eq!(recognise(&folder, &rows), 34);
}

#[test]
fn every_format_of_our_own_histories_is_recognised() {
    let (folder, rows) = own();
    assert!(Format::ALL.iter().all(|format| rows.iter().any(|row| row.format == *format)));
    assert_eq!(recognise(&folder, &rows), 1);
}

/// Says of how many files two formats are possible.
fn recognise(folder: &Path, rows: &[Row]) -> usize {
    let mut wrong = Vec::new();
    let mut ambiguous = 0;
    for row in rows {
        let bytes = fs::read(folder.join(&row.path)).unwrap();
        match read(&bytes[..], &ReadOptions::default()) {
            Err(error) => wrong.push(format!("{}:{error}", row.path)),
            Ok((_, format)) if format == row.format => {}
            // A thread that calls once looks like an operation, and means the same.
            Ok((calls, Format::Calls)) if row.format == Format::Limo => {
                let options = ReadOptions { format: Some(Format::Limo), ..ReadOptions::default() };
                let (limo, _) = read(&bytes[..], &options).unwrap();
                assert_eq!(shown(&calls), shown(&limo), "{}", row.path);
                ambiguous += 1;
            }
            Ok((_, format)) => {
                wrong.push(format!("{}: {} taken for {format}", row.path, row.format));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    ambiguous
}

/// Everything but the processes.
fn shown(history: &History) -> Vec<String> {
    let operations = history.operations().iter().enumerate();
    operations
        .map(|(i, o)| format!("{} {} {}", o.call, o.returned, history.show(i as u32)))
        .collect()
}
