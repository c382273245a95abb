//! Walks the syntax tree of an operation for one step of a process.
//!
//! The interpreter keeps no program counter. The progress of a process in its operation is the list
//! of the results of its accesses and choices (`log`). To take a step, it walks the operation again
//! from its beginning: accesses in the log return their earlier results and access nothing; the
//! first new access is performed and logged; before the next new one the walk is abandoned. A step
//! also ends before the head of a loop that it has already passed, as in the engine; a mark in the
//! log records that. This costs time quadratic in the length of an operation and needs neither a
//! compiler nor a continuation, so that it shares nothing with what it checks.

use std::collections::BTreeSet;

use super::notes::Access;
use super::steps::{Entry, Loop, Rounds};
use super::value::{Part, Value};
use super::waits;
use crate::language::Semantics;
use crate::language::Span;
use crate::language::ast::{Ast, Block, Expr, ExprKind, Stmt, StmtKind};
use crate::language::types::{Ty, Types};

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
    pub(super) freed: bool,
}

/// State shared by all walks of a model.
pub(crate) struct Rules<'m> {
    pub(crate) ast: &'m Ast,
    pub(crate) types: &'m Types,
    pub(crate) semantics: Semantics,
    pub(crate) labelled: bool,
    pub(crate) reuse: bool,
    /// Reading or writing a node that was freed is an error.
    pub(crate) guards_freed: bool,
}

/// Why a walk ends before the operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The step is over.
    Suspended,
    /// A guard is false.
    Blocked,
    /// The choices lead to a state that other choices have reached.
    Known,
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
    pub(crate) log: Vec<Entry>,
    /// How much of the log has been walked through.
    pub(super) at: usize,
    /// The step has made its access.
    pub(crate) spent: bool,
    /// The operation is called in this step.
    pub(crate) calling: bool,
    /// Something was written down in this step that does not count: a choice.
    pub(super) chosen: bool,
    /// The step has begun: everything before was part of the previous step.
    pub(crate) begun: bool,
    /// The loops whose heads the step has passed.
    pub(super) passed: Vec<u64>,
    /// Heads of loops since the last entry of the log.
    pub(super) heads: u32,
    /// The enclosing statements, and the length of the log where the innermost one began.
    pub(super) statements: Vec<Span>,
    pub(super) mark: usize,
    /// The accesses of the step, and the statement of the first one.
    pub(crate) accesses: Vec<Access>,
    pub(crate) noted_at: Option<Span>,
    /// The choices to take, and how many branches each had; the first `given` of them lead to the
    /// same place as those of the previous walk.
    pub(crate) script: Vec<usize>,
    pub(crate) arities: Vec<usize>,
    pub(super) given: usize,
    /// The number of this walk among those with other choices, and the rounds of all of them.
    pub(super) run: usize,
    pub(super) rounds: Rounds,
    pub(crate) scope: Vec<(String, Ty, Value)>,
    pub(super) own: Vec<(String, Ty, Value)>,
    /// The first variable that is visible: those before it are of the callers of a procedure.
    pub(super) visible: usize,
    /// Which calls of procedures the walk is within.
    pub(super) site: u64,
    /// The statements that wait for procedures: how long the log was where each began, and where it
    /// made its call.
    pub(super) suspended: Vec<(usize, usize)>,
    /// Accesses cost nothing here: inside `atomic`, or in a statement under PAT's semantics.
    pub(super) free: u32,
    /// Only declarations and guards that decide when the operation may be called came before.
    pub(super) begins: bool,
    /// In a specification or the initial statements nothing is a step.
    pub(crate) sequential: bool,
}

#[derive(Clone, Copy)]
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
            begun: false,
            passed: Vec::new(),
            heads: 0,
            statements: Vec::new(),
            mark: 0,
            accesses: Vec::new(),
            noted_at: None,
            script: Vec::new(),
            arities: Vec::new(),
            given: 0,
            run: 0,
            rounds: Rounds::new(),
            scope: Vec::new(),
            own,
            visible: 0,
            site: 0,
            suspended: Vec::new(),
            free: 0,
            begins: true,
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

    /// Under PAT's semantics the statement costs a step, and its accesses are free.
    fn statement(&mut self, stmt: &Stmt) -> Walked<Flow> {
        self.statements.push(stmt.span);
        self.mark = self.at;
        let flow = self.statement_within(stmt)?;
        self.statements.pop();
        Ok(flow)
    }

    fn statement_within(&mut self, stmt: &Stmt) -> Walked<Flow> {
        let says_when = self.guards_call(stmt);
        let pat = self.rules.semantics.is_pat() && self.free == 0 && !self.sequential;
        let costs = pat
            && !says_when
            && match &stmt.kind {
                StmtKind::Local(variables) => {
                    variables.iter().any(|v| v.init.as_ref().is_some_and(|e| self.costs(e)))
                }
                StmtKind::Return(value) => {
                    !self.rules.labelled || value.as_ref().is_some_and(|e| self.costs(e))
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
            self.note_statement();
        }
        let at = (self.site << 32) ^ u64::from(stmt.span.start);
        let loops = Loop { at, choices: self.arities.len() };
        match &stmt.kind {
            StmtKind::If(condition, then, otherwise) => {
                let chosen = if self.truth(condition)? { then } else { otherwise };
                self.block(chosen)
            }
            StmtKind::While(condition, body) => {
                let mut rounds = 0;
                loop {
                    self.head(&loops, &mut rounds)?;
                    if pat {
                        self.boundary(false)?;
                        self.note_statement();
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
                    self.head(&loops, &mut rounds)?;
                    match self.block(body)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Next | Flow::Continue => {}
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
            }
            StmtKind::For(name, low, high, body) => {
                if pat && (self.costs(low) || self.costs(high)) {
                    self.boundary(false)?;
                }
                let (low, high) = (self.number(low)?, self.number(high)?);
                let ty = Ty::Int { lo: i32::MIN, hi: i32::MAX };
                let (mut rounds, mut value) = (0, low);
                let outside = self.scope.len();
                // No variable has this name: the state of the loop is part of the process's
                // location.
                self.scope.push((format!("{}..", name.text), ty.clone(), Value::Int(high)));
                self.scope.push((name.text.clone(), ty, Value::Int(value)));
                let flow = loop {
                    self.head(&loops, &mut rounds)?;
                    if pat {
                        self.boundary(false)?;
                        self.note_statement();
                    }
                    if value > high {
                        break Flow::Next;
                    }
                    match self.block(body)? {
                        Flow::Break => break Flow::Next,
                        Flow::Next | Flow::Continue => {}
                        flow @ Flow::Return(_) => break flow,
                    }
                    value += 1;
                    self.scope[outside + 1].2 = Value::Int(value);
                };
                self.scope.truncate(outside);
                Ok(flow)
            }
            StmtKind::ForEach { name, ordered, body } => {
                self.each_process(&name.text, *ordered, body, &loops)
            }
            StmtKind::Break => Ok(Flow::Break),
            StmtKind::Continue => Ok(Flow::Continue),
            StmtKind::Return(None) => Ok(Flow::Return(Value::Nothing)),
            StmtKind::Return(Some(value)) => Ok(Flow::Return(self.value(value)?)),
            StmtKind::Atomic(body) => {
                if self.free == 0 && !self.sequential {
                    self.boundary(waits(self.rules.ast, body))?;
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
            _ => self.simple(stmt, says_when).map(|()| Flow::Next),
        }
    }

    fn simple(&mut self, stmt: &Stmt, says_when: bool) -> Walked<()> {
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
                let holds = if says_when { self.truth(condition)? } else { self.guard(condition)? };
                if !holds {
                    return Err(Stop::Blocked);
                }
            }
            StmtKind::Assert(condition) => {
                let holds = self.at_once(condition, false)?;
                if !holds {
                    return fault("an assertion fails");
                }
            }
            StmtKind::Lock(target) => {
                let place = self.place(target)?;
                let counts = self.fine();
                self.once(counts, true, |walk| {
                    walk.require_live(&place)?;
                    if *walk.see(&place)? != Value::Nothing {
                        return Err(Stop::Blocked);
                    }
                    let me = Value::Pid(walk.process);
                    walk.note("locks", &place, &me);
                    walk.put(&place, me)?;
                    Ok(Value::Nothing)
                })?;
            }
            StmtKind::Unlock(target) => {
                let place = self.place(target)?;
                self.access(|walk| {
                    walk.require_live(&place)?;
                    if *walk.see(&place)? != Value::Pid(walk.process) {
                        return fault("a lock is unlocked by another process");
                    }
                    walk.note("unlocks", &place, &Value::Nothing);
                    walk.put(&place, Value::Nothing)?;
                    Ok(Value::Nothing)
                })?;
            }
            StmtKind::Free(target) => {
                let value = self.value(target)?;
                self.access(|walk| match value {
                    Value::Node(node) if !walk.world.heap[node].freed => {
                        let place = Place { root: Root::Heap(node), path: Vec::new() };
                        walk.note_attempt("frees", &place, String::new(), None);
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
                let known =
                    self.scope[self.visible..].iter().chain(&self.own).any(|(n, ..)| n == name);
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
            ExprKind::Call(name, args) => self.call(&name.text, args, expr.span.start),
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
                self.once(counts, false, |walk| {
                    let node = walk.allocate(ty, value);
                    if walk.rules.reuse {
                        let place = Place { root: Root::Heap(node), path: Vec::new() };
                        walk.note_attempt("makes", &place, String::new(), None);
                    }
                    Ok(Value::Node(node))
                })
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
