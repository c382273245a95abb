//! Builds a [`History`] event by event, or from intervals, and validates it on the way.
//!
//! Cost: one hash look-up an event at most; small whole numbers as process names need none.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use super::{Call, Error, History, Names, Operation, PENDING, Part, Position};
use crate::value::Value;

type Map<K, V> = HashMap<K, V, FixedState>;

/// Processes named by whole numbers below this need no hashing.
const DIRECT: usize = 4096;
const NONE: u32 = u32::MAX;
/// `returned` of an operation that is still open while building.
const OPEN: u32 = u32::MAX - 1;
/// `returned` of an operation that is known not to have happened.
const FAILED: u32 = u32::MAX - 2;

/// Which event comes first where an interval ends at the time at which another one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Intervals are closed: they overlap at the tie.
    CallsFirst,
    /// The one that ends precedes the one that starts.
    ReturnsFirst,
}

/// Collects events and checks them as they come.
#[derive(Debug, Default)]
pub struct Builder {
    operations: Vec<Operation<Call, Value>>,
    names: Names,
    /// Open operation of each process, or `NONE`.
    open: Vec<u32>,
    direct: Vec<u32>,
    processes: Map<Value, u32>,
    methods: Map<String, u32>,
    parts: Map<Part, u32>,
    last_part: u32,
    texts: HashTable<Arc<String>>,
    next_rank: u32,
    failed: usize,
    /// Start and end of each operation, in a history of intervals.
    times: Vec<(i64, Option<i64>)>,
}

impl Builder {
    /// An empty builder.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Number of operations so far, failed ones included.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True while no operation was called.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Names the specification that the file asks for.
    pub fn set_spec(&mut self, spec: impl Into<String>) {
        self.names.spec = Some(spec.into());
    }

    /// The number of a process.
    pub fn process(&mut self, name: &Value) -> u32 {
        if let &Value::Int(n) = name
            && let Ok(n) = usize::try_from(n)
            && n < DIRECT
        {
            if self.direct.len() <= n {
                self.direct.resize(n + 1, NONE);
            }
            if self.direct[n] == NONE {
                self.direct[n] = self.names.processes.len() as u32;
                self.names.processes.push(name.clone());
                self.open.push(NONE);
            }
            return self.direct[n];
        }
        if let Some(&id) = self.processes.get(name) {
            return id;
        }
        let id = self.names.processes.len() as u32;
        self.processes.insert(name.clone(), id);
        self.names.processes.push(name.clone());
        self.open.push(NONE);
        id
    }

    /// The number of a method.
    pub fn method(&mut self, name: &str) -> u32 {
        // A history has a handful of methods: comparing beats hashing.
        if let Some(id) = self.names.methods.iter().take(8).position(|m| m == name) {
            return id as u32;
        }
        if let Some(&id) = self.methods.get(name) {
            return id;
        }
        let id = self.names.methods.len() as u32;
        self.methods.insert(name.to_string(), id);
        self.names.methods.push(name.to_string());
        id
    }

    /// The number of an object and key.
    pub fn part(&mut self, part: Part) -> u32 {
        if self.names.parts.get(self.last_part as usize) == Some(&part) {
            return self.last_part;
        }
        let next = self.names.parts.len() as u32;
        self.last_part = *self.parts.entry(part.clone()).or_insert(next);
        if self.last_part == next {
            self.names.parts.push(part);
        }
        self.last_part
    }

    /// An interned text: equal texts share their memory.
    pub fn text(&mut self, text: &str) -> Value {
        let hash = FixedState::default().hash_one(text);
        let entry = self.texts.entry(
            hash,
            |known| known.as_str() == text,
            |known| FixedState::default().hash_one(known.as_str()),
        );
        Value::Text(entry.or_insert_with(|| Arc::new(text.to_string())).get().clone())
    }

    /// The operation that this process has open: its index, for [`Builder::call_mut`].
    pub fn open_operation(&self, process: u32) -> Option<usize> {
        let open = self.open[process as usize];
        (open != NONE).then_some(open as usize)
    }

    /// The call of an operation that was begun, for formats that tell arguments only at the return.
    pub fn call_mut(&mut self, operation: usize) -> &mut Call {
        &mut self.operations[operation].op
    }

    /// A process calls. It must have no open operation.
    pub fn call(
        &mut self,
        process: u32,
        part: u32,
        call: Call,
        at: Position,
    ) -> Result<usize, Error> {
        if let Some(open) = self.open_operation(process) {
            let before = &self.operations[open];
            let message = format!(
                "process {} calls {} while its call of {} in line {} is still open: expected its return first",
                self.names.processes[process as usize],
                self.names.methods[call.method as usize],
                self.names.methods[before.op.method as usize],
                before.line,
            );
            return Err(Error::at(at, message));
        }
        let rank = self.rank(at)?;
        let index = self.operations.len();
        self.open[process as usize] = index as u32;
        let Position { line, column } = at;
        let (returned, result) = (OPEN, None);
        self.operations.push(Operation {
            process,
            call: rank,
            returned,
            part,
            line,
            column,
            op: call,
            result,
        });
        Ok(index)
    }

    /// The open operation of a process returns.
    pub fn returns(&mut self, process: u32, result: Value, at: Position) -> Result<usize, Error> {
        let index = self.close(process, "returns", at)?;
        self.operations[index].returned = self.rank(at)?;
        self.operations[index].result = Some(result);
        Ok(index)
    }

    /// The open operation of a process is known not to have happened.
    pub fn fails(&mut self, process: u32, at: Position) -> Result<usize, Error> {
        let index = self.close(process, "fails", at)?;
        self.operations[index].returned = FAILED;
        self.failed += 1;
        Ok(index)
    }

    /// The outcome of the open operation of a process is unknown: it is pending for ever, and the process may
    /// call again.
    pub fn unknown(&mut self, process: u32, at: Position) -> Result<usize, Error> {
        let index = self.close(process, "ends with an unknown outcome", at)?;
        self.operations[index].returned = PENDING;
        Ok(index)
    }

    /// Ends the building of a history of events. Operations that are still open are pending.
    pub fn finish(mut self) -> History {
        for o in &mut self.operations {
            if o.returned == OPEN {
                o.returned = PENDING;
            }
        }
        if self.failed > 0 {
            self.drop_failed();
        }
        if self.names.parts.is_empty() {
            self.names.parts.push(Part::default());
        }
        self.operations.shrink_to_fit();
        History { operations: self.operations, names: Arc::new(self.names) }
    }

    /// A whole operation, for formats made of intervals. `process` is `None` where the format names none: lanes
    /// are then given out so that no process overlaps itself. `end` is `None` where the operation is pending.
    /// End such a history with [`Builder::finish_intervals`].
    pub fn interval(
        &mut self,
        process: Option<u32>,
        part: u32,
        (call, result): (Call, Option<Value>),
        (start, end): (i64, Option<i64>),
        at: Position,
    ) -> Result<(), Error> {
        if let Some(end) = end
            && end < start
        {
            let message = format!("the operation ends at {end}, before it starts at {start}");
            return Err(Error::at(at, message));
        }
        // Two ranks an operation are spent here; the real ones come from sorting the times.
        self.rank(at)?;
        self.rank(at)?;
        self.times.push((start, end));
        let Position { line, column } = at;
        self.operations.push(Operation {
            process: process.unwrap_or(NONE),
            call: 0,
            returned: if end.is_some() { 0 } else { PENDING },
            part,
            line,
            column,
            op: call,
            result,
        });
        Ok(())
    }

    /// Ends the building of a history of intervals: sorts the times into ranks.
    pub fn finish_intervals(mut self, ties: Ties) -> Result<History, Error> {
        // (time, order at a tie, operation); a call never sorts behind its own return.
        let mut events: Vec<(i64, u8, u32)> = Vec::with_capacity(2 * self.times.len());
        for (i, &(start, end)) in self.times.iter().enumerate() {
            let instant = end == Some(start);
            // At one time: returns of earlier calls, calls, returns of operations that take no time.
            events.push((start, 1, i as u32));
            if let Some(end) = end {
                let first = ties == Ties::ReturnsFirst && !instant;
                events.push((end, if first { 0 } else { 2 }, i as u32));
            }
        }
        events.sort_unstable();
        for (rank, &(_, kind, i)) in events.iter().enumerate() {
            let o = &mut self.operations[i as usize];
            if kind == 1 { o.call = rank as u32 } else { o.returned = rank as u32 }
        }
        self.operations.sort_unstable_by_key(|o| o.call);
        self.check_lanes()?;
        Ok(self.finish())
    }

    /// Gives lanes to the operations without a process and checks that no named process overlaps itself.
    fn check_lanes(&mut self) -> Result<(), Error> {
        let mut lanes: Vec<u32> = Vec::new();
        let mut last: Vec<Option<(u32, u32)>> = vec![None; self.names.processes.len()];
        for i in 0..self.operations.len() {
            let Operation { process, call, returned, line, column, .. } = self.operations[i];
            if process == NONE {
                let free = lanes.iter().position(|&until| until < call);
                let lane = free.unwrap_or_else(|| {
                    lanes.push(0);
                    lanes.len() - 1
                });
                lanes[lane] = returned;
                self.operations[i].process = self.process(&Value::Int(lane as i64));
            } else if let Some((until, its_line)) = last[process as usize].replace((returned, line))
                && until > call
                && until != PENDING
            {
                let name = &self.names.processes[process as usize];
                let message = format!(
                    "process {name} starts an operation while its operation in line {its_line} is still running"
                );
                return Err(Error::at(Position { line, column }, message));
            }
        }
        Ok(())
    }

    fn close(&mut self, process: u32, what: &str, at: Position) -> Result<usize, Error> {
        let Some(index) = self.open_operation(process) else {
            let name = &self.names.processes[process as usize];
            let message =
                format!("process {name} {what} without an open call: expected a call first");
            return Err(Error::at(at, message));
        };
        self.open[process as usize] = NONE;
        Ok(index)
    }

    fn rank(&mut self, at: Position) -> Result<u32, Error> {
        let rank = self.next_rank;
        if rank >= FAILED {
            return Err(Error::at(at, "the history has more than 4,294,967,292 events"));
        }
        self.next_rank += 1;
        Ok(rank)
    }

    /// Removes failed operations and closes the gaps that they leave in the ranks.
    fn drop_failed(&mut self) {
        self.operations.retain(|o| o.returned != FAILED);
        let mut new_rank = vec![0u32; self.next_rank as usize];
        for o in &self.operations {
            new_rank[o.call as usize] = 1;
            if !o.is_pending() {
                new_rank[o.returned as usize] = 1;
            }
        }
        let mut next = 0;
        for rank in &mut new_rank {
            let used = *rank;
            *rank = next;
            next += used;
        }
        for o in &mut self.operations {
            o.call = new_rank[o.call as usize];
            if !o.is_pending() {
                o.returned = new_rank[o.returned as usize];
            }
        }
    }
}
