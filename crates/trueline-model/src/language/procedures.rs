//! Procedures, and loops over all processes.
//!
//! A procedure is written out where it is called: its accesses are steps of the operation, calling
//! and returning cost nothing. An operation has one set of variables for each procedure, however
//! often it calls it, as no procedure is active twice. A call stands alone in its statement, so that
//! nothing that was computed before it is used after it.
//!
//! `for p in pid` visits each process once in any order: every order is tried. An order of their own
//! would tell processes apart, for which `ordered` asks; the client must then say `asymmetric`.

use super::ast::{Block, Expr, ExprKind, Name, Op, Stmt as Statement, StmtKind};
use super::body::{Body, PlaceRef, Value, binary, read};
use super::diagnostic::{Diagnostic, Span};
use super::flow::NodeIx;
use super::functions::FUNCTIONS;
use super::parser::Parsed;
use super::types::{Ty, Types};
use crate::program::{Binary, Expr as Code, Place, Stmt, Unary, VarId};

/// A procedure with its types.
#[derive(Clone, Debug)]
pub(super) struct Procedure {
    pub(super) op: Op,
    args: Vec<Ty>,
    result: Ty,
}

/// A procedure that is being written out.
pub(super) struct Active {
    procedure: usize,
    /// Where it returns to, and where the result goes.
    end: NodeIx,
    result: Option<PlaceRef>,
    /// How many variables it has declared.
    declared: usize,
}

/// The variables of a procedure in an operation, in the order of their declarations.
pub(super) type Instance = Vec<(String, Ty, VarId)>;

/// The types of all procedures.
pub(super) fn declared(types: &Types, procedures: &[Op]) -> Parsed<Vec<Procedure>> {
    let mut out: Vec<Procedure> = Vec::new();
    for op in procedures {
        let name = &op.name;
        let twice = out.iter().any(|p| p.op.name.text == name.text);
        if twice || FUNCTIONS.contains(&name.text.as_str()) {
            let message = match twice {
                true => format!("a second procedure is called `{}`", name.text),
                false => format!("`{}` is a function of the language", name.text),
            };
            return Err(Diagnostic::new(name.span, message).help("choose another name"));
        }
        let passed = |of: &super::ast::Type| {
            let ty = types.resolve(of)?;
            let scalar = types.leaves(&ty).iter().all(|leaf| leaf.dims.is_empty());
            let known = !matches!(ty, Ty::Seq(_) | Ty::Set(_) | Ty::Map(..) | Ty::Lock);
            match scalar && known {
                true => Ok(ty),
                false => {
                    let message = format!("{} cannot be passed", types.show(&ty));
                    Err(Diagnostic::new(of.span, message)
                        .help("pass scalars and records; arrays and locks are used where they are"))
                }
            }
        };
        let args = op.args.iter().map(|arg| passed(&arg.of)).collect::<Parsed<_>>()?;
        let result = op.result.as_ref().map_or(Ok(Ty::Unit), passed)?;
        out.push(Procedure { op: op.clone(), args, result });
    }
    Ok(out)
}

/// The calls that stand alone: `f(x)`, `y = f(x)`, `local y: T = f(x)`, `return f(x)`.
pub(super) fn alone(stmt: &Statement) -> Vec<Span> {
    match &stmt.kind {
        StmtKind::Expr(call) => vec![call.span],
        StmtKind::Assign(target, call) if matches!(target.kind, ExprKind::Name(_)) => {
            vec![call.span]
        }
        StmtKind::Local(variables) => {
            variables.iter().filter_map(|v| v.init.as_ref()).map(|init| init.span).collect()
        }
        StmtKind::Return(value) => value.iter().map(|value| value.span).collect(),
        _ => Vec::new(),
    }
}

impl Body<'_> {
    /// The first variable of a declaration. In a procedure that was called before it is the one of
    /// the call before.
    pub(super) fn first_of(&mut self, name: &str, ty: &Ty) -> VarId {
        let Some(active) = self.active.last_mut() else { return self.declare(name, ty) };
        let (procedure, number) = (active.procedure, active.declared);
        active.declared += 1;
        if let Some((_, _, first)) = self.instances[procedure].get(number) {
            return *first;
        }
        let first = self.declare(name, ty);
        self.instances[procedure].push((name.to_string(), ty.clone(), first));
        first
    }

    /// Writes a procedure out; its result.
    pub(super) fn inline(&mut self, at: usize, args: &[Expr], span: Span) -> Parsed<Value> {
        let globals = self.globals;
        let Procedure { op, args: types, .. } = &globals.procedures[at];
        let name = &op.name.text;
        if !self.calls.contains(&span) {
            let message = format!("the call of `{name}` must stand alone");
            return Err(Diagnostic::new(span, message)
                .help(format!("write `local x: T = {name}(...)` before it")));
        }
        if self.mode.pat {
            let message = "procedures have no cost in the semantics of PAT";
            return Err(Diagnostic::new(span, message).help("write out what it does"));
        }
        if self.active.iter().any(|active| active.procedure == at) {
            let message = format!("`{name}` calls itself");
            return Err(Diagnostic::new(span, message)
                .help("a procedure is written out where it is called: use a loop"));
        }
        if args.len() != types.len() {
            let (wanted, given) = (types.len(), args.len());
            let message = format!("`{name}` takes {wanted} arguments, but here are {given}");
            return Err(Diagnostic::new(span, message));
        }
        let mut values = Vec::new();
        for (arg, ty) in args.iter().zip(types) {
            let value = self.argument(arg)?;
            values.push(self.coerce(value, ty, arg.span)?);
        }
        self.enter(at, values)
    }

    /// Checks a procedure that nobody may call.
    pub(super) fn check_procedure(&mut self, at: usize) -> Parsed<()> {
        let globals = self.globals;
        let types = self.types;
        let firsts = globals.procedures[at].args.iter().map(|ty| {
            types.leaves(ty).iter().map(|leaf| Code::Const(types.first(&leaf.ty))).collect()
        });
        self.enter(at, firsts.collect()).map(drop)
    }

    fn enter(&mut self, at: usize, values: Vec<Vec<Code>>) -> Parsed<Value> {
        let globals = self.globals;
        let Procedure { op, args, result } = &globals.procedures[at];
        let place = (*result != Ty::Unit).then(|| self.destination(result, None));
        let end = self.flow.open();
        let scope = std::mem::take(&mut self.scope);
        let loops = std::mem::take(&mut self.loops);
        let kept = std::mem::replace(&mut self.temporaries_kept, self.temporaries_used);
        let calls = std::mem::take(&mut self.calls);
        let outside = (self.span, self.no_return, self.entangled);
        self.no_return = false;
        self.begins = false;
        self.active.push(Active { procedure: at, end, result: place.clone(), declared: 0 });
        for ((arg, ty), leaves) in op.args.iter().zip(args).zip(values) {
            let variable = self.bind(&arg.name, ty.clone())?;
            self.put(&variable, leaves, false);
        }
        if self.block(&op.body)? {
            if *result != Ty::Unit {
                let message = format!("`{}` can end without returning a value", op.name.text);
                let help = format!("end it with `return` and one of {}", self.types.show(result));
                return Err(Diagnostic::new(op.span, message).help(help));
            }
            self.jump(end);
        }
        self.active.pop();
        self.at = end;
        (self.span, self.no_return, self.entangled) = outside;
        (self.scope, self.loops, self.calls) = (scope, loops, calls);
        self.temporaries_used = self.temporaries_kept;
        self.temporaries_kept = kept;
        Ok(match place {
            Some(place) => self.load(&place),
            None => Value { ty: Ty::Unit, leaves: Vec::new(), shared: false },
        })
    }

    /// `return` in a procedure.
    pub(super) fn give_back_to_caller(
        &mut self,
        value: Option<&Expr>,
        span: Span,
        lin: bool,
    ) -> Parsed<()> {
        let Some(Active { procedure, end, result, .. }) = self.active.last() else { return Ok(()) };
        let (end, place) = (*end, result.clone());
        let result = &self.globals.procedures[*procedure].result;
        let computed = match (value, place) {
            (None, None) => None,
            (None, Some(_)) => {
                let message = format!("this procedure returns {}", self.types.show(result));
                return Err(Diagnostic::new(span, message).help("write `return` and the value"));
            }
            (Some(value), None) => {
                let help = "say what it returns: `procedure name() -> 0..3`";
                return Err(
                    Diagnostic::new(value.span, "this procedure returns nothing").help(help)
                );
            }
            (Some(value), Some(place)) => {
                let computed = self.value(value)?;
                let shared = computed.shared;
                let leaves = self.coerce(computed, result, value.span)?;
                Some((self.store(&place, leaves), shared))
            }
        };
        let (mut body, shared) = computed.unwrap_or_default();
        if lin {
            body.extend(self.lin(None));
        }
        if !body.is_empty() {
            self.emit(body, shared);
        }
        self.jump(end);
        Ok(())
    }

    /// A loop in which `name` is each process once.
    pub(super) fn for_each(&mut self, name: &Name, ordered: bool, body: &Block) -> Parsed<()> {
        let wrong = |message: &str, help: &str| {
            Err(Diagnostic::new(name.span, message.to_string()).help(help.to_string()))
        };
        if self.atomic > 0 {
            return wrong("`for` cannot stand inside `atomic`", "visit one process in each step");
        }
        if self.mode.pat {
            let message = "a loop over processes has no cost in the semantics of PAT";
            return wrong(message, "use an index and `asymmetric`");
        }
        if ordered && !self.mode.asymmetric {
            let help = "leave out `ordered`: any order is tried, or say `asymmetric` in the client";
            return wrong("processes that are alike have no order", help);
        }
        let processes = self.types.processes;
        let outside = self.scope.len();
        let visited = Ty::Array { of: Box::new(Ty::Bool), len: processes, by_process: true };
        let seen = self.first_of(&format!("{}_seen", name.text), &visited);
        let number =
            self.first_of(&format!("{}_next", name.text), &Ty::Int { lo: 0, hi: processes as i32 });
        let number = Place::Local(number, vec![]);
        let cell = |process: usize| Place::Local(seen, vec![Code::Const(process as i32)]);
        let place = self.bind(name, Ty::Pid)?;
        let clear = (0..processes).map(|process| Stmt::Set(cell(process), Code::Const(0)));
        self.emit(clear.collect(), false);
        let (head, inside, end) = (self.flow.open_head(), self.flow.open(), self.flow.open());
        self.jump(head);
        self.at = head;
        let open = |process: usize| Code::Unary(Unary::Not, Box::new(read(cell(process))));
        // How many of the first processes are left.
        let left = |of: usize| {
            (0..of).map(open).reduce(|a, b| binary(Binary::Add, a, b)).unwrap_or(Code::Const(0))
        };
        self.test(binary(Binary::Gt, left(processes), Code::Const(0)), inside, end);
        self.at = inside;
        let last = binary(Binary::Sub, left(processes), Code::Const(1));
        let choice = match ordered {
            true => Stmt::Set(number.clone(), Code::Const(0)),
            false => Stmt::Pick(number.clone(), Code::Const(0), last),
        };
        // The process of that number among those that are left.
        let chosen = (0..processes).rev().fold(Code::Const(-1), |rest, process| {
            let is_it = binary(Binary::Eq, read(number.clone()), left(process));
            let test = binary(Binary::And, open(process), is_it);
            Code::If(Box::new(test), Box::new(Code::Const(process as i32)), Box::new(rest))
        });
        let now = place.leaf(0);
        let visit = Stmt::Set(Place::Local(seen, vec![read(now.clone())]), Code::Const(1));
        self.emit(vec![choice, Stmt::Set(now, chosen), visit], false);
        self.loops.push(Some((end, head)));
        self.branch_to(body, head)?;
        self.loops.pop();
        self.at = end;
        self.scope.truncate(outside);
        Ok(())
    }
}
