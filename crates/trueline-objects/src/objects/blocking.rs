//! A queue whose users wait for a value or for room, as threads or as tasks, with or without a time
//! limit; and that can be closed. It is made of any linearizable queue, stack or priority queue.
//!
//! **Waiting.** An operation that finds nothing to do enters itself into a list and tries again;
//! only then it waits. Who has pushed (popped) wakes the first one of the list, after its own
//! operation has ended. So either the one that waits is in the list when the other one looks, or
//! its second try begins after the other's operation has ended, and finds what it left: the two
//! fences decide which. This needs no more of the queue than that it is linearizable.
//!
//! **Nobody is forgotten.** Who is woken is out of the list, and has to use what it was woken for,
//! or to tell the next one. It tries again; if there is nothing any more, somebody else has had it,
//! and it enters itself again. If it leaves for another reason, since its time is up, its task was
//! dropped, or it got something by its own try while it was being woken, it wakes the next one in
//! its place: the mutant `-keeps-wakeups` does not.
//!
//! **Closing.** After [`Blocking::close`] nothing is pushed, and what is there can still be popped.
//! A push says that it is under way while it tries, in the word that also says whether the queue is
//! closed. Whoever finds the queue closing waits until no push is under way, so that 'closed' has a
//! moment: when the last one of them has ended. Otherwise a push that began before could put a
//! value into a queue of which others know that it is closed and empty: the mutant
//! `-closes-at-once`.
//!
//! **Code of the user's** that the queue runs, such as comparisons of a priority queue, may panic
//! and may call the queue. An operation that panics hands its turn on, and a push counts no longer
//! as under way. Code that a push runs cannot wait for the end of that push: for it the queue is
//! closed as soon as it is being closed, whatever is under way. A waker that panics keeps no other
//! one from being woken.
//!
//! **Progress.** `try_push` and `try_pop` are what those of the queue are, but for a queue that is
//! being closed. **Cost.** A push adds two changes of one word and a fence, a pop of a bounded
//! queue a fence. Lists are under locks, which are taken by who waits and who wakes somebody.
//! Wakers, which may be anything, are called, cloned and dropped outside of them.

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

/// What [`Blocking`] is made of: anything that values are put into and taken out of.
///
/// It must be linearizable as far as 'full' and 'empty' go: one that says so while an operation is
/// half done, as [`VyukovQueue`](super::VyukovQueue) does, lets a value lie while somebody waits
/// for it.
pub trait Queue {
    /// What is put in and taken out.
    type Item;

    /// Whether there may be no room.
    const IS_BOUNDED: bool;

    /// Puts an item in, or gives it back where there is no room.
    ///
    /// # Errors
    /// The item, where there is no room.
    fn offer(&self, item: Self::Item) -> Result<(), Self::Item>;

    /// Takes an item out; `None` where there is none.
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
    /// Who waits for an item.
    poppers: Waiters,
    /// Who waits for room.
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

    /// The queue itself. Nobody is woken for what is put in or taken out by it.
    pub fn inner(&self) -> &Q {
        &self.queue
    }

    /// The queue itself, with what is left in it.
    pub fn into_inner(self) -> Q {
        self.queue
    }

    /// Puts an item in, if there is room.
    ///
    /// # Errors
    /// The item, and why not.
    pub fn try_push(&self, item: Q::Item) -> Result<(), PushError<Q::Item>> {
        // Where the queue panics the item may be in it: one too many is woken rather than none.
        // Dropped after the push is over.
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

    /// Puts an item in; waits until there is room.
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

    /// Puts an item in; waits until there is room, but not longer than this.
    ///
    /// # Errors
    /// The item, and why not.
    pub fn push_timeout(&self, item: Q::Item, timeout: Duration) -> Result<(), PushError<Q::Item>> {
        let mut item = Some(item);
        let pushed = block_on(&self.pushers, Some(timeout), || self.try_to_push(&mut item));
        match (pushed, item) {
            (Some(result), _) => result.map_err(PushError::Closed),
            (None, Some(item)) => Err(PushError::Full(item)),
            (None, None) => unreachable!("an item that was not pushed is there"),
        }
    }

    /// Puts an item in, as a task: waits until there is room. The output is the item, if the queue
    /// is closed. A future that is dropped has put nothing in; one that is forgotten keeps its
    /// place in the line.
    pub fn push_async(&self, item: Q::Item) -> Push<'_, Q> {
        Push { queue: self, item: Some(item), place: Place::new(&self.pushers) }
    }

    /// Takes an item out, if there is one.
    ///
    /// # Errors
    /// Why there is none.
    pub fn try_pop(&self) -> Result<Q::Item, PopError> {
        // As in `try_push`: where the queue panics there may be room.
        let mut wake = WakesOne::new(&self.pushers);
        let mut item = self.queue.poll();
        let mut is_closed = false;
        if item.is_none() {
            is_closed = self.is_closed();
            if is_closed {
                // A push may have ended after the first look, and before the queue was closed.
                item = self.queue.poll();
            }
        }
        if item.is_none() || !Q::IS_BOUNDED {
            wake.cancel();
        }
        // Not on the way out: what a function returns is forgotten where a destructor panics there.
        drop(wake);
        item.ok_or(if is_closed { PopError::Closed } else { PopError::Empty })
    }

    /// Takes an item out; waits until there is one. `None` if the queue is closed and empty.
    pub fn pop(&self) -> Option<Q::Item> {
        block_on(&self.poppers, None, || self.try_to_pop()).flatten()
    }

    /// Takes an item out; waits until there is one, but not longer than this.
    ///
    /// # Errors
    /// Why there is none.
    pub fn pop_timeout(&self, timeout: Duration) -> Result<Q::Item, PopError> {
        match block_on(&self.poppers, Some(timeout), || self.try_to_pop()) {
            Some(item) => item.ok_or(PopError::Closed),
            None => Err(PopError::Empty),
        }
    }

    /// Takes an item out, as a task: waits until there is one. The output is `None` if the queue is
    /// closed and empty. A future that is dropped has taken nothing; one that is forgotten keeps
    /// its place in the line.
    pub fn pop_async(&self) -> Pop<'_, Q> {
        Pop { queue: self, place: Place::new(&self.poppers) }
    }

    /// Closes the queue: nothing can be put in any more, and what is in it can be taken out. Tells
    /// whether it was open. All that wait are woken.
    pub fn close(&self) -> bool {
        let before = self.pushes.fetch_or(CLOSED, Ordering::SeqCst);
        self.is_closed();
        for_each_to_the_end([&self.poppers, &self.pushers], Waiters::wake_all);
        before & CLOSED == 0
    }

    /// Whether the queue is closed. While it is being closed, this waits for the pushes that are
    /// under way, unless a push of this thread runs the code that asks.
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

    /// Says that a push is under way; `None` where the queue is closed.
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

    /// One try of a push that waits; `None` where it has to. The item is gone if it was pushed.
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

    /// One try of a pop that waits; `None` where it has to.
    fn try_to_pop(&self) -> Option<Option<Q::Item>> {
        match self.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(PopError::Closed) => Some(None),
            Err(PopError::Empty) => None,
        }
    }
}

/// A push that tries: also where code of the user's panics it ends.
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

/// Those who wait for one thing, the one that came first first.
pub(crate) struct Waiters {
    /// How many are in the list, for those who do not take the lock.
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

    /// Wakes the one that came first, which is not in the list then. To be called after what it may
    /// wait for.
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

/// Somebody who may wait.
pub(crate) struct Place<'a> {
    waiters: &'a Waiters,
    /// Its number, if it is in the list, or was woken since and has not used its turn.
    number: Option<u64>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(waiters: &'a Waiters) -> Place<'a> {
        Place { waiters, number: None }
    }

    /// Tries, and waits where there is nothing to do: then the waker will be woken.
    pub(crate) fn poll<R>(
        &mut self,
        waker: &Waker,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Poll<R> {
        // Whether it was woken is asked before the try: what it finds is what it was woken for.
        let waits = self.is_in_list(waker);
        // Where it panics, who was woken has not used its turn, and hands it on when it is dropped.
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

/// Tries until it succeeds, and waits between; `None` where the time is up.
fn block_on<R>(
    waiters: &Waiters,
    timeout: Option<Duration>,
    mut attempt: impl FnMut() -> Option<R>,
) -> Option<R> {
    if let Some(result) = attempt() {
        return Some(result);
    }
    // A time that cannot be told is as good as none.
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
