//! As `std::future`, and an executor for one future.

use super::thread::{self, Thread};
use crate::engine::interface;
use crate::front;
use ::std::pin::pin;
use ::std::sync::Arc;
use ::std::task::{Context, Poll, Wake, Waker};

pub use ::std::future::*;

struct Unpark(Thread);

impl Wake for Unpark {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to completion on the calling thread, which is parked while the future is pending.
///
/// A future that is never woken is a deadlock.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let current = thread::current();
    // The block of this `Arc` is not the user's: dropping the last handle frees it, and std counts
    // handles without events.
    let make = || Waker::from(Arc::new(Unpark(current)));
    let waker = if interface::active() { front::outside(make) } else { make() };
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
