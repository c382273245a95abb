//! Every model under `models/` is read, and compiles under all settings that its header speaks of.

use std::fs;
use std::path::{Path, PathBuf};

use trueline_model::{Model, Semantics};

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "tl"))
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Model {
    let source = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Model::parse(&source).unwrap_or_else(|error| panic!("{}", error.render(&name, &source)))
}

#[test]
fn every_model_says_its_verdicts_and_compiles() {
    let paths = models();
    assert!(paths.len() >= 2);
    for path in paths {
        let model = read(&path);
        let expectations = model.expectations();
        assert!(!expectations.is_empty(), "{} expects nothing", path.display());
        for expectation in expectations {
            let mut model = model.clone();
            for (name, value) in &expectation.settings {
                model.set(name, *value).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            }
            for semantics in [Semantics::Default, Semantics::Pat] {
                let program = model.compile(semantics, expectation.points);
                if let Err(error) = &program {
                    panic!("{}", error.render(&path.display().to_string(), model.source()));
                }
                if std::env::var_os("TRUELINE_DUMP").is_some() {
                    println!("{expectation:?} {semantics:?} {program:#?}");
                }
            }
        }
    }
}
