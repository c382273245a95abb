//! Compiles a syntax tree and its parameters into a [`Program`].
//!
//! The order is: parameters, processes, types, variables, the statements that make the initial
//! state, operations, specification, calls. Operations are compiled twice: the first pass finds
//! which own variables keep a value from one operation to the next; in the default semantics the
//! others are plain locals.

use std::sync::Arc;

use super::Semantics;
use super::ast::{Ast, Expr, ExprKind, Op, SpecDecl, Stmt, StmtKind, VarDecl};
use super::body::{Body, Global, Globals, Mode, shared_place};
use super::builtin;
use super::client;
use super::diagnostic::Diagnostic;
use super::flow::NodeIx;
use super::parser::Parsed;
use super::procedures;
use super::snapshot_spec;
use super::specification::{self, Signature};
use super::types::{Ty, Types};
use crate::program::{
    self, Dim, MOST_NODES, NodeType, Operation, Points, Program, Reclaim, Setup, SpecMachine,
    Variable,
};

pub(super) fn compile(
    ast: &Ast,
    source: &str,
    constants: Vec<(String, i32)>,
    semantics: Semantics,
    points: bool,
) -> Parsed<Program> {
    let mut types = Types { constants, points, ..Types::default() };
    let counts = declare_types(&mut types, ast)?;
    if !types.nodes.is_empty() && ast.client.heap.is_none() {
        let message = "the client does not say how many nodes there are";
        return Err(Diagnostic::new(ast.client.span, message)
            .help("add `heap 4 gc` (garbage is collected) or `heap 4 reuse` (nodes are freed)"));
    }
    let reuse = ast.client.heap.as_ref().is_some_and(|heap| heap.reuse);
    let mut mode = Mode {
        pat: semantics.is_pat(),
        points,
        reuse,
        asymmetric: ast.client.roles.iter().all(|role| !role.symmetric),
    };

    let mut globals = Globals::default();
    let mut shared = Vec::new();
    declare(&types, ast, &ast.shared, &mut globals.shared, &mut shared, &[])?;
    add_links(&types, ast, &mut globals.shared, &mut shared);
    let taken: Vec<String> = globals.shared.iter().map(|g| g.name.clone()).collect();
    let mut own = Vec::new();
    declare(&types, ast, &ast.locals, &mut globals.own, &mut own, &taken)?;
    for (variable, global) in ast.locals.iter().zip(&globals.own) {
        if let Some(init) = &variable.init {
            let values = constant_values(&types, &global.ty, init)?;
            let Some(values) = values else {
                return Err(Diagnostic::new(init.span, "this must be a constant"));
            };
            for (leaf, values) in values.into_iter().enumerate() {
                own[global.first + leaf].initial = values;
            }
        }
    }
    globals.own_layout = own.clone();
    globals.demoted = vec![false; globals.own.len()];
    globals.procedures = procedures::declared(&types, &ast.procedures)?;
    for at in 0..globals.procedures.len() {
        Body::new(&types, &globals, Mode { pat: false, ..mode }, Ty::Unit).check_procedure(at)?;
    }
    let setup = setup(&types, ast, &globals, &mut shared, mode)?;

    let signatures = signatures(&types, ast)?;
    let mut unlabelled = false;
    let mut kept = vec![false; own.len()];
    for (op, signature) in ast.ops.iter().zip(&signatures) {
        let (body, start) = operation(&types, &globals, mode, op, signature, true)?;
        unlabelled |= body.unlabelled;
        body.flow.needs_own(start).into_iter().for_each(|variable| kept[variable] = true);
    }
    let has_marks = has_marks(&types, ast)?;
    if points && !has_marks {
        let message = "the model has no linearization points";
        return Err(Diagnostic::new(ast.name.span, message)
            .help("mark them with `@lin`, or check without `--points`"));
    }
    let labelled = points && !unlabelled;
    if !mode.pat {
        for (demoted, global) in globals.demoted.iter_mut().zip(&globals.own) {
            let leaves = types.leaves(&global.ty).len();
            *demoted = !kept[global.first..global.first + leaves].contains(&true);
        }
    }
    mode.points = points;
    let mut operations = Vec::new();
    let mut locations = Vec::new();
    for (id, (op, signature)) in ast.ops.iter().zip(&signatures).enumerate() {
        let (body, start) = operation(&types, &globals, mode, op, signature, labelled)?;
        let fused = !mode.pat || labelled;
        // If calls are invisible, a mark carries the arguments of its call.
        let told = if labelled { op.args.len() } else { 0 };
        let steps = body.flow.steps(start, fused, (id, told), locations.len(), source)?;
        locations.extend(steps.locations);
        let results = types.leaves(&signature.result);
        operations.push(Operation {
            name: op.name.text.clone(),
            locals: body.locals,
            parameters: op.args.len(),
            results: results
                .iter()
                .flat_map(|leaf| {
                    let cells = leaf.dims.iter().map(|dim| dim.len).product();
                    vec![types.passed(&leaf.ty); cells]
                })
                .collect(),
            entry: steps.entry,
            line: op.span.line_column(source).0 as u32,
        });
    }
    // All own variables of a demoted declaration are unused; the remaining ones keep their places.
    let own = match globals.demoted.iter().all(|demoted| *demoted) {
        true => Vec::new(),
        false => own,
    };

    let (calls, roles) = client::calls(&types, ast, &counts, &signatures)?;
    let responses = client::responses(ast)?;
    let spec: Arc<dyn SpecMachine> = match &ast.spec {
        SpecDecl::Written { state, ops, span } => {
            Arc::new(specification::compile(&types, state, ops, *span, &signatures, source)?)
        }
        SpecDecl::Named { name, arguments } if name.text == "snapshot" => {
            snapshot_spec::snapshot(&types, name, arguments, &roles, &signatures)?
        }
        SpecDecl::Named { name, arguments } => {
            builtin::named(&types, name, arguments, &ast.ops, signatures)?
        }
    };
    let nodes = types.nodes.iter().map(|node| NodeType {
        name: node.name.clone(),
        fields: (node.fields.iter())
            .flat_map(|(name, ty)| layout(&types, name, ty))
            .flat_map(cells)
            .collect(),
        capacity: types.heap,
        reclaim: match &ast.client.heap {
            Some(heap) if heap.recycle => Reclaim::Recycled,
            Some(heap) if heap.reuse => Reclaim::Freed,
            _ => Reclaim::Collected,
        },
    });
    Ok(Program {
        name: ast.name.text.clone(),
        shared,
        nodes: nodes.collect(),
        own,
        operations,
        locations,
        calls,
        roles,
        spec,
        points: match (points, labelled) {
            (false, _) => Points::None,
            (true, true) => Points::Labelled,
            (true, false) => Points::Marked,
        },
        count_terminal_states: mode.pat,
        setup,
        responses,
    })
}

/// Declares the types of a model, the number of nodes and, for each role, of processes.
pub(super) fn declare_types(types: &mut Types, ast: &Ast) -> Parsed<Vec<usize>> {
    let counts = client::processes(types, &ast.client.roles)?;
    types.processes = counts.iter().sum();
    if let Some(heap) = &ast.client.heap {
        let size = types.number(&heap.size)?;
        if !(1..=MOST_NODES as i32).contains(&size) {
            let message = format!("a heap cannot have {size} nodes");
            return Err(Diagnostic::new(heap.size.span, message)
                .help(format!("at least 1 and at most {MOST_NODES} can be checked")));
        }
        types.heap = size as usize;
    }
    types.declare(&ast.types)?;
    Ok(counts)
}

/// The cells of an array, as variables of their own.
fn cells(variable: Variable) -> Vec<Variable> {
    let cell = |cell: usize| Variable {
        name: variable.cell_name(cell),
        ty: variable.ty.clone(),
        dims: Vec::new(),
        initial: vec![variable.first(cell)],
    };
    (0..variable.cells()).map(cell).collect()
}

fn layout(types: &Types, name: &str, ty: &Ty) -> Vec<Variable> {
    let leaves = types.leaves(ty).into_iter();
    leaves
        .map(|leaf| Variable {
            name: format!("{name}{}", leaf.path),
            ty: types.scalar(&leaf.ty),
            dims: leaf.dims,
            initial: vec![types.first(&leaf.ty)],
        })
        .collect()
}

fn declare(
    types: &Types,
    ast: &Ast,
    variables: &[VarDecl],
    globals: &mut Vec<Global>,
    into: &mut Vec<Variable>,
    taken: &[String],
) -> Parsed<()> {
    for variable in variables {
        let name = &variable.name.text;
        let ty = types.resolve(&variable.of)?;
        let twice = globals.iter().any(|g| g.name == *name)
            || taken.contains(name)
            || ast.parameters.iter().any(|p| p.name.text == *name);
        if twice || name == "points" {
            let message = format!("`{name}` is declared already");
            return Err(Diagnostic::new(variable.name.span, message).help("choose another name"));
        }
        if matches!(ty, Ty::Seq(_) | Ty::Set(_) | Ty::Map(..)) {
            let message = "sequences, sets and maps belong to specifications";
            return Err(Diagnostic::new(variable.of.span, message)
                .help("use an array or nodes of the heap"));
        }
        globals.push(Global { name: name.clone(), ty: ty.clone(), first: into.len(), links: None });
        into.extend(layout(types, name, &ty));
    }
    Ok(())
}

/// A flag for each process, beside each variable that is used with `ll`.
fn add_links(types: &Types, ast: &Ast, globals: &mut [Global], into: &mut Vec<Variable>) {
    let mut linked = Vec::new();
    for op in ast.ops.iter().chain(&ast.procedures) {
        find_links(&op.body, &mut linked);
    }
    for global in globals {
        if linked.contains(&global.name) {
            let dims = types.leaves(&global.ty).first().map(|leaf| leaf.dims.clone());
            let mut dims = dims.unwrap_or_default();
            dims.push(Dim { len: types.processes, by_process: true });
            global.links = Some(into.len());
            into.push(Variable {
                name: format!("{}#link", global.name),
                ty: program::Type::bool(),
                dims,
                initial: vec![0],
            });
        }
    }
}

fn find_links(block: &[Stmt], out: &mut Vec<String>) {
    fn root(expr: &Expr) -> Option<&str> {
        match &expr.kind {
            ExprKind::Name(name) => Some(name),
            ExprKind::Index(of, _) | ExprKind::Field(of, _) => root(of),
            _ => None,
        }
    }
    fn search(expr: &Expr, out: &mut Vec<String>) {
        if let ExprKind::Call(name, args) = &expr.kind
            && matches!(name.text.as_str(), "ll" | "sc" | "vl")
            && let Some(name) = args.first().and_then(root)
        {
            out.push(name.to_string());
        }
        super::parts::children(expr).into_iter().for_each(|child| search(child, out));
    }
    visit(block, &mut |stmt| {
        expressions(stmt).into_iter().for_each(|expr| search(expr, out));
    });
}

/// Every statement, outer ones first.
fn visit<'a>(block: &'a [Stmt], see: &mut impl FnMut(&'a Stmt)) {
    for stmt in block {
        see(stmt);
        match &stmt.kind {
            StmtKind::If(_, a, b) | StmtKind::When(_, a, b) => {
                visit(a, see);
                visit(b, see);
            }
            StmtKind::While(_, a)
            | StmtKind::Loop(a)
            | StmtKind::For(_, _, _, a)
            | StmtKind::ForEach { body: a, .. }
            | StmtKind::Atomic(a) => visit(a, see),
            StmtKind::Either(branches) => branches.iter().for_each(|branch| visit(branch, see)),
            _ => {}
        }
    }
}

fn expressions(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Local(variables) => variables.iter().filter_map(|v| v.init.as_ref()).collect(),
        StmtKind::Assign(a, b) | StmtKind::For(_, a, b, _) => vec![a, b],
        StmtKind::Expr(a)
        | StmtKind::If(a, _, _)
        | StmtKind::While(a, _)
        | StmtKind::Await(a)
        | StmtKind::Lock(a)
        | StmtKind::Unlock(a)
        | StmtKind::Free(a)
        | StmtKind::Assert(a) => vec![a],
        StmtKind::Return(a) => a.iter().collect(),
        _ => Vec::new(),
    }
}

/// Whether an operation marks a linearization point in a branch that the parameters choose.
fn has_marks(types: &Types, ast: &Ast) -> Parsed<bool> {
    fn marked(expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Lin(_))
            || super::parts::children(expr).into_iter().any(marked)
    }
    fn search(types: &Types, block: &[Stmt]) -> Parsed<bool> {
        for stmt in block {
            let found = match &stmt.kind {
                StmtKind::Lin => true,
                StmtKind::When(condition, a, b) => {
                    search(types, if types.truth(condition)? { a } else { b })?
                }
                StmtKind::If(_, a, b) => search(types, a)? || search(types, b)?,
                StmtKind::While(_, a)
                | StmtKind::Loop(a)
                | StmtKind::For(_, _, _, a)
                | StmtKind::ForEach { body: a, .. }
                | StmtKind::Atomic(a) => search(types, a)?,
                StmtKind::Either(branches) => {
                    let mut any = false;
                    for branch in branches {
                        any |= search(types, branch)?;
                    }
                    any
                }
                _ => false,
            };
            if found || expressions(stmt).into_iter().any(marked) {
                return Ok(true);
            }
        }
        Ok(false)
    }
    for op in ast.ops.iter().chain(&ast.procedures) {
        if search(types, &op.body)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first values of each scalar of a layout, if they are constants.
pub(super) fn constant_values(
    types: &Types,
    ty: &Ty,
    init: &Expr,
) -> Parsed<Option<Vec<Vec<i32>>>> {
    let scalar = |ty: &Ty, expr: &Expr| -> Parsed<Option<i32>> {
        let value = match &expr.kind {
            ExprKind::None | ExprKind::Null => types.nothing(ty),
            _ if types.has_data(ty) => {
                if types.number(expr).is_ok() {
                    let message = format!("values of {} have no names", types.show(ty));
                    return Err(Diagnostic::new(expr.span, message)
                        .help("a variable of a `data` type begins as `none`"));
                }
                None
            }
            ExprKind::Name(name) if matches!(ty, Ty::Enum(_) | Ty::Optional(_)) => {
                let of = match ty {
                    Ty::Optional(of) => &**of,
                    other => other,
                };
                match of {
                    Ty::Enum(e) => {
                        types.enums[*e].1.iter().position(|c| c == name).map(|c| c as i32)
                    }
                    _ => types.number(expr).ok(),
                }
            }
            ExprKind::Bool(truth) if *ty == Ty::Bool => Some(i32::from(*truth)),
            _ if matches!(ty, Ty::Int { .. } | Ty::Optional(_)) => types.number(expr).ok(),
            _ => None,
        };
        let is_none = matches!(expr.kind, ExprKind::None | ExprKind::Null);
        if let Some(value) = value
            && (!types.scalar(ty).contains(value) || !is_none && types.nothing(ty) == Some(value))
        {
            let message = format!("{value} is not one of {}", types.show(ty));
            return Err(Diagnostic::new(expr.span, message).help("widen the range"));
        }
        Ok(value)
    };
    match (ty, &init.kind) {
        (Ty::Array { of, len, .. }, ExprKind::Repeat(item, count)) => {
            let count = types.number(count)?;
            if count as usize != *len {
                let message = format!("the array has {len} cells, but here are {count}");
                return Err(Diagnostic::new(init.span, message));
            }
            constant_values(types, of, item)
        }
        (Ty::Array { of, len, .. }, ExprKind::List(items)) => {
            if items.len() != *len {
                let message = format!("the array has {len} cells, but here are {}", items.len());
                return Err(Diagnostic::new(init.span, message));
            }
            let mut all = Vec::new();
            for item in items {
                match scalar(of, item)? {
                    Some(value) => all.push(value),
                    None => return Ok(None),
                }
            }
            Ok(Some(vec![all]))
        }
        (Ty::Array { .. } | Ty::Record(_), _) => Ok(None),
        _ => Ok(scalar(ty, init)?.map(|value| vec![vec![value]])),
    }
}

/// Constants become initial values of variables; everything else runs before the first step.
fn setup(
    types: &Types,
    ast: &Ast,
    globals: &Globals,
    shared: &mut [Variable],
    mode: Mode,
) -> Parsed<Setup> {
    let mut body = Body::new(types, globals, Mode { pat: false, ..mode }, Ty::Unit);
    body.atomic = 1;
    body.setup = true;
    body.no_return = true;
    let start = body.at;
    for (variable, global) in ast.shared.iter().zip(&globals.shared) {
        let Some(init) = &variable.init else { continue };
        if let Some(values) = constant_values(types, &global.ty, init)? {
            for (leaf, values) in values.into_iter().enumerate() {
                shared[global.first + leaf].initial = values;
            }
            continue;
        }
        if matches!(global.ty, Ty::Array { .. }) {
            return Err(Diagnostic::new(init.span, "the first values of an array are constants")
                .help("assign its cells in `init { ... }`"));
        }
        body.span = init.span;
        let value = body.value(init)?;
        let leaves = body.coerce(value, &global.ty, init.span)?;
        let stores = body.store(&shared_place(global), leaves);
        body.emit(stores, true);
    }
    body.block(&ast.init)?;
    let end = body.at;
    let statements = body.flow.straight(start, end)?;
    let skips = ast.init.iter().any(|stmt| matches!(stmt.kind, StmtKind::Skip));
    Ok(Setup { locals: body.locals, body: statements, is_a_step: mode.pat && skips })
}

/// Whether a value of the type can be passed to an operation.
fn is_scalar(ty: &Ty) -> bool {
    matches!(ty, Ty::Int { .. } | Ty::Bool | Ty::Enum(_) | Ty::Data(_) | Ty::Optional(_))
        || *ty == Ty::Any
}

pub(super) fn signatures(types: &Types, ast: &Ast) -> Parsed<Vec<Signature>> {
    let mut out: Vec<Signature> = Vec::new();
    for op in &ast.ops {
        if out.iter().any(|other| other.name == op.name.text) {
            let message = format!("a second operation is called `{}`", op.name.text);
            return Err(Diagnostic::new(op.name.span, message).help("rename one of them"));
        }
        let mut args = Vec::new();
        for arg in &op.args {
            let ty = types.resolve(&arg.of)?;
            if !is_scalar(&ty) {
                let message = format!("an argument cannot be of type {}", types.show(&ty));
                return Err(Diagnostic::new(arg.of.span, message)
                    .help("numbers, truth values and enumerations can be passed"));
            }
            args.push(ty);
        }
        let result = match &op.result {
            None => Ty::Unit,
            Some(ty) => types.resolve(ty)?,
        };
        let is_plain_array = match &result {
            Ty::Array { of, by_process, .. } => is_scalar(of) && !by_process,
            _ => true,
        };
        if matches!(result, Ty::Node(_) | Ty::Lock | Ty::Seq(_) | Ty::Set(_))
            || matches!(result, Ty::Map(..) | Ty::Pid)
            || !is_plain_array
        {
            let span = op.result.as_ref().map_or(op.span, |ty| ty.span);
            let message = format!("a result cannot be of type {}", types.show(&result));
            return Err(Diagnostic::new(span, message)
                .help("numbers, truth values, enumerations, and records or arrays of them can be returned"));
        }
        out.push(Signature { name: op.name.text.clone(), args, result });
    }
    Ok(out)
}

fn operation<'a>(
    types: &'a Types,
    globals: &'a Globals,
    mode: Mode,
    op: &Op,
    signature: &Signature,
    labelled: bool,
) -> Parsed<(Body<'a>, NodeIx)> {
    let mut body = Body::new(types, globals, mode, signature.result.clone());
    body.labelled = labelled;
    let start = body.at;
    for (arg, ty) in op.args.iter().zip(&signature.args) {
        body.bind(&arg.name, ty.clone())?;
    }
    let falls = body.block(&op.body)?;
    if falls {
        if signature.result != Ty::Unit {
            let message = format!("`{}` can end without returning a value", signature.name);
            let help = format!("end it with `return` and one of {}", types.show(&signature.result));
            return Err(Diagnostic::new(op.span, message).help(help));
        }
        // Returning costs a step in PAT's semantics, unless returns are invisible.
        body.fresh = mode.pat && !labelled;
        body.span = op.name.span;
        body.finish(Vec::new(), false);
    }
    Ok((body, start))
}
