//! What is said of amounts.

use trueline::Value;

use super::claims::{Claim, hold, is_false, said, times};
use super::scene::{Op, Scene, fit, operations};

impl Scene<'_> {
    /// The number that an object starts with.
    pub(crate) fn initial_amount(&self) -> i64 {
        self.parameters.strip_prefix("init=").and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// The same, or the multiplicity of the value in question.
    fn initial_level(&self) -> i64 {
        match self.spec {
            "multiset" => self.initially(&said(&self.op(self.told[0]).args[0])) as i64,
            _ => self.initial_amount(),
        }
    }

    fn change(&self, op: &Op<'_>) -> i64 {
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
            "nobody" => Ok(0),
            text if times(text).is_some() => Ok(times(text).unwrap_or(0) as i64),
            text => text.parse::<i64>().map_err(|_| format!("no number: {text}")),
        };
        let first = self.initial_level();
        let at_first = [
            "{} permit is free initially",
            "{} permits are free initially",
            "{} is present initially",
            "{} are present initially",
            "it is there {} initially",
            "it is {} initially",
        ];
        let nothing = [
            "",
            "it is not there initially",
            "it is free initially",
            "nobody is present initially",
        ];
        if nothing.contains(&text) {
            hold(first == 0, text)?;
            return Ok((0, None));
        }
        for pattern in at_first {
            if let Some(p) = fit(pattern, text) {
                hold(number(p[0])? == first, text)?;
                return Ok((first, None));
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
            "it was there {}",
            "it was {}",
        ];
        let n = patterns
            .iter()
            .find_map(|pattern| fit(pattern, p[0]))
            .ok_or(format!("no amount: {}", p[0]))?;
        let (n, is_least) = match n[0].strip_prefix("at least ") {
            Some(n) => (number(n)?, true),
            None => (number(n[0])?, false),
        };
        let op = self.op(a);
        if is_least {
            let is_there = matches!(
                (self.spec, op.method, &op.result),
                ("snzi", "query", Some(Value::Bool(true)))
                    | ("multiset", "contains", Some(Value::Bool(true)))
            );
            return hold(n == 1 && is_there, "the least after an operation").map(|()| (1, Some(a)));
        }
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

    pub(crate) fn level(&self, text: &str) -> Option<Claim> {
        if let Some(p) = fit(
            "{} and {} contradict each other: both added to a total of {}, and nothing ever subtracts from it",
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
        if let Some(p) = fit("{} is impossible: a permit can always be released", text) {
            return Some((|| {
                let op = self.op(self.one(p[0])?);
                hold(self.spec == "semaphore" && op.method == "release" && is_false(op), text)
            })());
        }
        let (head, rest) = text.split_once(": ")?;
        let r = fit("{} is impossible", head).and_then(|p| operations(p[0]));
        if let Some(&[r]) = r.as_deref() {
            let (bound, rest) = rest.split_once(": ")?;
            let starts = [
                "no permit was free",
                "nobody was present",
                "somebody was present",
                "at most ",
                "at least ",
                "the value was ",
                "the lock was ",
                "the total was ",
            ];
            if !starts.iter().any(|start| bound.starts_with(start)) {
                return None;
            }
            return Some(self.bound(r, bound, rest));
        }
        let (who, done) = head.split_once(" cannot ")?;
        let (_, done) = done.split_once("have ")?;
        if done.starts_with("found ") || done.starts_with("come before ") {
            return None;
        }
        Some((|| {
            let all = match fit("The {} shown", who) {
                Some(_) => self
                    .told
                    .iter()
                    .copied()
                    .filter(|&i| self.change(self.op(i)) != 0)
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
                some => match fit("only the {} others shown", some) {
                    Some(n) => {
                        hold(n[0] == against.len().to_string(), "how many others")?;
                        hold(against.iter().all(|i| self.told.contains(i)), "they are shown")?;
                        against.clone()
                    }
                    None => self.list(some.strip_prefix("only ").unwrap_or(some))?,
                },
            };
            hold(told == against, "who can have undone it")?;
            let sum: i64 = all.iter().chain(&against).map(|&i| self.change(self.op(i))).sum();
            hold(if up { n + sum > 1 } else { n + sum < 0 }, "too many")
        })())
    }

    fn bound(&self, r: usize, bound: &str, rest: &str) -> Claim {
        // A base of zero is not mentioned.
        let has_none = rest.starts_with('<')
            || rest.contains(" of the others shown had certainly ")
                && rest.starts_with(|c: char| c.is_ascii_digit())
                && !rest.contains(" initially")
                && !rest.contains(", which had returned before ");
        let rest = &if has_none { format!(", and {rest}") } else { rest.to_string() };
        let at = rest
            .find(", and only ")
            .or(rest.find(", and nothing "))
            .into_iter()
            .chain(rest.find(", and <"))
            .chain(
                rest.find(" of the others shown had certainly ")
                    .and_then(|at| rest[..at].rfind(", and ")),
            )
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
            if anchor.is_none()
                && let Some(p) = fit("{} had returned before it was called", clause)
            {
                for i in self.list(p[0])? {
                    hold(self.before(i, r) && self.change(self.op(i)) != 0, clause)?;
                    total += self.change(self.op(i));
                }
                continue;
            }
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
        let words = ["no permit was", "nobody was", "the value was not", "the lock was free"];
        let most = bound.contains("at most") || words.iter().any(|word| bound.contains(word));
        let shown: Option<i64> = bound.split(' ').find_map(|word| match word {
            "once" | "somebody" => Some(1),
            "twice" => Some(2),
            word => word.parse().ok(),
        });
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
}
