//! The theories as propagation rules: what one pair of the order implies for others.
//!
//! Every rule comes with its contrapositives. `a` is an addition, `r` its removal (real or
//! virtual), `e` a removal that found nothing, `w` a write, `l` an acquire and `u` its release; `<`
//! is known, `=>` is added. `real` says that the removal certainly happens.
//!
//! - empty: `a < e => r < e`; `e < r => e < a`
//! - queue, one removal of the two real: `a1 < a2 => r1 < r2`; `r1 < r2 => a1 < a2`
//! - stack, `r1` real: never `a1 < a2 < r1 < r2`; any two of the links force the third away
//! - priority queue, `r1` real and value 1 leaving after value 2: `a2 < r1 => r2 < r1`;
//!   `r1 < r2 => r1 < a2`
//! - register, `r` a read of `w`: `w1 < r => w1 < w`; `w < w1 => r < w1`
//! - lock: `l1 < l2 => u1 < l2`; `l2 < u1 => l2 < l1`
//! - semaphore of n: of the acquires, at most n - 1 others hold a permit when one takes it; no more
//!   than n acquires have returned beyond the releases that were called (of a lock: one)
//!
//! A virtual removal comes after everything that has returned, unless it may turn out to be a
//! pending removal.

use super::Why;
use super::matched::{Matched, NONE, Role};
use super::order::members;
use crate::theory::Object;

const TOO_MANY: Why = Why::Broken("more permits are held at once than there are");

impl Matched {
    /// Derives until nothing new follows.
    pub(super) fn saturate(&mut self) -> Result<(), Why> {
        let limit = match self.object {
            Object::Lock => 1,
            Object::Semaphore(limit) => i64::from(limit),
            _ => i64::MAX,
        };
        if self.balance > limit {
            return Err(TOO_MANY);
        }
        loop {
            while let Some((x, y)) = self.order.news.pop() {
                self.pair(x, y)?;
            }
            let more = match self.object {
                Object::Register => false,
                Object::Semaphore(limit) => self.later_or_never()? | self.semaphore(limit)?,
                _ => self.later_or_never()?,
            };
            if !more && self.order.news.is_empty() {
                break;
            }
        }
        if self.object == Object::Register { Ok(()) } else { self.hall() }
    }

    /// The consequences of `x < y`.
    fn pair(&mut self, x: u32, y: u32) -> Result<(), Why> {
        let (front, behind) = (&self.nodes[x as usize], &self.nodes[y as usize]);
        let (g1, g2) = (front.group, behind.group);
        match (front.role, behind.role) {
            (Role::Add, Role::Empty) => {
                let removal = self.groups[g1 as usize].removal;
                if removal != NONE {
                    self.edge(removal, y)?;
                }
            }
            (Role::Empty, Role::Removal | Role::Virtual) => {
                self.edge(x, self.groups[g2 as usize].add)?;
            }
            (Role::Add, Role::Add) if g1 != g2 => self.additions(g1, g2)?,
            (Role::Add, Role::Removal | Role::Virtual) if g1 != g2 => {
                self.addition_then_removal(g1, g2)?;
            }
            (Role::Removal | Role::Virtual, Role::Removal | Role::Virtual) if g1 != g2 => {
                self.removals(g1, g2)?;
            }
            (Role::Add, Role::Read) if g1 != g2 && self.happened(g1) => {
                self.edge(x, self.groups[g2 as usize].add)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a register's write certainly took effect.
    fn happened(&self, group: u32) -> bool {
        let group = &self.groups[group as usize];
        group.added || !group.reads.is_empty()
    }

    /// `a1 < a2`.
    fn additions(&mut self, g1: u32, g2: u32) -> Result<(), Why> {
        let (one, two) = (&self.groups[g1 as usize], &self.groups[g2 as usize]);
        if self.object == Object::Register {
            if self.happened(g2) {
                let write = two.add;
                for read in one.reads.clone() {
                    self.edge(read, write)?;
                }
            }
            return Ok(());
        }
        let (a2, r1, r2) = (two.add, one.removal, two.removal);
        if r1 == NONE || r2 == NONE {
            return Ok(());
        }
        match self.object {
            Object::Queue if one.real || two.real => {
                self.edge(r1, r2)?;
            }
            Object::Stack if one.real => {
                if self.order.precedes(a2, r1) {
                    self.edge(r2, r1)?;
                }
                if self.order.precedes(r1, r2) {
                    self.edge(r1, a2)?;
                }
            }
            Object::Lock => {
                self.edge(r1, a2)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// `a2 < r1`.
    fn addition_then_removal(&mut self, g2: u32, g1: u32) -> Result<(), Why> {
        let (one, two) = (&self.groups[g1 as usize], &self.groups[g2 as usize]);
        let (a1, a2, r1, r2) = (one.add, two.add, one.removal, two.removal);
        if r1 == NONE || r2 == NONE {
            return Ok(());
        }
        match self.object {
            Object::Stack if one.real => {
                if self.order.precedes(a1, a2) {
                    self.edge(r2, r1)?;
                }
                if self.order.precedes(r1, r2) {
                    self.edge(a2, a1)?;
                }
            }
            Object::PriorityQueue { .. } if one.real && self.leaves_after(g1, g2) => {
                self.edge(r2, r1)?;
            }
            Object::Lock => {
                self.edge(a2, a1)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// `r1 < r2`.
    fn removals(&mut self, g1: u32, g2: u32) -> Result<(), Why> {
        let (one, two) = (&self.groups[g1 as usize], &self.groups[g2 as usize]);
        let (a1, a2, r1) = (one.add, two.add, one.removal);
        match self.object {
            Object::Queue if one.real || two.real => {
                self.edge(a1, a2)?;
            }
            Object::Stack if one.real => {
                if self.order.precedes(a1, a2) {
                    self.edge(r1, a2)?;
                }
                if self.order.precedes(a2, r1) {
                    self.edge(a2, a1)?;
                }
            }
            Object::PriorityQueue { .. } if one.real && self.leaves_after(g1, g2) => {
                self.edge(r1, a2)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a priority queue that contains both removes the second first.
    fn leaves_after(&self, g1: u32, g2: u32) -> bool {
        let (one, two) = (&self.groups[g1 as usize].value, &self.groups[g2 as usize].value);
        match self.object {
            Object::PriorityQueue { smallest_first: true } => two < one,
            _ => one < two,
        }
    }

    /// A virtual removal comes after everything that has returned, unless it may be a pending
    /// removal that does not.
    fn later_or_never(&mut self) -> Result<bool, Why> {
        let mut more = false;
        let mut mask = Vec::new();
        for later in members(&self.virtuals.clone()) {
            let add = self.groups[self.nodes[later as usize].group as usize].add;
            mask.clone_from(&self.completed);
            for &p in &self.pending_removals {
                if !self.order.precedes(p, add) {
                    let before = self.order.before(p);
                    mask.iter_mut().zip(before).for_each(|(mask, &before)| *mask &= before);
                }
            }
            let before = self.order.before(later);
            mask.iter_mut().zip(before).for_each(|(mask, &before)| *mask &= !before);
            for x in members(&mask) {
                more |= self.edge(x, later)?;
            }
        }
        Ok(more)
    }

    /// The rules of a semaphore, which are about several acquires at once.
    fn semaphore(&mut self, limit: u32) -> Result<bool, Why> {
        // The groups that take part: acquire and release.
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for slot in members(&self.virtuals).chain(members(&self.completed)) {
            let node = &self.nodes[slot as usize];
            if matches!(node.role, Role::Virtual | Role::Removal) {
                groups.push((self.groups[node.group as usize].add, slot));
            }
        }
        let mut more = false;
        for &(x, _) in &groups {
            let order = &self.order;
            let holds =
                |&&(y, r): &&(u32, u32)| y != x && order.precedes(y, x) && order.precedes(x, r);
            let held = groups.iter().filter(holds).count();
            if held >= limit as usize {
                return Err(TOO_MANY);
            }
            if held + 1 < limit as usize {
                continue;
            }
            for &(y, r) in &groups {
                let (before, held) = (self.order.precedes(y, x), self.order.precedes(x, r));
                if y == x || before && held {
                    continue;
                }
                if before {
                    more |= self.edge(r, x)?;
                } else if held {
                    more |= self.edge(x, y)?;
                }
            }
        }
        Ok(more)
    }
}
