//! Compiles the statements of an operation into its graph.
//!
//! Each function returns whether the end of its statement can be reached, which finds missing
//! returns and unreachable statements.

use super::ast::{Block, Expr, ExprKind, Stmt, StmtKind, VarDecl};
use super::body::{Body, Value, binary, read};
use super::diagnostic::{Diagnostic, Span};
use super::parser::Parsed;
use super::parts::{has_effect, is_place};
use super::procedures;
use super::types::Ty;
use crate::program::{self, Binary};

/// Whether the end of a statement can be reached.
type Falls = bool;

impl Body<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Parsed<Falls> {
        let visible = self.scope.len();
        let mut falls = true;
        let mut rest = block.as_slice();
        while let [stmt, tail @ ..] = rest {
            if !falls {
                return Err(Diagnostic::new(stmt.span, "this is never reached")
                    .help("remove it, or what ends the block before it"));
            }
            rest = tail;
            // `return v @lin` is a mark that knows the result.
            if matches!(stmt.kind, StmtKind::Lin)
                && let [Stmt { kind: StmtKind::Return(value), span }, after @ ..] = tail
            {
                self.begin(*span);
                self.entangled = value.as_ref().is_some_and(|value| self.entangles(value));
                self.calls = value.iter().map(|value| value.span).collect();
                self.give_back(value.as_ref(), *span, true)?;
                falls = false;
                rest = after;
                continue;
            }
            falls = self.statement(stmt)?;
        }
        self.scope.truncate(visible);
        Ok(falls)
    }

    fn begin(&mut self, span: Span) {
        self.span = span;
        self.temporaries_used = self.temporaries_kept;
        if self.mode.pat && self.atomic == 0 {
            self.fresh = true;
        }
    }

    fn statement(&mut self, stmt: &Stmt) -> Parsed<Falls> {
        self.begin(stmt.span);
        self.entangled = self.is_entangled(stmt);
        self.calls = procedures::alone(stmt);
        let begins = self.begins;
        self.begins &=
            matches!(stmt.kind, StmtKind::Local(_) | StmtKind::When(..) | StmtKind::Await(_));
        match &stmt.kind {
            StmtKind::Local(variables) => {
                for variable in variables {
                    self.declaration(variable)?;
                }
            }
            StmtKind::Assign(target, value) => self.assign(target, value)?,
            StmtKind::Expr(expr) => match &expr.kind {
                ExprKind::Lin(_) => self.attempt_alone(expr)?,
                ExprKind::Call(name, _) if matches!(name.text.as_str(), "cas" | "sc") => {
                    self.attempt_alone(expr)?;
                }
                ExprKind::Call(..) | ExprKind::Method(..) | ExprKind::New(..) => {
                    if !has_effect(expr) {
                        self.value(expr)?;
                        return Err(Diagnostic::new(expr.span, "this value is not used")
                            .help("assign it to a variable"));
                    }
                    self.value(expr)?;
                }
                _ => return Err(Diagnostic::new(expr.span, "this value is not used")),
            },
            StmtKind::If(condition, then, otherwise) => {
                self.span = condition.span;
                let (yes, no, end) = (self.flow.open(), self.flow.open(), self.flow.open());
                self.condition(condition, yes, no)?;
                self.at = yes;
                let first = self.branch_to(then, end)?;
                self.at = no;
                let second = self.branch_to(otherwise, end)?;
                self.at = end;
                return Ok(first || second);
            }
            StmtKind::While(condition, body) => {
                if self.atomic > 0 {
                    return self.atomic_while(condition, body);
                }
                self.span = condition.span;
                let (head, inside, end) =
                    (self.flow.open_head(), self.flow.open(), self.flow.open());
                self.jump(head);
                self.at = head;
                self.condition(condition, inside, end)?;
                self.at = inside;
                self.loops.push(Some((end, head)));
                self.branch_to(body, head)?;
                self.loops.pop();
                self.at = end;
            }
            StmtKind::Loop(body) => {
                if self.atomic > 0 {
                    return Err(Diagnostic::new(stmt.span, "`loop` cannot stand inside `atomic`")
                        .help("`while` can, if it has no `break`"));
                }
                let (head, end) = (self.flow.open_head(), self.flow.open());
                self.jump(head);
                self.at = head;
                self.loops.push(Some((end, head)));
                self.branch_to(body, head)?;
                self.loops.pop();
                self.at = end;
                return breaks(self.types, body);
            }
            StmtKind::For(name, low, high, body) => self.for_loop(name, low, high, body)?,
            StmtKind::ForEach { name, ordered, body } => self.for_each(name, *ordered, body)?,
            StmtKind::Break | StmtKind::Continue => {
                let word = if matches!(stmt.kind, StmtKind::Break) { "break" } else { "continue" };
                match self.loops.last() {
                    Some(Some((end, head))) => {
                        let to = if word == "break" { *end } else { *head };
                        self.jump(to);
                        return Ok(false);
                    }
                    Some(None) => {
                        let message = format!("`{word}` cannot leave a loop inside `atomic`");
                        return Err(Diagnostic::new(stmt.span, message)
                            .help("put its condition into the loop's"));
                    }
                    None => {
                        let message = format!("`{word}` stands outside of a loop");
                        return Err(Diagnostic::new(stmt.span, message));
                    }
                }
            }
            StmtKind::Return(value) => {
                self.give_back(value.as_ref(), stmt.span, false)?;
                return Ok(false);
            }
            StmtKind::Atomic(body) => {
                if self.atomic == 0 {
                    self.fresh = true;
                }
                self.atomic += 1;
                let falls = self.block(body)?;
                self.atomic -= 1;
                if self.atomic == 0 && falls && self.fresh {
                    // It was empty.
                    self.emit(Vec::new(), true);
                }
                self.fresh = false;
                return Ok(falls);
            }
            StmtKind::Await(condition) => {
                if has_effect(condition) {
                    return Err(Diagnostic::new(condition.span, "a guard changes nothing")
                        .help("use `while` to try until it succeeds"));
                }
                let value = self.whole(condition)?;
                self.require_truth(&value, condition.span)?;
                self.begins &= !value.shared;
                if begins && self.begins {
                    self.flow.keep_from_calling(self.at);
                }
                self.guard(value.leaves[0].clone(), value.shared);
            }
            StmtKind::Lock(target) => {
                let place = self.lock_place(target)?;
                let free = binary(
                    Binary::Eq,
                    self.load(&place).leaves[0].clone(),
                    program::Expr::Const(-1),
                );
                let mut body = vec![program::Stmt::Await(free)];
                body.extend(self.store(&place, vec![program::Expr::Me]));
                self.emit(body, true);
            }
            StmtKind::Unlock(target) => {
                let place = self.lock_place(target)?;
                let mine =
                    binary(Binary::Eq, self.load(&place).leaves[0].clone(), program::Expr::Me);
                let message = "a process unlocks a lock that it does not hold".to_string();
                let mut body = vec![program::Stmt::Assert(mine, message)];
                body.extend(self.store(&place, vec![program::Expr::Const(-1)]));
                self.emit(body, true);
            }
            StmtKind::Free(target) => {
                if !self.mode.reuse {
                    let message = "nothing is freed by hand where garbage is collected";
                    return Err(Diagnostic::new(stmt.span, message)
                        .help("say `heap n reuse` in the client, or remove this"));
                }
                let value = self.argument(target)?;
                let Ty::Node(node) = value.ty else {
                    let message = format!("expected a node, found {}", self.types.show(&value.ty));
                    return Err(Diagnostic::new(target.span, message));
                };
                self.emit(vec![program::Stmt::Free(node, value.leaves[0].clone())], true);
            }
            StmtKind::Skip => self.emit(Vec::new(), false),
            StmtKind::Assert(condition) => {
                if has_effect(condition) {
                    return Err(Diagnostic::new(condition.span, "an assertion changes nothing")
                        .help("assign it to a local first"));
                }
                let value = self.whole(condition)?;
                self.require_truth(&value, condition.span)?;
                let message = "an assertion is false".to_string();
                let body = vec![program::Stmt::Assert(value.leaves[0].clone(), message)];
                self.emit(body, value.shared);
            }
            StmtKind::Either(branches) => {
                let starts: Vec<_> = branches.iter().map(|_| self.flow.open()).collect();
                let end = self.flow.open();
                self.choose(starts.clone());
                let mut falls = false;
                for (start, branch) in starts.into_iter().zip(branches) {
                    self.at = start;
                    falls |= self.branch_to(branch, end)?;
                }
                self.at = end;
                return Ok(falls);
            }
            StmtKind::When(condition, then, otherwise) => {
                let chosen = if self.types.truth(condition)? { then } else { otherwise };
                return self.block(chosen);
            }
            StmtKind::Lin => {
                // A mark is not a step, but may be the first statement in the step of an `atomic`.
                self.fresh &= self.atomic > 0;
                let mark = self.lin(None);
                self.emit(mark.into_iter().collect(), false);
            }
        }
        Ok(true)
    }

    /// A block that goes on to `end`.
    pub(super) fn branch_to(&mut self, block: &Block, end: usize) -> Parsed<Falls> {
        let falls = self.block(block)?;
        if falls {
            self.jump(end);
        }
        Ok(falls)
    }

    fn attempt_alone(&mut self, expr: &Expr) -> Parsed<()> {
        let end = self.flow.open();
        self.condition(expr, end, end)?;
        self.at = end;
        Ok(())
    }

    /// A value that is computed at once, however many accesses it makes.
    fn whole(&mut self, expr: &Expr) -> Parsed<Value> {
        let fresh = self.fresh;
        self.atomic += 1;
        let value = self.value(expr);
        self.atomic -= 1;
        self.fresh = fresh;
        value
    }

    fn require_truth(&self, value: &Value, span: Span) -> Parsed<()> {
        match value.ty {
            Ty::Bool => Ok(()),
            _ => Err(self.mismatch(&value.ty, &Ty::Bool, span)),
        }
    }

    fn lock_place(&mut self, target: &Expr) -> Parsed<super::body::PlaceRef> {
        let place = self.place(target)?;
        if place.ty != Ty::Lock {
            let message = format!("expected a lock, found {}", self.types.show(&place.ty));
            return Err(Diagnostic::new(target.span, message).help("declare it: `shared L: lock`"));
        }
        Ok(place)
    }

    fn declaration(&mut self, variable: &VarDecl) -> Parsed<()> {
        let ty = self.types.resolve(&variable.of)?;
        if matches!(ty, Ty::Seq(_) | Ty::Set(_) | Ty::Map(..)) {
            let message = "sequences, sets and maps belong to specifications";
            return Err(Diagnostic::new(variable.of.span, message)
                .help("use an array or nodes of the heap"));
        }
        // The value is computed before the name is visible.
        let costs = variable.init.as_ref().is_some_and(|init| self.touches(init));
        self.begins &= !costs;
        if self.mode.pat && self.atomic == 0 {
            self.fresh = costs;
        }
        let place = self.bind(&variable.name, ty.clone())?;
        match &variable.init {
            Some(init) => {
                let hidden = self.scope.pop();
                let value = self.value_into(init, Some(&place))?;
                self.scope.extend(hidden);
                let shared = value.shared;
                let leaves = self.coerce(value, &ty, init.span)?;
                self.put(&place, leaves, shared);
            }
            None => {
                // In a loop the variable is new in every round, in a procedure in every call.
                if !self.loops.is_empty() || !self.active.is_empty() {
                    self.clear(&place);
                }
            }
        }
        Ok(())
    }

    /// Gives a variable of the operation its first value, cell by cell.
    fn clear(&mut self, place: &super::body::PlaceRef) {
        if let Ty::Array { of, len, .. } = place.ty.clone() {
            for index in 0..len {
                let mut cell = super::body::PlaceRef { ty: (*of).clone(), ..place.clone() };
                cell.indices.push(program::Expr::Const(index as i32));
                self.clear(&cell);
            }
            return;
        }
        // A record has the cells of its arrays beside each other.
        if let Ty::Record(record) = place.ty {
            let mut offset = place.offset;
            for (_, ty) in self.types.records[record].fields.clone() {
                let leaves = self.types.leaves(&ty).len();
                self.clear(&super::body::PlaceRef { ty, offset, ..place.clone() });
                offset += leaves;
            }
            return;
        }
        let scalars = self.types.leaves(&place.ty).into_iter();
        let first = scalars.map(|leaf| program::Expr::Const(self.types.first(&leaf.ty)));
        let leaves = first.collect();
        self.put(place, leaves, false);
    }

    /// Assigns, unless the value was computed in place.
    pub(super) fn put(
        &mut self,
        place: &super::body::PlaceRef,
        leaves: Vec<program::Expr>,
        shared: bool,
    ) {
        let stays = |stmt: &program::Stmt| match stmt {
            program::Stmt::Set(to, program::Expr::Read(from)) => {
                format!("{to:?}") != format!("{from:?}")
            }
            _ => true,
        };
        let body: Vec<_> = self.store(place, leaves).into_iter().filter(stays).collect();
        // Under PAT's semantics every statement is a step, even one that changes nothing.
        let costs = self.mode.pat && self.atomic == 0 && self.fresh;
        if !body.is_empty() || costs {
            self.emit(body, shared || place.is_shared());
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> Parsed<()> {
        let place = self.place(target)?;
        if self.types.leaves(&place.ty).iter().any(|leaf| !leaf.dims.is_empty()) {
            let message = "an array cannot be assigned as a whole";
            return Err(Diagnostic::new(target.span, message).help("assign its cells"));
        }
        if place.ty == Ty::Lock {
            return Err(Diagnostic::new(target.span, "a lock cannot be assigned")
                .help("use `lock(l)` and `unlock(l)`"));
        }
        self.require_steady(&place, target.span)?;
        let computed = self.value_into(value, Some(&place))?;
        // Reading and writing are two accesses.
        let computed = match computed.shared && place.is_shared() && self.fine() {
            true => self.hoist(computed),
            false => computed,
        };
        let shared = computed.shared;
        let ty = place.ty.clone();
        let leaves = self.coerce(computed, &ty, value.span)?;
        self.put(&place, leaves, shared);
        Ok(())
    }

    fn for_loop(
        &mut self,
        name: &super::ast::Name,
        low: &Expr,
        high: &Expr,
        body: &Block,
    ) -> Parsed<()> {
        if self.atomic > 0 {
            return Err(Diagnostic::new(name.span, "`for` cannot stand inside `atomic`")
                .help("`while` can, if it has no `break`"));
        }
        let costs = self.touches(low) || self.touches(high);
        if self.mode.pat {
            self.fresh = costs;
        }
        let low_value = self.argument(low)?;
        let high_value = self.value(high)?;
        let (Ty::Int { lo, .. }, Ty::Int { hi, .. }) = (&low_value.ty, &high_value.ty) else {
            return Err(Diagnostic::new(low.span.to(high.span), "expected a range of numbers"));
        };
        let ty = Ty::Int { lo: *lo, hi: hi.saturating_add(1).max(*lo) };
        // The end is computed once, unless it never changes.
        let fixed = matches!(high_value.leaves[0], program::Expr::Const(_));
        let end_value = if fixed {
            high_value.leaves[0].clone()
        } else {
            let limit = self.declare(&format!("{}_last", name.text), &high_value.ty);
            let limit = super::body::local_place(limit, high_value.ty.clone());
            self.put(&limit, high_value.leaves.clone(), high_value.shared);
            self.load(&limit).leaves[0].clone()
        };
        let outside = self.scope.len();
        let place = self.bind(name, ty)?;
        self.put(&place, low_value.leaves, false);
        let (head, inside, step, end) =
            (self.flow.open_head(), self.flow.open(), self.flow.open(), self.flow.open());
        self.jump(head);
        self.at = head;
        self.fresh = self.mode.pat;
        let now = self.load(&place).leaves[0].clone();
        self.test(binary(Binary::Le, now.clone(), end_value), inside, end);
        self.at = inside;
        self.loops.push(Some((end, step)));
        self.branch_to(body, step)?;
        self.loops.pop();
        self.at = step;
        self.fresh = false;
        self.put(&place, vec![binary(Binary::Add, now, program::Expr::Const(1))], false);
        self.jump(head);
        self.at = end;
        self.scope.truncate(outside);
        Ok(())
    }

    /// A loop inside one step.
    fn atomic_while(&mut self, condition: &Expr, body: &Block) -> Parsed<Falls> {
        if has_effect(condition) {
            let message = "the condition of a loop inside `atomic` changes nothing";
            return Err(Diagnostic::new(condition.span, message).help("assign it to a local first"));
        }
        let value = self.truth(condition)?;
        // The step must begin before the loop, for the loop is copied as a whole.
        let before = self.at;
        let (start, end) = (self.flow.open(), self.flow.open());
        let fresh = std::mem::take(&mut self.fresh);
        self.at = start;
        self.loops.push(None);
        let result = std::mem::replace(&mut self.no_return, true);
        self.branch_to(body, end)?;
        self.no_return = result;
        self.loops.pop();
        let inside = self.flow.straight(start, end)?;
        self.at = before;
        self.fresh = fresh;
        self.emit(vec![program::Stmt::While(value.leaves[0].clone(), inside)], true);
        Ok(true)
    }

    /// The cells of an array that belongs to the process, as a result.
    fn cells(&mut self, value: &Expr, result: &Ty, len: usize) -> Parsed<Vec<program::Expr>> {
        if !is_place(value) {
            return Err(Diagnostic::new(
                value.span,
                "an array that is returned must be a variable",
            ));
        }
        let place = self.place(value)?;
        if place.is_shared() {
            let message = "an array is read cell by cell";
            return Err(Diagnostic::new(value.span, message).help("copy it into a local one first"));
        }
        let fits = match (&place.ty, result) {
            (Ty::Array { of: found, len: cells, .. }, Ty::Array { of: wanted, .. }) => {
                *cells == len && self.types.parts_fit(found, wanted)
            }
            _ => false,
        };
        if !fits {
            return Err(self.mismatch(&place.ty, result, value.span));
        }
        let cell = |number: usize| {
            let mut place = place.clone();
            place.indices.push(program::Expr::Const(number as i32));
            read(place.leaf(0))
        };
        Ok((0..len).map(cell).collect())
    }

    fn give_back(&mut self, value: Option<&Expr>, span: Span, lin: bool) -> Parsed<()> {
        if self.no_return {
            let message = "`return` cannot stand in a loop inside `atomic`";
            return Err(Diagnostic::new(span, message));
        }
        if !self.active.is_empty() {
            return self.give_back_to_caller(value, span, lin);
        }
        let pat_step = self.mode.pat && self.atomic == 0;
        if pat_step && self.labelled && !value.is_some_and(|v| self.touches(v)) {
            self.fresh = false;
        }
        let result = self.result.clone();
        let (leaves, shared) = match (value, &result) {
            (None, Ty::Unit) => (Vec::new(), false),
            (None, _) => {
                let message = format!("this operation returns {}", self.types.show(&result));
                return Err(Diagnostic::new(span, message).help("write `return` and the value"));
            }
            (Some(value), Ty::Unit) => {
                let message = "this operation returns nothing";
                let help = "say what it returns: `op name() -> 0..3`";
                return Err(Diagnostic::new(value.span, message).help(help));
            }
            (Some(value), Ty::Array { len, .. }) => (self.cells(value, &result, *len)?, false),
            (Some(value), _) => {
                let computed = self.value(value)?;
                let shared = computed.shared;
                (self.coerce(computed, &result, value.span)?, shared)
            }
        };
        if lin {
            let mark = self.lin(Some(leaves.clone()));
            if let Some(mark) = mark {
                self.emit(vec![mark], shared);
                self.finish(leaves, false);
                return Ok(());
            }
        }
        self.finish(leaves, shared);
        Ok(())
    }
}

/// Whether a loop can be left by `break`.
fn breaks(types: &super::types::Types, block: &Block) -> Parsed<bool> {
    for stmt in block {
        let found = match &stmt.kind {
            StmtKind::Break => true,
            StmtKind::If(_, a, b) => breaks(types, a)? || breaks(types, b)?,
            StmtKind::Atomic(a) => breaks(types, a)?,
            StmtKind::Either(branches) => {
                let mut any = false;
                for branch in branches {
                    any |= breaks(types, branch)?;
                }
                any
            }
            StmtKind::When(condition, a, b) => {
                breaks(types, if types.truth(condition)? { a } else { b })?
            }
            _ => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
