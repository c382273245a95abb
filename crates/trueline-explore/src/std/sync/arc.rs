//! As `std::sync::Arc`.
//!
//! The counts are std's. In an exploration each change of them is an event at a byte of their own,
//! just before the value. The value of this location is the number of owners.
//!
//! Clones commute with each other and with drops, and drops commute as long as an owner is left.
//! These are recorded as reads, so that the drops of n threads do not run in n! orders. The last
//! drop is a write, which comes after all others: it runs the destructor. Whether a drop is the
//! last depends on earlier drops, although those are reads. So the accesses are marked as
//! [`Access::giving_up`], which tells the search that one may make another the last. An access that
//! reads the counts is a write, and so is an upgrade that finds an owner. Other changes to the
//! number of `Weak` handles commute while an owner is left, because the owner holds one.
//!
//! Owners together hold one `Weak`. If another one ever existed, the owners' `Weak` is given up
//! after the destructor in an event of its own, like any other.
//!
//! The race detector keeps separate clocks for owners and `Weak` handles, as std has two counts: a
//! decrement releases, the last one acquires, and so does a `get_mut` that finds no other handle.
//!
//! Unlike std's, an `Arc<T>` does not coerce to an `Arc<dyn Trait>`, because the trait for that is
//! not stable: write `Arc::from_std(std::sync::Arc::new(value) as std::sync::Arc<dyn Trait>)`, or
//! `Arc::from(Box::new(value) as Box<dyn Trait>)`.

use super::weak::{self, Weak};
use crate::engine::interface::{self, Access, Effect};
use crate::front::{self, Caller, Front};
use ::std::borrow::Borrow;
use ::std::cmp::Ordering;
use ::std::fmt;
use ::std::hash::{Hash, Hasher};
use ::std::mem::ManuallyDrop;
use ::std::ops::Deref;
use ::std::panic::{Location, RefUnwindSafe, UnwindSafe};
use ::std::pin::Pin;
use ::std::sync as real;

/// As `std::sync::Arc`.
#[repr(transparent)]
pub struct Arc<T: ?Sized>(ManuallyDrop<real::Arc<T>>);

impl<T: RefUnwindSafe + ?Sized> UnwindSafe for Arc<T> {}

/// The location of the counts of an `Arc` whose value is at this address.
pub(super) fn counts<T: ?Sized>(value: *const T) -> usize {
    // Std keeps the counts right before the value, so this byte is theirs.
    value.cast::<u8>().addr().wrapping_sub(1)
}

/// The location where the race detector keeps what `Weak` handles pass on.
pub(super) fn weak_edges(location: usize) -> usize {
    location.wrapping_sub(1)
}

/// The location where the race detector keeps what the end of `new_cyclic` passes on.
pub(super) fn made_edges(location: usize) -> usize {
    location.wrapping_sub(2)
}

/// An access that leaves the number of owners unchanged but depends on the counts.
fn counts_seen<T: ?Sized>(std: &real::Arc<T>) -> Effect {
    let owners = real::Arc::strong_count(std) as u64;
    Effect::write(owners, owners)
}

/// The last owner, to be dropped, and then the `Weak` that all owners held together.
struct Last<T: ?Sized> {
    std: real::Arc<T>,
    held: Option<Weak<T>>,
}

impl<T: ?Sized> Last<T> {
    /// A `Weak` upgraded from here on finds no owner, so the number of handles is kept by the front
    /// end.
    fn new(front: &mut Front, location: usize, std: real::Arc<T>) -> Last<T> {
        let held = hold_weak(front, location, &std);
        Last { std, held }
    }
}

/// A `Weak` to replace the one that the last owner is about to give up, unless there has never been
/// another.
fn hold_weak<T: ?Sized>(front: &mut Front, location: usize, std: &real::Arc<T>) -> Option<Weak<T>> {
    if real::Arc::weak_count(std) == 0 && !front.weaks.contains_key(&location) {
        return None;
    }
    let held = Weak::from_std(real::Arc::downgrade(std));
    front.weaks.insert(location, real::Arc::weak_count(std));
    Some(held)
}

impl<T> Last<T> {
    fn into_value(self) -> Option<T> {
        let value = real::Arc::into_inner(self.std);
        drop(self.held);
        value
    }
}

impl<T> Arc<T> {
    /// As std's `new`.
    #[inline]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(real::Arc::new(value))
    }

    /// As std's `pin`.
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value is behind the pointer of an `Arc`, and does not move.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// As std's `new_cyclic`.
    #[track_caller]
    pub fn new_cyclic(function: impl FnOnce(&Weak<T>) -> T) -> Arc<T> {
        let caller = Location::caller();
        Arc::from_std(real::Arc::new_cyclic(|weak| {
            if !interface::active() {
                return function(Weak::from_std_ref(weak));
            }
            let location = counts(weak.as_ptr());
            interface::with_state(|front: &mut Front| front.weaks.insert(location, 1));
            let value = function(Weak::from_std_ref(weak));
            // From here on there is an owner. Others see it at once, since no other thread runs
            // before std has counted it.
            let access = Access::update(location).named("Arc::new_cyclic").at(caller);
            front::touching(access, |front, thread| {
                front.detector.release(thread, made_edges(location));
                (value, Effect::write(0, 1))
            })
        }))
    }

    /// As std's `try_unwrap`.
    ///
    /// # Errors
    /// The `Arc`, if it is not the only one.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        if !interface::active() {
            return real::Arc::try_unwrap(Arc::into_std(this)).map_err(Arc::from_std);
        }
        let location = counts(Arc::as_ptr(&this));
        let access = Access::update(location).named("Arc::try_unwrap").at(Location::caller());
        let last = front::touching(access, |front, thread| {
            if real::Arc::strong_count(&this.0) > 1 {
                // It has learnt that it is not alone, and nothing else.
                let effect = counts_seen(&this.0);
                return (Err(this), effect);
            }
            front.detector.acquire(thread, location);
            (Ok(Last::new(front, location, Arc::into_std(this))), Effect::write(1, 0))
        });
        last.map(|last| last.into_value().expect("it is the only one"))
    }

    /// As std's `into_inner`.
    #[track_caller]
    pub fn into_inner(mut this: Arc<T>) -> Option<T> {
        let caller = Location::caller();
        // SAFETY: the handle is not used again.
        let last = unsafe { this.decrement("Arc::into_inner", caller) };
        ::std::mem::forget(this);
        last.and_then(Last::into_value)
    }

    /// As std's `unwrap_or_clone`.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|arc| (*arc).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// An `Arc` of std's. Its counts go on.
    pub fn from_std(std: real::Arc<T>) -> Arc<T> {
        Arc(ManuallyDrop::new(std))
    }

    /// The `Arc` of std's behind this one. Its counts go on, unseen.
    pub fn into_std(this: Arc<T>) -> real::Arc<T> {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: `this` is not used again, nor dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    /// As std's `as_ptr`.
    #[must_use]
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        real::Arc::as_ptr(&this.0)
    }

    /// As std's `into_raw`.
    pub fn into_raw(this: Arc<T>) -> *const T {
        real::Arc::into_raw(Arc::into_std(this))
    }

    /// As std's `from_raw`.
    ///
    /// # Safety
    /// As std's: the pointer comes from `into_raw`.
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        // SAFETY: the caller's promise.
        Arc::from_std(unsafe { real::Arc::from_raw(pointer) })
    }

    /// As std's `increment_strong_count`.
    ///
    /// # Safety
    /// As std's: the pointer comes from `into_raw`, and an owner is left.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise; the handle is not dropped.
        let this = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        ::std::mem::forget(Arc::clone(&this));
    }

    /// As std's `decrement_strong_count`.
    ///
    /// # Safety
    /// As std's: the pointer comes from `into_raw`, and its owner is given up.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(pointer) });
    }

    /// As std's `ptr_eq`.
    #[must_use]
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        real::Arc::ptr_eq(&this.0, &other.0)
    }

    /// As std's `downgrade`.
    #[track_caller]
    #[must_use]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        if !interface::active() {
            return Weak::from_std(real::Arc::downgrade(&this.0));
        }
        let location = counts(Arc::as_ptr(this));
        let access = weak::counting(location).named("Arc::downgrade").at(Location::caller());
        front::touching(access, |front, _| {
            front.weaks.entry(location).or_default();
            let owners = real::Arc::strong_count(&this.0) as u64;
            (Weak::from_std(real::Arc::downgrade(&this.0)), weak::counted(owners))
        })
    }

    /// As std's `strong_count`.
    #[track_caller]
    #[must_use]
    pub fn strong_count(this: &Arc<T>) -> usize {
        let count = |std: &real::Arc<T>| (real::Arc::strong_count(std), false);
        this.look("Arc::strong_count", Location::caller(), count)
    }

    /// As std's `weak_count`.
    #[track_caller]
    #[must_use]
    pub fn weak_count(this: &Arc<T>) -> usize {
        let count = |std: &real::Arc<T>| (real::Arc::weak_count(std), false);
        this.look("Arc::weak_count", Location::caller(), count)
    }

    /// As std's `get_mut`.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        let alone = |std: &real::Arc<T>| {
            let alone = real::Arc::strong_count(std) == 1 && real::Arc::weak_count(std) == 0;
            (alone, alone)
        };
        this.look("Arc::get_mut", Location::caller(), alone)
            .then(|| real::Arc::get_mut(&mut this.0))
            .flatten()
    }

    /// An access that depends on the exact counts. The function also returns whether no other
    /// handle is left. If none is left, the thread learns what was done with the others; if it
    /// merely counts them, it does not.
    fn look<R>(
        &self,
        name: &'static str,
        caller: Caller,
        function: impl FnOnce(&real::Arc<T>) -> (R, bool),
    ) -> R {
        if !interface::active() {
            return function(&self.0).0;
        }
        let location = counts(Arc::as_ptr(self));
        let access = Access::update(location).named(name).at(caller);
        front::touching(access, |front, thread| {
            let (result, alone) = function(&self.0);
            if alone {
                front.detector.acquire(thread, location);
                front.detector.acquire(thread, weak_edges(location));
            }
            (result, counts_seen(&self.0))
        })
    }

    /// Gives the handle up and returns it if it was the last one, for the caller to drop.
    ///
    /// # Safety
    /// The handle must not be used again.
    unsafe fn decrement(&mut self, name: &'static str, caller: Caller) -> Option<Last<T>> {
        // SAFETY: the caller's promise.
        let std = unsafe { ManuallyDrop::take(&mut self.0) };
        if !interface::active() {
            return Some(Last { std, held: None });
        }
        let location = counts(real::Arc::as_ptr(&std));
        let access = Access::giving_up(location).named(name).at(caller);
        front::touching(access, |front, thread| {
            front.detector.release(thread, location);
            let owners = real::Arc::strong_count(&std) as u64;
            if owners > 1 {
                drop(std);
                return (None, Effect::counted(owners, owners - 1));
            }
            front.detector.acquire(thread, location);
            (Some(Last::new(front, location, std)), Effect::write(1, 0))
        })
    }
}

impl<T: Clone> Arc<T> {
    /// As std's `make_mut`.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T {
        if !interface::active() {
            return real::Arc::make_mut(&mut this.0);
        }
        let location = counts(Arc::as_ptr(this));
        let access = Access::update(location).named("Arc::make_mut").at(Location::caller());
        let (shared, held) = front::touching(access, |front, thread| {
            if real::Arc::strong_count(&this.0) > 1 {
                return ((true, None), counts_seen(&this.0));
            }
            front.detector.acquire(thread, location);
            if real::Arc::weak_count(&this.0) > 0 {
                return ((false, hold_weak(front, location, &this.0)), Effect::write(1, 0));
            }
            front.detector.acquire(thread, weak_edges(location));
            ((false, None), Effect::write(1, 1))
        });
        if shared {
            let copy = Arc::new((**this).clone());
            *this = copy;
        } else if held.is_some() {
            // The value moves; `Weak` handles find that no owner is left.
            real::Arc::make_mut(&mut this.0);
            drop(held);
        }
        real::Arc::get_mut(&mut this.0).expect("it is the only handle")
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        if !interface::active() {
            return Arc(self.0.clone());
        }
        let location = counts(Arc::as_ptr(self));
        let access = weak::counting(location).named("Arc::clone").at(Location::caller());
        front::touching(access, |_, _| {
            let owners = real::Arc::strong_count(&self.0) as u64;
            (Arc(self.0.clone()), Effect::counted(owners, owners + 1))
        })
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    #[track_caller]
    fn drop(&mut self) {
        // SAFETY: the handle is being dropped.
        drop(unsafe { self.decrement("Arc::drop", Location::caller()) });
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Unpin for Arc<T> {}

impl<T: Default> Default for Arc<T> {
    fn default() -> Self {
        Arc::new(T::default())
    }
}

impl<T: ?Sized, S> From<S> for Arc<T>
where
    real::Arc<T>: From<S>,
{
    /// Anything that converts to std's `Arc`: a value, a `Box<dyn Trait>`, a `Vec`, a `String`.
    fn from(source: S) -> Self {
        Arc::from_std(real::Arc::from(source))
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Arc::from_std(real::Arc::from_iter(iter))
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Arc::as_ptr(self), f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
