//! The ticket lock and its mutants.

use super::super::families::Locked;
use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::ticket_lock::{Fault, Lock as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    TICKET_LOCK,
    mutant(
        TICKET_LOCK,
        "ticket-lock-shares-tickets",
        "takes its number with a read and a write",
        "acquire() | acquire()",
        || Box::new(Locked(Mutant::new(Fault::TakesTicketInTwoSteps))),
    ),
    mutant(
        TICKET_LOCK,
        "ticket-lock-skips",
        "calls the number that is handed out next: waiting threads wait for ever",
        "acquire() release() | acquire() release()",
        || Box::new(Locked(Mutant::new(Fault::SkipsThoseWhoWait))),
    ),
    mutant(
        TICKET_LOCK,
        "ticket-lock-tries-twice",
        "try_acquire checks that the lock is free and takes the number later",
        "try_acquire() | try_acquire()",
        || Box::new(Locked(Mutant::new(Fault::TriesInTwoSteps))),
    ),
    explored_only(mutant(
        TICKET_LOCK,
        "ticket-lock-relaxed",
        "unlocks with a relaxed store: a race on the protected value",
        "acquire() release() | acquire() release()",
        || Box::new(Locked(Mutant::new(Fault::UnlocksRelaxed))),
    )),
];

const TICKET_LOCK: Entry = Entry {
    name: "ticket-lock",
    summary: "a lock, first come first served: take a number, wait until it is called",
    standing: Standing::Correct,
    spec: "mutex",
    note: "a process releases only what it has acquired",
    alphabet: "acquire() release() try_acquire()",
    domain: ANY_NUMBERS,
    source: "Reed, Kanodia, Synchronization with eventcounts and sequencers, 1979",
    progress: "waits for those before it; release and try_acquire are wait-free",
    letter: "L",
    waiting: &[],
    rule: Some(releases_what_it_holds),
    stress_rule: Some(keeps_nothing),
    shadowed: || Box::new(Locked(shadowed::TicketLock::new(0))),
    production: Some(|| Box::new(Locked(crate::TicketLock::new(0)))),
};

/// A process releases a lock only while it certainly holds it: otherwise no lock allows the call.
/// It does not acquire a lock that it holds, because that waits for ever.
fn releases_what_it_holds(methods: &[&str]) -> Result<(), String> {
    // Whether the process holds the lock; `None` after a `try_acquire`.
    let mut holds = Some(false);
    for &method in methods {
        holds = match (method, holds) {
            ("release", Some(true)) => Some(false),
            ("release", _) => {
                return Err("a process must not release what it does not certainly hold".into());
            }
            ("acquire", Some(true)) => {
                return Err("a process that acquires what it holds waits for ever".into());
            }
            ("acquire", _) => Some(true),
            (_, Some(true)) => Some(true),
            _ => None,
        };
    }
    Ok(())
}

/// At its end, a process has released what it acquired.
fn keeps_nothing(methods: &[&str]) -> Result<(), String> {
    let count = |wanted| methods.iter().filter(|&&method| method == wanted).count();
    // While it holds the lock, `try_acquire` fails.
    let mut holds = false;
    for &method in methods {
        match method {
            "acquire" => holds = true,
            "release" => holds = false,
            _ if !holds => return Err("a process may keep what it tries to acquire".into()),
            _ => {}
        }
    }
    if count("acquire") == count("release") {
        Ok(())
    } else {
        Err("a process must release what it acquired".into())
    }
}
