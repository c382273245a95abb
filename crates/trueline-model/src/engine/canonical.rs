//! The canonical form of a product state under exchanges of processes: exact orbits without trying
//! n! permutations.
//!
//! A pair (frame, set) represents all pairs that arise by renaming the processes of a symmetric
//! role (Theorem 3 of the paper). [`Symmetry::canonical`] picks one of them, always the same for a
//! whole orbit:
//!
//! 1. Every process gets a *colour*: a hash of everything that describes it without a process's
//!    name. If blocks contain neither ids nor pointers, the block itself is the colour. Otherwise
//!    colours are refined by the colours of processes and nodes that refer to each other, until
//!    nothing changes. Processes are sorted by colour.
//! 2. Processes of equal colour whose exchange leaves the state unchanged need no order. The
//!    arrangements of the others are enumerated, and the least frame wins. Heap nodes are named by
//!    traversal for each arrangement.
//! 3. The values of `data` types are named in the order in which the arranged frame contains them.
//!    Values that the frame does not contain are left open.
//! 4. The exchanges that still leave the frame unchanged, those of open values among them, act on
//!    the set of specification states. The same is done there: occurrences in the set, exchanges
//!    that leave it unchanged, and enumeration of the rest; the least content wins.
//!
//! The enumeration makes the form exact even if colours collide. The result for a set is computed
//! once for each (set, order, classes).

use smallvec::SmallVec;

use super::classes::{Classes, arrangements, join, labels, members, singletons, transposition};
use crate::program::{MOST_NAMES, renamed};

use super::heap::Walk;
use super::layout::{Frame, References};
use super::spec_sets::{Cache, Permutation, SpecSets, compose};
use super::step::Machine;

/// Finds canonical forms. Each worker has its own, as it keeps scratch space.
pub(crate) struct Symmetry<'m> {
    pub(super) machine: &'m Machine,
    ranges: Vec<(usize, usize)>,
    /// The names of each data type.
    pub(super) data: Vec<(usize, usize)>,
    /// Scratch space: where the frame holds data values.
    data_slots: Vec<(usize, usize)>,
    /// Blocks hold neither ids nor pointers, and no array is indexed by process: sorting is enough.
    plain: bool,
    moved: Frame,
    pub(super) walk: Walk,
}

impl<'m> Symmetry<'m> {
    /// For the machine's symmetric roles; for none if symmetry is off.
    pub(crate) fn new(machine: &'m Machine, on: bool) -> Symmetry<'m> {
        let layout = &machine.layout;
        let empty = |r: &References| r.pointers.is_empty() && r.pids.is_empty();
        let plain = layout.by_process.is_empty()
            && layout.data.is_empty()
            && layout.own_by_process.is_empty()
            && layout.local_by_process.iter().all(Vec::is_empty)
            && layout.shared_references.pids.is_empty()
            && layout.pools.iter().all(|p| p.references.pids.is_empty())
            && empty(&layout.own_references)
            && layout.local_references.iter().all(empty);
        let (ranges, data) = match on {
            true => (layout.symmetric.clone(), layout.data.clone()),
            false => (Vec::new(), Vec::new()),
        };
        let (moved, walk, data_slots) = (Vec::new(), Walk::default(), Vec::new());
        Symmetry { machine, ranges, data, data_slots, plain, moved, walk }
    }

    /// Normalises the frame, replaces it by its canonical form, and returns the corresponding set.
    pub(crate) fn canonical(&mut self, frame: &mut Frame, set: u32, cache: &mut Cache) -> u32 {
        self.canonical_with_classes(frame, set, cache).0
    }

    /// As [`Symmetry::canonical`], with the classes of processes that can still be exchanged.
    pub(crate) fn canonical_with_classes(
        &mut self,
        frame: &mut Frame,
        set: u32,
        cache: &mut Cache,
    ) -> (u32, Classes) {
        if self.ranges.is_empty() && self.data.is_empty() {
            self.machine.normalise(frame, &mut self.walk);
            return (set, singletons());
        }
        if self.plain {
            self.machine.normalise(frame, &mut self.walk);
            let (to, classes) = self.sort_blocks(frame);
            return (canonical_set(cache, set, &to, classes), classes);
        }
        self.general(frame, set, cache)
    }

    /// Sorts the blocks of each range.
    fn sort_blocks(&mut self, frame: &mut Frame) -> (Permutation, Classes) {
        let layout = &self.machine.layout;
        let mut to: Permutation = (0..layout.processes as u8).collect();
        let mut classes = singletons();
        for &(from, end) in &self.ranges {
            let block = |p: u8| {
                let at = layout.block(usize::from(p));
                &frame[at..at + layout.stride]
            };
            let mut order: SmallVec<[u8; 8]> = (from as u8..end as u8).collect();
            if !order.windows(2).all(|w| block(w[0]) <= block(w[1])) {
                order.sort_by(|&a, &b| block(a).cmp(block(b)));
                self.moved.clear();
                for &p in &order {
                    self.moved.extend_from_slice(block(p));
                }
                let start = layout.block(from);
                frame[start..start + self.moved.len()].copy_from_slice(&self.moved);
                for (position, &p) in order.iter().enumerate() {
                    to[usize::from(p)] = (from + position) as u8;
                }
            }
            for p in from + 1..end {
                let (a, b) = (layout.block(p - 1), layout.block(p));
                if frame[a..b] == frame[b..b + layout.stride] {
                    classes = join(classes, p - 1, p);
                }
            }
        }
        (to, classes)
    }

    fn general(&mut self, frame: &mut Frame, set: u32, cache: &mut Cache) -> (u32, Classes) {
        let n = self.machine.layout.names;
        let processes = self.machine.layout.processes;
        self.machine.normalise(frame, &mut self.walk);
        let colours = self.colours(frame);
        let mut to: Permutation = (0..n as u8).collect();
        for &(from, end) in &self.ranges {
            let mut order: SmallVec<[u8; 8]> = (from as u8..end as u8).collect();
            order.sort_by_key(|&p| colours[usize::from(p)]);
            for (position, &p) in order.iter().enumerate() {
                to[usize::from(p)] = (from + position) as u8;
            }
        }
        let mut sorted = Frame::new();
        self.rename(frame, &to, &mut sorted);
        // Groups of equal colour, at their present places.
        let mut groups: Vec<SmallVec<[u8; 8]>> = Vec::new();
        let mut place = vec![0u8; processes];
        for p in 0..processes {
            place[usize::from(to[p])] = p as u8;
        }
        for &(from, end) in &self.ranges {
            let colour = |q: usize| colours[usize::from(place[q])];
            let mut q = from;
            while q < end {
                let mut last = q + 1;
                while last < end && colour(last) == colour(q) {
                    last += 1;
                }
                if last - q > 1 {
                    groups.push((q as u8..last as u8).collect());
                }
                q = last;
            }
        }
        let mut probe = Frame::new();
        let mut same = |a: u8, b: u8| {
            let swap = transposition(n, a, b);
            self.rename(&sorted, &swap, &mut probe);
            probe == sorted
        };
        let alike: Vec<SmallVec<[u8; 8]>> =
            groups.iter().map(|group| labels(group, &mut same)).collect();
        let mut best: Option<Frame> = None;
        let mut winners: Vec<Permutation> = Vec::new();
        arrangements(n, &groups, &alike, &mut |arrangement| {
            self.rename(&sorted, arrangement, &mut probe);
            let winner = compose(arrangement, &self.name_values(&mut probe));
            match best.as_ref().map(|b| probe.cmp(b)) {
                Some(std::cmp::Ordering::Greater) => {}
                Some(std::cmp::Ordering::Equal) => winners.push(winner),
                _ => {
                    best = Some(probe.clone());
                    winners.clear();
                    winners.push(winner);
                }
            }
        });
        if let Some(best) = best {
            *frame = best;
        }
        let open = self.open_values(frame);
        let mut answer: Option<(u32, Classes)> = None;
        for winner in &winners {
            let mut classes = open;
            for (group, labels) in groups.iter().zip(&alike) {
                for (i, &p) in group.iter().enumerate() {
                    for (j, &q) in group.iter().enumerate().skip(i + 1) {
                        if labels[i] == labels[j] {
                            let (a, b) = (winner[usize::from(p)], winner[usize::from(q)]);
                            classes = join(classes, usize::from(a.min(b)), usize::from(a.max(b)));
                        }
                    }
                }
            }
            let set = canonical_set(cache, set, &compose(&to, winner), classes);
            let better = match answer {
                None => true,
                Some((old, _)) => cache.lock().compare(set, old).is_lt(),
            };
            if better {
                answer = Some((set, classes));
            }
        }
        answer.unwrap_or((set, open))
    }

    /// Gives values the names of the order in which the frame meets them. Values that it does not
    /// meet come last, in the order that they have.
    fn name_values(&mut self, frame: &mut Frame) -> Permutation {
        let layout = &self.machine.layout;
        let mut to: Permutation = (0..layout.names as u8).collect();
        if self.data.is_empty() {
            return to;
        }
        layout.data_slots(&self.machine.of, frame, &mut self.data_slots);
        // By name: the new value; 0 where it is not met. By the first name of a type: how many are.
        let mut given = [0u8; MOST_NAMES];
        let mut met = [0u8; MOST_NAMES];
        for &(slot, first) in &self.data_slots {
            let value = frame[slot];
            if value > 0 {
                let base = layout.processes + first;
                let new = &mut given[base + value as usize - 1];
                if *new == 0 {
                    met[base] += 1;
                    *new = met[base];
                }
                frame[slot] = i32::from(*new);
            }
        }
        for &(from, end) in &self.data {
            for (name, new) in (from..end).zip(&mut given[from..end]) {
                if *new == 0 {
                    met[from] += 1;
                    *new = met[from];
                }
                to[name] = from as u8 + *new - 1;
            }
        }
        to
    }

    /// The values that the frame, whose values have their new names, does not hold: they may be
    /// exchanged.
    fn open_values(&mut self, frame: &[i32]) -> Classes {
        let layout = &self.machine.layout;
        let mut classes = singletons();
        if self.data.is_empty() {
            return classes;
        }
        layout.data_slots(&self.machine.of, frame, &mut self.data_slots);
        for &(from, end) in &self.data {
            let of_type = |&&(_, first): &&(usize, usize)| layout.processes + first == from;
            let held = self.data_slots.iter().filter(of_type).map(|&(slot, _)| frame[slot]).max();
            let open = from + held.unwrap_or(0) as usize;
            for name in open + 1..end {
                classes = join(classes, name - 1, name);
            }
        }
        classes
    }

    /// The frame in which process `p` is called `to[p]`, and data values as `to` goes on, normalised.
    pub(crate) fn rename(&mut self, frame: &[i32], to: &[u8], out: &mut Frame) {
        let layout = &self.machine.layout;
        out.clear();
        out.extend_from_slice(frame);
        let name = |pid: i32| if pid >= 0 { i32::from(to[pid as usize]) } else { pid };
        for &slot in &layout.shared_references.pids {
            out[slot] = name(out[slot]);
        }
        for pool in &layout.pools {
            for &field in &pool.references.pids {
                for node in 1..=pool.capacity as i32 {
                    let slot = pool.slot(node, field);
                    out[slot] = name(out[slot]);
                }
            }
        }
        let values = to.len() > layout.processes;
        let value = |first: usize, value: i32| match values {
            true => renamed(layout.processes + first, value, to),
            false => value,
        };
        for &(slot, first) in &layout.shared_references.data {
            out[slot] = value(first, out[slot]);
        }
        for pool in layout.pools.iter().filter(|pool| values && !pool.references.data.is_empty()) {
            for &(field, first) in &pool.references.data {
                for node in 1..=pool.capacity as i32 {
                    let slot = pool.slot(node, field);
                    out[slot] = value(first, out[slot]);
                }
            }
        }
        for array in &layout.by_process {
            let before: Frame = out.clone();
            each_cell(&array.dims, |indices, cell| {
                out[array.base + array.target(indices, to)] = before[array.base + cell];
            });
        }
        for (p, &target) in to[..layout.processes].iter().enumerate() {
            let (from, at) = (layout.block(p), layout.block(usize::from(target)));
            out[at..at + layout.stride].copy_from_slice(&frame[from..from + layout.stride]);
            for (references, arrays) in layout.private(&self.machine.of, frame, p) {
                for &offset in &references.pids {
                    out[at + offset] = name(out[at + offset]);
                }
                for &(offset, first) in &references.data {
                    out[at + offset] = value(first, out[at + offset]);
                }
                for array in arrays {
                    let base = at + array.base;
                    let cells: SmallVec<[i32; 16]> = out[base..base + array.cells()].into();
                    each_cell(&array.dims, |indices, cell| {
                        out[base + array.target(indices, to)] = cells[cell];
                    });
                }
            }
        }
        self.machine.normalise(out, &mut self.walk);
    }
}

/// Calls `f` with the indices and the number of each cell of an array.
pub(super) fn each_cell(dims: &[(usize, bool)], mut f: impl FnMut(&[usize], usize)) {
    let cells: usize = dims.iter().map(|d| d.0).product();
    let mut indices: SmallVec<[usize; 4]> = SmallVec::from_elem(0, dims.len());
    for cell in 0..cells {
        let mut rest = cell;
        for (index, &(len, _)) in indices.iter_mut().zip(dims).rev() {
            *index = rest % len;
            rest /= len;
        }
        f(&indices, cell);
    }
}

/// The least set that results from renaming by `to` and then exchanging within the classes.
fn canonical_set(cache: &mut Cache, set: u32, to: &[u8], classes: Classes) -> u32 {
    let key = (set, Permutation::from_slice(to), classes);
    if let Some(&found) = cache.canonical.get(&key) {
        return found;
    }
    let found = least_set(&mut cache.lock(), set, to, classes);
    cache.canonical.insert(key, found);
    found
}

fn least_set(sets: &mut SpecSets, set: u32, to: &[u8], classes: Classes) -> u32 {
    let n = to.len();
    let set = sets.permute(set, to);
    if classes == singletons() {
        return set;
    }
    // Sort by occurrences, then find groups of equal ones.
    let mut order: Permutation = (0..n as u8).collect();
    let mut groups: Vec<SmallVec<[u8; 8]>> = Vec::new();
    for places in members(classes, n) {
        let counts = sets.occurrences(set, &places);
        let mut sorted: SmallVec<[(u64, u8); 8]> = counts.into_iter().zip(places.clone()).collect();
        sorted.sort_by_key(|s| s.0);
        for (&(_, p), &place) in sorted.iter().zip(&places) {
            order[usize::from(p)] = place;
        }
        let mut from = 0;
        while from < sorted.len() {
            let equal = sorted[from..].iter().take_while(|s| s.0 == sorted[from].0).count();
            if equal > 1 {
                groups.push(places[from..from + equal].into());
            }
            from += equal;
        }
    }
    let set = sets.permute(set, &order);
    let labels: Vec<SmallVec<[u8; 8]>> = groups
        .iter()
        .map(|g| labels(g, &mut |a, b| sets.permute(set, &transposition(n, a, b)) == set))
        .collect();
    let mut best = None;
    arrangements(n, &groups, &labels, &mut |arrangement| {
        let next = sets.permute(set, arrangement);
        if best.is_none_or(|b| sets.compare(next, b).is_lt()) {
            best = Some(next);
        }
    });
    best.unwrap_or(set)
}

/// Whether some exchange within the classes makes `a` a subset of `b`.
pub(crate) fn included(sets: &mut SpecSets, a: u32, b: u32, classes: Classes, n: usize) -> bool {
    if sets.includes(a, b) {
        return true;
    }
    if classes == singletons() || !sets.may_include(a, b) {
        return false;
    }
    if let Some(known) = sets.included_up_to(a, b, classes) {
        return known;
    }
    let groups = members(classes, n);
    // All images of `a`: exchanges of neighbours generate the rest.
    let mut images = vec![a];
    let mut next = 0;
    let mut found = false;
    while next < images.len() && !found {
        let image = images[next];
        next += 1;
        for group in &groups {
            for pair in group.windows(2) {
                let other = sets.permute(image, &transposition(n, pair[0], pair[1]));
                if !images.contains(&other) {
                    found |= sets.includes(other, b);
                    images.push(other);
                }
            }
        }
    }
    sets.remember_included(a, b, classes, found);
    found
}
