//! The report on a model.
//!
//! A counterexample has one lane per process. Each step shows the call, the line of the model that
//! ran, what it read, the changed variables of the process, and the return; then the changed shared
//! variables and nodes, and the states of the specification that still explain the observations.

use serde_json::{Map, Value as Json, json};
use trueline_report::{
    Answer, Layout, Role, Section, Step, Steps, Undecided, bytes, count, seconds,
};

use crate::engine::{
    Counterexample, Progress, ProgressReport, Reason, Report, SHORTENING, Trace, TraceStep, Verdict,
};
use crate::interpret::Note;
use crate::program::Program;

mod steps;

use steps::{lane_names, lasso_steps, shown_steps};

/// A verified model and its result.
pub struct Case<'a> {
    /// The file or the built-in model, as it was given.
    pub file: &'a str,
    /// Its parameters: `procs=3 size=4`.
    pub settings: &'a [(String, i32)],
    /// The program that ran.
    pub program: &'a Program,
    /// The result.
    pub report: &'a Report,
    /// Which histories were checked, if not all: `simple history of processes 0 and 1`.
    pub restriction: Option<&'a str>,
    /// What the steps of a counterexample did.
    pub notes: &'a [Note],
    /// Progress properties that were checked, by name.
    pub progress: &'a [(String, ProgressReport)],
    /// By property: what the steps of the run that violates it did.
    pub progress_notes: &'a [Vec<Note>],
    /// Properties that the model declares and that were not checked.
    pub unchecked: &'a [String],
    /// Why they were not checked, or which flag checks them.
    pub unchecked_because: &'a str,
    /// Which algorithm: the reductions that were on.
    pub algorithm: &'a str,
    /// How long it took.
    pub seconds: f64,
    /// The command that does it again.
    pub again: &'a str,
    /// Whether the model runs other code because its points are trusted.
    pub other_code: bool,
    /// The JSON field `reason` if there is no verdict: the limit that was reached.
    pub reason_code: &'static str,
}

impl Case<'_> {
    /// The result of the progress properties, if one of them does not hold: `lock-free fails`.
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

    /// Whether the search finds deadlocks: simple histories do not show them.
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

/// The message if the check fails only with the marked points.
const WRONG_POINTS: &str = "linearizable, but a linearization point is missing or misplaced";

impl Case<'_> {
    /// The report on this model.
    pub fn report(&self) -> trueline_report::Report {
        let (answer, what) = self.answer();
        let what = match self.progress_trouble() {
            Some(trouble) => format!("{trouble}; {what}"),
            None => what,
        };
        let settings: Vec<String> = self.settings.iter().map(|(n, v)| format!("{n}={v}")).collect();
        // A client of literal numbers has no settings that describe the coverage.
        let bound = bound(self.program);
        let settings = if settings.is_empty() { bound.clone() } else { settings.join(" ") };
        let subject = format!("{} ({settings})", self.file);
        let mut report = trueline_report::Report::new(subject, answer, what);
        self.add_fields(&mut report);
        if let Verdict::Violation(found) | Verdict::WrongPoints(found) = &self.report.verdict {
            self.add_counterexample(found, &mut report);
        }
        self.add_progress(&mut report);
        if self.other_code {
            let note = "with points: this is about the code that the model has for them (`points`), not about the other";
            report.sections.push(Section::Line(Role::Doubt, note.into()));
        }
        let mut not_checked = |what: String| {
            report.sections.push(Section::Line(Role::Doubt, format!("not checked: {what}")));
        };
        if !self.finds_deadlocks() {
            not_checked("deadlock (simple histories do not show it)".into());
        }
        if !self.unchecked.is_empty() {
            not_checked(format!("{} ({})", self.unchecked.join(", "), self.unchecked_because));
        }
        let Report { states, transitions, depth, bytes: held, .. } = self.report;
        let counts = format!(
            "{bound}: {}, {}, depth {depth}, {}, {}; {}",
            count(*states, "state"),
            count(*transitions, "transition"),
            bytes(*held),
            seconds(self.seconds),
            self.algorithm
        );
        report.sections.push(Section::dim(counts));
        report.reproduce = Some(self.again.to_string());
        report
    }

    /// The answer, including progress, and the summary about the histories.
    fn answer(&self) -> (Answer, String) {
        let what = match &self.report.verdict {
            Verdict::Verified => {
                let history = self.restriction.unwrap_or("history");
                let deadlock = if self.finds_deadlocks() { ", no deadlock" } else { "" };
                format!("every {history} is linearizable{deadlock}")
            }
            Verdict::Violation(found) => sentence(found),
            Verdict::WrongPoints(_) => WRONG_POINTS.into(),
            Verdict::Unknown(reason) | Verdict::Refused(reason) => reason.clone(),
        };
        let answer = match self.verdict() {
            "verified" => Answer::holds("verified"),
            "violation" => Answer::violation(),
            _ => {
                let message = match &self.report.verdict {
                    Verdict::Unknown(reason) | Verdict::Refused(reason) => reason.clone(),
                    _ => self.progress_trouble().unwrap_or_default(),
                };
                Answer::Unknown(Undecided::new(self.reason_code, message))
            }
        };
        (answer, what)
    }

    fn add_fields(&self, report: &mut trueline_report::Report) {
        let settings: Map<String, Json> =
            self.settings.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
        let searched = self.report;
        for (name, value) in [
            ("file", json!(self.file)),
            ("algorithm", json!(self.algorithm)),
            ("seconds", json!(self.seconds)),
            ("settings", json!(settings)),
            ("bound", json!(bound(self.program))),
            ("histories", json!(self.restriction.unwrap_or("all"))),
            ("states", json!(searched.states)),
            ("transitions", json!(searched.transitions)),
            ("depth", json!(searched.depth)),
            ("sets", json!(searched.sets)),
            ("bytes", json!(searched.bytes)),
            ("points", json!(searched.points)),
            ("deadlock", json!(if self.finds_deadlocks() { "checked" } else { "not checked" })),
        ] {
            report.field(name, value);
        }
        if !self.unchecked.is_empty() {
            let unchecked =
                json!({"properties": self.unchecked, "because": self.unchecked_because});
            report.field("not_checked", unchecked);
        }
        if let Some(trouble) = self.progress_trouble() {
            report.field("message", trouble);
        }
    }

    fn add_counterexample(&self, found: &Counterexample, report: &mut trueline_report::Report) {
        let Trace { steps, initially } = &found.trace;
        let wrong_points = matches!(self.report.verdict, Verdict::WrongPoints(_));
        let sentence = if wrong_points { WRONG_POINTS.into() } else { sentence(found) };
        let mut explain = |name: &str, value: Json| {
            report.explanation.insert(name.to_string(), value);
        };
        explain("sentence", json!(sentence));
        explain("shortest", json!(found.shortest));
        explain("initially", json!(initially));
        if let Some(depth) = found.shorter_seen {
            explain("none_up_to", json!(depth));
        }
        if wrong_points {
            let why = "The check with points fails as below; the check without them does not.";
            report.sections.push(Section::Line(Role::Plain, why.into()));
        }
        let shown = Steps {
            title: None,
            layout: Layout::Model,
            lanes: lane_names(self.program),
            steps: shown_steps(self.program, steps, self.notes, initially),
            cycle: None,
            initially: initially.clone(),
            race: None,
        };
        report.sections.push(Section::Steps(shown));
        if found.reason == Reason::Deadlock {
            let waiting = waiting(self.program, steps);
            report.explanation.insert("waiting".into(), json!(waiting));
            let lines = waiting.into_iter().map(|line| Section::Line(Role::Plain, line));
            report.sections.extend(lines);
        }
        report.sections.push(Section::dim(length(found)));
    }

    fn add_progress(&self, report: &mut trueline_report::Report) {
        let mut properties = Vec::new();
        for (number, (name, found)) in self.progress.iter().enumerate() {
            let notes = self.progress_notes.get(number).map_or(&[][..], Vec::as_slice);
            let note =
                bounded(self.program, name).filter(|_| matches!(found.progress, Progress::Holds));
            let (verdict, detail, section) = match &found.progress {
                Progress::Holds => {
                    let bounded = note.as_ref().map_or(String::new(), |note| format!(" {note}"));
                    let line = format!("{name}: holds{bounded}");
                    ("holds", Json::Null, Section::Line(Role::Plain, line))
                }
                Progress::Unknown(reason) => {
                    let line = format!("{name}: unknown: {reason}");
                    ("unknown", json!(reason), Section::Line(Role::Doubt, line))
                }
                Progress::Fails(lasso) => {
                    let steps = lasso_steps(self.program, name, lasso, notes);
                    let fields = |steps: &[Step]| -> Json {
                        steps.iter().map(|step| Json::Object(step.fields.clone())).collect()
                    };
                    let (stem, cycle) = steps.steps.split_at(lasso.stem.len());
                    let detail = json!({
                        "stem": fields(stem),
                        "cycle": fields(cycle),
                        "waits": lasso.waits,
                    });
                    ("fails", detail, Section::Steps(steps))
                }
            };
            if let (Section::Steps(steps), true) = (&section, report.explanation.is_empty()) {
                let sentence = steps.title.clone().unwrap_or_default();
                report.explanation.insert("sentence".into(), json!(sentence));
            }
            report.sections.push(section);
            properties.push(json!({
                "property": name,
                "verdict": verdict,
                "states": found.states,
                "detail": detail,
                "note": note,
            }));
        }
        if !properties.is_empty() {
            report.field("progress", properties);
        }
    }
}

/// The bounds of a verdict: `2 processes, 1 operation each`.
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
            None => "unbounded operations".into(),
        })
        .collect();
    format!("{processes}, {}", operations.join(" or "))
}

/// The length of a counterexample, and what is known about shorter ones.
fn length(found: &Counterexample) -> String {
    let steps = count(found.trace.steps.len() as u64, "step");
    match (found.shortest, found.shorter_seen) {
        (true, _) => format!("{steps} (shortest possible)"),
        (false, None) => format!("{steps} (shorter ones were not searched for)"),
        (false, Some(depth)) => format!(
            "{steps} (none of up to {depth} steps; the search for a shorter one stopped after {})",
            count(SHORTENING, "state")
        ),
    }
}

/// Which process waits where, at the end of these steps.
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
            "deadlock: no process can take a step, and the specification does not let these operations wait".into()
        }
    }
}

/// How the number of operations bounds a property that holds.
fn bounded(program: &Program, name: &str) -> Option<String> {
    let is_bounded = program.roles.iter().any(|role| role.limit.is_some());
    (is_bounded && name != "deadlock-free")
        .then(|| format!("for {}; it may fail with unbounded operations", bound(program)))
}
