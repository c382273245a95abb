//! Histories: the calls of each process, their times, and their results.
//!
//! **Invariant: a history is validated once, when it is built.** Each process has at most one open
//! operation, each return belongs to a call, ranks are dense and unique, operations are sorted by
//! call. Later code never checks again. Failed operations (known not to have happened) are removed;
//! operations with an unknown outcome are *pending for ever*.

mod builder;
mod error;
mod event;

use std::fmt;
use std::sync::Arc;

pub use builder::{Builder, Ties};
pub use error::{Error, Position};
pub use event::Event;

use crate::value::Value;

/// The rank of a return that never came. Larger than every rank.
pub const PENDING: u32 = u32::MAX;

/// One operation: an interval of ranks, a process, a call and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<Op, Ret> {
    /// Index into [`History::processes`].
    pub process: u32,
    /// Rank of the call among all events of the history.
    pub call: u32,
    /// Rank of the return, or [`PENDING`].
    pub returned: u32,
    /// Index into [`History::parts`]: which object and key it belongs to.
    pub part: u32,
    /// Line of the call in the file, from 1; 0 if there is no file.
    pub line: u32,
    /// Column of the call, in bytes from 1; 0 if there is no file.
    pub column: u32,
    /// The operation.
    pub op: Op,
    /// The result; `None` if the outcome is unknown.
    pub result: Option<Ret>,
}

impl<Op, Ret> Operation<Op, Ret> {
    /// Whether no return was recorded.
    pub fn is_pending(&self) -> bool {
        self.returned == PENDING
    }

    /// True iff this operation returned before `other` was called.
    pub fn precedes<O, R>(&self, other: &Operation<O, R>) -> bool {
        self.returned < other.call
    }
}

/// A call as a file spells it: method and arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Index into [`History::methods`].
    pub method: u32,
    /// The arguments.
    pub args: Args,
}

/// The arguments of a call. Most calls have none or one; only longer lists are allocated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Args {
    /// No argument.
    #[default]
    None,
    /// One argument.
    One(Value),
    /// Two or more arguments.
    Many(Arc<Vec<Value>>),
}

impl Args {
    /// The arguments as a slice.
    pub fn as_slice(&self) -> &[Value] {
        match self {
            Args::None => &[],
            Args::One(value) => std::slice::from_ref(value),
            Args::Many(values) => values,
        }
    }
}

impl From<Vec<Value>> for Args {
    fn from(mut values: Vec<Value>) -> Args {
        match values.len() {
            0 => Args::None,
            1 => Args::One(values.remove(0)),
            _ => Args::Many(Arc::new(values)),
        }
    }
}

/// The object of an operation, and its independent key. Nil if the history names none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Part {
    /// The object's name.
    pub object: Value,
    /// The independent key.
    pub key: Value,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.object.is_nil(), self.key.is_nil()) {
            (true, true) => f.write_str("the object"),
            (false, true) => write!(f, "object {}", self.object),
            (true, false) => write!(f, "key {}", self.key),
            (false, false) => write!(f, "object {} key {}", self.object, self.key),
        }
    }
}

/// A validated history. Readers produce `History` without parameters; [`History::decode`] converts
/// it to the operations of a specification.
#[derive(Clone, Debug)]
pub struct History<Op = Call, Ret = Value> {
    operations: Vec<Operation<Op, Ret>>,
    names: Arc<Names>,
}

/// The term for the callers of a history's operations, for use in sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Callers {
    /// Processes, as in most recordings.
    #[default]
    Processes,
    /// Threads of one program.
    Threads,
}

impl Callers {
    /// The word for one of them.
    pub fn noun(self) -> &'static str {
        match self {
            Callers::Processes => "process",
            Callers::Threads => "thread",
        }
    }
}

/// The names behind the numbers in operations. A history shares it with everything decoded from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    callers: Callers,
    processes: Vec<Value>,
    methods: Vec<String>,
    parts: Vec<Part>,
    spec: Option<String>,
    guessed_keys: Option<bool>,
    minus_one_was_nil: bool,
}

impl<Op, Ret> History<Op, Ret> {
    /// The operations, sorted by call.
    pub fn operations(&self) -> &[Operation<Op, Ret>] {
        &self.operations
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The number of operations whose outcome is unknown.
    pub fn pending(&self) -> usize {
        self.operations.iter().filter(|o| o.is_pending()).count()
    }

    /// The term for the processes of the history.
    pub fn callers(&self) -> Callers {
        self.names.callers
    }

    /// The names of the processes.
    pub fn processes(&self) -> &[Value] {
        &self.names.processes
    }

    /// The names of the methods, as the file spells them.
    pub fn methods(&self) -> &[String] {
        &self.names.methods
    }

    /// The objects and keys of the history, in order of first appearance.
    pub fn parts(&self) -> &[Part] {
        &self.names.parts
    }

    /// The specification that the file itself names (`# @object atomic-queue`, a JSON Lines
    /// header).
    pub fn spec(&self) -> Option<&str> {
        self.names.spec.as_deref()
    }

    /// Whether the format cannot express nil, and a result of -1 was read as nil.
    pub(crate) fn read_minus_one_as_nil(&self) -> bool {
        self.names.minus_one_was_nil
    }

    /// The reader's guess whether the values `[k v]` of a Jepsen history carry independent keys.
    /// `None` if nothing was guessed.
    pub fn guessed_keys(&self) -> Option<bool> {
        self.names.guessed_keys
    }

    /// The same history without calls and results: only processes and times.
    pub(crate) fn intervals(&self) -> History<(), ()> {
        let without = |o: &Operation<Op, Ret>| {
            let &Operation { process, call, returned, part, line, column, .. } = o;
            let result = o.result.as_ref().map(|_| ());
            Operation { process, call, returned, part, line, column, op: (), result }
        };
        let operations = self.operations.iter().map(without).collect();
        History { operations, names: self.names.clone() }
    }

    /// Every operation with its call and result replaced, times and processes kept. Ends at the
    /// first error.
    pub fn map<O, R, E>(
        &self,
        mut f: impl FnMut(&Operation<Op, Ret>) -> Result<(O, Option<R>), E>,
    ) -> Result<History<O, R>, E> {
        let mut operations = Vec::with_capacity(self.operations.len());
        for o in &self.operations {
            let (op, result) = f(o)?;
            let &Operation { process, call, returned, part, line, column, .. } = o;
            operations.push(Operation { process, call, returned, part, line, column, op, result });
        }
        Ok(History { operations, names: self.names.clone() })
    }
}

impl<Op, Ret> History<Op, Ret> {
    /// A history of operations that are known to be valid: sorted by call, with dense ranks. For
    /// code that has checked each event.
    pub(crate) fn assemble(
        operations: Vec<Operation<Op, Ret>>,
        processes: Vec<Value>,
        methods: Vec<String>,
        parts: Vec<Part>,
    ) -> History<Op, Ret> {
        debug_assert!(operations.is_sorted_by_key(|o| o.call));
        let names = Names { processes, methods, parts, ..Names::default() };
        History { operations, names: Arc::new(names) }
    }
}

impl<Op: Clone, Ret: Clone> History<Op, Ret> {
    /// The sub-history of the operations at these indices, which must be ascending. Ranks are kept:
    /// they stay unique and ordered, and still refer to the events of the whole history.
    pub fn select(&self, indices: &[u32]) -> History<Op, Ret> {
        debug_assert!(indices.is_sorted());
        let operations = indices.iter().map(|&i| self.operations[i as usize].clone()).collect();
        History { operations, names: self.names.clone() }
    }

    /// The history before the event of rank `end`: later calls are removed, operations that return
    /// later are pending.
    pub fn prefix(&self, end: u32) -> History<Op, Ret> {
        let kept = self.operations.partition_point(|o| o.call < end);
        let mut operations = self.operations[..kept].to_vec();
        for o in &mut operations {
            if o.returned >= end {
                o.returned = PENDING;
                o.result = None;
            }
        }
        History { operations, names: self.names.clone() }
    }
}

impl History {
    /// The same history with each operation's process as its argument, if it has no argument, or
    /// nil.
    pub(crate) fn with_owners(&self) -> History {
        let mut owned = self.clone();
        for o in &mut owned.operations {
            if matches!(o.op.args.as_slice(), [] | [Value::Nil]) {
                o.op.args = Args::One(self.names.processes[o.process as usize].clone());
            }
        }
        owned
    }

    /// Converts calls and results to a specification's own operations. `f` receives the method, its
    /// arguments and the result (`None`: unknown); its errors become [`Error`]s with the position
    /// in the file.
    pub fn decode<Op, Ret>(
        &self,
        mut f: impl FnMut(&str, &[Value], Option<&Value>) -> Result<(Op, Option<Ret>), String>,
    ) -> Result<History<Op, Ret>, Error> {
        self.map(|o| {
            f(&self.names.methods[o.op.method as usize], o.op.args.as_slice(), o.result.as_ref())
                .map_err(|message| Error::at(Position { line: o.line, column: o.column }, message))
        })
    }

    /// The operation as people read it: `enq(5)`, `deq() -> 7`, `write(3) -> ?`.
    pub fn show(&self, index: u32) -> String {
        let o = &self.operations[index as usize];
        let args: Vec<String> = o.op.args.as_slice().iter().map(Value::to_string).collect();
        let call = format!("{}({})", self.names.methods[o.op.method as usize], args.join(", "));
        match &o.result {
            Some(Value::Nil) => call,
            Some(value) => format!("{call} -> {value}"),
            None => format!("{call} -> ?"),
        }
    }

    /// Renames methods, all at once: `offer` becomes `enq`, and two methods can swap their names.
    pub fn rename<'a>(&mut self, new_name: impl Fn(&str) -> Option<&'a str>) {
        let names = Arc::make_mut(&mut self.names);
        for method in &mut names.methods {
            if let Some(name) = new_name(method) {
                *method = name.to_string();
            }
        }
    }
}

/// The operations of each part, in order of part: indices into [`History::operations`].
pub(crate) fn by_part<Op, Ret>(history: &History<Op, Ret>) -> Vec<Vec<u32>> {
    let mut groups = vec![Vec::new(); history.names.parts.len().max(1)];
    for (i, o) in history.operations.iter().enumerate() {
        groups[o.part as usize].push(i as u32);
    }
    groups
}
