//! An interpreter of models that shares no code with the engine: it replays counterexamples, and
//! searches small models naively.
//!
//! It walks the syntax tree (`walk`) on structured values (`value`). `replay` checks
//! counterexamples and records what their steps did (`notes`); `naive` tries every run, and
//! `history` every order of the operations.

mod history;
mod naive;
mod notes;
mod operators;
mod places;
mod procedures;
mod replay;
mod steps;
mod value;
mod walk;

pub use naive::{Naive, NaiveProgress, progress_naively, search_naively, stuck_naively};
pub use notes::{Access, Note};
pub use replay::{Rejected, explain, follow, replay};

use std::fmt::Write;

use crate::engine::Event;
use crate::language::Span;
use crate::language::ast::{Ast, Block, Expr, ExprKind, Stmt, StmtKind};
use crate::language::types::{Ty, Types};
use crate::language::{Model, Semantics};
use crate::program::{Call, Points, Program};

use history::Seen;
use steps::{Choices, Entry, Point};
use value::Value;
use walk::{Flow, Rules, Stop, Walk, World};

/// A state of the model, with the progress of each process in its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Configuration {
    world: World,
    processes: Vec<Process>,
}

#[derive(Clone, Debug, Default)]
struct Process {
    running: Option<Running>,
    /// How many operations have returned, if their number is bounded.
    finished: u32,
}

/// An operation that was called and has not returned.
#[derive(Clone, Debug)]
struct Running {
    call: usize,
    /// The results of its accesses and choices so far.
    log: Vec<Entry>,
    /// The location of the process. Two logs that lead to the same point are interchangeable.
    point: Point,
}

impl PartialEq for Process {
    fn eq(&self, other: &Process) -> bool {
        let point = |p: &Process| p.running.clone().map(|r| (r.call, r.point));
        self.finished == other.finished && point(self) == point(other)
    }
}

impl Eq for Process {}

impl Configuration {
    /// A certain name for the state. Types are the same in all states, and left out.
    fn name(&self) -> String {
        let mut out = String::new();
        let World { shared, heap, links, own } = &self.world;
        for (_, _, value) in shared.iter().chain(own.iter().flatten()) {
            let _ = write!(out, "{value:?} ");
        }
        let _ = write!(out, "{heap:?} {links:?}");
        for process in &self.processes {
            let _ = write!(out, "|{} ", process.finished);
            if let Some(running) = &process.running {
                let _ = write!(out, "{} ", running.call);
                running.point.write_name(&mut out);
            }
        }
        out
    }
}

/// What a step led to.
struct Taken {
    to: Configuration,
    seen: Vec<Seen>,
    done: Done,
}

/// A step that ends in a fault.
struct Failed {
    seen: Vec<Seen>,
    done: Done,
}

/// What a step accessed, and where in the text it did so first.
struct Done {
    at: Option<Span>,
    /// It was called, and comes to this place without having done anything there.
    arrives: bool,
    accesses: Vec<Access>,
}

struct Interpreter<'m> {
    rules: Rules<'m>,
    program: &'m Program,
    /// Whether calls and returns are visible. In a trace of linearization points they are not.
    visible: bool,
    /// The types of each operation's arguments and of its result.
    signatures: Vec<(Vec<Ty>, Ty)>,
}

impl<'m> Interpreter<'m> {
    fn new(
        model: &'m Model,
        types: &'m Types,
        semantics: Semantics,
        program: &'m Program,
    ) -> Result<Interpreter<'m>, Rejected> {
        let ast = model.ast();
        let mut signatures = Vec::new();
        for op in &ast.ops {
            let resolve = |ty| types.resolve(ty);
            let args = op.args.iter().map(|a| resolve(&a.of)).collect::<Result<_, _>>()?;
            let result = op.result.as_ref().map_or(Ok(Ty::Unit), resolve)?;
            signatures.push((args, result));
        }
        let labelled = program.points == Points::Labelled;
        let reuse = ast.client.heap.as_ref().is_some_and(|heap| heap.reuse);
        let guards_freed = reuse && !ast.client.heap.as_ref().is_some_and(|heap| heap.recycle);
        let rules = Rules { ast, types, semantics, labelled, reuse, guards_freed };
        Ok(Interpreter { rules, program, visible: true, signatures })
    }

    fn initial(&self) -> Result<Configuration, Rejected> {
        let Rules { ast, types, .. } = self.rules;
        let said = |stop: Stop| format!("the initial state: {stop:?}");
        let mut shared = Vec::new();
        for variable in &ast.shared {
            let ty = types.resolve(&variable.of)?;
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
            let ty = types.resolve(&variable.of)?;
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

    /// Deadlock: no process can take a step, and some process is within an operation.
    fn is_stuck(&self, configuration: &Configuration) -> bool {
        let mut processes = 0..configuration.processes.len();
        configuration.processes.iter().any(|process| process.running.is_some())
            && processes.all(|process| {
                let (taken, faults) = self.steps(configuration, process);
                taken.is_empty() && faults.is_empty()
            })
    }

    /// Every step that the process can take, and those that end in a fault.
    fn steps(&self, from: &Configuration, process: usize) -> (Vec<Taken>, Vec<Failed>) {
        let mut taken = Vec::new();
        let mut faults = Vec::new();
        let calls = match &from.processes[process].running {
            Some(running) => vec![(running.call, false)],
            None => {
                let role = &self.program.roles[self.program.role_of(process)];
                let may = role.limit.is_none_or(|limit| from.processes[process].finished < limit);
                role.calls.iter().filter(|_| may).map(|call| (*call, true)).collect()
            }
        };
        for (call, calling) in calls {
            let mut others = Some(Choices::default());
            // Whether all choices lead round and round.
            let (mut known, mut ended) = (false, false);
            while let Some(choices) = others {
                let mut walk = Walk::new(&self.rules, from.world.clone(), process);
                walk.choosing(choices);
                let outcome = self.walk(&mut walk, from, call, calling);
                others = walk.other_choices();
                known |= outcome == Err(Stop::Known);
                ended |= outcome != Err(Stop::Known);
                let arrives = calling && walk.noted_at.is_none() && outcome == Err(Stop::Suspended);
                let done = Done {
                    arrives,
                    at: walk.noted_at.or_else(|| walk.statements.last().copied()),
                    accesses: std::mem::take(&mut walk.accesses),
                };
                let mut to =
                    Configuration { world: from.world.clone(), processes: from.processes.clone() };
                let mut seen = Vec::new();
                if calling && self.visible {
                    seen.push(Seen::Call(call));
                }
                match outcome {
                    Err(Stop::Blocked) => continue,
                    Err(Stop::Known) if ended || !known || others.is_some() => continue,
                    Err(Stop::Fault(_) | Stop::Known) => {
                        faults.push(Failed { seen, done });
                        continue;
                    }
                    Err(Stop::Suspended) => {
                        let (log, point) = (walk.log.clone(), walk.point());
                        to.processes[process].running = Some(Running { call, log, point });
                        to.world = walk.world;
                    }
                    Ok(result) => {
                        if self.visible {
                            seen.push(Seen::Return(result));
                        }
                        to.processes[process].running = None;
                        let role = &self.program.roles[self.program.role_of(process)];
                        to.processes[process].finished += u32::from(role.limit.is_some());
                        to.world = walk.commit();
                    }
                }
                taken.push(Taken { to, seen, done });
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
        if let Some(running) = &from.processes[walk.process].running {
            walk.log.clone_from(&running.log);
        }
        walk.calling = calling;
        walk.begun = calling;
        let separate = self.rules.semantics.is_pat() && !self.rules.labelled;
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
        match value.can_be_returned(self.rules.types, result) {
            true => Ok(value),
            false => Err(Stop::Fault(format!("{} returns {value:?}", op.name.text))),
        }
    }

    /// The events of a step in the interpreter's types. `current` is the operation that the process
    /// performs.
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

    /// Whether the shared variables have the values of the trace. Pointers have other numbers
    /// there.
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

/// The scalars of a value that form the leaf with this number in its type, in order.
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
fn waits(ast: &Ast, block: &Block) -> bool {
    let waits = |block| waits(ast, block);
    let calls = |expr: &Expr| match &expr.kind {
        ExprKind::Call(name, _) => {
            ast.procedures.iter().any(|p| p.name.text == name.text && waits(&p.body))
        }
        _ => false,
    };
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Await(_) | StmtKind::Lock(_) => true,
        StmtKind::If(_, a, b) | StmtKind::When(_, a, b) => waits(a) || waits(b),
        StmtKind::While(_, a)
        | StmtKind::Loop(a)
        | StmtKind::For(_, _, _, a)
        | StmtKind::ForEach { body: a, .. }
        | StmtKind::Atomic(a) => waits(a),
        StmtKind::Either(branches) => branches.iter().any(waits),
        // Where a procedure may be called.
        StmtKind::Expr(expr) | StmtKind::Assign(_, expr) | StmtKind::Return(Some(expr)) => {
            calls(expr)
        }
        StmtKind::Local(variables) => variables.iter().filter_map(|v| v.init.as_ref()).any(calls),
        _ => false,
    })
}
