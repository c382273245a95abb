//! The example of the feature `live` does what it says: it asserts its own verdicts.

#[path = "../../examples/watch_queue.rs"]
mod watch_queue;

#[test]
fn a_queue_under_load_is_watched() {
    watch_queue::main();
}
