//! A result shows a value that no operation can have inserted by then.
//!
//! An inserting operation counts for a result if it was called before the result was known. So a
//! value that is shown needs one such operation, and among the removals of a value, sorted by
//! return, the k-th needs k of them; initial values count, too. Cost: O(n log n).

use hashbrown::HashMap;

use super::Violation;
use crate::monitor::Span;
use crate::spec::Shown;
use crate::spec::subject::Traced;
use crate::value::Value;

/// The operations on a value.
#[derive(Default)]
struct Trace {
    initial: usize,
    /// Operations that bring it, by call.
    brought: Vec<u32>,
    /// Operations that take it, by return.
    taken: Vec<u32>,
}

pub(super) fn refute(traced: &Traced<'_>, spans: &[Span]) -> Option<Violation> {
    let mut traces: HashMap<&Value, Trace, foldhash::fast::FixedState> = HashMap::default();
    for value in &traced.initial {
        traces.entry(value).or_default().initial += 1;
    }
    for (n, brought) in traced.brought.iter().enumerate() {
        if let Some(value) = brought {
            traces.entry(value).or_default().brought.push(n as u32);
        }
    }
    for (n, (span, shown)) in spans.iter().zip(&traced.shown).enumerate() {
        let (value, is_taken) = match shown {
            None => continue,
            Some(Shown::Seen(value)) => (value, false),
            Some(Shown::Taken(value)) => (value, true),
        };
        let Some(trace) = traces.get_mut(value) else {
            return Some(Violation::new(&[n as u32], None));
        };
        if trace.initial == 0 {
            // An operation that inserts the value that it shows does not show its own insertion.
            let mut others = trace.brought.iter().copied().filter(|&b| b != n as u32);
            match others.next() {
                None => return Some(Violation::new(&[n as u32], None)),
                Some(first) if spans[first as usize].call > span.returned => {
                    return Some(Violation::new(&[n as u32, first], None));
                }
                Some(_) => {}
            }
        }
        if is_taken {
            trace.taken.push(n as u32);
        }
    }
    let mut traces: Vec<Trace> = traces.into_values().filter(|t| !t.taken.is_empty()).collect();
    traces.sort_unstable_by_key(|t| t.taken[0]);
    traces.iter_mut().find_map(|trace| overdrawn(trace, spans))
}

/// The removals of a value that exceed the possible number, with the insertions by then.
fn overdrawn(trace: &mut Trace, spans: &[Span]) -> Option<Violation> {
    trace.taken.sort_unstable_by_key(|&n| spans[n as usize].returned);
    for (k, &last) in trace.taken.iter().enumerate() {
        let until = spans[last as usize].returned;
        let by_then = trace.brought.partition_point(|&b| spans[b as usize].call < until);
        if trace.initial + by_then <= k {
            let clash = [&trace.taken[..=k], &trace.brought[..by_then]].concat();
            return Some(Violation::new(&clash, None));
        }
    }
    None
}
