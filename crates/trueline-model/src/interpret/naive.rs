//! Searches small models naively: every run is tried, and every order for each history.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::history::{History, Seen};
use super::{Configuration, Interpreter, Taken};
use crate::language::{Model, Semantics};
use crate::program::{OpId, Program};

/// The result of a naive search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naive {
    /// Every history is one of the specification, and no process waits for ever unless the
    /// specification does.
    Verified,
    /// Some history is not, the model makes an error, or a process waits.
    Violation,
    /// More than the limit.
    TooLarge,
}

/// Tries every run of a small model with a bounded number of operations, and every order for each
/// history.
pub fn search_naively(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    limit: usize,
) -> Result<Naive, String> {
    let types = model.types(program)?;
    let interpreter = Interpreter::new(model, &types, semantics, program)?;
    let mut stack = vec![(interpreter.initial()?, History::default())];
    let mut known: HashSet<String> = HashSet::new();
    while let Some((from, history)) = stack.pop() {
        if !known.insert(format!("{} {history:?}", from.name())) {
            continue;
        }
        if known.len() > limit {
            return Ok(Naive::TooLarge);
        }
        let open = stack.len();
        for process in 0..from.processes.len() {
            let (taken, faults) = interpreter.steps(&from, process);
            if !faults.is_empty() {
                return Ok(Naive::Violation);
            }
            for Taken { to, seen, .. } in taken {
                let mut history = history.clone();
                let returns = seen.iter().any(|s| matches!(s, Seen::Return(..)));
                seen.into_iter().for_each(|event| history.push(process, event));
                if returns && !interpreter.explained(&history) {
                    return Ok(Naive::Violation);
                }
                stack.push((to, history));
            }
        }
        let waits = from.processes.iter().any(|process| process.running.is_some());
        if stack.len() == open && waits && !interpreter.explains_waiting(&history) {
            return Ok(Naive::Violation);
        }
    }
    Ok(Naive::Verified)
}

/// The operations within which a process can be when no process can take a step any more, by trying
/// every run. `None` if there are more states than the limit, or the model makes an error.
pub fn stuck_naively(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    limit: usize,
) -> Result<Option<BTreeSet<OpId>>, String> {
    let types = model.types(program)?;
    let interpreter = Interpreter::new(model, &types, semantics, program)?;
    Ok(Graph::build(&interpreter, program, limit)?.map(|graph| graph.stuck()))
}

/// The result of a naive check of progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaiveProgress {
    /// The operations within which a process can be when no process can take a step.
    pub stuck: BTreeSet<OpId>,
    /// No process can come to wait within an operation for ever, whatever the others do.
    pub deadlock_free: bool,
    /// No process waits within an operation in any state, and none runs for ever without some
    /// operation returning.
    pub lock_free: bool,
    /// By operation: whether every call returns under any scheduling.
    pub responds: Vec<bool>,
    /// By operation: whether every call returns if each process that can always move eventually
    /// does.
    pub responds_fairly: Vec<bool>,
}

/// The graph of all states.
struct Graph {
    /// By state: by process, the operation that it is within, and whether it can move.
    states: Vec<Vec<(Option<OpId>, bool)>>,
    edges: Vec<Edge>,
    /// By state: the edges that leave it, and those that lead to it.
    leaving: Vec<Vec<usize>>,
    arriving: Vec<Vec<usize>>,
}

/// Whether no process can move.
fn is_stuck(state: &[(Option<OpId>, bool)]) -> bool {
    state.iter().all(|(_, moves)| !moves)
}

struct Edge {
    from: usize,
    to: usize,
    process: usize,
    returns: bool,
}

/// Decides progress from the definitions, on the graph of all states.
pub fn progress_naively(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    limit: usize,
) -> Result<Option<NaiveProgress>, String> {
    let types = model.types(program)?;
    let interpreter = Interpreter::new(model, &types, semantics, program)?;
    let Some(graph) = Graph::build(&interpreter, program, limit)? else { return Ok(None) };
    let all = 0..graph.states.len();
    let every: HashSet<usize> = all.clone().collect();
    let blocked = graph.states.iter().flatten().any(|(within, moves)| within.is_some() && !moves);
    let round = graph.cycles(&every, &|edge| !edge.returns).next().is_some();
    let responds = |operation: OpId, fairly: bool| {
        (0..program.processes()).all(|process| {
            let inside: HashSet<usize> =
                all.clone().filter(|s| graph.states[*s][process].0 == Some(operation)).collect();
            let stays = |edge: &Edge| edge.process != process || !edge.returns;
            let ends = inside.iter().any(|state| is_stuck(&graph.states[*state]));
            let mut cycles = graph.cycles(&inside, &stays);
            !ends && !cycles.any(|cycle| !fairly || graph.is_fair(&cycle, &stays))
        })
    };
    let operations = 0..program.operations.len();
    Ok(Some(NaiveProgress {
        stuck: graph.stuck(),
        deadlock_free: all.clone().all(|state| {
            (0..program.processes()).all(|process| {
                let within = graph.states[state][process].0.is_some();
                !within || graph.may_move(state, process)
            })
        }),
        lock_free: !blocked && !round,
        responds: operations.clone().map(|operation| responds(operation, false)).collect(),
        responds_fairly: operations.map(|operation| responds(operation, true)).collect(),
    }))
}

impl Graph {
    /// `None` if the limit is reached or the model makes an error.
    fn build(
        interpreter: &Interpreter,
        program: &Program,
        limit: usize,
    ) -> Result<Option<Graph>, String> {
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut open: Vec<Configuration> = vec![interpreter.initial()?];
        numbers.insert(open[0].name(), 0);
        let (states, edges, leaving, arriving) = (vec![], vec![], vec![], vec![]);
        let mut graph = Graph { states, edges, leaving, arriving };
        let mut next = 0;
        while next < open.len() {
            let from = open[next].clone();
            let mut state = Vec::new();
            for (process, about) in from.processes.iter().enumerate() {
                let (taken, faults) = interpreter.steps(&from, process);
                if !faults.is_empty() || numbers.len() > limit {
                    return Ok(None);
                }
                let within = about.running.as_ref().map(|r| program.calls[r.call].operation);
                state.push((within, !taken.is_empty()));
                for Taken { to, seen, .. } in taken {
                    let fresh = open.len();
                    let number = *numbers.entry(to.name()).or_insert(fresh);
                    if number == fresh {
                        open.push(to);
                    }
                    let returns = seen.iter().any(|s| matches!(s, Seen::Return(..)));
                    graph.edges.push(Edge { from: next, to: number, process, returns });
                }
            }
            graph.states.push(state);
            next += 1;
        }
        graph.leaving = vec![Vec::new(); graph.states.len()];
        graph.arriving = vec![Vec::new(); graph.states.len()];
        for (number, edge) in graph.edges.iter().enumerate() {
            graph.leaving[edge.from].push(number);
            graph.arriving[edge.to].push(number);
        }
        Ok(Some(graph))
    }

    /// The operations within which a process is when no process can move.
    fn stuck(&self) -> BTreeSet<OpId> {
        let states = self.states.iter().filter(|state| is_stuck(state));
        states.flatten().filter_map(|(within, _)| *within).collect()
    }

    /// Whether the process can take a step here, or in a state to which the others can lead.
    fn may_move(&self, state: usize, process: usize) -> bool {
        let mut later = self.reached(state, true, &|_| true);
        later.insert(state);
        later.into_iter().any(|later| self.states[later][process].1)
    }

    fn reached(
        &self,
        from: usize,
        forward: bool,
        counts: &dyn Fn(&Edge) -> bool,
    ) -> HashSet<usize> {
        let mut reached = HashSet::new();
        let mut open = vec![from];
        while let Some(state) = open.pop() {
            let edges = if forward { &self.leaving[state] } else { &self.arriving[state] };
            for edge in edges.iter().map(|edge| &self.edges[*edge]).filter(|edge| counts(edge)) {
                let next = if forward { edge.to } else { edge.from };
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached
    }

    /// The states that can go round among those given, in groups that reach each other.
    fn cycles<'a>(
        &'a self,
        among: &'a HashSet<usize>,
        counts: &'a dyn Fn(&Edge) -> bool,
    ) -> impl Iterator<Item = HashSet<usize>> + 'a {
        let mut seen: HashSet<usize> = HashSet::new();
        let counts = move |edge: &Edge| {
            among.contains(&edge.from) && among.contains(&edge.to) && counts(edge)
        };
        (0..self.states.len()).filter(|state| among.contains(state)).filter_map(move |state| {
            if seen.contains(&state) {
                return None;
            }
            let forward = self.reached(state, true, &counts);
            if !forward.contains(&state) {
                return None;
            }
            let group: HashSet<usize> =
                forward.intersection(&self.reached(state, false, &counts)).copied().collect();
            seen.extend(&group);
            Some(group)
        })
    }

    /// Whether every process moves in the group, or cannot somewhere.
    fn is_fair(&self, group: &HashSet<usize>, counts: &dyn Fn(&Edge) -> bool) -> bool {
        let processes = self.states[0].len();
        (0..processes).all(|process| {
            let rests = group.iter().any(|state| !self.states[*state][process].1);
            let moves = self.edges.iter().any(|edge| {
                edge.process == process
                    && group.contains(&edge.from)
                    && group.contains(&edge.to)
                    && counts(edge)
            });
            rests || moves
        })
    }
}
