//! A verdict on a model as text with lanes, and as JSON.
//!
//! A counterexample has one lane a process. Each line is a step: what was called, the line of the model that ran, what
//! came back; then the shared variables that changed, and the states of the specification that still explain what was seen.

use serde_json::{Value as Json, json};
use trueline_report::{Document, Line, Look, Role, SCHEMA, bytes, clean, count, seconds};

use crate::engine::{
    Counterexample, Event, Lasso, Progress, ProgressReport, Reason, Report, TraceStep, Verdict,
};
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
    /// Progress properties that were checked, by name.
    pub progress: &'a [(String, ProgressReport)],
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

/// The report that people read.
pub fn text(case: &Case, look: &Look) -> Document {
    let mut document = Document::default();
    let (role, what) = match &case.report.verdict {
        Verdict::Verified => {
            let history = case.restriction.unwrap_or("history");
            (Role::Good, format!("every {history} is one of the specification"))
        }
        Verdict::Violation(found) => (Role::Bad, sentence(found)),
        Verdict::WrongPoints(_) => {
            (Role::Bad, "linearizable, but a linearization point is missing or misplaced".into())
        }
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
        document.extend(lanes(case.program, &found.trace.steps, &found.trace.initially, look));
        document.gap();
        let length = count(found.trace.steps.len() as u64, "step");
        let shortest = if found.shortest { ", as short as there is one" } else { "" };
        document.push(Line::of(Role::Dim, format!("  {length}{shortest}")));
    }
    for (name, report) in case.progress {
        document.extend(progress(case.program, name, report, look));
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

fn sentence(found: &Counterexample) -> String {
    match &found.reason {
        Reason::NotLinearizable => "no order of the operations explains the last step".into(),
        Reason::Fault(message) => format!("the model fails: {message}"),
    }
}

fn progress(program: &Program, name: &str, report: &ProgressReport, look: &Look) -> Document {
    let mut document = Document::default();
    match &report.progress {
        Progress::Holds => {
            document.push(Line::plain(format!("  {name}: holds")));
        }
        Progress::Unknown(reason) => {
            document.push(Line::of(Role::Doubt, clean(&format!("  {name}: unknown: {reason}"))));
        }
        Progress::Fails(Lasso { stem, cycle }) => {
            let end = if cycle.is_empty() {
                "ends where nothing goes on"
            } else {
                "leads to a cycle that repeats for ever"
            };
            document.gap();
            document.push(Line::of(Role::Bad, format!("  {name}: fails: this run {end}")));
            document.extend(lanes(program, stem, &[], look));
            if !cycle.is_empty() {
                document.push(Line::of(Role::Strong, "  then for ever"));
                document.extend(lanes(program, cycle, &[], look));
            }
            document.gap();
        }
    }
    document
}

/// One lane a process, one line a step.
fn lanes(program: &Program, steps: &[TraceStep], initially: &[String], look: &Look) -> Document {
    let bar = if look.ascii { "|" } else { "│" };
    let cells: Vec<Vec<String>> = steps.iter().map(|s| cell(program, s)).collect();
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
    if !initially.is_empty() {
        let mut line = Line::default();
        line.pad_to(numbers);
        line.push(
            Role::Dim,
            format!("specification: {}", shorten(&initially.join(" or "), look.width)),
        );
        document.push(line);
    }
    let mut before: Vec<i32> =
        program.shared.iter().flat_map(|v| (0..v.cells()).map(|c| v.first(c))).collect();
    let mut known: Vec<String> = initially.to_vec();
    for (number, (step, texts)) in steps.iter().zip(&cells).enumerate() {
        let changed = changes(program, &before, &step.shared);
        before.clone_from(&step.shared);
        for (row, text) in texts.iter().enumerate() {
            let mut line = Line::default();
            line.pad_to(2);
            if row == 0 {
                line.push(Role::Dim, format!("{}", number + 1));
            }
            line.pad_to(numbers);
            for (p, width) in widths.iter().enumerate() {
                let column = line.width() + width + 1;
                if p == step.process {
                    let last = number + 1 == steps.len() && row + 1 == texts.len();
                    let role = if last { Role::Clash } else { Role::Plain };
                    line.push(role, clean(&shorten(text, *width)));
                }
                line.pad_to(column);
                line.push(Role::Dim, format!("{bar} "));
            }
            if row + 1 == texts.len() {
                line.push(Role::Plain, clean(&changed));
            }
            document.push(line);
        }
        if step.explained_by != known && !initially.is_empty() {
            let states = match step.explained_by.len() {
                0 => "nothing explains this".into(),
                _ => step.explained_by.join(" or "),
            };
            let mut line = Line::default();
            line.pad_to(numbers);
            line.push(
                Role::Dim,
                clean(&format!("specification: {}", shorten(&states, look.width))),
            );
            document.push(line);
            known.clone_from(&step.explained_by);
        }
    }
    document
}

fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let mut short: String = text.chars().take(width.saturating_sub(2)).collect();
    short.push_str("..");
    short
}

/// What a step shows in its lane.
fn cell(program: &Program, step: &TraceStep) -> Vec<String> {
    let mut rows = Vec::new();
    let mut operation = step.location.map(|l| program.locations[l].operation);
    for event in &step.events {
        if let Event::Call(call) = event {
            operation = Some(program.calls[*call].operation);
            rows.push(program.show_call(*call));
        }
    }
    match step.location {
        Some(location) => {
            let location = &program.locations[location];
            rows.push(format!("{}: {}", location.line, location.text));
        }
        None => {
            if let Some(operation) = operation {
                let line = program.operations[operation].line;
                if let Some(row) = rows.last_mut() {
                    *row = format!("{line}: {row}");
                }
            }
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
        "again": case.again,
    });
    match &report.verdict {
        Verdict::Verified => {}
        Verdict::Unknown(reason) | Verdict::Refused(reason) => object["reason"] = json!(reason),
        Verdict::Violation(found) | Verdict::WrongPoints(found) => {
            let missing = matches!(report.verdict, Verdict::WrongPoints(_));
            object["explanation"] = json!({
                "sentence": if missing { "a linearization point is missing or misplaced".into() } else { sentence(found) },
                "shortest": found.shortest,
                "initially": found.trace.initially,
                "steps": steps(case.program, &found.trace.steps),
            });
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
        let progress = case.progress.iter().map(|(name, report)| {
            let (verdict, detail) = match &report.progress {
                Progress::Holds => ("holds", Json::Null),
                Progress::Unknown(reason) => ("unknown", json!(reason)),
                Progress::Fails(lasso) => (
                    "fails",
                    json!({"stem": steps(case.program, &lasso.stem), "cycle": steps(case.program, &lasso.cycle)}),
                ),
            };
            json!({"property": name, "verdict": verdict, "states": report.states, "detail": detail})
        });
        object["progress"] = progress.collect();
    }
    object
}

fn steps(program: &Program, steps: &[TraceStep]) -> Json {
    let one = |step: &TraceStep| {
        let mut at = 0;
        let mut shared = serde_json::Map::new();
        for variable in &program.shared {
            for cell in 0..variable.cells() {
                shared.insert(cell_name(variable, cell), json!(variable.ty.show(step.shared[at])));
                at += 1;
            }
        }
        let line = step.location.map(|l| program.locations[l].line);
        json!({
            "process": step.process,
            "line": line,
            "choices": step.choices,
            "shows": cell(program, step),
            "shared": shared,
            "explained_by": step.explained_by,
        })
    };
    steps.iter().map(one).collect()
}
