//! Queues with unique values: what real time alone implies for each value.

use super::End;
use super::part_history::{Act, PartHistory};
use crate::history::PENDING;
use crate::spec::Kind;

/// A part of a history that this module can decide.
pub(super) struct Queue<'a> {
    pub(super) words: &'a PartHistory,
    /// The facts about each value.
    pub(super) values: Vec<Life>,
    /// Number of removals.
    pub(super) removals: u32,
    /// The returning operations by return.
    pub(super) returns: Vec<u32>,
    /// The removal of a value that was never added, if there is one: no factor explains it.
    pub(super) alien: Option<u32>,
}

/// The life of a value. Additions, removals and ranks are numbers from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) add: Option<u32>,
    pub(super) take: Option<u32>,
    /// False if the value is neither added nor initial.
    pub(super) is_there: bool,
    /// The ranks that real time allows.
    pub(super) rank: (u32, u32),
    /// The places among the removals that real time allows. Never removed: from the number of
    /// removals on.
    pub(super) place: (u32, u32),
}

impl<'a> Queue<'a> {
    /// `None` if this module does not support the part: not a queue, repeated values, or unknown
    /// outcomes.
    pub(super) fn new(words: &'a PartHistory) -> Option<Queue<'a>> {
        if words.kind != Kind::Queue {
            return None;
        }
        let unborn =
            Life { add: None, take: None, is_there: false, rank: (0, 0), place: (0, u32::MAX) };
        let mut values = vec![unborn; words.values.len()];
        for (rank, &value) in words.initial.iter().enumerate() {
            let life = &mut values[value as usize];
            if std::mem::replace(&mut life.is_there, true) {
                return None;
            }
            life.rank = (rank as u32, rank as u32);
        }
        for (index, word) in words.words.iter().enumerate() {
            let index = index as u32;
            match word.act {
                Act::Add(value) => {
                    let life = &mut values[value as usize];
                    if std::mem::replace(&mut life.is_there, true) {
                        return None;
                    }
                    life.add = Some(index);
                }
                Act::Take(value) => {
                    if values[value as usize].take.replace(index).is_some() {
                        return None;
                    }
                }
                Act::Empty => {}
                Act::Unknown => return None,
            }
        }
        let is_pending = |o: u32| words.words[o as usize].returned == PENDING;
        // An addition of unknown outcome whose value is never removed may or may not have an
        // effect.
        if values.iter().any(|life| life.take.is_none() && life.add.is_some_and(is_pending)) {
            return None;
        }
        let alien = values.iter().filter(|life| !life.is_there).filter_map(|life| life.take);
        let returned = |&o: &u32| words.words[o as usize].returned;
        let alien = alien.min_by_key(returned);
        let adds: Vec<u32> = values.iter().filter_map(|life| life.add).collect();
        let takes: Vec<u32> = values.iter().filter_map(|life| life.take).collect();
        let (adds, takes) = (Places::new(words, &adds), Places::new(words, &takes));
        let removals = takes.calls.len() as u32;
        let before = words.initial.len() as u32;
        for life in &mut values {
            if let Some(add) = life.add {
                let (first, last) = adds.of(words, add);
                life.rank = (before + first, before + last);
            }
            life.place = match life.take {
                Some(take) => takes.of(words, take),
                None => (removals, u32::MAX),
            };
        }
        let mut returns: Vec<u32> = (0..words.len() as u32).filter(|&o| !is_pending(o)).collect();
        returns.sort_unstable_by_key(returned);
        Some(Queue { words, values, removals, returns, alien })
    }

    /// A factor below which no order helps, and the operation that needs it; `u32::MAX` if no
    /// factor helps.
    pub(super) fn least_by_windows(&self, end: End) -> (u32, Option<u32>) {
        let mut least = (0, None);
        if self.alien.is_some() {
            return (u32::MAX, self.alien);
        }
        for life in self.values.iter().filter(|life| life.is_there) {
            let gap = match life.take {
                Some(_) => {
                    let too_early = life.rank.0.saturating_sub(life.place.1);
                    too_early.max(life.place.0.saturating_sub(life.rank.1))
                }
                // The strict queue must not have come to it.
                None if end == End::Closed && life.rank.1 < self.removals => u32::MAX,
                None if end == End::Closed => 0,
                None => self.removals.saturating_sub(life.rank.1),
            };
            if gap > least.0 {
                least = (gap, life.take.or(life.add));
            }
        }
        least
    }
}

/// Calls and returns of the additions, or of the removals, sorted.
struct Places {
    calls: Vec<u32>,
    returns: Vec<u32>,
}

impl Places {
    fn new(words: &PartHistory, operations: &[u32]) -> Places {
        let mut calls: Vec<u32> =
            operations.iter().map(|&o| words.words[o as usize].call).collect();
        let mut returns: Vec<u32> =
            operations.iter().map(|&o| words.words[o as usize].returned).collect();
        calls.sort_unstable();
        returns.sort_unstable();
        Places { calls, returns }
    }

    /// The first and the last place that real time allows the operation.
    fn of(&self, words: &PartHistory, operation: u32) -> (u32, u32) {
        let word = &words.words[operation as usize];
        let first = self.returns.partition_point(|&r| r < word.call) as u32;
        let last = self.calls.partition_point(|&c| c < word.returned) as u32 - 1;
        (first, last)
    }
}
