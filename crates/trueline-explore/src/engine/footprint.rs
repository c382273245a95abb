//! What an event touches, and when two events conflict.

use std::sync::Arc;

use super::interface::{Block, NOWHERE};

/// Locations, and the values that a spinning thread has seen there.
pub(crate) type Watched = Arc<[(usize, u64)]>;

/// The locations of one event and whether it changed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) location: usize,
    pub(crate) wrote: bool,
    /// Memory that was released: as if all of it were written.
    pub(crate) block: Option<Block>,
    /// An owner gave up, of those that the location counts.
    pub(crate) gives_up: bool,
    /// The other locations that a spinning thread read. The thread waits until one of them has
    /// another value than the one given here.
    pub(crate) watched: Option<Watched>,
}

impl Footprint {
    pub(crate) fn new(location: usize, wrote: bool) -> Footprint {
        Footprint { location, wrote, block: None, gives_up: false, watched: None }
    }

    /// Whether the order of two events with these footprints matters. Two events that both give up
    /// an owner may conflict as well, depending on the number of owners: see
    /// [`Footprint::both_give_up`].
    #[inline]
    pub(crate) fn conflicts(&self, other: &Footprint) -> bool {
        (self.location == other.location && (self.wrote || other.wrote) && self.location != NOWHERE)
            || (self.is_wide() || other.is_wide()) && self.conflicts_widely(other)
    }

    /// Whether both give up an owner that the same count counts. They conflict if they give up the
    /// last two.
    #[inline]
    pub(crate) fn both_give_up(&self, other: &Footprint) -> bool {
        self.gives_up && other.gives_up && self.location == other.location
    }

    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        self.block.is_some() || self.watched.is_some()
    }

    #[cold]
    fn conflicts_widely(&self, other: &Footprint) -> bool {
        let releases = |a: &Footprint, b: &Footprint| {
            a.block.is_some_and(|block| {
                b.locations().any(|location| contains(block, location))
                    || b.block.is_some_and(|b| overlap(block, b))
            })
        };
        let sees = |a: &Footprint, b: &Footprint| {
            b.wrote
                && a.watched.as_ref().is_some_and(|watched| {
                    watched.iter().any(|&(location, _)| location == b.location)
                })
        };
        releases(self, other) || releases(other, self) || sees(self, other) || sees(other, self)
    }

    /// Those that are named one by one.
    pub(crate) fn locations(&self) -> impl Iterator<Item = usize> + '_ {
        let watched = self.watched.as_deref().unwrap_or(&[]);
        std::iter::once(self.location).chain(watched.iter().map(|w| w.0)).filter(|&l| l != NOWHERE)
    }

    /// Widens this footprint to conflict with everything that either one conflicts with. Both are
    /// footprints of the same access.
    pub(crate) fn join(&mut self, other: &Footprint) {
        self.wrote |= other.wrote;
        if self.watched.is_none() {
            self.watched.clone_from(&other.watched);
        }
        self.gives_up |= other.gives_up;
        if self.block.is_none() {
            self.block = other.block;
        }
    }
}

pub(crate) fn contains(block: Block, location: usize) -> bool {
    location.wrapping_sub(block.start) < block.size
}

fn overlap(a: Block, b: Block) -> bool {
    contains(a, b.start) || contains(b, a.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_symmetric_and_need_a_writer() {
        let read = Footprint::new(8, false);
        let write = Footprint::new(8, true);
        let elsewhere = Footprint::new(16, true);
        let local = Footprint::new(NOWHERE, false);
        let mut free = Footprint::new(1, true);
        free.block = Some(Block { start: 8, size: 8 });
        let mut spin = Footprint::new(24, false);
        spin.watched = Some(Arc::from([(16, 0)]));
        let all = [&read, &write, &elsewhere, &local, &free, &spin];
        let expected = [(0, 1), (0, 4), (1, 1), (1, 4), (2, 2), (2, 5), (4, 4)];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                let conflict = expected.contains(&(i.min(j), i.max(j)));
                assert_eq!(a.conflicts(b), conflict, "{i} {j}");
            }
        }
    }
}
