//! What is said of containers.

use trueline::history::{Builder, Call, Position};
use trueline::{Algorithm, Budget, Value, Verdict};

use super::claims::{Claim, INSERTS, REMOVES, hold, is_false, said, times};
use super::scene::{Op, Scene, fit, listed};

impl Scene<'_> {
    pub(crate) fn container(&self, text: &str) -> Option<Claim> {
        const SKIPS: &str = "; a removal may skip values, but not report empty while there is one";
        if let Some(p) = fit(
            "{} cannot {}have found room: the {}, of capacity {}, {} initially, and {} can have {} a value before {} returned",
            text,
        ) {
            return Some((|| {
                let these = self.list(p[0])?;
                hold(self.parameters.contains(&format!("capacity={}", p[3])), "the capacity")?;
                let capacity: usize = p[3].parse().map_err(|_| "no number")?;
                let holds = match self.initial.is_empty() {
                    true => "is empty".to_string(),
                    false => format!("holds {}", Value::list(self.initial.clone())),
                };
                hold(p[4] == holds, "what it holds initially")?;
                let put =
                    |&i: &usize| INSERTS.contains(&self.op(i).method) && !is_false(self.op(i));
                hold(these.iter().all(put), "they put something in")?;
                let end = these.iter().map(|&i| self.op(i).returned).max().unwrap_or(0);
                let took = |op: &Op<'_>| op.result.as_ref().is_none_or(|v| !v.is_nil());
                let out =
                    self.places(|op| REMOVES.contains(&op.method) && took(op) && op.call < end);
                let told = match p[5] {
                    "nothing" => Vec::new(),
                    some => self.list(some.strip_prefix("only ").ok_or("only")?)?,
                };
                hold(told == out, "who can have made room")?;
                hold(self.initial.len() + these.len() > capacity + out.len(), "too many")
            })());
        }
        let relaxed = text.strip_suffix(SKIPS);
        if relaxed.is_some() && !self.spec.starts_with("relaxed") {
            return Some(Err("it is not relaxed".into()));
        }
        let text = relaxed.unwrap_or(text);
        if let Some(p) = fit("{} is impossible: {} was never {}", text)
            && ["enqueued", "pushed", "inserted", "put in"]
                .iter()
                .any(|verb| p[2].starts_with(verb))
        {
            return Some((|| {
                self.one(p[0])?;
                hold(
                    self.inserts(p[1]).is_empty() && self.initially(p[1]) == 0,
                    "it was never put in",
                )?;
                match fit("{}, and the {} holds {} initially", p[2]) {
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
                "{{}} is impossible: {{}}, which alone {{}} {{}}, {verb} called only after it had returned"
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
        if let Some(p) = fit("{} was {} {}, by {}, although {}", text) {
            return Some(self.too_early(&p));
        }
        if let Some(p) = fit(
            "From the first of their pushes to the last of their pops at least one of {} was in the stack, so one of them was pushed first and popped last, but none can have been: {}",
            text,
        ) {
            return Some(self.bottomless(p[0], p[1]));
        }
        if let Some(p) = fit(
            "{} found the {} empty, but at every moment from its call to its return at least one of {} was in it: {}",
            text,
        ) {
            return Some((|| {
                let r = self.one(p[0])?;
                self.covered(self.op(r).call, self.op(r).returned, p[2], p[3])
            })());
        }
        for size in ["larger", "smaller"] {
            let pattern = format!(
                "{{}} is impossible: at every moment from {{}} to its return at least one of the {size} {{}} was in the {{}}: {{}}"
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
            "{} found the {} empty, but {} were in it: {}",
            "{} found the {} empty, but {} was in it: {}",
            "{} is impossible: the {}, of capacity {}, was full with {}: {}",
            "{} is impossible: the {} {} were in the {}: {}",
            "{} is impossible: the {} {} was in the {}: {}",
            "{} {} {}: {}",
        ];
        for (n, pattern) in patterns.iter().enumerate() {
            let Some(p) = fit(pattern, text) else { continue };
            let last = p.len() - 1;
            let order = [
                "{} overtook {}: {}",
                "{} took {} from under {}: {}",
                "{} found {} under {}: {}",
                "{} returned {} although {} was ahead of it: {}",
                "{} returned {} although {} were ahead of it: {}",
                "{} returned {} although {} was nearer to the front: {}",
                "{} returned {} although {} were nearer to the front: {}",
                "{} returned {} although {} was nearer to the back: {}",
                "{} returned {} although {} were nearer to the back: {}",
            ];
            let order = order.iter().find_map(|pattern| fit(pattern, text));
            let (who, inside, clauses) = match (n, &order) {
                (5, None) => continue,
                (5, Some(q)) => (q[0], q[q.len() - 2], q[q.len() - 1]),
                (3 | 4, _) => (p[0], p[last - 2], p[last]),
                _ => (p[0], p[last - 1], p[last]),
            };
            return Some((|| {
                let r = self.one(who)?;
                if let Some([_, value, _, _]) = order.as_deref().filter(|_| n == 5) {
                    let found = self.op(r).result.as_ref().map(said);
                    hold(found.as_deref() == Some(*value), "what it returned")?;
                }
                if n == 2 {
                    hold(self.parameters.contains(&format!("capacity={}", p[2])), "the capacity")?;
                }
                if n == 3 || n == 4 {
                    let value = self.op(r).result.clone().ok_or("no value")?;
                    self.compares(&value, inside, p[1])?;
                }
                let clauses = match clauses.split_once("; a semiqueue with k=") {
                    Some((clauses, k)) => {
                        let k = fit("{} may return only one of its {} oldest values", k)
                            .ok_or("no k")?;
                        hold(self.parameters == format!("k={}", k[0]) && k[0] == k[1], "k")?;
                        clauses
                    }
                    None => clauses,
                };
                let clauses = match clauses.split_once("; with out-of-order=") {
                    Some((clauses, k)) => {
                        let k = fit("{} a removal may skip at most {}", k).ok_or("no bound")?;
                        let parameter = format!("out-of-order={}", k[0]);
                        hold(self.parameters.split(',').any(|p| p == parameter), "the bound")?;
                        let most: usize = k[0].parse().map_err(|_| "no number")?;
                        let values = if most == 1 { "value" } else { "values" };
                        hold(k[1] == format!("{most} {values}"), "the bound")?;
                        let taken = clauses.split_once("can have taken ");
                        let takers = taken.and_then(|(_, n)| n.split(' ').next());
                        let takers: usize = match takers {
                            None => 0,
                            Some("one") => 1,
                            Some(n) => n.parse().map_err(|_| "no number")?,
                        };
                        hold(listed(inside).len() > most + takers, "more than that")?;
                        clauses
                    }
                    None => {
                        let is_told = n < 3 || !self.parameters.contains("out-of-order");
                        hold(is_told, "the bound is told")?;
                        clauses
                    }
                };
                for x in listed(inside) {
                    // It is inside from the insertion that is named, and nothing took it out
                    // before. Where nothing is said of an order, other insertions of the value do
                    // not matter.
                    let count = self.inserts(x).len() + self.initially(x);
                    hold(count == 1 || (n < 2 && count > 1), "it went in once")?;
                    hold(self.all_before(&[r], &self.removes(x)), "it left later")?;
                }
                for clause in clauses.split(", and ") {
                    self.clause(r, clause)?;
                }
                Ok(())
            })());
        }
        let p = fit("{} found the {} full, but its capacity is {}, and {}", text)?;
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
            if p[3] == "nothing can have been in it" {
                return hold(
                    called.iter().all(|&i| gone(i) > 0) && capacity > 0,
                    "nothing was inside",
                );
            }
            let parts = fit("at most {} can have been in it: what {} put in", p[3])
                .ok_or("what was inside")?;
            let inside = self.list(parts[1])?;
            hold(
                parts[0].split(' ').next() == Some(inside.len().to_string().as_str())
                    && inside.len() < capacity,
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
                let j = fit("{} returns a value {} at most", j).ok_or("no j")?;
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
            if let Some(s) = fit("never {}", source) {
                hold(self.inserts(value).is_empty() && !s[0].is_empty(), source)?;
            } else if let Some(s) = fit("{} only {}, by {}", source) {
                let by = self.list(s[2])?;
                hold(by == self.inserts(value) && times(s[1]) == Some(by.len()), source)?;
                went_in += by.len();
            } else {
                let s = fit("in the {} only {} initially", source)
                    .ok_or(format!("no source: {source}"))?;
                hold(times(s[1]) == Some(self.initially(value)), source)?;
                went_in += self.initially(value);
            }
        }
        hold(went_in == self.inserts(value).len() + self.initially(value), "all sources")?;
        hold(out.len() > each * went_in, "too often")
    }

    /// What came out by a return, against all that was there at first or was called before that
    /// return.
    fn too_early(&self, p: &[&str]) -> Claim {
        let value = p[0];
        let (sources, each) = match p[4].split_once(": a stuttering queue with j=") {
            Some((sources, j)) => {
                let j = fit("{} returns a value {} at most", j).ok_or("no j")?;
                hold(self.parameters == format!("j={}", j[0]), "j")?;
                hold(times(j[1]).map(|n| n.to_string()).as_deref() == Some(j[0]), "how often")?;
                (sources, j[0].parse::<usize>().map_err(|_| "no j")?)
            }
            None => (p[4], 1),
        };
        let out = self.list(p[3])?;
        hold(times(p[2]) == Some(out.len()), "how often")?;
        hold(out.iter().all(|i| self.removes(value).contains(i)), "these took it out")?;
        let end = out.iter().map(|&i| self.op(i).returned).max().unwrap_or(0);
        let all = if out.len() == 2 { "both" } else { "all of them" };
        let inserts = self.inserts(value).into_iter().filter(|&i| self.op(i).call < end);
        let inserts: Vec<usize> = inserts.collect();
        let mut initially = 0;
        for clause in sources.split(", and ") {
            if let Some(q) = fit("it is there only {} initially", clause) {
                initially = times(q[0]).ok_or("how often")?;
                continue;
            }
            let q = fit("{} can have {} it before {} had returned", clause)
                .ok_or(format!("no source: {clause}"))?;
            hold(q[2] == all, clause)?;
            match q[0] {
                "nothing" => hold(inserts.is_empty(), clause)?,
                some => {
                    hold(self.list(some.strip_prefix("only ").ok_or("only")?)? == inserts, clause)?
                }
            }
        }
        hold(initially == self.initially(value), "what is there at first")?;
        hold(out.len() > each * (inserts.len() + initially), "too often")
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

    /// A value that was seen after all of it had come out.
    pub(crate) fn gone(&self, text: &str) -> Option<Claim> {
        let p = fit("{} found {}, which was gone: {}", text)?;
        Some((|| {
            let (r, value) = (self.one(p[0])?, p[1]);
            hold(self.op(r).result.as_ref().is_some_and(|v| said(v) == value), "what it found")?;
            let mut clauses = p[2].split(", and ");
            let out = clauses.next().and_then(|c| fit("{} had returned before it was called", c));
            let out = self.list(out.ok_or("what came out")?[0])?;
            hold(self.all_before(&out, &[r]), "they returned before")?;
            hold(out.iter().all(|i| self.removes(value).contains(i)), "they took it out")?;
            let end = self.op(r).returned;
            let inserts = self.inserts(value).into_iter().filter(|&i| self.op(i).call < end);
            let inserts: Vec<usize> = inserts.collect();
            let mut initially = 0;
            for clause in clauses {
                if let Some(q) = fit("it is there {} initially", clause) {
                    initially = times(q[0]).ok_or("how often")?;
                } else if let Some(q) = fit("only {} can have {} it before it returned", clause) {
                    hold(self.list(q[0])? == inserts && !q[1].is_empty(), clause)?;
                } else {
                    fit("it was never {} before", clause).ok_or(format!("no clause: {clause}"))?;
                    hold(inserts.is_empty(), clause)?;
                }
            }
            hold(initially == self.initially(value), "what is there at first")?;
            hold(out.len() == initially + inserts.len(), "as many came out")
        })())
    }

    fn clause(&self, r: usize, clause: &str) -> Claim {
        // Of a value that went in more than once.
        let own = self.op(r).result.as_ref().map(said).unwrap_or_default();
        let inserts = || {
            let end = self.op(r).returned;
            let all = self.inserts(&own).into_iter().filter(|&i| self.op(i).call < end);
            all.collect::<Vec<usize>>()
        };
        if let Some(p) = fit("only {} can have {} {} before it returned", clause) {
            hold(self.initially(&own) == 0 && p[2] == own, clause)?;
            return hold(self.list(p[0])? == inserts() && !p[1].is_empty(), clause);
        }
        for verb in ["was", "were"] {
            let pattern = format!(
                "{{}} had returned before {{}}, which alone can have {{}} {{}} before it returned, {verb} called"
            );
            if let Some(p) = fit(&pattern, clause) {
                let (x, all) = (self.one(p[0])?, self.list(p[1])?);
                hold(all == inserts() && self.initially(&own) == 0 && p[3] == own, clause)?;
                return hold(self.all_before(&[x], &all) && !p[2].is_empty(), clause);
            }
        }
        if let Some(p) = fit("only {}, of unknown outcome, can have taken {} of them", clause) {
            let open = self.open_removals(self.op(r).returned);
            let count = if open.len() == 1 { "one".into() } else { open.len().to_string() };
            return hold(self.list(p[0])? == open && p[1] == count, clause);
        }
        if let Some(p) = fit("{} ran between the return of {} and the call of {}", clause) {
            let all = self.list(p[0])?;
            return hold(
                self.all_before(&[self.one(p[1])?], &all)
                    && self.all_before(&all, &[self.one(p[2])?]),
                clause,
            );
        }
        for verb in ["was", "were"] {
            if let Some(p) =
                fit(&format!("{{}} {verb} called only after {{}} had returned"), clause)
            {
                let whom = if p[1] == "it" { r } else { self.one(p[1])? };
                return hold(self.all_before(&[whom], &self.list(p[0])?), clause);
            }
            // Of a stream, later removals are not known. A value may have been there before: of two
            // that are equal it is the earlier one that has left.
            if let Some(p) = fit(&format!("{{}} {verb} not {{}} since"), clause) {
                let gone = |v: &&str| {
                    let all = self.inserts(v);
                    let older = all.iter().filter(|i| !self.told.contains(i)).count();
                    let out = self.removes(v).iter().filter(|&&d| self.before(d, r)).count();
                    let is_initial = all.len() == older;
                    out > older + if is_initial { 0 } else { self.initially(v) }
                };
                return hold(!listed(p[0]).iter().any(gone), clause);
            }
            if let Some(p) = fit(&format!("{{}} {verb} never {{}}"), clause) {
                return hold(listed(p[0]).iter().all(|v| self.removes(v).is_empty()), clause);
            }
        }
        for verb in ["is", "are"] {
            if let Some(p) = fit(
                &format!(
                    "{{}} {verb} there initially and {{}} had returned before {{}} was called"
                ),
                clause,
            ) {
                hold(listed(p[0]).iter().all(|v| self.initially(v) == 1), clause)?;
                return hold(self.all_before(&self.list(p[1])?, &[self.one(p[2])?]), clause);
            }
            if let Some(p) = fit(&format!("{{}} {verb} there initially"), clause) {
                return hold(listed(p[0]).iter().all(|v| self.initially(v) == 1), clause);
            }
        }
        if let Some(p) = fit("the {} holds {} initially", clause) {
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
}

/// Without what took the values out, the rest of what is shown could have filled it: a reader would
/// ask why it was not full.
#[test]
fn a_container_that_was_not_full_is_shown_with_what_had_left_it() {
    let cases = [
        ("bounded-queue:capacity=2", "enq", "deq"),
        ("bounded-priority-queue:capacity=2", "insert", "poll"),
    ];
    for (name, insert, remove) in cases {
        let spec = trueline::spec::named(name).unwrap();
        for values in [[7, 7], [5, 3]] {
            let item = |n: usize| Value::Int(values[n]);
            let mut builder = Builder::new();
            let part = builder.part(Default::default());
            let process = builder.process(&Value::Int(0));
            let calls = [
                (insert, Some(item(0)), Value::Bool(true)),
                (insert, Some(item(1)), Value::Bool(true)),
                (remove, None, item(0)),
                (remove, None, item(1)),
                (insert, Some(Value::Int(9)), Value::Bool(false)),
            ];
            for (line, (method, item, result)) in (1..).zip(calls) {
                let method = builder.method(method);
                let at = Position { line, column: 1 };
                let args: Vec<Value> = item.into_iter().collect();
                builder.call(process, part, Call { method, args: args.into() }, at).unwrap();
                builder.returns(process, result, at).unwrap();
            }
            let history = builder.finish();
            let outcome = spec.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
            let Verdict::Violation(found) = outcome.verdict else { panic!("{name}: no violation") };
            assert!(found.sentence.ends_with("nothing can have been in it"), "{}", found.sentence);
            assert_eq!(found.operations, [0, 1, 2, 3, 4], "{name}");
        }
    }
}
