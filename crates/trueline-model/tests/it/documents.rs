//! The models in the documents are real: each complete one compiles, and has the verdicts that it
//! says.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Options, Reason, Verdict, verify};
use trueline_model::{Model, Semantics, interpret};

/// The blocks of a document that are whole models.
fn models(document: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix("tl\n").map(String::from)).collect()
}

#[track_caller]
fn check(document: &str, least: usize) {
    let models = models(document);
    assert!(models.len() >= least, "{document} has {} models", models.len());
    for source in models {
        let model = Model::parse(&source)
            .unwrap_or_else(|error| panic!("{}", error.render(document, &source)));
        let expectations = model.expectations();
        assert!(!expectations.is_empty(), "{} expects nothing", model.name());
        for expectation in expectations {
            let mut model = model.clone();
            for (name, value) in &expectation.settings {
                model.set(name, *value).unwrap();
            }
            let points = expectation.points;
            let program = Arc::new(model.compile(Semantics::Default, points).unwrap());
            let options = Options { points, ..Options::default() };
            let found = match verify(&program, &options, &Budget::unlimited()).verdict {
                Verdict::Holds => "verified",
                Verdict::Violation(found) if found.reason == Reason::WrongPoints => "wrong points",
                Verdict::Violation(counterexample) => {
                    interpret::replay(&model, Semantics::Default, &program, &counterexample)
                        .unwrap();
                    "violation"
                }
                Verdict::Undecided(_) => "unknown",
            };
            assert_eq!(found, expectation.verdict, "{} {expectation:?}", model.name());
        }
    }
}

#[test]
fn the_models_of_the_reference_are_as_it_says() {
    check("model-language.md", 1);
}

#[test]
fn the_models_of_the_tutorial_are_as_it_says() {
    check("tutorial-treiber.md", 5);
}

/// Every keyword of the grammar is a word that the parser knows, and the page names every
/// statement.
#[test]
fn the_reference_speaks_of_every_keyword() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model-language.md");
    let text = fs::read_to_string(path).unwrap();
    let grammar = text.split("## Grammar").nth(1).unwrap();
    let source = include_str!("../../src/language/parser.rs");
    let (_, list) = source.split_once("KEYWORDS: [&str; ").expect("the parser lists its keywords");
    let (list, _) = list.split_once("];").expect("the list ends");
    let keywords: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(keywords.contains(&"object") && keywords.contains(&"eventually"), "{keywords:?}");
    // Words of other languages, which are reserved to say what to write instead.
    let own = keywords.into_iter().filter(|keyword| !["int", "nat"].contains(keyword));
    for keyword in own {
        assert!(grammar.contains(&format!("\"{keyword}\"")), "the grammar lacks {keyword}");
    }
}
