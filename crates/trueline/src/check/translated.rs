//! The operations of a history in the words of a kind of object, part by part, and what the kind's
//! monitor decides of each.
//!
//! Each operation is decoded, put into words (16 bytes) and forgotten. While the words of one block
//! are numbered, which has to go in order, the next is decoded, on all cores. Parts in a row are
//! decided together, rows in parallel. A part that the monitor does not fit is left to whoever
//! asked.
//!
//! Cost: O(n log n); the memory of the words, the monitor and the orders besides the history.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::input::{Input, Interval};
use super::monitored;
use super::parts::{PartOf, Partitioner, Parts};
use super::violation::MANY;
use super::words::{Found, SMALL, Word, Words};
use crate::budget::Budget;
use crate::history::PENDING;
use crate::monitor::Op;
use crate::spec::Kind;
use crate::spec::opaque::{Decoded, Said};
use crate::spec::subject::Claim;

/// Operations of small parts between two looks at the budget.
const CHARGE: u64 = 1 << 14;
/// Parts of so few operations are looked at first for being one behind the other.
const FEW: usize = 16;
/// Operations that are decoded together.
const BLOCK: usize = 1 << 16;
/// Fewer operations are decoded by one thread.
const SHORT: usize = 1 << 12;
/// Operations that are decoded first: they show most of what can happen.
const FIRST: usize = 1 << 8;

/// The operations of a history in words, part by part.
pub(super) struct Translated {
    words: Words,
    said: Vec<Word>,
    /// The operations that have a word.
    spoken: Parts,
    /// All operations, where there are more.
    all: Option<Parts>,
    /// By part, its first operation without a word.
    wordless: BTreeMap<usize, u32>,
}

/// What came of some parts in a row.
pub(super) struct Row {
    parts: Range<usize>,
    /// The orders of the parts that were looked at, one behind the other, and where each ends;
    /// nothing for one that has none.
    order: Vec<u32>,
    ends: Vec<u32>,
    /// The parts without an order, ascending. Behind one that is refuted, or at which the budget
    /// was spent, no part was looked at.
    pub(super) others: Vec<(usize, Result<Found, Unfit>)>,
}

/// Why the monitor does not fit a part.
#[derive(Clone)]
pub(super) enum Unfit {
    /// In words.
    Because(String),
    /// There is no word for this operation.
    NoWord(u32),
}

impl Row {
    /// The orders of the parts that were looked at.
    pub(super) fn orders(&self) -> impl Iterator<Item = (usize, &[u32])> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let orders = starts.zip(&self.ends);
        let orders = orders.map(|(start, &end)| &self.order[start as usize..end as usize]);
        self.parts.clone().zip(orders)
    }

    /// The order of the one part.
    pub(super) fn only(self) -> Vec<u32> {
        self.order
    }
}

impl Translated {
    /// Decodes every operation; nothing where one has no word and the history is not decoded: then
    /// most are decoded in any case, and only once if that comes first. The error says that the
    /// history does not fit the specification.
    pub(super) fn new<I: Input>(input: &I, claim: &Claim) -> Result<Option<Translated>, I::Error> {
        let is_one = || (0..input.len() as u32).all(|i| input.interval(i).object == 0);
        // The keys of a long history of one set are numbered like values: each is a part.
        if claim.kind == Kind::Set && input.len() > MANY && is_one() {
            let mut translator = Translator::new(input, claim, true);
            translator.add_all()?;
            if translator.wordless.is_empty() {
                return Ok(Some(translator.finish()));
            }
        }
        let mut translator = Translator::new(input, claim, false);
        translator.add_all()?;
        let is_whole = translator.seen as usize == input.len();
        Ok(is_whole.then(|| translator.finish()))
    }

    /// The parts, with all their operations.
    pub(super) fn parts(&self) -> &Parts {
        self.all.as_ref().unwrap_or(&self.spoken)
    }

    /// Tests the claim on operations of the largest part. The inner error says where the
    /// specification and the kind differ.
    pub(super) fn trust<I: Input>(
        &self,
        input: &I,
        claim: &Claim,
    ) -> Result<Result<(), String>, I::Error> {
        if self.spoken.len() == 0 {
            return Ok(Ok(()));
        }
        let range = self.spoken.range(self.parts().largest());
        let returned = |&n: &usize| self.said[n].span.returned != PENDING;
        let said = range.take(monitored::LOOK).filter(returned);
        let index = |n: usize| self.spoken.index(n);
        let done = said.map(|n| (index(n), self.said[n].action));
        let trial = monitored::Trial::of(claim.kind, done);
        input.with_some(&trial.indices(), |subject, indices| {
            trial.agrees(subject, claim, &self.words, indices)
        })
    }

    /// Decides all parts, in rows of about the same number of operations.
    pub(super) fn decide(&self, budget: &Budget) -> Vec<Row> {
        let enough = (self.said.len() / 16).max(CHARGE as usize);
        let mut rows = Vec::new();
        let mut first = 0;
        for part in 1..=self.spoken.len() {
            if self.spoken.size(first..part) >= enough || part == self.spoken.len() {
                rows.push(first..part);
                first = part;
            }
        }
        match rows.len() {
            0 | 1 => rows.into_iter().map(|parts| self.decide_row(parts, budget)).collect(),
            _ => rows.into_par_iter().map(|parts| self.decide_row(parts, budget)).collect(),
        }
    }

    fn decide_row(&self, parts: Range<usize>, budget: &Budget) -> Row {
        let mut row = Row { parts, order: Vec::new(), ends: Vec::new(), others: Vec::new() };
        let mut uncharged = 0;
        for part in row.parts.clone() {
            let (range, index) = (self.spoken.range(part), self.spoken.of(part));
            let said = &self.said[range];
            // Larger parts are charged by whoever decides them.
            uncharged += if said.len() < SMALL { said.len() as u64 } else { 0 };
            let charged = match uncharged > CHARGE {
                true => budget.spend(std::mem::take(&mut uncharged)),
                false => Ok(()),
            };
            let found = match (charged, self.wordless.get(&part)) {
                (_, Some(&operation)) => Err(Unfit::NoWord(operation)),
                (Err(why), _) => Ok(Found::Exhausted(why)),
                (Ok(()), _) if said.len() <= FEW && self.words.is_sequential(said) => {
                    row.order.extend_from_slice(index);
                    row.ends.push(row.order.len() as u32);
                    continue;
                }
                (Ok(()), _) => self.words.decide(said, budget).map_err(Unfit::Because),
            };
            match found {
                Ok(Found::Order(order)) => {
                    let done = row.order.len();
                    match done {
                        0 => row.order = order,
                        _ => row.order.extend_from_slice(&order),
                    }
                    row.order[done..].iter_mut().for_each(|n| *n = index[*n as usize]);
                }
                Err(unfit) => row.others.push((part, Err(unfit))),
                Ok(found) => {
                    row.others.push((part, Ok(found.renamed(|n| index[n as usize]))));
                    break;
                }
            }
            row.ends.push(row.order.len() as u32);
        }
        row
    }
}

/// What becomes [`Translated`], operation by operation.
struct Translator<'a, I> {
    input: &'a I,
    words: Words,
    said: Vec<Word>,
    /// Index in the history of each.
    index: Vec<u32>,
    partitioner: Partitioner,
    /// The keys by number, where each is a part of its own.
    keys: Option<Vec<u32>>,
    wordless: Vec<u32>,
    /// So many operations have come.
    seen: u32,
}

impl<'a, I: Input> Translator<'a, I> {
    fn new(input: &'a I, claim: &Claim, by_value: bool) -> Translator<'a, I> {
        let mut words = Words::new(claim);
        if input.len() > SHORT {
            words.reserve(input.len(), input.numbers());
        }
        Translator {
            input,
            words,
            said: Vec::with_capacity(input.len()),
            index: Vec::with_capacity(input.len()),
            partitioner: Partitioner::new(input.len()),
            keys: by_value.then(|| Vec::with_capacity(input.len())),
            wordless: Vec::new(),
            seen: 0,
        }
    }

    /// Whether the rest is not worth decoding for words.
    fn gives_up(&self) -> bool {
        !self.wordless.is_empty() && !self.input.is_decoded()
    }

    /// Decodes and adds all operations, or those up to one for which it gives up.
    fn add_all(&mut self) -> Result<(), I::Error> {
        let (input, is_keyed) = (self.input, self.keys.is_none());
        let len = input.len() as u32;
        let first = if input.len() <= SHORT { len } else { FIRST as u32 };
        for i in 0..first {
            self.add(input.decode(i, is_keyed)?);
            if self.gives_up() {
                return Ok(());
            }
        }
        let decode = |block: u32| {
            let end = len.min(block + BLOCK as u32);
            let mut decoded = Vec::new();
            let few = (block..end).into_par_iter().with_min_len(BLOCK / 16);
            few.map(|i| input.decode(i, is_keyed)).collect_into_vec(&mut decoded);
            decoded
        };
        let mut blocks = (first..len).step_by(BLOCK);
        let mut decoded = blocks.next().map(decode);
        while let Some(block) = decoded {
            let next = blocks.next();
            let (added, following) = rayon::join(
                || block.into_iter().try_for_each(|operation| operation.map(|o| self.add(o))),
                || next.map(decode),
            );
            added?;
            if self.gives_up() {
                return Ok(());
            }
            decoded = following;
        }
        Ok(())
    }

    fn add(&mut self, operation: Decoded) {
        let i = self.seen;
        self.seen += 1;
        let Interval { object, span } = self.input.interval(i);
        if self.keys.is_none() {
            self.partitioner.add(object, operation.key);
        }
        match operation.said {
            Said::Action(action) => {
                let action = self.words.numbered(&action);
                self.said.push(Op { span, action });
                self.index.push(i);
                match (&mut self.keys, action.value()) {
                    (Some(keys), Some(key)) => keys.push(key),
                    (Some(_), None) => self.wordless.push(i),
                    (None, _) => {}
                }
            }
            // Where keys are numbered, it belongs to no part.
            Said::Nothing => {}
            Said::NoWord => self.wordless.push(i),
        }
    }

    fn finish(self) -> Translated {
        let Translator { mut words, mut said, index, partitioner, keys, wordless, seen, .. } = self;
        words.rank_values();
        if let Some(keys) = keys {
            // The parts are those of the operations that have a word, by their place among these.
            let mut spoken =
                PartOf::numbered(keys).select((0..said.len() as u32).collect(), &mut said);
            spoken.rename(&index);
            return Translated { words, said, spoken, all: None, wordless: BTreeMap::new() };
        }
        let part_of = partitioner.finish();
        let all = (said.len() < seen as usize).then(|| part_of.parts());
        let spoken = part_of.select(index, &mut said);
        let first = wordless.into_iter().rev().map(|i| (part_of.of(i) as usize, i)).collect();
        Translated { words, said, spoken, all, wordless: first }
    }
}
