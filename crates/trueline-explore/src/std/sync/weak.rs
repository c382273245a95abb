//! As `std::sync::Weak`.

use super::arc::{Arc, counts, made_edges, weak_edges};
use crate::engine::interface::{self, Access, Condition, Effect};
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
        let access = Access::update(location).changing(Condition::differs(0));
        let access = access.named("Weak::upgrade").at(Location::caller());
        // If no owner is left, nothing is counted: the access conflicts only with the last drop and
        // with the end of `new_cyclic`.
        front::touching(access, |front, thread| {
            let owners = self.owners();
            let upgraded = self.0.upgrade().map(Arc::from_std);
            if upgraded.is_some() {
                front.detector.acquire(thread, made_edges(location));
            }
            let effect = match upgraded {
                Some(_) => Effect::write(owners, owners + 1),
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

    /// As std's `weak_count`, about which std promises little if several threads use the `Arc`.
    #[track_caller]
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.look("Weak::weak_count", real::Weak::weak_count)
    }

    /// An access that depends on the exact counts.
    #[track_caller]
    fn look(&self, name: &'static str, count: impl FnOnce(&real::Weak<T>) -> usize) -> usize {
        let Some(location) = self.location() else { return count(&self.0) };
        let access = Access::update(location).named(name).at(Location::caller());
        front::touching(access, |_, _| {
            let owners = self.owners();
            (count(&self.0), Effect::write(owners, owners))
        })
    }

    /// The location of the counts in an exploration; `None` for a `Weak::new()`.
    fn location(&self) -> Option<usize> {
        let pointer = self.0.as_ptr();
        let dangles = pointer.cast::<u8>().addr() == usize::MAX;
        (interface::active() && !dangles).then(|| counts(pointer))
    }

    /// The value of the location.
    fn owners(&self) -> u64 {
        self.0.strong_count() as u64
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
        let access = counting(location).named("Weak::clone").at(Location::caller());
        front::touching(access, |front, _| {
            let owners = self.owners();
            if owners == 0
                && let Some(left) = front.weaks.get_mut(&location)
            {
                *left += 1;
            }
            (Weak(self.0.clone()), counted(owners))
        })
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    /// Dropping the last one frees the memory, so that thread must know what the others did there.
    #[track_caller]
    fn drop(&mut self) {
        let Some(location) = self.location() else { return };
        let access = counting(location).named("Weak::drop").at(Location::caller());
        front::touching(access, |front, thread| {
            let owners = self.owners();
            // Owners together hold one, which std does not count.
            let left = if owners > 0 { self.0.weak_count() } else { count_down(front, location) };
            front.detector.release(thread, weak_edges(location));
            if left == 0 {
                front.detector.acquire(thread, weak_edges(location));
            }
            ((), counted(owners))
        });
    }
}

/// A change of the number of `Weak` handles. While an owner is left, none of them is the last, so
/// such changes commute.
pub(super) fn counting(location: usize) -> Access {
    Access::update(location).changing(Condition::equals(0))
}

/// The effect of that.
pub(super) fn counted(owners: u64) -> Effect {
    if owners > 0 { Effect::counted(owners, owners) } else { Effect::write(0, 0) }
}

/// How many handles are left of an `Arc` without owners. If it died outside of the exploration, its
/// handles are not counted.
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
