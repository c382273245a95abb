//! Decides a part by an exact monitor, if the specification is of a known kind and the history
//! allows it.
//!
//! The claim to be of a kind is tested on all short sequences ([`trust`]). Then the operations of
//! the part are translated to actions of the kind, and [`super::words`] decides. A violation is
//! confirmed by the reference search like any other.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use super::words::{Found, Words};
use crate::budget::Budget;
use crate::history::PENDING;
use crate::monitor::{Op, Span};
use crate::spec::subject::{Claim, Recorded, Subject};
use crate::spec::{Action, Kind};

/// The longest sequences on which a claim is tested, the number of values they use, and how many
/// operations are searched for these.
const LENGTH: usize = 5;
const VALUES: usize = 2;
const LOOK: usize = 20_000;

/// Tests the claim on all sequences of up to five operations on two values of the part: the
/// specification must allow exactly what the model of the kind allows. An error gives a sequence on
/// which they differ.
pub(crate) fn trust(subject: &Subject<'_>, claim: &Claim, indices: &[u32]) -> Result<(), String> {
    let mut words = Words::new(claim);
    // One operation for everything that is done: to each value, and without one.
    let mut done: Vec<(u32, Action<u32>)> = Vec::new();
    let mut seen: HashSet<Action<u32>, FixedState> = HashSet::default();
    let mut variety: HashMap<u32, usize, FixedState> = HashMap::default();
    for &i in indices.iter().take(LOOK) {
        let o = &subject.history.operations()[i as usize];
        if o.is_pending() || o.result.is_none() {
            continue;
        }
        let Some(action) = subject.spec.action(Recorded::whole(i)) else { continue };
        let action = words.numbered(&action);
        if seen.insert(action) {
            done.push((i, action));
            if let Some(value) = action.value() {
                *variety.entry(value).or_default() += 1;
            }
        }
    }
    // Values on which the most different operations act test the most; among these, earlier ones
    // are preferred.
    let mut values: Vec<(usize, u32)> = variety.into_iter().map(|(v, n)| (n, v)).collect();
    values.sort_unstable_by_key(|&(n, value)| (std::cmp::Reverse(n), value));
    values.truncate(VALUES);
    let is_chosen = |action: &Action<u32>| {
        action.value().is_none_or(|value| values.iter().any(|&(_, v)| v == value))
    };
    // A scan returns many values: updates and scans are chosen separately, and their sequences are
    // shorter.
    let (mut updates, mut scans) = (0, 0);
    let mut first_ones = |action: &Action<u32>| {
        let count = if let Action::Scan(_) = action { &mut scans } else { &mut updates };
        *count += 1;
        *count <= VALUES
    };
    let is_snapshot = claim.kind == Kind::Snapshot;
    let length = if is_snapshot { LENGTH - 1 } else { LENGTH };
    let mut is_chosen =
        |action: &Action<u32>| if is_snapshot { first_ones(action) } else { is_chosen(action) };
    let chosen: Vec<(u32, Action<u32>)> =
        done.into_iter().filter(|(_, action)| is_chosen(action)).collect();
    words.rank_values();
    let state = words.start(values.iter().map(|&(_, value)| value));
    let actions: Vec<Action<u32>> =
        chosen.iter().map(|(_, a)| a.map(|v| words.ranked(v))).collect();
    let operations: Vec<Recorded> = chosen.iter().map(|&(i, _)| Recorded::whole(i)).collect();
    let mut table = subject.spec.states(&operations);
    let mut sequences = vec![(Vec::new(), vec![table.initial()], state)];
    let mut after = Vec::new();
    for step in 1..=length {
        let mut longer = Vec::new();
        for (sequence, states, state) in &sequences {
            for (n, &operation) in operations.iter().enumerate() {
                after.clear();
                for &before in states {
                    table.step(before, n as u32, &mut after);
                }
                let mut next = state.clone();
                let is_legal = words.apply(&mut next, actions[n]);
                if after.is_empty() != is_legal {
                    // The longest sequences are not made longer.
                    if is_legal && step < length {
                        let mut sequence: Vec<Recorded> = sequence.clone();
                        sequence.push(operation);
                        longer.push((sequence, after.clone(), next));
                    }
                    continue;
                }
                let sequence = sequence.iter().chain([&operation]);
                let shown: Vec<String> = sequence.map(|&o| subject.spec.show(o)).collect();
                let kind = claim.kind;
                return Err(format!(
                    "not a {kind}: the specification and the {kind} model disagree on {}",
                    shown.join(", ")
                ));
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

/// Why the kind's monitor may decide the history.
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
pub(super) fn decide(
    subject: &Subject<'_>,
    claim: &Claim,
    indices: &[u32],
    until: u32,
    budget: &Budget,
) -> Result<Found, String> {
    let mut words = Words::new(claim);
    let mut said = Vec::with_capacity(indices.len());
    let mut index = Vec::with_capacity(indices.len());
    for &i in indices {
        let o = &subject.history.operations()[i as usize];
        if o.call >= until {
            break;
        }
        let returned = if o.returned >= until { PENDING } else { o.returned };
        let span = Span { call: o.call, returned };
        if let Some(action) = action(subject, claim, i, returned)? {
            said.push(Op { span, action: words.numbered(&action) });
            index.push(i);
        }
    }
    words.rank_values();
    Ok(words.decide(&said, budget)?.renamed(|n| index[n as usize]))
}

/// The action of an operation in the terms of the kind, if it returned at `returned`; `None` if it
/// was not observed and changed nothing. An error says why the monitor does not fit.
fn action(
    subject: &Subject<'_>,
    claim: &Claim,
    index: u32,
    returned: u32,
) -> Result<Option<Action>, String> {
    let (spec, is_open) = (&subject.spec, returned == PENDING);
    if is_open && spec.observes(Recorded::open(index)) {
        return Ok(None);
    }
    if !is_open && subject.history.operations()[index as usize].result.is_none() {
        return Err(format!("the result of {} is not known", spec.show(Recorded::open(index))));
    }
    let operation = Recorded { index, has_result: !is_open };
    match spec.action(operation) {
        Some(action) => Ok(Some(action)),
        None => {
            let (kind, shown) = (claim.kind, spec.show(operation));
            Err(format!("the {kind} monitor has no rule for {shown}"))
        }
    }
}
