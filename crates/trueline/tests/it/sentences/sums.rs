//! What is said of totals that no additions make, and of two totals that do not fit together.

use std::collections::BTreeSet;

use trueline::Value;

use super::claims::{Claim, hold};
use super::scene::{Scene, fit};

impl Scene<'_> {
    pub(crate) fn sums(&self, text: &str) -> Option<Claim> {
        if self.spec != "counter" {
            return None;
        }
        if let Some(p) = fit(
            "{} and {} contradict each other: {}, so {}, but whichever of them came later counts all that the other one counts",
            text,
        ) {
            return Some(self.two_totals(&p));
        }
        let p = fit("{} is impossible: {}, so the total{}", text)?;
        Some(self.no_sum(&p))
    }

    fn adds(&self, i: usize) -> i64 {
        match self.op(i).method {
            "add" | "fetch_add" => self.op(i).args[0].as_int().unwrap_or(0),
            _ => 0,
        }
    }

    /// The total before an operation, as its result tells it.
    fn total_before(&self, i: usize) -> Result<i64, String> {
        let told = self.op(i).result.as_ref().and_then(Value::as_int).ok_or("no total")?;
        Ok(if self.op(i).method == "add" { told - self.adds(i) } else { told })
    }

    /// The total that counting starts from, and the operation after which it was that.
    fn counted_from(&self, text: &str) -> Result<(i64, Option<usize>), String> {
        if let Some(p) = fit("it is {} initially", text) {
            hold(p[0] == self.initial_amount().to_string(), text)?;
            return Ok((self.initial_amount(), None));
        }
        let p = fit("it was {} after {}, which had returned before {} called", text)
            .ok_or(format!("no base: {text}"))?;
        let a = self.one(p[1])?;
        let after = self.total_before(a)? + self.adds(a);
        hold(p[0] == after.to_string(), text)?;
        Ok((after, Some(a)))
    }

    /// What `r` certainly counts since then, and what it may count.
    fn counts(&self, r: usize, from: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        let others = |i: &usize| *i != r && Some(*i) != from && self.adds(*i) != 0;
        let all: Vec<usize> = self.all().map(|(i, _)| i).filter(others).collect();
        let must = |i: usize| self.before(i, r) && from.is_none_or(|a| self.before(a, i));
        let may = |i: usize| !self.before(r, i) && from.is_none_or(|a| !self.before(i, a));
        let free = all.iter().copied().filter(|&i| may(i) && !must(i)).collect();
        (all.into_iter().filter(|&i| must(i)).collect(), free)
    }

    fn no_sum(&self, p: &[&str]) -> Claim {
        let r = self.one(p[0])?;
        let (base, rest) = match p[1].find(" called, and ").filter(|_| p[1].starts_with("it was")) {
            Some(at) => (&p[1][..at + " called".len()], &p[1][at + " called, and ".len()..]),
            None => p[1].split_once(", and ").ok_or("no clauses")?,
        };
        let (base, from) = self.counted_from(base)?;
        hold(from.is_none_or(|a| self.before(a, r)), "it comes before")?;
        let (must, free) = self.counts(r, from);
        let told = |list: &str, all: &[usize], of: &str| -> Claim {
            match fit(&format!("{{}}{of}"), list) {
                Some(n) if n[0].bytes().all(|b| b.is_ascii_digit()) => {
                    hold(n[0] == all.len().to_string(), list)?;
                    hold(all.iter().all(|i| self.told.contains(i)), "they are shown")
                }
                _ => hold(self.list(list)? == all, list),
            }
        };
        let mut clauses: Vec<&str> = rest.split(", and ").collect();
        let last = clauses.pop().ok_or("no clause")?;
        match clauses[..] {
            [] => hold(must.is_empty(), "nothing that it must count")?,
            [one] => match fit("{} had certainly {} it by then", one) {
                Some(q) => told(q[0], &must, " of the others shown")?,
                None => {
                    let q = fit("{} had returned before it was called", one).ok_or("no clause")?;
                    told(q[0], &must, " of the others shown")?;
                }
            },
            _ => return Err("too many clauses".into()),
        }
        let q = ["before it returned", "in between"]
            .iter()
            .find_map(|when| fit(&format!("{{}} can have {{}} it{{}} {when}"), last))
            .ok_or(format!("no clause: {last}"))?;
        hold(q[2] == if must.is_empty() { "" } else { " besides" }, last)?;
        match q[0] {
            "nothing" => hold(free.is_empty(), last)?,
            some => told(some.strip_prefix("only ").ok_or("only")?, &free, " others shown")?,
        }
        let mut sums = BTreeSet::from([base + must.iter().map(|&i| self.adds(i)).sum::<i64>()]);
        for &i in &free {
            sums = sums.iter().flat_map(|&sum| [sum, sum + self.adds(i)]).collect();
        }
        let found = self.total_before(r)?;
        hold(!sums.contains(&found), "no sum is that")?;
        let before = if self.adds(r) == 0 { "" } else { " before it" };
        let tail = p[2].strip_prefix(before).ok_or("before it")?;
        match fit(" cannot have been {}", tail) {
            Some(n) => hold(n[0] == found.to_string(), tail),
            None => {
                let all = tail.strip_prefix(" was ").ok_or("no totals")?.replace(" or ", ", ");
                let sums: Vec<String> = sums.iter().map(i64::to_string).collect();
                hold(all == sums.join(", "), tail)
            }
        }
    }

    fn two_totals(&self, p: &[&str]) -> Claim {
        let (a, b) = (self.one(p[0])?, self.one(p[1])?);
        let (base, from) = self.counted_from(p[2])?;
        let said =
            fit("{} counts only {}, whereas {} counts only {}", p[3]).ok_or("what they count")?;
        let mut sets = Vec::new();
        for (r, who, counted) in [(a, said[0], said[1]), (b, said[2], said[3])] {
            hold(self.one(who)? == r && self.adds(r) == 0, "who counts")?;
            hold(from.is_none_or(|x| self.before(x, r)), "it comes before")?;
            let counted = self.list(counted)?;
            let (must, free) = self.counts(r, from);
            let mut ways = Vec::new();
            for set in 0..1u32 << free.len() {
                let mut way = must.clone();
                way.extend(free.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1).map(|f| f.1));
                way.sort_unstable();
                if base + way.iter().map(|&i| self.adds(i)).sum::<i64>() == self.total_before(r)? {
                    ways.push(way);
                }
            }
            hold(ways == [counted.clone()], "only these make its total")?;
            sets.push(counted);
        }
        let is_part = |a: &[usize], b: &[usize]| a.iter().all(|i| b.contains(i));
        hold(!is_part(&sets[0], &sets[1]) && !is_part(&sets[1], &sets[0]), "neither is a part")
    }
}
