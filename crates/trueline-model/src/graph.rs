//! The state graph of a model for the report, with the run that the report shows.

use trueline_report::{GraphMove, GraphState, StateGraph};

use crate::Findings;
use crate::engine::{Graph, Progress, TraceStep, Values, Verdict};
use crate::program::Program;

/// The graph for the report; marked on it is the counterexample, or the first run that a progress
/// property forbids.
pub fn drawn(program: &Program, graph: &Graph, findings: &Findings) -> StateGraph {
    let mut drawn = StateGraph {
        lanes: (0..program.processes()).map(|process| format!("P{process}")).collect(),
        ..StateGraph::default()
    };
    for state in &graph.states {
        let process = |(location, own): &(Option<usize>, Values)| {
            let place = match location {
                None => "idle".to_string(),
                Some(location) => {
                    let location = &program.locations[*location];
                    let operation = &program.operations[location.operation].name;
                    format!("in {operation}, line {}", location.line)
                }
            };
            (place, own.clone())
        };
        drawn.states.push(GraphState {
            depth: state.depth,
            shared: state.shared.clone(),
            processes: state.processes.iter().map(process).collect(),
            specification: state.explained_by.clone(),
            wrong: state.wrong.clone(),
        });
    }
    for step in &graph.moves {
        let mut events = step.events(program, &graph.states[step.from]);
        // The line that ran; a call runs the first lines of its operation.
        if let Some(location) = step.step.location {
            let location = &program.locations[location];
            events.insert(0, format!("{}: {}", location.line, location.text));
        }
        let (from, to, lane) = (step.from, step.to, step.step.process);
        drawn.moves.push(GraphMove { from, to, lane, text: events.join(" ") });
    }
    drawn.path = shown(findings).and_then(|run| graph.path(&run)).unwrap_or_default();
    drawn
}

/// The run that the report on these findings shows first.
fn shown(findings: &Findings) -> Option<Vec<TraceStep>> {
    if let Verdict::Violation(found) | Verdict::WrongPoints(found) = &findings.report.verdict {
        return Some(found.trace.steps.clone());
    }
    findings.progress.iter().find_map(|(_, property)| match &property.progress {
        Progress::Fails(lasso) => Some(lasso.stem.iter().chain(&lasso.cycle).cloned().collect()),
        _ => None,
    })
}
