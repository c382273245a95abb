//! The built-in specifications by name: `queue`, `register:init=0`, `semiqueue:k=2`.
//!
//! A [`Builtin`] is a [`Spec`] over [`Value`]s that also knows how formats spell its methods, which
//! results it would give (for generating histories), and how to read its parameters. [`Named`]
//! hides its type.

use std::borrow::Cow;
use std::fmt::Write;

use super::method::same;
use super::params::Params;
use super::{
    Dynamic, Opaque, Relaxed, Spec, Turn, bounded_priority_queue, bounded_queue, cas_register,
    counter, deque, kv, lock, log, map, multiset, mutex, owner_mutex, priority_queue, queue,
    readings, register, relaxations, relaxed, rmw, semaphore, semiqueue, set, snapshot, snzi,
    stack, stuttering_queue, unknown_register,
};
use crate::Budget;
use crate::check::{self, Algorithm, Outcome, decide_directly};
use crate::error::{PlanError, SpecError, WatchError};
use crate::generate::{self, Generated, Plan};
use crate::history::{Error, History, Position};
use crate::quasi::{self, Finding, Quasi};
use crate::stream::{self, Watch};
use crate::theory::{Event, Object, events};
use crate::value::Value;
use crate::verdict::Verdict;

/// What `trueline specs` prints about a specification.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// Its parameters with their defaults: `init=[]`.
    pub parameters: &'static str,
    /// Its methods as the formats spell them, results included: `deq() -> value or nil`.
    pub methods: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
}

/// A specification that is known by name.
pub trait Builtin: Spec<Ret = Value> + Clone + 'static {
    /// Reads a call as a format spells it; the error says what was expected.
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(Self::Op, Option<Value>), String>;

    /// Reads the result of a call, with the operation where it turns out to be another one than the
    /// call said.
    fn decode_result(
        &self,
        called: &Self::Op,
        method: &str,
        args: &[Value],
        result: &Value,
    ) -> Result<(Option<Self::Op>, Value), String> {
        let (op, result) = self.decode(method, args, Some(result))?;
        Ok(((op != *called).then_some(op), result.unwrap_or_default()))
    }

    /// True where a method that reads takes a key: then `[k v]` in a Jepsen history is a key and a
    /// value of one object.
    fn takes_keys(&self) -> bool {
        false
    }

    /// True where it matters who calls: an operation without an argument gets its process as one.
    fn owned(&self) -> bool {
        false
    }

    /// The specifications that the history may mean, each with what that is called; a history is
    /// linearizable if it is so for one of them. More than one only where what was recorded has two
    /// meanings and nobody said which.
    fn readings(&self, _history: &History) -> Vec<(Self, &'static str)> {
        vec![(self.clone(), "")]
    }

    /// Writes a call as the formats spell it: the inverse of [`Builtin::decode`].
    fn encode(&self, op: &Self::Op) -> (&str, Vec<Value>);

    /// Why a violation that was found since the last question cannot be relied on, if there is a
    /// reason: the specification itself could not say what an operation does.
    fn take_doubt(&self) -> Option<String> {
        None
    }

    /// The results that the operation may have in this state; empty where it blocks.
    fn results(&self, state: &Self::State, op: &Self::Op) -> Vec<Value>;

    /// An operation for a generated history, chosen by the numbers that `pick` yields (each below
    /// its argument). `fresh` is a value that was not used before, or one of a few where values may
    /// repeat.
    fn sample(&self, state: &Self::State, pick: &mut dyn FnMut(u64) -> u64, fresh: i64)
    -> Self::Op;

    /// The same for an operation of this process, where it matters whose it is. `simple`: of a
    /// simple history, where the type knows such.
    fn sample_by(
        &self,
        _process: u32,
        _simple: bool,
        state: &Self::State,
        pick: &mut dyn FnMut(u64) -> u64,
        fresh: i64,
    ) -> Self::Op {
        self.sample(state, pick, fresh)
    }

    /// Takes the step with one of [`Builtin::results`], in place. Overridden where cloning the
    /// state costs.
    fn perform(
        &self,
        state: &mut Self::State,
        op: &Self::Op,
        result: &Value,
        pick: &mut dyn FnMut(u64) -> u64,
    ) {
        let mut next = Vec::new();
        self.step(state, op, Some(result), &mut next);
        if !next.is_empty() {
            let chosen = if next.len() > 1 { pick(next.len() as u64) as usize } else { 0 };
            *state = next.swap_remove(chosen);
        }
    }

    /// A result that looks like the one given and is wrong in the state in which that one is right,
    /// where processes use what is theirs alone. `simple`: in a simple history, of which the result
    /// must be one. `None` where the type has none.
    fn falsify(
        &self,
        _op: &Self::Op,
        _result: &Value,
        _simple: bool,
        _pick: &mut dyn FnMut(u64) -> u64,
    ) -> Option<Value> {
        None
    }

    /// Whether so many processes each have a part of the object for themselves, so that
    /// [`Builtin::falsify`] can be used.
    fn keeps_apart(&self, _processes: usize) -> bool {
        false
    }

    /// An operation with a result that is wrong in every state that operations without `value` lead
    /// to; `None` where the type has none.
    fn alien(&self, _value: i64) -> Option<(Self::Op, Value)> {
        None
    }
}

/// A built-in specification whose type is hidden.
pub struct Named {
    text: String,
    spec: Opaque,
    /// Streams are watched by the general search.
    is_searched: bool,
}

impl Named {
    /// Hides the type of a specification.
    pub fn new(text: impl Into<String>, spec: impl Builtin) -> Named {
        Named { text: text.into(), spec: Opaque::new(spec), is_searched: false }
    }

    /// The same specification, whose streams are watched by the general search: of what a user
    /// wrote no exact monitor is known.
    pub fn searched(self) -> Named {
        Named { is_searched: true, ..self }
    }

    /// As it was named: `queue:init=[1 2]`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same specification as a [`Spec`] over calls by name, for code that makes calls rather
    /// than reads them.
    pub fn dynamic(&self) -> Dynamic {
        Dynamic::new(self.spec.clone())
    }

    /// Why a violation of the [dynamic](Named::dynamic) specification cannot be relied on, if there
    /// is a reason: see [`Builtin::take_doubt`].
    pub fn take_doubt(&self) -> Option<String> {
        self.spec.take_doubt()
    }

    /// Decides a history. An error means that the history does not fit the specification.
    pub fn check(
        &self,
        history: &History,
        algorithm: Algorithm,
        budget: &Budget,
    ) -> Result<Outcome, Error> {
        self.ensure_nil_is_told(history)?;
        let history = &self.with_owners(history);
        // What another history raised says nothing about this one.
        self.spec.take_doubt();
        let outcome = self.check_all(history, algorithm, budget);
        let outcome = outcome.map_err(|e| self.in_context(e))?;
        let Verdict::Violation(violation) = &outcome.verdict else { return Ok(outcome) };
        let Some(doubt) = self.spec.take_doubt() else { return Ok(outcome) };
        // What the operations of one object raised says nothing about another one.
        let part = |index: u32| history.operations()[index as usize].part;
        let is_of_one = violation.operations.first().map(|&first| part(first));
        let own = (0..history.len() as u32).filter(|&i| Some(part(i)) == is_of_one);
        let own: Vec<u32> = own.collect();
        if own.is_empty() || own.len() == history.len() {
            return Err(Error::whole(doubt));
        }
        let alone = self.check_all(&history.select(&own), algorithm, budget);
        let alone = alone.map_err(|e| self.in_context(e))?;
        match self.spec.take_doubt() {
            Some(doubt) => Err(Error::whole(doubt)),
            None if alone.verdict.is_violation() => Ok(outcome),
            None => Err(Error::whole(doubt)),
        }
    }

    /// Decides a history for each of its meanings.
    fn check_all(
        &self,
        history: &History,
        algorithm: Algorithm,
        budget: &Budget,
    ) -> Result<Outcome, Error> {
        let readings = self.spec.readings(history);
        let (mut refuted, mut undecided) = (Vec::new(), None);
        for (spec, _) in &readings {
            let outcome = check_one(spec, history, algorithm, budget)?;
            match &outcome.verdict {
                // One meaning that fits is enough.
                Verdict::Linearizable(_) => return Ok(outcome),
                Verdict::Unknown(_) => undecided = undecided.or(Some(outcome)),
                Verdict::Violation(_) => refuted.push(outcome),
            }
        }
        // One that is undecided leaves all undecided.
        if let Some(outcome) = undecided {
            return Ok(outcome);
        }
        let outcome = readings::join(&readings, history, &mut refuted, budget);
        outcome.ok_or_else(|| Error::whole("the history cannot be decoded"))
    }

    /// Decides whether a history is quasi linearizable, or by how much it is not linearizable. An
    /// error means that the history or the question does not fit the specification.
    pub fn quasi(
        &self,
        history: &History,
        quasi: &Quasi,
        budget: &Budget,
    ) -> Result<Finding, Error> {
        self.ensure_nil_is_told(history)?;
        let history = &self.with_owners(history);
        let decide = || {
            if let [(_, first), (_, second)] = self.spec.readings(history).as_slice() {
                let message = format!(
                    "the results may be {first} or {second}: expected a specification that says which"
                );
                return Err(Error::whole(message));
            }
            quasi::run(&self.spec, history, quasi, budget)
        };
        decide().map_err(|e| self.in_context(e))
    }

    /// The object that the specification is, what it holds at first, and the events of a history in
    /// the words of its theory. An error means that the history does not fit the specification, or
    /// that it has no theory.
    pub fn events(&self, history: &History) -> Result<(Object, Vec<Value>, Vec<Event>), Error> {
        let tell = || {
            let subject = self.spec.subject(&self.with_owners(history))?;
            let fail = |message| Error::at(Position::default(), message);
            let claim = subject.spec.claim();
            let claim = claim.ok_or_else(|| fail("there is no theory".to_string()))?;
            let all: Vec<u32> = (0..subject.history.len() as u32).collect();
            let object = events::object(&claim).map_err(fail)?;
            let told = events::events(&subject, &claim, &all).map_err(fail)?;
            Ok((object, claim.initial, told))
        };
        tell().map_err(|e| self.in_context(e))
    }

    /// True where a method that reads takes a key, as in maps: then `[k v]` in a Jepsen history is
    /// a key and a value of one object, see [`Keys::Arguments`](crate::formats::Keys).
    pub fn takes_keys(&self) -> bool {
        self.spec.takes_keys()
    }

    /// Says whether every call of the history is one of this specification's.
    pub fn fits(&self, history: &History) -> Result<(), Error> {
        let decoded = self.spec.subject(&self.with_owners(history));
        decoded.map(drop).map_err(|e| self.in_context(e))
    }

    /// An operation in the words of the specification: `pop() -> nil`. Without a result where there
    /// is none or it should not be told: `pop()`.
    pub fn show(&self, history: &History, index: u32, with_result: bool) -> String {
        let o = &history.operations()[index as usize];
        let method = &history.methods()[o.op.method as usize];
        let owner = history.processes().get(o.process as usize).filter(|_| self.spec.owned());
        let args = match (o.op.args.as_slice(), owner) {
            ([] | [Value::Nil], Some(owner)) => std::slice::from_ref(owner),
            (args, _) => args,
        };
        let shown = match self.spec.decode(method, args, o.result.as_ref()) {
            Ok((op, result)) => self.spec.show(&op, result.as_ref().filter(|_| with_result)),
            Err(_) => history.show(index),
        };
        shown.strip_suffix(" -> ?").map_or(shown.clone(), String::from)
    }

    /// Makes a history of this specification, which the history then names. The error says why
    /// there is none.
    pub fn generate(&self, plan: &Plan) -> Result<History, PlanError> {
        generate::generate(&self.spec, plan, Some(&self.text))
            .map_err(|e| format!("{}: {e}", self.text).into())
    }

    /// Makes the history of [`Named::generate`] event by event, holding only what is open: see
    /// [`generate::stream`].
    pub fn generate_stream(
        &self,
        plan: &Plan,
        tell: &mut dyn FnMut(u32, Generated<'_>) -> bool,
    ) -> Result<(), PlanError> {
        generate::stream(&self.spec, plan, tell).map_err(|e| format!("{}: {e}", self.text).into())
    }

    /// A monitor for streams of this specification; the error says why there is none.
    pub fn watch(&self, algorithm: stream::Algorithm) -> Result<Watch, WatchError> {
        if self.is_searched && algorithm == stream::Algorithm::Exact {
            return Ok(Watch::searched(self.spec.clone()));
        }
        Watch::new(self.spec.clone(), algorithm).map_err(|e| format!("{}: {e}", self.text).into())
    }

    /// The history with owners as arguments, where it matters who calls.
    fn with_owners<'h>(&self, history: &'h History) -> Cow<'h, History> {
        match self.spec.owned() {
            true => Cow::Owned(history.with_owners()),
            false => Cow::Borrowed(history),
        }
    }

    /// An object that holds -1 at first cannot be told from an empty one where the format writes
    /// nil as -1.
    fn ensure_nil_is_told(&self, history: &History) -> Result<(), Error> {
        let mut words = self.text.split(['=', '[', ']', ',', ' ']);
        if history.read_minus_one_as_nil() && words.any(|word| word == "-1") {
            return Err(Error::whole(format!(
                "the format uses -1 for an empty result, so the -1 of {} is ambiguous: expected another \
                 initial value, or json-lines",
                self.text
            )));
        }
        Ok(())
    }

    fn in_context(&self, error: Error) -> Error {
        let message = format!("{}, for the specification {}", error.message(), self.text);
        Error::at(error.position().unwrap_or_default(), message)
    }
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Named({})", self.text)
    }
}

/// Decides a history that has one meaning.
fn check_one(
    spec: &Opaque,
    h: &History,
    algorithm: Algorithm,
    budget: &Budget,
) -> Result<Outcome, Error> {
    if let Some(outcome) = decide_directly(spec, h, algorithm, budget)? {
        return Ok(outcome);
    }
    // What built-in specifications claim to commute is tested by their laws.
    Ok(check::run(&spec.subject(h)?, algorithm, true, budget))
}

type Make = fn(&mut Params) -> Result<Opaque, String>;

/// Every built-in specification, and how its parameters make it.
const BUILTIN: [(Info, Make); 25] = [
    (register::REGISTER, |p| {
        Ok(Opaque::new(match p.unless_unknown("init", Value::Nil)? {
            Some(init) => register(init),
            None => unknown_register(),
        }))
    }),
    (register::CAS_REGISTER, |p| {
        Ok(Opaque::new(match p.unless_unknown("init", Value::Nil)? {
            Some(init) => cas_register(Some(init)),
            None => unknown_register(),
        }))
    }),
    (rmw::RMW, |p| Ok(Opaque::new(rmw(p.value("init", Value::Int(0))?)))),
    (counter::COUNTER, |p| {
        let counter = counter().with_init(p.int("init", 0)?);
        Ok(Opaque::new(match p.before_or_after()? {
            Some(before) => counter.telling(before),
            None => counter,
        }))
    }),
    (kv::KV, |_| Ok(Opaque::new(kv()))),
    (map::MAP, |_| Ok(Opaque::new(map()))),
    (queue::QUEUE, |p| Ok(Opaque::new(queue().with_init(p.list("init")?)))),
    (queue::BOUNDED_QUEUE, |p| {
        let capacity = p.required("capacity")?;
        Ok(Opaque::new(bounded_queue(capacity).with_init(p.contents(capacity)?)))
    }),
    (stack::STACK, |p| Ok(Opaque::new(stack().with_init(p.list("init")?)))),
    (deque::DEQUE, |p| Ok(Opaque::new(deque().with_init(p.list("init")?)))),
    (priority_queue::PRIORITY_QUEUE, |p| {
        let queue = priority_queue().with_init(p.list("init")?);
        Ok(Opaque::new(if p.smallest_first()? { queue.smallest_first() } else { queue }))
    }),
    (priority_queue::BOUNDED_PRIORITY_QUEUE, |p| {
        let capacity = p.required("capacity")?;
        let queue = bounded_priority_queue(capacity);
        let queue = queue.with_init(p.contents(capacity)?);
        Ok(Opaque::new(if p.smallest_first()? { queue.smallest_first() } else { queue }))
    }),
    (set::SET, |p| Ok(Opaque::new(set().with_init(p.list("init")?)))),
    (set::MULTISET, |p| Ok(Opaque::new(multiset().with_init(p.list("init")?)))),
    (lock::MUTEX, |_| Ok(Opaque::new(mutex()))),
    (owner_mutex::OWNER_MUTEX, |p| {
        let mutex = owner_mutex();
        Ok(Opaque::new(if p.truth("reentrant", false)? { mutex.reentrant() } else { mutex }))
    }),
    (lock::SEMAPHORE, |p| Ok(Opaque::new(semaphore(p.count("init", 0)? as u64)))),
    (log::LOG, |p| Ok(Opaque::new(log().with_init(p.list("init")?)))),
    (snapshot::SNAPSHOT, |p| {
        let segments = p.at_most_unless_unknown("segments", snapshot::LIMIT)?;
        let init = p.value("init", Value::Int(0))?;
        Ok(Opaque::new(snapshot(segments).with_init(init)))
    }),
    (snzi::SNZI, |p| Ok(Opaque::new(snzi(p.count("init", 0)? as u64)))),
    (relaxed::SEMIQUEUE, |p| {
        Ok(Opaque::new(semiqueue(p.positive("k", 2)?).with_init(p.list("init")?)))
    }),
    (relaxed::STUTTERING_QUEUE, |p| {
        let j = p.positive("j", 2)? as u32;
        Ok(Opaque::new(stuttering_queue(j).with_init(p.list("init")?)))
    }),
    (relaxations::RELAXED_QUEUE, |p| Ok(Opaque::new(Relaxed::named(Turn::Oldest, p)?))),
    (relaxations::RELAXED_STACK, |p| Ok(Opaque::new(Relaxed::named(Turn::Newest, p)?))),
    (relaxations::RELAXED_PRIORITY_QUEUE, |p| Ok(Opaque::new(Relaxed::named(Turn::Largest, p)?))),
];

/// Every built-in specification.
pub fn all() -> &'static [Info] {
    const ALL: [Info; BUILTIN.len()] = {
        let mut all = [register::REGISTER; BUILTIN.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = BUILTIN[i].0;
            i += 1;
        }
        all
    };
    &ALL
}

/// The specification that a text names: `queue:init=[1 2]`. The error says what is wrong and what
/// is known.
pub fn named(text: &str) -> Result<Named, SpecError> {
    let text = text.trim();
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let is =
        |info: &Info| same(info.name, name) || info.aliases.iter().any(|alias| same(alias, name));
    let Some((info, make)) = BUILTIN.iter().find(|(info, _)| is(info)) else {
        return Err(format!("no specification is called {name:?}: {}", nearest(name)).into());
    };
    let mut params = Params::parse(info, parameters)?;
    let spec = make(&mut params)?;
    params.finish()?;
    Ok(Named { text: text.to_string(), spec, is_searched: false })
}

/// The known names that look most like `name`.
fn nearest(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let far = |known: &str| {
        let whole = distance(&name, known);
        // A part of a longer name is near: priority, bounded.
        if name.len() > 2 && known.contains(&name) { whole.min(1) } else { whole }
    };
    let mut known: Vec<(usize, &str)> = BUILTIN
        .iter()
        .map(|(info, _)| {
            let nearest = info.aliases.iter().map(|alias| far(alias)).min().unwrap_or(usize::MAX);
            (nearest.min(far(info.name)), info.name)
        })
        .collect();
    known.sort_by_key(|&(far, _)| far);
    let best = known[0].0;
    let close: Vec<&str> = match best <= 2 + name.len() / 4 {
        true => known.iter().take_while(|(far, _)| *far == best).map(|(_, n)| *n).collect(),
        false => Vec::new(),
    };
    match close.as_slice() {
        [] => {
            let all: Vec<&str> = BUILTIN.iter().map(|(info, _)| info.name).collect();
            format!("expected one of {}", all.join(", "))
        }
        close => format!("did you mean {}?", close[..close.len().min(3)].join(" or ")),
    }
}

/// Letters to insert, delete or replace to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A call as people read it.
pub(super) fn show_call(method: &str, args: &[Value], ret: Option<&Value>) -> String {
    let mut text = format!("{method}(");
    for (i, arg) in args.iter().enumerate() {
        let _ = write!(text, "{}{arg}", if i > 0 { ", " } else { "" });
    }
    match ret {
        Some(Value::Nil) => text + ")",
        Some(ret) => format!("{text}) -> {ret}"),
        None => text + ") -> ?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(text: &str, expect: &str) {
        assert_eq!(named(text).unwrap_err().to_string(), expect);
    }

    #[test]
    fn names_aliases_and_parameters() {
        for text in [
            "queue",
            "Queue",
            "atomic-queue",
            "fifo",
            "kv_store",
            "pqueue",
            "register:init=?",
            "register:init=0",
            "queue:init=[1 2]",
            "queue:init=[1, 2]",
            "queue:init=[\"a, b]\" [1 2]]",
            "bounded-queue:capacity=4",
            "bounded-queue:capacity=4,init=[1 2]",
            "bounded-priority-queue:capacity=4, order=min, init=[1,2]",
            "semiqueue:k=2",
            "relaxed-queue:out-of-order=2,lateness=2",
            "k-stack:window=2",
            "relaxed-priority-queue:stutter=2,order=min",
            "priority-queue:order=min",
            "semaphore:init=3",
            "owner-mutex:reentrant=true",
            "snapshot:segments=?",
            "snapshot:segments=2,init=nil",
        ] {
            assert_eq!(named(text).unwrap().text(), text);
        }
        for info in all() {
            let text = match info.name.starts_with("bounded") {
                true => format!("{}:capacity=2", info.name),
                false => info.name.to_string(),
            };
            named(&text).unwrap();
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        wrong("quue", "no specification is called \"quue\": did you mean queue?");
        wrong(
            "priority",
            "no specification is called \"priority\": did you mean priority-queue or bounded-priority-queue or relaxed-priority-queue?",
        );
        let all = "expected one of register, cas-register, rmw, counter, kv, map, queue, bounded-queue, stack, deque, \
            priority-queue, bounded-priority-queue, set, multiset, mutex, owner-mutex, semaphore, log, snapshot, snzi, semiqueue, stuttering-queue, \
            relaxed-queue, relaxed-stack, relaxed-priority-queue";
        wrong("xylophone-42", &format!("no specification is called \"xylophone-42\": {all}"));
        wrong("queue:size=3", "queue has no parameter size: expected init=[]");
        wrong("kv:size=3", "kv has no parameter size: it takes none");
        wrong(
            "queue:init=3",
            "the parameter init of queue: expected a list such as [1 2], found a number: 3",
        );
        wrong("queue:init=[1", "the parameters of queue: expected ] at the end of \"[1\"");
        wrong("queue:init", "the parameters of queue: expected key=value, found \"init\"");
        wrong("queue:init=[],init=[]", "the parameter init of queue is given twice");
        wrong(
            "queue:init=[nil]",
            "the parameter init of queue: expected values, found nil, which means nothing",
        );
        wrong(
            "bounded-queue",
            "bounded-queue needs the parameter capacity: bounded-queue:capacity=4",
        );
        wrong(
            "bounded-queue:capacity=0",
            "the parameter capacity of bounded-queue: expected a number from 1 to 4294967295, found a number: 0",
        );
        wrong(
            "bounded-queue:capacity=1,init=[1 2]",
            "the parameter init of bounded-queue: expected at most 1 value, found 2",
        );
        wrong(
            "priority-queue:order=up",
            "the parameter order of priority-queue: expected min or max, found a text: up",
        );
        wrong(
            "snapshot:segments=4000000000",
            "the parameter segments of snapshot: expected a number from 0 to 65536, found a number: 4000000000",
        );
        wrong("relaxed-queue:stutter=2,window=2", "the parameter stutter goes with no other");
        wrong(
            "semiqueue:k=x",
            "the parameter k of semiqueue: expected a number from 1 to 4294967295, found a text: x",
        );
    }
}
