//! Decides a part by an exact monitor, where the specification is of a known kind and the history allows it.
//!
//! The claim to be of a kind is tested on all short sequences ([`trust`]); the operations of the part are put into the
//! words of the kind; [`super::words`] decides. A violation is confirmed by the reference search like any other.

use std::collections::{HashMap, HashSet};

use super::words::{Found, Words};
use crate::budget::Budget;
use crate::history::{History, PENDING};
use crate::monitor::{Op, Span};
use crate::spec::{Action, Canonical, Kind, Spec};

/// The longest sequences on which a claim is tested, the values they use, and how far these are looked for.
const LENGTH: usize = 5;
const VALUES: usize = 2;
const LOOK: usize = 20_000;

/// Tests the claim on all sequences of up to five operations on two values of the part: the specification allows
/// exactly what the model of the kind does. The error says on which sequence they differ.
pub(crate) fn trust<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
) -> Result<(), String> {
    let mut words = Words::new(canonical);
    // One operation for everything that is done: to each value, and without one.
    let mut done: Vec<(u32, Action<u32>)> = Vec::new();
    let mut seen: HashSet<Action<u32>> = HashSet::new();
    let mut variety: HashMap<u32, usize> = HashMap::new();
    for &i in indices.iter().take(LOOK) {
        let o = &history.operations()[i as usize];
        let Some(result) = o.result.as_ref().filter(|_| !o.is_pending()) else { continue };
        let Some(action) = (canonical.action)(&o.op, Some(result)) else { continue };
        let action = words.numbered(&action);
        if seen.insert(action) {
            done.push((i, action));
            if let Some(value) = action.value() {
                *variety.entry(value).or_default() += 1;
            }
        }
    }
    // The values to which most different things are done tell most; the earlier, the better.
    let mut values: Vec<(usize, u32)> = variety.into_iter().map(|(v, n)| (n, v)).collect();
    values.sort_unstable_by_key(|&(n, value)| (std::cmp::Reverse(n), value));
    values.truncate(VALUES);
    let is_chosen = |action: &Action<u32>| {
        action.value().is_none_or(|value| values.iter().any(|&(_, v)| v == value))
    };
    // A scan shows many values: updates and scans are chosen by themselves, and their sequences are shorter.
    let (mut updates, mut scans) = (0, 0);
    let mut first_ones = |action: &Action<u32>| {
        let count = if let Action::Scan(_) = action { &mut scans } else { &mut updates };
        *count += 1;
        *count <= VALUES
    };
    let is_snapshot = canonical.kind == Kind::Snapshot;
    let length = if is_snapshot { LENGTH - 1 } else { LENGTH };
    let mut is_chosen =
        |action: &Action<u32>| if is_snapshot { first_ones(action) } else { is_chosen(action) };
    let chosen: Vec<(u32, Action<u32>)> =
        done.into_iter().filter(|(_, action)| is_chosen(action)).collect();
    words.settle();
    let model = words.model(values.iter().map(|&(_, value)| value));
    let actions: Vec<Action<u32>> =
        chosen.iter().map(|(_, a)| a.map(|v| words.ranked(v))).collect();
    let mut sequences = vec![(Vec::new(), vec![spec.initial()], Some(model))];
    for _ in 0..length {
        let mut longer = Vec::new();
        for (sequence, states, model) in &sequences {
            for (n, &(i, _)) in chosen.iter().enumerate() {
                let o = &history.operations()[i as usize];
                let mut after = Vec::new();
                for state in states {
                    spec.step(state, &o.op, o.result.as_ref(), &mut after);
                }
                let modelled = model.clone().and_then(|mut m| m.apply(actions[n]).then_some(m));
                let mut sequence: Vec<u32> = sequence.clone();
                sequence.push(i);
                if after.is_empty() == modelled.is_some() {
                    let shown: Vec<String> = sequence
                        .iter()
                        .map(|&i| {
                            let o = &history.operations()[i as usize];
                            spec.show(&o.op, o.result.as_ref())
                        })
                        .collect();
                    let kind = canonical.kind;
                    return Err(format!("it is no {kind}: {} tells", shown.join(", ")));
                }
                if modelled.is_some() {
                    longer.push((sequence, after, modelled));
                }
            }
        }
        sequences = longer;
    }
    Ok(())
}

/// The name of the kind's monitor.
pub(crate) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Register => "register-monitor",
        Kind::Queue => "queue-monitor",
        Kind::Stack => "stack-monitor",
        Kind::PriorityQueue | Kind::MinPriorityQueue => "priority-queue-monitor",
        Kind::Set => "set-monitor",
        Kind::Mutex => "mutex-monitor",
        Kind::Snapshot => "snapshot-monitor",
    }
}

/// Why the kind's monitor may decide what it decides.
pub(super) fn permission(kind: Kind) -> String {
    match kind {
        Kind::Set => "it is a set, and each key is decided on its own".into(),
        Kind::Mutex => "it is a lock without owners".into(),
        Kind::Snapshot => {
            "it is a snapshot, updates of a segment do not overlap, and it is clear which ones scans show".into()
        }
        _ => format!("it is a {kind} and values differ where operations overlap"),
    }
}

/// Decides the part up to the event of rank `until`, or says why no monitor fits.
pub(super) fn decide<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    history: &History<S::Op, S::Ret>,
    indices: &[u32],
    until: u32,
    budget: &Budget,
) -> Result<Found, String> {
    let mut words = Words::new(canonical);
    let mut said = Vec::with_capacity(indices.len());
    let mut index = Vec::with_capacity(indices.len());
    for &i in indices {
        let o = &history.operations()[i as usize];
        if o.call >= until {
            break;
        }
        let returned = if o.returned >= until { PENDING } else { o.returned };
        let result = if returned == PENDING { None } else { o.result.as_ref() };
        let span = Span { call: o.call, returned };
        if let Some(action) = action(spec, canonical, &o.op, result, returned)? {
            said.push(Op { span, action: words.numbered(&action) });
            index.push(i);
        }
    }
    words.settle();
    Ok(words.decide(&said, budget)?.renamed(|n| index[n as usize]))
}

/// What an operation is in the words of the kind; nothing where nobody saw it and it changed nothing. The error says
/// why the monitor does not fit.
pub(super) fn action<S: Spec>(
    spec: &S,
    canonical: &Canonical<S::Op, S::Ret>,
    op: &S::Op,
    result: Option<&S::Ret>,
    returned: u32,
) -> Result<Option<Action>, String> {
    if returned == PENDING && spec.observes(op, None) {
        return Ok(None);
    }
    if result.is_none() && returned != PENDING {
        return Err(format!("the result of {} is not known", spec.show(op, None)));
    }
    match (canonical.action)(op, result) {
        Some(action) => Ok(Some(action)),
        None => {
            let (kind, shown) = (canonical.kind, spec.show(op, result));
            Err(format!("the {kind} monitor has no rule for {shown}"))
        }
    }
}
