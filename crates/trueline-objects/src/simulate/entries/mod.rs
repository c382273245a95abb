//! The registry of simulated objects: one file for each object with its mutants.

mod array_queue;
mod b_link_tree;
mod blocking;
mod bounded_priority_queue;
mod counter;
mod fetch_add_queue;
mod herlihy_wing_queue;
mod list_set;
mod michael_scott_queue;
mod multiset;
mod priority_queue;
mod relaxed;
mod semiqueue;
mod snapshot;
mod snzi;
mod stuttering_queue;
mod ticket_lock;
mod treiber_stack;
mod wide_register;

pub(crate) use blocking::Locked;

use std::fmt;

use trueline::spec::Wait;

use super::domain::{ANY_NUMBERS, Domain};
use super::matrices::Rule;
use super::subject::Subject;

/// The objects, each with its mutants behind it.
const ALL: &[&[Entry]] = &[
    treiber_stack::ENTRIES,
    michael_scott_queue::ENTRIES,
    fetch_add_queue::ENTRIES,
    herlihy_wing_queue::ENTRIES,
    array_queue::ENTRIES,
    blocking::ENTRIES,
    semiqueue::ENTRIES,
    stuttering_queue::ENTRIES,
    wide_register::ENTRIES,
    counter::ENTRIES,
    snzi::ENTRIES,
    list_set::ENTRIES,
    multiset::ENTRIES,
    priority_queue::ENTRIES,
    bounded_priority_queue::ENTRIES,
    b_link_tree::ENTRIES,
    snapshot::ENTRIES,
    ticket_lock::ENTRIES,
    relaxed::ENTRIES,
];

/// Everything that can be simulated, mutants behind their object.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().copied().flatten()
}

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.name == name)
}

/// An object, or a mutant of one.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// A one-line description; for a mutant, its fault.
    pub summary: &'static str,
    /// The expected result.
    pub standing: Standing,
    /// The name of its specification.
    pub spec: &'static str,
    /// The difference from the specification.
    pub note: &'static str,
    /// Its operations, for generated programs; each `*` is replaced by a distinct number.
    pub alphabet: &'static str,
    /// Which arguments its operations take.
    pub(crate) domain: Domain,
    /// Its source in the literature.
    pub source: &'static str,
    /// Which threads go on whatever others do.
    pub progress: &'static str,
    /// A letter for it in histories.
    pub(crate) letter: &'static str,
    /// Methods that wait although the specification does not say so.
    pub(crate) waiting: &'static [Wait],
    pub(crate) rule: Option<Rule>,
    /// The calls of a process in random programs on real threads: if all processes obey it, none
    /// waits for ever.
    pub(crate) stress_rule: Option<Rule>,
    pub(crate) shadowed: fn() -> Subject,
    /// The shipped form; `None` for mutants, whose shadow form also runs on real threads.
    pub(crate) production: Option<fn() -> Subject>,
}

/// The expected result for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It satisfies its specification.
    Correct,
    /// It is as published, and violates its specification.
    Flawed {
        /// The object that does.
        repaired: &'static str,
        /// A program that shows the fault.
        shown_by: &'static str,
    },
    /// It is broken on purpose.
    Mutant {
        /// The object that it is a variant of.
        of: &'static str,
        /// Whether it may run on real threads: its fault is not undefined behaviour.
        stress: bool,
        /// A program that shows the fault.
        shown_by: &'static str,
    },
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A mutant of an object, which differs only in these fields.
const fn mutant(
    of: Entry,
    name: &'static str,
    summary: &'static str,
    shown_by: &'static str,
    shadowed: fn() -> Subject,
) -> Entry {
    let standing = Standing::Mutant { of: of.name, stress: true, shown_by };
    Entry { name, summary, standing, shadowed, production: None, ..of }
}

/// The same mutant, which must not be run on real threads.
const fn explored_only(mutant: Entry) -> Entry {
    match mutant.standing {
        Standing::Mutant { of, shown_by, .. } => {
            Entry { standing: Standing::Mutant { of, stress: false, shown_by }, ..mutant }
        }
        _ => mutant,
    }
}
