//! A queue whose users wait for a value or for room, as threads or as tasks, with or without a time
//! limit, and that can be closed. It wraps any linearizable queue, stack or priority queue.
//!
//! **Waiting.** An operation that cannot proceed adds itself to a list and tries again; only then
//! it waits. After its own operation has ended, a push (pop) wakes the first waiter of the other
//! kind. So either the waiter is in the list when the other thread checks it, or the waiter's
//! second attempt begins after the other's operation has ended, and sees its effect: the two fences
//! decide which. The queue only has to be linearizable.
//!
//! **No waiter is lost.** A woken waiter is no longer in the list, and must either use its wakeup
//! or pass it on. It tries again; if it finds nothing, another operation was faster, and it adds
//! itself to the list again. If it leaves for another reason (its time is up, its task was dropped,
//! or its own attempt succeeded while it was being woken), it wakes the next waiter instead: the
//! mutant `-keeps-wakeups` does not.
//!
//! **Closing.** After [`Blocking::close`] nothing is pushed, and the remaining values can still be
//! popped. A push registers while it runs, in the word that also contains the 'closed' flag. An
//! operation that finds the queue closing waits until no push is registered, so that closing has a
//! linearization point: when the last of these pushes ended. Otherwise an earlier push could insert
//! a value into a queue that others already know to be closed and empty: the mutant
//! `-closes-at-once`.
//!
//! **Code of the user's** that the queue runs, such as comparisons of a priority queue, may panic
//! and may call the queue. An operation that panics passes its wakeup on, and a push is
//! unregistered. Code that a push runs cannot wait for the end of that push: it sees the queue as
//! closed as soon as closing begins, whatever is registered. If a waker panics, the others are
//! still woken.
//!
//! **Progress.** `try_push` and `try_pop` have the progress of the queue's operations, except on a
//! queue that is being closed. **Cost.** A push adds two changes of one word and a fence, a pop of
//! a bounded queue adds a fence. The lists are under locks, which are taken by waiters and by
//! threads that wake one. Wakers, which may be anything, are called, cloned and dropped outside of
//! the locks.

use super::padded::Padded;
use super::sync::atomic::{AtomicUsize, Ordering, fence};
use super::sync::{Backoff, Instant, Mutex, thread};
use super::to_the_end::for_each_to_the_end;
use super::within::{is_within, within};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A container that [`Blocking`] can wrap.
///
/// Its 'full' and 'empty' must be linearizable. If it returns them while another operation is
/// unfinished, as [`VyukovQueue`](super::VyukovQueue) does, a value may stay in the queue while a
/// thread waits for it.
pub trait Queue {
    /// The type of its values.
    type Item;

    /// Whether it can be full.
    const IS_BOUNDED: bool;

    /// Inserts an item, or returns it if there is no room.
    ///
    /// # Errors
    /// The item, if there is no room.
    fn offer(&self, item: Self::Item) -> Result<(), Self::Item>;

    /// Removes an item; `None` if there is none.
    fn poll(&self) -> Option<Self::Item>;
}

/// A queue whose users can wait, and that can be closed.
///
/// ```
/// use std::thread;
/// use trueline_objects::{ArrayQueue, Blocking};
///
/// let jobs = Blocking::new(ArrayQueue::new(2));
/// thread::scope(|s| {
///     s.spawn(|| {
///         (1..=100).for_each(|job| jobs.push(job).unwrap()); // waits while there is no room
///         jobs.close();
///     });
///     let sum: i32 = std::iter::from_fn(|| jobs.pop()).sum(); // waits while there is nothing, until it is closed
///     assert_eq!(sum, 5050);
/// });
/// ```
///
/// Tasks use [`Blocking::push_async`] and [`Blocking::pop_async`], with any executor.
pub struct Blocking<Q> {
    queue: Q,
    /// Twice the number of pushes that are under way, and one if it is closed.
    pushes: Padded<AtomicUsize>,
    /// The operations that wait for an item.
    poppers: Waiters,
    /// The operations that wait for room.
    pushers: Waiters,
}

const CLOSED: usize = 1;
const PUSH: usize = 2;

/// Why an item was not put in. It is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError<T> {
    /// There is no room, or there was none until the time was up.
    Full(T),
    /// The queue is closed.
    Closed(T),
}

impl<T> PushError<T> {
    /// The item.
    pub fn into_inner(self) -> T {
        let (PushError::Full(item) | PushError::Closed(item)) = self;
        item
    }
}

/// Why there is no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopError {
    /// There is none, or there was none until the time was up.
    Empty,
    /// There is none, and never will be: the queue is closed.
    Closed,
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "the queue is full",
            PushError::Closed(_) => "the queue is closed",
        })
    }
}

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PopError::Empty => "the queue is empty",
            PopError::Closed => "the queue is empty and closed",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for PushError<T> {}
impl std::error::Error for PopError {}

impl<Q: Queue> Blocking<Q> {
    /// A queue whose users can wait. It is open.
    pub const fn new(queue: Q) -> Blocking<Q> {
        Blocking {
            queue,
            pushes: Padded(AtomicUsize::new(0)),
            poppers: Waiters::new(),
            pushers: Waiters::new(),
        }
    }

    /// The wrapped queue. Using it directly wakes no waiter.
    pub fn inner(&self) -> &Q {
        &self.queue
    }

    /// The wrapped queue, with its remaining content.
    pub fn into_inner(self) -> Q {
        self.queue
    }

    /// Inserts an item, if there is room.
    ///
    /// # Errors
    /// The item, and the reason.
    pub fn try_push(&self, item: Q::Item) -> Result<(), PushError<Q::Item>> {
        // If the queue panics, the item may be in it, so a waiter is woken in any case. Dropped
        // after the push is over.
        let mut wake = WakesOne::new(&self.poppers);
        let Some(push) = self.begin_push() else {
            wake.cancel();
            return Err(PushError::Closed(item));
        };
        let offered = within(self.address(), || self.queue.offer(item));
        drop(push);
        offered.map_err(|item| {
            wake.cancel();
            PushError::Full(item)
        })
    }

    /// Inserts an item; waits until there is room.
    ///
    /// # Errors
    /// The item, if the queue is closed.
    pub fn push(&self, item: Q::Item) -> Result<(), Q::Item> {
        let mut item = Some(item);
        match block_on(&self.pushers, None, || self.try_to_push(&mut item)) {
            Some(result) => result,
            None => unreachable!("there is no time limit"),
        }
    }

    /// Inserts an item; waits until there is room, but at most this long.
    ///
    /// # Errors
    /// The item, and the reason.
    pub fn push_timeout(&self, item: Q::Item, timeout: Duration) -> Result<(), PushError<Q::Item>> {
        let mut item = Some(item);
        let pushed = block_on(&self.pushers, Some(timeout), || self.try_to_push(&mut item));
        match (pushed, item) {
            (Some(result), _) => result.map_err(PushError::Closed),
            (None, Some(item)) => Err(PushError::Full(item)),
            (None, None) => unreachable!("an item that was not pushed is there"),
        }
    }

    /// Inserts an item, as a task: waits until there is room. The output is the item, if the queue
    /// is closed. A future that is dropped has inserted nothing; one that is forgotten keeps its
    /// place in the list.
    pub fn push_async(&self, item: Q::Item) -> Push<'_, Q> {
        Push { queue: self, item: Some(item), place: Place::new(&self.pushers) }
    }

    /// Removes an item, if there is one.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn try_pop(&self) -> Result<Q::Item, PopError> {
        // As in `try_push`: if the queue panics, there may be room.
        let mut wake = WakesOne::new(&self.pushers);
        let mut item = self.queue.poll();
        let mut is_closed = false;
        if item.is_none() {
            is_closed = self.is_closed();
            if is_closed {
                // A push may have ended after the first attempt, and before the queue was closed.
                item = self.queue.poll();
            }
        }
        if item.is_none() || !Q::IS_BOUNDED {
            wake.cancel();
        }
        // Dropped here: a function's return value is leaked if a destructor panics during the
        // return.
        drop(wake);
        item.ok_or(if is_closed { PopError::Closed } else { PopError::Empty })
    }

    /// Removes an item; waits until there is one. `None` if the queue is closed and empty.
    pub fn pop(&self) -> Option<Q::Item> {
        block_on(&self.poppers, None, || self.try_to_pop()).flatten()
    }

    /// Removes an item; waits until there is one, but at most this long.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn pop_timeout(&self, timeout: Duration) -> Result<Q::Item, PopError> {
        match block_on(&self.poppers, Some(timeout), || self.try_to_pop()) {
            Some(item) => item.ok_or(PopError::Closed),
            None => Err(PopError::Empty),
        }
    }

    /// Removes an item, as a task: waits until there is one. The output is `None` if the queue is
    /// closed and empty. A future that is dropped has removed nothing; one that is forgotten keeps
    /// its place in the list.
    pub fn pop_async(&self) -> Pop<'_, Q> {
        Pop { queue: self, place: Place::new(&self.poppers) }
    }

    /// Closes the queue: nothing can be inserted any more, but the remaining items can be removed.
    /// Wakes all waiters. Returns whether the queue was open.
    pub fn close(&self) -> bool {
        let before = self.pushes.fetch_or(CLOSED, Ordering::SeqCst);
        self.is_closed();
        for_each_to_the_end([&self.poppers, &self.pushers], Waiters::wake_all);
        before & CLOSED == 0
    }

    /// Whether the queue is closed. While it is being closed, this waits for the registered pushes,
    /// unless a push of this thread runs the calling code.
    pub fn is_closed(&self) -> bool {
        // Acquire: what was pushed is seen.
        match self.pushes.load(Ordering::SeqCst) {
            CLOSED => return true,
            pushes if pushes & CLOSED == 0 => return false,
            _ if is_within(self.address()) => return true,
            _ => {}
        }
        let backoff = Backoff::default();
        while self.pushes.load(Ordering::SeqCst) != CLOSED {
            backoff.wait_for_other();
        }
        true
    }

    /// By which a thread knows that a push of its own runs its code.
    fn address(&self) -> *const () {
        (&raw const self.pushes).cast()
    }

    /// Registers a push; `None` if the queue is closed.
    fn begin_push(&self) -> Option<UnderWay<'_>> {
        let mut pushes = self.pushes.load(Ordering::SeqCst);
        while pushes & CLOSED == 0 {
            let (yes, no) = (Ordering::SeqCst, Ordering::SeqCst);
            match self.pushes.compare_exchange_weak(pushes, pushes + PUSH, yes, no) {
                Ok(_) => return Some(UnderWay(&self.pushes)),
                Err(found) => pushes = found,
            }
        }
        self.is_closed();
        None
    }

    /// One attempt of a waiting push; `None` if it has to wait. The item is taken if it was pushed.
    fn try_to_push(&self, item: &mut Option<Q::Item>) -> Option<Result<(), Q::Item>> {
        let taken = item.take().expect("an item is pushed once");
        match self.try_push(taken) {
            Ok(()) => Some(Ok(())),
            Err(PushError::Closed(back)) => Some(Err(back)),
            Err(PushError::Full(back)) => {
                *item = Some(back);
                None
            }
        }
    }

    /// One attempt of a waiting pop; `None` if it has to wait.
    fn try_to_pop(&self) -> Option<Option<Q::Item>> {
        match self.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(PopError::Closed) => Some(None),
            Err(PopError::Empty) => None,
        }
    }
}

/// A registered push, which is unregistered even if code of the user's panics.
struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(PUSH, Ordering::SeqCst);
    }
}

/// Wakes one that waits when it is dropped.
struct WakesOne<'a> {
    waiters: &'a Waiters,
    is_cancelled: bool,
}

impl<'a> WakesOne<'a> {
    fn new(waiters: &'a Waiters) -> WakesOne<'a> {
        WakesOne { waiters, is_cancelled: false }
    }

    fn cancel(&mut self) {
        self.is_cancelled = true;
    }
}

impl Drop for WakesOne<'_> {
    fn drop(&mut self) {
        if !self.is_cancelled {
            self.waiters.wake_one();
        }
    }
}

impl<Q: Queue + Default> Default for Blocking<Q> {
    fn default() -> Blocking<Q> {
        Blocking::new(Q::default())
    }
}

impl<Q: fmt::Debug> fmt::Debug for Blocking<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// A push of a task: see [`Blocking::push_async`].
#[must_use = "a future does nothing before it is polled"]
pub struct Push<'a, Q: Queue> {
    queue: &'a Blocking<Q>,
    item: Option<Q::Item>,
    place: Place<'a>,
}

// The item is moved out before it is used, and never pinned.
impl<Q: Queue> Unpin for Push<'_, Q> {}

impl<Q: Queue> Future for Push<'_, Q> {
    type Output = Result<(), Q::Item>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Q::Item>> {
        let Push { queue, item, place } = self.get_mut();
        place.poll(context.waker(), || queue.try_to_push(item))
    }
}

/// A pop of a task: see [`Blocking::pop_async`].
#[must_use = "a future does nothing before it is polled"]
pub struct Pop<'a, Q: Queue> {
    queue: &'a Blocking<Q>,
    place: Place<'a>,
}

impl<Q: Queue> Future for Pop<'_, Q> {
    type Output = Option<Q::Item>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Q::Item>> {
        let Pop { queue, place } = self.get_mut();
        place.poll(context.waker(), || queue.try_to_pop())
    }
}

impl<Q: Queue> fmt::Debug for Push<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push").finish_non_exhaustive()
    }
}

impl<Q: Queue> fmt::Debug for Pop<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pop").finish_non_exhaustive()
    }
}

/// The operations that wait for one condition, in the order of arrival.
pub(crate) struct Waiters {
    /// The length of the list, for threads that do not take the lock.
    number: AtomicUsize,
    list: Mutex<List>,
}

struct List {
    /// The number of the next one that comes.
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Waiters {
    pub(crate) const fn new() -> Waiters {
        let list = List { next: 0, wakers: BTreeMap::new() };
        Waiters { number: AtomicUsize::new(0), list: Mutex::new(list) }
    }

    /// Wakes the first waiter and removes it from the list. Call it after the event for which it
    /// waits.
    pub(crate) fn wake_one(&self) {
        // See the module's text.
        fence(Ordering::SeqCst);
        if self.number.load(Ordering::Relaxed) > 0
            && let Some((_, waker)) = self.with_list(|list| list.wakers.pop_first())
        {
            waker.wake();
        }
    }

    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        if self.number.load(Ordering::Relaxed) > 0 {
            let wakers = self.with_list(|list| std::mem::take(&mut list.wakers));
            for_each_to_the_end(wakers.into_values(), Waker::wake);
        }
    }

    fn with_list<R>(&self, change: impl FnOnce(&mut List) -> R) -> R {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut list);
        self.number.store(list.wakers.len(), Ordering::Relaxed);
        result
    }
}

/// A possible waiter.
pub(crate) struct Place<'a> {
    waiters: &'a Waiters,
    /// Its number, if it is in the list, or was woken since and has not used its turn.
    number: Option<u64>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(waiters: &'a Waiters) -> Place<'a> {
        Place { waiters, number: None }
    }

    /// Tries, and waits if the attempt fails: then the waker will be called.
    pub(crate) fn poll<R>(
        &mut self,
        waker: &Waker,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Poll<R> {
        // Whether it was woken is checked before the attempt, so that a success uses the wakeup.
        let waits = self.is_in_list(waker);
        // If the attempt panics, a woken waiter has not used its wakeup, and passes it on when it
        // is dropped.
        if let Some(result) = attempt() {
            if waits {
                self.leave();
            }
            self.number = None;
            return Poll::Ready(result);
        }
        if !waits {
            self.enter(waker);
            // See the module's text.
            fence(Ordering::SeqCst);
            if let Some(result) = attempt() {
                self.leave();
                return Poll::Ready(result);
            }
        }
        Poll::Pending
    }

    fn enter(&mut self, waker: &Waker) {
        let waker = waker.clone();
        self.number = Some(self.waiters.with_list(|list| {
            let number = list.next;
            list.next += 1;
            list.wakers.insert(number, waker);
            number
        }));
    }

    /// Whether it waits and was not woken; if so, this is its waker from now on.
    fn is_in_list(&self, waker: &Waker) -> bool {
        let Some(number) = self.number else { return false };
        let mut other = Some(waker.clone());
        self.waiters.with_list(|list| match list.wakers.get_mut(&number) {
            Some(old) => {
                if let (false, Some(new)) = (old.will_wake(waker), &mut other) {
                    std::mem::swap(old, new);
                }
                true
            }
            None => false,
        })
    }

    /// Waits no more. If it was woken meanwhile, that is for the next one.
    fn leave(&mut self) {
        let Some(number) = self.number.take() else { return };
        let waker = self.waiters.with_list(|list| list.wakers.remove(&number));
        if waker.is_none() {
            self.waiters.wake_one();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Wakes a thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Unpark>) {
        self.0.unpark();
    }
}

/// Tries until it succeeds, and waits in between; `None` if the time is up.
fn block_on<R>(
    waiters: &Waiters,
    timeout: Option<Duration>,
    mut attempt: impl FnMut() -> Option<R>,
) -> Option<R> {
    if let Some(result) = attempt() {
        return Some(result);
    }
    // A time that cannot be represented means no limit.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut place = Place::new(waiters);
    loop {
        if let Poll::Ready(result) = place.poll(&waker, &mut attempt) {
            return Some(result);
        }
        match deadline {
            None => thread::park(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                thread::park_timeout(left);
            }
        }
    }
}
