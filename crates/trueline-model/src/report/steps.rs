//! The steps of a run of a model, as a report shows them.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};
use trueline_report::{Layout, Step, Steps};

use crate::engine::{Event, Lasso, TraceStep};
use crate::interpret::Note;
use crate::program::Program;

pub(super) fn lane_names(program: &Program) -> Vec<String> {
    (0..program.processes()).map(|process| format!("P{process}")).collect()
}

/// The run that shows that a progress property fails.
pub(super) fn lasso_steps(program: &Program, name: &str, lasso: &Lasso, notes: &[Note]) -> Steps {
    let Lasso { stem, cycle, waits, for_ever } = lasso;
    let end = match waits {
        Some(process) if *for_ever => {
            format!("ends where P{process} waits for ever, whatever the others do")
        }
        Some(process) => {
            format!(
                "ends where P{process} can only wait for other processes, which may have stopped"
            )
        }
        None if cycle.is_empty() => "ends in a state in which no process can take a step".into(),
        None => "leads to a cycle that repeats for ever".to_string(),
    };
    let (before, after) = notes.split_at(stem.len().min(notes.len()));
    let mut steps = shown_steps(program, stem, before, &[]);
    steps.extend(shown_steps(program, cycle, after, &[]));
    Steps {
        title: Some(format!("{name}: fails: this run {end}")),
        layout: Layout::Model,
        lanes: lane_names(program),
        steps,
        cycle: (!cycle.is_empty()).then_some(stem.len()),
        initially: Vec::new(),
        race: None,
    }
}

/// The steps for a report.
pub(super) fn shown_steps(
    program: &Program,
    steps: &[TraceStep],
    notes: &[Note],
    initially: &[String],
) -> Vec<Step> {
    let mut before: Vec<i32> =
        program.shared.iter().flat_map(|v| (0..v.cells()).map(|c| v.first(c))).collect();
    let mut known: Vec<String> = initially.to_vec();
    let mut sources = Sources::default();
    let mut shown = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let note = notes.get(number);
        let changed = match note {
            Some(note) => pairs(note.shared.iter().chain(&note.heap)),
            None => changes(program, &before, &step.shared),
        };
        before.clone_from(&step.shared);
        let mut states = None;
        if step.explained_by != known && !initially.is_empty() {
            states = Some(match step.explained_by.len() {
                0 => unexplained(program, step),
                _ => step.explained_by.join(" or "),
            });
            known.clone_from(&step.explained_by);
        }
        let (call, did, returned) = cell(program, step, note);
        let line = line_of(program, step, note);
        let texts: Vec<&String> = call.iter().chain(&did).chain(&returned).collect();
        let fields = step_fields(program, step, note, line, &texts);
        shown.push(Step {
            lane: step.process,
            call,
            did,
            returned,
            file: None,
            line: line.unwrap_or(0),
            changed,
            memory: note
                .map(|n| n.shared.iter().chain(&n.heap).cloned().collect())
                .unwrap_or_default(),
            states,
            reads_from: note.map(|note| sources.of(step.process, note, number)).unwrap_or_default(),
            fields,
        });
    }
    shown
}

/// The step that wrote each place last, and its process.
#[derive(Default)]
struct Sources(HashMap<String, (usize, usize)>);

impl Sources {
    /// The steps of other processes whose values this step reads.
    fn of(&mut self, process: usize, note: &Note, number: usize) -> Vec<usize> {
        let mut sources = Vec::new();
        for access in &note.accesses {
            let last = self.0.get(&access.place).filter(|_| access.kind != "writes");
            sources.extend(last.filter(|(_, other)| *other != process).map(|(step, _)| *step));
            let writes = !matches!(access.kind, "reads" | "ll" | "vl");
            if writes && access.succeeded != Some(false) {
                self.0.insert(access.place.clone(), (number, process));
            }
        }
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}

/// The operation that a step belongs to.
fn operation_of(program: &Program, step: &TraceStep) -> Option<usize> {
    let called = step.events.iter().find_map(|event| match event {
        Event::Call(call) => Some(program.calls[*call].operation),
        _ => None,
    });
    called.or_else(|| step.location.map(|l| program.locations[l].operation))
}

/// The content of a step's lane: the call that begins with it, its accesses, the return that ends
/// with it.
fn cell(
    program: &Program,
    step: &TraceStep,
    note: Option<&Note>,
) -> (Option<String>, Vec<String>, Option<String>) {
    let operation = operation_of(program, step);
    let call = step.events.iter().find_map(|event| match event {
        Event::Call(call) => {
            let line = operation.map_or(0, |operation| program.operations[operation].line);
            Some(format!("{line}: {}", program.show_call(*call)))
        }
        _ => None,
    });
    let mut did = Vec::new();
    match (note, step.location) {
        (Some(note), _) if note.line > 0 => {
            let comes = if note.arrives { "comes to " } else { "" };
            did.push(format!("{comes}{}: {}", note.line, note.text));
        }
        (_, Some(location)) => {
            let location = &program.locations[location];
            did.push(format!("{}: {}", location.line, location.text));
        }
        _ => {}
    }
    if let Some(note) = note {
        did.extend(seen(note));
        if !note.locals.is_empty() {
            did.push(pairs(note.locals.iter()));
        }
    }
    if step.events.iter().any(|event| matches!(event, Event::Lin)) {
        did.push("takes effect".into());
    }
    let returned = step.events.iter().find_map(|event| match event {
        Event::Return(results) => {
            let operation = operation.unwrap_or_default();
            Some(format!("-> {}", program.show_results(operation, results)))
        }
        _ => None,
    });
    (call, did, returned)
}

/// The results of a step's accesses that the changes do not show.
fn seen(note: &Note) -> Vec<String> {
    let told = note.accesses.iter().filter_map(|access| {
        let (kind, place, value) = (access.kind, &access.place, &access.value);
        match (kind, access.succeeded) {
            ("cas" | "sc", Some(true)) => Some(format!("{kind} succeeds")),
            ("vl", Some(true)) => Some(format!("vl of {place} succeeds")),
            ("cas", Some(false)) => Some(format!("cas fails: {place} is {value}")),
            ("sc" | "vl", Some(false)) => Some(format!("{kind} of {place} fails")),
            ("reads" | "ll", _) => Some(format!("{place} is {value}")),
            ("swap" | "fetch_add", _) => Some(format!("{place} was {value}")),
            _ => None,
        }
    });
    told.chain(note.kept.iter().map(|(place, value)| format!("{place} stays {value}"))).collect()
}

/// `H=1 B[2]=0`: the shared cells that a step changed.
fn changes(program: &Program, before: &[i32], after: &[i32]) -> String {
    let mut at = 0;
    let mut told = Vec::new();
    for variable in &program.shared {
        for cell in 0..variable.cells() {
            if before.get(at) != after.get(at) {
                let value = variable.ty.show(after[at]);
                told.push(format!("{}={value}", variable.cell_name(cell)));
            }
            at += 1;
        }
    }
    told.join(" ")
}

/// The line of the model that a step ran.
fn line_of(program: &Program, step: &TraceStep, note: Option<&Note>) -> Option<u32> {
    let line = step.location.map(|l| program.locations[l].line);
    note.map(|note| note.line).filter(|line| *line > 0).or(line)
}

/// A step as programs read it.
fn step_fields(
    program: &Program,
    step: &TraceStep,
    note: Option<&Note>,
    line: Option<u32>,
    texts: &[&String],
) -> Map<String, Json> {
    let mut shared = Map::new();
    let mut at = 0;
    for variable in &program.shared {
        for cell in 0..variable.cells() {
            shared.insert(variable.cell_name(cell), json!(variable.ty.show(step.shared[at])));
            at += 1;
        }
    }
    let mut fields = Map::new();
    let mut set = |name: &str, value: Json| fields.insert(name.to_string(), value);
    set("process", json!(step.process));
    set("line", json!(line));
    set("choices", json!(step.choices));
    set("shows", json!(texts));
    set("shared", json!(shared));
    set("explained_by", json!(step.explained_by));
    if let Some(note) = note {
        let map = |pairs: &[(String, String)]| -> Map<String, Json> {
            pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
        };
        let accesses = note.accesses.iter().map(|access| {
            json!({
                "kind": access.kind,
                "place": access.place,
                "value": access.value,
                "succeeded": access.succeeded,
            })
        });
        set("text", json!(note.text));
        set("accesses", accesses.collect());
        let changed = json!({
            "shared": map(&note.shared),
            "heap": map(&note.heap),
            "locals": map(&note.locals),
        });
        set("changed", changed);
    }
    if step.explained_by.is_empty()
        && let Some(operation) = operation_of(program, step)
    {
        let possible = step.possible.iter();
        let possible = possible.map(|results| json!(program.show_results(operation, results)));
        set("possible", possible.collect());
    }
    fields
}

/// The observation that nothing explains, and the results that would have been explained.
fn unexplained(program: &Program, step: &TraceStep) -> String {
    let returned = step.events.iter().find_map(|event| match event {
        Event::Return(results) => Some(results),
        _ => None,
    });
    let (Some(returned), Some(operation)) = (returned, operation_of(program, step)) else {
        return "nothing explains this".into();
    };
    let show = |results: &[i32]| format!("-> {}", program.show_results(operation, results));
    let possible: Vec<String> = step.possible.iter().map(|results| show(results)).collect();
    let name = &program.operations[operation].name;
    match possible.is_empty() {
        true => format!("nothing explains {}: {name} could not return here", show(returned)),
        false => {
            format!("nothing explains {}; possible: {}", show(returned), possible.join(" or "))
        }
    }
}

fn pairs<'a>(pairs: impl Iterator<Item = &'a (String, String)>) -> String {
    let shown = pairs.map(|(name, value)| match value.as_str() {
        "freed" => format!("{name} freed"),
        _ => format!("{name}={value}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}
