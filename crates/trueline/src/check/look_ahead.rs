//! Detects that a configuration is a dead end before its successors are tried.
//!
//! An observer that is not linearized yet must find its state eventually. Only operations that are
//! called before it returns can lead there. If the state is out of reach now and none of these may
//! help, no order continues from here. The specification says what is out of reach and what may
//! help: [`crate::spec::Spec::in_reach`].
//!
//! Cost: a few observers, times the operations that overlap the time until they return. As exact as
//! the specification's claims.

use super::mask::Mask;
use super::problem::{Spans, Stepper};
use super::timeline::{Slots, Timeline};

/// How many returns, and how many unexplained observers among them, are checked.
const RETURNS: usize = 32;
const OBSERVERS: usize = 3;

/// Operations that are linearized, beyond those that returned before the frontier.
pub(crate) struct Linearized<'a, M> {
    pub(crate) open: &'a M,
    pub(crate) pending: &'a M,
}

/// True only if no order continues from this configuration.
pub(crate) fn is_dead_end<M: Mask>(
    spans: &Spans,
    slots: &Slots,
    timeline: &Timeline<'_>,
    linearized: &Linearized<'_, M>,
    state: u32,
    stepper: &Stepper<'_>,
) -> bool {
    let ahead = &spans.returns[timeline.frontier()..];
    let is_done = |o: u32| o < timeline.called() && linearized.open.has(slots.of[o as usize]);
    ahead
        .iter()
        .take(RETURNS)
        .copied()
        .filter(|&o| spans.observer[o as usize] && !is_done(o))
        .take(OBSERVERS)
        .any(|observer| {
            !stepper.in_reach(state, observer) && {
                let limit = spans.returned[observer as usize];
                let open = timeline.open().iter().copied().filter(|&o| !is_done(o));
                let pending = slots.pending[..timeline.pending()]
                    .iter()
                    .copied()
                    .filter(|&o| !linearized.pending.has(slots.of[o as usize]));
                let future = (timeline.called()..spans.len() as u32)
                    .take_while(|&o| spans.call[o as usize] < limit);
                !open
                    .chain(pending)
                    .chain(future)
                    .any(|o| !spans.observer[o as usize] && stepper.may_help(o, observer))
            }
        })
}
