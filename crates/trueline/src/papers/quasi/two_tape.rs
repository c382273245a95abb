//! The readings `uniform` and `literal`: writes p' and p'' side by side.
//!
//! Operations fall into classes: one class of all operations (`uniform`), or the additions and the
//! removals that returned a value (`literal`). Each step writes one operation of a class to p' and
//! one of the same class to p''. An operation that is on one tape only waits for the other, and its
//! age is the number of steps of its class since; an age above the bound of the class is a dead
//! end. p'' must stay legal, and p' must respect real time within each class.
//!
//! Why real time within the classes is enough: let α and β be orders of two classes that respect
//! real time, and suppose that α, β and 'returned before' together have a cycle. Take the operation
//! x of the cycle that returns first. Its predecessor in the cycle did not return before x was
//! called, so it is of x's class, and was called before x returned; by the same argument so is that
//! operation's predecessor, and so on around the cycle. But then the whole cycle is in α.
//!
//! In `literal` removals that found nothing are in no class: they are legal iff p'' is empty at
//! some moment, and then that is their place. Cost: exponential in the bound and in the number of
//! operations that overlap; linear in the length for histories that use little of either.

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use smallvec::SmallVec;

use crate::budget::Exhausted;
use crate::check::Ticker;
use crate::quasi::{Act, Bounds, PartHistory, Reading};
use crate::spec::Items;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// The operations on p'.
    placed: SmallVec<[u64; 2]>,
    /// The operations that are on one tape only, and their ages.
    window: SmallVec<[(u32, u32); 4]>,
    contents: Items<u32>,
    /// Whether p'' was empty at some moment.
    emptied: bool,
}

impl State {
    fn has(&self, operation: u32) -> bool {
        self.placed[operation as usize / 64] >> (operation % 64) & 1 == 1
    }

    fn waits(&self, operation: u32) -> bool {
        self.window.iter().any(|w| w.0 == operation)
    }

    /// The number of the first operation that is not on p'.
    fn first_free(&self) -> usize {
        let word = self.placed.iter().position(|&w| w != u64::MAX).unwrap_or(self.placed.len());
        word * 64 + self.placed.get(word).map_or(0, |w| w.trailing_ones() as usize)
    }
}

/// The origin of a state: the previous state, and what was written to p' and to p''.
struct Step {
    parent: u32,
    real: u32,
    legal: u32,
}

const ROOT: u32 = u32::MAX;

/// Two orders of the same operations: p', which real time allows, and p'', which the specification
/// allows.
pub(super) type Orders = (Vec<u32>, Vec<u32>);

/// p' and p'' of a part with known outcomes only, or `None` if there are none.
pub(super) fn search(
    words: &PartHistory,
    bounds: Bounds,
    reading: Reading,
    ticker: &mut Ticker<'_>,
) -> Result<Option<Orders>, Exhausted> {
    let tapes = Tapes::new(words, bounds, reading);
    let count = words.len();
    let mut placed: SmallVec<[u64; 2]> = SmallVec::from_elem(0, count.div_ceil(64).max(1));
    for &free in &tapes.free {
        placed[free as usize / 64] |= 1 << (free % 64);
    }
    // The bits behind the last operation count as placed.
    for bit in count..placed.len() * 64 {
        placed[bit / 64] |= 1 << (bit % 64);
    }
    let contents = words.contents();
    let emptied = contents.is_empty();
    let start = State { placed, window: SmallVec::new(), contents, emptied };
    let mut seen: HashSet<State, FixedState> = HashSet::default();
    let mut steps: Vec<Step> = Vec::new();
    let mut stack = vec![(start, ROOT)];
    let mut next = Vec::new();
    while let Some((state, step)) = stack.pop() {
        if state.first_free() >= count && state.window.is_empty() {
            if state.emptied || tapes.free.is_empty() {
                return Ok(Some(tapes.orders(&steps, step)));
            }
            continue;
        }
        let size = size_of::<State>() + count / 8;
        ticker.tick(|| (seen.capacity() * size + steps.capacity() * 12) as u64)?;
        next.clear();
        tapes.successors(&state, &mut next);
        // If both tapes get the same operation, none of the bound is used: tried first.
        next.sort_by_key(|(_, real, legal)| real == legal);
        for (after, real, legal) in next.drain(..) {
            if seen.insert(after.clone()) {
                steps.push(Step { parent: step, real, legal });
                stack.push((after, steps.len() as u32 - 1));
            }
        }
    }
    Ok(None)
}

struct Tapes<'a> {
    words: &'a PartHistory,
    /// The class of each operation.
    class: Vec<u8>,
    bounds: Vec<u32>,
    /// Operations of no class.
    free: Vec<u32>,
}

impl<'a> Tapes<'a> {
    fn new(words: &'a PartHistory, bounds: Bounds, reading: Reading) -> Tapes<'a> {
        let literal = reading == Reading::Literal;
        let class = |act: Act| if literal && matches!(act, Act::Add(_)) { 1 } else { 0 };
        let is_free = |o: &u32| literal && words.words[*o as usize].act == Act::Empty;
        Tapes {
            words,
            class: words.words.iter().map(|w| class(w.act)).collect(),
            bounds: vec![bounds.removals, bounds.additions],
            free: (0..words.len() as u32).filter(is_free).collect(),
        }
    }

    fn successors(&self, state: &State, next: &mut Vec<(State, u32, u32)>) {
        let classes = if self.class.contains(&1) { 2 } else { 1 };
        for class in 0..classes {
            let (real, soon) = self.candidates(state, class);
            let waiting = state.window.iter().map(|w| w.0);
            let waiting = waiting.filter(|&o| self.class[o as usize] == class && state.has(o));
            let legal: SmallVec<[u32; 8]> = waiting.chain(soon).collect();
            for legal in legal {
                let mut contents = state.contents.clone();
                let act = self.words.words[legal as usize].act;
                if !self.words.apply(&mut contents, act) {
                    continue;
                }
                for &real in &real {
                    if let Some(window) = self.window(state, class, real, legal) {
                        let mut placed = state.placed.clone();
                        placed[real as usize / 64] |= 1 << (real % 64);
                        let emptied = state.emptied || contents.is_empty();
                        let contents = contents.clone();
                        next.push((State { placed, window, contents, emptied }, real, legal));
                    }
                }
            }
        }
    }

    /// The operations of the class that may come next on p'; and those on neither tape that may
    /// come next on p'', because p' can be given them in time.
    fn candidates(&self, state: &State, class: u8) -> (SmallVec<[u32; 8]>, SmallVec<[u32; 8]>) {
        let most = self.bounds[class as usize] as usize + 1;
        let (mut real, mut soon) = (SmallVec::new(), SmallVec::new());
        // The smallest returns of those that are not on p', ascending: at most as many as can still
        // come first.
        let mut returns: SmallVec<[u32; 8]> = SmallVec::new();
        for (o, word) in self.words.words.iter().enumerate().skip(state.first_free()) {
            let number = o as u32;
            if self.class[o] != class || state.has(number) {
                continue;
            }
            if returns.len() == most && word.call > returns[most - 1] {
                break;
            }
            if returns.first().is_none_or(|&first| word.call < first) {
                real.push(number);
            }
            if !state.waits(number) {
                soon.push(number);
            }
            let at = returns.partition_point(|&r| r < word.returned);
            returns.insert(at, word.returned);
            returns.truncate(most);
        }
        (real, soon)
    }

    /// The waiting operations after p' was given `real` and p'' `legal`; `None` if one waits too
    /// long.
    fn window(
        &self,
        state: &State,
        class: u8,
        real: u32,
        legal: u32,
    ) -> Option<SmallVec<[(u32, u32); 4]>> {
        let mut window = state.window.clone();
        if real != legal {
            for operation in [real, legal] {
                match window.iter().position(|w| w.0 == operation) {
                    Some(at) => drop(window.remove(at)),
                    None => window.push((operation, 0)),
                }
            }
        }
        for (operation, age) in &mut window {
            if self.class[*operation as usize] == class {
                *age += 1;
                if *age > self.bounds[class as usize] {
                    return None;
                }
            }
        }
        window.sort_unstable();
        Some(window)
    }

    /// The two orders that lead to a state.
    fn orders(&self, steps: &[Step], mut at: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut real, mut legal) = (Vec::new(), Vec::new());
        while at != ROOT {
            let step = &steps[at as usize];
            real.push(step.real);
            legal.push(step.legal);
            at = step.parent;
        }
        real.reverse();
        legal.reverse();
        (self.joined(&real), self.with_free(&legal))
    }

    /// One order of all operations in which those of each class stand as in `real`.
    fn joined(&self, real: &[u32]) -> Vec<u32> {
        let words = &self.words.words;
        let of_class =
            |class: u8| real.iter().copied().filter(move |&o| self.class[o as usize] == class);
        let mut queues =
            [of_class(0).collect::<Vec<_>>(), of_class(1).collect(), self.free.clone()];
        queues.iter_mut().for_each(|queue| queue.reverse());
        let mut order = Vec::with_capacity(words.len());
        while order.len() < words.len() {
            let left = || queues.iter().flatten();
            let first = left().map(|&o| words[o as usize].returned).min().unwrap_or(0);
            // Operations of no class may come in any order that real time allows.
            queues[2].sort_by_key(|&o| std::cmp::Reverse(words[o as usize].call));
            let fits = |queue: &&mut Vec<u32>| {
                queue.last().is_some_and(|&o| words[o as usize].call < first)
            };
            match queues.iter_mut().find(fits).and_then(Vec::pop) {
                Some(o) => order.push(o),
                None => break,
            }
        }
        order
    }

    /// p'' with the operations of no class at the first place where it is empty.
    fn with_free(&self, legal: &[u32]) -> Vec<u32> {
        let mut contents = self.words.contents();
        let mut order = Vec::with_capacity(self.words.len());
        let mut free = self.free.as_slice();
        for &o in legal {
            if contents.is_empty() {
                order.extend(std::mem::take(&mut free));
            }
            self.words.apply(&mut contents, self.words.words[o as usize].act);
            order.push(o);
        }
        order.extend(free);
        order
    }
}
