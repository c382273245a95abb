//! What can be simulated, by name: one file for each object with its mutants.

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
    /// What it is, in a line; of a mutant what is wrong.
    pub summary: &'static str,
    /// What is to be expected of it.
    pub standing: Standing,
    /// The name of its specification.
    pub spec: &'static str,
    /// What is different from the specification.
    pub note: &'static str,
    /// Its operations, as they are taken for programs that nobody wrote; `*` is a number of its own
    /// each time.
    pub alphabet: &'static str,
    /// Which arguments its operations take.
    pub(crate) domain: Domain,
    /// Where it comes from.
    pub source: &'static str,
    /// Which threads go on whatever others do.
    pub progress: &'static str,
    /// A letter for it in histories.
    pub(crate) letter: &'static str,
    /// Methods that wait where the specification does not say so.
    pub(crate) waiting: &'static [Wait],
    pub(crate) rule: Option<Rule>,
    /// What a process calls on real threads at random: if all keep to it, nobody waits for ever.
    pub(crate) stress_rule: Option<Rule>,
    pub(crate) shadowed: fn() -> Subject,
    /// As it ships; none for mutants, whose shadow is as good on real threads.
    pub(crate) production: Option<fn() -> Subject>,
}

/// What is to be expected of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does what its specification says.
    Correct,
    /// It is as it was published, and does not do what its specification says.
    Flawed {
        /// The object that does.
        repaired: &'static str,
        /// A program that shows what is wrong.
        shown_by: &'static str,
    },
    /// It is broken on purpose.
    Mutant {
        /// The object that it is a variant of.
        of: &'static str,
        /// Whether it may be run on real threads: its fault is no undefined behaviour.
        stress: bool,
        /// A program that shows what is wrong.
        shown_by: &'static str,
    },
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A mutant of an object, which is the same but for this.
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
