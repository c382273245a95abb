//! As `std::sync::mpsc`. A channel that is made in an exploration is a queue behind a shadow
//! [`Mutex`].

use super::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::engine::interface;
use ::std::collections::VecDeque;
use ::std::fmt;
use ::std::sync as real;
use ::std::time::Duration;

pub use ::std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// As `std::sync::mpsc::channel`.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if !interface::active() {
        let (sender, receiver) = real::mpsc::channel();
        return (Sender(Side::Outside(sender)), Receiver::new(Side::Outside(receiver)));
    }
    let channel = Channel::new(None);
    (Sender(Side::Inside(channel.clone())), Receiver::new(Side::Inside(channel)))
}

/// As `std::sync::mpsc::sync_channel`.
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if !interface::active() {
        let (sender, receiver) = real::mpsc::sync_channel(bound);
        return (SyncSender(Side::Outside(sender)), Receiver::new(Side::Outside(receiver)));
    }
    let channel = Channel::new(Some(bound));
    (SyncSender(Side::Inside(channel.clone())), Receiver::new(Side::Inside(channel)))
}

/// As `std::sync::mpsc::Sender`.
pub struct Sender<T>(Side<real::mpsc::Sender<T>, T>);

/// As `std::sync::mpsc::SyncSender`.
pub struct SyncSender<T>(Side<real::mpsc::SyncSender<T>, T>);

/// As `std::sync::mpsc::Receiver`.
pub struct Receiver<T>(
    Side<real::mpsc::Receiver<T>, T>,
    /// Messages that are dropped with it. The fields are dropped in this order: destructors of
    /// messages may be events, and whether the channel ends with this handle must not depend on
    /// them.
    VecDeque<T>,
);

enum Side<Outside, T> {
    Outside(Outside),
    Inside(real::Arc<Channel<T>>),
}

// SAFETY: like std's receiver, it may be sent but not shared; the channel itself is behind a mutex.
unsafe impl<T: Send> Send for Receiver<T> {}

struct Channel<T> {
    state: Mutex<State<T>>,
    received: Condvar,
    sent: Condvar,
}

struct State<T> {
    queue: VecDeque<T>,
    bound: Option<usize>,
    senders: usize,
    receiver: bool,
    /// How many messages were put in and taken out, which shows when a rendezvous has taken place.
    put: u64,
    taken: u64,
    /// How many receivers are waiting: a rendezvous that must not block needs one.
    waiting: usize,
}

impl<T> Channel<T> {
    fn new(bound: Option<usize>) -> real::Arc<Channel<T>> {
        let state = State {
            queue: VecDeque::new(),
            bound,
            senders: 1,
            receiver: true,
            put: 0,
            taken: 0,
            waiting: 0,
        };
        real::Arc::new(Channel {
            state: Mutex::new(state),
            received: Condvar::new(),
            sent: Condvar::new(),
        })
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut state = self.lock();
        while state.receiver && state.is_full(state.bound.map(|bound| bound.max(1))) {
            state = self.received.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.receiver {
            return Err(SendError(value));
        }
        let ticket = state.push(value);
        self.sent.notify_one();
        if state.bound != Some(0) {
            return Ok(());
        }
        while state.receiver && state.taken < ticket {
            state = self.received.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.taken >= ticket {
            return Ok(());
        }
        let value = state.queue.pop_back();
        value.map_or(Ok(()), |value| Err(SendError(value)))
    }

    #[track_caller]
    fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut state = self.lock();
        if !state.receiver {
            return Err(TrySendError::Disconnected(value));
        }
        let full = match state.bound {
            Some(0) => state.waiting <= state.queue.len(),
            bound => state.is_full(bound),
        };
        if full {
            return Err(TrySendError::Full(value));
        }
        state.push(value);
        self.sent.notify_one();
        Ok(())
    }

    #[track_caller]
    fn receive(&self) -> Result<T, RecvError> {
        let mut state = self.lock();
        loop {
            if let Some(value) = self.pop(&mut state) {
                return Ok(value);
            }
            if state.senders == 0 {
                return Err(RecvError);
            }
            state.waiting += 1;
            state = self.sent.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    #[track_caller]
    fn try_receive(&self) -> Result<T, TryRecvError> {
        let mut state = self.lock();
        match self.pop(&mut state) {
            Some(value) => Ok(value),
            None if state.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    #[track_caller]
    fn receive_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.lock();
        loop {
            if let Some(value) = self.pop(&mut state) {
                return Ok(value);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            state.waiting += 1;
            let waited = self.sent.wait_timeout(state, timeout);
            let (again, result) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.waiting -= 1;
            if result.timed_out() {
                return self.pop(&mut state).ok_or(RecvTimeoutError::Timeout);
            }
        }
    }

    #[track_caller]
    fn pop(&self, state: &mut State<T>) -> Option<T> {
        let value = state.queue.pop_front()?;
        state.taken += 1;
        if state.bound.is_some() {
            self.received.notify_all();
        }
        Some(value)
    }

    fn sender_leaves(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        if state.senders == 0 {
            self.sent.notify_all();
        }
    }
}

impl<T> State<T> {
    fn is_full(&self, bound: Option<usize>) -> bool {
        bound.is_some_and(|bound| self.queue.len() >= bound)
    }

    /// The number of the message, counted from 1.
    fn push(&mut self, value: T) -> u64 {
        self.queue.push_back(value);
        self.put += 1;
        self.put
    }
}

impl<T> Sender<T> {
    /// As std's `send`.
    ///
    /// # Errors
    /// The value, if there is no receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Side::Outside(sender) => sender.send(value),
            Side::Inside(channel) => channel.send(value),
        }
    }
}

impl<T> SyncSender<T> {
    /// As std's `send`.
    ///
    /// # Errors
    /// The value, if there is no receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Side::Outside(sender) => sender.send(value),
            Side::Inside(channel) => channel.send(value),
        }
    }

    /// As std's `try_send`.
    ///
    /// # Errors
    /// The value, if the channel is full or there is no receiver.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Side::Outside(sender) => sender.try_send(value),
            Side::Inside(channel) => channel.try_send(value),
        }
    }
}

impl<T> Receiver<T> {
    fn new(side: Side<real::mpsc::Receiver<T>, T>) -> Receiver<T> {
        Receiver(side, VecDeque::new())
    }

    /// As std's `recv`.
    ///
    /// # Errors
    /// If the channel is empty and there is no sender.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.0 {
            Side::Outside(receiver) => receiver.recv(),
            Side::Inside(channel) => channel.receive(),
        }
    }

    /// As std's `try_recv`.
    ///
    /// # Errors
    /// If the channel is empty.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.0 {
            Side::Outside(receiver) => receiver.try_recv(),
            Side::Inside(channel) => channel.try_receive(),
        }
    }

    /// As std's `recv_timeout`. In an exploration the timeout may expire at any moment.
    ///
    /// # Errors
    /// If the channel stays empty.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match &self.0 {
            Side::Outside(receiver) => receiver.recv_timeout(timeout),
            Side::Inside(channel) => channel.receive_timeout(timeout),
        }
    }

    /// As std's `iter`.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// As std's `try_iter`.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

/// As `std::sync::mpsc::Iter`.
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);

/// As `std::sync::mpsc::TryIter`.
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// As `std::sync::mpsc::IntoIter`.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Sender(self.0.clone_sender())
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        SyncSender(self.0.clone_sender())
    }
}

impl<Outside: Clone, T> Side<Outside, T> {
    #[track_caller]
    fn clone_sender(&self) -> Self {
        match self {
            Side::Outside(sender) => Side::Outside(sender.clone()),
            Side::Inside(channel) => {
                channel.lock().senders += 1;
                Side::Inside(channel.clone())
            }
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let Side::Inside(channel) = &self.0 {
            channel.sender_leaves();
        }
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        if let Side::Inside(channel) = &self.0 {
            channel.sender_leaves();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Side::Inside(channel) = &self.0 {
            let mut state = channel.lock();
            state.receiver = false;
            // A rendezvous that did not take place returns its value; everything else is dropped
            // with the receiver.
            if state.bound != Some(0) {
                self.1 = ::std::mem::take(&mut state.queue);
            }
            channel.received.notify_all();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
