//! Orders of operations with the states between them, for a page: the witness of a linearizable history; of a
//! violation the longest orders that a search found, and why nothing can come next.
//!
//! Nothing here decides: the verdict is known. The search of a violation is bounded in operations and steps; what it
//! found is said to be the longest *found*.

use std::collections::HashSet;

use serde_json::{Value as Json, json};
use trueline::spec::{Dynamic, Invocation, OpaqueState, Spec};
use trueline::verdict::Explanation;
use trueline::{Value, Verdict};

use crate::Case;
use crate::words::{count, cut, grouped};

/// Witnesses of more operations than this are not shown.
const WITNESS: usize = 2_000;
/// Violations with more operations than this before the first bad return show orders of the explanation alone.
const MOST: usize = 500;
/// Steps of the search for long orders.
const STEPS: usize = 20_000;
/// States are cut to this many columns.
const STATE: usize = 240;

/// Orders that share their beginnings: a tree of operations. Operations are numbered as they are shown.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Orders {
    /// Whether the main order explains everything.
    pub complete: bool,
    /// What these orders are.
    pub note: String,
    /// The state before the first operation.
    pub initial: String,
    /// The operation of each node.
    pub op: Vec<u32>,
    /// The node before each, or -1.
    pub parent: Vec<i32>,
    /// The state after each.
    pub state: Vec<String>,
    /// The last node of the main order, or -1.
    pub main: i32,
    /// The last node of the longest order through each operation, or -1.
    pub best: Vec<i32>,
    /// Operations that could be next by their times, and why they cannot be.
    pub next: Vec<(u32, String)>,
}

impl Orders {
    pub(crate) fn json(&self) -> Json {
        json!({
            "complete": self.complete,
            "note": self.note,
            "initial": self.initial,
            "op": self.op,
            "parent": self.parent,
            "state": self.state,
            "main": self.main,
            "best": self.best,
            "next": self.next,
        })
    }

    /// Adds an order; the number of its last node.
    fn add(&mut self, order: &[(u32, String)]) -> i32 {
        let mut node = -1;
        for (op, state) in order {
            let known = (0..self.op.len())
                .find(|&k| self.parent[k] == node && self.op[k] == *op && self.state[k] == *state);
            node = known.unwrap_or_else(|| {
                self.op.push(*op);
                self.parent.push(node);
                self.state.push(state.clone());
                self.op.len() - 1
            }) as i32;
        }
        node
    }
}

/// The orders of a case whose operations at `shown` are shown.
pub(crate) fn of(case: &Case, spec: &Dynamic, shown: &[u32]) -> Option<Orders> {
    // A counter whose results have two meanings, and calls that are read with more than their arguments (owners), would be
    // stepped through as something else than what was decided.
    let has_two_meanings = case.spec.starts_with("counter") && !case.spec.contains("results=");
    if has_two_meanings || shown.iter().any(|&i| spec.accepts(&call(case, i).0).is_err()) {
        return None;
    }
    match &case.outcome.verdict {
        Verdict::Linearizable(witness) => of_witness(case, spec, shown, &witness.order),
        Verdict::Violation(explanation) => of_violation(case, spec, shown, explanation),
        Verdict::Unknown(_) => None,
    }
}

/// An operation of the history as a call by name, and its result.
fn call(case: &Case, index: u32) -> (Invocation, Option<Value>) {
    let o = &case.history.operations()[index as usize];
    let method = &case.history.methods()[o.op.method as usize];
    (Invocation::new(method, o.op.args.as_slice().to_vec()), o.result.clone())
}

fn show(spec: &Dynamic, state: &OpaqueState) -> String {
    cut(&spec.show_state(state), STATE, "…")
}

fn of_witness(case: &Case, spec: &Dynamic, shown: &[u32], order: &[u32]) -> Option<Orders> {
    if order.len() > WITNESS || order.is_empty() {
        return None;
    }
    // Each object and key has a state of its own.
    let mut states = vec![spec.initial(); case.history.parts().len()];
    let mut path = Vec::new();
    for &i in order {
        let part = case.history.operations()[i as usize].part as usize;
        let (op, result) = call(case, i);
        let mut next = Vec::new();
        spec.step(&states[part], &op, result.as_ref(), &mut next);
        // Of several next states the one that the witness meant is not known; the first would be a guess.
        let [state] = next.as_slice() else { return None };
        states[part] = state.clone();
        path.push((shown.binary_search(&i).ok()? as u32, show(spec, state)));
    }
    let note = "The slider walks through an order that was replayed against the sequential object; there may \
                be others. Diamonds mark where each operation takes effect.";
    let mut orders = Orders {
        complete: true,
        note: note.into(),
        initial: show(spec, &spec.initial()),
        best: vec![-1; shown.len()],
        ..Orders::default()
    };
    orders.main = orders.add(&path);
    for (op, _) in &path {
        orders.best[*op as usize] = orders.main;
    }
    Some(orders)
}

/// A search for long orders of the operations of a violation.
struct Search<'a> {
    spec: &'a Dynamic,
    calls: Vec<(Invocation, Option<Value>)>,
    /// Call and return of each; the return is `u32::MAX` where the outcome counts as unknown.
    spans: Vec<(u32, u32)>,
    seen: HashSet<(Vec<u64>, OpaqueState)>,
    taken: Vec<u64>,
    path: Vec<(usize, OpaqueState)>,
    longest: Vec<(usize, OpaqueState)>,
    /// The longest path through each operation.
    through: Vec<Vec<(usize, OpaqueState)>>,
    steps: usize,
}

impl Search<'_> {
    fn is_taken(&self, n: usize) -> bool {
        self.taken[n / 64] >> (n % 64) & 1 == 1
    }

    /// The operations that can be next by their times.
    fn candidates(&self) -> Vec<usize> {
        let open = |n: &usize| !self.is_taken(*n);
        let first = (0..self.spans.len()).filter(open).map(|n| self.spans[n].1).min();
        let first = first.unwrap_or(u32::MAX);
        (0..self.spans.len()).filter(open).filter(|&n| self.spans[n].0 < first).collect()
    }

    fn explore(&mut self, state: &OpaqueState) {
        self.steps += 1;
        self.note();
        if self.steps > STEPS || !self.seen.insert((self.taken.clone(), state.clone())) {
            return;
        }
        for n in self.candidates() {
            let mut next = Vec::new();
            let (op, result) = &self.calls[n];
            let result = result.as_ref().filter(|_| self.spans[n].1 != u32::MAX);
            self.spec.step(state, op, result, &mut next);
            for after in next {
                self.taken[n / 64] |= 1 << (n % 64);
                self.path.push((n, after.clone()));
                self.explore(&after);
                self.path.pop();
                self.taken[n / 64] &= !(1 << (n % 64));
                if self.steps > STEPS {
                    return;
                }
            }
        }
    }

    /// Keeps the path where it is longer than what is known.
    fn note(&mut self) {
        if self.path.len() > self.longest.len() {
            self.longest.clone_from(&self.path);
        }
        for k in 0..self.path.len() {
            let n = self.path[k].0;
            if self.through[n].len() < self.path.len() {
                let path = self.path.clone();
                self.through[n] = path;
            }
        }
    }
}

fn of_violation(
    case: &Case,
    spec: &Dynamic,
    shown: &[u32],
    explanation: &Explanation,
) -> Option<Orders> {
    // A story that starts late has no first state that could be shown.
    if explanation.start.is_some() {
        return None;
    }
    let operations = case.history.operations();
    let part = operations[*explanation.operations.first()? as usize].part;
    let end = explanation.fine_until.map_or(explanation.until, |rank| rank.saturating_add(1));
    let before: Vec<u32> = (0..operations.len() as u32)
        .filter(|&i| operations[i as usize].part == part && operations[i as usize].call < end)
        .take(MOST + 1)
        .collect();
    let (of, which) = match before.len() <= MOST && explanation.fine_until.is_some() {
        true => (before, "of all operations up to the first return that cannot be explained"),
        false => (explanation.operations.clone(), "of the operations of the explanation"),
    };
    let until = if of == explanation.operations { explanation.until } else { end };
    let span = |&i: &u32| {
        let o = &operations[i as usize];
        (o.call, if o.is_pending() || o.returned >= until { u32::MAX } else { o.returned })
    };
    let mut search = Search {
        spec,
        calls: of.iter().map(|&i| call(case, i)).collect(),
        spans: of.iter().map(span).collect(),
        seen: HashSet::new(),
        taken: vec![0; of.len().div_ceil(64)],
        path: Vec::new(),
        longest: Vec::new(),
        through: vec![Vec::new(); of.len()],
        steps: 0,
    };
    search.explore(&spec.initial());
    let place = |n: usize| shown.binary_search(&of[n]).ok().map(|k| k as u32);
    let steps = grouped(search.steps.min(STEPS) as u64);
    let all = if search.steps > STEPS { "" } else { ", which tried all of them" };
    let mut orders = Orders {
        note: format!(
            "{} of {} have an order that the object allows, {which}. Found by a search of {steps} steps{all}. \
             Select an operation to see the longest order found that contains it.",
            grouped(search.longest.len() as u64),
            count(of.len() as u64, "operation"),
        ),
        initial: show(spec, &spec.initial()),
        best: vec![-1; shown.len()],
        ..Orders::default()
    };
    let told = |path: &[(usize, OpaqueState)]| -> Option<Vec<(u32, String)>> {
        path.iter().map(|(n, state)| Some((place(*n)?, show(spec, state)))).collect()
    };
    orders.main = orders.add(&told(&search.longest)?);
    for (n, path) in search.through.iter().enumerate() {
        if !path.is_empty() {
            orders.best[place(n)? as usize] = orders.add(&told(path)?);
        }
    }
    // What could come next after the longest order, and why it cannot.
    for (n, _) in &search.longest {
        search.taken[n / 64] |= 1 << (n % 64);
    }
    let last = search.longest.last().map_or_else(|| spec.initial(), |(_, state)| state.clone());
    let state = show(spec, &last);
    for n in search.candidates() {
        // One whose outcome is unknown need not come at all.
        if search.spans[n].1 != u32::MAX {
            let label = (case.show)(of[n], true);
            orders.next.push((place(n)?, format!("{label} is not legal: the object is {state}")));
        }
    }
    // Of the others, those of the explanation: what they have to wait for.
    for n in 0..of.len() {
        let is_first = search.candidates().contains(&n);
        if search.is_taken(n) || is_first || !explanation.operations.contains(&of[n]) {
            continue;
        }
        let earlier = |m: &usize| !search.is_taken(*m) && search.spans[*m].1 < search.spans[n].0;
        if let Some(m) = (0..of.len()).find(earlier) {
            let label = (case.show)(of[m], true);
            let why = format!("it comes after {label}, which had returned before it was called");
            orders.next.push((place(n)?, why));
        }
    }
    Some(orders)
}
