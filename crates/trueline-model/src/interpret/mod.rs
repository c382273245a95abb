//! An interpreter of models that shares no code with the engine: it replays counterexamples, and searches small models
//! naively.
//!
//! It walks the syntax tree (`walk`) on values that mean what they are (`value`). [`replay`] accepts a counterexample if the
//! model has a run with these processes taking these steps, showing these calls and returns and leaving
//! these values in the shared variables, and if then no order of the operations satisfies the specification, by trying them all.
//! Where a step leaves something open (which node an allocation reuses), all possibilities are followed.

mod history;
mod operators;
mod places;
mod value;
mod walk;

use std::collections::{BTreeSet, HashSet};

use crate::engine::{Counterexample, Event, Reason};
use crate::language::ast::{Block, Stmt, StmtKind};
use crate::language::types::{Ty, Types};
use crate::language::{Model, Semantics};
use crate::program::{Call, OpId, Points, Program};

use history::{History, Seen};
use value::Value;
use walk::{Flow, Rules, Stop, Walk, World, next_script};

/// More runs than this that all explain a trace are not followed.
const MOST_CONFIGURATIONS: usize = 5_000;

/// A state of the model, with what each process has done in its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Configuration {
    world: World,
    processes: Vec<Process>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Process {
    /// The call, and what its accesses and choices gave so far.
    running: Option<(usize, Vec<Value>)>,
    finished: u32,
}

/// What a step led to.
struct Taken {
    to: Configuration,
    seen: Vec<Seen>,
}

struct Interpreter<'m> {
    rules: Rules<'m>,
    program: &'m Program,
    /// Calls and returns are seen. In a trace that follows linearization points they are not.
    visible: bool,
    /// The types of each operation's arguments and of its result.
    signatures: Vec<(Vec<Ty>, Ty)>,
}

/// Says whether the counterexample is one; the error says where it is not a run of the model.
///
/// `program` must be what the model compiles to under this semantics: its calls and types give names to the trace's numbers.
pub fn replay(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    counterexample: &Counterexample,
) -> Result<(), String> {
    // To follow both what moves and what does not at every step takes long, and is seldom needed.
    let replay = |lenient| attempt(model, semantics, program, counterexample, lenient);
    replay(false).or_else(|_| replay(true))
}

/// Replays; `lenient`: a step of the engine that shows nothing may be none here.
fn attempt(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    counterexample: &Counterexample,
    lenient: bool,
) -> Result<(), String> {
    let types = model.types(program)?;
    let mut interpreter = Interpreter::new(model, &types, semantics, program)?;
    let calls = |event: &Event| matches!(event, Event::Call(_));
    interpreter.visible = counterexample.trace.steps.iter().any(|s| s.events.iter().any(calls));
    let mut configurations = vec![interpreter.initial()?];
    let mut history = History::default();
    let mut current = vec![0; program.processes()];
    let steps = &counterexample.trace.steps;
    // The process that is to fail, if one is, and whether it has failed here in the operation that it performs. What a process computes
    // from what it knows costs nothing here and is done at once, while the engine may do it together with the next access:
    // a fault is then seen here with the access before, and whatever others do in between cannot prevent it.
    let failing = match counterexample.reason {
        Reason::Fault(_) => steps.last().map(|step| step.process),
        Reason::NotLinearizable => None,
    };
    let mut failed_before = false;
    for (number, step) in steps.iter().enumerate() {
        let at = format!("step {} of {}, by P{}", number + 1, steps.len(), step.process);
        let last = number + 1 == steps.len();
        let mut next: Vec<Configuration> = Vec::new();
        let events = interpreter.events(&step.events, &mut current[step.process]);
        let mut faulty = false;
        for from in &configurations {
            let (taken, faults) = interpreter.steps(from, step.process);
            faulty |= !faults.is_empty();
            failed_before |= failing == Some(step.process) && faults.contains(&events);
            let matching = taken.into_iter().filter(|taken| taken.seen == events).map(|t| t.to);
            // A loop of local steps costs steps in the engine, and none here.
            let same = (lenient && events.is_empty()).then(|| from.clone());
            for to in matching.chain(same) {
                if interpreter.agrees(&to.world, &step.shared)
                    && !next.contains(&to)
                    && next.len() < MOST_CONFIGURATIONS
                {
                    next.push(to);
                }
            }
        }
        if last && failing.is_some() {
            return match faulty || failed_before {
                true => Ok(()),
                false => Err(format!("{at}: there is no fault")),
            };
        }
        if failing == Some(step.process) && events.iter().any(|e| matches!(e, Seen::Return(..))) {
            failed_before = false;
        }
        if next.is_empty() && failed_before {
            return Ok(());
        }
        if next.is_empty() {
            return Err(format!("{at}: the model does not take this step"));
        }
        for event in events {
            history.push(step.process, event);
        }
        configurations = next;
    }
    match interpreter.explained(&history) {
        true => Err("the operations have an order that the specification allows".to_string()),
        false => Ok(()),
    }
}

/// What a naive search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naive {
    /// Every history is one of the specification.
    Verified,
    /// One is not, or the model does what it must not.
    Violation,
    /// More than the limit.
    TooLarge,
}

/// Tries every run of a small model with a bounded number of operations, and every order for each history.
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
    let mut count = 0;
    while let Some((from, history)) = stack.pop() {
        // The text of a state is a slow but certain name for it.
        if !known.insert(format!("{from:?} {history:?}")) {
            continue;
        }
        count += 1;
        if count > limit {
            return Ok(Naive::TooLarge);
        }
        for process in 0..from.processes.len() {
            let (taken, faults) = interpreter.steps(&from, process);
            if !faults.is_empty() {
                return Ok(Naive::Violation);
            }
            for Taken { to, seen } in taken {
                let mut history = history.clone();
                let returns = seen.iter().any(|s| matches!(s, Seen::Return(..)));
                seen.into_iter().for_each(|event| history.push(process, event));
                if returns && !interpreter.explained(&history) {
                    return Ok(Naive::Violation);
                }
                stack.push((to, history));
            }
        }
    }
    Ok(Naive::Verified)
}

/// The operations that a process can be within where nobody can take a step any more, by trying every run; `None` where there are
/// more states than the limit, or the model does what it must not.
pub fn stuck_naively(
    model: &Model,
    semantics: Semantics,
    program: &Program,
    limit: usize,
) -> Result<Option<BTreeSet<OpId>>, String> {
    let types = model.types(program)?;
    let interpreter = Interpreter::new(model, &types, semantics, program)?;
    let mut stack = vec![interpreter.initial()?];
    let mut known: HashSet<String> = HashSet::new();
    let mut stuck = BTreeSet::new();
    while let Some(from) = stack.pop() {
        if !known.insert(format!("{from:?}")) {
            continue;
        }
        let open = stack.len();
        for process in 0..from.processes.len() {
            let (taken, faults) = interpreter.steps(&from, process);
            if !faults.is_empty() || known.len() > limit {
                return Ok(None);
            }
            stack.extend(taken.into_iter().map(|taken| taken.to));
        }
        if stack.len() == open {
            let running = from.processes.iter().filter_map(|p| p.running.as_ref());
            stuck.extend(running.map(|(call, _)| program.calls[*call].operation));
        }
    }
    Ok(Some(stuck))
}

impl<'m> Interpreter<'m> {
    fn new(
        model: &'m Model,
        types: &'m Types,
        semantics: Semantics,
        program: &'m Program,
    ) -> Result<Interpreter<'m>, String> {
        let ast = model.ast();
        let mut signatures = Vec::new();
        for op in &ast.ops {
            let resolve = |ty| types.resolve(ty).map_err(|e| e.message().to_string());
            let args = op.args.iter().map(|a| resolve(&a.of)).collect::<Result<_, _>>()?;
            let result = op.result.as_ref().map_or(Ok(Ty::Unit), resolve)?;
            signatures.push((args, result));
        }
        let labelled = program.points == Points::Labelled;
        let reuse = ast.client.heap.as_ref().is_some_and(|heap| heap.reuse);
        let rules = Rules { ast, types, semantics, labelled, reuse };
        Ok(Interpreter { rules, program, visible: true, signatures })
    }

    fn initial(&self) -> Result<Configuration, String> {
        let Rules { ast, types, .. } = self.rules;
        let said = |stop: Stop| format!("the initial state: {stop:?}");
        let mut shared = Vec::new();
        for variable in &ast.shared {
            let ty = types.resolve(&variable.of).map_err(|e| e.message().to_string())?;
            let value = Value::first(types, &ty);
            shared.push((variable.name.text.clone(), ty, value));
        }
        let mut walk = Walk::new(&self.rules, World::new(shared, Vec::new()), 0);
        walk.sequential = true;
        for (at, variable) in ast.shared.iter().enumerate() {
            if let Some(init) = &variable.init {
                let value = walk.value(init).map_err(said)?;
                walk.world.shared[at].2 = value;
            }
        }
        walk.block(&ast.init).map_err(said)?;
        let mut own = Vec::new();
        for variable in &ast.locals {
            let ty = types.resolve(&variable.of).map_err(|e| e.message().to_string())?;
            let value = match &variable.init {
                Some(init) => walk.value(init).map_err(said)?,
                None => Value::first(types, &ty),
            };
            own.push((variable.name.text.clone(), ty, value));
        }
        let mut world = walk.commit();
        world.own = vec![own; self.program.processes()];
        let processes = vec![Process::default(); self.program.processes()];
        Ok(Configuration { world, processes })
    }

    /// Every step that the process can take, and what is seen of each that ends in a fault.
    fn steps(&self, from: &Configuration, process: usize) -> (Vec<Taken>, Vec<Vec<Seen>>) {
        let mut taken = Vec::new();
        let mut faults = Vec::new();
        let calls = match &from.processes[process].running {
            Some((call, _)) => vec![(*call, false)],
            None => {
                let role = &self.program.roles[self.program.role_of(process)];
                let may = role.limit.is_none_or(|limit| from.processes[process].finished < limit);
                role.calls.iter().filter(|_| may).map(|call| (*call, true)).collect()
            }
        };
        for (call, calling) in calls {
            let mut script = Some(Vec::new());
            while let Some(choices) = script {
                let mut walk = Walk::new(&self.rules, from.world.clone(), process);
                walk.script = choices;
                let outcome = self.walk(&mut walk, from, call, calling);
                script = next_script(std::mem::take(&mut walk.script), &walk.arities);
                let mut to =
                    Configuration { world: from.world.clone(), processes: from.processes.clone() };
                let mut seen = Vec::new();
                if calling && self.visible {
                    seen.push(Seen::Call(call));
                }
                match outcome {
                    Err(Stop::Blocked) => continue,
                    Err(Stop::Fault(_)) => {
                        faults.push(seen);
                        continue;
                    }
                    Err(Stop::Suspended) => {
                        to.processes[process].running = Some((call, walk.log.clone()));
                        to.world = walk.world;
                    }
                    Ok(result) => {
                        if self.visible {
                            seen.push(Seen::Return(result));
                        }
                        to.processes[process].running = None;
                        to.processes[process].finished += 1;
                        to.world = walk.commit();
                    }
                }
                taken.push(Taken { to, seen });
            }
        }
        (taken, faults)
    }

    /// Walks the operation; its result, if it ends.
    fn walk(
        &self,
        walk: &mut Walk,
        from: &Configuration,
        call: usize,
        calling: bool,
    ) -> Result<Value, Stop> {
        let Call { operation, args } = &self.program.calls[call];
        let op = &self.rules.ast.ops[*operation];
        let (arguments, result) = &self.signatures[*operation];
        for ((field, ty), number) in op.args.iter().zip(arguments).zip(args) {
            let value = Value::from_number(self.rules.types, ty, *number);
            walk.scope.push((field.name.text.clone(), ty.clone(), value));
        }
        if let Some((_, log)) = &from.processes[walk.process].running {
            walk.log.clone_from(log);
        }
        walk.calling = calling;
        let separate = self.rules.semantics == Semantics::Pat && !self.rules.labelled;
        walk.spent = calling && separate;
        let value = match walk.block(&op.body)? {
            Flow::Return(value) => value,
            _ => {
                if separate {
                    // Returning is a step.
                    walk.block(&vec![Stmt { kind: StmtKind::Skip, span: op.span }])?;
                }
                Value::Nothing
            }
        };
        match *result == Ty::Unit || value.belongs(self.rules.types, result) {
            true => Ok(value),
            false => Err(Stop::Fault(format!("{} returns {value:?}", op.name.text))),
        }
    }

    /// The events of a step in the interpreter's words. `current` is the operation that the process performs.
    fn events(&self, events: &[Event], current: &mut usize) -> Vec<Seen> {
        let mut out = Vec::new();
        for event in events {
            match event {
                Event::Call(call) => {
                    *current = self.program.calls[*call].operation;
                    out.push(Seen::Call(*call));
                }
                Event::Lin => {}
                Event::Return(results) => {
                    let ty = &self.signatures[*current].1;
                    let value = Value::from_numbers(self.rules.types, ty, &mut results.as_slice());
                    out.push(Seen::Return(value));
                }
            }
        }
        out
    }

    /// Whether the shared variables hold what the trace says. Pointers have other numbers there.
    fn agrees(&self, world: &World, numbers: &[i32]) -> bool {
        let types = self.rules.types;
        let mut at = 0;
        for (_, ty, value) in &world.shared {
            for (leaf, index) in types.leaves(ty).into_iter().zip(0..) {
                let cells: usize = leaf.dims.iter().map(|d| d.len).product();
                let Some(told) = numbers.get(at..at + cells) else { return false };
                at += cells;
                if matches!(leaf.ty, Ty::Node(_)) {
                    continue;
                }
                let mut found = Vec::with_capacity(cells);
                scalars(types, ty, value, index, &mut found);
                let same = |(found, told): (&&Value, &i32)| {
                    **found == Value::from_number(types, &leaf.ty, *told)
                };
                if found.len() == cells && !found.iter().zip(told).all(same) {
                    return false;
                }
            }
        }
        true
    }
}

/// The scalars of a value that make up the leaf of this number of its type, in order.
fn scalars<'v>(types: &Types, ty: &Ty, value: &'v Value, index: usize, out: &mut Vec<&'v Value>) {
    match (ty, value) {
        (Ty::Array { of, .. }, Value::List(items)) => {
            items.iter().for_each(|item| scalars(types, of, item, index, out));
        }
        (Ty::Record(record), Value::Record(fields)) => {
            let mut index = index;
            for ((_, ty), (_, value)) in types.records[*record].fields.iter().zip(fields) {
                let leaves = types.leaves(ty).len();
                if index < leaves {
                    return scalars(types, ty, value, index, out);
                }
                index -= leaves;
            }
        }
        (_, value) => out.push(value),
    }
}

/// Whether something in the block may have to wait.
fn waits(block: &Block) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Await(_) | StmtKind::Lock(_) => true,
        StmtKind::If(_, a, b) | StmtKind::When(_, a, b) => waits(a) || waits(b),
        StmtKind::While(_, a)
        | StmtKind::Loop(a)
        | StmtKind::For(_, _, _, a)
        | StmtKind::Atomic(a) => waits(a),
        StmtKind::Either(branches) => branches.iter().any(waits),
        _ => false,
    })
}
