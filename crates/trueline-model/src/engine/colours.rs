//! Colours: what can be said of processes and data values without their names.
//!
//! A colour is a hash that no renaming changes, so that sorting by colours leaves the orbit as it
//! is. That two colours differ where they could is not needed: [`super::canonical`] enumerates what
//! they leave open.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use smallvec::SmallVec;

use crate::program::MOST_NAMES;

use super::canonical::{Symmetry, each_cell};
use super::heap::{Walk, performed};
use super::layout::{ByProcess, References};

/// What stands for an id, and for a value of the type that begins with a number.
type Shown<'s> = (&'s dyn Fn(i32) -> u64, &'s dyn Fn(usize, i32) -> u64);

impl Symmetry<'_> {
    /// What can be said of each process without names.
    pub(super) fn colours(&mut self, frame: &[i32]) -> Vec<u64> {
        let machine = self.machine;
        let layout = &machine.layout;
        let n = layout.processes;
        let mut colours: Vec<u64> = machine.role.iter().map(|&r| r as u64).collect();
        // Names of nodes that do not depend on the order of processes.
        self.walk.reach_shared(layout, frame);
        let shared = self.walk.clone();
        let mut distinct = 0;
        for _ in 0..=n {
            let mut next = vec![0u64; n];
            let values = self.value_colours(frame, &shared, &colours);
            let datum = |first: usize, value: i32| match usize::try_from(value - 1) {
                Ok(value) => values[first + value],
                Err(_) => 1 << 42,
            };
            for p in 0..n {
                let mut hash = FixedState::with_seed(17).build_hasher();
                hash.write_u64(colours[p]);
                let pid = |value: i32| {
                    if value < 0 {
                        value as u64
                    } else if value as usize == p {
                        1 << 40
                    } else {
                        colours[value as usize]
                    }
                };
                let block = layout.block(p);
                let operation = performed(layout, &machine.of, frame, p);
                let none = References::default();
                let local = operation.map_or(&none, |o| &layout.local_references[o]);
                let mut masked: SmallVec<[u64; 32]> =
                    frame[block..block + layout.stride].iter().map(|&v| v as u64).collect();
                for references in [&layout.own_references, local] {
                    for &offset in &references.pids {
                        masked[offset] = pid(frame[block + offset]);
                    }
                    for &(offset, pool) in &references.pointers {
                        let node = frame[block + offset];
                        let name = shared.name(pool, node);
                        masked[offset] = if node > 0 && name == 0 { 1 << 41 } else { name as u64 };
                    }
                    for &(offset, first) in &references.data {
                        masked[offset] = datum(first, frame[block + offset]);
                    }
                }
                // The order of the cells of an array of the process's own is one of names: it counts
                // what stands in them and whose they are.
                let local = operation.map(|o| &layout.local_by_process[o]);
                for array in local.into_iter().chain([&layout.own_by_process]).flatten() {
                    let mut sum = 0u64;
                    each_cell(&array.dims, |indices, cell| {
                        let mut words: SmallVec<[u64; 8]> = SmallVec::new();
                        words.push(masked[array.base + cell]);
                        for (&index, &(_, by_process)) in indices.iter().zip(&array.dims) {
                            words.push(if by_process { pid(index as i32) } else { index as u64 });
                        }
                        sum = sum.wrapping_add(mix(&words));
                        for (&index, &(_, by_process)) in indices.iter().zip(&array.dims) {
                            if by_process && index != p {
                                let told = [7, array.base as u64, colours[p], words[0]];
                                next[index] = next[index].wrapping_add(mix(&told));
                            }
                        }
                    });
                    masked[array.base..array.base + array.cells()].fill(0);
                    hash.write_u64(sum);
                }
                for value in &masked {
                    hash.write_u64(*value);
                }
                self.private_nodes(frame, p, &shared, (&pid, &datum), &mut hash);
                next[p] = next[p].wrapping_add(hash.finish());
            }
            self.mentions(frame, &shared, &colours, &datum, &mut next);
            colours = next;
            let mut sorted = colours.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() == distinct {
                break;
            }
            distinct = sorted.len();
        }
        colours
    }

    /// Adds the nodes that this process reaches and shared variables do not, in the order of a
    /// walk.
    fn private_nodes(
        &mut self,
        frame: &[i32],
        p: usize,
        shared: &Walk,
        (pid, datum): Shown,
        hash: &mut impl Hasher,
    ) {
        let layout = &self.machine.layout;
        if layout.pools.is_empty() {
            return;
        }
        self.walk.clone_from(shared);
        self.walk.reach_more(layout, frame, &self.machine.of, p);
        for (number, pool) in layout.pools.iter().enumerate() {
            let mut private: SmallVec<[(i32, i32); 8]> = (1..=pool.capacity as i32)
                .filter(|&n| self.walk.reached(number, n) && !shared.reached(number, n))
                .map(|n| (self.walk.name(number, n), n))
                .collect();
            private.sort_unstable();
            for (_, node) in private {
                for field in 0..pool.stride {
                    let value = frame[pool.slot(node, field)];
                    let pointer = pool.references.pointers.iter().find(|r| r.0 == field);
                    let data = pool.references.data.iter().find(|r| r.0 == field);
                    let shown = if pool.references.pids.contains(&field) {
                        pid(value)
                    } else if let Some(&(_, first)) = data {
                        datum(first, value)
                    } else if let Some(&(_, target)) = pointer {
                        self.walk.name(target, value) as u64
                    } else {
                        value as u64
                    };
                    hash.write_u64(shown);
                }
            }
        }
    }

    /// What can be said of each data value without names: where shared variables, nodes that they
    /// reach and processes hold it.
    fn value_colours(&self, frame: &[i32], shared: &Walk, colours: &[u64]) -> Vec<u64> {
        let layout = &self.machine.layout;
        let mut values = vec![0u64; layout.names - layout.processes];
        if self.data.is_empty() {
            // Values that are not exchanged are told apart by what they are.
            return (0..MOST_NAMES as u64).collect();
        }
        let mut tell = |first: usize, value: i32, words: &[u64]| {
            if value > 0 {
                let told = &mut values[first + value as usize - 1];
                *told = told.wrapping_add(mix(words));
            }
        };
        let arrays = &layout.by_process;
        let array_of = |slot: usize| arrays.iter().find(|array| array.holds(slot));
        for &(slot, first) in &layout.shared_references.data {
            let words: SmallVec<[u64; 8]> = match array_of(slot) {
                None => SmallVec::from_iter([8, slot as u64]),
                Some(array) => array.words(slot, colours),
            };
            tell(first, frame[slot], &words);
        }
        for (number, pool) in layout.pools.iter().enumerate() {
            for &(field, first) in &pool.references.data {
                for node in 1..=pool.capacity as i32 {
                    let name = shared.name(number, node) as u64;
                    let words = [9, number as u64, field as u64, name];
                    tell(first, frame[pool.slot(node, field)], &words);
                }
            }
        }
        for (p, &colour) in colours.iter().enumerate() {
            let block = layout.block(p);
            for (references, arrays) in layout.private(&self.machine.of, frame, p) {
                for &(offset, first) in &references.data {
                    tell(first, frame[block + offset], &[10, place(arrays, offset), colour]);
                }
            }
        }
        values
    }

    /// Adds where shared variables, nodes and other processes speak of each process.
    fn mentions(
        &self,
        frame: &[i32],
        shared: &Walk,
        colours: &[u64],
        datum: &dyn Fn(usize, i32) -> u64,
        next: &mut [u64],
    ) {
        let layout = &self.machine.layout;
        let mut tell = |value: i32, words: &[u64]| {
            if value >= 0 {
                let told = &mut next[value as usize];
                *told = told.wrapping_add(mix(words));
            }
        };
        let in_array = |slot: usize| {
            layout.by_process.iter().any(|a| {
                (a.base..a.base + a.dims.iter().map(|d| d.0).product::<usize>()).contains(&slot)
            })
        };
        for &slot in layout.shared_references.pids.iter().filter(|&&s| !in_array(s)) {
            tell(frame[slot], &[1, slot as u64]);
        }
        for (number, pool) in layout.pools.iter().enumerate() {
            for &field in &pool.references.pids {
                for node in 1..=pool.capacity as i32 {
                    let name = shared.name(number, node) as u64;
                    tell(frame[pool.slot(node, field)], &[2, number as u64, field as u64, name]);
                }
            }
        }
        for (p, &colour) in colours.iter().enumerate() {
            let block = layout.block(p);
            for (references, arrays) in layout.private(&self.machine.of, frame, p) {
                for &offset in &references.pids {
                    tell(frame[block + offset], &[3, place(arrays, offset), colour]);
                }
            }
        }
        for array in &layout.by_process {
            let pids = layout.shared_references.pids.contains(&array.base);
            let pointer = layout.shared_references.pointers.iter().find(|r| r.0 == array.base);
            let data = layout.shared_references.data.iter().find(|r| r.0 == array.base);
            each_cell(&array.dims, |indices, cell| {
                let value = frame[array.base + cell];
                for (position, &(_, by_process)) in array.dims.iter().enumerate() {
                    if !by_process {
                        continue;
                    }
                    let p = indices[position];
                    let seen = |q: usize| if q == p { 1 << 40 } else { colours[q] };
                    let shown = if pids && value >= 0 {
                        seen(value as usize)
                    } else if let Some(&(_, pool)) = pointer {
                        shared.name(pool, value) as u64
                    } else if let Some(&(_, first)) = data {
                        datum(first, value)
                    } else {
                        value as u64
                    };
                    let mut words: SmallVec<[u64; 8]> = SmallVec::new();
                    words.extend([5, array.base as u64, position as u64, shown]);
                    for (&index, &(_, by_process)) in indices.iter().zip(&array.dims) {
                        words.push(if by_process { seen(index) } else { index as u64 });
                    }
                    next[p] = next[p].wrapping_add(mix(&words));
                }
                if pids && value >= 0 {
                    let mut words: SmallVec<[u64; 8]> = SmallVec::new();
                    words.extend([6, array.base as u64]);
                    for (&index, &(_, by_process)) in indices.iter().zip(&array.dims) {
                        words.push(if by_process { colours[index] } else { index as u64 });
                    }
                    let told = &mut next[value as usize];
                    *told = told.wrapping_add(mix(&words));
                }
            });
        }
    }
}

/// A place in a process's block without names: of an array that is indexed by processes it is the
/// first cell.
fn place(arrays: &[ByProcess], offset: usize) -> u64 {
    arrays.iter().find(|array| array.holds(offset)).map_or(offset, |array| array.base) as u64
}

fn mix(words: &[u64]) -> u64 {
    let mut hash = FixedState::with_seed(19).build_hasher();
    words.iter().for_each(|w| hash.write_u64(*w));
    hash.finish()
}
