//! The state graph of a model: as a text for graphviz, and for the page that draws it.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::words::clean;

/// A graph of states. The first state is the initial one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateGraph {
    /// The processes.
    pub lanes: Vec<String>,
    /// The states.
    pub states: Vec<GraphState>,
    /// The steps between them.
    pub moves: Vec<GraphMove>,
    /// The moves of the run that the report shows, in order; empty where it shows none.
    pub path: Vec<usize>,
}

/// A state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphState {
    /// How many steps it takes to come here.
    pub depth: usize,
    /// Shared variables with their values.
    pub shared: Vec<(String, String)>,
    /// By process: where it stands, and its variables.
    pub processes: Vec<(String, Vec<(String, String)>)>,
    /// The states of the specification that explain what was seen.
    pub specification: Vec<String>,
    /// What is wrong here.
    pub wrong: Option<String>,
}

/// A step of a process from one state to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphMove {
    /// The state that it leaves.
    pub from: usize,
    /// The state that it leads to.
    pub to: usize,
    /// Index of its process.
    pub lane: usize,
    /// What it did: `16: push(1)`.
    pub text: String,
}

impl StateGraph {
    /// The graph in the language of graphviz.
    pub fn dot(&self, name: &str) -> String {
        let mut dot = format!("digraph {} {{\n", quoted(&[name.to_string()]));
        dot += "  node [shape=box, fontname=\"monospace\", fontsize=10];\n";
        dot += "  edge [fontname=\"monospace\", fontsize=9];\n";
        for (number, state) in self.states.iter().enumerate() {
            let mut lines = vec![format!("s{number}")];
            lines.extend((!state.shared.is_empty()).then(|| pairs(&state.shared)));
            for (lane, (place, own)) in self.lanes.iter().zip(&state.processes) {
                lines.push(format!("{lane} {place} {}", pairs(own)).trim_end().to_string());
            }
            lines.extend(state.wrong.clone().or_else(|| {
                let states = &state.specification;
                (!states.is_empty()).then(|| format!("specification: {}", states.join(" or ")))
            }));
            let more = match (&state.wrong, number) {
                (Some(_), _) => ", peripheries=2, color=red",
                (None, 0) => ", style=bold",
                (None, _) => "",
            };
            let _ = writeln!(dot, "  s{number} [label={}{more}];", quoted(&lines));
        }
        for (number, step) in self.moves.iter().enumerate() {
            let text = format!("{} {}", self.lanes[step.lane], step.text);
            let label = quoted(&[text.trim_end().to_string()]);
            let more = match self.path.contains(&number) {
                true => ", color=red, penwidth=3",
                false => "",
            };
            let _ = writeln!(dot, "  s{} -> s{} [label={label}{more}];", step.from, step.to);
        }
        dot + "}\n"
    }

    pub(crate) fn json(&self) -> Json {
        let state = |state: &GraphState| {
            json!({
                "depth": state.depth,
                "shared": state.shared,
                "processes": state.processes,
                "specification": state.specification,
                "wrong": state.wrong,
            })
        };
        let step = |step: &GraphMove| json!([step.from, step.to, step.lane, step.text]);
        json!({
            "lanes": self.lanes,
            "states": self.states.iter().map(state).collect::<Vec<Json>>(),
            "moves": self.moves.iter().map(step).collect::<Vec<Json>>(),
            "path": self.path,
        })
    }
}

/// `H=1 B[2]=0`.
fn pairs(pairs: &[(String, String)]) -> String {
    let shown: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    shown.join(" ")
}

/// Lines as a string of graphviz, each at the left margin.
fn quoted(lines: &[String]) -> String {
    let escaped = |line: &String| clean(line).replace('\\', "\\\\").replace('"', "\\\"");
    let lines: Vec<String> = lines.iter().map(escaped).collect();
    match lines.len() {
        1 => format!("\"{}\"", lines[0]),
        _ => format!("\"{}\\l\"", lines.join("\\l")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_written_for_graphviz() {
        let state = |value: &str| GraphState {
            shared: vec![("H".into(), value.into())],
            processes: vec![("idle".into(), vec![("x".into(), "\"\\".into())])],
            ..GraphState::default()
        };
        let wrong = Some("nothing explains this".to_string());
        let graph = StateGraph {
            lanes: vec!["P0".into()],
            states: vec![state("0"), GraphState { wrong, ..state("1") }],
            moves: vec![GraphMove { from: 0, to: 1, lane: 0, text: "3: push()".into() }],
            path: vec![0],
        };
        assert_eq!(
            graph.dot("a \"model\""),
            "digraph \"a \\\"model\\\"\" {\n\
             \x20 node [shape=box, fontname=\"monospace\", fontsize=10];\n\
             \x20 edge [fontname=\"monospace\", fontsize=9];\n\
             \x20 s0 [label=\"s0\\lH=0\\lP0 idle x=\\\"\\\\\\l\", style=bold];\n\
             \x20 s1 [label=\"s1\\lH=1\\lP0 idle x=\\\"\\\\\\lnothing explains this\\l\", \
             peripheries=2, color=red];\n\
             \x20 s0 -> s1 [label=\"P0 3: push()\", color=red, penwidth=3];\n\
             }\n"
        );
    }
}
