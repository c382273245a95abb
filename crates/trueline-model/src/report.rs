//! A verdict on a model as text with lanes, and as JSON.
//!
//! A counterexample has one lane a process. Each line is a step: what was called, the line of the model that ran, what it
//! read, the variables of the process that changed, what came back; then the shared variables and nodes that changed, and the states of the specification that
//! still explain what was seen. Nothing is cut off: long texts go on in the next row.

use serde_json::{Value as Json, json};
use trueline_report::{Document, Line, Look, Role, SCHEMA, bytes, clean, count, seconds};

use crate::engine::{
    Counterexample, Event, Lasso, Progress, ProgressReport, Reason, Report, SHORTENING, Trace,
    TraceStep, Verdict,
};
use crate::interpret::Note;
use crate::program::{Program, Variable};

/// A model that was verified, and what came out.
pub struct Case<'a> {
    /// The file or the built-in model, as it was given.
    pub file: &'a str,
    /// Its parameters: `procs=3 size=4`.
    pub settings: &'a [(String, i32)],
    /// What was run.
    pub program: &'a Program,
    /// What came out.
    pub report: &'a Report,
    /// Which histories were looked at, where not all were: `simple history of processes 0 and 1`.
    pub restriction: Option<&'a str>,
    /// What the steps of a counterexample did.
    pub notes: &'a [Note],
    /// Progress properties that were checked, by name.
    pub progress: &'a [(String, ProgressReport)],
    /// By property: what the steps of the run did that shows that it fails.
    pub progress_notes: &'a [Vec<Note>],
    /// Properties that the model declares and that were not checked.
    pub unchecked: &'a [String],
    /// Why not, or what checks them.
    pub unchecked_because: &'a str,
    /// Which algorithm: the reductions that were on.
    pub algorithm: &'a str,
    /// How long it took.
    pub seconds: f64,
    /// The command that does it again.
    pub again: &'a str,
}

impl Case<'_> {
    /// What came of the progress properties, if one of them does not hold: `lock-free fails`.
    fn progress_trouble(&self) -> Option<String> {
        let name = |fails: bool| {
            let of = move |p: &&(String, ProgressReport)| match p.1.progress {
                Progress::Holds => false,
                Progress::Fails(_) => fails,
                Progress::Unknown(_) => !fails,
            };
            let end = if fails { "fails" } else { "is not decided" };
            self.progress.iter().filter(of).map(move |(name, _)| format!("{name} {end}"))
        };
        let trouble: Vec<String> = name(true).chain(name(false)).collect();
        (!trouble.is_empty()).then(|| trouble.join(", "))
    }

    /// Whether deadlocks were looked for: simple histories do not show them.
    fn finds_deadlocks(&self) -> bool {
        self.restriction.is_none()
    }

    /// `verified`, `violation` or `unknown`, progress included.
    pub fn verdict(&self) -> &'static str {
        let fails = |p: &(String, ProgressReport)| matches!(p.1.progress, Progress::Fails(_));
        let open = |p: &(String, ProgressReport)| matches!(p.1.progress, Progress::Unknown(_));
        match &self.report.verdict {
            Verdict::Violation(_) | Verdict::WrongPoints(_) => "violation",
            Verdict::Verified | Verdict::Unknown(_) if self.progress.iter().any(fails) => {
                "violation"
            }
            Verdict::Unknown(_) | Verdict::Refused(_) => "unknown",
            Verdict::Verified if self.progress.iter().any(open) => "unknown",
            Verdict::Verified => "verified",
        }
    }
}

/// What is said where the check fails with the marked points only.
const WRONG_POINTS: &str = "linearizable, but a linearization point is missing or misplaced";

/// The report that people read.
pub fn text(case: &Case, look: &Look) -> Document {
    let mut document = Document::default();
    let (role, what) = match &case.report.verdict {
        Verdict::Verified => {
            let history = case.restriction.unwrap_or("history");
            let deadlock = if case.finds_deadlocks() { ", none ends in a deadlock" } else { "" };
            (Role::Good, format!("every {history} is one of the specification{deadlock}"))
        }
        Verdict::Violation(found) => (Role::Bad, sentence(found)),
        Verdict::WrongPoints(_) => (Role::Bad, WRONG_POINTS.into()),
        Verdict::Unknown(reason) | Verdict::Refused(reason) => (Role::Doubt, reason.clone()),
    };
    let what = match case.progress_trouble() {
        Some(trouble) => format!("{trouble}; {what}"),
        None => what,
    };
    let name = case.verdict();
    let role = match name {
        "violation" => Role::Bad,
        "unknown" => Role::Doubt,
        _ => role,
    };
    let settings: Vec<String> = case.settings.iter().map(|(n, v)| format!("{n}={v}")).collect();
    // A client of literal numbers has no settings that tell how far the verdict goes.
    let bound = bound(case.program);
    let settings = if settings.is_empty() { bound.clone() } else { settings.join(" ") };
    let mut line = Line::of(role, name);
    line.push(Role::Plain, clean(&format!(": {} ({settings}): {what}", case.file)));
    document.push(line);
    if look.quiet {
        return document;
    }
    if let Verdict::Violation(found) | Verdict::WrongPoints(found) = &case.report.verdict {
        if matches!(case.report.verdict, Verdict::WrongPoints(_)) {
            document.push(Line::plain(
                "  The check with points fails as below; the check without them does not.",
            ));
        }
        document.gap();
        let Trace { steps, initially } = &found.trace;
        document.extend(lanes(case.program, steps, case.notes, initially, look));
        document.gap();
        if found.reason == Reason::Deadlock {
            for line in waiting(case.program, steps) {
                document.push(Line::plain(clean(&format!("  {line}"))));
            }
        }
        document.push(Line::of(Role::Dim, format!("  {}", length(found))));
    }
    for (number, (name, report)) in case.progress.iter().enumerate() {
        let notes = case.progress_notes.get(number).map_or(&[][..], Vec::as_slice);
        document.extend(progress(case.program, name, report, notes, look));
    }
    if !case.finds_deadlocks() {
        let line = "  not checked: deadlock (simple histories do not show it)";
        document.push(Line::of(Role::Doubt, line));
    }
    if !case.unchecked.is_empty() {
        let (names, why) = (case.unchecked.join(", "), case.unchecked_because);
        document.push(Line::of(Role::Doubt, clean(&format!("  not checked: {names} ({why})"))));
    }
    let report = case.report;
    document.push(Line::of(
        Role::Dim,
        format!(
            "  {bound}: {}, {}, depth {}, {}, {}; {}",
            count(report.states, "state"),
            count(report.transitions, "transition"),
            report.depth,
            bytes(report.bytes),
            seconds(case.seconds),
            case.algorithm
        ),
    ));
    if name != "verified" {
        document.push(Line::of(Role::Dim, format!("  again: {}", clean(case.again))));
    }
    document
}

/// What a verdict speaks of: `2 processes, 1 operation each`.
fn bound(program: &Program) -> String {
    let processes = match program.processes() {
        1 => "1 process".to_string(),
        several => format!("{several} processes"),
    };
    let mut limits: Vec<Option<u32>> = program.roles.iter().map(|role| role.limit).collect();
    limits.dedup();
    let operations: Vec<String> = (limits.iter())
        .map(|limit| match limit {
            Some(limit) => format!("{} each", count(u64::from(*limit), "operation")),
            None => "operations without end".into(),
        })
        .collect();
    format!("{processes}, {}", operations.join(" or "))
}

/// How long a counterexample is, and what is known of shorter ones.
fn length(found: &Counterexample) -> String {
    let steps = count(found.trace.steps.len() as u64, "step");
    match (found.shortest, found.shorter_seen) {
        (true, _) => format!("{steps}, as short as there is one"),
        (false, None) => format!("{steps}; a shorter one was not looked for"),
        (false, Some(depth)) => format!(
            "{steps}; a shorter one was looked for in {}: there is none of up to {depth}",
            count(SHORTENING, "state")
        ),
    }
}

/// Who waits where, at the end of these steps.
fn waiting(program: &Program, steps: &[TraceStep]) -> Vec<String> {
    let last = |process| steps.iter().rev().find(|step| step.process == process);
    let waits = (0..program.processes()).filter_map(|process| {
        let location = &program.locations[last(process)?.at?];
        let operation = &program.operations[location.operation].name;
        let (line, text) = (location.line, &location.text);
        Some(format!("P{process} waits for ever in {operation}, line {line}: {text}"))
    });
    waits.collect()
}

fn sentence(found: &Counterexample) -> String {
    match &found.reason {
        Reason::NotLinearizable => "no order of the operations explains the last step".into(),
        Reason::Fault(message) => format!("the model fails: {message}"),
        Reason::Deadlock => {
            "deadlock: nobody can take a step, and the specification does not let the operations wait".into()
        }
    }
}

/// What the number of operations means for a property that holds.
fn bounded(program: &Program, name: &str) -> Option<String> {
    let is_bounded = program.roles.iter().any(|role| role.limit.is_some());
    (is_bounded && name != "deadlock-free")
        .then(|| format!("with {}; with operations without end it may fail", bound(program)))
}

fn progress(
    program: &Program,
    name: &str,
    report: &ProgressReport,
    notes: &[Note],
    look: &Look,
) -> Document {
    let mut document = Document::default();
    match &report.progress {
        Progress::Holds => {
            let bounded = bounded(program, name).map_or(String::new(), |note| format!(" {note}"));
            document.push(Line::plain(format!("  {name}: holds{bounded}")));
        }
        Progress::Unknown(reason) => {
            document.push(Line::of(Role::Doubt, clean(&format!("  {name}: unknown: {reason}"))));
        }
        Progress::Fails(Lasso { stem, cycle, waits, for_ever }) => {
            let end = match waits {
                Some(process) if *for_ever => {
                    format!("ends where P{process} waits for ever, whatever the others do")
                }
                Some(process) => {
                    format!("ends where P{process} can only wait for others, who may have stopped")
                }
                None if cycle.is_empty() => "ends where nothing goes on".into(),
                None => "leads to a cycle that repeats for ever".to_string(),
            };
            document.gap();
            document.push(Line::of(Role::Bad, format!("  {name}: fails: this run {end}")));
            let (before, after) = notes.split_at(stem.len().min(notes.len()));
            document.extend(lanes(program, stem, before, &[], look));
            if !cycle.is_empty() {
                document.push(Line::of(Role::Strong, "  then for ever"));
                document.extend(lanes(program, cycle, after, &[], look));
            }
            document.gap();
        }
    }
    document
}

/// One lane a process, one line a step.
fn lanes(
    program: &Program,
    steps: &[TraceStep],
    notes: &[Note],
    initially: &[String],
    look: &Look,
) -> Document {
    let bar = if look.ascii { "|" } else { "│" };
    let noted = |number: usize| notes.get(number);
    let cells: Vec<Vec<String>> =
        steps.iter().enumerate().map(|(i, s)| cell(program, s, noted(i))).collect();
    let processes = program.processes();
    let most = (look.width.max(40) / (processes + 2)).max(12);
    let widths: Vec<usize> = (0..processes)
        .map(|p| {
            let own = cells.iter().zip(steps).filter(|(_, s)| s.process == p);
            let widest = own.flat_map(|(c, _)| c.iter().map(|t| t.chars().count())).max();
            widest.unwrap_or(2).clamp(4, most)
        })
        .collect();
    let mut document = Document::default();
    let numbers = steps.len().to_string().len().max(2) + 3;
    let mut head = Line::default();
    head.pad_to(numbers);
    for (p, width) in widths.iter().enumerate() {
        let column = head.width() + width + 3;
        head.push(Role::Dim, format!("P{p}"));
        head.pad_to(column);
    }
    head.push(Role::Dim, "shared");
    document.push(head);
    let specification = |document: &mut Document, text: &str| {
        for row in wrap(&format!("specification: {text}"), look.width.max(40)) {
            let mut line = Line::default();
            line.pad_to(numbers);
            line.push(Role::Dim, clean(&row));
            document.push(line);
        }
    };
    if !initially.is_empty() {
        specification(&mut document, &initially.join(" or "));
    }
    let mut before: Vec<i32> =
        program.shared.iter().flat_map(|v| (0..v.cells()).map(|c| v.first(c))).collect();
    let mut known: Vec<String> = initially.to_vec();
    for (number, (step, texts)) in steps.iter().zip(&cells).enumerate() {
        let changed = match noted(number) {
            Some(note) => pairs(note.shared.iter().chain(&note.heap)),
            None => changes(program, &before, &step.shared),
        };
        before.clone_from(&step.shared);
        let rows: Vec<String> =
            texts.iter().flat_map(|text| wrap(text, widths[step.process])).collect();
        for (row, text) in rows.iter().enumerate() {
            let mut line = Line::default();
            line.pad_to(2);
            if row == 0 {
                line.push(Role::Dim, format!("{}", number + 1));
            }
            line.pad_to(numbers);
            for (p, width) in widths.iter().enumerate() {
                let column = line.width() + width + 1;
                if p == step.process {
                    let last = number + 1 == steps.len() && row + 1 == rows.len();
                    let role = if last { Role::Clash } else { Role::Plain };
                    line.push(role, clean(text));
                }
                line.pad_to(column);
                line.push(Role::Dim, format!("{bar} "));
            }
            if row + 1 == rows.len() {
                line.push(Role::Plain, clean(&changed));
            }
            document.push(line);
        }
        if step.explained_by != known && !initially.is_empty() {
            let states = match step.explained_by.len() {
                0 => unexplained(program, step),
                _ => step.explained_by.join(" or "),
            };
            specification(&mut document, &states);
            known.clone_from(&step.explained_by);
        }
    }
    document
}

/// What nothing explains, and what would have been explained.
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

/// The text in rows of this width, broken at spaces where there are some.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut row = String::new();
    for word in text.split(' ') {
        let mut word = word;
        let together = row.chars().count() + 1 + word.chars().count();
        if !row.is_empty() && together > width {
            rows.push(std::mem::take(&mut row));
        } else if !row.is_empty() {
            row.push(' ');
        }
        while word.chars().count() > width {
            let end = word.char_indices().nth(width).map_or(word.len(), |(at, _)| at);
            rows.push(word[..end].to_string());
            word = &word[end..];
        }
        row.push_str(word);
    }
    rows.push(row);
    rows
}

fn pairs<'a>(pairs: impl Iterator<Item = &'a (String, String)>) -> String {
    let shown = pairs.map(|(name, value)| match value.as_str() {
        "freed" => format!("{name} freed"),
        _ => format!("{name}={value}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The operation that a step belongs to.
fn operation_of(program: &Program, step: &TraceStep) -> Option<usize> {
    let called = step.events.iter().find_map(|event| match event {
        Event::Call(call) => Some(program.calls[*call].operation),
        _ => None,
    });
    called.or_else(|| step.location.map(|l| program.locations[l].operation))
}

/// What a step shows in its lane.
fn cell(program: &Program, step: &TraceStep, note: Option<&Note>) -> Vec<String> {
    let mut rows = Vec::new();
    let operation = operation_of(program, step);
    for event in &step.events {
        if let Event::Call(call) = event {
            let line = operation.map_or(0, |operation| program.operations[operation].line);
            rows.push(format!("{line}: {}", program.show_call(*call)));
        }
    }
    match (note, step.location) {
        (Some(note), _) if note.line > 0 => {
            let comes = if note.arrives { "comes to " } else { "" };
            rows.push(format!("{comes}{}: {}", note.line, note.text));
        }
        (_, Some(location)) => {
            let location = &program.locations[location];
            rows.push(format!("{}: {}", location.line, location.text));
        }
        _ => {}
    }
    if let Some(note) = note {
        rows.extend(seen(note));
        if !note.locals.is_empty() {
            rows.push(pairs(note.locals.iter()));
        }
    }
    for event in &step.events {
        match event {
            Event::Return(results) => {
                let operation = operation.unwrap_or_default();
                rows.push(format!("-> {}", program.show_results(operation, results)));
            }
            Event::Lin => rows.push("takes effect".into()),
            Event::Call(_) => {}
        }
    }
    if rows.is_empty() {
        rows.push(String::new());
    }
    rows
}

/// What the accesses of a step gave, where the changes do not tell it.
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
                told.push(format!("{}={value}", cell_name(variable, cell)));
            }
            at += 1;
        }
    }
    told.join(" ")
}

fn cell_name(variable: &Variable, cell: usize) -> String {
    let mut rest = cell;
    let mut indices: Vec<String> = Vec::new();
    for dim in variable.dims.iter().rev() {
        indices.push(format!("[{}]", rest % dim.len));
        rest /= dim.len;
    }
    indices.reverse();
    format!("{}{}", variable.name, indices.concat())
}

/// One JSON object.
pub fn json(case: &Case) -> Json {
    let report = case.report;
    let settings: serde_json::Map<String, Json> =
        case.settings.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
    let mut object = json!({
        "schema": SCHEMA,
        "file": case.file,
        "verdict": case.verdict(),
        "algorithm": case.algorithm,
        "seconds": case.seconds,
        "settings": settings,
        "bound": bound(case.program),
        "histories": case.restriction.unwrap_or("all"),
        "states": report.states,
        "transitions": report.transitions,
        "depth": report.depth,
        "sets": report.sets,
        "bytes": report.bytes,
        "points": report.points,
        "deadlock": if case.finds_deadlocks() { "checked" } else { "not checked" },
        "again": case.again,
    });
    match &report.verdict {
        Verdict::Verified => {}
        Verdict::Unknown(reason) | Verdict::Refused(reason) => object["reason"] = json!(reason),
        Verdict::Violation(found) | Verdict::WrongPoints(found) => {
            let missing = matches!(report.verdict, Verdict::WrongPoints(_));
            object["explanation"] = json!({
                "sentence": if missing { WRONG_POINTS.into() } else { sentence(found) },
                "shortest": found.shortest,
                "initially": found.trace.initially,
                "steps": steps(case.program, &found.trace.steps, case.notes),
            });
            if let Some(depth) = found.shorter_seen {
                object["explanation"]["none_up_to"] = json!(depth);
            }
            if found.reason == Reason::Deadlock {
                let waiting = waiting(case.program, &found.trace.steps);
                object["explanation"]["waiting"] = json!(waiting);
            }
        }
    }
    if !case.unchecked.is_empty() {
        object["not_checked"] =
            json!({"properties": case.unchecked, "because": case.unchecked_because});
    }
    if let Some(trouble) = case.progress_trouble()
        && object.get("reason").is_none()
    {
        object["reason"] = json!(trouble);
    }
    if !case.progress.is_empty() {
        let progress = case.progress.iter().enumerate().map(|(number, (name, report))| {
            let notes = case.progress_notes.get(number).map_or(&[][..], Vec::as_slice);
            let (verdict, detail) = match &report.progress {
                Progress::Holds => ("holds", Json::Null),
                Progress::Unknown(reason) => ("unknown", json!(reason)),
                Progress::Fails(lasso) => {
                    let (before, after) = notes.split_at(lasso.stem.len().min(notes.len()));
                    let detail = json!({
                        "stem": steps(case.program, &lasso.stem, before),
                        "cycle": steps(case.program, &lasso.cycle, after),
                        "waits": lasso.waits,
                    });
                    ("fails", detail)
                }
            };
            let holds = matches!(report.progress, Progress::Holds);
            let note = bounded(case.program, name).filter(|_| holds);
            json!({"property": name, "verdict": verdict, "states": report.states, "detail": detail, "note": note})
        });
        object["progress"] = progress.collect();
    }
    object
}

fn steps(program: &Program, steps: &[TraceStep], notes: &[Note]) -> Json {
    let one = |(number, step): (usize, &TraceStep)| {
        let note = notes.get(number);
        let mut at = 0;
        let mut shared = serde_json::Map::new();
        for variable in &program.shared {
            for cell in 0..variable.cells() {
                shared.insert(cell_name(variable, cell), json!(variable.ty.show(step.shared[at])));
                at += 1;
            }
        }
        let line = step.location.map(|l| program.locations[l].line);
        let line = note.map(|note| note.line).filter(|line| *line > 0).or(line);
        let mut object = json!({
            "process": step.process,
            "line": line,
            "choices": step.choices,
            "shows": cell(program, step, note),
            "shared": shared,
            "explained_by": step.explained_by,
        });
        if let Some(note) = note {
            let map = |pairs: &[(String, String)]| -> serde_json::Map<String, Json> {
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
            object["text"] = json!(note.text);
            object["accesses"] = accesses.collect();
            object["changed"] = json!({"shared": map(&note.shared), "heap": map(&note.heap), "locals": map(&note.locals)});
        }
        if step.explained_by.is_empty()
            && let Some(operation) = operation_of(program, step)
        {
            let possible = step.possible.iter();
            object["possible"] =
                possible.map(|results| json!(program.show_results(operation, results))).collect();
        }
        object
    };
    steps.iter().enumerate().map(one).collect()
}
