//! A cursor over the returns of a part: which operations are open at each of them.
//!
//! The *frontier* is the first return that is not explained yet. An operation is open at the
//! frontier iff it was called before it and did not return before it. Only these, and the
//! operations that are pending for ever, may be linearized next. So a configuration is (frontier,
//! mask of the linearized open operations, state): its size is bounded by the number of processes,
//! not by the length of the history.
//!
//! Each returning operation has a slot from its call to its return; each pending one has a slot of
//! its own for ever. Moving the cursor costs O(log of the number of open operations) for every
//! crossed event, plus the distance of the event's place from the nearer end of the open ones.

use std::collections::VecDeque;

use super::problem::Spans;
use crate::history::PENDING;

/// Slots of all operations, and how many there are.
pub(crate) struct Slots {
    /// The slot of each operation, among the returning or among the pending ones.
    pub(crate) of: Vec<u32>,
    /// Operations that are pending for ever, by call.
    pub(crate) pending: Vec<u32>,
    /// The largest number of slots of either kind.
    pub(crate) width: u32,
}

impl Slots {
    pub(crate) fn new(spans: &Spans) -> Slots {
        let mut of = vec![0; spans.len()];
        let mut pending = Vec::new();
        let mut free: Vec<u32> = Vec::new();
        let mut used = 0;
        let mut returned = 0;
        for o in 0..spans.len() {
            if spans.returned[o] == PENDING {
                of[o] = pending.len() as u32;
                pending.push(o as u32);
                continue;
            }
            while let Some(&r) = spans.returns.get(returned)
                && spans.returned[r as usize] < spans.call[o]
            {
                free.push(of[r as usize]);
                returned += 1;
            }
            of[o] = free.pop().unwrap_or_else(|| {
                used += 1;
                used - 1
            });
        }
        let width = used.max(pending.len() as u32);
        Slots { of, pending, width }
    }
}

/// The cursor.
pub(crate) struct Timeline<'a> {
    spans: &'a Spans,
    frontier: usize,
    /// Open returning operations, sorted by return: the frontier's own is first.
    open: VecDeque<u32>,
    /// Number of operations that were called before the frontier.
    called: usize,
    /// Number of pending operations that were called before the frontier.
    pending: usize,
}

impl<'a> Timeline<'a> {
    /// A cursor at the first return.
    pub(crate) fn new(spans: &'a Spans) -> Timeline<'a> {
        let mut timeline =
            Timeline { spans, frontier: 0, open: VecDeque::new(), called: 0, pending: 0 };
        timeline.admit_calls();
        timeline
    }

    /// Index into the returns; their number when all are explained.
    pub(crate) fn frontier(&self) -> usize {
        self.frontier
    }

    /// The operation whose return is the frontier.
    pub(crate) fn next_return(&self) -> Option<u32> {
        self.spans.returns.get(self.frontier).copied()
    }

    /// Open returning operations, sorted by return.
    pub(crate) fn open(&self) -> &VecDeque<u32> {
        &self.open
    }

    /// How many of the pending operations, by call, may be linearized.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// The number of operations that were called before the frontier: those with smaller numbers.
    pub(crate) fn called(&self) -> u32 {
        self.called as u32
    }

    /// Moves to the next return.
    pub(crate) fn forward(&mut self) {
        self.open.pop_front();
        self.frontier += 1;
        self.admit_calls();
    }

    /// Moves back until the frontier is this one.
    pub(crate) fn back_to(&mut self, frontier: usize) {
        while self.frontier > frontier {
            self.frontier -= 1;
            let returning = self.spans.returns[self.frontier];
            let limit = self.spans.returned[returning as usize];
            while self.called > 0 && self.spans.call[self.called - 1] > limit {
                self.called -= 1;
                if self.spans.returned[self.called] == PENDING {
                    self.pending -= 1;
                } else {
                    let place = self.place(self.spans.returned[self.called]);
                    self.open.remove(place);
                }
            }
            self.open.push_front(returning);
        }
    }

    fn admit_calls(&mut self) {
        let Some(returning) = self.next_return() else { return };
        let limit = self.spans.returned[returning as usize];
        while self.called < self.spans.len() && self.spans.call[self.called] < limit {
            let returned = self.spans.returned[self.called];
            if returned == PENDING {
                self.pending += 1;
            } else {
                let place = self.place(returned);
                self.open.insert(place, self.called as u32);
            }
            self.called += 1;
        }
    }

    fn place(&self, returned: u32) -> usize {
        self.open.partition_point(|&o| self.spans.returned[o as usize] < returned)
    }
}
