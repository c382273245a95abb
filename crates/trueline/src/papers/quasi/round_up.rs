//! `round-up`: the paper's own method, for reference. Compares all quasi permutations (the
//! corrected Algorithm 2) of all sequentializations of a history with the strict container.
//!
//! In `slots` the removals that returned a value are permuted among their own places, in `uniform`
//! all operations; in `literal` additions and removals are permuted separately and then merged in
//! every way. One of the paper's optimisations matters here: a quasi permutation that was seen
//! before is skipped, and counted. Cost: the number of sequentializations times that of the
//! permutations, both exponential.

use std::collections::HashSet;

use super::permutations::Permutations;
use super::two_tape::Orders;
use crate::budget::Exhausted;
use crate::check::Ticker;
use crate::quasi::{Act, Bounds, Effort, PartHistory, Reading};

/// p' and p'' of a part with known outcomes only, or `None` if there are none.
pub(super) fn search(
    words: &PartHistory,
    bounds: Bounds,
    reading: Reading,
    ticker: &mut Ticker<'_>,
    effort: &mut Effort,
) -> Result<Option<Orders>, Exhausted> {
    let mut trial = Trial { words, bounds, reading, seen: HashSet::new(), effort };
    let mut order = Vec::new();
    let mut placed = vec![false; words.len()];
    trial.sequentialize(&mut order, &mut placed, ticker)
}

struct Trial<'a> {
    words: &'a PartHistory,
    bounds: Bounds,
    reading: Reading,
    /// Permutations that are not legal.
    seen: HashSet<Vec<Act>>,
    effort: &'a mut Effort,
}

impl Trial<'_> {
    fn sequentialize(
        &mut self,
        order: &mut Vec<u32>,
        placed: &mut [bool],
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<Orders>, Exhausted> {
        let words = self.words;
        if order.len() == words.len() {
            self.effort.sequentializations += 1;
            return self.permute(order, ticker);
        }
        let left = |placed: &[bool]| (0..words.len()).filter(|&o| !placed[o]).collect::<Vec<_>>();
        let first = left(placed).iter().map(|&o| words.words[o].returned).min().unwrap_or(0);
        for o in left(placed) {
            if words.words[o].call > first {
                continue;
            }
            placed[o] = true;
            order.push(o as u32);
            let found = self.sequentialize(order, placed, ticker)?;
            if found.is_some() {
                return Ok(found);
            }
            order.pop();
            placed[o] = false;
        }
        Ok(None)
    }

    fn permute(
        &mut self,
        order: &[u32],
        ticker: &mut Ticker<'_>,
    ) -> Result<Option<Orders>, Exhausted> {
        // Orders that are rejected early count too, because there can be very many of them.
        ticker.tick(|| 0)?;
        let act = |o: u32| self.words.words[o as usize].act;
        let places = |of: &dyn Fn(Act) -> bool| -> Vec<usize> {
            (0..order.len()).filter(|&at| of(act(order[at]))).collect()
        };
        let removals = places(&|act| matches!(act, Act::Take(_)));
        let additions = places(&|act| matches!(act, Act::Add(_)));
        match self.reading {
            Reading::Slots => {
                if !self.causal(order) {
                    return Ok(None);
                }
                for permutation in Permutations::new(removals.len(), self.bounds.removals) {
                    let mut legal = order.to_vec();
                    for (&to, from) in removals.iter().zip(permutation) {
                        legal[to] = order[removals[from as usize]];
                    }
                    if self.is_legal(&legal, ticker)? {
                        return Ok(Some((order.to_vec(), legal)));
                    }
                }
            }
            Reading::Uniform => {
                for permutation in Permutations::new(order.len(), self.bounds.removals) {
                    let legal: Vec<u32> = permutation.iter().map(|&o| order[o as usize]).collect();
                    if self.is_legal(&legal, ticker)? {
                        return Ok(Some((order.to_vec(), legal)));
                    }
                }
            }
            Reading::Literal => {
                let nothing = places(&|act| act == Act::Empty);
                let pick = |places: &[usize], p: &[u32]| -> Vec<u32> {
                    p.iter().map(|&at| order[places[at as usize]]).collect()
                };
                let nothing: Vec<u32> = nothing.iter().map(|&at| order[at]).collect();
                for added in Permutations::new(additions.len(), self.bounds.additions) {
                    for taken in Permutations::new(removals.len(), self.bounds.removals) {
                        let mut tapes =
                            [pick(&additions, &added), pick(&removals, &taken), nothing.clone()];
                        tapes.iter_mut().for_each(|tape| tape.reverse());
                        let mut legal = Vec::new();
                        if self.merge(&mut tapes, &mut legal, ticker)? {
                            return Ok(Some((order.to_vec(), legal)));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether nothing is removed before it was added.
    fn causal(&self, order: &[u32]) -> bool {
        let mut inside: Vec<u32> = self.words.initial.clone();
        order.iter().all(|&o| match self.words.words[o as usize].act {
            Act::Add(value) => {
                inside.push(value);
                true
            }
            Act::Take(value) => match inside.iter().position(|&v| v == value) {
                Some(at) => inside.swap_remove(at) == value,
                None => false,
            },
            _ => true,
        })
    }

    /// Merges the rest of the tapes (their next operations last) after `legal` in every way.
    fn merge(
        &mut self,
        tapes: &mut [Vec<u32>; 3],
        legal: &mut Vec<u32>,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool, Exhausted> {
        if legal.len() == self.words.len() {
            return self.is_legal(legal, ticker);
        }
        for tape in 0..tapes.len() {
            let Some(o) = tapes[tape].pop() else { continue };
            legal.push(o);
            if self.merge(tapes, legal, ticker)? {
                return Ok(true);
            }
            legal.pop();
            tapes[tape].push(o);
        }
        Ok(false)
    }

    fn is_legal(&mut self, order: &[u32], ticker: &mut Ticker<'_>) -> Result<bool, Exhausted> {
        ticker.tick(|| 0)?;
        let acts: Vec<Act> = order.iter().map(|&o| self.words.words[o as usize].act).collect();
        if self.seen.contains(&acts) {
            self.effort.skipped += 1;
            return Ok(false);
        }
        self.effort.permutations += 1;
        let mut contents = self.words.contents();
        if acts.iter().all(|&act| self.words.apply(&mut contents, act)) {
            return Ok(true);
        }
        self.seen.insert(acts);
        Ok(false)
    }
}
