//! What is said of a lock that its owner may take again.

use super::claims::{Claim, hold, is_false, said};
use super::scene::{Scene, fit};

impl Scene<'_> {
    /// What takes the lock for this owner, or releases it.
    fn of_owner(&self, owner: &str, takes: bool) -> Vec<usize> {
        self.places(|op| {
            (op.method != "release") == takes && said(&op.args[0]) == owner && !is_false(op)
        })
    }

    fn only(&self, text: &str) -> Result<Vec<usize>, String> {
        match text {
            "nothing" => Ok(Vec::new()),
            some => self.list(some.strip_prefix("only ").ok_or("only")?),
        }
    }

    pub(crate) fn owned(&self, text: &str) -> Option<Claim> {
        if !self.parameters.contains("reentrant=true") {
            return None;
        }
        if let Some(p) = fit(
            "{} cannot {}have released the lock for {}: it is free initially, and {} can have taken it for {} before {} had returned",
            text,
        ) {
            return Some((|| {
                let (these, by) = (self.list(p[0])?, self.only(p[3])?);
                let released = self.of_owner(p[2], false);
                hold(p[2] == p[4] && these.iter().all(|i| released.contains(i)), "its owner")?;
                let end = these.iter().map(|&i| self.op(i).returned).max().unwrap_or(0);
                let mut may = self.of_owner(p[2], true);
                may.retain(|&i| self.op(i).call < end);
                hold(by == may && these.len() > by.len(), "too often")
            })());
        }
        if let Some(p) = fit(
            "{} got the lock while {} held it: {} had returned before it was called, and {} can have released it for {} before it returned",
            text,
        ) {
            return Some((|| {
                let (r, these, by) = (self.one(p[0])?, self.list(p[2])?, self.only(p[3])?);
                hold(p[1] == p[4] && said(&self.op(r).args[0]) != p[1], "another one")?;
                hold(self.op(r).method != "release" && !is_false(self.op(r)), "it took the lock")?;
                let took = self.of_owner(p[1], true);
                hold(these.iter().all(|i| took.contains(i)), "they took it")?;
                hold(self.all_before(&these, &[r]), "they returned before")?;
                let mut may = self.of_owner(p[1], false);
                may.retain(|&i| self.op(i).call < self.op(r).returned);
                hold(by == may && these.len() > by.len(), "it was held")
            })());
        }
        let p = fit(
            "{} and {} would both hold the lock at the return of {}: {} had taken it for {}, {} can have released it for {}, {} had taken it for {}, and {} can have released it for {}",
            text,
        )?;
        Some((|| {
            let end = self.op(self.one(p[2])?).returned;
            hold(p[0] != p[1], "two owners")?;
            for (owner, at) in [(p[0], 3), (p[1], 7)] {
                hold(p[at + 1] == owner && p[at + 3] == owner, "whose")?;
                let (these, by) = (self.list(p[at])?, self.only(p[at + 2])?);
                let took = self.of_owner(owner, true);
                let by_then = |i: &usize| took.contains(i) && self.op(*i).returned <= end;
                hold(these.iter().all(by_then), "they took it")?;
                let mut may = self.of_owner(owner, false);
                may.retain(|&i| self.op(i).call < end);
                hold(by == may && these.len() > by.len(), "it is held")?;
            }
            Ok(())
        })())
    }
}
