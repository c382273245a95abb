//! The steps of an execution as data for the report: thread, access, values and source line.
//!
//! Locations and addresses get short names in the order in which they appear.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde_json::{Map, json};
use trueline_report::{Layout, Steps};

use crate::engine::Step;
use crate::engine::interface::{Kind, ThreadId};

/// The label of an operation of the scenario.
pub(crate) struct Label {
    /// Its thread.
    pub(crate) thread: usize,
    /// `pop()`.
    pub(crate) call: String,
    /// `pop() -> 1`; `None` if it has not returned.
    pub(crate) returned: Option<String>,
}

/// The name of a thread.
pub(crate) fn name(thread: usize) -> String {
    if thread == 0 { String::from("main") } else { format!("thread {thread}") }
}

/// The steps of operations. `labels` are indexed by the operation's number in the scenario; `race`
/// has the two accesses of a data race.
pub(crate) fn steps(steps: &[Step], labels: &[Option<Label>], race: Option<&[String; 2]>) -> Steps {
    let mut names = Names::default();
    let mut sources = Sources::default();
    let racing = race.and_then(|race| racing(steps, race));
    let mut number_of = vec![None; steps.len()];
    let of = |step: &Step| step.operation.map(|number| number as usize);
    // The first and the last step of each operation.
    let mut ends: Vec<Option<(usize, usize)>> = vec![None; labels.len()];
    for (i, step) in steps.iter().enumerate() {
        if let Some(end) = of(step).and_then(|number| ends.get_mut(number)) {
            *end = Some((end.map_or(i, |(first, _)| first), i));
        }
    }
    let mut shown = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let Some(number) = of(step) else { continue };
        let Some(Some(label)) = labels.get(number) else { continue };
        let begins = ends[number].is_some_and(|(first, _)| first == i);
        let ends = ends[number].is_some_and(|(_, last)| last == i);
        let did = names.describe(step);
        let memory = names.cell(step);
        number_of[i] = Some(shown.len());
        let (file, line) = (step.caller.file(), step.caller.line());
        let mut fields = Map::new();
        for (field, value) in [
            ("thread", json!(label.thread)),
            ("operation", json!(label.call)),
            ("text", json!(did)),
            ("file", json!(file)),
            ("line", json!(line)),
        ] {
            fields.insert(field.to_string(), value);
        }
        shown.push(trueline_report::Step {
            lane: label.thread,
            call: begins.then(|| label.call.clone()),
            did: vec![did],
            returned: label.returned.clone().filter(|_| ends),
            file: Some(file.to_string()),
            line,
            memory: memory.into_iter().collect(),
            reads_from: sources.of(step, shown.len()).into_iter().collect(),
            fields,
            ..trueline_report::Step::default()
        });
    }
    let threads = shown.iter().map(|step| step.lane + 1).max().unwrap_or(0);
    Steps {
        title: None,
        layout: Layout::Code,
        lanes: (0..threads).map(name).collect(),
        steps: shown,
        cycle: None,
        initially: Vec::new(),
        race: racing.and_then(|[first, second]| Some((number_of[first]?, number_of[second]?))),
    }
}

/// The steps that a failure describes as the accesses of a race: the last ones that fit.
pub(crate) fn racing(steps: &[Step], race: &[String; 2]) -> Option<[usize; 2]> {
    let is = |step: &Step, text: &str| {
        let thread = format!("thread {}, ", step.thread.0);
        text.starts_with(&thread) && text.ends_with(&format!(", {}", step.caller))
    };
    let second = steps.iter().rposition(|step| is(step, &race[1]))?;
    let of_the_same = |step: &Step| step.location == steps[second].location && is(step, &race[0]);
    Some([steps[..second].iter().rposition(of_the_same)?, second])
}

/// Which shown step wrote the value of each location last, and its thread.
#[derive(Default)]
struct Sources(HashMap<usize, (usize, ThreadId), FixedState>);

impl Sources {
    /// The step of another thread whose value this step sees; `number` is this step.
    fn of(&mut self, step: &Step, number: usize) -> Option<usize> {
        let last = self.0.get(&step.location).copied();
        if step.wrote {
            self.0.insert(step.location, (number, step.thread));
        }
        // A plain write sees nothing; the values of plain accesses are not known otherwise.
        let sees = step.kind != Kind::Write;
        last.filter(|(_, thread)| sees && *thread != step.thread).map(|(source, _)| source)
    }
}

/// Short names of locations and addresses.
#[derive(Default)]
struct Names {
    locations: HashMap<usize, usize, FixedState>,
    addresses: HashMap<u64, usize, FixedState>,
}

impl Names {
    /// `load @1 = 0`, `compare_exchange @1: 0 -> #2`.
    fn describe(&mut self, step: &Step) -> String {
        let next = self.locations.len() + 1;
        let location = *self.locations.entry(step.location).or_insert(next);
        if step.plain {
            return format!("plain {} @{location}", if step.wrote { "write" } else { "read" });
        }
        let (of, method) = step.name.rsplit_once("::").unwrap_or(("", step.name));
        let method = match (step.name, step.kind) {
            ("", Kind::Read) => "read",
            ("", Kind::Write) => "write",
            ("", Kind::Update) => "update",
            _ if of.starts_with("Atomic") => method,
            _ => step.name,
        };
        let pointer = of.starts_with("AtomicPtr");
        let before = self.value(step.before, pointer);
        let after = self.value(step.after, pointer);
        match (step.kind, step.wrote) {
            (Kind::Read, _) => format!("{method} @{location} = {before}"),
            (Kind::Write, _) => format!("{method} @{location}: {before} -> {after}"),
            (Kind::Update, true) => format!("{method} @{location}: {before} -> {after}"),
            (Kind::Update, false) if method.starts_with("compare_exchange") => {
                format!("{method} @{location} fails: finds {before}")
            }
            (Kind::Update, false) => format!("{method} @{location} leaves {before}"),
        }
    }

    /// The location that a step left another value in, and that value.
    fn cell(&mut self, step: &Step) -> Option<(String, String)> {
        if step.plain || !step.wrote {
            return None;
        }
        let location = self.locations.get(&step.location)?;
        let name = format!("@{location}");
        Some((name, self.value(step.after, step.name.starts_with("AtomicPtr"))))
    }

    fn value(&mut self, value: u64, pointer: bool) -> String {
        match value {
            0 if pointer => String::from("null"),
            value if value >> 61 == 1 || pointer => {
                let next = self.addresses.len() + 1;
                format!("#{}", self.addresses.entry(value).or_insert(next))
            }
            value if value > u64::MAX - 1000 => (value as i64).to_string(),
            value if value > 0xffff_ffff => format!("{value:#x}"),
            value => value.to_string(),
        }
    }
}
