//! What is to be decided: a history and the specification it is held against, decoded or not.
//!
//! A decoded history costs as much memory again as the one that was read. Monitors need none: each
//! operation is decoded, put into the words of a kind (16 bytes) and forgotten; of a violation only
//! the few operations that matter are decoded again. Searches and rules see a [`Subject`], which is
//! decoded when the first of them asks.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use crate::history::{Error, History, Position};
use crate::monitor::Span;
use crate::spec::opaque::{Decoded, Decoder, Opaque, Said};
use crate::spec::subject::{Claim, Recorded, Subject};
use crate::value::Value;

/// An operation's object and when it ran.
pub(crate) struct Interval {
    pub(crate) object: u32,
    pub(crate) span: Span,
}

/// A history and its specification.
pub(crate) trait Input: Sync {
    /// Why the history does not fit the specification.
    type Error: Send;

    /// How many operations.
    fn len(&self) -> usize;
    fn interval(&self, index: u32) -> Interval;
    /// What the specification claims to be.
    fn claim(&self) -> Option<Claim>;
    /// The operation in the words of that kind, and its key where `is_keyed` asks for it.
    fn decode(&self, index: u32, is_keyed: bool) -> Result<Decoded, Self::Error>;
    /// Where nearly all whole numbers among arguments and results lie, where that is known.
    fn numbers(&self) -> Option<RangeInclusive<i64>>;
    /// The whole history, and whether it was at hand.
    fn subject(&self) -> Result<&Subject<'_>, Self::Error>;
    fn is_decoded(&self) -> bool;
    /// Some of the operations, ascending, alone: the subject and their indices in it.
    fn with_some<T>(
        &self,
        indices: &[u32],
        then: impl FnOnce(&Subject<'_>, &[u32]) -> T,
    ) -> Result<T, Self::Error>;
}

impl Input for Subject<'_> {
    type Error = Infallible;

    fn len(&self) -> usize {
        self.history.len()
    }

    fn interval(&self, index: u32) -> Interval {
        let o = &self.history.operations()[index as usize];
        Interval { object: o.part, span: Span { call: o.call, returned: o.returned } }
    }

    fn claim(&self) -> Option<Claim> {
        self.spec.claim()
    }

    fn decode(&self, index: u32, is_keyed: bool) -> Result<Decoded, Infallible> {
        let o = &self.history.operations()[index as usize];
        let key = if is_keyed { self.spec.partition(index) } else { None };
        let said = match o.is_pending() {
            true if self.spec.observes(Recorded::open(index)) => Said::Nothing,
            false if o.result.is_none() => Said::NoWord,
            is_open => {
                let operation = Recorded { index, has_result: !is_open };
                self.spec.action(operation).map_or(Said::NoWord, Said::Action)
            }
        };
        Ok(Decoded { said, key })
    }

    fn numbers(&self) -> Option<RangeInclusive<i64>> {
        None
    }

    fn subject(&self) -> Result<&Subject<'_>, Infallible> {
        Ok(self)
    }

    fn is_decoded(&self) -> bool {
        true
    }

    fn with_some<T>(
        &self,
        indices: &[u32],
        then: impl FnOnce(&Subject<'_>, &[u32]) -> T,
    ) -> Result<T, Infallible> {
        Ok(then(self, indices))
    }
}

/// A history as it was read, and a built-in specification.
pub(crate) struct Undecoded<'a> {
    spec: &'a Opaque,
    history: &'a History,
    decoder: Option<Box<dyn Decoder + 'a>>,
    subject: OnceLock<Subject<'a>>,
}

/// Operations that are looked at to see where the values lie.
const SAMPLE: usize = 1024;

impl<'a> Undecoded<'a> {
    pub(crate) fn new(spec: &'a Opaque, history: &'a History) -> Undecoded<'a> {
        Undecoded { spec, history, decoder: spec.decoder(), subject: OnceLock::new() }
    }
}

impl Input for Undecoded<'_> {
    type Error = Error;

    fn len(&self) -> usize {
        self.history.len()
    }

    fn interval(&self, index: u32) -> Interval {
        let o = &self.history.operations()[index as usize];
        Interval { object: o.part, span: Span { call: o.call, returned: o.returned } }
    }

    fn claim(&self) -> Option<Claim> {
        self.decoder.as_ref().map(|decoder| decoder.claim())
    }

    fn decode(&self, index: u32, is_keyed: bool) -> Result<Decoded, Error> {
        let Some(decoder) = &self.decoder else {
            return Ok(Decoded { said: Said::NoWord, key: None });
        };
        let o = &self.history.operations()[index as usize];
        let method = &self.history.methods()[o.op.method as usize];
        let (args, result) = (o.op.args.as_slice(), o.result.as_ref());
        decoder
            .decode(method, args, result, o.is_pending(), is_keyed)
            .map_err(|e| Error::at(Position { line: o.line, column: o.column }, e))
    }

    fn numbers(&self) -> Option<RangeInclusive<i64>> {
        let stride = (self.len() / SAMPLE).max(1);
        let mut sample: Vec<i64> = Vec::new();
        for o in self.history.operations().iter().step_by(stride) {
            let values = o.op.args.as_slice().iter().chain(&o.result);
            sample.extend(values.filter_map(Value::as_int));
        }
        sample.sort_unstable();
        let (least, most) = (*sample.get(sample.len() / 20)?, sample[sample.len() * 19 / 20]);
        // A tenth of the values was cut off; twice that is added at each end. Few may lie far away.
        let margin = i64::try_from(most.abs_diff(least) / 5).ok()?.saturating_add(1);
        Some(least.saturating_sub(margin)..=most.saturating_add(margin))
    }

    fn subject(&self) -> Result<&Subject<'_>, Error> {
        if let Some(subject) = self.subject.get() {
            return Ok(subject);
        }
        let subject = self.spec.subject(self.history)?;
        Ok(self.subject.get_or_init(|| subject))
    }

    fn is_decoded(&self) -> bool {
        self.subject.get().is_some()
    }

    fn with_some<T>(
        &self,
        indices: &[u32],
        then: impl FnOnce(&Subject<'_>, &[u32]) -> T,
    ) -> Result<T, Error> {
        let few = self.spec.subject(&self.history.select(indices))?;
        let all: Vec<u32> = (0..indices.len() as u32).collect();
        Ok(then(&few, &all))
    }
}
