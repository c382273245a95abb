//! Runs one step of one process on a frame.
//!
//! A process and its choices identify a transition, and a counterexample contains both: see
//! `scratch.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::program::{MOST_ROUNDS, Points, Program};

use super::code::{Act, Code, Compiled};
use super::constants::Constants;
use super::eval::outside;
use super::heap::{self, Walk};
use super::label::{Label, LabelKind, result_number};
use super::layout::{Frame, Layout, MADE, PC};
use super::scratch::Scratch;
use super::verify::Fault;

/// A program, compiled for running.
pub(crate) struct Machine {
    pub(crate) program: Arc<Program>,
    pub(crate) layout: Layout,
    pub(crate) code: Compiled,
    /// By process: its role.
    pub(crate) role: Vec<usize>,
    /// By location: its operation.
    pub(crate) of: Vec<usize>,
    call_numbers: BTreeMap<(usize, Vec<i32>), u16>,
    /// Whether marks are labels; else they are passed over.
    pub(crate) points: Points,
    /// Shared cells that never change, and the consequences.
    pub(crate) constants: Constants,
    /// The two processes whose changes matter, and the offset of the variable that records a
    /// change.
    changing: Option<([usize; 2], usize)>,
}

/// How a run of a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At a location, or with a return.
    Moved,
    /// A guard was false.
    Blocked,
    /// The model does something that it must not.
    Fault(Fault),
    /// No node is left in this pool.
    Full(usize),
    /// A shared cell was taken to be constant and is not.
    Changed(usize),
}

/// Why a run stops early.
pub(super) enum Stop {
    Blocked,
    /// The choices lead to a state that other choices have reached.
    Known,
    Fault(Box<Fault>),
    Full(u32),
    Changed(u32),
}

/// Behind a pointer, so that the result of an evaluation fits into registers.
pub(super) fn fault(message: impl Into<String>) -> Stop {
    Stop::Fault(Box::new(Fault { message: message.into(), leaves_range: false }))
}

/// Whether the statements ran to a terminator.
type Flow = Result<bool, Stop>;

/// Steps on constants that are taken at once. An endless loop of them is left to the search.
const MOST_PASSED_OVER: usize = 1_000;

impl Machine {
    pub(crate) fn new(program: Arc<Program>, points: Points) -> Machine {
        let layout = Layout::new(&program);
        let code = Compiled::new(&program, &layout);
        let role = (0..program.processes()).map(|p| program.role_of(p)).collect();
        let of = program.locations.iter().map(|l| l.operation).collect();
        let numbers = program.calls.iter().enumerate();
        let call_numbers =
            numbers.map(|(i, c)| ((c.operation, c.args.clone()), i as u16)).collect();
        let constants = Constants::default();
        let changing = None;
        Machine { program, layout, code, role, of, call_numbers, points, constants, changing }
    }

    /// The same machine, which skips states in which neither of two processes has set its own
    /// variable or still can: all values are then the initial one, and stay so.
    pub(crate) fn with_changing(mut self, processes: [usize; 2], own: usize) -> Machine {
        self.changing = Some((processes, self.layout.own[own]));
        self
    }

    /// Whether nothing that is worth looking at can follow.
    pub(crate) fn is_idle(&self, frame: &[i32]) -> bool {
        let Some((processes, changed)) = self.changing else { return false };
        processes.iter().all(|&process| {
            let block = self.layout.block(process);
            let role = &self.program.roles[self.role[process]];
            let may_call = !role.calls.is_empty()
                && role.limit.is_none_or(|limit| frame[block + MADE] < limit as i32);
            frame[block + changed] == 0 && !may_call
        })
    }

    /// The same machine, for which these shared cells never change: a step that accesses nothing
    /// else is free.
    pub(crate) fn with_constants(mut self, cells: Vec<bool>) -> Machine {
        self.constants = Constants::new(&self.program, &self.layout, cells);
        self
    }

    pub(super) fn reads(&self, slot: usize, s: &mut Scratch) {
        let is_constant = self.constants.holds(slot);
        match &mut s.tried {
            Some((constants, others)) => *(if is_constant { constants } else { others }) = true,
            None if is_constant => {}
            None => s.note_read(slot),
        }
    }

    pub(super) fn writes(&self, slot: usize, s: &mut Scratch) {
        let is_constant = self.constants.holds(slot);
        match &mut s.tried {
            Some((constants, others)) => *(if is_constant { constants } else { others }) = true,
            None if is_constant => {}
            None => s.note_write(slot),
        }
    }

    /// Takes the next steps as long as they access only constants: no other process can observe or
    /// influence them.
    fn pass_over(&self, s: &mut Scratch) {
        for _ in 0..MOST_PASSED_OVER {
            let pc = s.frame[s.block + PC];
            if pc == 0 || !self.constants.may_pass(pc as usize - 1) {
                return;
            }
            let mut kept = std::mem::take(&mut s.kept);
            kept.clone_from(&s.frame);
            let (labels, choices, taken) = (s.labels.len(), s.choices.len(), s.taken);
            s.tried = Some((false, false));
            let flow = self.run(&self.code.bodies[pc as usize - 1], s);
            let tried = s.tried.take();
            let touches = if self.constants.passes_local { None } else { Some(true) };
            let alone = tried.is_some_and(|(constants, others)| {
                !others && touches.is_none_or(|wanted| constants == wanted)
            });
            let passed = matches!(flow, Ok(true)) && alone;
            if !passed || s.taken != taken {
                s.frame.clone_from(&kept);
                s.labels.truncate(labels);
                s.choices.truncate(choices);
                s.taken = taken;
                s.kept = kept;
                return;
            }
            s.kept = kept;
            s.passed += 1;
        }
    }

    /// The initial frame, normalised.
    pub(crate) fn initial(&self) -> Result<Frame, Ended> {
        let mut scratch = Scratch { frame: self.layout.first.clone(), ..Scratch::default() };
        scratch.frame.extend_from_slice(&self.code.setup_locals);
        scratch.block = self.layout.block(0);
        scratch.made_in_setup = Some(vec![0; self.layout.pools.len()]);
        match self.run(&self.code.setup, &mut scratch) {
            Ok(_) => {}
            Err(Stop::Full(pool)) => return Err(Ended::Full(pool as usize)),
            Err(Stop::Fault(fault)) => return Err(Ended::Fault(*fault)),
            Err(Stop::Blocked | Stop::Known | Stop::Changed(_)) => {
                return Err(Ended::Fault("the setup waits for ever".into()));
            }
        }
        let mut frame = scratch.frame;
        frame.truncate(self.layout.slots);
        self.normalise(&mut frame, &mut scratch.walk);
        Ok(frame)
    }

    pub(crate) fn normalise(&self, frame: &mut [i32], walk: &mut Walk) {
        heap::normalise(&self.layout, &self.of, frame, walk);
    }

    /// Words of the sets of bits in an [`Access`].
    pub(crate) fn access_words(&self) -> usize {
        (self.layout.public + 1).div_ceil(64)
    }

    /// Whether the process has ended: idle, with no calls left.
    pub(crate) fn ended(&self, frame: &[i32], process: usize) -> bool {
        let block = self.layout.block(process);
        let role = &self.program.roles[self.role[process]];
        frame[block + PC] == 0
            && (role.calls.is_empty()
                || role.limit.is_some_and(|limit| frame[block + MADE] >= limit as i32))
    }

    /// The beginning of a round of a loop within a step, which has chosen since `before`. Choices
    /// that lead to a state that others have reached are not followed; a loop that returns to a
    /// state without a choice is endless.
    fn round(&self, body: &[Act], before: usize, s: &mut Scratch) -> Result<(), Stop> {
        if s.taken == before || s.taken < s.given {
            return Ok(());
        }
        let round = (body.as_ptr() as usize, s.frame.clone(), s.labels.clone());
        match s.met.insert(round, (s.number, s.taken)) {
            None => Ok(()),
            Some(same) if same == (s.number, s.taken) => {
                Err(fault("a loop in one step does not end"))
            }
            Some(_) => Err(Stop::Known),
        }
    }

    /// Whether the process is within an operation.
    pub(crate) fn is_within(&self, frame: &[i32], process: usize) -> bool {
        frame[self.layout.block(process) + PC] > 0
    }

    /// Whether a deadlock is an error. The restriction to simple executions says nothing about the
    /// others.
    pub(crate) fn finds_deadlocks(&self) -> bool {
        self.changing.is_none()
    }

    /// Begins the enumeration of a process's steps. Call [`Machine::step`] until
    /// [`Scratch::advance`] returns false.
    pub(crate) fn begin(&self, scratch: &mut Scratch, recording: bool) {
        scratch.choices.clear();
        scratch.recording = recording;
        scratch.number = 0;
        scratch.ended = false;
        scratch.met.clear();
    }

    /// Takes the step that `scratch.choices` identifies, from a frame. The new frame is not
    /// normalised, so that nodes keep their names.
    pub(crate) fn step(&self, from: &[i32], process: usize, scratch: &mut Scratch) -> Ended {
        scratch.frame.clear();
        scratch.frame.extend_from_slice(from);
        scratch.labels.clear();
        scratch.taken = 0;
        scratch.given = scratch.choices.len();
        scratch.number += 1;
        scratch.passed = 0;
        scratch.process = process;
        scratch.block = self.layout.block(process);
        if scratch.recording {
            scratch.access.clear(self.access_words());
        }
        let block = scratch.block;
        let pc = from[block + PC];
        let flow = if pc == 0 {
            if self.ended(from, process) {
                return Ended::Blocked;
            }
            let role = &self.program.roles[self.role[process]];
            let call = role.calls[scratch.choose(role.calls.len())];
            let operation = self.program.calls[call].operation;
            scratch.operation = Some(operation);
            if role.limit.is_some() {
                scratch.frame[block + MADE] += 1;
            }
            let at = block + self.layout.locals;
            let locals = &self.code.first_locals[operation];
            scratch.frame[at..at + locals.len()].copy_from_slice(locals);
            let args = &self.program.calls[call].args;
            scratch.frame[at..at + args.len()].copy_from_slice(args);
            if self.points != Points::Labelled {
                let what = LabelKind::Call(call as u16);
                scratch.labels.push(Label { process: process as u8, what });
            }
            self.run(&self.code.entries[operation], scratch)
        } else {
            scratch.operation = Some(self.of[pc as usize - 1]);
            self.run(&self.code.bodies[pc as usize - 1], scratch)
        };
        if let (true, Ok(true)) = (self.constants.any(), &flow) {
            self.pass_over(scratch);
        }
        if matches!(flow, Err(Stop::Known)) {
            return match scratch.ended || !scratch.is_last() {
                true => Ended::Blocked,
                false => Ended::Fault("no choice ends a loop in one step".into()),
            };
        }
        scratch.ended = true;
        match flow {
            Ok(true) => Ended::Moved,
            Ok(false) => Ended::Fault("the step ends nowhere".into()),
            Err(Stop::Blocked | Stop::Known) => Ended::Blocked,
            Err(Stop::Fault(fault)) => Ended::Fault(*fault),
            Err(Stop::Full(pool)) => Ended::Full(pool as usize),
            Err(Stop::Changed(slot)) => Ended::Changed(slot as usize),
        }
    }

    fn run(&self, acts: &[Act], s: &mut Scratch) -> Flow {
        for act in acts {
            let ended = match act {
                Act::Set(target, value) => {
                    let value = self.eval(value, s)?;
                    self.write(target, value, s)?;
                    false
                }
                Act::If(test, yes, no) => {
                    let branch = if self.eval(test, s)? != 0 { yes } else { no };
                    self.run(branch, s)?
                }
                Act::While(test, body) => {
                    let mut rounds = 0;
                    let mut ended = false;
                    let before = s.taken;
                    while !ended && self.eval(test, s)? != 0 {
                        self.round(body, before, s)?;
                        ended = self.run(body, s)?;
                        rounds += 1;
                        if rounds > MOST_ROUNDS {
                            let message =
                                format!("a loop in one step exceeds {MOST_ROUNDS} rounds");
                            return Err(fault(message));
                        }
                    }
                    ended
                }
                Act::Choose(branches) => {
                    let branch = s.choose(branches.len());
                    self.run(&branches[branch], s)?
                }
                Act::Pick(target, lo, hi) => {
                    let (lo, hi) = (self.eval(lo, s)?, self.eval(hi, s)?);
                    if lo > hi {
                        return Err(fault(format!("there is no choice from {lo} to {hi}")));
                    }
                    let chosen = s.choose((hi - lo + 1) as usize);
                    self.write(target, lo + chosen as i32, s)?;
                    false
                }
                Act::New(target, node, fields) => {
                    let values: Result<SmallVec<[(usize, i32); 4]>, Stop> =
                        fields.iter().map(|(f, e)| Ok((*f, self.eval(e, s)?))).collect();
                    let new = self.allocate(*node, s)?;
                    for (field, value) in values? {
                        let slot = self.layout.pools[*node].slot(new, field);
                        let ty = &self.program.nodes[*node].fields[field];
                        if !ty.ty.contains(value) {
                            return Err(outside(&ty.name, value));
                        }
                        s.frame[slot] = value;
                    }
                    self.write(target, new, s)?;
                    false
                }
                Act::Free(node, pointer) => {
                    let pointer = self.eval(pointer, s)?;
                    if pointer <= 0 {
                        return Err(fault("null is freed"));
                    }
                    let pool = &self.layout.pools[*node];
                    let allocated = pool.slot(pointer, pool.fields);
                    s.note_write(allocated);
                    s.note_write(self.layout.public);
                    if s.frame[allocated] == 0 {
                        return Err(fault("a node is freed twice"));
                    }
                    s.frame[allocated] = 0;
                    false
                }
                Act::Await(test) => {
                    if self.eval(test, s)? == 0 {
                        return Err(Stop::Blocked);
                    }
                    false
                }
                Act::Assert(test, message) => {
                    if self.eval(test, s)? == 0 {
                        return Err(fault(message.as_str()));
                    }
                    false
                }
                Act::Lin(results) => {
                    self.mark(results.as_deref(), s)?;
                    false
                }
                Act::Goto(location) => {
                    let block = s.block;
                    s.frame[block + PC] = *location as i32 + 1;
                    for &(offset, value) in &self.code.clearings[*location] {
                        s.frame[block + offset] = value;
                    }
                    true
                }
                Act::Return(results) => {
                    let number = self.results(results, s)?;
                    let operation = s.operation.unwrap_or_default() as u16;
                    if self.points != Points::Labelled {
                        let what = LabelKind::Return(operation, number);
                        s.labels.push(Label { process: s.process as u8, what });
                    }
                    let end = s.block + self.layout.stride;
                    s.frame[s.block + PC] = 0;
                    s.frame[s.block + self.layout.locals..end].fill(0);
                    true
                }
            };
            if ended {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn mark(&self, results: Option<&[Code]>, s: &mut Scratch) -> Result<(), Stop> {
        let process = s.process as u8;
        let operation = s.operation.unwrap_or_default();
        match self.points {
            Points::None => {}
            Points::Marked => {
                let number = results.map(|r| self.results(r, s)).transpose()?;
                s.labels.push(Label { process, what: LabelKind::Lin(number) });
            }
            Points::Labelled => {
                let Some(results) = results else {
                    return Err(fault("a labelled point without results"));
                };
                let number = self.results(results, s)?;
                let at = s.block + self.layout.locals;
                let count = self.program.operations[operation].parameters;
                let args = s.frame[at..at + count].to_vec();
                let Some(&call) = self.call_numbers.get(&(operation, args)) else {
                    return Err(fault("an argument was changed before its point"));
                };
                s.labels.push(Label { process, what: LabelKind::Point(call, number) });
            }
        }
        Ok(())
    }

    fn results(&self, results: &[Code], s: &mut Scratch) -> Result<u32, Stop> {
        let operation = &self.program.operations[s.operation.unwrap_or_default()];
        let mut values: SmallVec<[i32; 4]> = SmallVec::new();
        for result in results {
            values.push(self.eval(result, s)?);
        }
        result_number(&operation.results, &values).ok_or_else(|| {
            let message = format!("{} returns {values:?}: not of its type", operation.name);
            Stop::Fault(Box::new(Fault { message, leaves_range: true }))
        })
    }

    fn allocate(&self, node: usize, s: &mut Scratch) -> Result<i32, Stop> {
        let pool = &self.layout.pools[node];
        s.walk.reach(&self.layout, &s.frame, &self.of, (s.process, s.operation));
        let nodes = 1..=pool.capacity as i32;
        let fresh = match &mut s.made_in_setup {
            // The setup's own locals refer to nodes too: it never takes one twice.
            Some(made) => {
                made[node] += 1;
                Some(made[node]).filter(|n| nodes.contains(n))
            }
            None => nodes.clone().find(|&n| !s.walk.reached(node, n)),
        };
        let chosen = if pool.freed {
            s.note_write(self.layout.public);
            let again = nodes
                .filter(|&n| s.walk.reached(node, n) && s.frame[pool.slot(n, pool.fields)] == 0);
            let open: SmallVec<[i32; 8]> = fresh.into_iter().chain(again).collect();
            match open.len() {
                0 => None,
                1 => Some(open[0]),
                many => Some(open[s.choose(many)]),
            }
        } else {
            fresh
        };
        let chosen = chosen.ok_or(Stop::Full(node as u32))?;
        let slot = pool.slot(chosen, 0);
        s.frame[slot..slot + pool.fields].copy_from_slice(&pool.first);
        if pool.freed {
            s.frame[slot + pool.fields] = 1;
            for field in 0..pool.stride {
                s.note_write(slot + field);
            }
        }
        Ok(chosen)
    }
}
