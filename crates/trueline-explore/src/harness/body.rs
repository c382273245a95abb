//! A scenario as the body of an exploration: creates the object, makes the calls before, starts the
//! threads, waits for them, makes the calls after, and drops the object.

use std::sync::{Mutex, PoisonError};

use super::scenario::Scenario;
use super::table::Table;
use super::{Invariant, Make, Operate, Thread};
use crate::engine::interface::{self, Access, Effect, Failure};
use crate::memory::{Reuse, reuse, untracked};
use crate::std::thread;

/// State shared by the executions of a scenario.
pub(crate) struct Body<'a, T, O: Operate<T>> {
    pub(crate) make: &'a Make<T>,
    pub(crate) alphabet: &'a [O],
    pub(crate) scenario: &'a Scenario,
    pub(crate) invariant: Option<&'a Invariant<T>>,
    pub(crate) reuse: Reuse,
    results: Mutex<Table<O::Ret>>,
    trouble: Mutex<Option<Trouble>>,
}

/// A fault of the code under test itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// This call of the scenario panicked.
    Panicked(usize),
    /// The invariant is violated.
    Invariant(String),
}

impl<'a, T: Sync, O: Operate<T>> Body<'a, T, O> {
    pub(crate) fn new(
        make: &'a Make<T>,
        alphabet: &'a [O],
        scenario: &'a Scenario,
        invariant: Option<&'a Invariant<T>>,
        reuse: Reuse,
    ) -> Body<'a, T, O> {
        let (results, trouble) = (Mutex::default(), Mutex::new(None));
        Body { make, alphabet, scenario, invariant, reuse, results, trouble }
    }

    /// Runs the scenario once, inside of an exploration.
    pub(crate) fn run(&self) {
        reuse(self.reuse);
        let scenario = self.scenario;
        let starts = scenario.starts();
        let object = (self.make)();
        {
            let alone = !scenario.before.is_empty() || !scenario.after.is_empty();
            let main = Thread { index: 0, role: None };
            let mut handle = alone.then(|| O::handle(&object, main));
            if let Some(handle) = &mut handle {
                self.call_all(&scenario.before, 0, handle);
            }
            // An operation that makes no event, too, is over before the threads begin.
            interface::point(&Access::local().named("the threads begin"));
            interface::record(Effect::read(0));
            let object = &object;
            thread::scope(|scope| {
                for (i, lane) in scenario.lanes.iter().enumerate() {
                    let (start, index) = (starts[i], i + 1);
                    scope.spawn(move || {
                        let thread = Thread { index, role: Some(lane.role) };
                        let mut handle = O::handle(object, thread);
                        self.call_all(&lane.calls, start, &mut handle);
                    });
                }
            });
            self.ask_invariant(object);
            if let Some(handle) = &mut handle {
                self.call_all(&scenario.after, starts[scenario.lanes.len()], handle);
            }
        }
        if !scenario.after.is_empty() {
            self.ask_invariant(&object);
        }
    }

    fn call_all(&self, calls: &[usize], start: usize, handle: &mut O::Handle<'_>) {
        for (i, &call) in calls.iter().enumerate() {
            let number = start + i;
            interface::operation_begins(number as u64);
            let note = NotePanic { trouble: &self.trouble, what: Trouble::Panicked(number) };
            let result = self.alphabet[call].operate(handle);
            std::mem::forget(note);
            let number = untracked(|| lock(&self.results).number_of(&result));
            interface::operation_ends(u64::from(number));
        }
    }

    fn ask_invariant(&self, object: &T) {
        let Some(invariant) = self.invariant else { return };
        let what = Trouble::Invariant(String::new());
        let note = NotePanic { trouble: &self.trouble, what };
        let held = invariant(object);
        std::mem::forget(note);
        if let Err(what) = held {
            let what = untracked(|| {
                let what = what.clone();
                *lock(&self.trouble) = Some(Trouble::Invariant(what.clone()));
                what
            });
            interface::fail(Failure::Other { what });
        }
    }

    /// The result that has a number.
    pub(crate) fn result(&self, number: u64) -> O::Ret {
        lock(&self.results).value(number as u32)
    }

    /// Clears the faults of earlier executions.
    pub(crate) fn forget_trouble(&self) {
        *lock(&self.trouble) = None;
    }

    /// The fault of the code under test in the execution that failed.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        lock(&self.trouble).clone()
    }
}

/// Records a panic when it is dropped during unwinding. The record owns no memory, since that would
/// belong to the execution.
struct NotePanic<'a> {
    trouble: &'a Mutex<Option<Trouble>>,
    what: Trouble,
}

impl Drop for NotePanic<'_> {
    fn drop(&mut self) {
        *lock(self.trouble) = Some(self.what.clone());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
