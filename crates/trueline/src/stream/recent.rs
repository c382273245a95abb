//! The last removed values of a container, remembered to distinguish 'twice' from 'never'.

use std::collections::VecDeque;

use super::{Clash, Id, NONE};
use crate::value::Value;

/// Values with their insert and their removal, the oldest first.
pub(super) struct Recent {
    values: VecDeque<(Value, Id, Id)>,
    most: usize,
}

impl Recent {
    /// Remembers at most this many.
    pub(super) fn new(most: usize) -> Recent {
        Recent { values: VecDeque::new(), most }
    }

    pub(super) fn left(&mut self, value: Value, insert: Id, remove: Id) {
        if self.values.len() == self.most {
            self.values.pop_front();
        }
        self.values.push_back((value, insert, remove));
    }

    /// Why a removal cannot have taken a value that is not inside.
    pub(super) fn clash(&self, id: Id, value: &Value) -> Clash {
        let before = self.values.iter().rev().find(|recent| recent.0 == *value);
        let others = before.map_or([NONE; 2], |&(_, insert, remove)| [insert, remove]);
        let what = match before {
            Some(_) => "took a value that another removal had taken",
            None => "took a value that was not inside: never put in, or taken long ago",
        };
        let mut clash = Clash::new(others.into_iter().chain([id])).because(id, what);
        clash.partial = before.is_none();
        clash
    }

    /// See [`super::Engine::mark`].
    pub(super) fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.values.iter().flat_map(|recent| [recent.1, recent.2]).for_each(keep);
    }
}
