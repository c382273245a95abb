//! A readable account of a step: its line, what it read and wrote, whether a `cas` succeeded, and
//! which variables and nodes changed.
//!
//! A [`Note`] comes from the interpreter's own states, so that it is a second account of the run,
//! in which a node keeps its name from its allocation to the end.

use super::Configuration;
use super::value::{Part, Value};
use super::walk::{Place, Root, Walk};
use crate::language::Span;
use crate::language::types::{Ty, Types};

/// An access to shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The kind of the access: `reads`, `writes`, `cas`, `swap`, `fetch_add`, `ll`, `sc`, `vl`,
    /// `locks`, `unlocks`, `frees`, `makes`.
    pub kind: &'static str,
    /// The place, with its indices as numbers: `A[2]`, `#1.next`.
    pub place: String,
    /// The value read, or the value written if nothing was read.
    pub value: String,
    /// Of `cas`, `sc` and `vl`: whether it succeeded.
    pub succeeded: Option<bool>,
}

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The line of its first access, or where it began if it has none.
    pub line: u32,
    /// The text of its statement, up to the end of the line.
    pub text: String,
    /// It comes to this line with the call, and has done nothing there.
    pub arrives: bool,
    /// Its accesses, in order.
    pub accesses: Vec<Access>,
    /// What was written without a change, and its value.
    pub kept: Vec<(String, String)>,
    /// Cells of shared variables that changed, and their new values.
    pub shared: Vec<(String, String)>,
    /// Fields of nodes that changed or are new; `freed` for a node that was given back.
    pub heap: Vec<(String, String)>,
    /// Variables of the process that changed or are new.
    pub locals: Vec<(String, String)>,
}

/// A value as text.
pub(super) fn show(types: &Types, ty: &Ty, value: &Value) -> String {
    match (value, ty) {
        (Value::Nothing, Ty::Lock) => "free".into(),
        (Value::Nothing, Ty::Node(_) | Ty::Pid) => "null".into(),
        (Value::Nothing, _) => "none".into(),
        (Value::Bool(truth), _) => truth.to_string(),
        (Value::Int(number), _) => number.to_string(),
        (Value::Case(name), _) => name.clone(),
        (Value::Pid(process), _) => format!("P{process}"),
        (Value::Datum(_, number), _) => number.to_string(),
        (Value::Node(node), _) => node_name(*node),
        (Value::Record(fields), Ty::Record(record)) => {
            let types_of = &types.records[*record].fields;
            let shown = fields.iter().zip(types_of);
            let shown =
                shown.map(|((name, value), (_, ty))| format!("{name}: {}", show(types, ty, value)));
            format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
        }
        (Value::List(items), Ty::Array { of, .. }) => {
            let shown: Vec<String> = items.iter().map(|item| show(types, of, item)).collect();
            format!("[{}]", shown.join(", "))
        }
        (other, _) => format!("{other:?}"),
    }
}

fn node_name(node: usize) -> String {
    format!("#{}", node + 1)
}

impl Walk<'_> {
    /// Writes down an access that happens now.
    pub(super) fn note(&mut self, kind: &'static str, place: &Place, value: &Value) {
        let ty = self.type_of(place).unwrap_or(Ty::Unit);
        let value = show(self.rules.types, &ty, value);
        self.note_attempt(kind, place, value, None);
    }

    pub(super) fn note_attempt(
        &mut self,
        kind: &'static str,
        place: &Place,
        value: String,
        succeeded: Option<bool>,
    ) {
        if self.sequential {
            return;
        }
        let place = self.place_name(place);
        self.accesses.push(Access { kind, place, value, succeeded });
        if self.accesses.len() == 1 {
            self.noted_at = self.statements.last().copied();
        }
    }

    /// The step is this statement, whatever it accesses.
    pub(super) fn note_statement(&mut self) {
        if self.spent && self.noted_at.is_none() {
            self.noted_at = self.statements.last().copied();
        }
    }

    /// Records whether the last access succeeded.
    pub(super) fn mark_success(&mut self, succeeded: bool) {
        if let Some(last) = self.accesses.last_mut() {
            last.succeeded = Some(succeeded);
        }
    }

    pub(super) fn place_name(&self, place: &Place) -> String {
        let mut name = match place.root {
            Root::Scope(at) => self.scope[at].0.clone(),
            Root::Own(at) => self.own[at].0.clone(),
            Root::Shared(at) => self.world.shared[at].0.clone(),
            Root::Heap(node) => node_name(node),
        };
        for part in &place.path {
            match part {
                Part::Field(field) => name = format!("{name}.{field}"),
                Part::Cell(Value::Int(index)) => name = format!("{name}[{index}]"),
                Part::Cell(Value::Pid(index)) => name = format!("{name}[P{index}]"),
                Part::Cell(index) => name = format!("{name}[{index:?}]"),
            }
        }
        name
    }
}

/// The note of a step of the process between two states; without the second state, the step ended
/// in a fault.
pub(super) fn note(
    types: &Types,
    source: &str,
    process: usize,
    (before, after): (&Configuration, Option<&Configuration>),
    (at, accesses): (Option<Span>, Vec<Access>),
) -> Note {
    let (line, text) = at.map_or((0, String::new()), |at| line_of(source, at));
    let mut note = Note { line, text, accesses, ..Note::default() };
    let Some(after) = after else { return note };
    for ((name, ty, old), (_, _, new)) in before.world.shared.iter().zip(&after.world.shared) {
        differences(types, ty, name, Some(old), new, &mut note.shared);
    }
    for (number, node) in after.world.heap.iter().enumerate() {
        let old = before.world.heap.get(number);
        let reused = old.is_some_and(|old| old.freed && !node.freed);
        let old_value = old.filter(|_| !reused).map(|old| &old.value);
        let name = node_name(number);
        if let Value::Record(fields) = &node.value {
            for ((field, ty), (_, value)) in types.nodes[node.ty].fields.iter().zip(fields) {
                let path = [Part::Field(field.clone())];
                let old = old_value.and_then(|old| old.part(&path));
                differences(types, ty, &format!("{name}.{field}"), old, value, &mut note.heap);
            }
        }
        if node.freed && old.is_some_and(|old| !old.freed) {
            note.heap.push((name, "freed".into()));
        }
    }
    let scope = |configuration: &Configuration| {
        let running = configuration.processes[process].running.as_ref();
        running.map_or(Vec::new(), |running| running.point.variables())
    };
    let known = scope(before);
    for (name, ty, value) in scope(after) {
        // The limit of a `for` has a name that no variable has.
        if name.ends_with("..") {
            continue;
        }
        let old = known.iter().find(|(n, ..)| *n == name).map(|(_, _, value)| value);
        let first = old.is_none() && value == Value::first(types, &ty);
        if !first {
            differences(types, &ty, &name, old, &value, &mut note.locals);
        }
    }
    let changed = |place: &str| {
        let mut names = note.shared.iter().chain(&note.heap).map(|(name, _)| name);
        names.any(|name| {
            let rest = name.strip_prefix(place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    };
    let writes = note.accesses.iter().filter(|access| access.kind == "writes");
    let kept = writes.filter(|access| !changed(&access.place));
    note.kept = kept.map(|access| (access.place.clone(), access.value.clone())).collect();
    note
}

/// The cells of a value that are other than before.
fn differences(
    types: &Types,
    ty: &Ty,
    name: &str,
    old: Option<&Value>,
    new: &Value,
    out: &mut Vec<(String, String)>,
) {
    if old == Some(new) {
        return;
    }
    match (ty, old, new) {
        (Ty::Array { of, .. }, Some(Value::List(before)), Value::List(after)) => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                differences(types, of, &format!("{name}[{index}]"), Some(old), new, out);
            }
        }
        (Ty::Record(record), Some(Value::Record(before)), Value::Record(after)) => {
            let fields = types.records[*record].fields.iter();
            for (((field, ty), (_, old)), (_, new)) in fields.zip(before).zip(after) {
                differences(types, ty, &format!("{name}.{field}"), Some(old), new, out);
            }
        }
        _ => out.push((name.to_string(), show(types, ty, new))),
    }
}

/// The line on which a statement begins, and its text there: a line may hold several.
fn line_of(source: &str, at: Span) -> (u32, String) {
    let (line, _) = at.line_column(source);
    // The first word of `atomic if` precedes the statement that makes the accesses.
    let before = source.get(..at.start as usize).unwrap_or("").trim_end();
    let start = match before.ends_with("atomic") {
        true => before.len() - "atomic".len(),
        false => at.start as usize,
    };
    let text = source.get(start..at.end as usize).unwrap_or("");
    (line as u32, text.lines().next().unwrap_or("").trim().to_string())
}
