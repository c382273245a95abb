//! As a user of the crate sees it: `cargo test --features trueline`.

use treiber::Stack;
use trueline_explore::engine::Exploration;
use trueline_explore::std::thread;

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

#[test]
fn a_pop_beside_a_push_sees_both_outcomes() {
    let outcomes = std::sync::Mutex::new([false; 2]);
    let report = Exploration::new().run(|| {
        let stack = Stack::new();
        let popped = thread::scope(|s| {
            s.spawn(|| stack.push(1));
            stack.pop()
        });
        outcomes.lock().unwrap()[usize::from(popped.is_some())] = true;
    });
    assert!(report.holds(), "{report}");
    assert_eq!(outcomes.into_inner().unwrap(), [true, true]);
}
