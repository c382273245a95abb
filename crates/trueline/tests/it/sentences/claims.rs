//! Takes sentences apart and holds each clause against the history.

use trueline::Value;

use super::scene::{Op, Scene, fit, operations};

/// Whether a sentence speaks of times alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum General {
    Yes,
    No,
}

pub(crate) type Claim = Result<(), String>;

pub(crate) fn hold(is_true: bool, what: &str) -> Claim {
    if is_true { Ok(()) } else { Err(format!("not true: {what}")) }
}

pub(crate) const INSERTS: &[&str] = &["enq", "push", "insert", "push_front", "push_back"];
pub(crate) const REMOVES: &[&str] = &["deq", "pop", "poll", "pop_front", "pop_back"];

pub(crate) fn times(text: &str) -> Option<usize> {
    match text {
        "once" => Some(1),
        "twice" => Some(2),
        other => other.strip_suffix(" times")?.parse().ok(),
    }
}

/// A value as sentences show it: texts stand in quotes.
pub(crate) fn said(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

pub(crate) fn is_false(op: &Op<'_>) -> bool {
    op.result == Some(Value::Bool(false))
}

impl Scene<'_> {
    pub(crate) fn list(&self, text: &str) -> Result<Vec<usize>, String> {
        operations(text).ok_or_else(|| format!("no operations: {text}"))
    }

    pub(crate) fn one(&self, text: &str) -> Result<usize, String> {
        match self.list(text)?[..] {
            [one] => Ok(one),
            _ => Err(format!("not one operation: {text}")),
        }
    }

    pub(crate) fn all_before(&self, first: &[usize], then: &[usize]) -> bool {
        first.iter().all(|&a| then.iter().all(|&b| self.before(a, b)))
    }

    pub(crate) fn inserts(&self, value: &str) -> Vec<usize> {
        self.places(|op| {
            INSERTS.contains(&op.method) && said(&op.args[0]) == value && !is_false(op)
        })
    }

    pub(crate) fn removes(&self, value: &str) -> Vec<usize> {
        let is_it = |op: &Op<'_>| op.result.as_ref().is_some_and(|v| said(v) == value);
        self.places(|op| REMOVES.contains(&op.method) && is_it(op))
    }

    pub(crate) fn initially(&self, value: &str) -> usize {
        self.initial.iter().filter(|v| said(v) == value).count()
    }

    pub(crate) fn open_removals(&self, before: u32) -> Vec<usize> {
        self.places(|op| REMOVES.contains(&op.method) && op.result.is_none() && op.call < before)
    }

    /// Checks the sentence.
    pub(crate) fn claims(&self, sentence: &str) -> Result<General, String> {
        let text = self.resolved(sentence)?;
        if let Some(general) = self.general(&text) {
            return general.map(|()| General::Yes);
        }
        let attempts = [
            self.owned(&text),
            self.sums(&text),
            self.gone(&text),
            self.container(&text),
            self.replaced(&text),
            self.level(&text),
            self.cell(&text),
            self.grows(&text),
            self.snapshot(&text),
        ];
        match attempts.into_iter().flatten().next() {
            Some(claim) => claim.map(|()| General::No),
            None => Err("this sentence is not understood".into()),
        }
    }

    /// Sentences about times, which know nothing of the object.
    fn general(&self, text: &str) -> Option<Claim> {
        // What a relaxed container promises stands at the end.
        let promise = text.split_once("; with ").filter(|_| self.spec.starts_with("relaxed"));
        let (text, promises) = match promise {
            Some((text, rest)) => (text, Some(rest)),
            None => (text, None),
        };
        let told = self.times_alone(text)?;
        let Some(promises) = promises else { return Some(told) };
        let is_told = |promise: &str| {
            let parameter = promise.split(' ').next().unwrap_or("");
            self.parameters.split(',').any(|p| p == parameter)
        };
        let all: Vec<&str> = promises.split(", and with ").collect();
        let parameters = self.parameters.split(',').filter(|p| !p.starts_with("capacity")).count();
        let is_whole = all.len() == parameters && all.iter().all(|promise| is_told(promise));
        Some(told.and_then(|()| hold(is_whole, "each promise is told")))
    }

    fn times_alone(&self, text: &str) -> Option<Claim> {
        let late = fit(
            "The operations before these leave the object at {}, whatever their order; then {}",
            text,
        );
        let text = late.as_ref().map_or(text, |parts| parts[1]);
        let facts = |text: &str| -> Claim {
            for fact in text.split(" was called, ").flat_map(|part| part.split(" was called and "))
            {
                let fact = fact.trim_end_matches(" was called");
                let parts = fit("{} returned before {}", fact).ok_or(format!("no fact: {fact}"))?;
                hold(self.before(self.one(parts[0])?, self.one(parts[1])?), fact)?;
            }
            Ok(())
        };
        if let Some(parts) = fit("{} fits into no legal order of the other {}: {}", text) {
            return Some((|| {
                let r = self.one(parts[0])?;
                let others: Vec<usize> = self.told.iter().copied().filter(|&i| i != r).collect();
                let count = if others.len() == 1 {
                    "operation".into()
                } else {
                    format!("{} operations", others.len())
                };
                hold(parts[1] == count, "the number of the others")?;
                hold(self.starts_late || (self.in_time)(&others), "the others have a legal order")?;
                facts(parts[2])
            })());
        }
        let lower = text.trim_start_matches(['N', 'n']);
        let lower = lower.strip_suffix(" after what came before").unwrap_or(lower);
        if let Some(parts) = fit("o order of {} is legal, whatever their times", lower) {
            return Some((|| {
                let all = self.list(parts[0])?;
                hold(all == self.told, "all are named")?;
                hold(self.starts_late || !(self.any_order)(&all), "no order is legal")
            })());
        }
        if let Some(parts) = fit("o order allows {}", lower) {
            return Some((|| {
                hold(self.told == [self.one(parts[0])?], "it is alone")?;
                hold(self.starts_late || !(self.any_order)(&self.told), "no order is legal")
            })());
        }
        if let Some(parts) =
            fit("o legal order of these {} operations respects their times{}", lower)
        {
            return Some((|| {
                hold(parts[0] == self.told.len().to_string(), "the number of operations")?;
                match fit("; {} is the first whose return cannot be explained", parts[1]) {
                    Some(first) => hold(
                        Some(self.op(self.one(first[0])?).returned) == self.first_bad,
                        "the first",
                    ),
                    None => hold(parts[1].is_empty(), "nothing else"),
                }
            })());
        }
        let tails = [
            ", but every legal order has them the other way round",
            ": no legal order allows all of this",
        ];
        tails.iter().find_map(|tail| text.strip_suffix(tail)).map(facts)
    }
}
