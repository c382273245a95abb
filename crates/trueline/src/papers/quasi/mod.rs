//! Quasi linearizability as in Round-Up, for comparison: the readings `uniform` and `literal`,
//! which are decided on two tapes, and the paper's own enumeration.

mod completions;
mod permutations;
mod round_up;
mod two_tape;

pub use permutations::Permutations;

use crate::budget::Exhausted;
use crate::check::Ticker;
use crate::history::PENDING;
use crate::quasi::{
    Act, Algorithm, Bounds, Certificate, Effort, End, Found, PartHistory, Question, Word,
};
use completions::completions;

/// The readings that are decided on two tapes, and the reference: completion by completion.
pub(crate) fn decide(
    words: &PartHistory,
    bounds: Bounds,
    question: &Question<'_>,
    ticker: &mut Ticker<'_>,
    effort: &mut Effort,
) -> Result<Found, Exhausted> {
    let by = match question.algorithm {
        Algorithm::Auto => "two-tape",
        Algorithm::RoundUp => "round-up",
    };
    for completion in completions(words) {
        let given = completion.words.len() as u32;
        let whole = match question.end {
            End::Closed => completion.words,
            End::Open => completion.words.drained(),
        };
        let found = match question.algorithm {
            Algorithm::Auto => two_tape::search(&whole, bounds, question.reading, ticker)?,
            Algorithm::RoundUp => {
                round_up::search(&whole, bounds, question.reading, ticker, effort)?
            }
        };
        if let Some((order, legal)) = found {
            let mut acts: Vec<Act> = words.words.iter().map(|w| w.act).collect();
            let count = acts.len() as u32;
            let original = |o: u32| {
                if o < given { completion.original[o as usize] } else { o - given + count }
            };
            for (o, word) in whole.words.iter().enumerate() {
                match original(o as u32) {
                    known if known < count => acts[known as usize] = word.act,
                    _ => acts.push(word.act),
                }
            }
            let renamed = |order: Vec<u32>| order.into_iter().map(original).collect();
            let (order, legal) = (renamed(order), renamed(legal));
            return Ok(Found::Holds { certificate: Certificate { acts, order, legal }, by });
        }
    }
    Ok(Found::Refuted { stuck: None, by })
}

impl PartHistory {
    /// How often each value was added (or was there from the start) and not removed.
    fn left_over(&self) -> Vec<u32> {
        let mut left = vec![0i64; self.values.len()];
        for &value in &self.initial {
            left[value as usize] += 1;
        }
        for word in &self.words {
            match word.act {
                Act::Add(value) => left[value as usize] += 1,
                Act::Take(value) => left[value as usize] -= 1,
                Act::Empty | Act::Unknown => {}
            }
        }
        left.into_iter().map(|n| n.max(0) as u32).collect()
    }

    /// The operations followed by one removal of everything that remains. These removals overlap
    /// each other, so they may come in any order: a history holds with an open end iff this one
    /// holds with a closed end.
    pub(crate) fn drained(&self) -> PartHistory {
        let mut words = self.words.clone();
        let returns = words.iter().map(|w| w.returned).filter(|&r| r != PENDING);
        let last = returns.chain(words.iter().map(|w| w.call)).max().map_or(0, |r| r + 1);
        for (value, &times) in self.left_over().iter().enumerate() {
            for _ in 0..times {
                words.push(Word { call: last, returned: last + 1, act: Act::Take(value as u32) });
            }
        }
        self.with(words)
    }
}
