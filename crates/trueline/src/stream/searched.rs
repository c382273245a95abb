//! The monitor of a stream for specifications without an exact monitor: the general search, carried
//! on from return to return.
//!
//! For each object it keeps the *configurations* that explain the events so far: a state, and which
//! of the open operations have already taken effect, with which results. A return keeps those in
//! which the operation took effect with its result, and in the others lets open operations take
//! effect, in every order, until it did (Lowe's just-in-time linearization, *Testing for
//! linearizability*, 2017). When none is left, no order explains the history.
//!
//! **Windows.** Operations are kept only for the explanation. While nothing is open the window may
//! end: later events start from the states that are possible then. A violation is searched for
//! again in its window by the search that decides whole histories, which explains it.
//!
//! Memory: the configurations, of which there are at most [`MOST`] (beyond, the stream is
//! undecided), and for each object a window of at most [`LONGEST`] operations (beyond, its
//! operations are forgotten and no longer named).

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::monitor::{Violation, call_within_call, event_without_call};
use super::records::{Record, Records};
use super::watch::{Ends, Judge};
use super::{Id, NEVER, NONE, Stopped, Tally, Time};
use crate::budget::Budget;
use crate::check::{self, Algorithm, Outcome};
use crate::error::WatchError;
use crate::history::{Error, Event, History, Part, Position};
use crate::spec::subject::Subject;
use crate::spec::{Builtin, Opaque, OpaqueOp, OpaqueState, Spec};
use crate::value::Value;
use crate::verdict::{Explanation, Reason, Start, Verdict};

/// Configurations of an object beyond which the stream is undecided.
const MOST: usize = if cfg!(test) { 200 } else { 100_000 };
/// Operations after which a window ends as soon as nothing is open.
const SHORT: usize = if cfg!(test) { 4 } else { 64 };
/// Operations after which a window is forgotten although something is open.
const LONGEST: usize = if cfg!(test) { 12 } else { 4096 };
/// Maximum steps for finding the violation again.
const EXPLAIN: u64 = 20_000_000;

/// One possible explanation of the events so far.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration {
    state: OpaqueState,
    /// The open operations that have taken effect, by number, with their results; `None` if the
    /// outcome stays unknown.
    done: Vec<(Id, Option<Value>)>,
}

type Configurations = HashSet<Configuration, FixedState>;

impl Configuration {
    fn place(&self, id: Id) -> Result<usize, usize> {
        self.done.binary_search_by_key(&id, |(done, _)| *done)
    }
}

/// One object of the stream.
struct Object {
    configurations: Configurations,
    /// Open operations, including those of unknown outcome.
    open: Vec<Id>,
    /// The operations of the window that returned.
    window: Vec<Id>,
    /// The states in which the window may have begun.
    start: Vec<OpaqueState>,
    /// True for the first window, which begins with the stream.
    is_first: bool,
    /// Whether operations of the window are forgotten.
    is_cut: bool,
}

/// Watches objects of a specification by the general search.
pub(crate) struct Searched {
    spec: Opaque,
    objects: Vec<Object>,
    parts: Vec<Part>,
    processes: Vec<Value>,
    /// The open operation of each process.
    open: Vec<Id>,
    /// Operations of unknown outcome, which stay open for ever.
    lost: HashSet<Id, FixedState>,
    records: Records<OpaqueOp, Value>,
    at: Time,
    tally: Tally,
}

impl Searched {
    pub(crate) fn new(spec: Opaque) -> Searched {
        Searched {
            spec,
            objects: Vec::new(),
            parts: Vec::new(),
            processes: Vec::new(),
            open: Vec::new(),
            lost: HashSet::default(),
            records: Records::new(),
            at: 0,
            tally: Tally::default(),
        }
    }

    fn op(&self, id: Id) -> &OpaqueOp {
        &self.records.peek(id).expect("an open operation is held").op
    }

    /// The configurations in which the operation has returned with the result; `None` if there are
    /// too many.
    fn after(&self, object: &Object, id: Id, result: &Value) -> Option<Configurations> {
        let (mut after, mut seen) = (Configurations::default(), Configurations::default());
        let mut todo = Vec::new();
        for configuration in &object.configurations {
            match configuration.place(id) {
                Ok(place) if configuration.done[place].1.as_ref() == Some(result) => {
                    let mut next = configuration.clone();
                    next.done.remove(place);
                    after.insert(next);
                }
                Ok(_) => {}
                Err(_) => todo.push(configuration.clone()),
            }
        }
        let mut states = Vec::new();
        while let Some(configuration) = todo.pop() {
            self.spec.step(&configuration.state, self.op(id), Some(result), &mut states);
            let done = &configuration.done;
            after.extend(states.drain(..).map(|state| Configuration { state, done: done.clone() }));
            for &other in object.open.iter().filter(|&&other| other != id) {
                let Err(place) = configuration.place(other) else { continue };
                for next in self.taken(&configuration, other, place) {
                    if seen.insert(next.clone()) {
                        todo.push(next);
                    }
                }
            }
            if after.len() + seen.len() > MOST {
                return None;
            }
        }
        Some(after)
    }

    /// The configurations in which an open operation that has not taken effect yet has done so.
    fn taken(&self, from: &Configuration, id: Id, place: usize) -> Vec<Configuration> {
        let op = self.op(id);
        let results = match self.lost.contains(&id) {
            true => vec![None],
            false => self.spec.results(&from.state, op).into_iter().map(Some).collect(),
        };
        let (mut states, mut taken) = (Vec::new(), Vec::new());
        for result in results {
            self.spec.step(&from.state, op, result.as_ref(), &mut states);
            taken.extend(states.drain(..).map(|state| {
                let mut done = from.done.clone();
                done.insert(place, (id, result.clone()));
                Configuration { state, done }
            }));
        }
        taken
    }

    /// The operation that ends, and its object.
    fn close(&mut self, process: u32, what: &str, at: Position) -> Result<(Id, usize), Ends> {
        let id = std::mem::replace(&mut self.open[process as usize], NONE);
        match self.records.get(id) {
            Some(record) => Ok((id, record.part as usize)),
            None => {
                let name = &self.processes[process as usize];
                Err(Stopped::Input(event_without_call(name, what, at)))
            }
        }
    }

    /// Stores the configurations after an operation: a violation if there are none.
    fn keep(&mut self, number: usize, left: Configurations, at: Position) -> Result<(), Ends> {
        if left.is_empty() {
            return Err(self.violation(number, at));
        }
        let object = &mut self.objects[number];
        object.configurations = left;
        let is_at_rest = object.open.is_empty();
        if is_at_rest && (object.window.len() >= SHORT || object.is_cut) {
            object.start = object.configurations.iter().map(|c| c.state.clone()).collect();
            (object.is_first, object.is_cut) = (false, false);
            object.window.clear();
        } else if object.window.len() >= LONGEST {
            object.is_cut = true;
            object.window.drain(..LONGEST / 2);
        }
        if self.records.wants_sweep() {
            let objects = &self.objects;
            self.records.sweep(|keep| {
                objects
                    .iter()
                    .flat_map(|o| o.open.iter().chain(&o.window))
                    .for_each(|&id| keep(id));
            });
        }
        Ok(())
    }

    /// No order explains the operations of this object.
    fn violation(&mut self, number: usize, at: Position) -> Ends {
        if let Some(doubt) = self.spec.take_doubt() {
            return Stopped::Input(Error::at(at, doubt));
        }
        let object = &self.objects[number];
        let ids = [object.window.as_slice(), &object.open].concat();
        let (history, _) = self.records.history(&ids, &self.processes, &self.parts);
        let mut outcome = match object.is_cut {
            true => self.cut(&history),
            false => self.found_again(object, &history),
        };
        outcome.partitions = self.parts.len();
        outcome.algorithm = self.algorithm();
        match outcome.verdict {
            Verdict::Violation(_) => Stopped::Violation(Box::new(Violation { history, outcome })),
            Verdict::Linearizable(_) => Stopped::Unknown(
                "an answer failed its second check, a bug in trueline or in the specification: \
                 a search of the window finds an order"
                    .into(),
            ),
            Verdict::Unknown(unknown) => Stopped::Unknown(unknown.reason.to_string()),
        }
    }

    /// Decides the window by the search for whole histories.
    fn found_again(&self, object: &Object, history: &History<OpaqueOp, Value>) -> Outcome {
        let budget = Budget::unlimited().steps(EXPLAIN);
        if object.is_first {
            let subject = Subject::new(&self.spec, history);
            let outcome = check::run(&subject, Algorithm::Search, true, &budget);
            return self.or_untold(outcome, history);
        }
        let spec = Resumed { spec: &self.spec, start: &object.start };
        let subject = Subject::new(&spec, history);
        let mut outcome =
            self.or_untold(check::run(&subject, Algorithm::Search, true, &budget), history);
        if let Verdict::Violation(explanation) = &mut outcome.verdict {
            let shown = |state: &OpaqueState| self.spec.show_state(state);
            let states = object.start.iter().map(shown).collect();
            explanation.start.get_or_insert(Start { from: 0, states });
        }
        outcome
    }

    /// The violation without an explanation, if the steps did not suffice to find it again.
    fn or_untold(&self, outcome: Outcome, history: &History<OpaqueOp, Value>) -> Outcome {
        match &outcome.verdict {
            Verdict::Unknown(unknown) if matches!(unknown.reason, Reason::Exhausted(_)) => {
                self.untold(history, None)
            }
            _ => outcome,
        }
    }

    /// The violation if the earlier operations are forgotten.
    fn cut(&self, history: &History<OpaqueOp, Value>) -> Outcome {
        let states =
            vec!["what earlier operations, which are no longer in memory, had left".into()];
        self.untold(history, Some(Start { from: 0, states }))
    }

    /// A violation of which only the last return can be named.
    fn untold(&self, history: &History<OpaqueOp, Value>, start: Option<Start>) -> Outcome {
        let operations: Vec<u32> = (0..history.len() as u32).collect();
        let returned = |&i: &u32| match &history.operations()[i as usize] {
            o if o.is_pending() => None,
            o => Some(o.returned),
        };
        let last = operations.iter().copied().max_by_key(returned).unwrap_or(0);
        let o = &history.operations()[last as usize];
        let shown = self.spec.show(&o.op, o.result.as_ref());
        let explanation = Explanation {
            operations,
            start,
            until: u32::MAX,
            clash: vec![last],
            sentence: format!("no order of the operations explains `{shown}`"),
            fine_until: None,
            minimal: false,
            rechecked: false,
        };
        let verdict = Verdict::Violation(explanation);
        let (algorithm, because) = (self.algorithm(), String::new());
        Outcome { verdict, algorithm, because, partitions: 1, states: 0 }
    }
}

impl Searched {
    fn calls(&mut self, process: u32, part: u32, op: OpaqueOp, at: Position) -> Result<(), Ends> {
        if self.is_open(process) {
            let (name, shown) = (&self.processes[process as usize], self.spec.show(&op, None));
            return Err(Stopped::Input(call_within_call(name, &shown, at)));
        }
        let Position { line, column } = at;
        let (call, returned, result, engine) = (self.at, NEVER, None, part);
        let record = Record { process, part, engine, line, column, call, returned, op, result };
        let id = self.records.add(record);
        self.open[process as usize] = id;
        self.objects[part as usize].open.push(id);
        self.tally.operations += 1;
        self.tally.most_held = self.tally.most_held.max(self.records.len() as u64);
        Ok(())
    }

    fn returns(&mut self, process: u32, result: Value, at: Position) -> Result<(), Ends> {
        let (id, number) = self.close(process, "returns", at)?;
        let now = self.at;
        if let Some(record) = self.records.get(id) {
            (record.returned, record.result) = (now, Some(result.clone()));
        }
        let left = self.after(&self.objects[number], id, &result).ok_or_else(|| {
            Stopped::Unknown(format!(
                "more than {MOST} configurations explain what was seen: too many operations are pending"
            ))
        })?;
        let object = &mut self.objects[number];
        object.open.retain(|&open| open != id);
        object.window.push(id);
        self.keep(number, left, at)
    }

    fn fails(&mut self, process: u32, at: Position) -> Result<(), Ends> {
        let (id, number) = self.close(process, "fails", at)?;
        let object = &mut self.objects[number];
        object.open.retain(|&open| open != id);
        let mut left = std::mem::take(&mut object.configurations);
        left.retain(|configuration| configuration.place(id).is_err());
        self.records.drop(id);
        self.keep(number, left, at)
    }

    fn unknown(&mut self, process: u32, at: Position) -> Result<(), Ends> {
        let (id, number) = self.close(process, "ends with an unknown outcome", at)?;
        self.lost.insert(id);
        let all = std::mem::take(&mut self.objects[number].configurations);
        let forget_result = |mut configuration: Configuration| {
            if let Ok(place) = configuration.place(id) {
                configuration.done[place].1 = None;
            }
            configuration
        };
        self.keep(number, all.into_iter().map(forget_result).collect(), at)
    }
}

impl Judge for Searched {
    fn process(&mut self, name: Value) -> u32 {
        self.processes.push(name);
        self.open.push(NONE);
        self.open.len() as u32 - 1
    }

    fn object(&mut self, part: Part) -> Result<u32, WatchError> {
        let start = self.spec.initial();
        let first = Configuration { state: start.clone(), done: Vec::new() };
        self.objects.push(Object {
            configurations: [first].into_iter().collect(),
            open: Vec::new(),
            window: Vec::new(),
            start: vec![start],
            is_first: true,
            is_cut: false,
        });
        self.parts.push(part);
        Ok(self.parts.len() as u32 - 1)
    }

    fn is_open(&self, process: u32) -> bool {
        self.open[process as usize] != NONE
    }

    fn open_operation(&mut self, process: u32) -> Option<&OpaqueOp> {
        let id = self.open[process as usize];
        self.records.get(id).map(|record| &record.op)
    }

    fn correct(&mut self, process: u32, op: OpaqueOp) -> Result<(), Ends> {
        if let Some(record) = self.records.get(self.open[process as usize]) {
            record.op = op;
        }
        Ok(())
    }

    fn event(
        &mut self,
        process: u32,
        event: Event<OpaqueOp, Value>,
        at: Position,
    ) -> Result<(), Ends> {
        self.tally.events += 1;
        self.at += 1;
        match event {
            Event::Call(object, op) => self.calls(process, object, op, at),
            Event::Return(result) => self.returns(process, result, at),
            Event::Fail => self.fails(process, at),
            Event::Unknown => self.unknown(process, at),
        }
    }

    fn decide_deferred(&mut self) -> Result<(), Ends> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Ends> {
        Ok(())
    }

    fn tally(&self) -> Tally {
        let open = self.open.iter().filter(|&&id| id != NONE).count() as u64;
        Tally { open, held: self.records.len() as u64, ..self.tally }
    }

    fn algorithm(&self) -> &'static str {
        Algorithm::JustInTime.name()
    }
}

/// A specification that continues from the start of a window.
struct Resumed<'a> {
    spec: &'a Opaque,
    start: &'a [OpaqueState],
}

/// A state of [`Resumed`]; `None` before its first operation.
type Later = Option<OpaqueState>;

impl Spec for Resumed<'_> {
    type State = Later;
    type Op = OpaqueOp;
    type Ret = Value;

    fn initial(&self) -> Later {
        None
    }

    fn step(&self, state: &Later, op: &OpaqueOp, ret: Option<&Value>, next: &mut Vec<Later>) {
        let from = state.as_ref().map_or(self.start, std::slice::from_ref);
        let mut states = Vec::new();
        from.iter().for_each(|state| self.spec.step(state, op, ret, &mut states));
        for state in states {
            if !next.iter().any(|known| known.as_ref() == Some(&state)) {
                next.push(Some(state));
            }
        }
    }

    fn show(&self, op: &OpaqueOp, ret: Option<&Value>) -> String {
        self.spec.show(op, ret)
    }

    fn show_state(&self, state: &Later) -> String {
        match state {
            Some(state) => self.spec.show_state(state),
            None => {
                let shown = |state: &OpaqueState| self.spec.show_state(state);
                let all: Vec<String> = self.start.iter().map(shown).collect();
                all.join(" or ")
            }
        }
    }
}
