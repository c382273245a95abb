//! Decides one part for one factor: chooses the search, builds the certificate, has it checked.

use super::certificate::{self, Certificate};
use super::displaced::{self, Displaced};
use super::lives::Queue;
use super::part_history::{Act, PartHistory};
use super::queue;
use super::{Algorithm, Bounds, Effort, End, Reading};
use crate::budget::{Budget, Exhausted};
use crate::check::{Decision as Searched, Problem, Ticker, Which, Window, search};
#[cfg(feature = "papers")]
use crate::papers::quasi as papers;
use crate::spec::subject::Subject;

/// The question, without the factor.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) reading: Reading,
    pub(crate) end: End,
    pub(crate) algorithm: Algorithm,
    pub(crate) budget: &'a Budget,
}

/// The answer for one part and one factor.
#[derive(Debug)]
pub(super) enum Answer {
    /// It holds; the certificate was checked; with how far each operation of the order moved.
    Holds { certificate: Certificate, moved: Vec<u32>, by: &'static str },
    /// It does not hold. Every prefix without the return of `stuck` holds, if that is known.
    Refuted { stuck: Option<u32>, by: &'static str },
    /// A certificate is wrong: a bug.
    Wrong(String),
}

/// Widths of the search for queues, one after the other; the last drops nothing.
const WIDTHS: [usize; 5] = [4, 64, 1024, 1 << 14, usize::MAX];

/// Decides with these bounds, in at most `limit` steps.
pub(super) fn decide(
    words: &PartHistory,
    bounds: Bounds,
    question: &Question<'_>,
    limit: u64,
    #[cfg_attr(not(feature = "papers"), expect(unused_variables))] effort: &mut Effort,
) -> Result<Answer, Exhausted> {
    let mut ticker = Ticker::limited(question.budget, limit);
    let found = match (question.algorithm, question.reading) {
        (Algorithm::Auto, Reading::Slots) => slots(words, bounds, question, &mut ticker)?,
        #[cfg(feature = "papers")]
        _ => papers::decide(words, bounds, question, &mut ticker, effort)?,
    };
    Ok(match found {
        Found::Refuted { stuck, by } => Answer::Refuted { stuck, by },
        Found::Holds { certificate, by } => {
            let Question { reading, end, .. } = *question;
            match certificate::check(words, bounds, reading, end, &certificate) {
                Ok(moved) => Answer::Holds { certificate, moved, by },
                Err(what) => Answer::Wrong(format!("what {by} found does not replay: {what}")),
            }
        }
    })
}

/// A factor below which `slots` does not hold, as far as can be seen without a search.
pub(super) fn lower_bound(words: &PartHistory, question: &Question<'_>) -> u32 {
    match (question.reading, Queue::new(words)) {
        (Reading::Slots, Some(queue)) => queue.least_by_windows(question.end).0,
        _ => 0,
    }
}

/// The general search alone, as a second opinion when the search for queues refutes.
pub(super) fn generally(
    words: &PartHistory,
    bounds: Bounds,
    question: &Question<'_>,
    limit: u64,
) -> Result<bool, Exhausted> {
    let mut ticker = Ticker::limited(question.budget, limit);
    Ok(matches!(general(words, bounds, question, &mut ticker)?, Found::Holds { .. }))
}

pub(crate) enum Found {
    Holds { certificate: Certificate, by: &'static str },
    Refuted { stuck: Option<u32>, by: &'static str },
}

fn slots(
    words: &PartHistory,
    bounds: Bounds,
    question: &Question<'_>,
    ticker: &mut Ticker<'_>,
) -> Result<Found, Exhausted> {
    let Some(queue) = Queue::new(words) else { return general(words, bounds, question, ticker) };
    let end = question.end;
    let (least, needing) = queue.least_by_windows(end);
    if least > bounds.removals {
        return Ok(Found::Refuted { stuck: needing, by: "quasi-windows" });
    }
    for width in WIDTHS {
        match queue.search(bounds.removals, end, width, ticker)? {
            queue::Found::Order(order) => {
                let acts = words.words.iter().map(|w| w.act).collect();
                let certificate = complete(words, bounds, end, acts, order);
                return Ok(Found::Holds { certificate, by: "quasi-queue" });
            }
            queue::Found::Refuted(stuck) => {
                return Ok(Found::Refuted { stuck, by: "quasi-queue" });
            }
            queue::Found::Dropped => {}
        }
    }
    general(words, bounds, question, ticker)
}

fn general(
    words: &PartHistory,
    bounds: Bounds,
    question: &Question<'_>,
    ticker: &mut Ticker<'_>,
) -> Result<Found, Exhausted> {
    let by = "quasi-search";
    let spec = Displaced::new(words, bounds.removals, question.end);
    let history = spec.history();
    let all: Vec<u32> = (0..history.len() as u32).collect();
    let subject = Subject::new(&spec, &history);
    let problem = Problem::new(&subject, &all, Window::ALL);
    let found = search(&problem, ticker, Which::Both, u64::MAX);
    match found.decision? {
        Some(Searched::Order(order)) => {
            let order = order.iter().map(|&n| problem.index(n));
            let order: Vec<u32> = order.filter(|&o| o < words.len() as u32).collect();
            let acts = spec.resolve(&order);
            let certificate = complete(words, bounds, question.end, acts, order);
            Ok(Found::Holds { certificate, by })
        }
        Some(Searched::Stuck(number)) => {
            let stuck = problem.index(number);
            Ok(Found::Refuted { stuck: (stuck < words.len() as u32).then_some(stuck), by })
        }
        None => Err(Exhausted::Steps(ticker.steps())),
    }
}

/// The certificate for p' in the reading `slots`: with an open end the remaining values are
/// removed, the waiting ones first.
fn complete(
    words: &PartHistory,
    bounds: Bounds,
    end: End,
    mut acts: Vec<Act>,
    mut order: Vec<u32>,
) -> Certificate {
    if end == End::Open {
        let spec = Displaced::new(words, bounds.removals, end);
        for value in spec.remainder(&acts, &order) {
            order.push(acts.len() as u32);
            acts.push(Act::Take(value));
        }
    }
    // If there is none, the check of the certificate reports it.
    let legal = displaced::beside(words, &acts, &order).unwrap_or_default();
    Certificate { acts, order, legal }
}
