//! Plants a violation, and proves that it is one.
//!
//! The preferred violation is subtle: two equal operations (two removals, two reads) exchange their
//! results. That this is a violation is proved on the few operations that touch the two values: by
//! [`Spec::touches`], leaving out all others never makes a violation, and trying every order of the
//! rest finds no legal one. If there is no such pair nearby, a single result is falsified: see
//! [`Forgery`].
//!
//! [`Spec::touches`]: crate::spec::Spec::touches

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{Forgery, Plan, Record, Run};
use crate::spec::{Builtin, Touches};

/// How many results around the wanted place to try to exchange.
const CANDIDATES: usize = 48;
/// How many operations a proof may take.
const PROOF: usize = 8;

/// A history with one violation about `depth` of the way.
pub(super) fn violation<B: Builtin>(
    spec: &B,
    plan: &Plan,
    depth: f64,
) -> Result<Run<B::Op>, String> {
    if plan.operations == 0 {
        return Err("a violation needs an operation".into());
    }
    let at = (depth * (plan.operations - 1) as f64) as usize;
    let mut run = Run::simulate(spec, plan, Forgery::None)?;
    if exchange(spec, &mut run.records, at) {
        return Ok(run);
    }
    if spec.order_insensitive()
        && let Ok(run) = Run::simulate(spec, plan, Forgery::Wrong(at))
    {
        return Ok(run);
    }
    let apart = spec.keeps_apart(plan.processes);
    if apart && let Ok(run) = Run::simulate(spec, plan, Forgery::Wrong(at)) {
        return Ok(run);
    }
    if plan.simple {
        return Err(match apart {
            true => "no scan of a simple history this short is certainly wrong".into(),
            false => format!(
                "a violation of a simple history needs a segment for each process: expected snapshot:segments={} or more",
                plan.processes
            ),
        });
    }
    Run::simulate(spec, plan, Forgery::Alien(at))
}

/// The positions of the operations of a key.
#[derive(Default)]
struct Places {
    /// Those of the value.
    of: SmallVec<[u32; 3]>,
    /// Those that leave it there.
    writers: SmallVec<[u32; 1]>,
}

/// Exchanges the results of two operations near index `at` so that the history is a violation.
fn exchange<B: Builtin>(spec: &B, records: &mut [Record<B::Op>], at: usize) -> bool {
    let touches = |r: &Record<B::Op>| spec.touches(r.op(), r.result.as_ref());
    let mut places: HashMap<u64, Places, FixedState> = HashMap::default();
    for (i, record) in records.iter().enumerate() {
        match touches(record) {
            Touches::Everything if !spec.observes(record.op(), record.result.as_ref()) => {
                return false;
            }
            Touches::Everything => {}
            Touches::Value(key) => places.entry(key).or_default().of.push(i as u32),
            Touches::Flow { writes, .. } => {
                if let Some(key) = writes {
                    places.entry(key).or_default().writers.push(i as u32);
                }
            }
        }
    }
    let telling = |r: &Record<B::Op>| {
        let needs = match touches(r) {
            Touches::Everything => false,
            Touches::Value(_) => true,
            Touches::Flow { reads, .. } => reads.is_some(),
        };
        needs && r.result.as_ref().is_some_and(|ret| !ret.is_nil())
    };
    // Outwards from the wanted place.
    let outwards = (0..records.len()).flat_map(|d| [at.checked_add(d), at.checked_sub(d + 1)]);
    let near: Vec<usize> = outwards
        .flatten()
        .filter(|&i| i < records.len())
        .take(64 * CANDIDATES)
        .filter(|&i| telling(&records[i]))
        .take(CANDIDATES)
        .collect();
    for (n, &x) in near.iter().enumerate() {
        for &y in &near[..n] {
            if records[x].op() != records[y].op() || records[x].result == records[y].result {
                continue;
            }
            swap_results(records, x, y);
            if is_violation(spec, records, &places, [x as u32, y as u32]) {
                return true;
            }
            swap_results(records, x, y);
        }
    }
    false
}

fn swap_results<Op>(records: &mut [Record<Op>], x: usize, y: usize) {
    let result = records[x].result.take();
    records[x].result = std::mem::replace(&mut records[y].result, result);
}

/// Whether the operations that must stay with these two are a violation. Also false if that is too
/// expensive.
fn is_violation<B: Builtin>(
    spec: &B,
    records: &[Record<B::Op>],
    places: &HashMap<u64, Places, FixedState>,
    pair: [u32; 2],
) -> bool {
    let mut kept: Vec<u32> = pair.to_vec();
    let mut done = 0;
    while done < kept.len() {
        let record = &records[kept[done] as usize];
        let more: &[u32] = match spec.touches(record.op(), record.result.as_ref()) {
            Touches::Everything => return false,
            Touches::Value(key) => places.get(&key).map_or(&[], |p| &p.of),
            Touches::Flow { reads: Some(key), .. } => places.get(&key).map_or(&[], |p| &p.writers),
            Touches::Flow { reads: None, .. } => &[],
        };
        if more.len() > PROOF {
            return false;
        }
        for i in more {
            if !kept.contains(i) {
                kept.push(*i);
            }
        }
        if kept.len() > PROOF {
            return false;
        }
        done += 1;
    }
    let kept: Vec<&Record<B::Op>> = kept.iter().map(|&i| &records[i as usize]).collect();
    !has_order(spec, &kept, 0, &spec.initial())
}

/// True iff the operations that are not in `done` have a legal order from here.
fn has_order<B: Builtin>(
    spec: &B,
    records: &[&Record<B::Op>],
    done: u32,
    state: &B::State,
) -> bool {
    let left = |i: &usize| done & (1 << i) == 0;
    let first_return =
        (0..records.len()).filter(left).map(|i| records[i].returned).min().unwrap_or(u32::MAX);
    if first_return == u32::MAX {
        // Nothing is left that must have happened.
        return true;
    }
    (0..records.len()).filter(left).filter(|&i| records[i].call < first_return).any(|i| {
        let mut next = Vec::new();
        spec.step(state, records[i].op(), records[i].result.as_ref(), &mut next);
        next.iter().any(|state| has_order(spec, records, done | (1 << i), state))
    })
}
