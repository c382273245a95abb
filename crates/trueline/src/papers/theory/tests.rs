//! Every theory accepts exactly the legal sequential histories of up to five operations: all of
//! them are tried, with all matchings, and compared with the object. The formulas are evaluated
//! here by their definition.

use super::{Formula, Theory};
use crate::theory::{Label, Method, Object};
use crate::value::Value;

/// A history with an order and a matching.
struct Structure<'a> {
    labels: &'a [Label],
    before: &'a dyn Fn(usize, usize) -> bool,
    /// The match of each operation.
    matching: Vec<Option<usize>>,
}

impl Structure<'_> {
    fn holds(&self, formula: &Formula, at: &mut Vec<usize>) -> bool {
        let label = |x: u8, at: &[usize]| &self.labels[at[x as usize]];
        match formula {
            Formula::Is(x, method) => label(*x, at).method == *method,
            Formula::Returns(x, value) => label(*x, at).result.as_ref() == Some(value),
            Formula::ReturnsArgument(x, y) => {
                label(*x, at).result.as_ref() == Some(&label(*y, at).argument)
            }
            Formula::SameArgument(x, y) => label(*x, at).argument == label(*y, at).argument,
            Formula::LessArgument(x, y) => label(*x, at).argument < label(*y, at).argument,
            Formula::Same(x, y) => at[*x as usize] == at[*y as usize],
            Formula::Before(x, y) => (self.before)(at[*x as usize], at[*y as usize]),
            Formula::Match(x, y) => self.matching[at[*y as usize]] == Some(at[*x as usize]),
            Formula::Not(inner) => !self.holds(inner, at),
            Formula::And(all) => all.iter().all(|f| self.holds(f, at)),
            Formula::Or(all) => all.iter().any(|f| self.holds(f, at)),
            Formula::Exists(x, inner) => (0..self.labels.len()).any(|o| {
                at.resize(*x as usize, 0);
                at.push(o);
                self.holds(inner, at)
            }),
        }
    }

    fn satisfies(&self, theory: &Theory) -> bool {
        theory.axioms.iter().all(|axiom| {
            let n = self.labels.len();
            tuples(axiom.variables, n).all(|mut at| {
                !axiom.premises.iter().all(|f| self.holds(f, &mut at))
                    || self.holds(&axiom.conclusion, &mut at)
            })
        })
    }
}

/// All tuples of this length of `n` operations.
fn tuples(length: u8, n: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..n.pow(u32::from(length))).map(move |mut number| {
        let mut at = Vec::new();
        for _ in 0..length {
            at.push(number % n);
            number /= n;
        }
        at
    })
}

/// Whether some matching satisfies the theory.
fn accepts(theory: &Theory, labels: &[Label], before: &dyn Fn(usize, usize) -> bool) -> bool {
    let n = labels.len();
    // A pair that the labels exclude from every matching.
    let forbidden = |x: usize, y: usize| {
        let alone = Structure { labels, before, matching: vec![None; n] };
        theory.axioms.iter().any(|axiom| {
            axiom.premises == [Formula::Match(0, 1)]
                && !matches!(axiom.conclusion, Formula::Match(..))
                && !alone.holds(&axiom.conclusion, &mut vec![x, y])
        })
    };
    let candidates: Vec<Vec<Option<usize>>> = (0..n)
        .map(|y| {
            let allowed = (0..n).filter(|&x| !forbidden(x, y)).map(Some);
            std::iter::once(None).chain(allowed).collect()
        })
        .collect();
    let mut choice = vec![0; n];
    loop {
        let matching = (0..n).map(|y| candidates[y][choice[y]]).collect();
        if (Structure { labels, before, matching }).satisfies(theory) {
            return true;
        }
        let Some(y) = (0..n).find(|&y| choice[y] + 1 < candidates[y].len()) else { return false };
        choice[..y].fill(0);
        choice[y] += 1;
    }
}

fn label(method: Method, argument: impl Into<Value>, result: impl Into<Value>) -> Label {
    Label { method, argument: argument.into(), result: Some(result.into()) }
}

const NIL: Value = Value::Nil;

/// Performs the operation as the object does; returns false if its result is wrong.
fn perform(object: Object, state: &mut Vec<Value>, label: &Label) -> bool {
    let result = label.result.clone().unwrap();
    let place = state.iter().position(|v| *v == label.argument);
    match (object, label.method) {
        (Object::Set, method) => {
            let told = match (method, place) {
                (Method::Add, None) => {
                    state.push(label.argument.clone());
                    true
                }
                (Method::Remove, Some(place)) => {
                    state.remove(place);
                    true
                }
                (Method::Contains, place) => place.is_some(),
                _ => false,
            };
            result.is_nil() || result == Value::Bool(told)
        }
        (Object::Register, Method::Write) => {
            *state = vec![label.argument.clone()];
            true
        }
        (Object::Register, _) => state.first() == Some(&result),
        (Object::Lock, Method::Acquire) if result == Value::Bool(false) => !state.is_empty(),
        (Object::Lock | Object::Semaphore(_), Method::Acquire) => {
            let limit = if let Object::Semaphore(limit) = object { limit as usize } else { 1 };
            state.push(label.argument.clone());
            state.len() <= limit
        }
        (Object::Lock | Object::Semaphore(_), _) => match state.iter().position(|v| *v == result) {
            Some(place) => {
                state.remove(place);
                true
            }
            None => false,
        },
        (_, Method::Add) => {
            state.push(label.argument.clone());
            true
        }
        (_, _) if state.is_empty() => result.is_nil(),
        (_, _) => {
            let largest = (0..state.len()).max_by_key(|&i| (&state[i], i)).unwrap();
            let smallest = (0..state.len()).min_by_key(|&i| (&state[i], i)).unwrap();
            let place = match object {
                Object::Queue => 0,
                Object::Stack => state.len() - 1,
                Object::PriorityQueue { smallest_first: true } => smallest,
                _ => largest,
            };
            state.remove(place) == result
        }
    }
}

/// Tries all sequences of up to `most` of these labels.
#[track_caller]
fn exact(object: Object, most: usize, labels: &[Label]) {
    let theory = Theory::of(object);
    let (mut legal, mut illegal) = (0, 0);
    for length in 1..=most {
        for choice in tuples(length as u8, labels.len()) {
            let history: Vec<Label> = choice.iter().map(|&i| labels[i].clone()).collect();
            let mut state = Vec::new();
            let expected = history.iter().all(|label| perform(object, &mut state, label));
            let found = accepts(&theory, &history, &|x, y| x < y);
            assert_eq!(found, expected, "{object}: {history:?}");
            if expected { legal += 1 } else { illegal += 1 }
        }
    }
    assert!(legal > 4 && illegal > 4, "{object}: {legal} legal, {illegal} illegal");
}

fn of_containers() -> Vec<Label> {
    let add = |v: i64| label(Method::Add, v, NIL);
    let remove = |v: Value| label(Method::Remove, NIL, v);
    vec![add(1), add(2), remove(1.into()), remove(2.into()), remove(NIL)]
}

#[test]
fn the_theory_of_queues_is_exact() {
    exact(Object::Queue, 5, &of_containers());
}

#[test]
fn the_theory_of_stacks_is_exact() {
    exact(Object::Stack, 5, &of_containers());
}

#[test]
fn the_theories_of_priority_queues_are_exact() {
    exact(Object::PriorityQueue { smallest_first: false }, 5, &of_containers());
    exact(Object::PriorityQueue { smallest_first: true }, 5, &of_containers());
}

#[test]
fn the_theory_of_sets_is_exact() {
    let of = |method, told: &[Value]| -> Vec<Label> {
        told.iter().map(|told| label(method, 1, told.clone())).collect()
    };
    let (yes, no) = (Value::Bool(true), Value::Bool(false));
    let contains = of(Method::Contains, &[yes.clone(), no.clone()]);
    let blind = [of(Method::Add, &[NIL]), of(Method::Remove, &[NIL]), contains.clone()].concat();
    exact(Object::Set, 5, &blind);
    let telling =
        [of(Method::Add, &[yes.clone(), no.clone()]), of(Method::Remove, &[yes, no]), contains];
    exact(Object::Set, 5, &telling.concat());
}

#[test]
fn the_theory_of_registers_is_exact() {
    let write = |v: i64| label(Method::Write, v, NIL);
    let read = |v: i64| label(Method::Read, NIL, v);
    exact(Object::Register, 5, &[write(1), write(2), read(1), read(2)]);
}

/// Acquires and releases with tags.
fn tagged() -> Vec<Label> {
    let acquire = |v: i64| label(Method::Acquire, v, NIL);
    let release = |v: i64| label(Method::Release, NIL, v);
    vec![acquire(1), acquire(2), release(1), release(2)]
}

#[test]
fn the_theory_of_locks_is_exact() {
    exact(Object::Lock, 5, &tagged());
    // Without tags, with acquires that fail.
    let acquire = |told: Value| label(Method::Acquire, NIL, told);
    let untagged = [acquire(NIL), acquire(false.into()), label(Method::Release, NIL, NIL)];
    exact(Object::Lock, 5, &untagged);
}

#[test]
fn the_theory_of_semaphores_is_exact() {
    exact(Object::Semaphore(1), 5, &tagged());
    exact(Object::Semaphore(2), 5, &tagged());
    let untagged = [label(Method::Acquire, NIL, NIL), label(Method::Release, NIL, NIL)];
    exact(Object::Semaphore(2), 5, &untagged);
}

/// An exchanger has no interesting sequential histories. By its definition, operations that got a
/// value form pairs of overlapping operations that got each other's offer; all histories of up to
/// three operations are tried.
#[test]
fn the_theory_of_exchangers_is_its_definition() {
    let theory = Theory::of(Object::Exchanger);
    let mut accepted = 0;
    for n in 1..=3usize {
        for choice in tuples(n as u8, 3 * 4) {
            // Offers 1 to 3; results nil and 1 to 3.
            let history: Vec<Label> = choice
                .iter()
                .map(|&i| {
                    let got = if i / 3 == 0 { NIL } else { Value::Int((i / 3) as i64) };
                    label(Method::Exchange, (i % 3 + 1) as i64, got)
                })
                .collect();
            // Which of the pairs (0, 1), (0, 2), (1, 2) are ordered.
            for orders in 0..8 {
                let before = |x: usize, y: usize| x < y && orders >> (x + y - 1) & 1 == 1;
                // A transitive order: 0 before 1 before 2 means 0 before 2.
                if before(0, 1) && before(1, 2) && !before(0, 2) {
                    continue;
                }
                let swap = |x: usize, y: usize| {
                    let (one, two) = (&history[x], &history[y]);
                    x != y
                        && !before(x, y)
                        && !before(y, x)
                        && one.result.as_ref() == Some(&two.argument)
                        && two.result.as_ref() == Some(&one.argument)
                };
                let got: Vec<usize> = (0..n).filter(|&x| history[x].result != Some(NIL)).collect();
                let expected = match got.as_slice() {
                    [] => true,
                    [x, y] => swap(*x, *y),
                    _ => false,
                };
                assert_eq!(accepts(&theory, &history, &before), expected, "{history:?} {orders}");
                accepted += usize::from(expected);
            }
        }
    }
    assert!(accepted > 100);
}
