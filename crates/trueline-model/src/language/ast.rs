//! The syntax tree of a model, with spans, before names are resolved and parameters are set.

use super::diagnostic::Span;

/// A name as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A whole `.tl` file.
#[derive(Clone, Debug)]
pub(crate) struct Ast {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) types: Vec<TypeDecl>,
    pub(crate) shared: Vec<VarDecl>,
    /// One copy a process; they keep their values from one operation to the next.
    pub(crate) locals: Vec<VarDecl>,
    /// Run once, before the first operation.
    pub(crate) init: Block,
    /// Called from operations and from each other.
    pub(crate) procedures: Vec<Op>,
    pub(crate) ops: Vec<Op>,
    pub(crate) spec: SpecDecl,
    pub(crate) client: Client,
    pub(crate) properties: Vec<Property>,
}

/// `size: 1..16 = 4`: the command line may set it within its range.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Name,
    pub(crate) low: Expr,
    pub(crate) high: Expr,
    pub(crate) default: Expr,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeDecl {
    /// `type Value = 1..values`
    Alias { name: Name, of: Type },
    /// `enum Colour { red, green }`
    Enum { name: Name, cases: Vec<Name> },
    /// `record Tagged { top: Node; tag: 0..3 }`: a value of several parts, compared and swapped as
    /// one.
    Record { name: Name, fields: Vec<Field> },
    /// `node Node { value: Value; next: Node }`: lives on the heap; the name is the type of
    /// references to it.
    Node { name: Name, fields: Vec<Field> },
    /// `data Value(2)`: so many values, which can only be copied and compared.
    Data { name: Name, count: Expr },
}

impl TypeDecl {
    pub(crate) fn name(&self) -> &Name {
        match self {
            TypeDecl::Alias { name, .. }
            | TypeDecl::Enum { name, .. }
            | TypeDecl::Record { name, .. }
            | TypeDecl::Node { name, .. }
            | TypeDecl::Data { name, .. } => name,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) of: Type,
}

#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    Bool,
    Pid,
    Lock,
    Range(Box<Expr>, Box<Expr>),
    Named(String),
    /// `T?`: a `T` or `none`.
    Optional(Box<Type>),
    /// `[T; n]`
    Array(Box<Type>, Box<Expr>),
    /// `[T; pid]`: one entry a process.
    PerProcess(Box<Type>),
    /// Of the specification alone.
    Seq(Box<Type>),
    Set(Box<Type>),
    Map(Box<Type>, Box<Type>),
}

#[derive(Clone, Debug)]
pub(crate) struct VarDecl {
    pub(crate) name: Name,
    pub(crate) of: Type,
    pub(crate) init: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) name: Name,
    pub(crate) args: Vec<Field>,
    pub(crate) result: Option<Type>,
    pub(crate) body: Block,
    pub(crate) span: Span,
}

pub(crate) type Block = Vec<Stmt>;

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Local(Vec<VarDecl>),
    Assign(Expr, Expr),
    Expr(Expr),
    If(Expr, Block, Block),
    While(Expr, Block),
    Loop(Block),
    For(Name, Expr, Expr, Block),
    /// `for p in pid { }`, in any order; `for p in pid ordered { }`, in that of their numbers.
    ForEach {
        name: Name,
        ordered: bool,
        body: Block,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    Atomic(Block),
    Await(Expr),
    Lock(Expr),
    Unlock(Expr),
    Free(Expr),
    Skip,
    Assert(Expr),
    Either(Vec<Block>),
    /// The parameters decide it when the model is compiled; the other branch is not even
    /// type-checked.
    When(Expr, Block, Block),
    /// The operation takes effect in this step.
    Lin,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Int(i64),
    Bool(bool),
    Null,
    None,
    Me,
    Name(String),
    Field(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `cas(x, a, b)` and the other built-in functions.
    Call(Name, Vec<Expr>),
    /// `q.pop_front()`, in specifications.
    Method(Box<Expr>, Name, Vec<Expr>),
    /// `new Node{value: v}`
    New(Name, Vec<(Name, Expr)>),
    /// `Tagged{top: n, tag: 0}`
    Record(Name, Vec<(Name, Expr)>),
    /// `[]`, `[1, 2]`
    List(Vec<Expr>),
    /// `[0; n]`
    Repeat(Box<Expr>, Box<Expr>),
    /// `cas(x, a, b) @lin`: the operation takes effect here if this is true.
    Lin(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Equal,
    Different,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    /// `q ++ [v]`, in specifications.
    Concat,
    /// `k in s`, in specifications.
    In,
}

#[derive(Clone, Debug)]
pub(crate) enum SpecDecl {
    /// `spec queue` or `spec register(init: 0)`: one that trueline knows.
    Named {
        name: Name,
        arguments: Vec<(Name, Expr)>,
    },
    Written {
        state: Vec<VarDecl>,
        ops: Vec<SpecOp>,
        span: Span,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct SpecOp {
    pub(crate) name: Name,
    pub(crate) args: Vec<Name>,
    /// The types of the arguments; if the specification is part of a model, those of the object's
    /// operation.
    pub(crate) types: Vec<Type>,
    /// The type of the result, in the same case.
    pub(crate) result: Option<Type>,
    pub(crate) body: Block,
}

/// A file that holds a specification alone: `enum Colour { .. } spec Queue(size: 1..9 = 4) { .. }`.
#[derive(Clone, Debug)]
pub(crate) struct SpecFile {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) types: Vec<TypeDecl>,
    pub(crate) state: Vec<VarDecl>,
    pub(crate) ops: Vec<SpecOp>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) span: Span,
    pub(crate) roles: Vec<Role>,
    pub(crate) ops: Ops,
    pub(crate) heap: Option<Heap>,
}

/// Interchangeable processes that may call the same operations.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    /// None for `procs n`, where every process may call everything.
    pub(crate) name: Option<Name>,
    pub(crate) count: Expr,
    /// Empty: all.
    pub(crate) ops: Vec<RoleOp>,
    pub(crate) symmetric: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct RoleOp {
    pub(crate) op: Name,
    /// `None` for `_` or an omitted argument: the whole domain.
    pub(crate) args: Vec<Option<Expr>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Ops {
    Unbounded,
    Each(Expr),
}

#[derive(Clone, Debug)]
pub(crate) struct Heap {
    pub(crate) size: Expr,
    /// True: freed nodes are reused. False: unreachable nodes are collected.
    pub(crate) reuse: bool,
    /// A freed node may still be read and written, as if memory were never returned to the system.
    pub(crate) recycle: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Property {
    DeadlockFree,
    LockFree,
    /// `response NAME: always (p implies eventually q) [under weak fairness]`
    Response {
        name: Name,
        from: Event,
        to: Event,
        weakly_fair: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Call(Name),
    Return(Name),
    /// A condition on the shared variables.
    Holds(Expr),
}
