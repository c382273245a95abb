//! Dense ranks: the events of one history, or of one key of it, numbered without holes.
//!
//! Ranks of a whole history are dense already and are only shifted, to make room for initial
//! contents. The events of one key among many are sparse; they are sorted and numbered anew, O(n
//! log n).

use super::{NEVER, Span};

/// A map from given ranks to dense ones. [`NEVER`] stays what it is.
pub(super) struct Ranks {
    shift: u32,
    sorted: Option<Vec<u32>>,
    /// Dense ranks are smaller than this.
    pub(super) end: u32,
}

impl Ranks {
    /// Leaves the ranks `0..shift` free.
    pub(super) fn new(spans: impl Iterator<Item = Span> + Clone, shift: u32) -> Ranks {
        let (mut count, mut end) = (0u32, 0u32);
        for span in spans.clone() {
            count += 1;
            end = end.max(last(span) + 1);
        }
        if end <= 64 + 4 * count {
            return Ranks { shift, sorted: None, end: end + shift };
        }
        let mut sorted = Vec::with_capacity(2 * count as usize);
        for span in spans {
            sorted.push(span.call);
            if span.returned != NEVER {
                sorted.push(span.returned);
            }
        }
        sorted.sort_unstable();
        let end = sorted.len() as u32 + shift;
        Ranks { shift, sorted: Some(sorted), end }
    }

    /// The dense rank of an event.
    pub(super) fn of(&self, rank: u32) -> u32 {
        match &self.sorted {
            _ if rank == NEVER => NEVER,
            None => rank + self.shift,
            Some(sorted) => sorted.partition_point(|&r| r < rank) as u32 + self.shift,
        }
    }

    /// The dense ranks of both events of an operation.
    pub(super) fn span(&self, span: Span) -> Span {
        Span { call: self.of(span.call), returned: self.of(span.returned) }
    }
}

/// The last event of an operation that there is.
fn last(span: Span) -> u32 {
    if span.returned == NEVER { span.call } else { span.returned }
}

/// A map from given names of values to dense ones, for which arrays have space. Usually it changes
/// nothing.
pub(super) struct Names {
    sorted: Option<Vec<u32>>,
    /// Dense names are smaller than this.
    pub(super) end: u32,
}

impl Names {
    /// Names that occur in a history of `operations` operations.
    pub(super) fn new(names: impl Iterator<Item = u32> + Clone, operations: usize) -> Names {
        let end = names.clone().max().map_or(0, |n| n as usize + 1);
        if end <= 64 + 4 * operations {
            return Names { sorted: None, end: end as u32 };
        }
        let mut sorted: Vec<u32> = names.collect();
        sorted.sort_unstable();
        sorted.dedup();
        Names { end: sorted.len() as u32, sorted: Some(sorted) }
    }

    /// The dense name; the name must be one of those given.
    pub(super) fn of(&self, name: u32) -> u32 {
        self.sorted.as_ref().map_or(name, |s| s.partition_point(|&n| n < name) as u32)
    }

    /// The name that was given for a dense one.
    pub(super) fn original(&self, dense: u32) -> u32 {
        self.sorted.as_ref().map_or(dense, |s| s[dense as usize])
    }
}

/// True where no name occurs twice. `operations` is about the number of names there may be.
pub(super) fn all_differ(names: impl Iterator<Item = u32> + Clone, operations: usize) -> bool {
    let dense = Names::new(names.clone(), operations);
    let mut seen = vec![false; dense.end as usize];
    let mut each = names;
    each.all(|n| !std::mem::replace(&mut seen[dense.of(n) as usize], true))
}

/// The events of a history in order of rank: `operation * 2`, plus 1 for its return.
pub(super) fn timeline(spans: impl Iterator<Item = Span> + Clone) -> Vec<u32> {
    const NOTHING: u32 = u32::MAX;
    let end = spans.clone().map(|s| last(s) as usize + 1).max().unwrap_or(0);
    let count = spans.clone().count();
    let each = spans.enumerate().flat_map(|(i, s)| {
        let i = 2 * i as u32;
        [(s.call, i), (s.returned, i + 1)].into_iter().filter(|e| e.0 != NEVER)
    });
    if end <= 64 + 4 * count {
        let mut events = vec![NOTHING; end];
        each.for_each(|(rank, event)| events[rank as usize] = event);
        events.retain(|&e| e != NOTHING);
        return events;
    }
    let mut events: Vec<(u32, u32)> = each.collect();
    events.sort_unstable();
    events.into_iter().map(|e| e.1).collect()
}
