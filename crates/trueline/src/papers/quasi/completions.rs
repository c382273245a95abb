//! Histories with known outcomes only, from one with unknown outcomes.
//!
//! An addition without a return had an effect or none; a removal removed any value that was ever
//! added, found nothing, or had no effect. The number of completions is the product of these
//! possibilities: meant for few pending operations.

use crate::history::PENDING;
use crate::quasi::{Act, PartHistory, Word};

/// A completion, and which operation of the original each of its operations is.
pub(super) struct Completion {
    pub(super) words: PartHistory,
    pub(super) original: Vec<u32>,
}

/// All completions, beginning with the one in which no pending operation had an effect.
pub(super) fn completions(words: &PartHistory) -> impl Iterator<Item = Completion> + '_ {
    let is_pending = |o: &u32| words.words[*o as usize].returned == PENDING;
    let pending: Vec<u32> = (0..words.len() as u32).filter(is_pending).collect();
    let added = words.words.iter().filter_map(|w| match w.act {
        Act::Add(value) => Some(value),
        _ => None,
    });
    let mut values: Vec<u32> = added.chain(words.initial.iter().copied()).collect();
    values.sort_unstable();
    values.dedup();
    let choices: Vec<Vec<Option<Act>>> = pending
        .iter()
        .map(|&o| match words.words[o as usize].act {
            Act::Unknown => {
                let taken = values.iter().map(|&value| Some(Act::Take(value)));
                [None, Some(Act::Empty)].into_iter().chain(taken).collect()
            }
            act => vec![None, Some(act)],
        })
        .collect();
    let ranks = words.words.iter().flat_map(|w| [w.call, w.returned]);
    let last = ranks.filter(|&r| r != PENDING).max().unwrap_or(0);
    let mut chosen = Some(vec![0; pending.len()]);
    std::iter::from_fn(move || {
        let current = chosen.take()?;
        let mut kept = Vec::new();
        let mut original = Vec::new();
        for (o, word) in words.words.iter().enumerate() {
            let act = match pending.iter().position(|&p| p == o as u32) {
                Some(place) => choices[place][current[place]],
                None => Some(word.act),
            };
            if let Some(act) = act {
                // It may come last, but before anything that follows the history.
                let returned = if word.returned == PENDING { last + 1 } else { word.returned };
                kept.push(Word { returned, act, ..*word });
                original.push(o as u32);
            }
        }
        let mut following = current;
        for place in 0..following.len() {
            following[place] += 1;
            if following[place] < choices[place].len() {
                chosen = Some(following);
                break;
            }
            following[place] = 0;
        }
        if pending.is_empty() {
            chosen = None;
        }
        Some(Completion { words: words.with(kept), original })
    })
}
