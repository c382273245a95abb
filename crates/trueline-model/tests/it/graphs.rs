//! The state graph against the search: the same states and steps, and every run is a path in it.

use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{self, NoGraph, Options, Verdict};
use trueline_model::program::{Kind, Program};
use trueline_model::{Model, Semantics, library};

fn program(name: &str, settings: &[(&str, i32)]) -> Arc<Program> {
    let mut model = Model::parse(library::find(name).unwrap().source).unwrap();
    for (parameter, value) in settings {
        model.set(parameter, *value).unwrap();
    }
    Arc::new(model.compile(Semantics::Default, false).unwrap())
}

#[test]
fn a_graph_has_the_states_and_steps_of_a_search_without_reductions() {
    let budget = Budget::unlimited();
    let mut compared = 0;
    for model in library::ALL {
        let program = program(model.name, &[]);
        let Ok(graph) = engine::graph(&program, 4_000, &budget) else { continue };
        let report = engine::verify(&program, &Options::plain(), &budget);
        let is_wrong = graph.states.iter().any(|state| state.wrong.is_some());
        assert_eq!(is_wrong, !matches!(report.verdict, Verdict::Verified), "{}", model.name);
        if is_wrong {
            continue;
        }
        let counts = (graph.states.len() as u64, graph.moves.len() as u64);
        let terminal = if program.count_terminal_states { report.terminal } else { 0 };
        let setup = u64::from(program.setup.is_a_step);
        assert_eq!(
            counts,
            (report.states - terminal - setup, report.transitions),
            "{}",
            model.name
        );
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

#[test]
fn a_counterexample_is_a_path_to_a_state_that_is_wrong() {
    let budget = Budget::unlimited();
    let mut found = 0;
    for model in library::ALL {
        let parsed = Model::parse(model.source).unwrap();
        if !parsed.parameters().iter().any(|parameter| parameter.name == "bug") {
            continue;
        }
        let program = program(model.name, &[("bug", 1)]);
        let Ok(graph) = engine::graph(&program, 6_000, &budget) else { continue };
        let report = engine::verify(&program, &Options::default(), &budget);
        let Verdict::Violation(counterexample) = &report.verdict else { continue };
        let steps = &counterexample.trace.steps;
        let path = graph.path(steps).unwrap_or_else(|| panic!("{}: no path", model.name));
        assert_eq!(path.len(), steps.len());
        let end = path.last().map_or(0, |&last| graph.moves[last].to);
        assert!(graph.states[end].wrong.is_some(), "{}: {:?}", model.name, graph.states[end]);
        // What each step leaves behind is what the state shows.
        for (step, &number) in steps.iter().zip(&path) {
            let state = &graph.states[graph.moves[number].to];
            let cells = program.shared.iter().flat_map(|v| (0..v.cells()).map(move |_| v));
            for ((variable, value), (_, shown)) in cells.zip(&step.shared).zip(&state.shared) {
                // Nodes have other names in the graph.
                if !matches!(variable.ty.kind, Kind::Pointer(_)) {
                    assert_eq!(&variable.ty.show(*value), shown, "{}", model.name);
                }
            }
        }
        found += 1;
    }
    assert!(found >= 3, "{found}");
}

#[test]
fn a_graph_that_is_too_large_is_refused() {
    let budget = Budget::unlimited();
    let program = program("counter", &[]);
    let whole = engine::graph(&program, 1_000, &budget).unwrap().states.len();
    assert!(engine::graph(&program, whole, &budget).is_ok());
    let refused = engine::graph(&program, whole - 1, &budget);
    assert_eq!(refused.unwrap_err(), NoGraph::TooLarge(whole - 1));
}
