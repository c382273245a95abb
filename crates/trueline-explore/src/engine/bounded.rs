//! Explores every behaviour that few preemptions reach: bounded partial order reduction.
//!
//! After Coons, Musuvathi and McKinley, 'Bounded Partial-Order Reduction' (OOPSLA 2013). A
//! preemption takes the processor away from a thread that could continue. The search is
//! depth-first. It reverses a race by running the second event's thread before the first event.
//! That may cost a preemption more than needed: an earlier switch, at the point where the first
//! event's thread was switched to, could give the same behaviour. So the search tries the thread
//! there too; these are the conservative points. If the thread cannot run there, it tries all
//! threads that can.
//!
//! An event is compared with all earlier events that conflict with it and do not happen before its
//! thread's last event. Comparing it with the nearest one alone is not enough, because the path
//! from one to the next may exceed the bound. There are no sleep sets, since they would hide
//! executions whose representative exceeds the bound. So the search may repeat equivalent
//! executions: it misses nothing within its bound, and is not minimal.
//!
//! Cost: at most the number of schedules within the bound, `O((n t)^k)` for `n` events, `t` threads
//! and `k` preemptions.

use super::interface::{NOWHERE, ThreadId, ended};
use super::strategy::{BlockedThread, Decision, Strategy, View, choose_again};
use super::trace::Trace;

/// A state on the way.
#[derive(Default)]
struct Node {
    thread: u32,
    choice: u32,
    choices: u32,
    enabled: Vec<u32>,
    /// The thread that ran before, if it could continue.
    before: Option<u32>,
    preemptions: u32,
    /// To be tried, in ascending order; and those that have been.
    wanted: Vec<u32>,
    done: Vec<u32>,
}

impl Node {
    fn want(&mut self, thread: u32) {
        if self.enabled.contains(&thread) {
            self.want_enabled(thread);
        } else {
            for i in 0..self.enabled.len() {
                self.want_enabled(self.enabled[i]);
            }
        }
    }

    fn want_enabled(&mut self, thread: u32) {
        if !self.done.contains(&thread)
            && thread != self.thread
            && let Err(at) = self.wanted.binary_search(&thread)
        {
            self.wanted.insert(at, thread);
        }
    }

    /// Whether running this thread here takes the processor from another.
    fn preempts(&self, thread: u32) -> bool {
        self.before.is_some_and(|before| before != thread)
    }
}

/// The search with a bound on the number of preemptions.
#[derive(Default)]
pub(crate) struct Bounded {
    most: u32,
    nodes: Vec<Node>,
    decided: usize,
    /// Events before this one have been compared with all that is before them.
    compared: usize,
    /// Something was left out because of the bound.
    pub(crate) cut: bool,
}

impl Bounded {
    pub(crate) fn new(most: u32) -> Bounded {
        Bounded { most, ..Bounded::default() }
    }

    pub(crate) fn kept(&self) -> usize {
        self.decided.saturating_sub(1)
    }

    /// Takes in the execution that has ended and moves on to the next one. Returns false if there
    /// is none.
    pub(crate) fn advance(&mut self, trace: &Trace, blocked: &[BlockedThread]) -> bool {
        for index in self.compared as u32..trace.len() as u32 {
            let event = trace.event(index);
            let clock = trace.clock_after(event.thread, event.previous);
            for touch in trace.touches_of(index) {
                self.reverse(trace, event.thread, clock, touch.wrote, touch.previous);
            }
        }
        for waiting in blocked {
            let clock = trace.clock_after(waiting.thread, trace.last_of(waiting.thread));
            let watched = waiting.watched.as_deref().unwrap_or(&[]).iter().map(|w| w.0);
            for location in watched.chain([waiting.access.location]).filter(|&l| l != NOWHERE) {
                let last = trace.locations.last(location);
                self.reverse(trace, waiting.thread, clock, true, last);
            }
        }
        self.backtrack(trace.len())
    }

    fn reverse(&mut self, trace: &Trace, thread: u32, clock: &[u32], wrote: bool, last: u32) {
        for touch in trace.conflicting(last, wrote) {
            if trace.precedes(touch.event, clock) {
                if touch.wrote {
                    break;
                }
                continue;
            }
            let depth = touch.event as usize;
            self.nodes[depth].want(thread);
            // The point where the thread of that event was switched to.
            let mut start = depth;
            while start > 0 && self.nodes[start - 1].thread == self.nodes[depth].thread {
                start -= 1;
            }
            self.nodes[start].want(thread);
        }
    }

    fn backtrack(&mut self, length: usize) -> bool {
        for depth in (0..length).rev() {
            let node = &mut self.nodes[depth];
            if node.choice + 1 < node.choices {
                node.choice += 1;
                self.decided = depth + 1;
                self.compared = depth;
                return true;
            }
            node.done.push(node.thread);
            while !node.wanted.is_empty() {
                let thread = node.wanted.remove(0);
                if node.preempts(thread) && node.preemptions == self.most {
                    node.done.push(thread);
                    self.cut = true;
                    continue;
                }
                node.thread = thread;
                (node.choice, node.choices) = (0, 1);
                self.decided = depth + 1;
                self.compared = depth;
                return true;
            }
        }
        false
    }
}

impl Strategy for Bounded {
    fn next(&mut self, view: &View<'_>) -> Decision {
        let depth = view.trace.len();
        if depth < self.decided {
            return Decision::Run(self.nodes[depth].thread);
        }
        if self.nodes.len() <= depth {
            self.nodes.push(Node::default());
        }
        let (before, preemptions) = match depth.checked_sub(1).map(|d| &self.nodes[d]) {
            None => (None, 0),
            Some(last) => {
                (Some(last.thread), last.preemptions + u32::from(last.preempts(last.thread)))
            }
        };
        // Switching away from a thread that only has to end is not a preemption.
        let goes_on = |thread: &u32| {
            view.can_run(*thread) && view.pending(*thread).location != ended(ThreadId(*thread))
        };
        let node = &mut self.nodes[depth];
        node.thread = view.current_or_first();
        (node.choice, node.choices) = (0, 1);
        node.enabled.clear();
        node.enabled.extend(view.enabled());
        node.before = before.filter(goes_on);
        node.preemptions = preemptions;
        node.wanted.clear();
        node.done.clear();
        self.decided = depth + 1;
        Decision::Run(self.nodes[depth].thread)
    }

    fn decided(&self, view: &View<'_>) -> Option<u32> {
        let depth = view.trace.len();
        (depth < self.decided).then(|| self.nodes[depth].thread)
    }

    fn has_chosen(&self, trace: &Trace) -> bool {
        let node = &self.nodes[trace.len()];
        node.choice > 0 || node.choices > 1
    }

    fn choose(&mut self, trace: &Trace, count: u32) -> u32 {
        let node = &mut self.nodes[trace.len()];
        choose_again(&mut node.choice, &mut node.choices, count)
    }
}
