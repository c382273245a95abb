//! The quasi priority queue of the paper's Table I: the smallest value first, out of order by at
//! most two. Values are stored in cells; a window of the three smallest is emptied, its largest
//! first, before the next window opens. One thread at a time removes. A new window also opens if
//! smaller values were inserted and the next value of the window is no longer one of the three
//! smallest.
//!
//! **Guarantees.** A `poll` always takes one of the three smallest values (`out-of-order=2`). If
//! nothing smaller is inserted while a window is open, as in the paper's programs, no `poll` is
//! more than two places from its turn (`displacement=2`). *No* priority queue whose `insert` never
//! waits can guarantee the latter for all programs, unless it is strict. Once it has removed a
//! value that was not the smallest, the strict queue removes that value only after all smaller
//! ones; and a process that inserts two smaller ones before each `poll` delays that for ever. The
//! shortest program is `insert(2) insert(3) insert(4) poll() -> 4 insert(1)`: 4 would have been
//! fourth.
//!
//! The mutant b2 takes the largest value.

use super::cells::{CellState, Cells};
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
    /// The cells of the window, as numbers from 1; 0 if one is used up. Only the removing thread
    /// accesses them.
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
        let mut smallest = self.values();
        smallest.sort_by_key(|&(_, value)| value);
        if self.takes_too_far {
            let (cell, value) = *smallest.last()?;
            self.cells.take(cell, value);
            return Some(value);
        }
        smallest.truncate(WINDOW);
        let (place, (cell, value)) = match self.next_of_window(&smallest) {
            Some(next) => next,
            None => {
                for (i, place) in self.window.iter().enumerate() {
                    let number = smallest.get(i).map_or(0, |&(cell, _)| cell as i64 + 1);
                    place.store(number, Ordering::SeqCst);
                }
                self.next_of_window(&smallest)?
            }
        };
        place.store(0, Ordering::SeqCst);
        self.cells.take(cell, value);
        Some(value)
    }

    /// The largest value of the window and its index there, if it is one of the smallest.
    fn next_of_window(&self, smallest: &[(usize, i64)]) -> Option<(&AtomicI64, (usize, i64))> {
        let held = |place: &AtomicI64| place.load(Ordering::SeqCst);
        let (place, number) =
            self.window.iter().rev().map(|place| (place, held(place))).find(|next| next.1 > 0)?;
        let next = smallest.iter().find(|&&(cell, _)| cell as i64 + 1 == number)?;
        Some((place, *next))
    }

    /// The current values. Cells are filled in ascending order, so there is no value after a free
    /// one, and no other thread removes: when the free one is read, these are all.
    fn values(&self) -> Vec<(usize, i64)> {
        let mut values = Vec::new();
        for cell in 0.. {
            match self.cells.look(cell) {
                CellState::Free => break,
                CellState::Value(value) => values.push((cell, value)),
                CellState::Taken => {}
            }
        }
        values
    }
}
