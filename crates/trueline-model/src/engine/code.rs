//! Code: the statements of a program with every name resolved to a slot.
//!
//! Compiled once per program. [`super::step`] runs it.

use crate::program::{Binary, Expr, NodeId, Place, Program, Stmt, Type, Unary, VarId, Variable};

use super::layout::Layout;

/// An expression over slots.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Const(i32),
    Me,
    Slot(Slot),
    Cell(Box<Cell>),
    Field(NodeId, Box<Code>, VarId),
    FieldCell(Box<FieldCell>),
    Unary(Unary, Box<Code>),
    Binary(Binary, Box<Code>, Box<Code>),
    If(Box<Code>, Box<Code>, Box<Code>),
}

/// A slot of the frame: of the running process's block, or shared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Private(usize),
    Shared(usize),
}

/// A cell of an array: the slot of the first, and an index for each dimension with its length.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) base: Slot,
    pub(crate) indices: Vec<(Code, usize)>,
}

/// A cell of an array in a node: the node, its first field, and an index for each dimension with its
/// length.
#[derive(Clone, Debug)]
pub(crate) struct FieldCell {
    pub(crate) node: NodeId,
    pub(crate) pointer: Code,
    pub(crate) first: VarId,
    pub(crate) indices: Vec<(Code, usize)>,
}

/// What is written to, with the range that it holds.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) to: To,
    pub(crate) lo: i32,
    pub(crate) hi: i32,
    pub(crate) name: String,
}

#[derive(Clone, Debug)]
pub(crate) enum To {
    Slot(Slot),
    Cell(Cell),
    Field(NodeId, Code, VarId),
    FieldCell(FieldCell),
}

/// A statement over slots.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Set(Target, Code),
    If(Code, Vec<Act>, Vec<Act>),
    While(Code, Vec<Act>),
    Choose(Vec<Vec<Act>>),
    Pick(Target, Code, Code),
    New(Target, NodeId, Vec<(VarId, Code)>),
    Free(NodeId, Code),
    Await(Code),
    Assert(Code, String),
    Lin(Option<Vec<Code>>),
    Goto(usize),
    Return(Vec<Code>),
}

/// What arriving at a location clears: offsets in the block, with their initial values.
pub(crate) type Clearing = Vec<(usize, i32)>;

/// All the code of a program.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) setup: Vec<Act>,
    /// Slots that the setup's locals need behind the frame.
    pub(crate) setup_locals: Vec<i32>,
    pub(crate) entries: Vec<Vec<Act>>,
    pub(crate) bodies: Vec<Vec<Act>>,
    pub(crate) clearings: Vec<Clearing>,
    /// By operation: the first values of its locals.
    pub(crate) first_locals: Vec<Vec<i32>>,
}

impl Compiled {
    pub(crate) fn new(program: &Program, layout: &Layout) -> Compiled {
        let compile = |locals: &[Variable], base: usize, body: &[Stmt]| {
            Scope::new(program, layout, locals, base).all(body)
        };
        // The setup runs as process 0 on a frame that is extended by the setup's locals.
        let behind = layout.slots - layout.block(0);
        let setup = compile(&program.setup.locals, behind, &program.setup.body);
        let setup_locals = firsts(&program.setup.locals);
        let entries = program.operations.iter();
        let entries = entries.map(|o| compile(&o.locals, layout.locals, &o.entry)).collect();
        let mut bodies = Vec::new();
        let mut clearings = Vec::new();
        for location in &program.locations {
            let operation = &program.operations[location.operation];
            bodies.push(compile(&operation.locals, layout.locals, &location.body));
            let mut clearing = Vec::new();
            let mut offset = layout.locals;
            for (id, variable) in operation.locals.iter().enumerate() {
                for cell in 0..variable.cells() {
                    if !location.live.contains(&id) {
                        clearing.push((offset, variable.first(cell)));
                    }
                    offset += 1;
                }
            }
            clearings.push(clearing);
        }
        let first_locals = program.operations.iter().map(|o| firsts(&o.locals)).collect();
        Compiled { setup, setup_locals, entries, bodies, clearings, first_locals }
    }
}

fn firsts(locals: &[Variable]) -> Vec<i32> {
    locals.iter().flat_map(|v| (0..v.cells()).map(|cell| v.first(cell))).collect()
}

struct Scope<'a> {
    program: &'a Program,
    layout: &'a Layout,
    locals: &'a [Variable],
    offsets: Vec<usize>,
}

impl<'a> Scope<'a> {
    fn new(
        program: &'a Program,
        layout: &'a Layout,
        locals: &'a [Variable],
        base: usize,
    ) -> Scope<'a> {
        let mut offsets = Vec::new();
        let mut offset = base;
        for variable in locals {
            offsets.push(offset);
            offset += variable.cells();
        }
        Scope { program, layout, locals, offsets }
    }

    fn all(&self, body: &[Stmt]) -> Vec<Act> {
        body.iter().map(|s| self.act(s)).collect()
    }

    fn act(&self, stmt: &Stmt) -> Act {
        match stmt {
            Stmt::Set(place, value) => Act::Set(self.target(place), self.code(value)),
            Stmt::If(test, yes, no) => Act::If(self.code(test), self.all(yes), self.all(no)),
            Stmt::While(test, body) => Act::While(self.code(test), self.all(body)),
            Stmt::Choose(branches) => Act::Choose(branches.iter().map(|b| self.all(b)).collect()),
            Stmt::Pick(place, lo, hi) => {
                Act::Pick(self.target(place), self.code(lo), self.code(hi))
            }
            Stmt::New(place, node, fields) => {
                let fields = fields.iter().map(|(f, e)| (*f, self.code(e))).collect();
                Act::New(self.target(place), *node, fields)
            }
            Stmt::Free(node, pointer) => Act::Free(*node, self.code(pointer)),
            Stmt::Await(test) => Act::Await(self.code(test)),
            Stmt::Assert(test, message) => Act::Assert(self.code(test), message.clone()),
            Stmt::Lin(results) => {
                Act::Lin(results.as_ref().map(|r| r.iter().map(|e| self.code(e)).collect()))
            }
            Stmt::Goto(location) => Act::Goto(*location),
            Stmt::Return(results) => Act::Return(results.iter().map(|e| self.code(e)).collect()),
        }
    }

    fn target(&self, place: &Place) -> Target {
        let (ty, name): (&Type, &str) = match place {
            Place::Local(id, _) => (&self.locals[*id].ty, &self.locals[*id].name),
            Place::Own(id, _) => (&self.program.own[*id].ty, &self.program.own[*id].name),
            Place::Shared(id, _) => (&self.program.shared[*id].ty, &self.program.shared[*id].name),
            Place::Field(node, _, field) | Place::FieldCell(node, _, field, _) => {
                let field = &self.program.nodes[*node].fields[*field];
                (&field.ty, &field.name)
            }
        };
        let to = match self.read(place) {
            Code::Slot(slot) => To::Slot(slot),
            Code::Cell(cell) => To::Cell(*cell),
            Code::Field(node, pointer, field) => To::Field(node, *pointer, field),
            Code::FieldCell(cell) => To::FieldCell(*cell),
            _ => unreachable!("a place is a slot, a cell or a field"),
        };
        Target { to, lo: ty.lo, hi: ty.hi, name: name.into() }
    }

    fn read(&self, place: &Place) -> Code {
        let (variable, base, indices) = match place {
            Place::Local(id, indices) => {
                (&self.locals[*id], Slot::Private(self.offsets[*id]), indices)
            }
            Place::Own(id, indices) => {
                (&self.program.own[*id], Slot::Private(self.layout.own[*id]), indices)
            }
            Place::Shared(id, indices) => {
                (&self.program.shared[*id], Slot::Shared(self.layout.shared[*id]), indices)
            }
            Place::Field(node, pointer, field) => {
                return Code::Field(*node, Box::new(self.code(pointer)), *field);
            }
            Place::FieldCell(node, pointer, first, indices) => {
                let indices = indices.iter().map(|(index, len)| (self.code(index), *len));
                return Code::FieldCell(Box::new(FieldCell {
                    node: *node,
                    pointer: self.code(pointer),
                    first: *first,
                    indices: indices.collect(),
                }));
            }
        };
        if indices.is_empty() {
            return Code::Slot(base);
        }
        let lengths = variable.dims.iter().map(|d| d.len);
        let indices = indices.iter().map(|i| self.code(i)).zip(lengths).collect();
        Code::Cell(Box::new(Cell { base, indices }))
    }

    fn code(&self, expr: &Expr) -> Code {
        let boxed = |e: &Expr| Box::new(self.code(e));
        match expr {
            Expr::Const(value) => Code::Const(*value),
            Expr::Me => Code::Me,
            Expr::Read(place) => self.read(place),
            Expr::Unary(op, a) => Code::Unary(*op, boxed(a)),
            Expr::Binary(op, a, b) => Code::Binary(*op, boxed(a), boxed(b)),
            Expr::If(a, b, c) => Code::If(boxed(a), boxed(b), boxed(c)),
        }
    }
}
