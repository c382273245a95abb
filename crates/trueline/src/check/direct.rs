//! Decides a long history by the monitor of its kind without decoding it into a second copy.
//!
//! A decoded history costs as much memory again as the one that was read. Where the specification
//! is of a known kind, each operation is decoded, put into the kind's words (16 bytes) and
//! forgotten; only the few operations of a violation are decoded again to be explained. Whatever
//! does not fit is left to [`super::Check::run`], which also says why.
//!
//! Cost: O(n log n); the memory of the words, the monitor and the witness besides the history.

use std::ops::{Range, RangeInclusive};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rayon::prelude::*;

use super::parts::merge;
use super::run::Source;
use super::violation::{MANY, explain_clash};
use super::words::{Found, Word, Words};
use super::{Algorithm, Outcome, monitored};
use crate::budget::Budget;
use crate::history::{Call, Error, History, Operation, Position};
use crate::monitor::{Blame, Op, Span};
use crate::spec::opaque::{Decoded, Decoder, Opaque};
use crate::spec::subject::{Claim, Subject};
use crate::spec::{Action, Kind};
use crate::value::Value;
use crate::verdict::{Reason, Unknown, Verdict, Witness};

/// Operations of small parts between two looks at the budget.
const CHARGE: u64 = 1 << 14;

/// Parts of so few operations are looked at first for being one behind the other.
const FEW: usize = 16;
/// Operations that are decoded together.
const BLOCK: usize = 1 << 16;
/// Operations that are looked at to see where the values lie.
const SAMPLE: usize = 1024;

/// Decides a history of more than a few thousand operations; nothing where another way has to be
/// taken. The error means that the history does not fit the specification.
pub(crate) fn decide_directly(
    spec: &Opaque,
    history: &History,
    algorithm: Algorithm,
    budget: &Budget,
) -> Result<Option<Outcome>, Error> {
    if history.len() <= MANY || !matches!(algorithm, Algorithm::Auto | Algorithm::Monitor) {
        return Ok(None);
    }
    let Some(decoder) = spec.decoder() else { return Ok(None) };
    let claim = decoder.claim();
    let Some(translated) = Translated::new(&*decoder, &claim, history)? else { return Ok(None) };
    if !translated.trustworthy(spec, &claim, history)? {
        return Ok(None);
    }
    let partitions = translated.starts.len() - 1;
    let mut stretches: Vec<Stretch> = translated
        .stretches()
        .into_par_iter()
        .map(|parts| translated.decide(parts, budget))
        .collect();
    drop(translated);
    // The first part that does not fit an order decides, in whatever order they were looked at.
    let stop = stretches.iter_mut().find_map(|stretch| stretch.stop.take());
    let verdict = match stop {
        Some(Stop::DoesNotFit) => return Ok(None),
        Some(Stop::Found(_, Found::Violation { operations, scene, reason })) => {
            explain(spec, history, &operations, &scene, reason, budget)?
        }
        Some(Stop::Found(part, Found::Exhausted(why))) => {
            let progress = format!("{part} of {partitions} parts decided");
            Verdict::Unknown(Unknown { reason: Reason::Exhausted(why), progress })
        }
        Some(Stop::Found(_, Found::Wrong(what))) => {
            let what = format!("the monitor's order does not replay: {what}");
            let (reason, progress) = (Reason::Disagreement(what), String::new());
            Verdict::Unknown(Unknown { reason, progress })
        }
        Some(Stop::Found(_, Found::Order(_))) | None => {
            let order = if partitions == 1 {
                stretches.pop().map(|stretch| stretch.order).unwrap_or_default()
            } else {
                merge(history.len(), stretches.iter().flat_map(Stretch::orders))
            };
            Verdict::Linearizable(Witness { order })
        }
    };
    Ok(Some(Outcome {
        verdict,
        algorithm: monitored::name(claim.kind),
        because: monitored::permission(claim.kind),
        partitions,
        states: history.len() as u64,
    }))
}

/// The operations of a history in the words of its kind, part by part.
struct Translated {
    words: Words,
    operations: Vec<Word>,
    /// Index in the history of each.
    index: Vec<u32>,
    /// Where each part starts, and the end.
    starts: Vec<u32>,
}

/// What came of some parts in a row.
#[derive(Default)]
struct Stretch {
    /// The orders of the parts, one behind the other, and where each ends.
    order: Vec<u32>,
    ends: Vec<u32>,
    /// What ended it early.
    stop: Option<Stop>,
}

enum Stop {
    /// The monitor does not fit.
    DoesNotFit,
    /// Something else than an order, for this part.
    Found(usize, Found),
}

impl Stretch {
    fn orders(&self) -> impl Iterator<Item = &[u32]> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.order[start as usize..end as usize])
    }
}

impl Translated {
    /// The parts, cut into rows of about the same number of operations.
    fn stretches(&self) -> Vec<Range<usize>> {
        let enough = (self.operations.len() / 16).max(CHARGE as usize) as u32;
        let mut stretches = Vec::new();
        let mut first = 0;
        for part in 1..self.starts.len() {
            let is_last = part + 1 == self.starts.len();
            if self.starts[part] - self.starts[first] >= enough || is_last {
                stretches.push(first..part);
                first = part;
            }
        }
        stretches
    }

    fn decide(&self, parts: Range<usize>, budget: &Budget) -> Stretch {
        let mut stretch = Stretch::default();
        let mut uncharged = 0;
        for part in parts {
            let range = self.starts[part] as usize..self.starts[part + 1] as usize;
            uncharged += range.len() as u64;
            let charged = match uncharged > CHARGE {
                true => budget.spend(std::mem::take(&mut uncharged)),
                false => Ok(()),
            };
            let found = match charged {
                Ok(())
                    if range.len() <= FEW
                        && self.words.is_sequential(&self.operations[range.clone()]) =>
                {
                    stretch.order.extend_from_slice(&self.index[range]);
                    stretch.ends.push(stretch.order.len() as u32);
                    continue;
                }
                Ok(()) => self.words.decide(&self.operations[range.clone()], budget),
                Err(why) => Ok(Found::Exhausted(why)),
            };
            match found {
                Ok(Found::Order(order)) if stretch.order.is_empty() => stretch.order = order,
                Ok(Found::Order(order)) => stretch.order.extend_from_slice(&order),
                Ok(other) => {
                    let found = other.renamed(|n| self.index[range.start + n as usize]);
                    stretch.stop = Some(Stop::Found(part, found));
                    break;
                }
                Err(_) => {
                    stretch.stop = Some(Stop::DoesNotFit);
                    break;
                }
            }
            let done = stretch.ends.last().map_or(0, |&end| end as usize);
            for n in &mut stretch.order[done..] {
                *n = self.index[range.start + *n as usize];
            }
            stretch.ends.push(stretch.order.len() as u32);
        }
        stretch
    }

    /// Decodes every operation; nothing where one has no word. While the words of one block are
    /// numbered, which has to go in order, the next is decoded.
    fn new(
        decoder: &dyn Decoder,
        claim: &Claim,
        history: &History,
    ) -> Result<Option<Translated>, Error> {
        let mut translator = Translator::new(claim, history);
        let decoding = Decoding { decoder, history, partitions: !translator.one_set };
        let mut blocks = history.operations().chunks(BLOCK);
        let mut decoded = blocks.next().map(|block| decoding.decode_all(block)).unwrap_or_default();
        loop {
            let next = blocks.next();
            let (fits, following) = rayon::join(
                || translator.add_all(decoded),
                || next.map(|block| decoding.decode_all(block)),
            );
            if !fits? {
                return Ok(None);
            }
            match following {
                Some(following) => decoded = following,
                None => return Ok(translator.finish()),
            }
        }
    }

    /// Puts the parts one behind the other; within a part the order stays.
    fn sort(&mut self, part_of: &[u32], count: usize) {
        let mut starts = vec![0u32; count + 1];
        for &part in part_of {
            starts[part as usize + 1] += 1;
        }
        for part in 0..count {
            starts[part + 1] += starts[part];
        }
        let mut places = starts.clone();
        let mut operations = self.operations.clone();
        let mut index = vec![0; self.index.len()];
        for (n, &part) in part_of.iter().enumerate() {
            let place = &mut places[part as usize];
            operations[*place as usize] = self.operations[n];
            index[*place as usize] = self.index[n];
            *place += 1;
        }
        (self.operations, self.index, self.starts) = (operations, index, starts);
    }

    /// Tests the claim on the beginning of the largest part.
    fn trustworthy(&self, spec: &Opaque, claim: &Claim, history: &History) -> Result<bool, Error> {
        let size = |&part: &usize| self.starts[part + 1] - self.starts[part];
        let largest = (0..self.starts.len() - 1).rev().max_by_key(size).unwrap_or(0);
        let start = self.starts[largest] as usize;
        let end = (self.starts[largest + 1] as usize).min(start + MANY);
        let some: Subject<'_> = spec.subject(&history.select(&self.index[start..end]))?;
        let all: Vec<u32> = (0..some.history.len() as u32).collect();
        Ok(monitored::trust(&some, claim, &all).is_ok())
    }
}

/// Puts operations into words, on all cores.
struct Decoding<'a> {
    decoder: &'a dyn Decoder,
    history: &'a History,
    /// Their parts are asked for.
    partitions: bool,
}

impl Decoding<'_> {
    fn decode_all(&self, block: &[Operation<Call, Value>]) -> Vec<Result<Decoded, Error>> {
        let mut decoded = Vec::new();
        let few = block.par_iter().with_min_len(BLOCK / 16);
        few.map(|operation| self.decode(operation)).collect_into_vec(&mut decoded);
        decoded
    }

    fn decode(&self, o: &Operation<Call, Value>) -> Result<Decoded, Error> {
        let method = &self.history.methods()[o.op.method as usize];
        let (args, result) = (o.op.args.as_slice(), o.result.as_ref());
        self.decoder
            .decode(method, args, result, o.is_pending(), self.partitions)
            .map_err(|e| Error::at(Position { line: o.line, column: o.column }, e))
    }
}

/// What becomes [`Translated`], operation by operation.
struct Translator<'a> {
    history: &'a History,
    /// Each key is a part of its own; its number is that of the part.
    one_set: bool,
    words: Words,
    operations: Vec<Word>,
    index: Vec<u32>,
    /// The part of each; empty while there is but one.
    part_of: Vec<u32>,
    parts: HashMap<(u32, Option<u64>), u32, FixedState>,
    /// So many operations have been seen.
    seen: usize,
}

impl<'a> Translator<'a> {
    fn new(claim: &Claim, history: &'a History) -> Translator<'a> {
        let mut words = Words::new(claim);
        words.reserve(history.len(), range_of_numbers(history));
        let one_set = claim.kind == Kind::Set && history.parts().len() == 1;
        Translator {
            history,
            one_set,
            words,
            operations: Vec::with_capacity(history.len()),
            index: Vec::with_capacity(history.len()),
            part_of: Vec::with_capacity(if one_set { history.len() } else { 0 }),
            parts: HashMap::default(),
            seen: 0,
        }
    }

    /// Adds the next operations; false where one has no word.
    fn add_all(&mut self, decoded: Vec<Result<Decoded, Error>>) -> Result<bool, Error> {
        for operation in decoded {
            let i = self.seen;
            self.seen += 1;
            match operation? {
                Decoded::Action(action, partition) => self.add(i, &action, partition),
                Decoded::Nothing => {}
                Decoded::NoWord => return Ok(false),
            }
        }
        Ok(true)
    }

    fn add(&mut self, i: usize, action: &Action, partition: Option<u64>) {
        let o = &self.history.operations()[i];
        let span = Span { call: o.call, returned: o.returned };
        let action = self.words.numbered(action);
        self.operations.push(Op { span, action });
        self.index.push(i as u32);
        if let (true, Some(key)) = (self.one_set, action.value()) {
            self.part_of.push(key);
            return;
        }
        let next = self.parts.len() as u32;
        let part = *self.parts.entry((o.part, partition)).or_insert(next);
        if self.parts.len() > 1 {
            if self.part_of.is_empty() {
                self.part_of.reserve_exact(self.history.len());
                self.part_of.resize(self.operations.len() - 1, 0);
            }
            self.part_of.push(part);
        }
    }

    fn finish(self) -> Option<Translated> {
        let Translator { mut words, operations, index, part_of, parts, .. } = self;
        // An operation that touches every key would join the parts of its object.
        let objects = parts.keys().filter(|k| k.1.is_none()).count();
        if objects > 0 && objects < parts.len() {
            return None;
        }
        let count = part_of.iter().max().map_or(1, |&last| last as usize + 1);
        words.rank_values();
        let end = operations.len() as u32;
        let mut all = Translated { words, operations, index, starts: vec![0, end] };
        if count > 1 {
            all.sort(&part_of, count);
        }
        Some(all)
    }
}

/// Where nearly all whole numbers among arguments and results lie, by a sample: few may lie far
/// away.
fn range_of_numbers(history: &History) -> Option<RangeInclusive<i64>> {
    let stride = (history.len() / SAMPLE).max(1);
    let mut sample: Vec<i64> = Vec::new();
    for o in history.operations().iter().step_by(stride) {
        let values = o.op.args.as_slice().iter().chain(&o.result);
        sample.extend(values.filter_map(Value::as_int));
    }
    sample.sort_unstable();
    let (least, most) = (*sample.get(sample.len() / 20)?, sample[sample.len() * 19 / 20]);
    // A tenth of the values was cut off; twice that is added at each end.
    let margin = i64::try_from(most.abs_diff(least) / 5).ok()?.saturating_add(1);
    Some(least.saturating_sub(margin)..=most.saturating_add(margin))
}

/// Decodes and explains the operations that clash, and those that touch the same values.
fn explain(
    spec: &Opaque,
    history: &History,
    operations: &[u32],
    scene: &[u32],
    reason: Option<Blame>,
    budget: &Budget,
) -> Result<Verdict, Error> {
    let (scene, source) = match scene {
        [] => (operations, Source::Stream),
        scene => (scene, Source::Part),
    };
    let few = spec.subject(&history.select(scene))?;
    let place = |o: u32| scene.binary_search(&o).ok().map(|place| place as u32);
    let reason = reason.and_then(|blame| blame.renamed(place));
    let clash = operations.iter().filter_map(|&o| place(o)).collect();
    // Only built-in specifications come here.
    let mut verdict = explain_clash(&few, clash, source, reason, true, budget);
    if let Verdict::Violation(explanation) = &mut verdict {
        let names = explanation.operations.iter_mut().chain(&mut explanation.clash);
        names.for_each(|n| *n = scene[*n as usize]);
    }
    Ok(verdict)
}
