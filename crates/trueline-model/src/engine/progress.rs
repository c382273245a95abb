//! Progress: deadlock, lock-freedom, and response, on the graph of the implementation alone.
//!
//! The graph is built without partial order reduction, which would remove exactly the internal
//! loops that matter here, and without antichains. With symmetry (one state per orbit of processes)
//! it can only prove freedom from deadlock and lock-freedom. If one of these fails, and under
//! fairness, which concerns single processes, the full graph is used.
//!
//! - *Deadlock*: a process is within an operation and can never take a step again, whatever the
//!   others do. Some processes may be deadlocked while others run for ever, so a deadlocked state
//!   need not be one without any step.
//! - *Lock-freedom* fails if a cycle of steps has no return: some process runs for ever and none
//!   completes. It also fails if a process within an operation cannot take a step: if all others
//!   stop there for ever, no process completes any more. So code that waits for a lock is not
//!   lock-free.
//! - *Response* to an operation fails if a process can stay within it for ever: in a deadlock, or
//!   on a cycle on which it stays; under weak fairness, only on a cycle on which every process
//!   either moves or is disabled in some state.
//!
//! Cycles are found as strongly connected components (Tarjan 1972, without recursion). Cost: linear
//! in the number of transitions.

use std::collections::VecDeque;
use std::sync::Arc;

use trueline::Budget;

use crate::program::{OpId, Points, Program};

use super::canonical::Symmetry;
use super::label::{Label, LabelKind, results_of};
use super::layout::{Frame, PC};
use super::scratch::Scratch;
use super::spec_sets::{Cache, SpecSets};
use super::step::{Machine, Outcome};
use super::table::Shard;
use super::trace::{TraceStep, written};

/// A progress property.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Property {
    /// A process within an operation can move now, or after some steps of others.
    DeadlockFree,
    /// Whichever processes stop for ever, the others complete operations: infinitely many steps
    /// imply infinitely many returns, and no process within an operation has to wait.
    LockFree,
    /// A process that calls the operation returns from it, with one of these results if they are
    /// given.
    Response {
        /// Which operation.
        operation: OpId,
        /// Which results; a return with another one is a failure.
        results: Option<Vec<Vec<i32>>>,
        /// Every process that can always move does so at last.
        weakly_fair: bool,
    },
}

/// The result for a property.
#[derive(Clone, Debug)]
pub enum Progress {
    /// It holds.
    Holds,
    /// It does not: the run that shows it.
    Fails(Lasso),
    /// Not decided.
    Unknown(String),
}

/// A run: a prefix and then a cycle for ever; no cycle if no process can move.
#[derive(Clone, Debug, Default)]
pub struct Lasso {
    /// From the initial state.
    pub stem: Vec<TraceStep>,
    /// Repeats for ever.
    pub cycle: Vec<TraceStep>,
    /// The process that can only wait at the end, if that is the fault although others may
    /// continue.
    pub waits: Option<usize>,
    /// That process can never move again, whatever the others do.
    pub for_ever: bool,
}

/// The result of a progress check, and its cost.
#[derive(Clone, Debug)]
pub struct ProgressReport {
    /// What was found.
    pub progress: Progress,
    /// States of the implementation.
    pub states: u64,
    /// Its transitions.
    pub transitions: u64,
}

/// Decides a progress property.
pub fn progress(program: &Arc<Program>, property: &Property, budget: &Budget) -> ProgressReport {
    let machine = Machine::new(program.clone(), Points::None);
    let symmetric = !matches!(property, Property::Response { .. });
    let symmetric = symmetric && !machine.layout.symmetric.is_empty();
    let mut report = decide(&machine, property, symmetric, budget);
    if symmetric && matches!(report.progress, Progress::Fails(_)) {
        report = decide(&machine, property, false, budget);
    }
    report
}

fn decide(
    machine: &Machine,
    property: &Property,
    symmetry: bool,
    budget: &Budget,
) -> ProgressReport {
    let graph = match Graph::build(machine, symmetry, budget) {
        Ok(graph) => graph,
        Err(reason) => {
            let progress = Progress::Unknown(reason);
            return ProgressReport { progress, states: 0, transitions: 0 };
        }
    };
    let found = match property {
        // Between the states of orbits the identity of processes is lost. There, a process that
        // waits in some state is reason enough to check the full graph.
        Property::DeadlockFree if symmetry => graph.waiting().map(|state| (state, vec![])),
        Property::DeadlockFree => {
            let everybody = graph.deadlock(|_| true);
            let somebody = || graph.stuck_for_ever().map(|(state, _)| state);
            everybody.or_else(somebody).map(|state| (state, vec![]))
        }
        Property::LockFree => {
            let waits = graph.waiting().map(|state| (state, vec![]));
            waits.or_else(|| graph.cycle(&|_| true, &|e| e.returns.is_none(), None))
        }
        Property::Response { operation, results, weakly_fair } => {
            graph.no_response(*operation, results.as_deref(), *weakly_fair)
        }
    };
    let progress = match found {
        None => Progress::Holds,
        Some((state, cycle)) => {
            let stem = graph.way(0, &|s| s == state, &|_, _| true).unwrap_or_default();
            // The names of an orbit are not a run: the full graph provides one.
            let write = |path: &[(usize, usize)]| {
                if symmetry { vec![] } else { graph.write_down(path) }
            };
            let waits = match property {
                Property::LockFree if cycle.is_empty() => graph.who_waits(state),
                Property::DeadlockFree if !symmetry && !graph.leaving(state).is_empty() => {
                    graph.stuck_for_ever().map(|(_, process)| process)
                }
                _ => None,
            };
            let for_ever = matches!(property, Property::DeadlockFree);
            Progress::Fails(Lasso { stem: write(&stem), cycle: write(&cycle), waits, for_ever })
        }
    };
    ProgressReport {
        progress,
        states: graph.states.len() as u64,
        transitions: graph.edges.len() as u64,
    }
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    process: u8,
    /// Operation and result's number.
    returns: Option<(u16, u32)>,
}

struct Graph<'m> {
    machine: &'m Machine,
    states: Shard,
    /// The index of each state's first edge.
    first: Vec<usize>,
    edges: Vec<Edge>,
}

/// A state and the number of an edge that leaves it.
type Path = Vec<(usize, usize)>;

impl<'m> Graph<'m> {
    fn build(machine: &'m Machine, symmetry: bool, budget: &Budget) -> Result<Graph<'m>, String> {
        let words = machine.layout.words;
        let sets = std::sync::Mutex::new(SpecSets::new(machine.program.clone(), Points::None));
        let mut cache = Cache::new(&sets);
        let mut canonical = Symmetry::new(machine, symmetry);
        let mut states = Shard::new(words, false);
        let mut record = vec![0; words];
        let mut scratch = Scratch::default();
        let mut frame =
            machine.initial().map_err(|outcome| format!("the setup fails: {outcome:?}"))?;
        canonical.canonical(&mut frame, 0, &mut cache);
        machine.layout.pack(&frame, &mut record);
        states.find_or_insert(&record);
        let (mut first, mut edges) = (vec![0], Vec::new());
        let mut next = 0;
        while next < states.len() {
            if next % 1024 == 0 {
                budget.spend(1024).map_err(|spent| spent.to_string())?;
            }
            machine.layout.unpack(states.get(next), &mut frame);
            for process in 0..machine.layout.processes {
                machine.begin(&mut scratch, false);
                loop {
                    match machine.step(&frame, process, &mut scratch) {
                        Outcome::Moved => {
                            canonical.canonical(&mut scratch.frame, 0, &mut cache);
                            machine.layout.pack(&scratch.frame, &mut record);
                            let to = states.find_or_insert(&record) as u32;
                            let returns = scratch.labels.iter().find_map(|l| match l.what {
                                LabelKind::Return(operation, number) => Some((operation, number)),
                                _ => None,
                            });
                            edges.push(Edge { to, process: process as u8, returns });
                        }
                        Outcome::Blocked => {}
                        Outcome::Fault(message) => {
                            return Err(format!("the model fails: {message}"));
                        }
                        Outcome::Full(pool) => {
                            return Err(super::verify::full(&machine.program, pool));
                        }
                        Outcome::Changed(_) => unreachable!("nothing is taken to be constant"),
                    }
                    if !scratch.advance() {
                        break;
                    }
                }
            }
            first.push(edges.len());
            next += 1;
        }
        Ok(Graph { machine, states, first, edges })
    }

    fn frame(&self, state: usize) -> Frame {
        let mut frame = vec![0; self.machine.layout.slots];
        self.machine.layout.unpack(self.states.get(state), &mut frame);
        frame
    }

    fn leaving(&self, state: usize) -> std::ops::Range<usize> {
        self.first[state]..self.first[state + 1]
    }

    /// The operation that a process is within.
    fn within(&self, frame: &[i32], process: usize) -> Option<OpId> {
        let pc = frame[self.machine.layout.block(process) + PC];
        (pc > 0).then(|| self.machine.of[pc as usize - 1])
    }

    /// A state without steps in which a process is within an operation.
    fn deadlock(&self, counts: impl Fn(&Frame) -> bool) -> Option<usize> {
        (0..self.states.len()).find(|&s| {
            self.leaving(s).is_empty() && {
                let frame = self.frame(s);
                let processes = 0..self.machine.layout.processes;
                processes.into_iter().any(|p| self.within(&frame, p).is_some()) && counts(&frame)
            }
        })
    }

    /// The first state in which some process is within an operation and can never take a step
    /// again, whatever the others do.
    fn stuck_for_ever(&self) -> Option<(usize, usize)> {
        let mut arriving: Vec<Vec<u32>> = vec![Vec::new(); self.states.len()];
        for state in 0..self.states.len() {
            for edge in self.leaving(state) {
                arriving[self.edges[edge].to as usize].push(state as u32);
            }
        }
        let first_for = |process: usize| {
            // The states from which the process can come to a step of its own.
            let moves = |state: usize| {
                self.leaving(state).any(|e| usize::from(self.edges[e].process) == process)
            };
            let mut able: Vec<bool> = (0..self.states.len()).map(moves).collect();
            let mut open: Vec<usize> = (0..able.len()).filter(|&state| able[state]).collect();
            while let Some(state) = open.pop() {
                for &before in &arriving[state] {
                    if !std::mem::replace(&mut able[before as usize], true) {
                        open.push(before as usize);
                    }
                }
            }
            let is_stuck =
                |&state: &usize| !able[state] && self.within(&self.frame(state), process).is_some();
            (0..able.len()).find(is_stuck).map(|state| (state, process))
        };
        (0..self.machine.layout.processes).filter_map(first_for).min()
    }

    /// A state in which a process is within an operation and cannot take a step.
    fn waiting(&self) -> Option<usize> {
        (0..self.states.len()).find(|&state| self.who_waits(state).is_some())
    }

    /// The first process that is within an operation in this state and cannot take a step.
    fn who_waits(&self, state: usize) -> Option<usize> {
        let frame = self.frame(state);
        (0..self.machine.layout.processes).find(|&process| {
            let moves = |e: usize| usize::from(self.edges[e].process) == process;
            self.within(&frame, process).is_some() && !self.leaving(state).any(moves)
        })
    }

    fn no_response(
        &self,
        operation: OpId,
        results: Option<&[Vec<i32>]>,
        weakly_fair: bool,
    ) -> Option<(usize, Path)> {
        if let Some(results) = results {
            let types = &self.machine.program.operations[operation].results;
            let wrong = |e: &Edge| {
                e.returns.is_some_and(|(o, number)| {
                    usize::from(o) == operation && !results.contains(&results_of(types, number))
                })
            };
            if let Some(edge) = self.edges.iter().position(wrong) {
                return Some((self.edges[edge].to as usize, vec![]));
            }
        }
        for p in 0..self.machine.layout.processes {
            let inside: Vec<bool> = (0..self.states.len())
                .map(|s| self.within(&self.frame(s), p) == Some(operation))
                .collect();
            if let Some(s) = self.deadlock(|frame| self.within(frame, p) == Some(operation)) {
                return Some((s, vec![]));
            }
            let stays = |e: &Edge| usize::from(e.process) != p || e.returns.is_none();
            let fair = weakly_fair.then_some(());
            if let Some(found) = self.cycle(&|s| inside[s], &stays, fair) {
                return Some(found);
            }
        }
        None
    }

    /// A state on a cycle of the included states and edges, and the cycle. With fairness, the cycle
    /// is fair to every process.
    fn cycle(
        &self,
        state: &dyn Fn(usize) -> bool,
        edge: &dyn Fn(&Edge) -> bool,
        fair: Option<()>,
    ) -> Option<(usize, Path)> {
        let component = self.components(state, edge);
        let inner = |s: usize, e: usize| {
            let to = self.edges[e].to as usize;
            edge(&self.edges[e]) && component[to] == component[s] && component[s] != NONE
        };
        let count = component.iter().filter(|c| **c != NONE).max().map_or(0, |c| *c as usize + 1);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (s, c) in component.iter().enumerate() {
            if *c != NONE {
                members[*c as usize].push(s as u32);
            }
        }
        for group in members {
            let within = |s: u32| self.leaving(s as usize).filter(move |&e| inner(s as usize, e));
            let Some((start, _)) =
                group.iter().find_map(|&s| within(s).next().map(|e| (s as usize, e)))
            else {
                continue;
            };
            // What the cycle must contain: a step of each process, or a state where the process
            // cannot move.
            let mut demands: Vec<Demand> = Vec::new();
            if fair.is_some() {
                for q in 0..self.machine.layout.processes {
                    let moves = group
                        .iter()
                        .flat_map(|&s| within(s).map(move |e| (s as usize, e)))
                        .find(|(_, e)| usize::from(self.edges[*e].process) == q);
                    let able =
                        |s: usize| self.leaving(s).any(|e| usize::from(self.edges[e].process) == q);
                    let stuck = group.iter().map(|&s| s as usize).find(|&s| !able(s));
                    match (stuck, moves) {
                        (Some(s), _) => demands.push(Demand::State(s)),
                        (None, Some((s, e))) => demands.push(Demand::Edge(s, e)),
                        (None, None) => {
                            demands.clear();
                            demands.push(Demand::Never);
                            break;
                        }
                    }
                }
            }
            if demands.contains(&Demand::Never) {
                continue;
            }
            let mut path = Path::new();
            let mut at = start;
            let go = |to: usize, at: &mut usize, path: &mut Path| {
                path.extend(self.way(*at, &|s| s == to, &inner).unwrap_or_default());
                *at = to;
            };
            for demand in demands {
                match demand {
                    Demand::State(s) => go(s, &mut at, &mut path),
                    Demand::Edge(s, e) => {
                        go(s, &mut at, &mut path);
                        path.push((s, e));
                        at = self.edges[e].to as usize;
                    }
                    Demand::Never => {}
                }
            }
            if path.is_empty()
                && let Some(e) = within(start as u32).next()
            {
                path.push((start, e));
                at = self.edges[e].to as usize;
            }
            go(start, &mut at, &mut path);
            return Some((start, path));
        }
        None
    }

    /// The shortest way from a state to one that is wanted, along edges that count.
    fn way(
        &self,
        from: usize,
        wanted: &dyn Fn(usize) -> bool,
        counts: &dyn Fn(usize, usize) -> bool,
    ) -> Option<Path> {
        let mut came: Vec<(u32, u32)> = vec![(NONE, 0); self.states.len()];
        came[from] = (from as u32, 0);
        let mut queue = VecDeque::from([from]);
        while let Some(s) = queue.pop_front() {
            if wanted(s) {
                let mut path = Path::new();
                let mut at = s;
                while at != from {
                    let (before, edge) = came[at];
                    path.push((before as usize, edge as usize));
                    at = before as usize;
                }
                path.reverse();
                return Some(path);
            }
            for e in self.leaving(s) {
                let to = self.edges[e].to as usize;
                if came[to].0 == NONE && counts(s, e) {
                    came[to] = (s as u32, e as u32);
                    queue.push_back(to);
                }
            }
        }
        None
    }

    /// The strongly connected component of each state that counts.
    fn components(&self, state: &dyn Fn(usize) -> bool, edge: &dyn Fn(&Edge) -> bool) -> Vec<u32> {
        let n = self.states.len();
        let (mut index, mut low) = (vec![NONE; n], vec![0u32; n]);
        let mut component = vec![NONE; n];
        let (mut open, mut calls): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
        let (mut clock, mut found) = (0, 0);
        for root in (0..n).filter(|&s| state(s)) {
            if index[root] != NONE {
                continue;
            }
            calls.push((root as u32, self.first[root]));
            while let Some((s, e)) = calls.pop() {
                let at = s as usize;
                if index[at] == NONE {
                    index[at] = clock;
                    low[at] = clock;
                    clock += 1;
                    open.push(s);
                }
                let mut e = e;
                let mut called = false;
                while e < self.first[at + 1] {
                    let to = self.edges[e].to as usize;
                    if edge(&self.edges[e]) && state(to) {
                        if index[to] == NONE {
                            calls.push((s, e));
                            calls.push((to as u32, self.first[to]));
                            called = true;
                            break;
                        }
                        if component[to] == NONE {
                            low[at] = low[at].min(low[to]);
                        }
                    }
                    e += 1;
                }
                if called {
                    continue;
                }
                if low[at] == index[at] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = found;
                        if member == s {
                            break;
                        }
                    }
                    found += 1;
                }
            }
        }
        component
    }

    /// A path in the full graph as steps.
    fn write_down(&self, path: &[(usize, usize)]) -> Vec<TraceStep> {
        let mut scratch = Scratch::default();
        let mut steps = Vec::new();
        for &(s, e) in path {
            let edge = self.edges[e];
            let (before, after) = (self.frame(s), self.frame(edge.to as usize));
            let process = usize::from(edge.process);
            self.machine.begin(&mut scratch, false);
            loop {
                if self.machine.step(&before, process, &mut scratch) == Outcome::Moved {
                    let raw = scratch.frame.clone();
                    self.machine.normalise(&mut scratch.frame, &mut Default::default());
                    if scratch.frame == after {
                        let labels: Vec<Label> = scratch.labels.to_vec();
                        let step = written(self.machine, process, &before, &raw, &labels);
                        let choices = scratch.choices.iter().map(|c| c.0).collect();
                        steps.push(TraceStep { choices, ..step });
                        break;
                    }
                }
                if !scratch.advance() {
                    break;
                }
            }
        }
        steps
    }
}

/// What a fair cycle must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    State(usize),
    Edge(usize, usize),
    Never,
}

const NONE: u32 = u32::MAX;
