//! The object itself, run serially, as the specification: for objects that are deterministic.
//!
//! After Line-Up (Burckhardt, Dern, Musuvathi and Tan, 2010) and the first phase of Round-Up
//! (Zhang, Chattopadhyay and Wang). These record all serial executions of a test first. Here serial
//! executions run on demand and are cached: a state is the sequence of operations that led to it,
//! and a step creates a new object, repeats that sequence and calls one more operation. An
//! operation that waits for ever in a serial run is one that blocks there.
//!
//! One thread runs everything. If threads have handles of their own, the object may behave
//! differently for each of them, which serial runs cannot show. Then there is no answer.
//!
//! Every sequence runs twice, and each run repeats the shorter ones. Runs that disagree are an
//! error.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trueline::{Budget, Spec};

use super::body::Body;
use super::guarded::{NoAnswer, give_up};
use super::operate::has_handles;
use super::scenario::Scenario;
use super::{Make, Operate};
use crate::engine::interface::Failure;
use crate::engine::{Execution, Exploration, Stop};
use crate::memory::Reuse;

/// An object as its own specification.
pub(crate) struct Serial<T, O: Operate<T>> {
    make: Arc<Make<T>>,
    alphabet: Vec<O>,
    budget: Arc<Budget>,
    /// Threads call operations on something else than the object itself.
    has_handles: bool,
    known: Mutex<HashMap<Vec<usize>, Option<O::Ret>, FixedState>>,
}

impl<T: Sync, O: Operate<T>> Serial<T, O> {
    pub(crate) fn new(make: Arc<Make<T>>, alphabet: Vec<O>, budget: Arc<Budget>) -> Serial<T, O>
    where
        T: 'static,
    {
        let known = Mutex::new(HashMap::with_hasher(FixedState::default()));
        Serial { make, alphabet, budget, has_handles: has_handles::<T, O>(), known }
    }

    /// The result of the last operation of a sequence; `None` if it waits for ever. An error says
    /// why there is no result.
    fn result(&self, sequence: &[usize]) -> Result<Option<O::Ret>, NoAnswer> {
        if self.has_handles {
            return Err(NoAnswer::error(
                "without a specification the object is run serially by one thread, but here each thread has a handle of its own: give a \
                 specification with .spec(..)",
            ));
        }
        let known = |sequence: &[usize]| {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).get(sequence).cloned()
        };
        if let Some(result) = known(sequence) {
            return Ok(result);
        }
        // An exploration may be in progress on this thread, between two executions. Its memory must
        // not change.
        let run = || (self.run(sequence), self.run(sequence));
        let (first, second) = std::thread::scope(|scope| scope.spawn(run).join())
            .map_err(|_| NoAnswer::error("a serial run of the object ended in a panic"))?;
        let (first, second) = (first?, second?);
        for (i, result) in first.iter().enumerate() {
            let before = known(&sequence[..=i]).unwrap_or_else(|| second[i].clone());
            if *result != before || *result != second[i] {
                let other = if *result == before { &second[i] } else { &before };
                return Err(NoAnswer::Error(self.disagreement(sequence, i, other, result)));
            }
        }
        let last = first.last().cloned().flatten();
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(sequence.to_vec(), last.clone());
        Ok(last)
    }

    /// Runs a sequence once, under every schedule if operations start threads, and returns the
    /// result of each operation.
    fn run(&self, sequence: &[usize]) -> Result<Vec<Option<O::Ret>>, NoAnswer> {
        let scenario = Scenario { before: sequence.to_vec(), ..Scenario::default() };
        let body = Body::new(&*self.make, &self.alphabet, &scenario, None, Reuse::default());
        let results = Mutex::new(None);
        let visit = |execution: &Execution<'_>| {
            let histories = execution.histories().expect("scenarios that are too long are not run");
            let result = |o: &crate::engine::Operation| o.result.map(|number| body.result(number));
            let mut all: Vec<Option<O::Ret>> = histories.operations.iter().map(result).collect();
            all.resize(sequence.len(), None);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            let before = results.get_or_insert_with(|| all.clone());
            match (0..all.len()).find(|&i| all[i] != before[i]) {
                None => Ok(()),
                Some(i) => Err(Failure::Other {
                    what: self.disagreement(sequence, i, &before[i], &all[i]),
                }),
            }
        };
        let exploration = Exploration::new().may_block().budget(Arc::clone(&self.budget));
        let report = exploration.run_with(|| body.run(), visit);
        if let Some(Failure::Other { what }) = report.failure {
            return Err(NoAnswer::Error(what));
        }
        if let Some(failure) = report.failure {
            let run = self.sequence(sequence);
            let what = format!("the object fails when it is run serially, in {run}: {failure}");
            return Err(NoAnswer::Error(what));
        }
        match report.scope.stopped {
            None => {}
            Some(Stop::Budget(why)) => return Err(NoAnswer::Spent(why)),
            Some(_) => {
                let (run, scope) = (self.sequence(sequence), report.scope);
                let what = format!("a serial run of the object, {run}, was cut short: {scope}");
                return Err(NoAnswer::Error(what));
            }
        }
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(results.unwrap_or_else(|| vec![None; sequence.len()]))
    }

    /// The error for an operation of a sequence that has different results in two serial runs.
    fn disagreement(
        &self,
        sequence: &[usize],
        place: usize,
        first: &Option<O::Ret>,
        second: &Option<O::Ret>,
    ) -> String {
        format!(
            "without a specification the object must be deterministic, but `{:?}` gave {} and then {} after {}: \
             give one with .spec(..)",
            self.alphabet[sequence[place]],
            show_result(first.as_ref()),
            show_result(second.as_ref()),
            self.sequence(&sequence[..place]),
        )
    }

    /// As people read it.
    fn sequence(&self, sequence: &[usize]) -> String {
        if sequence.is_empty() {
            return String::from("nothing");
        }
        let mut text = String::new();
        for (i, &call) in sequence.iter().enumerate() {
            let _ = write!(text, "{}{:?}", if i > 0 { " " } else { "" }, self.alphabet[call]);
        }
        format!("`{text}`")
    }
}

fn show_result(result: Option<&impl std::fmt::Debug>) -> String {
    result.map_or(String::from("nothing, since it waited"), |result| format!("{result:?}"))
}

impl<T: Sync, O: Operate<T>> Spec for Serial<T, O> {
    type State = Vec<usize>;
    type Op = O;
    type Ret = O::Ret;

    fn initial(&self) -> Vec<usize> {
        Vec::new()
    }

    fn step(&self, state: &Vec<usize>, op: &O, ret: Option<&O::Ret>, next: &mut Vec<Vec<usize>>) {
        let call = self.alphabet.iter().position(|other| other == op).expect("it is in there");
        let mut after = state.clone();
        after.push(call);
        match self.result(&after) {
            Ok(Some(result)) if ret.is_none_or(|ret| *ret == result) => next.push(after),
            Ok(_) => {}
            Err(why) => give_up(why),
        }
    }

    fn show_state(&self, state: &Vec<usize>) -> String {
        format!("what {} leads to", self.sequence(state))
    }
}
