//! As `std::sync::Weak`.

use super::arc::{Arc, counts, made_edges, weak_edges};
use crate::engine::interface::{self, Access, Effect};
use crate::front::{self, Front};
use ::std::fmt;
use ::std::panic::Location;
use ::std::sync as real;

/// As `std::sync::Weak`.
#[repr(transparent)]
pub struct Weak<T: ?Sized>(real::Weak<T>);

impl<T> Weak<T> {
    /// As std's `new`.
    pub const fn new() -> Weak<T> {
        Weak(real::Weak::new())
    }
}

impl<T: ?Sized> Weak<T> {
    /// A `Weak` of std's.
    pub fn from_std(std: real::Weak<T>) -> Weak<T> {
        Weak(std)
    }

    pub(super) fn from_std_ref(std: &real::Weak<T>) -> &Weak<T> {
        // SAFETY: the type is transparent over std's.
        unsafe { &*(::std::ptr::from_ref(std) as *const Weak<T>) }
    }

    /// As std's `upgrade`.
    #[inline]
    #[track_caller]
    #[must_use]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let Some(location) = self.location() else {
            return self.0.upgrade().map(Arc::from_std);
        };
        let access = Access::update(location).named("Weak::upgrade").at(Location::caller());
        // It conflicts with a last drop and with the end of `new_cyclic`, which are writes, and with nothing else.
        front::touching(access, |front, thread| {
            let upgraded = self.0.upgrade().map(Arc::from_std);
            if upgraded.is_some() {
                front.detector.acquire(thread, made_edges(location));
            }
            let effect = match upgraded {
                Some(_) => Effect::counted(1),
                None => Effect::read(0),
            };
            (upgraded, effect)
        })
    }

    /// As std's `strong_count`.
    #[track_caller]
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.look("Weak::strong_count", real::Weak::strong_count)
    }

    /// As std's `weak_count`, of which std promises little when several threads are about.
    #[track_caller]
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.look("Weak::weak_count", real::Weak::weak_count)
    }

    /// An access that depends on the exact counts, so it conflicts with every other.
    #[track_caller]
    fn look(&self, name: &'static str, count: impl FnOnce(&real::Weak<T>) -> usize) -> usize {
        let Some(location) = self.location() else { return count(&self.0) };
        let access = Access::update(location).named(name).at(Location::caller());
        front::touching(access, |_, _| {
            let owned = self.owned();
            (count(&self.0), Effect::write(owned, owned))
        })
    }

    /// The location of the counts, in an exploration; none if it is of nothing.
    fn location(&self) -> Option<usize> {
        let pointer = self.0.as_ptr();
        let dangles = pointer.cast::<u8>().addr() == usize::MAX;
        (interface::active() && !dangles).then(|| counts(pointer))
    }

    /// The value of the location: whether an owner is left.
    fn owned(&self) -> u64 {
        u64::from(self.0.strong_count() > 0)
    }

    /// As std's `ptr_eq`.
    #[must_use]
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// As std's `as_ptr`.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let Some(location) = self.location() else { return Weak(self.0.clone()) };
        let access = Access::update(location).named("Weak::clone").at(Location::caller());
        front::touching(access, |front, _| {
            let owned = self.owned();
            if owned == 0
                && let Some(left) = front.weaks.get_mut(&location)
            {
                *left += 1;
            }
            (Weak(self.0.clone()), Effect::counted(owned))
        })
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    /// Who drops the last one frees the memory, and must know what the others did there.
    #[track_caller]
    fn drop(&mut self) {
        let Some(location) = self.location() else { return };
        let access = Access::update(location).named("Weak::drop").at(Location::caller());
        front::touching(access, |front, thread| {
            let owned = self.owned();
            // Owners hold one together, which std does not count.
            let left = if owned == 1 { self.0.weak_count() } else { count_down(front, location) };
            front.detector.release(thread, weak_edges(location));
            if left == 0 {
                front.detector.acquire(thread, weak_edges(location));
            }
            ((), if left <= 1 { Effect::write(owned, owned) } else { Effect::counted(owned) })
        });
    }
}

/// How many handles are left of an `Arc` without owners. Those of one that died outside of the exploration are not counted.
fn count_down(front: &mut Front, location: usize) -> usize {
    let Some(left) = front.weaks.get_mut(&location) else { return usize::MAX };
    *left = left.saturating_sub(1);
    let left = *left;
    if left == 0 {
        front.weaks.remove(&location);
    }
    left
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
