//! The histories of the paper's Tables 1 and 2, as far as the corpus has them, and its stacks of a
//! thousand steps.

use std::fs;
use std::path::{Path, PathBuf};

use trueline::formats::{ReadOptions, read};
use trueline::saturate::{Online, Saturate, Stop};
use trueline::spec;

/// The histories in a folder of the corpus, with the verdict that the manifest tells: violation or
/// not.
fn histories(under: &str) -> Vec<(PathBuf, String, bool)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let Ok(manifest) = fs::read_to_string(folder.join("MANIFEST.tsv")) else {
        eprintln!("skipped: there is no corpus beside the workspace");
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in manifest.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        if columns[0].starts_with(under) && !columns[5].is_empty() {
            let is_violation = columns[5] == "violation";
            found.push((folder.join(columns[0]), columns[2].to_string(), is_violation));
        }
    }
    found
}

/// Where saturation sees a violation.
fn seen_at(file: &Path, spec: &str, forgets: bool) -> Option<u64> {
    let (history, _) = read(fs::File::open(file).unwrap(), &ReadOptions::default()).unwrap();
    let (object, initial, events) = spec::named(spec).unwrap().events(&history).unwrap();
    let mut monitor = Saturate::new(object).holding(&initial);
    if forgets {
        monitor = monitor.forgetting();
    }
    for event in events {
        let told = match &event.result {
            None => monitor.call(event.operation.into(), event.method, &event.argument),
            Some(result) => monitor.returned(event.operation.into(), result),
        };
        match told {
            Ok(()) => {}
            Err(Stop::Violation(why)) => return Some(why.step),
            Err(stop) => panic!("{}: {stop}", file.display()),
        }
    }
    None
}

/// Saturation sees every violation and invents none, with and without forgetting.
#[track_caller]
fn as_stated(under: &str, violations: usize) {
    let all = histories(under);
    let mut found = 0;
    for (file, spec, is_violation) in &all {
        for forgets in [false, true] {
            let seen = seen_at(file, spec, forgets);
            assert_eq!(seen.is_some(), *is_violation, "{}, r {forgets}", file.display());
        }
        found += usize::from(*is_violation);
    }
    assert!(all.is_empty() || found == violations, "{found} violations");
}

#[test]
fn table_1_every_violation_of_the_very_concurrent_histories_is_seen() {
    as_stated("violin/pldi15-tables/bkq-very-concurrent", 2);
    as_stated("violin/pldi15-tables/msq-very-concurrent", 0);
}

#[test]
fn table_2_every_violation_of_the_nearly_sequential_histories_is_seen() {
    as_stated("violin/pldi15-tables/bkq-almost-sequential", 30);
    as_stated("violin/pldi15-tables/msq-almost-sequential", 0);
}

#[test]
fn the_authors_own_stacks_and_queues_are_decided_as_stated() {
    as_stated("violin/histories", 40);
}
