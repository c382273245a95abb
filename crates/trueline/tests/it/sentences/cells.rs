//! What is said of registers, keys, locks and segments.

use trueline::Value;

use super::claims::{Claim, hold, is_false, said, times};
use super::scene::{Op, Scene, fit, operations};

impl Scene<'_> {
    /// Whether the operation may have done this, where `r` is who suffers from it.
    fn may(&self, r: usize, done: &str, op: &Op<'_>) -> Result<bool, String> {
        let left = |op: &Op<'_>| match (op.method, op.args.as_slice()) {
            ("write", [v]) | ("put" | "swap", [_, v]) | ("rmw", [_, v]) => Some(v.clone()),
            ("cas", [_, v]) if !is_false(op) => Some(v.clone()),
            ("remove", [_]) if self.spec == "map" && !is_false(op) => Some(Value::Nil),
            _ => None,
        };
        // What an operation of unknown outcome alone can have done.
        let done = done.strip_prefix("can have ").unwrap_or(done);
        let key = |op: &Op<'_>, k: &str| op.args.first().is_some_and(|v| said(v) == k);
        // Of a map or a store, only operations of one key are looked at.
        let of_key = done.starts_with("written ") || done.starts_with("wrote ");
        let done = done.strip_suffix(" under the key").filter(|_| of_key).unwrap_or(done);
        if let Some(p) = fit("written {} there", done).or(fit("wrote {} there", done)) {
            let segment = self.segment_of(r)?;
            return Ok(op.method == "update" && key(op, &segment) && said(&op.args[1]) == p[0]);
        }
        if let Some(p) = fit("written anything but {}", done) {
            return Ok(left(op).is_some_and(|v| said(&v) != p[0]));
        }
        if let Some(p) = fit("written {}", done).or(fit("wrote {}", done)) {
            return Ok(left(op).is_some_and(|v| said(&v) == p[0]));
        }
        Ok(match done {
            "taken the lock" | "took the lock" => op.method.ends_with("acquire") && !is_false(op),
            "released the lock" => op.method == "release" && !is_false(op),
            "removed the key" => left(op) == Some(Value::Nil),
            "put anything under the key" => left(op).is_some_and(|v| !v.is_nil()),
            _ if self.spec == "owner-mutex" => {
                let p = fit("taken the lock for {}", done).or(fit("took the lock for {}", done));
                let p = p.ok_or(format!("nothing that is done: {done}"))?;
                op.method.ends_with("acquire") && !is_false(op) && key(op, p[0])
            }
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

    /// A value that was replaced more often than it was there.
    pub(crate) fn replaced(&self, text: &str) -> Option<Claim> {
        if !["register", "cas-register", "rmw", "set", "owner-mutex", "map"].contains(&self.spec) {
            return None;
        }
        let p = ["both", "all"].iter().find_map(|all| {
            let when = if *all == "both" { "both" } else { "all of them" };
            let pattern = format!(
                "{{}} cannot {all} have {{}}: {{}}, and {{}} can have {{}} before {when} had returned"
            );
            fit(&pattern, text)
        })?;
        Some((|| {
            let these = self.list(p[0])?;
            let end = these.iter().map(|&i| self.op(i).returned).max().unwrap_or(0);
            let mut by = Vec::new();
            for (i, op) in self.all() {
                let stays = op.method == "cas" && op.args[0] == op.args[1];
                let stays = stays || (op.method == "rmw" && op.args[0] == op.args[1]);
                // One that keeps the value has left it, too, unless it is said that it replaced
                // another.
                let counts = !stays || p[4].strip_suffix(" in place of another value").is_none();
                let done = p[4].strip_suffix(" in place of another value").unwrap_or(p[4]);
                if self.may(i, done, op)? && op.call < end && counts {
                    by.push(i);
                }
            }
            let told = match p[3] {
                "nothing" => Vec::new(),
                some => self.list(some.strip_prefix("only ").ok_or("only")?)?,
            };
            hold(told == by, "who can have left it")?;
            let initially = if self.spec == "owner-mutex" {
                hold(p[2] == "the lock is free initially", p[2])?;
                let takes = p[1] == "taken the lock";
                hold(takes || p[1] == "released the lock", p[1])?;
                let did = |&i: &usize| self.may(i, p[1], self.op(i)) == Ok(true);
                hold(these.iter().all(did), "what they did")?;
                let owner = |i: usize| self.op(i).args[0].clone();
                hold(takes || these.iter().all(|&i| owner(i) == owner(these[0])), "one owner")?;
                usize::from(takes)
            } else if self.spec == "set" {
                let (name, is) = match fit("{} is not there initially", p[2]) {
                    Some(q) => (q[0], 0),
                    None => (fit("{} is there initially", p[2]).ok_or("initially")?[0], 1),
                };
                hold(self.initially(name) == is, p[2])?;
                let removes = p[1] == format!("removed {name}");
                hold(removes || p[1] == format!("added {name}"), p[1])?;
                let method = if removes { "remove" } else { "add" };
                let fits = |&i: &usize| {
                    let op = self.op(i);
                    op.method == method && said(&op.args[0]) == name && !is_false(op)
                };
                hold(these.iter().all(fits), "what they did")?;
                if removes { is } else { 1 - is }
            } else if self.spec == "map" {
                hold(p[1] == "removed the key" && p[2] == "it is absent initially", text)?;
                let removed = |&i: &usize| {
                    let op = self.op(i);
                    op.method == "remove" && op.result == Some(Value::Bool(true))
                };
                hold(these.iter().all(removed), "what they did")?;
                0
            } else {
                let value = p[1].strip_prefix("replaced ").ok_or("replaced")?;
                let found = |&i: &usize| {
                    let op = self.op(i);
                    ["cas", "rmw"].contains(&op.method)
                        && said(&op.args[0]) == value
                        && op.args[0] != op.args[1]
                        && !is_false(op)
                };
                hold(these.iter().all(found), "what they found")?;
                let is = p[2] == format!("{value} is the initial value");
                hold(is || p[2] == format!("{value} is not the initial value"), p[2])?;
                hold(is == (self.at_first() == value), p[2])?;
                usize::from(is)
            };
            hold(these.len() > by.len() + initially, "too often")
        })())
    }

    pub(crate) fn cell(&self, text: &str) -> Option<Claim> {
        if let Some(p) = fit("Appropriateness: {} shows a value that nobody wrote", text) {
            return Some((|| {
                let shown = self.op(self.one(p[0])?).result.as_ref().and_then(Value::as_list);
                let is_written = |(segment, value): (usize, &Value)| {
                    let own = [Value::Int(segment as i64), value.clone()];
                    *value == Value::Int(0) || self.all().any(|(_, op)| op.args == own)
                };
                hold(!shown.unwrap_or_default().iter().enumerate().all(is_written), text)
            })());
        }
        if let Some(p) = fit("{} shows {} twice, but a set holds a value once", text) {
            return Some((|| {
                let shown = self.op(self.one(p[0])?).result.as_ref().and_then(Value::as_list);
                let often = shown.unwrap_or_default().iter().filter(|v| said(v) == p[1]).count();
                hold(self.spec == "set" && often > 1, text)
            })());
        }
        if let Some(p) = fit(
            "{} is impossible: {}, which alone can have {}, came before {}, which had returned before it was called: {} found {}, which {} alone can have {}, and {} had returned before it was called",
            text,
        ) {
            return Some((|| {
                let (r, w, x, y) =
                    (self.one(p[0])?, self.one(p[1])?, self.one(p[3])?, self.one(p[4])?);
                hold(self.one(p[6])? == x && self.one(p[8])? == w && w != x, "who wrote")?;
                hold(self.before(x, r) && self.before(w, y), "the times")?;
                for (done, writer) in [(p[2], w), (p[7], x)] {
                    let mut all = Vec::new();
                    for (n, op) in self.all() {
                        if self.may(n, done, op)? {
                            all.push(n);
                        }
                    }
                    hold(all == [writer], "written once")?;
                    let value = done.strip_suffix(" under the key").unwrap_or(done);
                    hold(value != format!("written {}", self.at_first()), "not initially")?;
                }
                let finds = |n: usize, done: &str| {
                    let op = self.op(n);
                    let needs = match op.method {
                        "cas" | "rmw" if !is_false(op) => op.args.first().cloned(),
                        _ => op.result.clone(),
                    };
                    let value = done.strip_suffix(" under the key").unwrap_or(done);
                    needs.is_some_and(|v| value == format!("written {}", said(&v)))
                };
                hold(finds(r, p[2]) && finds(y, p[7]), "what they found")?;
                let value = p[7].strip_suffix(" under the key").unwrap_or(p[7]);
                hold(value == format!("written {}", p[5]), "what it found")
            })());
        }
        if let Some(p) = fit(
            "{} is impossible: {}, which found {} and replaced it, had returned before it was called, and nothing can have {} again: only {} can have done so, which came before {}",
            text,
        ) {
            return Some((|| {
                let (r, x, w) = (self.one(p[0])?, self.one(p[1])?, self.one(p[4])?);
                hold(self.one(p[5])? == x && self.before(x, r) && w != x && w != r, "the times")?;
                let found = |n: usize| {
                    let op = self.op(n);
                    match op.method {
                        "cas" | "rmw" if !is_false(op) => op.args.first().map(said),
                        _ => op.result.as_ref().map(said),
                    }
                };
                hold(found(r).as_deref() == Some(p[2]), "what it needs")?;
                hold(found(x).as_deref() == Some(p[2]), "what the other found")?;
                let replaces = ["cas", "rmw"].contains(&self.op(x).method)
                    && self.op(x).args[0] != self.op(x).args[1];
                hold(replaces && p[2] != self.at_first(), "it replaced it")?;
                hold(p[3] == format!("written {}", p[2]), "what is written")?;
                let mut writers = Vec::new();
                for (n, op) in self.all() {
                    if self.may(n, p[3], op)? {
                        writers.push(n);
                    }
                }
                hold(writers == [w], "written once")
            })());
        }
        let of_key = ["map", "kv"].contains(&self.spec);
        let pattern = format!(
            "{{}} and {{}} cannot each have come before the other: each was written only once{}, but {{}} returned before {{}} was called, and {{}} returned before {{}} was called",
            if of_key { " under the key" } else { "" }
        );
        if let Some(p) = fit(&pattern, text) {
            return Some((|| {
                let ops: Vec<usize> =
                    p[2..].iter().map(|text| self.one(text)).collect::<Result<_, _>>()?;
                hold(self.before(ops[0], ops[1]) && self.before(ops[2], ops[3]), "the times")?;
                for value in [p[0], p[1]] {
                    let done = format!("written {value}");
                    let writers = self
                        .all()
                        .filter_map(|(n, op)| self.may(n, &done, op).ok()?.then_some(n))
                        .count();
                    hold(writers == 1, "written once")?;
                }
                let about = |n: usize, v: &str| {
                    let op = self.op(n);
                    op.result.as_ref().is_some_and(|r| said(r) == v)
                        || op.args.last().is_some_and(|a| said(a) == v)
                };
                hold(
                    about(ops[0], p[0])
                        && about(ops[3], p[0])
                        && about(ops[1], p[1])
                        && about(ops[2], p[1]),
                    "their values",
                )
            })());
        }
        if let Some(p) = fit(
            "{} need {} to be written {}: {} came before the first of them and {} in between, but {} can have written {} in that time",
            text,
        ) {
            return Some((|| {
                let (found, first, others) = (self.list(p[0])?, self.one(p[3])?, self.list(p[4])?);
                let written = p[6].strip_suffix(" under the key").unwrap_or(p[6]);
                hold(times(p[2]) == Some(found.len()) && p[1] == written, "how often")?;
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
            "{} is impossible",
            "{} should have found {}",
            "{} cannot have found {}",
            "{} cannot show {} in segment {}",
            "{} cannot show {}",
            "{} should show {}",
            "{} got the lock while it was held",
            "{} released the lock while it was free",
            "{} released the lock while {} did not hold it",
            "{} should have found the lock held by {}",
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
            let patterns = ["segment {} holds {} initially", "the {} holds {} initially"];
            if let Some(p) = patterns.iter().find_map(|pattern| fit(pattern, text)) {
                return hold(p[1] == self.at_first(), text);
            }
            let only =
                ["{} is only the initial value", "{} is only the initial value of segment {}"];
            if let Some(p) = only.iter().find_map(|pattern| fit(pattern, text)) {
                return hold(p[0] == self.at_first(), text);
            }
            if let Some(p) = fit("{} can only be what the register held initially", text) {
                return hold(self.parameters == "init=?" && !p[0].is_empty(), text);
            }
            let known = ["", "the lock is free initially", "the key is absent only initially"];
            hold(
                known.contains(&text)
                    || fit("{} is there initially", text)
                        .is_some_and(|p| self.initially(p[0]) == 1),
                text,
            )
        };
        if let Some(p) =
            fit("{} had returned before it was called, and nothing can have {} in between{}", rest)
            && fit("{} should {}", subject).is_none_or(|_| !rest.contains("replaced"))
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
            _ if self.spec == "owner-mutex" => {
                format!("taken the lock for {}", fit("{} never took the lock", rest)?[0])
            }
            "the key was never removed" => "removed the key".to_string(),
            _ => {
                let p = fit("{} was never {}", rest)?;
                match p[1] {
                    "written" | "written under the key" => format!("written {}", p[0]),
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
            "kv" => said(&Value::text("")),
            _ => "nil".into(),
        }
    }
}
