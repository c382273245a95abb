//! The whole graph of a small program: every state with the steps that leave it, for a drawing.
//!
//! Nothing is reduced: a state is what every variable and every process holds, with the states of
//! the specification that explain what was seen. So the graph has as many states and steps as a
//! search without symmetry, partial order reduction, antichains and points. A step that nothing
//! explains, or that the model must not take, leads to a state from which nothing is explored.
//!
//! Breadth first: states are numbered by their distance from the first one. Cost: linear in the
//! steps.

use std::sync::{Arc, Mutex};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trueline::Budget;
use trueline::budget::Exhausted;

use super::canonical::Symmetry;
use super::layout::{Frame, Layout, PC};
use super::scratch::Scratch;
use super::spec_sets::{Cache, EMPTY, SpecSets};
use super::step::{Machine, Outcome};
use super::trace::{Event, TraceStep, written};
use crate::program::{Points, Program, Variable};

/// The graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The first one is the initial state.
    pub states: Vec<State>,
    /// In the order of the states that they leave.
    pub moves: Vec<Move>,
}

/// Names and values.
pub type Values = Vec<(String, String)>;

/// A state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// How many steps it takes to come here.
    pub depth: usize,
    /// Shared variables, and nodes that something refers to: names and values.
    pub shared: Values,
    /// By process: where it stands, and its variables. The place is `None` where it is idle.
    pub processes: Vec<(Option<usize>, Values)>,
    /// The states of the specification that explain what was seen.
    pub explained_by: Vec<String>,
    /// What is wrong here.
    pub wrong: Option<String>,
}

/// A step of one process.
#[derive(Clone, Debug)]
pub struct Move {
    /// The state that it leaves.
    pub from: usize,
    /// The state that it leads to.
    pub to: usize,
    /// Who, what was seen, and which choices were taken.
    pub step: TraceStep,
}

/// Why there is no graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoGraph {
    /// It has more states than this.
    TooLarge(usize),
    /// The program has no first state.
    Setup(String),
    /// The budget is spent.
    Spent(Exhausted),
}

/// Explores a program that has at most so many states.
pub fn graph(program: &Arc<Program>, most: usize, budget: &Budget) -> Result<Graph, NoGraph> {
    let machine = Machine::new(program.clone(), Points::None);
    let sets = Mutex::new(SpecSets::new(program.clone(), Points::None));
    let mut search = Search {
        machine: &machine,
        cache: Cache::new(&sets),
        settle: Symmetry::new(&machine, false),
        numbers: HashMap::default(),
        frames: Vec::new(),
        graph: Graph::default(),
    };
    let initial = machine.initial().map_err(|outcome| NoGraph::Setup(format!("{outcome:?}")))?;
    let set = search.cache.lock().initial();
    search.number_of(initial, set, 0);
    let mut at = 0;
    while at < search.frames.len() {
        budget.spend(0).map_err(NoGraph::Spent)?;
        search.expand(at);
        if search.graph.states.len() > most {
            return Err(NoGraph::TooLarge(most));
        }
        at += 1;
    }
    Ok(search.graph)
}

impl Graph {
    /// The moves that these steps are, from the first state on; `None` where they leave the graph.
    pub fn path(&self, steps: &[TraceStep]) -> Option<Vec<usize>> {
        let mut at = 0;
        let mut path = Vec::new();
        for step in steps {
            let is_it = |m: &Move| {
                let theirs = &m.step;
                m.from == at && theirs.process == step.process && theirs.choices == step.choices
            };
            let found = self.moves.iter().position(is_it)?;
            at = self.moves[found].to;
            path.push(found);
        }
        Some(path)
    }
}

struct Search<'m> {
    machine: &'m Machine,
    cache: Cache<'m>,
    settle: Symmetry<'m>,
    numbers: HashMap<(Frame, u32), usize, FixedState>,
    /// The states as frames; `None` where nothing is explored. As many as the graph has states.
    frames: Vec<Option<(Frame, u32)>>,
    graph: Graph,
}

impl Search<'_> {
    /// The number of a state, which may be new.
    fn number_of(&mut self, mut frame: Frame, set: u32, depth: usize) -> usize {
        self.settle.canonical(&mut frame, 0, &mut self.cache);
        if let Some(&known) = self.numbers.get(&(frame.clone(), set)) {
            return known;
        }
        let number = self.graph.states.len();
        let mut state = show(self.machine, &frame);
        state.depth = depth;
        state.explained_by = self.cache.lock().show(set);
        state.wrong = (set == EMPTY).then(|| "nothing explains the last step".to_string());
        self.graph.states.push(state);
        self.numbers.insert((frame.clone(), set), number);
        self.frames.push((set != EMPTY).then_some((frame, set)));
        number
    }

    /// A state that is wrong in itself.
    fn failed(&mut self, frame: &[i32], message: String, depth: usize) -> usize {
        let wrong = Some(message);
        let state = State { depth, wrong, ..show(self.machine, frame) };
        let known = self.graph.states.iter().position(|other| {
            other.wrong == state.wrong
                && other.shared == state.shared
                && other.processes == state.processes
        });
        known.unwrap_or_else(|| {
            self.graph.states.push(state);
            self.frames.push(None);
            self.graph.states.len() - 1
        })
    }

    fn expand(&mut self, from: usize) {
        let Some((frame, set)) = self.frames[from].clone() else { return };
        let machine = self.machine;
        let depth = self.graph.states[from].depth + 1;
        let before = self.graph.moves.len();
        let mut scratch = Scratch::default();
        for process in 0..machine.layout.processes {
            machine.begin(&mut scratch, false);
            loop {
                let outcome = machine.step(&frame, process, &mut scratch);
                let to = match outcome {
                    Outcome::Blocked => None,
                    Outcome::Moved => {
                        let after = |set, &label| self.cache.after(set, label);
                        let next = scratch.labels.iter().fold(set, after);
                        Some(self.number_of(scratch.frame.clone(), next, depth))
                    }
                    Outcome::Fault(fault) => {
                        let message = format!("the model fails: {fault}");
                        Some(self.failed(&frame, message, depth))
                    }
                    Outcome::Full(pool) => {
                        let message = super::verify::full(&machine.program, pool);
                        Some(self.failed(&frame, message, depth))
                    }
                    Outcome::Changed(_) => unreachable!("nothing is taken to be constant"),
                };
                if let Some(to) = to {
                    let labels = scratch.labels.to_vec();
                    let step = written(machine, process, &frame, &scratch.frame, &labels);
                    let choices = scratch.choices.iter().map(|c| c.0).collect();
                    self.graph.moves.push(Move { from, to, step: TraceStep { choices, ..step } });
                }
                if !scratch.advance() {
                    break;
                }
            }
        }
        if self.graph.moves.len() == before && self.is_stuck(&frame, set) {
            let wrong = "deadlock: no process can take a step".to_string();
            self.graph.states[from].wrong = Some(wrong);
        }
    }

    /// Whether somebody waits here for ever, and the specification does not let it.
    fn is_stuck(&self, frame: &[i32], set: u32) -> bool {
        let machine = self.machine;
        let is_within = |p| machine.is_within(frame, p);
        machine.finds_deadlocks()
            && (0..machine.layout.processes).any(is_within)
            && !self.cache.lock().explains_waiting(set)
    }
}

/// A state in words.
fn show(machine: &Machine, frame: &[i32]) -> State {
    let (program, layout) = (&machine.program, &machine.layout);
    let mut shared = Vec::new();
    for (variable, &base) in program.shared.iter().zip(&layout.shared) {
        cells(variable, base, frame, &mut shared);
    }
    for (pool, node) in program.nodes.iter().enumerate() {
        for number in used(layout, frame, pool, machine) {
            for (field, variable) in node.fields.iter().enumerate() {
                let value = frame[layout.pools[pool].slot(number, field)];
                shared.push((format!("#{number}.{}", variable.name), variable.ty.show(value)));
            }
        }
    }
    let process = |p: usize| {
        let block = layout.block(p);
        let pc = frame[block + PC];
        let location = (pc > 0).then(|| pc as usize - 1);
        let mut own = Vec::new();
        for (variable, offset) in program.own.iter().zip(&layout.own) {
            cells(variable, block + offset, frame, &mut own);
        }
        if let Some(location) = location {
            let mut at = block + layout.locals;
            for variable in &program.operations[machine.of[location]].locals {
                cells(variable, at, frame, &mut own);
                at += variable.cells();
            }
        }
        (location, own)
    };
    let processes = (0..layout.processes).map(process).collect();
    State { shared, processes, ..State::default() }
}

/// The nodes of a pool that something in the state refers to.
fn used(layout: &Layout, frame: &[i32], pool: usize, machine: &Machine) -> Vec<i32> {
    let mut slots: Vec<usize> = Vec::new();
    let here = |pointers: &[(usize, usize)], base: usize, slots: &mut Vec<usize>| {
        let own = pointers.iter().filter(|(_, node)| *node == pool);
        slots.extend(own.map(|(slot, _)| base + slot));
    };
    here(&layout.shared_references.pointers, 0, &mut slots);
    for process in 0..layout.processes {
        let block = layout.block(process);
        here(&layout.own_references.pointers, block, &mut slots);
        let pc = frame[block + PC];
        if pc > 0 {
            let operation = machine.of[pc as usize - 1];
            here(&layout.local_references[operation].pointers, block, &mut slots);
        }
    }
    for other in &layout.pools {
        for number in 1..=other.capacity as i32 {
            here(&other.references.pointers, other.slot(number, 0), &mut slots);
        }
    }
    let mut nodes: Vec<i32> = slots.into_iter().map(|slot| frame[slot]).collect();
    nodes.retain(|node| *node > 0);
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The cells of a variable: `B[2]`, `3`.
fn cells(variable: &Variable, base: usize, frame: &[i32], shown: &mut Values) {
    for cell in 0..variable.cells() {
        shown.push((variable.cell_name(cell), variable.ty.show(frame[base + cell])));
    }
}

impl Move {
    /// What was seen: calls and returns in words.
    pub fn events(&self, program: &Program, from: &State) -> Vec<String> {
        let process = self.step.process;
        let mut operation = from.processes[process].0.map(|l| program.locations[l].operation);
        let mut shown = Vec::new();
        for event in &self.step.events {
            match event {
                Event::Call(call) => {
                    operation = Some(program.calls[*call].operation);
                    shown.push(program.show_call(*call));
                }
                Event::Return(results) => {
                    let results = program.show_results(operation.unwrap_or_default(), results);
                    shown.push(format!("-> {results}"));
                }
                Event::Lin => {}
            }
        }
        shown
    }
}
