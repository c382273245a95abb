//! Engines of objects and keys that are back in their initial state: the oldest of them are
//! forgotten.
//!
//! A stream may have any number of keys, each used briefly. An engine of an object that is as good
//! as new (see [`Engine::is_bare`](super::Engine)) decides nothing that a new engine would not
//! decide, so it need not be kept. The last few are kept all the same, because they remember the
//! last removed values and can explain a value that is removed twice.
//!
//! Cost: O(1) per event; one number per engine that ever existed at the same time.

use std::collections::VecDeque;

/// How many engines are kept of which nothing is left.
const KEPT: usize = if cfg!(test) { 1 } else { 1024 };

/// The owner of an engine: the object, and the key if the specification distinguishes keys.
pub(super) type Owner = (u32, Option<u64>);

#[derive(Default)]
pub(super) struct Idle {
    /// Engines that were at rest when they were added, the one that waits longest first.
    waiting: VecDeque<u32>,
    is_waiting: Vec<bool>,
    owners: Vec<Owner>,
    /// Numbers of engines that were forgotten.
    free: Vec<u32>,
}

impl Idle {
    /// A number for a new engine: one that was forgotten, or the next one.
    pub(super) fn number(&mut self, owner: Owner) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.owners[number as usize] = owner;
                number
            }
            None => {
                self.owners.push(owner);
                self.is_waiting.push(false);
                self.owners.len() as u32 - 1
            }
        }
    }

    /// The object of this engine is back in its initial state.
    pub(super) fn add(&mut self, engine: u32) {
        if !std::mem::replace(&mut self.is_waiting[engine as usize], true) {
            self.waiting.push_back(engine);
        }
    }

    /// The engine that waits longest, if there are more than are kept. It is removed from the
    /// queue.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.waiting.len() <= KEPT {
            return None;
        }
        let engine = self.waiting.pop_front()?;
        self.is_waiting[engine as usize] = false;
        Some(engine)
    }

    /// The engine is gone and its number may be reused. Returns its owner.
    pub(super) fn forget(&mut self, engine: u32) -> Owner {
        self.free.push(engine);
        self.owners[engine as usize]
    }
}
