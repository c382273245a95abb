//! What is said of logs, of texts that grow, and of snapshots.

use trueline::Value;

use super::claims::{Claim, hold, said, times};
use super::scene::{Scene, fit};

impl Scene<'_> {
    pub(crate) fn grows(&self, text: &str) -> Option<Claim> {
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
                op.method == "append" && op.args.last().is_some_and(|v| said(v) == value)
            })
        };
        let count = |list: &[Value], value: &str| list.iter().filter(|v| said(v) == value).count();
        if let Some(p) = fit(
            "{} and {} contradict each other: a log only grows, but neither list is a prefix of the other",
            text,
        ) {
            return Some((|| {
                let (a, b) = (shown(self.one(p[0])?)?, shown(self.one(p[1])?)?);
                hold(!a.starts_with(&b) && !b.starts_with(&a), text)
            })());
        }
        if let Some(p) = fit(
            "{} should show at least what {} shows, which had returned before it was called: a log only grows",
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
            fit("{} and {} contradict each other: no two values have the same index", text)
        {
            return Some((|| hold(index(self.one(p[0])?)? == index(self.one(p[1])?)?, text))());
        }
        if let Some(p) = fit(
            "{} should have a larger index than {}, which had returned before it was called",
            text,
        ) {
            return Some((|| {
                let (later, earlier) = (self.one(p[0])?, self.one(p[1])?);
                hold(self.before(earlier, later) && index(later)? <= index(earlier)?, text)
            })());
        }
        if let Some(p) = fit(
            "{} should show {} {}, not {}: it is there {} initially, and {} had returned before it was called",
            text,
        ) {
            return Some((|| {
                let (r, by) = (self.one(p[0])?, self.list(p[5])?);
                let first = self.initially(p[1]);
                hold(times(p[4]) == Some(first) && first > 0, "what is there initially")?;
                hold(by.iter().all(|i| appends(p[1]).contains(i)), "these appended it")?;
                hold(self.all_before(&by, &[r]), "they returned before")?;
                hold(times(p[2]) == Some(first + by.len()), "how often it should")?;
                hold(times(p[3]) == Some(count(&shown(r)?, p[1])), "how often it does")?;
                hold(count(&shown(r)?, p[1]) < first + by.len(), "too seldom")
            })());
        }
        if let Some(p) = fit("{} is impossible: the log begins with {}", text) {
            return Some((|| {
                hold(p[1] == Value::list(self.initial.clone()).to_string(), text)?;
                hold(!shown(self.one(p[0])?)?.starts_with(&self.initial), text)
            })());
        }
        let holds = match self.initial.len() {
            0 => "the log is empty initially".to_string(),
            n => format!("the log holds {n} initially"),
        };
        let there = self.initial.len() as i64;
        if let Some(p) = fit("{} should have an index of at {} {}: {}", text)
            && let Some(tail) = p[3].strip_prefix(&holds)
        {
            let p = [p[0], p[1], p[2], tail];
            return Some((|| {
                let a = self.one(p[0])?;
                let n = p[2].parse::<i64>().map_err(|_| "no number")? - there;
                let index = |i: usize| index(i).map(|index| index - there);
                if p[1] == "least" && tail.is_empty() {
                    return hold(n == 0 && index(a)? < 0, text);
                }
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
                let place = |value: &str| list.iter().position(|v| said(v) == value);
                hold(
                    place(p[1]).is_some() && place(p[2]).is_none_or(|at| Some(at) > place(p[1])),
                    text,
                )
            })());
        }
        if let Some(claim) = self.places_shown(text) {
            return Some(claim);
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
                    hold(self.initially(p[1]) == 0, "it is not there initially")?;
                    hold(count(&shown(r)?, p[1]) > may, text)
                })());
            }
            if let Some(p) =
                fit("{} cannot show {} {}: it is there {} initially and {} by then", text)
            {
                return Some((|| {
                    let r = self.one(p[0])?;
                    let may = appends(p[1])
                        .into_iter()
                        .filter(|&a| self.op(a).call < self.op(r).returned)
                        .count();
                    let said = match may {
                        0 => p[4] == "cannot have been appended",
                        n => fit("can have been appended only {}", p[4])
                            .is_some_and(|often| times(often[0]) == Some(n)),
                    };
                    hold(said, "how often it was appended")?;
                    hold(times(p[3]) == Some(self.initially(p[1])), "what is there initially")?;
                    let often = count(&shown(r)?, p[1]);
                    hold(times(p[2]) == Some(often) && often > may + self.initially(p[1]), text)
                })());
            }
            if let Some(p) = fit("{} should show {}: {} had returned before it was called", text) {
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
        if let Some(p) =
            fit("{} and {} contradict each other: neither is a prefix of the other", text)
        {
            return Some((|| {
                let (a, b) = (found(self.one(p[0])?)?, found(self.one(p[1])?)?);
                hold(!a.starts_with(&b) && !b.starts_with(&a), text)?;
                hold(self.all().all(|(_, op)| op.method != "put"), "it only grows")
            })());
        }
        if let Some(p) = fit("{} shows a value twice that was added only once, by {}", text) {
            return Some((|| {
                let (r, add) = (self.one(p[0])?, self.one(p[1])?);
                let piece = self.op(add).args.last().cloned().ok_or("no value")?;
                let often = match (&self.op(r).result, &piece) {
                    (Some(Value::Text(all)), Value::Text(piece)) => {
                        all.matches(piece.as_str()).count()
                    }
                    (Some(Value::List(all)), piece) => all.iter().filter(|v| *v == piece).count(),
                    _ => 0,
                };
                hold(often > 1, "twice")?;
                hold(appends(&said(&piece)) == [add], "added once")
            })());
        }
        let lengths = [
            "{} shows a text of length {}, but only {} can have been called before it returned, and what these append has length {}",
            "{} shows a text of length {}, but {} had returned before it was called, and what these append has length {}",
        ];
        for (n, pattern) in lengths.into_iter().enumerate() {
            if let Some(p) = fit(pattern, text) {
                return Some((|| {
                    let (g, by) = (self.one(p[0])?, self.list(p[2])?);
                    let length = found(g)?.chars().count();
                    let piece =
                        |i: usize| self.op(i).args[1].as_text().map_or(0, |t| t.chars().count());
                    let sum: usize = by.iter().map(|&i| piece(i)).sum();
                    hold(p[1] == length.to_string() && p[3] == sum.to_string(), "the lengths")?;
                    hold(self.all().all(|(_, op)| op.method != "put"), "it only grows")?;
                    hold(by.iter().all(|&i| self.op(i).method == "append"), "these append")?;
                    if n == 1 {
                        return hold(self.all_before(&by, &[g]) && length < sum, "too short");
                    }
                    let end = self.op(g).returned;
                    let all = self.places(|op| op.method == "append" && op.call < end);
                    let all: Vec<usize> = all.into_iter().filter(|&i| piece(i) > 0).collect();
                    hold(by == all && length > sum, "too long")
                })());
            }
        }
        for how in ["contain", "begin with"] {
            let pattern = format!(
                "{{}} should {how} {{}}: {{}} had returned before it was called, and nothing can have replaced the text in between"
            );
            if let Some(p) = fit(&pattern, text) {
                return Some((|| {
                    let (g, a) = (self.one(p[0])?, self.one(p[2])?);
                    let piece = self.op(a).args[1].as_text().ok_or("no text")?;
                    hold(
                        self.before(a, g) && !replaced(a, g) && said(&self.op(a).args[1]) == p[1],
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
            "{} should begin with the text that {} found, which had returned before it was called: nothing can have replaced the text in between",
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
            "{} is impossible: its text is not made of texts that were put or appended before it returned",
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

    /// At which places a list or a text shows values that went in once.
    fn places_shown(&self, text: &str) -> Option<Claim> {
        let place = |read: usize, add: usize| -> Result<usize, String> {
            let value = self.op(add).args.last().ok_or("no value")?;
            let is_it =
                |&i: &usize| self.op(i).method == "append" && self.op(i).args.last() == Some(value);
            let adds: Vec<usize> = self.all().map(|(i, _)| i).filter(is_it).collect();
            hold(adds == [add] && !self.initial.contains(value), "it went in once")?;
            hold(self.all().all(|(_, op)| op.method != "put"), "it only grows")?;
            let places: Vec<usize> = match (&self.op(read).result, value) {
                (Some(Value::List(all)), _) => {
                    (0..all.len()).filter(|&at| all[at] == *value).collect()
                }
                (Some(Value::Text(all)), Value::Text(piece)) => {
                    all.match_indices(piece.as_str()).map(|(at, _)| at).collect()
                }
                _ => Vec::new(),
            };
            match places[..] {
                [one] => Ok(one),
                _ => Err("it is not shown once".into()),
            }
        };
        if let Some(p) = fit(
            "{} shows the value of {} before that of {}, which had returned before {} was called",
            text,
        ) {
            return Some((|| {
                let (read, later, earlier) = (self.one(p[0])?, self.one(p[1])?, self.one(p[2])?);
                hold(p[3] == p[1] && self.before(earlier, later), "one returned before the other")?;
                hold(place(read, later)? < place(read, earlier)?, "the order in which they stand")
            })());
        }
        if let Some(p) = fit("{} returned an index at which {} shows another value", text) {
            return Some((|| {
                let (add, read) = (self.one(p[0])?, self.one(p[1])?);
                let (op, shown) = (self.op(add), &self.op(read).result);
                let index = op.result.as_ref().and_then(Value::as_int).ok_or("no index")?;
                let all = shown.as_ref().and_then(Value::as_list).ok_or("no list")?;
                let there = usize::try_from(index).ok().and_then(|at| all.get(at));
                hold(there.is_some_and(|value| Some(value) != op.args.last()), text)
            })());
        }
        let p = fit("{} returned another index than that at which {} shows its value", text)?;
        Some((|| {
            let (add, read) = (self.one(p[0])?, self.one(p[1])?);
            let told = self.op(add).result.as_ref().and_then(Value::as_int).ok_or("no index")?;
            hold(place(read, add)? as i64 != told, "another index")
        })())
    }

    /// The properties of snapshots.
    pub(crate) fn snapshot(&self, text: &str) -> Option<Claim> {
        if self.spec != "snapshot" {
            return None;
        }
        let p = |pattern: &str| fit(pattern, text);
        if let Some(p) = p(
            "Appropriateness: {} shows {} but not {}, although {} had returned before {} was called",
        ) {
            return Some((|| {
                hold(p[2] == p[3] && p[1] == p[4], text)?;
                hold(self.before(self.one(p[2])?, self.one(p[1])?), text)
            })());
        }
        if let Some(p) = p(
            "Appropriateness: {} shows a value that {} had overwritten before the scan was called",
        ) {
            return Some((|| {
                let (scan, update) = (self.one(p[0])?, self.one(p[1])?);
                hold(self.before(update, scan), "the time")?;
                let [Value::Int(segment), written] = &self.op(update).args[..] else {
                    return Err("no update".into());
                };
                let shown = self.op(scan).result.as_ref().and_then(Value::as_list);
                let shown = shown.and_then(|all| all.get(*segment as usize));
                hold(shown.is_some_and(|shown| shown != written), text)
            })());
        }
        if let Some(p) = p(
            "No Inversion: {} and {} contradict each other: {} shows {} but not {}, and {} shows {} but not {}",
        ) {
            return Some((|| {
                let ops: Vec<usize> =
                    p.iter().map(|text| self.one(text)).collect::<Result<_, _>>()?;
                hold(ops[0] == ops[2] && ops[1] == ops[5], text)?;
                hold(ops[3] == ops[7] && ops[4] == ops[6], text)
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
