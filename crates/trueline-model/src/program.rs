//! The program: what the language compiles to and what every engine runs.
//!
//! A [`Program`] is a finite, closed system: shared variables, a heap of typed nodes, roles with a
//! number of processes each, operations, and a sequential specification. Parameters are already
//! substituted, so that every domain is finite and every length is a number.
//!
//! **Steps.** A process is idle, or it stands at a [`Location`] of the operation that it performs.
//! One *step* runs the body of that location from its beginning to a [`Stmt::Goto`] or
//! [`Stmt::Return`], atomically. The placement of locations decides how much a step does: one
//! shared access per step with local computation fused around it (the default), or PAT's cost of
//! steps (`--semantics pat`: one location per internal step). A `cas`, a `fetch_add`, an `atomic
//! {}` block and a store-conditional are plain statements within one body, without instructions of
//! their own. `LL/SC/VL` is a shared array of flags with one cell per process
//! ([`Dim::by_process`]): LL sets the process's own cell, SC tests it, writes and clears all.
//!
//! **Calls.** An idle process with calls left picks one of its role's [`Call`]s. The label `call`
//! is emitted and [`Operation::entry`] runs in the same step, to a `Goto` or a `Return`. Calling as
//! late as possible and returning as early as possible only shortens operations, which makes
//! linearizability harder; both ends may thus be fused with the first and the last access. An entry
//! that is only `Goto` gives PAT's separate invocation.
//!
//! **Nondeterminism.** [`Stmt::Choose`] and [`Stmt::Pick`] branch; each branch is one successor.
//! [`Stmt::Await`] that is false disables the branch that it stands on; put it first in a body, so
//! that its reads are the guard's.
//!
//! **Accesses.** Reads and writes of shared cells and heap fields are recorded exactly, cell by
//! cell, as a step runs: partial order reduction needs no annotation. Locals and own variables are
//! private.
//!
//! **Symmetry.** Types say which values are process ids and which are pointers; arrays say which
//! dimensions are indexed by process. Processes of a symmetric role may be exchanged. A program
//! must not compare ids for order, nor use them as numbers, if its role is symmetric: the language
//! rejects that.
//!
//! Invariant: types, indices of variables and targets of jumps are correct. The compiler of the
//! language ensures that; engines rely on it and never check again.

use std::fmt;
use std::sync::Arc;

/// Which node type of [`Program::nodes`].
pub type NodeId = usize;
/// Which operation of [`Program::operations`].
pub type OpId = usize;
/// Which shared, own or local variable; which field.
pub type VarId = usize;
/// Which location of [`Program::locations`].
pub type LocationId = usize;
/// Which call of [`Program::calls`].
pub type CallId = usize;

/// More rounds of a loop within one step are a fault of the model. More rounds of all loops
/// together within one operation of a specification make the specification unusable.
pub const MOST_ROUNDS: u32 = 10_000;

/// More processes than this cannot be checked: their names are four bits.
pub const MOST_PROCESSES: usize = 15;

/// More nodes of a type cannot be checked: their names are bits of a `u64`.
pub const MOST_NODES: usize = 63;

/// More processes and data values together than this cannot be checked: their classes are four bits.
pub const MOST_NAMES: usize = 16;

/// A data value renamed. `base` names (processes, and values of other types) come before those of
/// its type; a renaming that ends before them leaves it as it is.
pub(crate) fn renamed(base: usize, value: i32, to: &[u8]) -> i32 {
    match usize::try_from(value - 1).ok().and_then(|value| to.get(base + value)) {
        Some(name) => i32::from(*name) - base as i32 + 1,
        None => value,
    }
}

/// A closed finite system with its specification.
#[derive(Clone)]
pub struct Program {
    /// The model's name, for reports.
    pub name: String,
    /// Shared variables, scalars and arrays.
    pub shared: Vec<Variable>,
    /// The node types of the heap; each has a pool of its own.
    pub nodes: Vec<NodeType>,
    /// Variables of every process that keep their value between operations. Private: no other
    /// process reads them. PAT's stale locals are own variables.
    pub own: Vec<Variable>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// The locations at which a process can be between two steps.
    pub locations: Vec<Location>,
    /// Every operation with every tuple of arguments that some role may call.
    pub calls: Vec<Call>,
    /// The processes: those of the first role have the lowest ids.
    pub roles: Vec<Role>,
    /// The specification of the operations.
    pub spec: Arc<dyn SpecMachine>,
    /// How linearization points are marked.
    pub points: Points,
    /// PAT counts one state more for each product state in which every process has ended.
    pub count_terminal_states: bool,
    /// Statements run once, atomically, before the first step, as process 0. They may allocate
    /// (`Head = new Node`), and access only shared variables, heap nodes and locals of their own.
    pub setup: Setup,
    /// Response properties to check when progress is asked for.
    pub responses: Vec<Response>,
}

/// Statements that make the initial state, with the locals they need. The body has no terminator.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Temporaries.
    pub locals: Vec<Variable>,
    /// Runs to its end.
    pub body: Vec<Stmt>,
    /// It is a step of its own, with a state before it, as in a model for PAT.
    pub is_a_step: bool,
}

/// A range of whole numbers and their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The least value.
    pub lo: i32,
    /// The greatest value.
    pub hi: i32,
    /// The meaning of the values.
    pub kind: Kind,
    /// The value that is shown as `none` (or `null`), if there is one.
    pub none: Option<i32>,
}

/// The meaning of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Int,
    /// 0 is false, 1 is true.
    Bool,
    /// Processes, from 0; a value below 0 means no process.
    Pid,
    /// 0 is null; node `k` of the pool is `k`, from 1 to its capacity.
    Pointer(NodeId),
    /// Interchangeable values, from 1; 0 is none of them. Value `v` has the number
    /// `first + v - 1` among those of all such types.
    Data {
        /// How many values the types before this one have.
        first: usize,
    },
    /// The names of the values `lo`, `lo + 1`, ...
    Names(Vec<String>),
}

/// A variable: a scalar where `dims` is empty, else an array.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The type of each cell.
    pub ty: Type,
    /// Dimensions, the last one running fastest.
    pub dims: Vec<Dim>,
    /// The initial value of each cell: one value for all, or one per cell. Ignored for locals that
    /// are parameters.
    pub initial: Vec<i32>,
}

/// One dimension of an array, indexed from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// How many.
    pub len: usize,
    /// Indexed by process id; `len` is then the number of processes.
    pub by_process: bool,
}

/// A type of heap nodes.
#[derive(Clone, Debug)]
pub struct NodeType {
    /// Its name.
    pub name: String,
    /// Its fields; `dims` is empty and `initial` has one value.
    pub fields: Vec<Variable>,
    /// At most this many nodes at a time. If none is free, the run ends undecided: a limit was
    /// reached.
    pub capacity: usize,
    /// How unused nodes are reclaimed.
    pub reclaim: Reclaim,
}

/// When a node's place is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// When nothing refers to it.
    Collected,
    /// At [`Stmt::Free`], even if references remain, so that the ABA problem can occur. Unreachable
    /// nodes that were never freed are leaked, and count as free. Reading or writing a freed node
    /// before it is reused is an error.
    Freed,
    /// The same, but a freed node may still be read and written: memory that is never returned to
    /// the system.
    Recycled,
}

/// An operation that a process calls.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name, as reports and built-in specifications spell it.
    pub name: String,
    /// Its locals; the first `parameters` of them are the arguments.
    pub locals: Vec<Variable>,
    /// How many arguments.
    pub parameters: usize,
    /// The types of the results; empty for none.
    pub results: Vec<Type>,
    /// Runs in the step of the call. Ends in `Goto` or `Return` on every path.
    pub entry: Vec<Stmt>,
    /// The line of its text.
    pub line: u32,
}

/// A location of a process.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its operation.
    pub operation: OpId,
    /// Runs in one step. Ends in `Goto` or `Return` on every path.
    pub body: Vec<Stmt>,
    /// Locals that are live here; the others are reset on arrival.
    pub live: Vec<VarId>,
    /// The line of the model's text that the step executes.
    pub line: u32,
    /// That text, trimmed, for reports.
    pub text: String,
}

/// An operation with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub operation: OpId,
    /// One value a parameter.
    pub args: Vec<i32>,
}

impl Call {
    /// The call with the names in its arguments changed.
    pub(crate) fn renamed(&self, program: &Program, to: &[u8]) -> Call {
        let processes = program.processes();
        let locals = &program.operations[self.operation].locals;
        let name = |(value, variable): (&i32, &Variable)| match variable.ty.kind {
            Kind::Pid if *value >= 0 => i32::from(to[*value as usize]),
            Kind::Data { first } => renamed(processes + first, *value, to),
            _ => *value,
        };
        Call { operation: self.operation, args: self.args.iter().zip(locals).map(name).collect() }
    }
}

/// Processes that do the same.
#[derive(Clone, Debug)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// How many processes.
    pub processes: usize,
    /// Their possible calls.
    pub calls: Vec<CallId>,
    /// How many operations each performs; `None`: unlimited.
    pub limit: Option<u32>,
    /// Whether they may be exchanged.
    pub symmetric: bool,
}

/// How linearization points are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// Not at all.
    None,
    /// [`Stmt::Lin`] marks the points; calls and returns stay visible. The result is checked at the
    /// mark if the mark gives it, and at the return in any case.
    Marked,
    /// [`Stmt::Lin`] marks the points and gives the results, which are those of the return; calls
    /// and returns are invisible, as in the paper's section 3.3. If an operation may return without
    /// a mark, or pass two, or changes its arguments before the mark, this is the same as
    /// [`Points::Marked`].
    Labelled,
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub enum Place {
    /// A cell of a local of the running operation (or of the setup); no indices for a scalar.
    Local(VarId, Vec<Expr>),
    /// A cell of an own variable of the running process.
    Own(VarId, Vec<Expr>),
    /// A cell of a shared variable.
    Shared(VarId, Vec<Expr>),
    /// A field of the node that the pointer points to. Null is an error.
    Field(NodeId, Box<Expr>, VarId),
    /// A cell of an array in such a node: the cells are fields beside each other, from this one on.
    /// Each index has the length of its dimension.
    FieldCell(NodeId, Box<Expr>, VarId, Vec<(Expr, usize)>),
}

/// A computation without effects. An index out of bounds, a division by zero and a null pointer are
/// errors.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A number.
    Const(i32),
    /// The value of a place.
    Read(Box<Place>),
    /// The id of the running process.
    Me,
    /// One operand.
    Unary(Unary, Box<Expr>),
    /// Two operands; `And` and `Or` evaluate the second only if needed.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `if a then b else c`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unary {
    Not,
    Minus,
    /// The number itself; an error if it is this one, which stands for `none` where it goes to.
    Number(i32),
}

/// Operators with two operands. Truth is 0 or 1. `Rem` is never negative (Euclid).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Min,
    Max,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Assignment. A value outside of the place's type is an error.
    Set(Place, Expr),
    /// One of two.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Repeats within the step (in an atomic block). More than [`MOST_ROUNDS`] rounds are an error.
    While(Expr, Vec<Stmt>),
    /// Any one of them.
    Choose(Vec<Vec<Stmt>>),
    /// Any value from the first to the second; an error where there is none.
    Pick(Place, Expr, Expr),
    /// Makes a node: the place becomes a pointer to it; its fields have their first values but
    /// those given.
    New(Place, NodeId, Vec<(VarId, Expr)>),
    /// Frees the node (not for [`Reclaim::Collected`]); its fields keep their values. Freeing null
    /// or a free node is an error.
    Free(NodeId, Expr),
    /// Goes no further on this branch unless true.
    Await(Expr),
    /// An error unless true.
    Assert(Expr, String),
    /// The linearization point of this process's operation, with its results if they are known. At
    /// most once per operation.
    Lin(Option<Vec<Expr>>),
    /// Ends the step.
    Goto(LocationId),
    /// Ends the step and the operation, with these results.
    Return(Vec<Expr>),
}

/// Whenever a process has called the operation, it returns at last.
#[derive(Clone, Debug)]
pub struct Response {
    /// For reports.
    pub name: String,
    /// Which operation.
    pub operation: OpId,
    /// The results that count; `None`: any.
    pub results: Option<Vec<Vec<i32>>>,
}

/// The results of an operation, and the state of the specification that follows.
pub type ResultAndState = (Box<[i32]>, Box<[i32]>);

/// A sequential specification, as the checker steps it.
///
/// States are words in an encoding of the machine's own: the checker only compares, stores and
/// permutes them. Equal states must have equal words.
pub trait SpecMachine: Send + Sync {
    /// The states before the first operation; several if the specification leaves it open.
    fn initial(&self) -> Vec<Box<[i32]>>;

    /// Pushes every result with the next state; none if the operation blocks in this state.
    fn step(
        &self,
        state: &[i32],
        process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<ResultAndState>,
    );

    /// The state in which process `p` is called `to[p]`. Needed where states speak of processes. If
    /// `to` is longer than there are processes, it goes on with the data values: the value with
    /// number `d` ([`Kind::Data`]) becomes the one with number `to[processes + d] - processes`.
    fn permute(&self, state: &[i32], _to: &[u8]) -> Box<[i32]> {
        state.into()
    }

    /// The state as text: `[1 2]`.
    fn show(&self, state: &[i32]) -> String;

    /// Why the machine could not execute an operation, if that happened: an endless loop. Its later
    /// answers are then unreliable.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// The origin of each state, for a machine whose words are numbers in order of appearance. A
    /// checkpoint stores them, because the numbers alone mean nothing to another run. Empty if
    /// words are meaningful by themselves.
    fn origins(&self) -> Vec<Vec<i32>> {
        Vec::new()
    }

    /// Recreates the states with these [`SpecMachine::origins`], so that their words have the same
    /// meaning as in the other run. An error says why that is impossible.
    fn recover(&self, origins: &[Vec<i32>]) -> Result<(), String> {
        match origins.is_empty() {
            true => Ok(()),
            false => Err("its states are those of another specification".into()),
        }
    }

    /// Declares a snapshot object: each process updates its own segment; a scan returns all of
    /// them.
    fn snapshot(&self) -> Option<SnapshotShape> {
        None
    }
}

/// The operations of a snapshot object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotShape {
    /// Has one argument: the new value of the caller's segment.
    pub update: OpId,
    /// Has one result for each process.
    pub scan: OpId,
    /// The value of every segment at first.
    pub initial: i32,
}

impl Type {
    /// Numbers from `lo` to `hi`.
    pub fn int(lo: i32, hi: i32) -> Type {
        Type { lo, hi, kind: Kind::Int, none: None }
    }

    /// True or false.
    pub fn bool() -> Type {
        Type { lo: 0, hi: 1, kind: Kind::Bool, none: None }
    }

    /// Pointers to nodes of a type with this capacity, or null.
    pub fn pointer(node: NodeId, capacity: usize) -> Type {
        Type { lo: 0, hi: capacity as i32, kind: Kind::Pointer(node), none: Some(0) }
    }

    /// One of `processes` ids, or -1 for none.
    pub fn pid(processes: usize) -> Type {
        Type { lo: -1, hi: processes as i32 - 1, kind: Kind::Pid, none: Some(-1) }
    }

    /// Whether the value is one of this type's.
    pub fn contains(&self, value: i32) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    /// The value as text.
    pub fn show(&self, value: i32) -> String {
        if self.none == Some(value) {
            return if matches!(self.kind, Kind::Pointer(_)) { "null" } else { "none" }.into();
        }
        match &self.kind {
            Kind::Int | Kind::Data { .. } => value.to_string(),
            Kind::Bool => (value != 0).to_string(),
            Kind::Pid => format!("P{value}"),
            Kind::Pointer(_) => format!("#{value}"),
            Kind::Names(names) => {
                let index = usize::try_from(value - self.lo).ok();
                index.and_then(|i| names.get(i)).cloned().unwrap_or_else(|| value.to_string())
            }
        }
    }
}

impl Variable {
    /// A scalar.
    pub fn scalar(name: &str, ty: Type, initial: i32) -> Variable {
        Variable { name: name.into(), ty, dims: vec![], initial: vec![initial] }
    }

    /// How many cells.
    pub fn cells(&self) -> usize {
        self.dims.iter().map(|d| d.len).product()
    }

    /// The name of a cell: `B[2]`.
    pub fn cell_name(&self, cell: usize) -> String {
        let mut rest = cell;
        let mut indices: Vec<String> = Vec::new();
        for dim in self.dims.iter().rev() {
            indices.push(format!("[{}]", rest % dim.len));
            rest /= dim.len;
        }
        indices.reverse();
        format!("{}{}", self.name, indices.concat())
    }

    /// The first value of a cell.
    pub fn first(&self, cell: usize) -> i32 {
        if self.initial.len() == 1 { self.initial[0] } else { self.initial[cell] }
    }
}

impl Program {
    /// What a verdict speaks of: `2 processes, 1 operation each`.
    pub(crate) fn bound(&self) -> String {
        let processes = match self.processes() {
            1 => "1 process".to_string(),
            several => format!("{several} processes"),
        };
        let mut limits: Vec<Option<u32>> = self.roles.iter().map(|role| role.limit).collect();
        limits.dedup();
        let operations: Vec<String> = (limits.iter())
            .map(|limit| match limit {
                Some(limit) => {
                    format!("{} each", trueline_report::count(u64::from(*limit), "operation"))
                }
                None => "unbounded operations".into(),
            })
            .collect();
        format!("{processes}, {}", operations.join(" or "))
    }

    /// How many processes.
    pub fn processes(&self) -> usize {
        self.roles.iter().map(|r| r.processes).sum()
    }

    /// The role of a process.
    pub fn role_of(&self, process: usize) -> usize {
        let mut end = 0;
        for (i, role) in self.roles.iter().enumerate() {
            end += role.processes;
            if process < end {
                return i;
            }
        }
        unreachable!("process {process} has no role")
    }

    /// A call as text: `enq(3)`.
    pub fn show_call(&self, call: CallId) -> String {
        let Call { operation, args } = &self.calls[call];
        let operation = &self.operations[*operation];
        let args = args.iter().zip(&operation.locals).map(|(a, v)| v.ty.show(*a));
        format!("{}({})", operation.name, args.collect::<Vec<_>>().join(", "))
    }

    /// Results as text: `7`, `none`, `(1, 2)`; `ok` if there are none.
    pub fn show_results(&self, operation: OpId, results: &[i32]) -> String {
        let types = &self.operations[operation].results;
        let shown: Vec<String> = results.iter().zip(types).map(|(r, t)| t.show(*r)).collect();
        match shown.len() {
            0 => "ok".into(),
            1 => shown.into_iter().next().unwrap_or_default(),
            _ => format!("({})", shown.join(", ")),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("shared", &self.shared)
            .field("nodes", &self.nodes)
            .field("own", &self.own)
            .field("operations", &self.operations)
            .field("locations", &self.locations)
            .field("calls", &self.calls)
            .field("roles", &self.roles)
            .field("points", &self.points)
            .finish_non_exhaustive()
    }
}
