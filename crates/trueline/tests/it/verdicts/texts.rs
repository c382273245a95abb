//! More formats in which a history is written: those that need other times, or other places of a
//! result.

use trueline::rng::Rng;

use super::history::{End, History, Subject, events};
use super::model::Kind;
use super::value::{Style, V, spell};

/// The same history on a coarser clock, so that ends and starts meet. What did not return is open.
pub(crate) fn coarser(history: &History, by: usize) -> History {
    let mut coarse = history.clone();
    coarse.operations.retain(|o| o.end != End::Failed);
    for o in &mut coarse.operations {
        o.call /= by;
        match o.end {
            End::Returned(_) => o.over /= by,
            _ => (o.end, o.over) = (End::Open, usize::MAX),
        }
    }
    coarse
}

/// One object a line for each operation, in any order. Where one ends when another starts, they
/// overlap.
pub(crate) fn json_intervals(subject: &Subject, history: &History, random: &mut Rng) -> String {
    let mut text = format!("{{\"schema\":\"trueline-history/1\",\"spec\":{:?}}}\n", subject.name);
    let mut rows = Vec::new();
    for o in &history.operations {
        let args: Vec<String> = o.args.iter().map(|v| spell(v, Style::Json, random)).collect();
        let mut row = format!("{{\"call\":{:?},\"args\":[{}]", o.spelled, args.join(","));
        if history.objects > 1 {
            row += &format!(",\"object\":{}", o.object);
        }
        row += &format!(",\"start\":{}", o.call);
        if let End::Returned(result) = &o.end {
            let result = spell(result, Style::Json, random);
            row += &format!(",\"end\":{},\"return\":{result}", o.over);
        }
        rows.push(row + "}\n");
    }
    while !rows.is_empty() {
        text += &rows.swap_remove(random.index(rows.len()));
    }
    text
}

/// Methods whose value may stand on the line of the call.
const REMOVALS: [&str; 9] = ["rem", "rm", "remove", "get", "pop", "dequeue", "deq", "poll", "take"];

/// Calls and returns of threads. `None` where the format has no words for it.
pub(crate) fn limo(subject: &Subject, history: &History, random: &mut Rng) -> Option<String> {
    if history.objects > 1
        || history.operations.iter().any(|o| o.args.len() > 1 || o.end == End::Failed)
    {
        return None;
    }
    let told_what =
        matches!(subject.starts[0].kind, Kind::Set | Kind::Multiset | Kind::Map | Kind::Kv);
    let mut text = format!("# @format limo\n# @object atomic-{}\n", subject.name);
    for (i, is_call) in events(history) {
        let o = &history.operations[i];
        let thread = o.process + 1;
        let early = |result: &V| {
            !told_what
                && o.call.is_multiple_of(2)
                && *result != V::Nil
                && REMOVALS.contains(&o.spelled)
        };
        match (&o.end, is_call, o.args.as_slice()) {
            (End::Returned(result), true, []) if early(result) => {
                let result = spell(result, Style::Word, random);
                text += &format!("[{thread}] call {}({result})\n", o.spelled);
            }
            (_, true, []) => text += &format!("[{thread}] call {}\n", o.spelled),
            (_, true, args) => {
                let value = spell(&args[0], Style::Word, random);
                text += &match random.below(2) {
                    0 => format!("[{thread}] call {} {value}\n", o.spelled),
                    _ => format!("[{thread}] call {}({value})\n", o.spelled),
                };
            }
            (End::Returned(result), false, []) if early(result) => {
                text += &format!("[{thread}] return\n");
            }
            (End::Returned(V::Nil), ..) => text += &format!("[{thread}] return\n"),
            (End::Returned(result), ..) => {
                text += &format!("[{thread}] return {}\n", spell(result, Style::Word, random));
            }
            _ => {}
        }
    }
    Some(text)
}

/// Rows of process, start, end, method and value, and what they mean: the one that ends comes first
/// where another starts. `None` where the format has no words for it.
pub(crate) fn intervals_pid(subject: &Subject, history: &History) -> Option<(String, History)> {
    let kind = &subject.starts[0].kind;
    let whole = |value: &V| value.whole().and_then(|n| i64::try_from(n).ok());
    if history.objects > 1 {
        return None;
    }
    let mut text = String::new();
    let mut meant = history.clone();
    for o in &mut meant.operations {
        let End::Returned(result) = &o.end else { return None };
        let truth = || match result {
            V::Nil => Some(1),
            V::Bool(done) => Some(i64::from(*done)),
            told => whole(told),
        };
        let (method, values) = match (kind, o.method, o.args.as_slice()) {
            (Kind::Set, method @ ("add" | "remove" | "contains"), [value]) => {
                let done = if *result == V::Nil { None } else { truth() };
                (method, format!("{} {}", whole(value)?, done?))
            }
            (Kind::Semaphore, "acquire", _) => ("decr", truth()?.to_string()),
            (Kind::Semaphore, "release", _) => ("incr", truth()?.to_string()),
            (Kind::Rmw, "rmw", [old, new]) => {
                ("read_modify_write", format!("{} {}", whole(old)?, whole(new)?))
            }
            (Kind::Container { capacity: None, .. }, "insert", [value]) => {
                ("push", whole(value).filter(|n| *n != -1)?.to_string())
            }
            (Kind::Container { capacity: None, .. }, method @ ("remove" | "peek"), _) => {
                let value = match result {
                    V::Nil => -1,
                    value => whole(value).filter(|n| *n != -1)?,
                };
                (if method == "peek" { "peek" } else { "pop" }, value.to_string())
            }
            _ => return None,
        };
        // Without a length of its own an operation would end before it starts.
        if o.call == o.over {
            return None;
        }
        let method = method.to_uppercase();
        text += &format!("{} {} {} {method} {values}\n", o.process, o.call, o.over);
        (o.call, o.over) = (2 * o.call + 1, 2 * o.over);
    }
    let starts_so = subject.starts[0].items.contains(&V::int(-1));
    (!text.is_empty() && !starts_so).then_some((text, meant))
}

/// The lines of a log of Jepsen's, among others. Nothing where `edn` has none.
pub(crate) fn jepsen_log(edn: &str) -> Option<String> {
    let mut text = "INFO  jepsen.core - starting\n".to_string();
    for line in edn.lines() {
        let rest = line.strip_prefix("{:process ")?.strip_suffix('}')?;
        let (process, rest) = rest.split_once(", :type ")?;
        let (kind, rest) = rest.split_once(", :f ")?;
        let (method, value) = rest.split_once(", :value ")?;
        text += &format!("INFO  jepsen.util - {process}\t{kind}\t{method}\t{value}\n");
        text += "WARN  something :else 1 2\n";
    }
    Some(text)
}

/// A key-value store whose keys have a field of their own.
pub(crate) fn edn_kv(subject: &Subject, history: &History, random: &mut Rng) -> Option<String> {
    if subject.starts[0].kind != Kind::Kv || history.objects > 1 {
        return None;
    }
    let mut text = String::new();
    for (i, is_call) in events(history) {
        let o = &history.operations[i];
        let called = o.args.get(1).cloned().unwrap_or(V::Nil);
        let (kind, value) = match (&o.end, is_call) {
            (_, true) => ("invoke", called),
            (End::Returned(result), _) if o.method == "get" => ("ok", result.clone()),
            (End::Returned(_), _) => ("ok", called),
            (End::Failed, _) => ("fail", V::Nil),
            _ => ("info", V::Nil),
        };
        let [key, value] = [&o.args[0], &value].map(|v| spell(v, Style::Edn, random));
        let (process, method) = (o.process, o.method);
        text += &format!(
            "{{:process {process}, :type :{kind}, :f :{method}, :key {key}, :value {value}}}\n"
        );
    }
    Some(text)
}
