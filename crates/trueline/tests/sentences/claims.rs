//! Takes sentences apart and holds each clause against the history.

use trueline::Value;

use crate::scene::{Op, Scene, fit, listed, operations};

/// Whether a sentence speaks of times alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum General {
    Yes,
    No,
}

type Claim = Result<(), String>;

fn hold(is_true: bool, what: &str) -> Claim {
    if is_true { Ok(()) } else { Err(format!("not true: {what}")) }
}

const INSERTS: &[&str] = &["enq", "push", "insert", "push_front", "push_back"];
const REMOVES: &[&str] = &["deq", "pop", "poll", "pop_front", "pop_back"];

fn times(text: &str) -> Option<usize> {
    match text {
        "once" => Some(1),
        "twice" => Some(2),
        other => other.strip_suffix(" times")?.parse().ok(),
    }
}

fn is_false(op: &Op) -> bool {
    op.result == Some(Value::Bool(false))
}

impl Scene<'_> {
    fn list(&self, text: &str) -> Result<Vec<usize>, String> {
        operations(text).ok_or_else(|| format!("no operations: {text}"))
    }

    fn one(&self, text: &str) -> Result<usize, String> {
        match self.list(text)?[..] {
            [one] => Ok(one),
            _ => Err(format!("not one operation: {text}")),
        }
    }

    fn all_before(&self, first: &[usize], then: &[usize]) -> bool {
        first.iter().all(|&a| then.iter().all(|&b| self.before(a, b)))
    }

    fn inserts(&self, value: &str) -> Vec<usize> {
        self.places(|op| {
            INSERTS.contains(&op.method) && op.args[0].to_string() == value && !is_false(op)
        })
    }

    fn removes(&self, value: &str) -> Vec<usize> {
        let is_it = |op: &Op| op.result.as_ref().is_some_and(|v| v.to_string() == value);
        self.places(|op| REMOVES.contains(&op.method) && is_it(op))
    }

    fn initially(&self, value: &str) -> usize {
        self.initial.iter().filter(|v| v.to_string() == value).count()
    }

    fn open_removals(&self, before: u32) -> Vec<usize> {
        self.places(|op| REMOVES.contains(&op.method) && op.result.is_none() && op.call < before)
    }

    /// Checks the sentence.
    pub(crate) fn claims(&self, sentence: &str) -> Result<General, String> {
        let text = self.resolved(sentence)?;
        if let Some(general) = self.general(&text) {
            return general.map(|()| General::Yes);
        }
        let attempts = [
            self.container(&text),
            self.cell(&text),
            self.level(&text),
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

    // Containers.

    fn container(&self, text: &str) -> Option<Claim> {
        if let Some(p) = fit("{} cannot be: {} was never {}", text)
            && (INSERTS.iter().any(|_| {
                p[2].starts_with("enqueued")
                    || p[2].starts_with("pushed")
                    || p[2].starts_with("inserted")
                    || p[2].starts_with("put in")
            }))
        {
            return Some((|| {
                self.one(p[0])?;
                hold(
                    self.inserts(p[1]).is_empty() && self.initially(p[1]) == 0,
                    "it was never put in",
                )?;
                match fit("{}, and the {} holds {} at first", p[2]) {
                    Some(parts) => hold(
                        parts[2] == Value::list(self.initial.clone()).to_string(),
                        "what it holds",
                    ),
                    None => hold(self.initial.is_empty(), "it is empty at first"),
                }
            })());
        }
        for verb in ["was", "were"] {
            let pattern = format!(
                "{{}} cannot be: {{}}, which alone {{}} {{}}, {verb} called only after it had returned"
            );
            if let Some(p) = fit(&pattern, text)
                && ["enqueued", "pushed", "inserted", "put in"].contains(&p[2])
            {
                return Some((|| {
                    let (r, all) = (self.one(p[0])?, self.list(p[1])?);
                    hold(all == self.inserts(p[3]) && self.initially(p[3]) == 0, "these alone")?;
                    hold(self.all_before(&[r], &all), "called after")
                })());
            }
        }
        if let Some(p) = fit("{} was {} {}, by {}, but {}", text) {
            return Some(self.too_often(&p));
        }
        if let Some(p) = fit(
            "{} were in the stack one after the other without a gap, so one of them was pushed first and popped last, but none can be: {}",
            text,
        ) {
            return Some(self.bottomless(p[0], p[1]));
        }
        if let Some(p) = fit(
            "{} found the {} empty, but at every moment from its call to its return one of {} was inside: {}",
            text,
        ) {
            return Some((|| {
                let r = self.one(p[0])?;
                self.covered(self.op(r).call, self.op(r).returned, p[2], p[3])
            })());
        }
        for size in ["larger", "smaller"] {
            let pattern = format!(
                "{{}} cannot be: at every moment from {{}} to its return one of the {size} {{}} was inside: {{}}"
            );
            if let Some(p) = fit(&pattern, text) {
                return Some((|| {
                    let r = self.one(p[0])?;
                    let value = self.op(r).result.clone().ok_or("no value")?;
                    self.compares(&value, p[2], size)?;
                    let from = match fit("the call of {}", p[1]) {
                        Some(insert) => {
                            let insert = self.one(insert[0])?;
                            hold(self.inserts(&value.to_string()) == [insert], "its insertion")?;
                            self.op(insert).call
                        }
                        None => self.op(r).call,
                    };
                    self.covered(from, self.op(r).returned, p[2], p[3])
                })());
            }
        }
        let patterns = [
            "{} found the {} empty, but {} were inside: {}",
            "{} found the {} empty, but {} was inside: {}",
            "{} cannot be: the {} has room for {} and was full, as {} were inside: {}",
            "{} cannot be: the {} has room for {} and was full, as {} was inside: {}",
            "{} cannot be: the {} {} were inside: {}",
            "{} cannot be: the {} {} was inside: {}",
            "{} {} {}: {}",
        ];
        for (n, pattern) in patterns.iter().enumerate() {
            let Some(p) = fit(pattern, text) else { continue };
            let last = p.len() - 1;
            if n >= 6 && !["overtook", "came out from under"].iter().any(|how| text.contains(how)) {
                continue;
            }
            let (who, inside) = match n {
                6 => {
                    let how = if text.contains(" overtook ") {
                        " overtook "
                    } else {
                        " came out from under "
                    };
                    let (who, rest) = text.split_once(how)?;
                    (who, rest.split_once(": ")?.0)
                }
                _ => (p[0], p[last - 1]),
            };
            let clauses = if n == 6 { text.split_once(": ")?.1 } else { p[last] };
            return Some((|| {
                let r = self.one(who)?;
                if n == 2 || n == 3 {
                    hold(self.parameters.contains(&format!("capacity={}", p[2])), "the capacity")?;
                }
                if n == 4 || n == 5 {
                    let value = self.op(r).result.clone().ok_or("no value")?;
                    self.compares(&value, inside, p[1])?;
                }
                let clauses = match clauses.split_once("; a semiqueue with k=") {
                    Some((clauses, k)) => {
                        let k = fit("{} gives out one of its {} oldest values", k).ok_or("no k")?;
                        hold(self.parameters == format!("k={}", k[0]) && k[0] == k[1], "k")?;
                        clauses
                    }
                    None => clauses,
                };
                for x in listed(inside) {
                    hold(self.inserts(x).len() + self.initially(x) == 1, "it went in once")?;
                    hold(self.all_before(&[r], &self.removes(x)), "it left later")?;
                }
                for clause in clauses.split(", and ") {
                    self.clause(r, clause)?;
                }
                Ok(())
            })());
        }
        let p = fit("{} found the {} full, but it has room for {} and {}", text)?;
        Some((|| {
            let r = self.one(p[0])?;
            hold(self.parameters.contains(&format!("capacity={}", p[2])), "the capacity")?;
            let capacity: usize = p[2].parse().map_err(|_| "no number")?;
            let end = self.op(r).returned;
            let called =
                self.places(|op| INSERTS.contains(&op.method) && !is_false(op) && op.call < end);
            let gone = |i: usize| {
                let value = self.op(i).args[0].to_string();
                self.removes(&value).iter().filter(|&&d| self.before(d, r)).count()
            };
            if p[3] == "nothing else was inside" {
                return hold(
                    called.iter().all(|&i| gone(i) > 0) && capacity > 0,
                    "nothing was inside",
                );
            }
            let parts = fit("at most {} can have been inside: what {} put in", p[3])
                .ok_or("what was inside")?;
            let inside = self.list(parts[1])?;
            hold(
                parts[0] == inside.len().to_string() && inside.len() < capacity,
                "at most so many",
            )?;
            let others = called.iter().filter(|i| !inside.contains(i));
            hold(others.clone().all(|&i| gone(i) > 0), "the others had left")
        })())
    }

    fn compares(&self, value: &Value, others: &str, size: &str) -> Claim {
        let larger = |x: &str| x.parse::<i64>().is_ok_and(|x| Value::Int(x) > *value);
        hold(listed(others).into_iter().all(|x| larger(x) == (size == "larger")), size)
    }

    fn too_often(&self, p: &[&str]) -> Claim {
        let value = p[0];
        let (sources, each) = match p[4].split_once(": a stuttering queue with j=") {
            Some((sources, j)) => {
                let j = fit("{} gives out a value {} at most", j).ok_or("no j")?;
                hold(self.parameters == format!("j={}", j[0]), "j")?;
                (sources, j[0].parse::<usize>().map_err(|_| "no j")?)
            }
            None => (p[4], 1),
        };
        let out = self.list(p[3])?;
        hold(times(p[2]) == Some(out.len()), "how often")?;
        hold(out.iter().all(|i| self.removes(value).contains(i)), "these took it out")?;
        let mut went_in = 0;
        for source in sources.split(", and ") {
            if let Some(s) = fit("{} only {}, by {}", source).filter(|s| !s[0].starts_with("is in"))
            {
                let by = self.list(s[2])?;
                hold(by == self.inserts(value) && times(s[1]) == Some(by.len()), source)?;
                went_in += by.len();
            } else {
                let s = fit("is in the {} only {} at first", source)
                    .ok_or(format!("no source: {source}"))?;
                hold(times(s[1]) == Some(self.initially(value)), source)?;
                went_in += self.initially(value);
            }
        }
        hold(went_in == self.inserts(value).len() + self.initially(value), "all sources")?;
        hold(out.len() > each * went_in, "too often")
    }

    /// `1 from the return of <0> to the call of <2> and ..` covers the time between two ranks.
    fn covered(&self, from: u32, to: u32, values: &str, stays: &str) -> Claim {
        let mut spans = Vec::new();
        let mut named = Vec::new();
        let marked = stays.replace(" and ", ", ");
        for stay in marked.split(", ") {
            let (rest, end) = match stay.strip_suffix(" on") {
                Some(rest) => (rest, None),
                None => {
                    let (rest, end) =
                        stay.split_once(" to the call of ").ok_or(format!("no end: {stay}"))?;
                    (rest, Some(self.one(end)?))
                }
            };
            let (value, start) = match rest.split_once(" from the return of ") {
                Some((value, insert)) => (value, Some(self.one(insert)?)),
                None => {
                    (rest.strip_suffix(" from the start").ok_or(format!("no start: {rest}"))?, None)
                }
            };
            hold(self.inserts(value) == start.into_iter().collect::<Vec<_>>(), "its insertion")?;
            hold(start.is_some() || self.initially(value) == 1, "it is there at first")?;
            let removes = self.removes(value);
            let first = removes.iter().copied().min_by_key(|&r| self.op(r).call);
            hold(first == end, "its first removal")?;
            hold(
                end.is_some() || self.open_removals(to).is_empty(),
                "nobody else can have taken it",
            )?;
            let start = start.map_or(0, |i| self.op(i).returned);
            spans.push((start, end.map_or(u32::MAX, |r| self.op(r).call)));
            named.push(value.to_string());
        }
        hold(named == listed(values), "the values")?;
        // Moments lie between ranks.
        let inside = |moment: u32| spans.iter().any(|&(a, b)| a <= moment && moment < b);
        hold((from..to).all(inside), "one of them is always inside")
    }

    fn bottomless(&self, all: &str, reasons: &str) -> Claim {
        let all = listed(all);
        let life = |value: &str| match (
            self.inserts(value)[..].first(),
            self.removes(value)[..].first(),
        ) {
            (Some(&i), removal) => (i, removal.copied()),
            _ => (0, None),
        };
        let mut excluded = Vec::new();
        let marked = reasons.replace(" and not ", ", not ");
        for reason in marked.split(", not ") {
            let reason = reason.trim_start_matches("not ");
            if let Some(p) = fit("{}, as {} returned before {} was called", reason) {
                let (a, b) = (self.one(p[1])?, self.one(p[2])?);
                hold(self.before(a, b), reason)?;
                let (insert, removal) = life(p[0]);
                let inserted_later = b == insert && all.iter().any(|y| self.inserts(y) == [a]);
                let removed_earlier =
                    Some(a) == removal && all.iter().any(|y| self.removes(y) == [b]);
                hold(inserted_later || removed_earlier, reason)?;
                excluded.push(p[0].to_string());
            } else {
                let p = fit("{}, as {} popped it and {} was never popped", reason)
                    .ok_or(format!("no reason: {reason}"))?;
                hold(
                    self.removes(p[0]) == [self.one(p[1])?] && self.removes(p[2]).is_empty(),
                    reason,
                )?;
                hold(all.contains(&p[2]), "one of them")?;
                excluded.push(p[0].to_string());
            }
        }
        hold(excluded == all, "each of them")?;
        let mut spans: Vec<(u32, u32)> = all
            .iter()
            .map(|v| life(v))
            .map(|(i, r)| (self.op(i).returned, r.map_or(u32::MAX, |r| self.op(r).call)))
            .collect();
        spans.sort_unstable();
        let mut end = spans[0].1;
        for &(from, to) in &spans[1..] {
            hold(from < end, "without a gap")?;
            end = end.max(to);
        }
        Ok(())
    }

    fn clause(&self, r: usize, clause: &str) -> Claim {
        if let Some(p) = fit("{}, of unknown outcome, can have taken only {} of them", clause) {
            let open = self.open_removals(self.op(r).returned);
            return hold(self.list(p[0])? == open && p[1] == open.len().to_string(), clause);
        }
        for verb in ["was", "were"] {
            if let Some(p) = fit(
                &format!(
                    "{{}} {verb} called after {{}} had returned and had returned before {{}} was called"
                ),
                clause,
            ) {
                let all = self.list(p[0])?;
                return hold(
                    self.all_before(&[self.one(p[1])?], &all)
                        && self.all_before(&all, &[self.one(p[2])?]),
                    clause,
                );
            }
            if let Some(p) =
                fit(&format!("{{}} {verb} called only after {{}} had returned"), clause)
            {
                let whom = if p[1] == "it" { r } else { self.one(p[1])? };
                return hold(self.all_before(&[whom], &self.list(p[0])?), clause);
            }
            if let Some(p) = fit(&format!("{{}} {verb} never {{}}"), clause) {
                return hold(listed(p[0]).iter().all(|v| self.removes(v).is_empty()), clause);
            }
        }
        for verb in ["is", "are"] {
            if let Some(p) = fit(
                &format!(
                    "{{}} {verb} inside from the start and {{}} had returned before {{}} was called"
                ),
                clause,
            ) {
                hold(listed(p[0]).iter().all(|v| self.initially(v) == 1), clause)?;
                return hold(self.all_before(&self.list(p[1])?, &[self.one(p[2])?]), clause);
            }
            if let Some(p) = fit(&format!("{{}} {verb} inside from the start"), clause) {
                return hold(listed(p[0]).iter().all(|v| self.initially(v) == 1), clause);
            }
        }
        if let Some(p) = fit("the {} holds {} at first", clause) {
            return hold(p[1] == Value::list(self.initial.clone()).to_string(), clause);
        }
        if let Some(p) = fit("{} came later", clause) {
            return hold(INSERTS.contains(&self.op(self.one(p[0])?).method), clause);
        }
        if let Some(p) = fit("{} had returned before {} was called", clause) {
            let whom = if p[1] == "it" { r } else { self.one(p[1])? };
            return hold(self.all_before(&self.list(p[0])?, &[whom]), clause);
        }
        Err(format!("no clause: {clause}"))
    }

    // Cells.

    /// Whether the operation may have done this, where `r` is who suffers from it.
    fn may(&self, r: usize, done: &str, op: &Op) -> Result<bool, String> {
        let left = |op: &Op| match (op.method, op.args.as_slice()) {
            ("write", [v]) | ("put" | "swap", [_, v]) | ("rmw", [_, v]) => Some(v.clone()),
            ("cas", [_, v]) if !is_false(op) => Some(v.clone()),
            ("remove", [_]) if self.spec == "map" && !is_false(op) => Some(Value::Nil),
            _ => None,
        };
        let key = |op: &Op, k: &str| op.args.first().is_some_and(|v| v.to_string() == k);
        if let Some(p) = fit("written {} there", done).or(fit("wrote {} there", done)) {
            let segment = self.segment_of(r)?;
            return Ok(op.method == "update"
                && key(op, &segment)
                && op.args[1].to_string() == p[0]);
        }
        if let Some(p) = fit("written anything but {}", done) {
            return Ok(left(op).is_some_and(|v| v.to_string() != p[0]));
        }
        if let Some(p) = fit("written {}", done).or(fit("wrote {}", done)) {
            return Ok(left(op).is_some_and(|v| v.to_string() == p[0]));
        }
        Ok(match done {
            "taken the lock" | "took the lock" => op.method.ends_with("acquire") && !is_false(op),
            "released the lock" => op.method == "release",
            "removed the key" => left(op) == Some(Value::Nil),
            "put anything under the key" => left(op).is_some_and(|v| !v.is_nil()),
            _ => match (fit("added {}", done), fit("removed {}", done)) {
                (Some(p), _) => op.method == "add" && key(op, p[0]) && !is_false(op),
                (_, Some(p)) => op.method == "remove" && key(op, p[0]) && !is_false(op),
                _ => return Err(format!("nothing that is done: {done}")),
            },
        })
    }

    fn segment_of(&self, _: usize) -> Result<String, String> {
        self.segment.borrow().clone().ok_or_else(|| "no segment".into())
    }

    fn cell(&self, text: &str) -> Option<Claim> {
        if let Some(p) = fit(
            "{} and {} exclude each other: each of {} and {} was written only once, so all that wrote or read the one come before all that wrote or read the other, but {} returned before {} was called and {} returned before {} was called",
            text,
        ) {
            return Some((|| {
                let ops: Vec<usize> =
                    [0, 1, 4, 5, 6, 7].iter().map(|&n| self.one(p[n])).collect::<Result<_, _>>()?;
                hold(self.before(ops[2], ops[3]) && self.before(ops[4], ops[5]), "the times")?;
                for value in [p[2], p[3]] {
                    let done = format!("written {value}");
                    let writers = self
                        .all()
                        .filter_map(|(n, op)| self.may(n, &done, op).ok()?.then_some(n))
                        .count();
                    hold(writers == 1, "written once")?;
                }
                let about = |n: usize, v: &str| {
                    let op = self.op(n);
                    op.result.as_ref().is_some_and(|r| r.to_string() == v)
                        || op.args.last().is_some_and(|a| a.to_string() == v)
                };
                hold(
                    about(ops[2], p[2])
                        && about(ops[5], p[2])
                        && about(ops[3], p[3])
                        && about(ops[4], p[3]),
                    "their values",
                )
            })());
        }
        if let Some(p) = fit(
            "{} found {} anew {}: {} came first and {} in between, but {} can have written {} meanwhile",
            text,
        ) {
            return Some((|| {
                let (found, first, others) = (self.list(p[0])?, self.one(p[3])?, self.list(p[4])?);
                hold(times(p[2]) == Some(found.len()) && p[1] == p[6], "how often")?;
                let mut chain = vec![first];
                for (n, &r) in found.iter().enumerate() {
                    chain.push(r);
                    chain.extend(others.get(n));
                }
                hold(
                    chain.windows(2).all(|pair| self.before(pair[0], pair[1])),
                    "one after the other",
                )?;
                let last = self.op(*found.last().ok_or("none")?).returned;
                let done = format!("written {}", p[1]);
                let writers: Vec<usize> = self
                    .all()
                    .filter(|(n, op)| {
                        self.may(*n, &done, op) == Ok(true)
                            && op.call < last
                            && op.returned > self.op(first).call
                    })
                    .map(|(n, _)| n)
                    .collect();
                let told = if p[5] == "nothing" {
                    Vec::new()
                } else {
                    self.list(p[5].strip_prefix("only ").unwrap_or(p[5]))?
                };
                hold(told == writers && writers.len() < found.len(), "who can have written it")
            })());
        }
        // Snapshots name the property: one scan is wrong by itself, or is older than one before.
        let named = text.strip_prefix("Appropriateness: ").map(|text| (text, false));
        let named = named.or(text.strip_prefix("Non-Decreasing: ").map(|text| (text, true)));
        let (text, two_scans) = named.unwrap_or((text, false));
        let (subject, rest) = text.split_once(": ")?;
        let subjects = [
            "{} cannot be",
            "{} must have found {}",
            "{} cannot show {} in segment {}",
            "{} cannot show {}",
            "{} must show {}",
            "{} got the lock while it was held",
            "{} released the lock while it was free",
            "{} found the lock held while it was free",
            "{} found the lock free while it was held",
        ];
        let who = subjects.iter().find_map(|pattern| fit(pattern, subject))?;
        if let [_, _, segment] = who[..] {
            *self.segment.borrow_mut() = Some(segment.to_string());
        }
        let r = operations(who[0])?.first().copied()?;
        let may = |done: &str| -> Result<Vec<usize>, String> {
            let mut all = Vec::new();
            for (n, op) in self.all().filter(|(n, _)| *n != r) {
                if self.may(r, done, op)? {
                    all.push(n);
                }
            }
            Ok(all)
        };
        let (rest, at_first) = rest.split_once("; ").unwrap_or((rest, ""));
        let first = |text: &str| -> Claim {
            let patterns = [
                "segment {} holds {} only at first",
                "the {} holds {} only at first",
                "segment {} holds {} at first",
                "the {} holds {} at first",
            ];
            if let Some(p) = patterns.iter().find_map(|pattern| fit(pattern, text)) {
                return hold(p[1] == self.at_first(), text);
            }
            if let Some(p) = fit("{} can only be what the register held at first", text) {
                return hold(self.parameters == "init=?" && !p[0].is_empty(), text);
            }
            let known = ["", "the lock is free at first", "the key is absent only at first"];
            hold(
                known.contains(&text)
                    || fit("{} is there at first", text).is_some_and(|p| self.initially(p[0]) == 1),
                text,
            )
        };
        if let Some(p) =
            fit("{} had returned before it was called, and nothing can have {} after that{}", rest)
            && fit("{} must {}", subject).is_none_or(|_| !rest.contains("replaced"))
        {
            return Some((|| {
                let x = self.one(p[0])?;
                hold(self.before(x, r), "the time")?;
                hold(
                    self.spec != "snapshot" || (self.op(x).method == "scan") == two_scans,
                    "the property",
                )?;
                for w in may(p[1])? {
                    hold(self.before(w, x) || self.before(r, w), "nothing in between")?;
                }
                match p[2].strip_prefix(": ") {
                    None => hold(p[2].is_empty(), "the rest"),
                    Some(tail) => match fit("{} had returned before {} was called", tail) {
                        Some(q) => {
                            hold(self.before(self.one(q[0])?, x) && self.one(q[1])? == x, tail)
                        }
                        None => first(tail),
                    },
                }
            })());
        }
        for verb in ["was", "were"] {
            if let Some(p) = fit(
                &format!("{{}}, which alone {{}}, {verb} called only after it had returned"),
                rest,
            ) {
                return Some((|| {
                    let all = self.list(p[0])?;
                    hold(may(p[1])? == all && self.all_before(&[r], &all), rest)?;
                    first(at_first)
                })());
            }
        }
        if let Some(p) = fit("nothing {} before it returned", rest) {
            return Some((|| {
                let all = may(p[0])?;
                hold(all.len() > 1 && self.all_before(&[r], &all), rest)?;
                first(at_first)
            })());
        }
        if let Some(p) = fit("nothing that was called before it returned can have {}", rest) {
            return Some((|| {
                let end = self.op(r).returned;
                hold(may(p[0])?.iter().all(|&w| self.op(w).call > end), rest)?;
                first(at_first)
            })());
        }
        let done = match rest {
            "there was no acquire" => "taken the lock".to_string(),
            "there was no release" => "released the lock".to_string(),
            "the key was never removed" => "removed the key".to_string(),
            _ => {
                let p = fit("{} was never {}", rest)?;
                match p[1] {
                    "written" => format!("written {}", p[0]),
                    "written there" => format!("written {} there", p[0]),
                    "added" | "removed" if self.spec == "set" => format!("{} {}", p[1], p[0]),
                    _ => return None,
                }
            }
        };
        Some((|| {
            hold(may(&done)?.is_empty(), rest)?;
            first(at_first)
        })())
    }

    /// What a register, a key or a segment holds at first.
    fn at_first(&self) -> String {
        match self.spec {
            "rmw" | "snapshot" => "0".into(),
            "cas-register" if self.parameters == "init=0" => "0".into(),
            "kv" => Value::text("").to_string(),
            _ => "nil".into(),
        }
    }

    // Levels.

    fn change(&self, op: &Op) -> i64 {
        let number = op.args.first().and_then(Value::as_int);
        match (self.spec, op.method) {
            ("counter", "add" | "fetch_add") => number.unwrap_or(0),
            ("semaphore", "release") | ("snzi", "arrive") | ("multiset", "add") => 1,
            ("semaphore", "acquire") | ("multiset", "remove") if !is_false(op) => -1,
            ("snzi", "depart") => -1,
            ("mutex", "acquire") => 1,
            ("mutex", "try_acquire") if !is_false(op) => 1,
            ("mutex", "release") => -1,
            _ => 0,
        }
    }

    /// Where counting starts: the amount and the operation after which it is known.
    fn base(&self, text: &str) -> Result<(i64, Option<usize>), String> {
        let number = |text: &str| match text {
            "free" => Ok(0),
            "held" => Ok(1),
            text => text.parse::<i64>().map_err(|_| format!("no number: {text}")),
        };
        let at_first = [
            "{} permit is free at first",
            "{} permits are free at first",
            "{} is present at first",
            "{} are present at first",
            "it is {} at first",
        ];
        if text == "it is not there at first" || text == "it is free at first" {
            return Ok((0, None));
        }
        for pattern in at_first {
            if let Some(p) = fit(pattern, text) {
                hold(number(p[0])? == 0, text)?;
                return Ok((0, None));
            }
        }
        let p = fit("{} after {}, which had returned before {} called", text)
            .ok_or(format!("no base: {text}"))?;
        let a = self.one(p[1])?;
        let patterns = [
            "{} permit was free",
            "{} permits were free",
            "{} was present",
            "{} were present",
            "it was there {} time",
            "it was there {} times",
            "it was {}",
        ];
        let n = patterns
            .iter()
            .find_map(|pattern| fit(pattern, p[0]))
            .ok_or(format!("no amount: {}", p[0]))?;
        let n = number(n[0])?;
        let op = self.op(a);
        let told = op.result.as_ref().and_then(Value::as_int);
        let known = match (self.spec, op.method) {
            ("counter", "fetch_add") => told.map(|t| t + self.change(op)),
            ("counter", _) | ("multiset", "count") => told,
            ("multiset" | "semaphore", _) if is_false(op) => Some(0),
            ("snzi", "query") if is_false(op) => Some(0),
            ("mutex", method) => Some(i64::from(method != "release")),
            _ => None,
        };
        hold(known == Some(n), "the amount after an operation")?;
        Ok((n, Some(a)))
    }

    fn level(&self, text: &str) -> Option<Claim> {
        if let Some(p) = fit(
            "{} and {} exclude each other: both added to a total of {}, and nothing ever subtracts from it",
            text,
        ) {
            return Some((|| {
                for text in [p[0], p[1]] {
                    let op = self.op(self.one(text)?);
                    let total = op.result.as_ref().and_then(Value::as_int).ok_or("no total")?;
                    let before =
                        if op.method == "fetch_add" { total } else { total - self.change(op) };
                    hold(before.to_string() == p[2] && self.change(op) > 0, "the total")?;
                }
                hold(self.all().all(|(_, op)| self.change(op) >= 0), "nothing subtracts")
            })());
        }
        if let Some(p) = fit(
            "{} got the lock while it was held: when it returned, the lock had been taken {} times, the time before by {}, and only {} releases had been called",
            text,
        ) {
            return Some((|| {
                let (r, x) = (self.one(p[0])?, self.one(p[2])?);
                let end = self.op(r).returned;
                let taken = self.places(|op| self.change(op) > 0 && op.returned <= end);
                let released = self.places(|op| op.method == "release" && op.call < end);
                hold(
                    p[1] == taken.len().to_string() && p[3] == released.len().to_string(),
                    "the counts",
                )?;
                hold(taken.len() > released.len() + 1, "too often")?;
                let before =
                    taken.iter().copied().filter(|&i| i != r).max_by_key(|&i| self.op(i).returned);
                hold(before == Some(x), "the time before")
            })());
        }
        if let Some(p) = fit(
            "{} released the lock while it was free: when it returned, the lock had been released {} times, and only {} acquires had been called",
            text,
        ) {
            return Some((|| {
                let end = self.op(self.one(p[0])?).returned;
                let released = self.places(|op| op.method == "release" && op.returned <= end);
                let taken = self.places(|op| self.change(op) > 0 && op.call < end);
                hold(
                    p[1] == released.len().to_string() && p[2] == taken.len().to_string(),
                    "the counts",
                )?;
                hold(released.len() > taken.len(), "too often")
            })());
        }
        let (head, rest) = text.split_once(": ")?;
        let r = fit("{} cannot be", head).and_then(|p| operations(p[0]));
        if let Some(&[r]) = r.as_deref() {
            let (bound, rest) = rest.split_once(": ")?;
            if !bound.ends_with(" then") {
                return None;
            }
            return Some(self.bound(r, bound, rest));
        }
        let (who, done) = head.split_once(" cannot ")?;
        let (_, done) = done.split_once("have ")?;
        Some((|| {
            let all = match fit("The {} shown", who) {
                Some(_) => self
                    .told
                    .iter()
                    .copied()
                    .filter(|&i| (self.change(self.op(i)) > 0) == (done == "taken the lock"))
                    .collect(),
                None => self.list(who)?,
            };
            let up = self.change(self.op(all[0])) > 0;
            hold(all.iter().all(|&i| (self.change(self.op(i)) > 0) == up), "one direction")?;
            let (base, only) = rest.split_once(", and ").ok_or("no clauses")?;
            // The base may have a comma of its own.
            let (base, only) = match only.split_once(", and ") {
                Some((more, only)) => (format!("{base}, and {more}"), only),
                None => (base.to_string(), only),
            };
            let (n, anchor) = self.base(&base)?;
            let end = all.iter().map(|&i| self.op(i).returned).max().unwrap_or(0);
            hold(anchor.is_none_or(|a| all.iter().all(|&i| self.before(a, i))), "after it")?;
            let against: Vec<usize> = self
                .all()
                .filter(|(i, op)| {
                    self.change(op) != 0
                        && (self.change(op) > 0) != up
                        && op.call < end
                        && anchor != Some(*i)
                })
                .filter(|(i, _)| anchor.is_none_or(|a| !self.before(*i, a)))
                .map(|(i, _)| i)
                .collect();
            let p = fit("{} can have {} before {} returned", only).ok_or("no end")?;
            let told = match p[0] {
                "nothing" => Vec::new(),
                some => self.list(some.strip_prefix("only ").unwrap_or(some))?,
            };
            hold(told == against, "who can have undone it")?;
            let sum: i64 = all.iter().chain(&against).map(|&i| self.change(self.op(i))).sum();
            hold(if up { n + sum > 1 } else { n + sum < 0 }, "too many")
        })())
    }

    fn bound(&self, r: usize, bound: &str, rest: &str) -> Claim {
        let at = rest
            .find(", and only ")
            .or(rest.find(", and nothing "))
            .into_iter()
            .chain(rest.find(" had certainly ").and_then(|at| {
                rest[..at].rfind(", and <").map(|_| rest[..at].find(", and <").unwrap_or(at))
            }))
            .min()
            .ok_or("no clauses")?;
        let (n, anchor) = self.base(&rest[..at])?;
        let end = self.op(r).returned;
        let possible = |up: bool| -> Vec<usize> {
            self.all()
                .filter(|(i, op)| *i != r && anchor != Some(*i) && op.call < end)
                .filter(|(i, op)| {
                    self.change(op) != 0
                        && (self.change(op) > 0) == up
                        && anchor.is_none_or(|a| !self.before(*i, a))
                })
                .map(|(i, _)| i)
                .collect()
        };
        let raises = |done: &str| {
            ["added", "released a permit", "arrived", "taken the lock"]
                .iter()
                .any(|verb| done.starts_with(verb))
        };
        let mut total = n;
        for clause in rest[at..].trim_start_matches(", and ").split(", and ") {
            if let Some(p) = fit("{} had certainly {} by then", clause) {
                let some = match fit("{} of the others shown", p[0]) {
                    Some(n) => {
                        let up = raises(p[1]);
                        let fits = |&&i: &&usize| {
                            i != r
                                && (self.change(self.op(i)) > 0) == up
                                && self.change(self.op(i)) != 0
                        };
                        let some: Vec<usize> = self.told.iter().filter(fits).copied().collect();
                        hold(n[0] == some.len().to_string(), clause)?;
                        some
                    }
                    None => self.list(p[0])?,
                };
                for i in some {
                    hold(self.before(i, r) && anchor.is_none_or(|a| self.before(a, i)), clause)?;
                    hold((self.change(self.op(i)) > 0) == raises(p[1]), clause)?;
                    total += self.change(self.op(i));
                }
                continue;
            }
            let clause = clause
                .strip_suffix(" in between")
                .or(clause.strip_suffix(" before it returned"))
                .ok_or(format!("no clause: {clause}"))?;
            let p = fit("{} can have {}", clause).ok_or(format!("no clause: {clause}"))?;
            let told = match p[0] {
                "nothing" => Vec::new(),
                some => match fit("only the {} others shown", some) {
                    Some(_) => possible(raises(p[1])),
                    None => self.list(some.strip_prefix("only ").unwrap_or(some))?,
                },
            };
            hold(told == possible(raises(p[1])), clause)?;
            total += told.iter().map(|&i| self.change(self.op(i))).sum::<i64>();
        }
        let words = ["no permit is", "nobody is", "the value is not", "the lock is free"];
        let most = bound.contains("at most") || words.iter().any(|word| bound.contains(word));
        let shown: Option<i64> = bound.split(' ').find_map(|word| word.parse().ok());
        hold(
            shown.unwrap_or(if bound.contains("held") { total.max(1) } else { 0 }) == total,
            "the bound",
        )?;
        let op = self.op(r);
        let told = op
            .result
            .as_ref()
            .and_then(Value::as_int)
            .filter(|_| !matches!(op.result, Some(Value::Bool(_))));
        let needs = match (self.spec, op.method, told) {
            ("counter", "add", Some(after)) => (after - self.change(op), after - self.change(op)),
            (_, _, Some(n)) => (n, n),
            ("mutex", "release", _) => (1, 1),
            ("mutex", _, _) if is_false(op) => (1, 1),
            ("mutex", ..) => (0, 0),
            _ if is_false(op) => (0, 0),
            _ => (1, i64::MAX),
        };
        hold(if most { total < needs.0 } else { total > needs.1 }, "what it needs")
    }

    // Logs and texts.

    fn grows(&self, text: &str) -> Option<Claim> {
        let shown = |i: usize| {
            self.op(i)
                .result
                .as_ref()
                .and_then(Value::as_list)
                .map(<[Value]>::to_vec)
                .ok_or("no list")
        };
        let index = |i: usize| self.op(i).result.as_ref().and_then(Value::as_int).ok_or("no index");
        let appends = |value: &str| {
            self.places(|op| {
                op.method == "append" && op.args.last().is_some_and(|v| v.to_string() == value)
            })
        };
        let count =
            |list: &[Value], value: &str| list.iter().filter(|v| v.to_string() == value).count();
        if let Some(p) = fit(
            "{} and {} exclude each other: a log only grows, but neither list is a beginning of the other",
            text,
        ) {
            return Some((|| {
                let (a, b) = (shown(self.one(p[0])?)?, shown(self.one(p[1])?)?);
                hold(!a.starts_with(&b) && !b.starts_with(&a), text)
            })());
        }
        if let Some(p) = fit(
            "{} must show at least what {} shows, which had returned before it was called: a log only grows",
            text,
        ) {
            return Some((|| {
                let (later, earlier) = (self.one(p[0])?, self.one(p[1])?);
                hold(
                    self.before(earlier, later) && !shown(later)?.starts_with(&shown(earlier)?),
                    text,
                )
            })());
        }
        if let Some(p) =
            fit("{} and {} exclude each other: no two values have the same index", text)
        {
            return Some((|| hold(index(self.one(p[0])?)? == index(self.one(p[1])?)?, text))());
        }
        if let Some(p) = fit(
            "{} must have a larger index than {}, which had returned before it was called",
            text,
        ) {
            return Some((|| {
                let (later, earlier) = (self.one(p[0])?, self.one(p[1])?);
                hold(self.before(earlier, later) && index(later)? <= index(earlier)?, text)
            })());
        }
        if let Some(p) = fit("{} must have an index of at {} {}: the log is empty at first{}", text)
        {
            return Some((|| {
                let a = self.one(p[0])?;
                let n: i64 = p[2].parse().map_err(|_| "no number")?;
                let others = self.places(|op| op.method == "append");
                let perhaps: Vec<usize> = others
                    .iter()
                    .copied()
                    .filter(|&b| b != a && self.op(b).call < self.op(a).returned)
                    .collect();
                if p[1] == "least" {
                    let q = fit(", and {} had returned before it was called", p[3])
                        .ok_or("no clause")?;
                    let some = self.list(q[0])?;
                    hold(
                        self.all_before(&some, &[a]) && some.len() as i64 == n && index(a)? < n,
                        text,
                    )
                } else {
                    let some = match fit(", and only {} can have come before it", p[3]) {
                        Some(q) => self.list(q[0])?,
                        None => {
                            hold(p[3] == ", and nothing else was appended before it returned", text)
                                .map(|()| Vec::new())?
                        }
                    };
                    hold(some == perhaps && some.len() as i64 == n && index(a)? > n, text)
                }
            })());
        }
        if let Some(p) = fit(
            "{} cannot show {} without {} before it: {} had returned before {} was called",
            text,
        ) {
            return Some((|| {
                let (a, b) = (self.one(p[3])?, self.one(p[4])?);
                hold(self.before(a, b) && appends(p[2]) == [a] && appends(p[1]) == [b], text)?;
                let list = shown(self.one(p[0])?)?;
                let place = |value: &str| list.iter().position(|v| v.to_string() == value);
                hold(
                    place(p[1]).is_some() && place(p[2]).is_none_or(|at| Some(at) > place(p[1])),
                    text,
                )
            })());
        }
        if self.spec == "log" {
            if let Some(p) = fit("{} cannot show {}: {} was never appended", text) {
                return Some(hold(appends(p[1]).is_empty() && p[1] == p[2], text));
            }
            for verb in ["was", "were"] {
                if let Some(p) = fit(
                    &format!(
                        "{{}} cannot show {{}}: {{}}, which alone appended {{}}, {verb} called only after it had returned"
                    ),
                    text,
                ) {
                    return Some((|| {
                        let (r, all) = (self.one(p[0])?, self.list(p[2])?);
                        hold(all == appends(p[1]) && self.all_before(&[r], &all), text)
                    })());
                }
            }
            if let Some(p) =
                fit("{} cannot show {} {}: only {} can it have been appended by then", text)
            {
                return Some((|| {
                    let r = self.one(p[0])?;
                    let may = appends(p[1])
                        .into_iter()
                        .filter(|&a| self.op(a).call < self.op(r).returned)
                        .count();
                    hold(
                        times(p[3]) == Some(may) && times(p[2]) == Some(count(&shown(r)?, p[1])),
                        text,
                    )?;
                    hold(count(&shown(r)?, p[1]) > may, text)
                })());
            }
            if let Some(p) = fit("{} must show {}: {} had returned before it was called", text) {
                return Some((|| {
                    let (r, all) = (self.one(p[0])?, self.list(p[2])?);
                    let (value, often) = match p[1].split_once(' ') {
                        Some((value, often)) => (value, times(often).ok_or("how often")?),
                        None => (p[1], 1),
                    };
                    hold(
                        self.all_before(&all, &[r])
                            && all.iter().all(|a| appends(value).contains(a)),
                        text,
                    )?;
                    hold(all.len() == often && count(&shown(r)?, value) < often, text)
                })());
            }
        }
        // Texts.
        let found = |i: usize| {
            self.op(i).result.as_ref().and_then(Value::as_text).map(String::from).ok_or("no text")
        };
        let replaced = |from: usize, to: usize| {
            let end = self.op(to).returned;
            self.all().any(|(i, op)| {
                op.method == "put" && i != from && !self.before(i, from) && op.call < end
            })
        };
        for how in ["contain", "begin with"] {
            let pattern = format!(
                "{{}} must {how} {{}}: {{}} had returned before it was called, and nothing can have replaced the text after that"
            );
            if let Some(p) = fit(&pattern, text) {
                return Some((|| {
                    let (g, a) = (self.one(p[0])?, self.one(p[2])?);
                    let piece = self.op(a).args[1].as_text().ok_or("no text")?;
                    hold(
                        self.before(a, g)
                            && !replaced(a, g)
                            && self.op(a).args[1].to_string() == p[1],
                        text,
                    )?;
                    hold((self.op(a).method == "put") == (how == "begin with"), how)?;
                    hold(
                        !(if how == "contain" {
                            found(g)?.contains(piece)
                        } else {
                            found(g)?.starts_with(piece)
                        }),
                        text,
                    )
                })());
            }
        }
        if let Some(p) = fit(
            "{} must begin with the text that {} found, which had returned before it was called: nothing can have replaced the text in between",
            text,
        ) {
            return Some((|| {
                let (g, h) = (self.one(p[0])?, self.one(p[1])?);
                hold(
                    self.before(h, g) && !replaced(h, g) && !found(g)?.starts_with(&found(h)?),
                    text,
                )
            })());
        }
        let p = fit(
            "{} cannot be: its text is not made of texts that were put or appended before it returned",
            text,
        )?;
        Some((|| {
            let g = self.one(p[0])?;
            let end = self.op(g).returned;
            let pieces: Vec<String> = self
                .all()
                .filter(|(_, op)| op.method != "get" && op.call < end)
                .filter_map(|(_, op)| op.args[1].as_text().map(String::from))
                .collect();
            fn is_made(text: &str, pieces: &[String]) -> bool {
                text.is_empty()
                    || pieces.iter().any(|p| {
                        !p.is_empty()
                            && text
                                .strip_prefix(p.as_str())
                                .is_some_and(|rest| is_made(rest, pieces))
                    })
            }
            hold(!is_made(&found(g)?, &pieces), text)
        })())
    }

    /// The properties of snapshots.
    fn snapshot(&self, text: &str) -> Option<Claim> {
        if self.spec != "snapshot" {
            return None;
        }
        let p = |pattern: &str| fit(pattern, text);
        if let Some(p) = p(
            "Appropriateness: {} shows {} but not {}, which had returned before the former was called",
        ) {
            return Some((|| hold(self.before(self.one(p[2])?, self.one(p[1])?), text))());
        }
        if let Some(p) = p("No Inversion: {} shows {} but not {}, and {} shows {} but not {}") {
            return Some((|| {
                let ops: Vec<usize> =
                    p.iter().map(|text| self.one(text)).collect::<Result<_, _>>()?;
                hold(ops[1] == ops[5] && ops[2] == ops[4], text)
            })());
        }
        if let Some(p) = p(
            "Non-Decreasing: {} shows {}, and {} does not, although it was called after the former had returned",
        ) {
            return Some((|| hold(self.before(self.one(p[0])?, self.one(p[2])?), text))());
        }
        p("No order: {} must come before itself").map(|p| self.one(p[0]).map(drop))
    }
}
