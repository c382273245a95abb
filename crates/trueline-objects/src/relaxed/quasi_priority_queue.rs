//! The quasi priority queue of the paper's Table I: the smallest value first, out of order by at most two. Values stand in cells;
//! a window of the three smallest is taken newest first before the next window opens. One thread at a time removes.
//!
//! The promise is about values that are there when a window opens, as in the paper's programs. A smaller one that comes later waits for the next
//! window, and each such value displaces those of the open window by one more: serial stress finds `insert(1) insert(1) insert(2) poll() -> 2
//! insert(1)`, which needs three.
//!
//! The mutant b2 takes the largest value.

use super::cells::{Cells, Held};
use crate::shadowed::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use crate::shadowed::sync::hint;

/// The size of windows.
const WINDOW: usize = 3;

/// The queue.
pub(crate) struct Queue {
    takes_too_far: bool,
    cells: Cells,
    end: AtomicUsize,
    removing: AtomicBool,
    /// The cells of the window, as numbers from 1; 0 where one is used up. Touched by who removes.
    window: [AtomicI64; WINDOW],
}

impl Queue {
    pub(crate) fn new(takes_too_far: bool) -> Queue {
        Queue {
            takes_too_far,
            cells: Cells::new(),
            end: AtomicUsize::new(0),
            removing: AtomicBool::new(false),
            window: Default::default(),
        }
    }

    pub(crate) fn insert(&self, value: i64) {
        let mut cell = self.end.load(Ordering::SeqCst);
        while !self.cells.fill(cell, value) {
            cell += 1;
        }
        self.end.fetch_max(cell + 1, Ordering::SeqCst);
    }

    pub(crate) fn poll(&self) -> Option<i64> {
        while self.removing.swap(true, Ordering::SeqCst) {
            hint::spin_loop();
        }
        let value = self.take();
        self.removing.store(false, Ordering::SeqCst);
        value
    }

    fn take(&self) -> Option<i64> {
        if self.takes_too_far {
            let (cell, value) = self.values().into_iter().max_by_key(|&(_, value)| value)?;
            self.cells.take(cell, value);
            return Some(value);
        }
        if self.window.iter().all(|place| place.load(Ordering::SeqCst) == 0) {
            let mut smallest = self.values();
            smallest.sort_by_key(|&(_, value)| value);
            for (place, (cell, _)) in self.window.iter().zip(smallest) {
                place.store(cell as i64 + 1, Ordering::SeqCst);
            }
        }
        for place in self.window.iter().rev() {
            let cell = place.swap(0, Ordering::SeqCst);
            if cell > 0
                && let Held::Value(value) = self.cells.look(cell as usize - 1)
            {
                self.cells.take(cell as usize - 1, value);
                return Some(value);
            }
        }
        None
    }

    /// The values that are there. Cells are filled in ascending order, so none is behind a free one.
    fn values(&self) -> Vec<(usize, i64)> {
        let mut values = Vec::new();
        for cell in 0.. {
            match self.cells.look(cell) {
                Held::Free => break,
                Held::Value(value) => values.push((cell, value)),
                Held::Taken => {}
            }
        }
        values
    }
}
