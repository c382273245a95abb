//! Happens-before over all interleavings, by brute force: whether some use of the block is not
//! ordered before its free, or comes after it, or two accesses to its cell race.
//!
//! It shares no code with the detector, which keeps vector clocks: here each event has the set of
//! all events that happen before it, as bits, made from the rules of C++20 for release sequences
//! and fences.

use super::program::{Lock, Program, Step, Use, acquires, is_in_block, releases};

/// What one thread does, one event or plain access after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Access {
        location: usize,
        access: Access,
        acquires: bool,
        releases: bool,
    },
    Fence {
        acquires: bool,
        releases: bool,
    },
    Lock {
        lock: Lock,
        shared: bool,
    },
    Unlock {
        lock: Lock,
    },
    /// Takes the lock if it is free, else passes over its unlocking.
    Try {
        lock: Lock,
    },
    Cell {
        writes: bool,
    },
    /// An access to the counts of the `Arc` that orders nothing.
    Count,
    Join(usize),
    Drop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Load,
    /// A load that ends the thread unless it finds that something was stored.
    Guard,
    Store,
    Add,
}

type Set = u64;

#[derive(Clone, Default)]
struct Thread {
    next: usize,
    /// A guard has found nothing: it gives its lock back and ends.
    stops: bool,
    held: Option<Lock>,
    dropped: bool,
    ended: bool,
    /// All that happens before its next event.
    known: Set,
    /// What relaxed loads have read, for the next acquire fence.
    to_acquire: Set,
    /// What its last release fence passes on.
    fenced: Set,
}

#[derive(Clone)]
struct State {
    threads: Vec<Thread>,
    events: u32,
    /// The value of each location, and what its release sequence passes on.
    values: [(u64, Set); 3],
    /// Who holds each lock (readers count), and what was passed on at it.
    locks: [(u32, Set); 3],
    uses: Set,
    reads: Set,
    writes: Set,
    owners: usize,
    /// What drops of handles pass on.
    drops: Set,
    freed: bool,
}

/// Whether some interleaving is wrong, and how many were looked at.
pub(crate) fn misuses(program: &Program) -> (bool, u64) {
    let actions: Vec<Vec<Action>> = program.threads.iter().map(|steps| compile(steps)).collect();
    let owners = program.owners.iter().filter(|&&owns| owns).count();
    let state = State {
        threads: program
            .owners
            .iter()
            .map(|&owns| Thread { dropped: !owns, ..Thread::default() })
            .collect(),
        events: 0,
        values: [(0, 0); 3],
        locks: [(0, 0); 3],
        uses: 0,
        reads: 0,
        writes: 0,
        owners: if program.shared { owners } else { 1 },
        drops: 0,
        freed: false,
    };
    let mut looked = 0;
    let wrong = search(program.shared, &actions, &state, &mut looked);
    (wrong, looked)
}

fn compile(steps: &[Step]) -> Vec<Action> {
    let mut actions = Vec::new();
    for step in steps {
        let access = |location, access, order| Action::Access {
            location,
            access,
            acquires: acquires(order),
            releases: releases(order),
        };
        match step {
            Step::Load(location, order) => actions.push(access(*location, Access::Load, *order)),
            Step::Guard(location, order) => actions.push(access(*location, Access::Guard, *order)),
            Step::Store(location, order) => actions.push(access(*location, Access::Store, *order)),
            Step::Add(location, order) => actions.push(access(*location, Access::Add, *order)),
            Step::Fence(order) => actions
                .push(Action::Fence { acquires: acquires(*order), releases: releases(*order) }),
            Step::Use(Use::Read | Use::GetRead) => actions.push(Action::Cell { writes: false }),
            Step::Use(Use::Write | Use::GetWrite) => actions.push(Action::Cell { writes: true }),
            Step::Use(Use::TryLock) => {
                actions.push(Action::Try { lock: Lock::Inner });
                actions.push(Action::Unlock { lock: Lock::Inner });
            }
            Step::Use(Use::ReadLock) => {
                actions.push(Action::Lock { lock: Lock::Shared, shared: true });
                actions.push(Action::Unlock { lock: Lock::Shared });
            }
            Step::Use(Use::Count) => actions.push(Action::Count),
            Step::Section(lock, inner) => {
                actions.push(Action::Lock { lock: *lock, shared: false });
                actions.extend(compile(inner));
                actions.push(Action::Unlock { lock: *lock });
            }
            Step::Join(thread) => actions.push(Action::Join(*thread)),
            Step::Drop => actions.push(Action::Drop),
        }
    }
    actions
}

fn search(shared: bool, actions: &[Vec<Action>], state: &State, looked: &mut u64) -> bool {
    let mut over = true;
    for thread in 0..actions.len() {
        let mut after = state.clone();
        match after.step(shared, actions, thread) {
            Stepped::Waits => {}
            Stepped::Wrong => return true,
            Stepped::Fine => {
                over = false;
                if search(shared, actions, &after, looked) {
                    return true;
                }
            }
        }
    }
    *looked += u64::from(over);
    false
}

enum Stepped {
    Fine,
    Wrong,
    /// It waits, or has ended.
    Waits,
}

impl State {
    /// The next event of a thread, and whether it is wrong.
    fn step(&mut self, shared: bool, actions: &[Vec<Action>], index: usize) -> Stepped {
        let joined = |action: &Action| match action {
            Action::Join(other) => Some((self.threads[*other].ended, self.threads[*other].known)),
            _ => None,
        };
        let own = &self.threads[index];
        if own.ended {
            return Stepped::Waits;
        }
        let action = match (own.stops, own.held, actions[index].get(own.next)) {
            (true, Some(lock), _) => Some(Action::Unlock { lock }),
            (false, _, Some(&action)) => Some(action),
            _ if shared && !own.dropped => Some(Action::Drop),
            _ => None,
        };
        let joined = action.as_ref().and_then(joined);
        let event: Set = 1 << self.events;
        let own = &mut self.threads[index];
        let Some(action) = action else {
            own.ended = true;
            return Stepped::Fine;
        };
        if !own.stops {
            own.next += 1;
        }
        self.events += 1;
        match action {
            Action::Access { location, access, acquires, releases } => {
                let (value, passed) = &mut self.values[location];
                if access != Access::Store {
                    if acquires {
                        own.known |= *passed;
                    } else {
                        own.to_acquire |= *passed;
                    }
                }
                own.stops |= access == Access::Guard && *value == 0;
                let adds = if releases { own.known | event } else { own.fenced };
                match access {
                    Access::Load | Access::Guard => {}
                    Access::Store => (*value, *passed) = (1, adds),
                    Access::Add => (*value, *passed) = (*value + 1, *passed | adds),
                }
                own.known |= event;
                if is_in_block(location) {
                    return self.uses_block(event);
                }
            }
            Action::Fence { acquires, releases } => {
                if acquires {
                    own.known |= own.to_acquire;
                }
                own.known |= event;
                if releases {
                    own.fenced = own.known;
                }
            }
            Action::Lock { lock, shared } => {
                let (holders, passed) = &mut self.locks[lock as usize];
                if *holders > 0 && !(shared && *holders < WRITER) {
                    return Stepped::Waits;
                }
                *holders += if shared { 1 } else { WRITER };
                own.known |= *passed | event;
                own.held = Some(lock);
                if lock != Lock::Outer {
                    return self.uses_block(event);
                }
            }
            Action::Try { lock } => {
                let (holders, passed) = &mut self.locks[lock as usize];
                if *holders > 0 {
                    own.next += 1;
                } else {
                    *holders = WRITER;
                    own.known |= *passed;
                    own.held = Some(lock);
                }
                own.known |= event;
                return self.uses_block(event);
            }
            Action::Unlock { lock } => {
                let (holders, passed) = &mut self.locks[lock as usize];
                *holders -= if *holders >= WRITER { WRITER } else { 1 };
                own.known |= event;
                *passed |= own.known;
                own.held = None;
                if lock != Lock::Outer {
                    return self.uses_block(event);
                }
            }
            Action::Cell { writes } => {
                own.known |= event;
                let others = self.writes | if writes { self.reads } else { 0 };
                if others & !own.known != 0 {
                    return Stepped::Wrong;
                }
                *(if writes { &mut self.writes } else { &mut self.reads }) |= event;
                return self.uses_block(event);
            }
            Action::Count => {
                own.known |= event;
                return self.uses_block(event);
            }
            Action::Join(_) => {
                let (ended, known) = joined.expect("it is a join");
                if !ended {
                    return Stepped::Waits;
                }
                own.known |= known | event;
            }
            Action::Drop => {
                own.known |= event;
                own.dropped = true;
                self.drops |= own.known;
                self.owners = self.owners.saturating_sub(1);
                if shared && self.owners == 0 {
                    own.known |= self.drops;
                }
                let known = own.known;
                if shared && matches!(self.uses_block(event), Stepped::Wrong) {
                    return Stepped::Wrong;
                }
                if self.owners == 0 {
                    if self.uses & !known != 0 {
                        return Stepped::Wrong;
                    }
                    self.freed = true;
                }
            }
        }
        Stepped::Fine
    }

    fn uses_block(&mut self, event: Set) -> Stepped {
        self.uses |= event;
        if self.freed { Stepped::Wrong } else { Stepped::Fine }
    }
}

/// A lock that is held alone.
const WRITER: u32 = 1 << 16;
