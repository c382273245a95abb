//! The register with unique writes: zones. O(n), with a witness.
//!
//! No two writes write the same value, and none the initial one. The *cluster* of a value is its
//! write and its reads; let f be the first return in it and s the last call (the initial value is
//! written, and has returned, before everything). If f < s the cluster is *forward*: the register
//! holds the value from f to s. Else it is *backward*: all its operations have the slots from s to
//! f in common and can happen there in one moment. A history is linearizable iff each read has a
//! write that was not called after the read returned, no two forward zones overlap, and no backward
//! zone lies inside a forward one (Gibbons and Korach, *Testing shared memories*, SIAM J. Comput.
//! 26, 1997).
//!
//! **Witness.** A forward cluster writes right before f; a read happens at its call, or right after
//! the write if that is later. A backward cluster happens at s, or at the end of the forward zone
//! that s lies in. So clusters do not interleave, and they follow each other by the beginning of
//! their zones, min(f, s). Inside a cluster: the write, then the reads by call.
//!
//! **Explanation.** Two clusters clash by their zones, and a zone is given by at most three
//! operations: the write, which must be there for the reads to make sense, the first to return and
//! the last to be called. That makes six at most, and mostly four or fewer after superfluous reads
//! are dropped. Six can be necessary: two writes that are open all the time, and reads of either
//! value both before and after reads of the other.

use super::ranks::{Names, Ranks, all_differ};
use super::{Answer, NEVER, NONE, Op, Span, Why};

/// The effect of an operation on a register. The caller leaves out reads that never returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Found this value.
    Read(u32),
    /// Wrote this value; no other write does.
    Write(u32),
}

/// Whether no value is written twice, or both written and initial: the monitor relies on it.
pub(crate) fn is_unambiguous(operations: &[Op<Action>], initial: Option<u32>) -> bool {
    let written = operations.iter().filter_map(|o| match o.action {
        Action::Write(v) => Some(v),
        Action::Read(_) => None,
    });
    all_differ(written.chain(initial), operations.len())
}

/// The operations on one value.
#[derive(Clone, Copy)]
struct Cluster {
    /// [`NONE`] for the initial value, [`ABSENT`] for a value that was never written.
    write: u32,
    write_called: u32,
    first_return: u32,
    last_call: u32,
    first_returned: u32,
    last_called: u32,
    reads: u32,
}

const ABSENT: u32 = u32::MAX - 1;

impl Cluster {
    fn new(write: u32, span: Span) -> Cluster {
        Cluster {
            write,
            write_called: span.call,
            first_return: span.returned,
            last_call: span.call,
            first_returned: write,
            last_called: write,
            reads: 0,
        }
    }

    fn is_forward(&self) -> bool {
        self.first_return < self.last_call
    }

    /// False for a value that was never written, and for a write that never returned and was never
    /// read.
    fn counts(&self) -> bool {
        self.write != ABSENT && (self.first_return != NEVER || self.reads > 0)
    }

    fn operations(&self) -> [u32; 3] {
        [self.write, self.first_returned, self.last_called]
    }
}

/// Decides a register. Operations are sorted by call. No value is written twice, and `initial`, if
/// given, is not written; without it no value can be read that was not written.
pub(crate) fn check(operations: &[Op<Action>], initial: Option<u32>) -> Answer {
    debug_assert!(operations.is_sorted_by_key(|o| o.span.call));
    let name = |a: Action| match a {
        Action::Read(v) | Action::Write(v) => v,
    };
    // Rank 0 is the moment at which the initial value is there.
    let ranks = Ranks::new(operations.iter().map(|o| o.span), 1);
    let all = operations.iter().map(|o| name(o.action)).chain(initial);
    let names = Names::new(all, operations.len());
    let nowhere = Span { call: NEVER, returned: NEVER };
    let mut clusters = vec![Cluster::new(ABSENT, nowhere); names.end as usize];
    if let Some(v) = initial {
        clusters[names.of(v) as usize] = Cluster::new(NONE, Span { call: 0, returned: 0 });
    }
    for (i, o) in operations.iter().enumerate() {
        if let Action::Write(v) = o.action {
            let cluster = &mut clusters[names.of(v) as usize];
            debug_assert_eq!(cluster.write, ABSENT, "a value is written at most once");
            *cluster = Cluster::new(i as u32, ranks.span(o.span));
        }
    }
    for (i, o) in operations.iter().enumerate() {
        let Action::Read(v) = o.action else { continue };
        let (read, span) = (i as u32, ranks.span(o.span));
        let cluster = &mut clusters[names.of(v) as usize];
        if cluster.write == ABSENT {
            return Answer::violation([read], Why::NeverWritten { read });
        }
        if span.returned < cluster.write_called {
            let write = cluster.write;
            return Answer::violation([read, write], Why::ReadBeforeWritten { read, write });
        }
        cluster.reads += 1;
        if span.returned < cluster.first_return {
            (cluster.first_return, cluster.first_returned) = (span.returned, read);
        }
        if span.call > cluster.last_call {
            (cluster.last_call, cluster.last_called) = (span.call, read);
        }
    }

    // Clusters by the beginning of their zones, which are unique.
    let mut begins = vec![NONE; ranks.end as usize];
    for (i, c) in clusters.iter().enumerate().filter(|(_, c)| c.counts()) {
        begins[c.first_return.min(c.last_call) as usize] = i as u32;
    }
    begins.retain(|&b| b != NONE);
    let mut forward: Option<&Cluster> = None;
    for &b in &begins {
        let cluster = &clusters[b as usize];
        if let Some(f) = forward
            && if cluster.is_forward() {
                cluster.first_return < f.last_call
            } else {
                cluster.first_return < f.last_call && cluster.last_call > f.first_return
            }
        {
            return clash(operations, initial, f, cluster);
        }
        if cluster.is_forward() {
            forward = Some(cluster);
        }
    }
    Answer::Order(witness(operations, &names, &clusters, &begins))
}

/// The order: cluster after cluster, the write first, then the reads by call.
fn witness(
    operations: &[Op<Action>],
    names: &Names,
    clusters: &[Cluster],
    begins: &[u32],
) -> Vec<u32> {
    let mut order = Vec::with_capacity(operations.len());
    // The place of the next read of each cluster.
    let mut places = vec![0u32; clusters.len()];
    for &b in begins {
        let cluster = &clusters[b as usize];
        order.extend(Some(cluster.write).filter(|&w| w != NONE));
        places[b as usize] = order.len() as u32;
        order.resize(order.len() + cluster.reads as usize, NONE);
    }
    for (i, o) in operations.iter().enumerate() {
        if let Action::Read(v) = o.action {
            let place = &mut places[names.of(v) as usize];
            order[*place as usize] = i as u32;
            *place += 1;
        }
    }
    order
}

/// Explains two clashing clusters; reads that are not needed are dropped.
fn clash(operations: &[Op<Action>], initial: Option<u32>, a: &Cluster, b: &Cluster) -> Answer {
    let why = Why::StaleRead { write: a.write, other: b.write };
    let mut all: Vec<u32> = a.operations().into_iter().chain(b.operations()).collect();
    all.retain(|&o| o != NONE);
    all.sort_unstable();
    all.dedup();
    for i in (0..all.len()).rev() {
        if let Action::Read(_) = operations[all[i] as usize].action
            && all.len() > 2
        {
            let mut fewer = all.clone();
            fewer.remove(i);
            let part: Vec<_> = fewer.iter().map(|&o| operations[o as usize]).collect();
            if zones_clash(&part, initial) {
                all = fewer;
            }
        }
    }
    let mut answer = Answer::violation(all, why);
    if let Answer::Violation { initial: named, .. } = &mut answer {
        named.extend(initial.filter(|_| a.write == NONE || b.write == NONE));
    }
    answer
}

/// True iff a handful of operations is a violation.
fn zones_clash(operations: &[Op<Action>], initial: Option<u32>) -> bool {
    let value = |o: &Op<Action>| match o.action {
        Action::Read(v) | Action::Write(v) => v,
    };
    let mut zones: Vec<(u32, u32, u32)> = Vec::new();
    for o in operations {
        // Ranks move up by one, for the initial value.
        let (call, returned) = (o.span.call + 1, o.span.returned.saturating_add(1));
        match zones.iter_mut().find(|z| z.0 == value(o)) {
            Some(z) => *z = (z.0, z.1.min(returned), z.2.max(call)),
            None if Some(value(o)) == initial => zones.push((value(o), 0, call)),
            None => zones.push((value(o), returned, call)),
        }
    }
    let inside = |a: (u32, u32, u32), b: (u32, u32, u32)| {
        let (low, high) = (b.1.min(b.2), b.1.max(b.2));
        let overlap = low < a.2 && high > a.1;
        let nested = a.1 < low && high < a.2;
        a.0 != b.0 && a.1 < a.2 && if b.1 < b.2 { overlap } else { nested }
    };
    zones.iter().any(|&a| zones.iter().any(|&b| inside(a, b)))
}
