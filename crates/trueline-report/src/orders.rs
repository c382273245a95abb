//! Orders of operations with the states between them, for a page. For a linearizable history this
//! is the witness; for a violation, the longest orders that a search found, and why no operation
//! can come next.
//!
//! This code decides nothing: the verdict is known. Of a violation the checker gives an order for
//! one part of the history, the part before the first return that cannot be explained. A search
//! then tries the last operations of that order in other orders. The search is bounded in
//! operations and steps, so the report calls the result the longest order *found*.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Value as Json, json};
use trueline::spec::{Dynamic, Invocation, Named, OpaqueState, Spec};
use trueline::verdict::Explanation;
use trueline::{Algorithm, Budget, Value, Verdict};

use crate::Case;
use crate::words::{count, cut, grouped};

/// Longer witnesses are not shown.
const WITNESS: usize = 2_000;
/// Orders of a violation have at most this many operations.
const MOST: usize = 500;
/// Steps of the search for long orders.
const STEPS: usize = 20_000;
/// Steps of the search that checks the prefix before the violation.
const PREFIX_STEPS: u64 = 2_000_000;
/// Orders through single operations are kept as long as all of them together have at most this many
/// nodes.
const NODES: usize = 5_000;
/// At most this many end states of other orders of the same length are kept.
const ENDS: usize = 8;
/// States are cut to this many columns.
const STATE: usize = 240;

/// Orders that share their beginnings: a tree of operations. Operations have the numbers under
/// which they are shown.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Orders {
    /// Whether the main order explains everything.
    pub complete: bool,
    /// A caption for these orders.
    pub note: String,
    /// What happened before the first operation, unless the object had just been created.
    pub before: Option<String>,
    /// The state before the first operation.
    pub initial: String,
    /// The operation of each node.
    pub op: Vec<u32>,
    /// The node before each, or -1.
    pub parent: Vec<i32>,
    /// The state after each.
    pub state: Vec<String>,
    /// The last node of the main order, or -1 if there is none.
    pub main: i32,
    /// The last node of the longest order through each operation, or -1 if there is none.
    pub best: Vec<i32>,
    /// The operations that are not in the main order, and why none of them can come next.
    pub next: Vec<(u32, String)>,
    /// The end states of other orders that are as long as the main one.
    pub ends: Vec<String>,
    /// The nodes by parent, operation and state.
    known: HashMap<(i32, u32, String), i32>,
}

impl Orders {
    pub(crate) fn json(&self) -> Json {
        let before = |k: usize| match self.parent[k] {
            -1 => &self.initial,
            parent => &self.state[parent as usize],
        };
        let states = (0..self.op.len()).map(|k| difference(before(k), &self.state[k]));
        json!({
            "complete": self.complete,
            "note": self.note,
            "before": self.before,
            "initial": self.initial,
            "op": self.op,
            "parent": self.parent,
            "state": states.collect::<Vec<Json>>(),
            "main": self.main,
            "best": self.best,
            "next": self.next,
            "ends": self.ends,
        })
    }

    /// Adds an order and returns the number of its last node.
    fn add(&mut self, order: &[(u32, String)]) -> i32 {
        let mut node = -1;
        for (op, state) in order {
            let new = self.op.len() as i32;
            let known = *self.known.entry((node, *op, state.clone())).or_insert(new);
            if known == new {
                self.op.push(*op);
                self.parent.push(node);
                self.state.push(state.clone());
            }
            node = known;
        }
        node
    }
}

/// A state as its difference from the state before: how many characters stay at the start and at
/// the end, and the text between them.
fn difference(before: &str, after: &str) -> Json {
    let (old, new): (Vec<char>, Vec<char>) = (before.chars().collect(), after.chars().collect());
    let most = old.len().min(new.len());
    let start = (0..most).take_while(|&k| old[k] == new[k]).count();
    let back = |k: &usize| old[old.len() - 1 - k] == new[new.len() - 1 - k];
    let end = (0..most - start).take_while(back).count();
    json!([start, end, new[start..new.len() - end].iter().collect::<String>()])
}

/// The orders of a case; `shown` are the indices of the operations shown.
pub(crate) fn of(case: &Case, named: &Named, shown: &[u32]) -> Option<Orders> {
    let spec = named.dynamic();
    // Two kinds of specifications would be stepped through in another meaning than the one that was
    // decided: a counter whose results have two meanings, and calls that are decoded with more than
    // their arguments (owners).
    let has_two_meanings = case.spec.starts_with("counter") && !case.spec.contains("results=");
    if has_two_meanings || shown.iter().any(|&i| spec.accepts(&call(case, i).0).is_err()) {
        return None;
    }
    match &case.outcome.verdict {
        Verdict::Linearizable(witness) => of_witness(case, &spec, shown, &witness.order),
        Verdict::Violation(explanation) => {
            let scene = Scene::before_the_bad_return(case, named, &spec, explanation)
                .or_else(|| Scene::of_the_explanation(&spec, explanation))?;
            of_violation(case, &spec, shown, explanation, scene)
        }
        Verdict::Unknown(_) => None,
    }
}

/// An operation of the history as a call by name, and its result.
pub(crate) fn call(case: &Case, index: u32) -> (Invocation, Option<Value>) {
    let o = &case.history.operations()[index as usize];
    let method = &case.history.methods()[o.op.method as usize];
    (Invocation::new(method, o.op.args.as_slice().to_vec()), o.result.clone())
}

fn show(spec: &Dynamic, state: &OpaqueState) -> String {
    cut(&spec.show_state(state), STATE, "…")
}

/// The state after an operation, if there is exactly one.
fn after(case: &Case, spec: &Dynamic, state: &OpaqueState, index: u32) -> Option<OpaqueState> {
    let (op, result) = call(case, index);
    let mut next = Vec::new();
    spec.step(state, &op, result.as_ref(), &mut next);
    match next.len() {
        1 => next.pop(),
        _ => None,
    }
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
        // If there are several next states, the one that the witness used is not known. Showing the
        // first would be a guess.
        states[part] = after(case, spec, &states[part], i)?;
        path.push((shown.binary_search(&i).ok()? as u32, show(spec, &states[part])));
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

/// The operations whose orders are searched, and where they begin.
struct Scene {
    /// Operations, ascending.
    of: Vec<u32>,
    /// Returns after this rank count as unknown.
    until: u32,
    /// The state before the first of them.
    start: OpaqueState,
    /// How many operations of the object came before.
    earlier: usize,
    /// A known order of some of them.
    guide: Vec<u32>,
    /// Which operations these are, for the caption.
    which: &'static str,
}

impl Scene {
    /// The object and key of the violation up to the first return that cannot be explained. The
    /// operations before the last ones are in the order of a witness.
    fn before_the_bad_return(
        case: &Case,
        named: &Named,
        spec: &Dynamic,
        explanation: &Explanation,
    ) -> Option<Scene> {
        let fine_until = explanation.fine_until.filter(|_| explanation.start.is_none())?;
        let operations = case.history.operations();
        let home = |i: u32| (operations[i as usize].part, spec.partition(&call(case, i).0));
        let part = home(*explanation.operations.first()?);
        let end = fine_until.saturating_add(1);
        let called = operations.partition_point(|o| o.call < end);
        let own: Vec<u32> = (0..called as u32).filter(|&i| home(i) == part).collect();
        let budget = Budget::unlimited().steps(PREFIX_STEPS);
        let prefix = case.history.select(&own).prefix(fine_until);
        let outcome = named.check(&prefix, Algorithm::Auto, &budget).ok()?;
        let Verdict::Linearizable(witness) = outcome.verdict else { return None };
        let order: Vec<u32> = witness.order.iter().map(|&k| own[k as usize]).collect();
        let (head, guide) = order.split_at(order.len().saturating_sub(MOST));
        let mut start = spec.initial();
        for &i in head {
            let (op, _) = call(case, i);
            let o = &operations[i as usize];
            let mut next = Vec::new();
            spec.step(&start, &op, o.result.as_ref().filter(|_| o.returned < end), &mut next);
            let [state] = next.as_slice() else { return None };
            start = state.clone();
        }
        let earlier: HashSet<u32> = head.iter().copied().collect();
        let of: Vec<u32> = own.into_iter().filter(|i| !earlier.contains(i)).collect();
        (of.len() <= 2 * MOST).then_some(Scene {
            of,
            until: end,
            start,
            earlier: head.len(),
            guide: guide.to_vec(),
            which: "up to the first return that cannot be explained",
        })
    }

    /// The operations of the explanation, for use if nothing else is known.
    fn of_the_explanation(spec: &Dynamic, explanation: &Explanation) -> Option<Scene> {
        // An explanation that starts late has no known first state.
        let is_short = explanation.start.is_none() && explanation.operations.len() <= MOST;
        is_short.then(|| Scene {
            of: explanation.operations.clone(),
            until: explanation.until,
            start: spec.initial(),
            earlier: 0,
            guide: Vec::new(),
            which: "of the explanation alone",
        })
    }
}

/// A path: operations by number, with the state after each.
type Path = Vec<(usize, OpaqueState)>;

/// A search for long orders of the operations of a violation.
struct Search<'a> {
    spec: &'a Dynamic,
    calls: Vec<(Invocation, Option<Value>)>,
    /// Call and return of each; the return is `u32::MAX` if the outcome counts as unknown.
    spans: Vec<(u32, u32)>,
    seen: HashSet<(Vec<u64>, OpaqueState)>,
    taken: Vec<u64>,
    path: Path,
    longest: Path,
    /// The end states of paths that are as long as the longest one.
    ends: Vec<OpaqueState>,
    /// The longest path through each operation.
    through: Vec<Rc<Path>>,
    steps: usize,
}

impl Search<'_> {
    fn is_taken(&self, n: usize) -> bool {
        self.taken[n / 64] >> (n % 64) & 1 == 1
    }

    /// The operations that can come next by their times.
    fn candidates(&self) -> Vec<usize> {
        let open = |n: &usize| !self.is_taken(*n);
        let first = (0..self.spans.len()).filter(open).map(|n| self.spans[n].1).min();
        let first = first.unwrap_or(u32::MAX);
        (0..self.spans.len()).filter(open).filter(|&n| self.spans[n].0 < first).collect()
    }

    fn after(&self, state: &OpaqueState, n: usize) -> Vec<OpaqueState> {
        let mut next = Vec::new();
        let (op, result) = &self.calls[n];
        let result = result.as_ref().filter(|_| self.spans[n].1 != u32::MAX);
        self.spec.step(state, op, result, &mut next);
        next
    }

    fn push(&mut self, n: usize, state: OpaqueState) {
        self.taken[n / 64] |= 1 << (n % 64);
        self.path.push((n, state));
    }

    fn pop(&mut self) {
        if let Some((n, _)) = self.path.pop() {
            self.taken[n / 64] &= !(1 << (n % 64));
        }
    }

    /// Follows a known order as long as its states are unambiguous, and searches on from there.
    fn follow(&mut self, guide: &[usize], start: &OpaqueState) {
        let mut state = start.clone();
        for &n in guide {
            if !self.candidates().contains(&n) {
                break;
            }
            let next = self.after(&state, n);
            let [next] = next.as_slice() else { break };
            self.push(n, next.clone());
            self.note();
            state = next.clone();
        }
        self.explore(&state);
        while !self.path.is_empty() {
            self.pop();
        }
    }

    fn explore(&mut self, state: &OpaqueState) {
        self.steps += 1;
        self.note();
        if self.steps > STEPS || !self.seen.insert((self.taken.clone(), state.clone())) {
            return;
        }
        for n in self.candidates() {
            for after in self.after(state, n) {
                self.push(n, after.clone());
                self.explore(&after);
                self.pop();
                if self.steps > STEPS {
                    return;
                }
            }
        }
    }

    /// Records the path if it is longer than the longest known one.
    fn note(&mut self) {
        let length = self.path.len();
        if length > self.longest.len() {
            self.longest.clone_from(&self.path);
            self.ends.clear();
        }
        if let Some((_, state)) = self.path.last()
            && length == self.longest.len()
            && self.ends.len() < ENDS
            && !self.ends.contains(state)
        {
            self.ends.push(state.clone());
        }
        let mut path = None;
        for k in 0..length {
            let n = self.path[k].0;
            if self.through[n].len() < length {
                let path = path.get_or_insert_with(|| Rc::new(self.path.clone()));
                self.through[n] = Rc::clone(path);
            }
        }
    }
}

fn of_violation(
    case: &Case,
    spec: &Dynamic,
    shown: &[u32],
    explanation: &Explanation,
    scene: Scene,
) -> Option<Orders> {
    let Scene { of, until, start, earlier, guide, which } = scene;
    let operations = case.history.operations();
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
        ends: Vec::new(),
        through: vec![Rc::default(); of.len()],
        steps: 0,
    };
    let guide: Vec<usize> = guide.iter().filter_map(|i| of.binary_search(i).ok()).collect();
    search.follow(&guide, &start);
    search.explore(&start);
    let tried = match search.steps > STEPS {
        true => format!("a search of {} steps found no longer one", grouped(STEPS as u64)),
        false => "a search tried every other order, and none is longer".to_string(),
    };
    let all = count(of.len() as u64, "operation");
    let note = match search.longest.len() {
        0 => format!("Not one of the {all} {which} can come first; {tried}."),
        long => format!(
            "The object allows an order of {} of the {all} {which}; {tried}. Select an operation to see the \
             longest order found that contains it.",
            grouped(long as u64)
        ),
    };
    let before = (earlier > 0).then(|| {
        let before = count(earlier as u64, "earlier operation");
        format!("{before} come first, in one order that explains them; others were not tried.")
    });
    let mut orders = Orders {
        note,
        before,
        initial: show(spec, &start),
        best: vec![-1; shown.len()],
        ..Orders::default()
    };
    let place = |n: usize| shown.binary_search(&of[n]).ok().map(|k| k as u32);
    let told = |path: &[(usize, OpaqueState)]| -> Option<Vec<(u32, String)>> {
        path.iter().map(|(n, state)| Some((place(*n)?, show(spec, state)))).collect()
    };
    orders.main = orders.add(&told(&search.longest)?);
    for (n, path) in search.through.iter().enumerate() {
        if !path.is_empty() && orders.op.len() < NODES {
            orders.best[place(n)? as usize] = orders.add(&told(path)?);
        }
    }
    let last = search.longest.last().map_or(&start, |(_, state)| state).clone();
    let others = search.ends.iter().filter(|state| **state != last);
    orders.ends = others.map(|state| show(spec, state)).collect();
    for (n, why) in why_not_next(&mut search, &last, |n| (case.show)(of[n], true)) {
        let is_told = explanation.operations.contains(&of[n]);
        if is_told || why.is_next {
            orders.next.push((place(n)?, why.text));
        }
    }
    Some(orders)
}

/// Why an operation cannot come next.
struct Why {
    /// Whether its times allow it to come next.
    is_next: bool,
    text: String,
}

/// Why the operations that are not in the longest order cannot come after it. An operation with an
/// unknown outcome need not come at all.
fn why_not_next(
    search: &mut Search,
    last: &OpaqueState,
    label: impl Fn(usize) -> String,
) -> Vec<(usize, Why)> {
    for n in search.longest.iter().map(|(n, _)| *n).collect::<Vec<_>>() {
        search.taken[n / 64] |= 1 << (n % 64);
    }
    let state = show(search.spec, last);
    let candidates = search.candidates();
    let returns = |n: &usize| search.spans[*n].1 != u32::MAX;
    // A search that was cut short may have left out a legal one.
    let is_illegal = |n: &usize| search.after(last, *n).is_empty();
    let illegal = candidates.iter().filter(|n| returns(n) && is_illegal(n)).map(|&n| {
        let text = format!("{} is not legal in the state {state}", label(n));
        (n, Why { is_next: true, text })
    });
    let open = |n: &usize| !search.is_taken(*n) && !candidates.contains(n);
    let waiting = (0..search.spans.len()).filter(open).filter_map(|n| {
        let earlier = |m: &usize| !search.is_taken(*m) && search.spans[*m].1 < search.spans[n].0;
        let m = (0..search.spans.len()).find(earlier)?;
        let text = format!("it comes after {}, which had returned before it was called", label(m));
        Some((n, Why { is_next: false, text }))
    });
    illegal.chain(waiting).collect()
}
