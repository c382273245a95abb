//! Walks the syntax tree of an operation for one step of a process.
//!
//! The interpreter keeps no program counter. What a process has done so far in its operation is the list of what its
//! accesses and choices gave (`log`). To take a step the operation is walked again from its beginning: accesses
//! that are in the log give what they gave before and touch nothing; the first new one is performed and
//! written down; before the next new one the walk is abandoned. This costs time quadratic in the length of an operation and needs
//! neither a compiler nor a continuation, so that it shares nothing with what it checks.

use std::collections::BTreeSet;

use super::value::{Part, Value};
use super::waits;
use crate::language::Semantics;
use crate::language::ast::{Ast, Block, Expr, ExprKind, Stmt, StmtKind};
use crate::language::types::{Ty, Types};
use crate::program::MOST_ROUNDS;

/// A local loop with more rounds is taken to have no end.
const MOST_LOCAL_ROUNDS: u32 = 100_000;

/// The shared part of a state, and each process's own variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) shared: Vec<(String, Ty, Value)>,
    pub(super) heap: Vec<HeapNode>,
    /// Which processes have loaded which variable with `ll` since it was last written.
    pub(super) links: Vec<(String, Vec<Value>, usize)>,
    pub(crate) own: Vec<Vec<(String, Ty, Value)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeapNode {
    pub(super) ty: usize,
    pub(super) value: Value,
    freed: bool,
}

/// What all walks of a model have in common.
pub(crate) struct Rules<'m> {
    pub(crate) ast: &'m Ast,
    pub(crate) types: &'m Types,
    pub(crate) semantics: Semantics,
    pub(crate) labelled: bool,
    pub(crate) reuse: bool,
}

/// Why a walk ends before the operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The step is over.
    Suspended,
    /// A guard is false.
    Blocked,
    Fault(String),
}

pub(crate) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

pub(super) type Walked<T> = Result<T, Stop>;

pub(crate) struct Walk<'w> {
    pub(crate) rules: &'w Rules<'w>,
    pub(crate) world: World,
    pub(crate) process: usize,
    pub(crate) log: Vec<Value>,
    /// How much of the log has been walked through.
    at: usize,
    /// The step has done what it may.
    pub(crate) spent: bool,
    /// The operation is called in this step.
    pub(crate) calling: bool,
    /// Something was written down in this step that does not count: a choice.
    chosen: bool,
    /// Choices to take, and how many there were at each.
    pub(crate) script: Vec<usize>,
    pub(crate) arities: Vec<usize>,
    pub(crate) scope: Vec<(String, Ty, Value)>,
    pub(super) own: Vec<(String, Ty, Value)>,
    /// Accesses cost nothing here: inside `atomic`, or in a statement under PAT's semantics.
    free: u32,
    /// In a guard the first access counts for all.
    whole: Option<bool>,
    /// In a specification or the initial statements nothing is a step.
    pub(crate) sequential: bool,
}

pub(super) enum Root {
    Scope(usize),
    Own(usize),
    Shared(usize),
    Heap(usize),
}

pub(super) struct Place {
    pub(super) root: Root,
    pub(super) path: Vec<Part>,
}

pub(super) fn fault<T>(message: impl Into<String>) -> Walked<T> {
    Err(Stop::Fault(message.into()))
}

impl World {
    pub(crate) fn new(
        shared: Vec<(String, Ty, Value)>,
        own: Vec<Vec<(String, Ty, Value)>>,
    ) -> World {
        World { shared, heap: Vec::new(), links: Vec::new(), own }
    }
}

impl<'w> Walk<'w> {
    pub(crate) fn new(rules: &'w Rules<'w>, world: World, process: usize) -> Walk<'w> {
        let own = world.own.get(process).cloned().unwrap_or_default();
        Walk {
            rules,
            world,
            process,
            log: Vec::new(),
            at: 0,
            spent: false,
            calling: false,
            chosen: false,
            script: Vec::new(),
            arities: Vec::new(),
            scope: Vec::new(),
            own,
            free: 0,
            whole: None,
            sequential: false,
        }
    }

    /// Keeps the own variables, when the operation has ended.
    pub(crate) fn commit(mut self) -> World {
        if let Some(own) = self.world.own.get_mut(self.process) {
            *own = self.own;
        }
        self.world
    }

    // ---- steps

    fn fine(&self) -> bool {
        self.rules.semantics == Semantics::Default && self.free == 0 && !self.sequential
    }

    /// Something that happens once: on later walks it is read from the log.
    pub(super) fn once(
        &mut self,
        counts: bool,
        guard: bool,
        perform: impl FnOnce(&mut Self) -> Walked<Value>,
    ) -> Walked<Value> {
        if self.at < self.log.len() {
            self.at += 1;
            return Ok(self.log[self.at - 1].clone());
        }
        let counts = counts && self.whole != Some(true);
        if counts && !self.sequential {
            if self.spent {
                return Err(Stop::Suspended);
            }
            // A call or a choice may stop before a guard, or pass through it: either is a run.
            if guard && (self.calling || self.chosen) && self.choice(2) == 0 {
                return Err(Stop::Suspended);
            }
            self.spent = true;
        }
        if self.whole == Some(false) {
            self.whole = Some(true);
        }
        let value = perform(self)?;
        self.chosen |= !counts;
        self.log.push(value.clone());
        self.at += 1;
        Ok(value)
    }

    /// The beginning of a statement that is a step as a whole, and may have to wait.
    fn boundary(&mut self, guard: bool) -> Walked<()> {
        self.once(true, guard, |_| Ok(Value::Nothing)).map(drop)
    }

    pub(super) fn access(
        &mut self,
        perform: impl FnOnce(&mut Self) -> Walked<Value>,
    ) -> Walked<Value> {
        let counts = self.fine();
        self.once(counts, false, perform)
    }

    pub(super) fn choice(&mut self, arity: usize) -> usize {
        let at = self.arities.len();
        self.arities.push(arity);
        if self.script.len() == at {
            self.script.push(0);
        }
        self.script[at]
    }

    // ---- statements

    pub(crate) fn block(&mut self, block: &Block) -> Walked<Flow> {
        let outside = self.scope.len();
        for stmt in block {
            match self.statement(stmt)? {
                Flow::Next => {}
                flow => {
                    self.scope.truncate(outside);
                    return Ok(flow);
                }
            }
        }
        self.scope.truncate(outside);
        Ok(Flow::Next)
    }

    /// Under PAT's semantics the statement costs a step, and what it accesses costs no more.
    fn statement(&mut self, stmt: &Stmt) -> Walked<Flow> {
        let pat = self.rules.semantics == Semantics::Pat && self.free == 0 && !self.sequential;
        let costs = pat
            && match &stmt.kind {
                StmtKind::Local(variables) => {
                    variables.iter().any(|v| v.init.as_ref().is_some_and(|e| self.touches(e)))
                }
                StmtKind::Return(value) => {
                    !self.rules.labelled || value.as_ref().is_some_and(|e| self.touches(e))
                }
                StmtKind::Assign(..)
                | StmtKind::Expr(_)
                | StmtKind::If(..)
                | StmtKind::Await(_)
                | StmtKind::Lock(_)
                | StmtKind::Unlock(_)
                | StmtKind::Free(_)
                | StmtKind::Skip
                | StmtKind::Assert(_)
                | StmtKind::Either(_) => true,
                _ => false,
            };
        if costs {
            self.boundary(matches!(stmt.kind, StmtKind::Await(_) | StmtKind::Lock(_)))?;
        }
        match &stmt.kind {
            StmtKind::If(condition, then, otherwise) => {
                let chosen = if self.truth(condition)? { then } else { otherwise };
                self.block(chosen)
            }
            StmtKind::While(condition, body) => {
                let mut rounds = 0;
                loop {
                    self.round(&mut rounds)?;
                    if pat {
                        self.boundary(false)?;
                    }
                    if !self.truth(condition)? {
                        return Ok(Flow::Next);
                    }
                    match self.block(body)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Next | Flow::Continue => {}
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
            }
            StmtKind::Loop(body) => {
                let mut rounds = 0;
                loop {
                    self.round(&mut rounds)?;
                    match self.block(body)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Next | Flow::Continue => {}
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
            }
            StmtKind::For(name, low, high, body) => {
                let (low, high) = (self.number(low)?, self.number(high)?);
                let ty = Ty::Int { lo: i32::MIN, hi: i32::MAX };
                let mut rounds = 0;
                for value in low..=high {
                    self.round(&mut rounds)?;
                    if pat {
                        self.boundary(false)?;
                    }
                    self.scope.push((name.text.clone(), ty.clone(), Value::Int(value)));
                    let flow = self.block(body)?;
                    self.scope.pop();
                    match flow {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Next | Flow::Continue => {}
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
                if pat {
                    self.boundary(false)?;
                }
                Ok(Flow::Next)
            }
            StmtKind::Break => Ok(Flow::Break),
            StmtKind::Continue => Ok(Flow::Continue),
            StmtKind::Return(None) => Ok(Flow::Return(Value::Nothing)),
            StmtKind::Return(Some(value)) => Ok(Flow::Return(self.value(value)?)),
            StmtKind::Atomic(body) => {
                if self.free == 0 && !self.sequential {
                    self.boundary(waits(body))?;
                }
                self.free += 1;
                let flow = self.block(body)?;
                self.free -= 1;
                Ok(flow)
            }
            StmtKind::Either(branches) => {
                let count = branches.len();
                let chosen =
                    self.once(false, false, |walk| Ok(Value::Int(walk.choice(count) as i64)))?;
                let Value::Int(chosen) = chosen else { return fault("no branch") };
                self.block(&branches[chosen as usize])
            }
            StmtKind::When(condition, then, otherwise) => {
                let truth = self.rules.types.truth(condition).unwrap_or(false);
                let chosen = if truth { then } else { otherwise };
                // Its names stay visible: it is as if the branch stood here.
                for stmt in chosen {
                    match self.statement(stmt)? {
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
                Ok(Flow::Next)
            }
            _ => self.simple(stmt).map(|()| Flow::Next),
        }
    }

    fn simple(&mut self, stmt: &Stmt) -> Walked<()> {
        match &stmt.kind {
            StmtKind::Local(variables) => {
                for variable in variables {
                    let types = self.rules.types;
                    let Ok(ty) = types.resolve(&variable.of) else { return fault("no type") };
                    let value = match &variable.init {
                        Some(init) => self.value(init)?,
                        None => Value::first(types, &ty),
                    };
                    let value = shaped(&ty, value);
                    self.admit(&ty, &value, &variable.name.text)?;
                    self.scope.push((variable.name.text.clone(), ty, value));
                }
            }
            StmtKind::Assign(target, value) => {
                let place = self.place(target)?;
                let value = self.value(value)?;
                self.write(&place, value)?;
            }
            StmtKind::Expr(expr) => {
                self.value(expr)?;
            }
            StmtKind::Await(condition) => {
                let holds = self.guard(condition)?;
                if !holds {
                    return Err(Stop::Blocked);
                }
            }
            StmtKind::Assert(condition) => {
                self.whole = Some(false);
                let holds = self.truth(condition);
                self.whole = None;
                if !holds? {
                    return fault("an assertion fails");
                }
            }
            StmtKind::Lock(target) => {
                let place = self.place(target)?;
                let counts = self.fine();
                self.once(counts, true, |walk| {
                    if *walk.see(&place)? != Value::Nothing {
                        return Err(Stop::Blocked);
                    }
                    let me = Value::Pid(walk.process);
                    walk.put(&place, me)?;
                    Ok(Value::Nothing)
                })?;
            }
            StmtKind::Unlock(target) => {
                let place = self.place(target)?;
                self.access(|walk| {
                    if *walk.see(&place)? != Value::Pid(walk.process) {
                        return fault("a lock is unlocked by another process");
                    }
                    walk.put(&place, Value::Nothing)?;
                    Ok(Value::Nothing)
                })?;
            }
            StmtKind::Free(target) => {
                let value = self.value(target)?;
                self.access(|walk| match value {
                    Value::Node(node) if !walk.world.heap[node].freed => {
                        walk.world.heap[node].freed = true;
                        Ok(Value::Nothing)
                    }
                    _ => fault("what is freed is null or free already"),
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// One more round of a loop.
    fn round(&self, rounds: &mut u32) -> Walked<()> {
        *rounds += 1;
        let within_a_step = self.free > 0 || self.sequential;
        if within_a_step && *rounds > MOST_ROUNDS {
            return fault("a loop does not end");
        }
        // In the engine the rounds of a local loop are steps, of which there can be any number. Here a process that goes round and round
        // by itself takes no step any more.
        if *rounds > MOST_LOCAL_ROUNDS { Err(Stop::Blocked) } else { Ok(()) }
    }

    /// A condition that is looked at as a whole, and may wait.
    fn guard(&mut self, condition: &Expr) -> Walked<bool> {
        let new = self.fine() && self.at == self.log.len();
        // What has happened in this step stays so, even if this waits for ever. The call may end before the guard, and be a step
        // of its own, but for a guard on what the process knows: that keeps it from being called. A choice ends before any guard.
        let may_stop = if self.calling { self.touches(condition) } else { self.chosen };
        if new && (self.spent || may_stop && self.choice(2) == 0) {
            return Err(Stop::Suspended);
        }
        self.whole = Some(false);
        let holds = self.truth(condition);
        self.whole = None;
        holds
    }

    // ---- values

    pub(crate) fn truth(&mut self, expr: &Expr) -> Walked<bool> {
        match self.value(expr)? {
            Value::Bool(truth) => Ok(truth),
            other => fault(format!("{other:?} is not a truth value")),
        }
    }

    pub(super) fn number(&mut self, expr: &Expr) -> Walked<i64> {
        match self.value(expr)? {
            Value::Int(number) => Ok(number),
            other => fault(format!("{other:?} is not a number")),
        }
    }

    pub(crate) fn value(&mut self, expr: &Expr) -> Walked<Value> {
        match &expr.kind {
            ExprKind::Int(number) => Ok(Value::Int(*number)),
            ExprKind::Bool(truth) => Ok(Value::Bool(*truth)),
            ExprKind::Null | ExprKind::None => Ok(Value::Nothing),
            ExprKind::Me => Ok(Value::Pid(self.process)),
            ExprKind::Name(name) => {
                let known = self.scope.iter().chain(&self.own).any(|(n, ..)| n == name);
                if !known {
                    let types = self.rules.types;
                    if let Some((_, value)) = types.constants.iter().find(|(c, _)| c == name) {
                        return Ok(Value::Int((*value).into()));
                    }
                    if types.enums.iter().any(|(_, cases)| cases.contains(name)) {
                        return Ok(Value::Case(name.clone()));
                    }
                }
                let place = self.place(expr)?;
                self.read(&place)
            }
            ExprKind::Field(..) | ExprKind::Index(..) => {
                let place = self.place(expr)?;
                self.read(&place)
            }
            ExprKind::Not(of) => Ok(Value::Bool(!self.truth(of)?)),
            ExprKind::Negate(of) => Ok(Value::Int(-self.number(of)?)),
            ExprKind::Conditional(condition, yes, no) => {
                let chosen = if self.truth(condition)? { yes } else { no };
                self.value(chosen)
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::Call(name, args) => self.call(&name.text, args),
            ExprKind::Lin(of) => self.value(of),
            ExprKind::Method(base, name, args) => {
                let place = self.place(base)?;
                let mut values = Vec::new();
                for arg in args {
                    values.push(self.value(arg)?);
                }
                self.method(&place, &name.text, values)
            }
            ExprKind::New(name, fields) => {
                let types = self.rules.types;
                let Some(ty) = types.nodes.iter().position(|n| n.name == name.text) else {
                    return fault("no such node");
                };
                let of = types.nodes[ty].fields.clone();
                let value = self.fields(&of, fields)?;
                let counts = self.rules.reuse && self.fine();
                self.once(counts, false, |walk| Ok(Value::Node(walk.allocate(ty, value))))
            }
            ExprKind::Record(name, fields) => {
                let types = self.rules.types;
                let Some(at) = types.records.iter().position(|r| r.name == name.text) else {
                    return fault("no such record");
                };
                let of = types.records[at].fields.clone();
                self.fields(&of, fields)
            }
            ExprKind::List(items) => {
                let mut values = Vec::new();
                for item in items {
                    values.push(self.value(item)?);
                }
                Ok(Value::List(values))
            }
            ExprKind::Repeat(item, count) => {
                let (item, count) = (self.value(item)?, self.number(count)?);
                Ok(Value::List(vec![item; count.clamp(0, 4096) as usize]))
            }
        }
    }

    fn fields(
        &mut self,
        of: &[(String, Ty)],
        given: &[(crate::language::ast::Name, Expr)],
    ) -> Walked<Value> {
        let types = self.rules.types;
        let mut values: Vec<(String, Value)> =
            of.iter().map(|(name, ty)| (name.clone(), Value::first(types, ty))).collect();
        for (name, expr) in given {
            let value = self.value(expr)?;
            let Some(at) = of.iter().position(|(n, _)| *n == name.text) else {
                return fault("no such field");
            };
            self.admit(&of[at].1, &value, &name.text)?;
            values[at].1 = value;
        }
        Ok(Value::Record(values))
    }

    fn allocate(&mut self, ty: usize, value: Value) -> usize {
        let free: Vec<usize> = (self.world.heap.iter().enumerate())
            .filter(|(_, node)| node.freed && node.ty == ty)
            .map(|(at, _)| at)
            .collect();
        let chosen = if free.is_empty() { 0 } else { self.choice(free.len() + 1) };
        let node = HeapNode { ty, value, freed: false };
        match chosen {
            0 => {
                self.world.heap.push(node);
                self.world.heap.len() - 1
            }
            again => {
                self.world.heap[free[again - 1]] = node;
                free[again - 1]
            }
        }
    }
}

/// The next sequence of choices, as an odometer counts; none after the last.
pub(crate) fn next_script(mut script: Vec<usize>, arities: &[usize]) -> Option<Vec<usize>> {
    script.truncate(arities.len());
    while let Some(last) = script.pop() {
        if last + 1 < arities[script.len()] {
            script.push(last + 1);
            return Some(script);
        }
    }
    None
}

/// `[]` is the empty sequence, set or map.
pub(super) fn shaped(ty: &Ty, value: Value) -> Value {
    match (ty, value) {
        (Ty::Set(_), Value::List(items)) => Value::Set(items.into_iter().collect::<BTreeSet<_>>()),
        (Ty::Map(..), Value::List(items)) if items.is_empty() => Value::Map(Default::default()),
        (_, value) => value,
    }
}

/// Equality; `[]` equals every empty container.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    let empty = |v: &Value| match v {
        Value::List(items) => items.is_empty(),
        Value::Set(items) => items.is_empty(),
        Value::Map(items) => items.is_empty(),
        _ => false,
    };
    a == b || empty(a) && empty(b)
}

/// Links are kept for each cell of an array.
pub(super) fn cells(path: &[Part]) -> Vec<Value> {
    let cell = |part: &Part| match part {
        Part::Cell(value) => Some(value.clone()),
        Part::Field(_) => None,
    };
    path.iter().filter_map(cell).collect()
}
