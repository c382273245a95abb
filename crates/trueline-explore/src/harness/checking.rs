//! Checks the histories of a scenario, identical ones once.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use trueline::Verdict;
use trueline::budget::Exhausted;
use trueline::history::Operation;
use trueline::verdict::Reason;

use super::Operate;
use super::guarded::{self, NoAnswer, Waiting};
use super::histories::{self, Performed};
use super::outcome::Counts;
use super::scenario::Scenario;
use super::setting::{Drawn, Judge, Setting};

/// The histories of a scenario so far, and the findings among them.
pub(crate) struct Checking<'a, T, O: Operate<T>> {
    setting: &'a Setting<'a, T, O>,
    scenario: &'a Scenario,
    /// The alphabet's index of each call.
    calls: Vec<usize>,
    seen: Mutex<Seen>,
    /// Decides in place of the checker.
    judge: Option<Mutex<Box<dyn Judge<T, O>>>>,
    /// Whether identical histories are judged once.
    skips_identical: bool,
}

/// A fault of a history.
pub(crate) enum Found<O, R> {
    NotLinearizable(Box<Drawn<O, R>>),
    NotQuasiLinearizable {
        drawn: Box<Drawn<O, R>>,
        factor: u32,
    },
    Stuck {
        drawn: Box<Drawn<O, R>>,
        /// All states that are possible at the end if the waiting operations have not taken effect;
        /// empty if one of them has.
        states: Vec<String>,
        /// Where threads wait.
        waiting: Vec<String>,
        /// The calls that wait, by their numbers in the scenario.
        culprits: Vec<usize>,
    },
    Error(String),
    /// A limit was reached before the history was judged.
    Spent(Exhausted),
}

impl<O, R> From<NoAnswer> for Found<O, R> {
    fn from(why: NoAnswer) -> Found<O, R> {
        match why {
            NoAnswer::Error(what) => Found::Error(what),
            NoAnswer::Spent(why) => Found::Spent(why),
        }
    }
}

/// The key of a history: the calls with their results, the operations before each as bits, and
/// whether a thread waits for ever although all have returned.
type Key = (Box<[Performed]>, Box<[u128]>, bool);

#[derive(Default)]
struct Seen {
    histories: u64,
    checks: u64,
    /// Those in which nothing is wrong.
    known: HashSet<Key, FixedState>,
}

impl<'a, T, O: Operate<T>> Checking<'a, T, O> {
    pub(crate) fn new(setting: &'a Setting<'a, T, O>, scenario: &'a Scenario) -> Self {
        let calls = scenario.calls().iter().map(|&(_, call)| call).collect();
        let judge = setting.judge.map(|make| make());
        let skips_identical = judge.as_ref().is_none_or(|judge| judge.skips_identical());
        let (seen, judge) = (Mutex::default(), judge.map(Mutex::new));
        Checking { setting, scenario, calls, seen, judge, skips_identical }
    }

    /// Checks a history: operations, the operations before each as bits, results by number, and
    /// where threads wait for ever. Returns `None` if nothing is wrong with it.
    pub(crate) fn look(
        &self,
        performed: &[Performed],
        before: &[u128],
        result: impl Fn(u64) -> O::Ret,
        waiting: impl FnOnce() -> Vec<String>,
    ) -> Option<Found<O, O::Ret>> {
        // Waiting operations are recognised by their missing results. A thread that waits outside
        // of its operations, say in a destructor of the object, leaves the same history as one that
        // does not wait.
        let have_returned = performed.iter().all(|operation| operation.result.is_some());
        let (outside, waiting) = match have_returned {
            true => (waiting(), None),
            false => (Vec::new(), Some(waiting)),
        };
        let key: Key = (Box::from(performed), Box::from(before), !outside.is_empty());
        {
            let mut seen = lock(&self.seen);
            seen.histories += 1;
            if self.skips_identical && seen.known.contains(&key) {
                return None;
            }
        }
        let waiting = waiting.map_or(outside, |waiting| waiting());
        let found = self.judge(self.drawn(performed, before, result), performed, waiting);
        // A history counts as known only after it was found correct. A worker that meets a history
        // that another worker is checking checks it too, so that each worker finds the failures of
        // its own executions.
        let mut seen = lock(&self.seen);
        seen.checks += u64::from(found.is_some() || seen.known.insert(key));
        found
    }

    /// Forgets all histories: they are checked and counted again.
    pub(crate) fn start_again(&self) {
        *lock(&self.seen) = Seen::default();
    }

    /// The history of these operations.
    pub(crate) fn drawn(
        &self,
        performed: &[Performed],
        before: &[u128],
        result: impl Fn(u64) -> O::Ret,
    ) -> Drawn<O, O::Ret> {
        let raw = histories::of_order(self.scenario, performed, |i| before[i]);
        let results: Vec<Option<O::Ret>> =
            performed.iter().map(|o| o.result.map(&result)).collect();
        let history = raw.map(|o: &Operation<_, _>| {
            let place = histories::place(&o.op);
            let op = self.setting.alphabet[self.calls[performed[place].call]].clone();
            Ok::<_, Infallible>((op, results[place].clone()))
        });
        let Ok(history) = history;
        let calls = performed.iter().map(|operation| operation.call).collect();
        Drawn { raw, calls, history, outcome: None }
    }

    pub(crate) fn counts(&self) -> Counts {
        let seen = lock(&self.seen);
        let enumerated =
            self.judge.as_ref().map(|judge| lock(judge).enumerated()).unwrap_or_default();
        let (histories, checks) = (seen.histories, seen.checks);
        Counts { scenarios: 1, histories, checks, enumerated, ..Counts::default() }
    }

    fn judge(
        &self,
        mut drawn: Drawn<O, O::Ret>,
        performed: &[Performed],
        waiting: Vec<String>,
    ) -> Option<Found<O, O::Ret>> {
        if let Some(watch) = self.setting.watch {
            watch(&drawn.history);
        }
        if self.setting.survey {
            return None;
        }
        // The waiting operations, if an order of the others exists only if one of these has taken
        // effect.
        let mut effective = None;
        if !waiting.is_empty() {
            let pending = performed.iter().filter(|operation| operation.result.is_none());
            let culprits: Vec<usize> = pending.map(|operation| operation.call).collect();
            if culprits.is_empty() {
                let (drawn, states) = (Box::new(drawn), Vec::new());
                return Some(Found::Stuck { drawn, states, waiting, culprits });
            }
            let Setting { spec, budget, .. } = self.setting;
            match guarded::may_wait(spec, &drawn.history, budget) {
                Ok(Waiting::Allowed) => return None,
                Ok(Waiting::Enabled(states)) => {
                    return Some(Found::Stuck {
                        drawn: Box::new(drawn),
                        states,
                        waiting,
                        culprits,
                    });
                }
                // The checker either explains the failure or finds an order that includes some of
                // the waiting operations.
                Ok(Waiting::NoOrder) => effective = Some((waiting, culprits)),
                Err(why) => return Some(why.into()),
            }
        }
        if let Some(judge) = &self.judge {
            let Setting { spec, budget, .. } = self.setting;
            return match lock(judge).judge(spec, &drawn.history, budget) {
                Ok(None) => None,
                Ok(Some(factor)) => {
                    Some(Found::NotQuasiLinearizable { drawn: Box::new(drawn), factor })
                }
                Err(why) => Some(why.into()),
            };
        }
        let Setting { spec, budget, .. } = self.setting;
        let outcome = match guarded::check(spec, &drawn.history, budget) {
            Ok(outcome) => outcome,
            Err(why) => return Some(why.into()),
        };
        match &outcome.verdict {
            Verdict::Linearizable(_) => effective.map(|(waiting, culprits)| {
                let (drawn, states) = (Box::new(drawn), Vec::new());
                Found::Stuck { drawn, states, waiting, culprits }
            }),
            Verdict::Violation(_) => {
                drawn.outcome = Some(outcome);
                Some(Found::NotLinearizable(Box::new(drawn)))
            }
            Verdict::Unknown(unknown) => match unknown.reason {
                Reason::Exhausted(why) => Some(Found::Spent(why)),
                _ => {
                    Some(Found::Error(format!("the checker did not decide: {:?}", unknown.reason)))
                }
            },
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a history is not quasi linearizable.
pub(crate) fn quasi_sentence(factor: u32) -> String {
    format!("No order of the operations has every removal within {factor} places of its turn")
}

/// Which operations wait and why that is wrong; then where each thread waits, one line per thread.
pub(crate) fn stuck_sentence<T, O: Operate<T>>(
    setting: &Setting<'_, T, O>,
    scenario: &Scenario,
    culprits: &[usize],
    states: &[String],
    waiting: &[String],
) -> String {
    let calls = scenario.calls();
    let name = |&number: &usize| {
        let (thread, call) = calls[number];
        format!("`{:?}` of thread {thread}", setting.alphabet[call])
    };
    let names: Vec<String> = culprits.iter().map(name).collect();
    let why = if states.is_empty() { "has taken effect" } else { "could go on" };
    let mut text = match names.len() {
        0 => String::from("A thread waits for ever outside of its operations"),
        1 => format!("{} waits for ever, though it {why}", names[0]),
        _ => format!("{} wait for ever, though one of them {why}", names.join(" and ")),
    };
    if !states.is_empty() {
        text += &format!(": the object is {}", states.join(" or "));
    }
    for line in waiting {
        text += &format!("\n{line}");
    }
    text
}
