//! Insertions into a container, removals, and the values inside meanwhile.
//!
//! The rules below are about values that were inserted at most once, so that it is clear which
//! removal belongs to which insertion. Only the counts of insertions and removals are checked for
//! all values. A value is *certainly inside* from the return of its insertion to the call of its
//! first removal.
//!
//!  | file | violation |
//! |---|---|
//! | `flow` | a value was removed that was not inserted, or more often than it had been inserted by then, or was seen when it was gone |
//! | `inside` | 'empty' was returned while a value was inside |
//! | `order` | a value was removed before others whose turn comes first |
//! | `room` | a bounded container was full, or was not |
//! | `bottom` | no value can have been the lowest of a stack |

mod bottom;
mod flow;
mod inside;
mod order;
mod room;

use std::collections::HashMap;

use super::{Draft, Scene};
use crate::history::PENDING;
use crate::spec::Turn;
use crate::spec::vocabulary::{Act, Family};
use crate::value::Value;

/// The operations on one value.
#[derive(Default)]
struct Life {
    inserts: Vec<usize>,
    removals: Vec<usize>,
    peeks: Vec<usize>,
    /// Its places among the initial values.
    initial: Vec<usize>,
}

/// A value that went in once, by an operation or at first.
struct Known<'a> {
    value: &'a Value,
    insert: Option<usize>,
    place: usize,
    /// The removal that was called first.
    removal: Option<usize>,
    /// Certainly inside between these ranks.
    from: u32,
    to: u32,
}

struct Container<'a> {
    scene: &'a Scene,
    initial: &'a [Value],
    lives: HashMap<&'a Value, Life>,
    /// In order of appearance.
    order: Vec<&'a Value>,
    known: Vec<Known<'a>>,
    takes: Vec<usize>,
}

/// The terms of a family: the object, 'was put in', 'was taken out'.
fn words(family: Family) -> (&'static str, &'static str, &'static str) {
    match family {
        Family::Queue { nearest: 1 } => ("queue", "enqueued", "dequeued"),
        Family::Queue { .. } => ("semiqueue", "enqueued", "dequeued"),
        Family::StutteringQueue(_) => ("stuttering queue", "enqueued", "dequeued"),
        Family::Stack => ("stack", "pushed", "popped"),
        Family::Deque => ("deque", "pushed", "popped"),
        Family::PriorityQueue { .. } => ("priority queue", "inserted", "removed"),
        Family::Relaxed { turn, .. } => match turn {
            Turn::Oldest => ("relaxed queue", "enqueued", "dequeued"),
            Turn::Newest => ("relaxed stack", "pushed", "popped"),
            Turn::Largest | Turn::Smallest => ("relaxed priority queue", "inserted", "removed"),
        },
        _ => ("container", "put in", "taken out"),
    }
}

pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    let Some(initial) = scene.initial.as_deref() else { return Vec::new() };
    let container = Container::new(scene, initial);
    let mut drafts = Vec::new();
    container.never_inserted(&mut drafts);
    container.too_often(&mut drafts);
    container.gone(&mut drafts);
    if drafts.is_empty() {
        container.too_early(&mut drafts);
    }
    if !drafts.is_empty() {
        // Where these are about what was called after the first that is wrong, that one comes first.
        let is_later =
            |place: usize, first: usize| container.call(place) > container.returned(first);
        if let Some(first) = scene.first
            && drafts
                .iter()
                .all(|draft| draft.subject().is_some_and(|place| is_later(place, first)))
        {
            drafts.extend(container.impossible(first));
        }
        return drafts;
    }
    // Each takes time in proportion to the number of values. Those next to the first faulty one
    // come first, and a few suffice.
    let mut places: Vec<usize> = (0..scene.cast.len()).collect();
    let mut enough = usize::MAX;
    if let Some(first) = scene.first {
        let end = scene.cast[first].returned;
        places.sort_by_key(|&place| scene.cast[place].returned.abs_diff(end));
        enough = 3;
    }
    drafts.extend(places.iter().filter_map(|&place| container.impossible(place)).take(enough));
    if drafts.is_empty() {
        let passed = places.iter().filter_map(|&place| container.passed_by_any(place));
        drafts.extend(passed.take(enough));
    }
    if drafts.is_empty() {
        drafts.extend(container.overfull());
    }
    if drafts.is_empty() && scene.family == Family::Stack {
        drafts.extend(container.no_bottom());
    }
    drafts
}

impl<'a> Container<'a> {
    fn new(scene: &'a Scene, initial: &'a [Value]) -> Container<'a> {
        let mut lives: HashMap<&Value, Life> = HashMap::new();
        let mut order: Vec<&Value> = Vec::new();
        let mut takes = Vec::new();
        for (place, value) in initial.iter().enumerate() {
            order.push(value);
            lives.entry(value).or_default().initial.push(place);
        }
        for (place, actor) in scene.cast.iter().enumerate() {
            let (value, list): (_, fn(&mut Life) -> &mut Vec<usize>) = match &actor.act {
                Act::Insert(_, value) => (value, |life| &mut life.inserts),
                Act::Remove(_, value) => (value, |life| &mut life.removals),
                Act::Peek(_, value) => (value, |life| &mut life.peeks),
                Act::Take => {
                    takes.push(place);
                    continue;
                }
                _ => continue,
            };
            order.push(value);
            list(lives.entry(value).or_default()).push(place);
        }
        let mut seen = std::collections::HashSet::new();
        order.retain(|value| seen.insert(*value));
        let mut container = Container { scene, initial, lives, order, known: Vec::new(), takes };
        container.known = container.known();
        container
    }

    fn known(&self) -> Vec<Known<'a>> {
        let mut known = Vec::new();
        for &value in &self.order {
            let life = &self.lives[value];
            let insert = match (life.inserts.as_slice(), life.initial.len()) {
                ([], 1) => None,
                (&[one], 0) if self.scene.cast[one].is_certain() => Some(one),
                _ => continue,
            };
            let removal = life.removals.iter().copied().min_by_key(|&r| self.scene.cast[r].call);
            known.push(Known {
                value,
                insert,
                place: life.initial.first().copied().unwrap_or(0),
                removal,
                from: insert.map_or(0, |i| self.scene.cast[i].returned),
                to: removal.map_or(PENDING, |r| self.scene.cast[r].call),
            });
        }
        known
    }

    fn returned(&self, place: usize) -> u32 {
        self.scene.cast[place].returned
    }

    fn call(&self, place: usize) -> u32 {
        self.scene.cast[place].call
    }

    /// Why an operation is impossible.
    fn impossible(&self, place: usize) -> Option<Draft> {
        let actor = &self.scene.cast[place];
        if !actor.is_certain() {
            return None;
        }
        match &actor.act {
            Act::Empty => self.not_empty(place),
            Act::Remove(end, value) | Act::Peek(end, value) => self.overtakes(place, *end, value),
            Act::Refused => self.not_full(place),
            Act::Insert(..) => self.full(place),
            _ => None,
        }
    }

    /// Which value's turn comes first; `None` for a deque, which has two ends.
    fn turn(&self) -> Option<Turn> {
        match self.scene.family {
            Family::Queue { .. } | Family::StutteringQueue(_) => Some(Turn::Oldest),
            Family::Stack => Some(Turn::Newest),
            Family::PriorityQueue { smallest: true } => Some(Turn::Smallest),
            Family::PriorityQueue { smallest: false } => Some(Turn::Largest),
            Family::Relaxed { turn, .. } => Some(turn),
            _ => None,
        }
    }

    fn nouns(&self) -> (&'static str, &'static str, &'static str) {
        words(self.scene.family)
    }

    /// Removals of unknown outcome that may have taken a value before this rank.
    fn takers(&self, before: u32) -> Vec<usize> {
        self.takes.iter().copied().filter(|&t| self.call(t) < before).collect()
    }
}
