//! Builds a [`History`] event by event, or from intervals, and validates it on the way.
//!
//! Cost: at most one hash lookup per event; small whole numbers as process names need none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use super::{Call, Callers, Error, Event, History, Names, Operation, PENDING, Part, Position};
use crate::value::Value;

type Map<K, V> = HashMap<K, V, FixedState>;

/// Processes named by whole numbers below this need no hashing.
const DIRECT: usize = 4096;
const NONE: u32 = u32::MAX;
/// `returned` of an operation that is still open while building.
const OPEN: u32 = u32::MAX - 1;
/// `returned` of an operation that is known not to have happened.
const FAILED: u32 = u32::MAX - 2;

/// Which event comes first if an interval ends when another one starts.
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

    /// Sets the specification that the file names.
    pub fn set_spec(&mut self, spec: impl Into<String>) {
        self.names.spec = Some(spec.into());
    }

    /// Sets the term for the history's processes: see [`History::callers`].
    pub fn set_callers(&mut self, callers: Callers) {
        self.names.callers = callers;
    }

    /// Records the reader's guess whether values carry independent keys: see
    /// [`History::guessed_keys`].
    pub(crate) fn guess_keys(&mut self, has_keys: bool) {
        self.names.guessed_keys = Some(has_keys);
    }

    /// A -1 that came out was read as nil.
    pub(crate) fn reads_minus_one_as_nil(&mut self) {
        self.names.minus_one_was_nil = true;
    }

    /// Whether some operation has an independent key.
    pub(crate) fn has_keys(&self) -> bool {
        self.names.parts.iter().any(|part| !part.key.is_nil())
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

    /// The name of a method.
    pub(crate) fn method_name(&self, method: u32) -> &str {
        &self.names.methods[method as usize]
    }

    /// Whether some operation calls a method of this name.
    pub fn has_method(&self, name: &str) -> bool {
        self.methods.contains_key(name)
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

    /// The name of a process.
    pub(crate) fn process_name(&self, process: u32) -> &Value {
        &self.names.processes[process as usize]
    }

    /// An object and key.
    pub(crate) fn part_at(&self, part: u32) -> &Part {
        &self.names.parts[part as usize]
    }

    /// Texts that come from here on share no memory with those before.
    pub(crate) fn forget_texts(&mut self) {
        self.texts.clear();
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

    /// The call of an operation that has begun, for formats that give arguments only at the return.
    pub fn call_mut(&mut self, operation: usize) -> &mut Call {
        &mut self.operations[operation].op
    }

    /// The object and key of an operation that was begun.
    pub fn part_of(&self, operation: usize) -> &Part {
        &self.names.parts[self.operations[operation].part as usize]
    }

    /// The name of the method of an operation that was begun.
    pub fn method_of(&self, operation: usize) -> &str {
        &self.names.methods[self.operations[operation].op.method as usize]
    }

    /// Joins all parts into one, for a reader that split values into keys and learns that they are
    /// none: `restore` merges the key into the call and the result.
    pub(crate) fn forget_keys(
        &mut self,
        mut restore: impl FnMut(&Value, &mut Call, Option<&mut Value>),
    ) {
        let parts = std::mem::take(&mut self.names.parts);
        for o in &mut self.operations {
            restore(&parts[o.part as usize].key, &mut o.op, o.result.as_mut());
            o.part = 0;
        }
        self.parts.clear();
        self.last_part = 0;
        if !self.operations.is_empty() {
            self.part(Part::default());
        }
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

    /// Adds an event of a process.
    pub fn event(
        &mut self,
        process: u32,
        event: Event<Call, Value>,
        at: Position,
    ) -> Result<usize, Error> {
        match event {
            Event::Call(part, call) => self.call(process, part, call, at),
            Event::Return(result) => self.returns(process, result, at),
            Event::Fail => self.fails(process, at),
            Event::Unknown => self.unknown(process, at),
        }
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

    /// The outcome of the process's open operation is unknown: it is pending for ever, and the
    /// process may call again.
    pub fn unknown(&mut self, process: u32, at: Position) -> Result<usize, Error> {
        let index = self.close(process, "ends with an unknown outcome", at)?;
        self.operations[index].returned = PENDING;
        Ok(index)
    }

    /// Completes a history of events. Operations that are still open are pending.
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

    /// Adds a whole operation, for formats made of intervals. `process` is `None` if the format
    /// names none: lanes are then assigned so that no process overlaps itself. `end` is `None` if
    /// the operation is pending. Complete such a history with [`Builder::finish_intervals`].
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
            // At equal times: returns of earlier calls, calls, returns of operations that take no
            // time.
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

    /// Assigns lanes to the operations without a process and checks that no named process overlaps
    /// itself.
    fn check_lanes(&mut self) -> Result<(), Error> {
        let mut lanes = Lanes::default();
        let mut last: Vec<Option<(u32, u32)>> = vec![None; self.names.processes.len()];
        for i in 0..self.operations.len() {
            let Operation { process, call, returned, line, column, .. } = self.operations[i];
            if process == NONE {
                let lane = lanes.take(call, returned);
                self.operations[i].process = self.process(&Value::Int(lane.into()));
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

/// Gives each interval the lowest lane that is free.
#[derive(Default)]
struct Lanes {
    /// When each lane in use becomes free.
    used: BinaryHeap<Reverse<(u32, u32)>>,
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl Lanes {
    /// The lane of an interval that starts at `call`; starts never decrease.
    fn take(&mut self, call: u32, returned: u32) -> u32 {
        while let Some(&Reverse((until, lane))) = self.used.peek()
            && until < call
        {
            self.used.pop();
            self.free.push(Reverse(lane));
        }
        let lane = self.free.pop().map_or(self.count, |Reverse(lane)| lane);
        self.count = self.count.max(lane + 1);
        self.used.push(Reverse((returned, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Args;

    fn show(history: &History) -> String {
        let shown = history.operations().iter().enumerate().map(|(i, o)| {
            let until = if o.is_pending() { "-".to_string() } else { o.returned.to_string() };
            let process = &history.processes()[o.process as usize];
            format!("{process}:{}@{}..{until}", history.show(i as u32), o.call)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn at(line: u32) -> Position {
        Position { line, column: 1 }
    }

    fn call(builder: &mut Builder, method: &str, value: i64) -> Call {
        Call { method: builder.method(method), args: Args::One(value.into()) }
    }

    #[test]
    fn events_become_ranks_and_failures_leave_no_gap() {
        let mut b = Builder::new();
        let part = b.part(Part::default());
        let (p, q, r) = (b.process(&0.into()), b.process(&"n1".into()), b.process(&9999.into()));
        for (i, process) in [p, q, r].into_iter().enumerate() {
            let call = call(&mut b, "write", i as i64);
            b.call(process, part, call, at(1)).unwrap();
        }
        b.fails(q, at(2)).unwrap();
        b.unknown(r, at(2)).unwrap();
        b.returns(p, Value::Nil, at(3)).unwrap();
        let again = call(&mut b, "write", 7);
        b.call(r, part, again, at(4)).unwrap();
        assert_eq!(
            show(&b.finish()),
            "0:write(0)@0..2 9999:write(2) -> ?@1..- 9999:write(7) -> ?@3..-"
        );
    }

    #[test]
    fn a_process_alternates_calls_and_returns() {
        let mut b = Builder::new();
        let (part, p) = (b.part(Part::default()), b.process(&3.into()));
        assert_eq!(
            b.returns(p, Value::Nil, at(1)).unwrap_err().to_string(),
            "1:1: process 3 returns without an open call: expected a call first"
        );
        let first = call(&mut b, "enq", 1);
        b.call(p, part, first.clone(), at(2)).unwrap();
        assert_eq!(
            b.call(p, part, first, at(3)).unwrap_err().to_string(),
            "3:1: process 3 calls enq while its call of enq in line 2 is still open: expected its return first"
        );
    }

    #[track_caller]
    fn check_intervals(times: &[(i64, Option<i64>)], ties: Ties, expect: &str) {
        let mut b = Builder::new();
        let part = b.part(Part::default());
        for (i, &time) in times.iter().enumerate() {
            let call = call(&mut b, "enq", i as i64);
            let result = time.1.map(|_| Value::Nil);
            b.interval(None, part, (call, result), time, at(1)).unwrap();
        }
        assert_eq!(show(&b.finish_intervals(ties).unwrap()), expect);
    }

    #[test]
    fn intervals_take_the_lowest_free_lane() {
        check_intervals(
            &[(0, Some(9)), (1, Some(2)), (3, None), (4, Some(5)), (6, Some(7))],
            Ties::CallsFirst,
            "0:enq(0)@0..8 1:enq(1)@1..2 1:enq(2) -> ?@3..- 2:enq(3)@4..5 2:enq(4)@6..7",
        );
    }

    #[test]
    fn ties_are_settled_as_asked() {
        let touching = [(1, Some(2)), (2, Some(3)), (3, Some(3))];
        check_intervals(&touching, Ties::CallsFirst, "0:enq(0)@0..2 1:enq(1)@1..4 0:enq(2)@3..5");
        check_intervals(&touching, Ties::ReturnsFirst, "0:enq(0)@0..1 0:enq(1)@2..3 0:enq(2)@4..5");
    }

    #[test]
    fn an_interval_ends_after_it_starts_and_a_process_does_not_overlap_itself() {
        let mut b = Builder::new();
        let (part, p) = (b.part(Part::default()), Some(b.process(&0.into())));
        let one = call(&mut b, "enq", 1);
        let mut add =
            |time, line| b.interval(p, part, (one.clone(), Some(Value::Nil)), time, at(line));
        assert_eq!(
            add((5, Some(4)), 1).unwrap_err().to_string(),
            "1:1: the operation ends at 4, before it starts at 5"
        );
        add((1, Some(4)), 2).unwrap();
        add((3, Some(6)), 3).unwrap();
        assert_eq!(
            b.finish_intervals(Ties::CallsFirst).unwrap_err().to_string(),
            "3:1: process 0 starts an operation while its operation in line 2 is still running"
        );
    }

    #[test]
    fn equal_texts_share_their_memory() {
        let mut b = Builder::new();
        let (Value::Text(one), Value::Text(two)) = (b.text("abc"), b.text("abc")) else { panic!() };
        assert!(Arc::ptr_eq(&one, &two));
    }
}
