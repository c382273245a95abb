//! Schedules drawn at random, for programs too large to explore.
//!
//! - **random**: each enabled thread with the same probability at each point.
//! - **pct**: 'A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs' (Burckhardt,
//!   Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): threads have random priorities, the highest
//!   runs; at `depth - 1` random points the running thread falls below all others. A bug of that
//!   depth is hit with probability at least 1 / (n k^(depth - 1)).
//! - **pos**: 'Partial Order Aware Concurrency Sampling' (Yuan, Yang, Gu, CAV 2018): each pending
//!   event has a random priority; when one has run, those that race with it draw new ones.
//!
//! The `i`th schedule of a seed does not depend on the worker that draws it.

use trueline::rng::Rng;

use super::interface::{Access, Kind, NOWHERE};
use super::strategy::{Decision, Strategy, View};
use super::trace::Trace;

/// How schedules are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sampler {
    /// Uniformly at each point.
    Random,
    /// By priorities that change at `depth - 1` points.
    Pct {
        /// How many ordering constraints the bug to be found has.
        depth: u32,
    },
    /// By priorities of events.
    Pos,
}

impl Sampler {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Sampler::Random => "random",
            Sampler::Pct { .. } => "pct",
            Sampler::Pos => "pos",
        }
    }
}

/// Draws one schedule.
pub(crate) struct Sample {
    sampler: Sampler,
    rng: Rng,
    /// Of threads (pct) or of their pending events (pos); 0: not drawn yet.
    priorities: Vec<u64>,
    /// At how many events the running thread falls (pct).
    changes: Vec<usize>,
    fallen: u64,
    last: Option<Access>,
    /// The threads that can run, while one of them is drawn.
    enabled: Vec<u32>,
}

impl Sample {
    /// The `index`th schedule of a seed. `length` is the approximate number of events of an
    /// execution.
    pub(crate) fn new(sampler: Sampler, seed: u64, index: u64, length: usize) -> Sample {
        let mut rng = Rng::new(seed ^ Rng::new(index).number());
        let mut changes = Vec::new();
        if let Sampler::Pct { depth } = sampler {
            changes = (1..depth).map(|_| 1 + rng.below(length.max(1) as u64) as usize).collect();
        }
        let priorities = Vec::new();
        let enabled = Vec::new();
        Sample { sampler, rng, priorities, changes, fallen: 1 << 32, last: None, enabled }
    }

    fn priority(&mut self, thread: u32) -> u64 {
        let thread = thread as usize;
        if self.priorities.len() <= thread {
            self.priorities.resize(thread + 1, 0);
        }
        if self.priorities[thread] == 0 {
            // Above all that have fallen.
            self.priorities[thread] = self.rng.number() | 1 << 63;
        }
        self.priorities[thread]
    }

    fn highest(&mut self, enabled: &[u32]) -> u32 {
        let mut best = (0, enabled[0]);
        for &thread in enabled {
            best = best.max((self.priority(thread), thread));
        }
        best.1
    }
}

/// Whether two accesses may conflict, judging by what is known before they run.
fn races(a: &Access, b: &Access) -> bool {
    let writes = a.kind != Kind::Read || b.kind != Kind::Read;
    a.location == b.location && a.location != NOWHERE && writes
}

impl Strategy for Sample {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let mut enabled = std::mem::take(&mut self.enabled);
        enabled.clear();
        enabled.extend(view.enabled());
        let chosen = match self.sampler {
            Sampler::Random => enabled[self.rng.below(enabled.len() as u64) as usize],
            Sampler::Pct { .. } => {
                let mut best = self.highest(&enabled);
                for _ in 0..self.changes.iter().filter(|&&at| at == view.trace.len()).count() {
                    self.fallen -= 1;
                    self.priorities[best as usize] = self.fallen;
                    best = self.highest(&enabled);
                }
                best
            }
            Sampler::Pos => {
                if let Some(last) = self.last.take() {
                    for &thread in &enabled {
                        if races(&last, view.pending(thread)) {
                            self.priority(thread);
                            self.priorities[thread as usize] = 0;
                        }
                    }
                }
                let best = self.highest(&enabled);
                self.priorities[best as usize] = 0;
                self.last = Some(*view.pending(best));
                best
            }
        };
        self.enabled = enabled;
        Decision::Run(chosen)
    }

    fn choose(&mut self, _: &Trace, count: u32) -> u32 {
        self.rng.below(u64::from(count)) as u32
    }
}
