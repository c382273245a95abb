//! Random histories of the oracle's objects, the naive decision, and how they are written.

use trueline::rng::Rng;

use super::model::{Kind, Object};
use super::value::{Style, V, spell};

/// A specification by name, as it is at first, and what may be called on it.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) starts: Vec<Object>,
    /// Methods with their other names and their arguments.
    pub(crate) methods: Vec<Method>,
    pub(crate) values: Vec<V>,
}

pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) spellings: &'static [&'static str],
    pub(crate) args: &'static [Arg],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    Value,
    Key,
    /// A whole number of 64 bits.
    Whole,
    Segment,
    /// A text, or a whole number, which counts as its digits.
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Returned(V),
    /// Unknown: treated as never.
    Unknown,
    /// It did not happen.
    Failed,
    Open,
}

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) process: usize,
    pub(crate) object: usize,
    pub(crate) method: &'static str,
    pub(crate) spelled: &'static str,
    pub(crate) args: Vec<V>,
    pub(crate) end: End,
    /// Positions among the events.
    pub(crate) call: usize,
    pub(crate) over: usize,
}

/// Operations by call.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) operations: Vec<Operation>,
    pub(crate) objects: usize,
}

/// How results are spoiled and operations lost.
struct Habits {
    wrong: u64,
    unknown: u64,
    fail: u64,
    /// Of results that may be left out, how many are.
    silent: u64,
}

/// Processes that call, take effect on one of a few objects and return; some results are spoiled.
pub(crate) fn random(subject: &Subject, most: u64, random: &mut Rng) -> History {
    let objects = [1, 1, 1, 2][random.index(4)];
    let processes = 2 + random.index(3);
    let count = 2 + random.below(most - 1);
    let habits = Habits {
        wrong: [0, 20, 50, 90][random.index(4)],
        unknown: [0, 0, 25][random.index(3)],
        fail: [0, 0, 15][random.index(3)],
        silent: [0, 30][random.index(2)],
    };
    let mut states = vec![random.choose(&subject.starts).clone(); objects];
    let mut past: Vec<Object> = states.clone();
    let mut history = History { operations: Vec::new(), objects };
    // The open operation of each process and, once it took effect, what came of it.
    let mut open: Vec<Option<(usize, Option<V>)>> = vec![None; processes];
    let mut used: Vec<V> = Vec::new();
    for at in 0..count as usize * 9 {
        let process = random.index(processes);
        match open[process].take() {
            None if history.operations.len() < count as usize => {
                let method = random.choose(&subject.methods);
                let args: Vec<V> =
                    method.args.iter().map(|arg| argument(*arg, subject, random)).collect();
                used.extend(args.iter().cloned());
                history.operations.push(Operation {
                    process,
                    object: random.index(objects),
                    method: method.name,
                    spelled: method.spellings[random.index(method.spellings.len())],
                    args,
                    end: End::Open,
                    call: at,
                    over: usize::MAX,
                });
                open[process] = Some((history.operations.len() - 1, None));
            }
            None => {}
            Some((index, told)) => {
                let o = &mut history.operations[index];
                if random.percent(habits.unknown) {
                    (o.end, o.over) = (End::Unknown, at);
                } else if let Some(told) = told {
                    let result = record(o, told, subject, &habits, &past, &used, random);
                    (o.end, o.over) = (End::Returned(result), at);
                } else if random.percent(habits.fail) {
                    (o.end, o.over) = (End::Failed, at);
                } else {
                    let outcomes = states[o.object].outcomes((o.method, &o.args));
                    let told = match outcomes.is_empty() {
                        true => None,
                        false => {
                            let (told, after) = random.choose(&outcomes).clone();
                            past.push(after.clone());
                            states[o.object] = after;
                            Some(told)
                        }
                    };
                    open[process] = Some((index, told));
                }
            }
        }
    }
    history
}

fn argument(arg: Arg, subject: &Subject, random: &mut Rng) -> V {
    match arg {
        Arg::Value => random.choose(&subject.values).clone(),
        Arg::Key => random.choose(&subject.values[..subject.values.len().min(2)]).clone(),
        Arg::Whole => {
            let numbers = [1, 1, 2, -1, 0, 7, i64::MAX, i64::MIN];
            V::int(numbers[random.index(numbers.len())])
        }
        Arg::Segment => V::int(random.below(3) as i64),
        Arg::Text => match random.below(3) {
            0 => V::int(random.below(12) as i64),
            1 => V::text(""),
            _ => V::text(["x", "y", "1", "1.5"][random.index(4)]),
        },
    }
}

/// What is recorded of a result. Many formats write 0 and 1 for truth values.
fn record(
    o: &Operation,
    told: V,
    subject: &Subject,
    habits: &Habits,
    past: &[Object],
    used: &[V],
    random: &mut Rng,
) -> V {
    let said = result(o, told, subject, habits, past, used, random);
    match said {
        V::Bool(b) if subject.starts[0].tells_truth(o.method) && random.percent(10) => {
            V::int(i64::from(b))
        }
        said => said,
    }
}

/// The result itself, another one that fits the method, or nothing where that may be left out.
fn result(
    o: &Operation,
    told: V,
    subject: &Subject,
    habits: &Habits,
    past: &[Object],
    used: &[V],
    random: &mut Rng,
) -> V {
    let kind = &subject.starts[0].kind;
    let mut told = told;
    if random.percent(habits.wrong) {
        let then = random.choose(past).outcomes((o.method, &o.args));
        if !then.is_empty() {
            told = random.choose(&then).0.clone();
        }
        let takes_out = matches!(told, V::Nil | V::Num(_) | V::Text(_))
            && matches!(
                o.method,
                "remove" | "peek" | "pop_front" | "pop_back" | "read" | "get" | "swap"
            );
        let holds_values = !matches!(
            kind,
            Kind::Counter { .. } | Kind::Set | Kind::Multiset | Kind::Kv | Kind::Log
        );
        if takes_out && holds_values && !used.is_empty() && random.percent(40) {
            told = random.choose(used).clone();
        }
        match told {
            V::Bool(b) if random.percent(50) => told = V::Bool(!b),
            V::Num(_) if !holds_values && random.percent(40) => {
                told = V::int(random.below(4) as i64)
            }
            _ => {}
        }
    }
    match (kind, o.method) {
        (Kind::Counter { .. }, "read") => told,
        (Kind::Counter { .. }, method) => {
            let V::List(both) = told else { return told };
            if random.percent(habits.silent) {
                return [V::Nil, V::Bool(true)][random.index(2)].clone();
            }
            // The habit of a history: all tell the total before, or after. One in a while is not in
            // the habit.
            let before = match method {
                "add" | "inc" | "dec" => habits.fail > 0 || random.percent(habits.wrong / 4),
                method => method.starts_with("fetch"),
            };
            both[usize::from(!before)].clone()
        }
        (Kind::Register, "cas")
        | (Kind::Set, "add" | "remove" | "contains")
        | (Kind::Map, "remove" | "contains")
        | (Kind::Multiset, "contains" | "remove")
        | (Kind::Log, "append")
        | (Kind::Container { capacity: Some(_), .. }, "insert")
        | (Kind::Mutex, "acquire" | "try_acquire")
        | (Kind::Semaphore | Kind::OwnerMutex { .. }, _)
            if random.percent(habits.silent) =>
        {
            V::Nil
        }
        // Nothing, an echo, or true.
        (_, "write" | "insert" | "push_front" | "push_back" | "update" | "put")
            if told == V::Nil =>
        {
            match random.below(4) {
                0 => o.args.last().cloned().filter(|v| *v != V::Bool(false)).unwrap_or(V::Nil),
                1 => V::Bool(true),
                _ => V::Nil,
            }
        }
        (Kind::Mutex, "release") if random.percent(30) => V::Bool(true),
        _ => told,
    }
}

/// True iff every object has an order of its operations that respects real time, by trying all of
/// them.
pub(crate) fn is_linearizable(subject: &Subject, history: &History) -> bool {
    // What the meaning of results is, the same for the whole history.
    subject.starts_of(history).iter().any(|starts| {
        (0..history.objects).all(|object| {
            let own = |o: &&Operation| o.object == object && o.end != End::Failed;
            let operations: Vec<&Operation> = history.operations.iter().filter(own).collect();
            starts
                .iter()
                .any(|start| can_end(&operations, &mut vec![false; operations.len()], start))
        })
    })
}

fn can_end(operations: &[&Operation], placed: &mut Vec<bool>, state: &Object) -> bool {
    let left: Vec<usize> = (0..operations.len()).filter(|&i| !placed[i]).collect();
    let returned = |i: usize| matches!(operations[i].end, End::Returned(_));
    if !left.iter().any(|&i| returned(i)) {
        return true;
    }
    for &i in &left {
        let o = operations[i];
        if left.iter().any(|&j| returned(j) && operations[j].over < o.call) {
            continue;
        }
        for (told, after) in state.outcomes((o.method, &o.args)) {
            if let End::Returned(recorded) = &o.end
                && !state.reads(o.method, recorded, &told)
            {
                continue;
            }
            placed[i] = true;
            let fits = can_end(operations, placed, &after);
            placed[i] = false;
            if fits {
                return true;
            }
        }
    }
    false
}

impl Subject {
    /// The states in which each object may start, for each meaning that the history may have.
    pub(crate) fn starts_of(&self, history: &History) -> Vec<Vec<Object>> {
        match &self.starts[0].kind {
            Kind::Counter { .. } => self.starts.iter().map(|start| vec![start.clone()]).collect(),
            // A register whose first value is not known may hold any.
            Kind::Register if self.name.ends_with("init=?") => {
                let of = |o: &Operation| match &o.end {
                    End::Returned(value) => vec![value.clone()],
                    _ => vec![],
                };
                let args = history.operations.iter().flat_map(|o| o.args.clone());
                let results = history.operations.iter().flat_map(of);
                let fresh = V::text("a value that nobody wrote");
                let all = args.chain(results).chain([fresh, V::Nil]);
                vec![all.map(|v| Object::new(Kind::Register).holding(vec![v])).collect()]
            }
            _ => vec![self.starts.clone()],
        }
    }
}

/// The events in order: the operation, and whether it is called.
pub(crate) fn events(history: &History) -> Vec<(usize, bool)> {
    let mut events: Vec<(usize, usize, bool)> = Vec::new();
    for (i, o) in history.operations.iter().enumerate() {
        events.push((o.call, i, true));
        if o.end != End::Open {
            events.push((o.over, i, false));
        }
    }
    events.sort();
    events.into_iter().map(|(_, i, is_call)| (i, is_call)).collect()
}

pub(crate) fn json_lines(subject: &Subject, history: &History, random: &mut Rng) -> String {
    let mut text = format!("{{\"schema\":\"trueline-history/1\",\"spec\":{:?}}}\n", subject.name);
    let by_key = random.percent(50);
    for (i, is_call) in events(history) {
        let o = &history.operations[i];
        let mut json = |v: &V| spell(v, Style::Json, random);
        text += &format!("{{\"process\":{}", o.process);
        if is_call {
            if history.objects > 1 {
                let field = if by_key { "key" } else { "object" };
                text += &format!(",\"{field}\":{}", o.object);
            }
            text += &format!(",\"call\":{:?}", o.spelled);
            let args: Vec<String> = o.args.iter().map(json).collect();
            if !args.is_empty() {
                text += &format!(",\"args\":[{}]", args.join(","));
            }
        } else {
            match &o.end {
                End::Returned(result) => text += &format!(",\"return\":{}", json(result)),
                End::Failed => text += ",\"fail\":true",
                _ => text += ",\"unknown\":true",
            }
        }
        text += "}\n";
    }
    text
}

/// Methods that Jepsen calls without an argument.
const OBSERVERS: [&str; 7] = ["read", "get", "deq", "pop", "poll", "peek", "scan"];

/// With `keys`, the number of the object is an independent key of each value. `None` where the
/// format has no words for it.
pub(crate) fn edn(
    subject: &Subject,
    history: &History,
    keys: bool,
    random: &mut Rng,
) -> Option<String> {
    let has_keys = matches!(subject.starts[0].kind, Kind::Map | Kind::Kv);
    if (history.objects > 1 && !keys) || (has_keys && keys) {
        return None;
    }
    let mut text = String::new();
    for (i, is_call) in events(history) {
        let o = &history.operations[i];
        let observes = OBSERVERS.contains(&o.spelled);
        let called = match (o.spelled, o.args.as_slice()) {
            ("cas", [old, new]) => V::List(vec![old.clone(), new.clone()]),
            ("cas", _) => return None,
            (_, []) => V::Nil,
            (_, [key]) if has_keys && observes => match i % 2 {
                0 => key.clone(),
                _ => V::List(vec![key.clone(), V::Nil]),
            },
            (_, [_]) if observes => return None,
            (_, [one]) => one.clone(),
            (_, [key, value]) if has_keys && *value != V::Nil => {
                V::List(vec![key.clone(), value.clone()])
            }
            _ => return None,
        };
        let (kind, value) = match (&o.end, is_call) {
            (_, true) => ("invoke", called),
            (End::Returned(result), _) if observes && has_keys => {
                match (random.below(2), o.args.as_slice()) {
                    (0, [key]) => ("ok", V::List(vec![key.clone(), result.clone()])),
                    // A list may look like a key and a value.
                    (_, [key]) if matches!(result, V::List(_)) => {
                        ("ok", V::List(vec![key.clone(), result.clone()]))
                    }
                    _ => ("ok", result.clone()),
                }
            }
            (End::Returned(result), _) if observes => ("ok", result.clone()),
            (End::Returned(result), _) if o.method == "swap" => {
                ("ok", V::List(vec![o.args[0].clone(), result.clone()]))
            }
            (End::Returned(V::Nil), _) => ("ok", called),
            (End::Returned(result), _) if *result == called => return None,
            (End::Returned(result), _) => ("ok", result.clone()),
            (End::Failed, _) => ("fail", called),
            _ => ("info", V::Nil),
        };
        let value = match keys && kind != "info" {
            true => V::List(vec![V::int(o.object as i64), value]),
            false => value,
        };
        let value = spell(&value, Style::Edn, random);
        text += &format!(
            "{{:process {}, :type :{kind}, :f :{}, :value {value}}}\n",
            o.process, o.spelled
        );
    }
    Some(text)
}

/// `None` where the format has no words for it.
pub(crate) fn calls(subject: &Subject, history: &History, random: &mut Rng) -> Option<String> {
    if history.objects > 1
        || history.operations.iter().any(|o| o.args.len() > 1 || o.end == End::Failed)
    {
        return None;
    }
    let mut text = format!("# @object atomic-{}\n", subject.name);
    for (i, is_call) in events(history) {
        let o = &history.operations[i];
        let mut word = |v: &V| spell(v, Style::Word, random);
        match (&o.end, is_call) {
            (_, true) => {
                let args: Vec<String> = o.args.iter().map(word).collect();
                text += &format!("[{}] call {}({})\n", i + 1, o.spelled, args.join(""));
            }
            (End::Returned(V::Nil), _) => text += &format!("[{}] return\n", i + 1),
            (End::Returned(result), _) => text += &format!("[{}] return {}\n", i + 1, word(result)),
            _ => {}
        }
    }
    Some(text)
}

/// `None` where the notation has no words for it.
pub(crate) fn wing_gong(history: &History, random: &mut Rng) -> Option<String> {
    let mut text = String::new();
    for (i, is_call) in events(history) {
        let o = &history.operations[i];
        let mut word = |v: &V| spell(v, Style::Word, random);
        let mut name = o.spelled.to_string();
        if name.contains(|c: char| c.is_ascii_uppercase()) {
            return None;
        }
        name[..1].make_ascii_uppercase();
        let said = match (&o.end, is_call) {
            (_, true) => {
                let args: Vec<String> = o.args.iter().map(word).collect();
                format!("{name}({})", args.join(", "))
            }
            (End::Returned(V::Nil), _) => "Ok()".into(),
            (End::Returned(result), _) => format!("Ok({})", word(result)),
            _ => return None,
        };
        text += &format!("q{} {said} p{}\n", o.object, o.process);
    }
    Some(text)
}

/// Rows of method, value, start and end, and whether they must be refused: -1 means nil where it
/// comes out, so that it must not go in. `None` where the format has no words for it.
pub(crate) fn intervals(subject: &Subject, history: &History) -> Option<(String, bool)> {
    let kind = &subject.starts[0].kind;
    let fits = matches!(kind, Kind::Container { capacity: None, .. } | Kind::Register | Kind::Set);
    if history.objects > 1 || !fits {
        return None;
    }
    let whole = |value: &V| value.whole().and_then(|n| i64::try_from(n).ok());
    let (mut text, mut is_refused, mut tells) = (String::new(), false, false);
    for o in history.operations.iter().filter(|o| o.end != End::Failed) {
        let End::Returned(result) = &o.end else { return None };
        let values = match (kind, o.args.as_slice(), result) {
            (Kind::Set, [value], V::Bool(done)) => {
                format!("{} {}", whole(value)?, u8::from(*done))
            }
            (Kind::Set, ..) => return None,
            (_, [value], _) => {
                let value = whole(value)?;
                is_refused |= value == -1;
                value.to_string()
            }
            (_, [], V::Nil) => "-1".into(),
            (_, [], value) => {
                tells |= whole(value)? == -1;
                whole(value)?.to_string()
            }
            _ => return None,
        };
        // Other names of these have other meanings in this format.
        let method = match (kind, o.method) {
            (Kind::Set, method) => method,
            (_, "insert") => "push",
            (_, "remove") => "pop",
            (_, method) => method,
        };
        text += &format!("{method} {values} {} {}\n", o.call, o.over);
    }
    // A -1 that came out of nowhere reads as nil, and nothing shows it.
    let starts_so = subject.starts[0].items.contains(&V::int(-1));
    (!tells || is_refused || starts_so).then_some((text, is_refused))
}
