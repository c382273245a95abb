//! The operations that may still be named in an explanation.
//!
//! Engines refer to operations by number and never report that they no longer need one. From time
//! to time, when the number of records has doubled, they mark the ones they need
//! ([`Records::sweep`]); unmarked ones are dropped, and their numbers reused. So each record costs
//! O(1), and there are at most twice as many as are needed.

use super::{Id, NEVER, NONE, Time};
use crate::history::{History, Operation, PENDING, Part};
use crate::value::Value;

/// Records below which there is no sweep.
const FEW: usize = if cfg!(test) { 4 } else { 4096 };

/// An operation.
pub(super) struct Record<O, R> {
    pub(super) process: u32,
    pub(super) part: u32,
    /// The engine that decides it.
    pub(super) engine: u32,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) call: Time,
    /// [`NEVER`] while it is open.
    pub(super) returned: Time,
    pub(super) op: O,
    pub(super) result: Option<R>,
}

pub(super) struct Records<O, R> {
    all: Vec<Option<Record<O, R>>>,
    free: Vec<Id>,
    sweep_at: usize,
    marks: Vec<u64>,
}

impl<O: Clone, R: Clone> Records<O, R> {
    pub(super) fn new() -> Records<O, R> {
        Records { all: Vec::new(), free: Vec::new(), sweep_at: FEW, marks: Vec::new() }
    }

    /// How many operations are in memory.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    pub(super) fn add(&mut self, record: Record<O, R>) -> Id {
        match self.free.pop() {
            Some(id) => {
                self.all[id as usize] = Some(record);
                id
            }
            None => {
                self.all.push(Some(record));
                self.all.len() as Id - 1
            }
        }
    }

    pub(super) fn get(&mut self, id: Id) -> Option<&mut Record<O, R>> {
        self.all.get_mut(id as usize)?.as_mut()
    }

    pub(super) fn peek(&self, id: Id) -> Option<&Record<O, R>> {
        self.all.get(id as usize)?.as_ref()
    }

    pub(super) fn drop(&mut self, id: Id) {
        self.all[id as usize] = None;
        self.free.push(id);
    }

    pub(super) fn wants_sweep(&self) -> bool {
        self.len() >= self.sweep_at
    }

    /// Drops the records that `mark` does not name.
    pub(super) fn sweep(&mut self, mark: impl FnOnce(&mut dyn FnMut(Id))) {
        self.marks.clear();
        self.marks.resize(self.all.len().div_ceil(64), 0);
        let marks = &mut self.marks;
        mark(&mut |id| {
            if id != NONE {
                marks[id as usize / 64] |= 1 << (id % 64);
            }
        });
        for (id, record) in self.all.iter_mut().enumerate() {
            if record.is_some() && self.marks[id / 64] & (1 << (id % 64)) == 0 {
                *record = None;
                self.free.push(id as Id);
            }
        }
        // Low numbers first, so that the table can shrink.
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        while self.all.last().is_some_and(Option::is_none) {
            self.all.pop();
        }
        self.free.retain(|&id| (id as usize) < self.all.len());
        self.sweep_at = FEW.max(2 * self.len());
    }

    /// A history of these operations, and their numbers in its order.
    pub(super) fn history(
        &self,
        ids: &[Id],
        processes: &[Value],
        parts: &[Part],
    ) -> (History<O, R>, Vec<Id>) {
        let known = |id: &Id| self.all.get(*id as usize).and_then(Option::as_ref).map(|r| (*id, r));
        let mut some: Vec<(Id, &Record<O, R>)> = ids.iter().filter_map(known).collect();
        some.sort_unstable_by_key(|(_, record)| record.call);
        let times = some.iter().flat_map(|(_, r)| [r.call, r.returned]);
        let mut times: Vec<Time> = times.filter(|&time| time != NEVER).collect();
        times.sort_unstable();
        let rank = |time: Time| times.binary_search(&time).map_or(PENDING, |rank| rank as u32);
        let operation = |record: &Record<O, R>| Operation {
            process: record.process,
            call: rank(record.call),
            returned: rank(record.returned),
            part: record.part,
            line: record.line,
            column: record.column,
            op: record.op.clone(),
            result: record.result.clone(),
        };
        let operations = some.iter().map(|(_, record)| operation(record)).collect();
        let history = History::assemble(operations, processes.to_vec(), Vec::new(), parts.to_vec());
        (history, some.into_iter().map(|(id, _)| id).collect())
    }
}
