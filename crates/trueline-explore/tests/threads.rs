//! Tokens, results and the ends of threads.

mod outcomes;

use std::time::Duration;

use outcomes::check;
use trueline_explore::std::sync::Arc;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::std::thread;

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

#[test]
fn the_place_of_a_token_does_not_depend_on_who_asks_for_it_first() {
    // The one that parks gives up at once or finds the token, which nobody can tell apart; the third thread sees the store or not.
    check([0, 1], || {
        let (x, y, go) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|s| {
            let parks = s.spawn(|| {
                y.store(1, SeqCst);
                while go.load(SeqCst) == 0 {}
                thread::park_timeout(Duration::from_millis(1));
                x.load(SeqCst);
            });
            let handle = parks.thread().clone();
            let x = &x;
            s.spawn(move || {
                x.store(1, SeqCst);
                handle.unpark();
            });
            let seen = x.load(SeqCst);
            go.store(1, SeqCst);
            seen
        })
    });
}
