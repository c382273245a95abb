//! What is said about small violations of every specification, to be read as somebody does who
//! knows nothing of trueline: the result that is impossible, what it would have needed, and the
//! operations that exclude that.
//!
//! `sentences.txt` holds the answers. Events stand between ` / `: `0 enq(1)` is a call by process
//! 0, `0 ok 7` its return, `0 ?` an outcome that is not known; the n-th event stands in line n.

use crate::common::history;
use expect_test::expect_file;
use trueline::{Algorithm, Budget, Verdict, spec};

/// What it is called, the specification, the events.
const CASES: &[(&str, &str, &str)] = &[
    // Queues.
    ("a value that nobody enqueued", "queue", "0 enq(1) / 0 ok / 1 deq() / 1 ok 7"),
    ("a value of the future", "queue", "1 deq() / 1 ok 7 / 0 enq(7) / 0 ok"),
    (
        "a value that comes out twice",
        "queue",
        "0 enq(1) / 0 ok / 1 deq() / 2 deq() / 1 ok 1 / 2 ok 1",
    ),
    (
        "a value that overtakes another",
        "queue",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 1 deq() / 1 ok 2 / 2 deq() / 2 ok 1",
    ),
    (
        "a value that overtakes two, one of which may be gone",
        "queue",
        "0 enq(a) / 0 ok / 0 enq(b) / 0 ok / 0 enq(c) / 0 ok / 2 deq() / 1 deq() / 1 ok c",
    ),
    (
        "a value that comes out twice before it goes in again",
        "queue",
        "0 enq(4) / 0 ok / 1 deq() / 1 ok 4 / 2 deq() / 2 ok 4 / 0 enq(4) / 0 ok",
    ),
    (
        "an initial value that comes out twice before it goes in again",
        "stack:init=[1]",
        "0 pop() / 0 ok 1 / 0 pop() / 0 ok 1 / 1 push(1) / 1 ok",
    ),
    ("a queue that is found empty", "queue", "0 enq(1) / 0 ok / 1 deq() / 1 ok / 1 deq() / 1 ok 1"),
    (
        "a queue in which one value follows another",
        "queue",
        "0 enq(1) / 0 ok / 2 deq() / 0 enq(2) / 0 ok / 1 deq() / 1 ok 1 / 2 ok / 1 deq() / 1 ok 2",
    ),
    ("a peek at the wrong value", "queue", "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 1 peek() / 1 ok 2"),
    ("an initial value that is passed over", "queue:init=[1 2]", "0 deq() / 0 ok 2"),
    (
        "a value that is not among the initial ones",
        "queue:init=[1]",
        "0 deq() / 0 ok 7 / 1 enq(3) / 1 ok",
    ),
    (
        "an initial value that comes out twice",
        "queue:init=[1]",
        "0 deq() / 0 ok 1 / 1 deq() / 1 ok 1",
    ),
    ("a peek at nothing", "queue", "0 enq(1) / 0 ok / 1 peek() / 1 ok"),
    ("a peek at what is gone", "queue", "0 enq(1) / 0 ok / 1 deq() / 1 ok 1 / 1 peek() / 1 ok 1"),
    (
        "a value that is enqueued twice and overtakes",
        "queue",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 1 deq() / 1 ok 2 / 0 enq(2) / 0 ok / 1 deq() / 1 ok 1",
    ),
    (
        "a peek at a value of which all are gone",
        "queue",
        "0 enq(1) / 0 ok / 0 enq(1) / 0 ok / 1 deq() / 1 ok 1 / 1 deq() / 1 ok 1 / 2 peek() / 2 ok 1",
    ),
    (
        "an initial value that is seen when it is gone",
        "stack:init=[1]",
        "0 pop() / 0 ok 1 / 1 peek() / 1 ok 1",
    ),
    (
        "a value that is enqueued three times, each time behind another",
        "queue",
        "0 enq(1) / 0 ok / 1 enq(2) / 2 enq(2) / 3 enq(2) / 1 ok / 2 ok / 3 ok / 0 deq() / 0 ok 2",
    ),
    // Bounded queues.
    (
        "a queue that is full and takes one more",
        "bounded-queue:capacity=2",
        "0 enq(1) / 0 ok 1 / 0 enq(2) / 0 ok 1 / 1 enq(3) / 1 ok 1",
    ),
    (
        "a queue that is not full",
        "bounded-queue:capacity=2",
        "0 enq(1) / 0 ok 1 / 1 enq(3) / 1 ok 0",
    ),
    ("an empty queue that is said to be full", "bounded-queue:capacity=1", "1 enq(3) / 1 ok 0"),
    // Stacks.
    (
        "a value that comes out from under another",
        "stack",
        "0 push(1) / 0 ok / 0 push(2) / 0 ok / 1 pop() / 1 ok 1 / 1 pop() / 1 ok 2",
    ),
    (
        "three pushes of one value and four pops",
        "stack",
        "0 push(1) / 0 ok / 1 push(1) / 1 ok / 2 push(1) / 2 ok / 0 pop() / 0 ok 1 / 0 pop() / 0 ok 1 / 1 pop() / 1 ok 1 / 2 pop() / 2 ok 1",
    ),
    (
        "three values none of which is below the others",
        "stack",
        "0 push(1) / 0 ok / 0 push(2) / 0 ok / 1 pop() / 0 push(3) / 0 ok / 2 pop() / 1 ok 1 / 0 pop() / 2 ok 2 / 0 ok 3",
    ),
    ("a stack that is found empty", "stack", "0 push(1) / 0 ok / 1 pop() / 1 ok"),
    ("a pop before the push", "stack", "1 pop() / 1 ok 1 / 0 push(1) / 0 ok"),
    // Priority queues.
    (
        "a smaller value before a larger one",
        "priority-queue",
        "0 insert(4) / 0 ok / 0 insert(5) / 0 ok / 1 poll() / 1 ok 4 / 1 poll() / 1 ok 5",
    ),
    (
        "a larger value before a smaller one",
        "priority-queue:order=min",
        "0 insert(4) / 0 ok / 0 insert(5) / 0 ok / 1 poll() / 1 ok 5",
    ),
    (
        "larger values that follow each other",
        "priority-queue",
        "0 insert(6) / 0 ok / 0 insert(1) / 0 ok / 2 poll() / 0 insert(5) / 0 ok / 1 poll() / 1 ok 6 / 2 ok 1 / 1 poll() / 1 ok 5",
    ),
    (
        "a priority queue that is full",
        "bounded-priority-queue:capacity=1",
        "0 insert(5) / 0 ok 1 / 1 insert(6) / 1 ok 1",
    ),
    // Deques.
    (
        "a value from the front behind another",
        "deque",
        "0 push_back(1) / 0 ok / 0 push_back(2) / 0 ok / 1 pop_front() / 1 ok 2",
    ),
    (
        "a value from the back before another",
        "deque",
        "0 push_front(1) / 0 ok / 0 push_back(2) / 0 ok / 1 pop_back() / 1 ok 1 / 1 pop_back() / 1 ok 2",
    ),
    ("a value that nobody pushed", "deque", "0 push_front(1) / 0 ok / 1 pop_front() / 1 ok 77"),
    (
        "a deque whose front is not the last that was pushed there",
        "deque",
        "0 push_front(1) / 0 ok / 0 push_front(2) / 0 ok / 1 pop_front() / 1 ok 1",
    ),
    ("a deque that is found empty", "deque", "0 push_back(1) / 0 ok / 1 pop_front() / 1 ok"),
    // Relaxed queues.
    (
        "a value behind the two oldest",
        "semiqueue:k=2",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 0 enq(3) / 0 ok / 1 deq() / 1 ok 3",
    ),
    (
        "a value told three times",
        "stuttering-queue:j=2",
        "0 enq(1) / 0 ok / 1 deq() / 1 ok 1 / 1 deq() / 1 ok 1 / 1 deq() / 1 ok 1",
    ),
    (
        "a value out of nowhere in a relaxed queue",
        "relaxed-queue:out-of-order=1",
        "0 enq(1) / 0 ok / 1 deq() / 1 ok 2",
    ),
    (
        "a value too far behind in a relaxed queue",
        "relaxed-queue:out-of-order=1",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 0 enq(3) / 0 ok / 1 deq() / 1 ok 3",
    ),
    (
        "a relaxed stack that is found empty",
        "relaxed-stack:out-of-order=1",
        "0 push(1) / 0 ok / 1 pop() / 1 ok",
    ),
    (
        "a value too low in a relaxed priority queue",
        "relaxed-priority-queue:out-of-order=1",
        "0 insert(1) / 0 ok / 0 insert(2) / 0 ok / 0 insert(3) / 0 ok / 1 poll() / 1 ok 1",
    ),
    // Registers.
    ("a value that nobody wrote", "register", "0 write(1) / 0 ok / 1 read() / 1 ok 2"),
    ("a read before the write", "register", "1 read() / 1 ok 2 / 0 write(2) / 0 ok"),
    ("a stale read", "register", "0 write(1) / 0 ok / 0 write(2) / 0 ok / 1 read() / 1 ok 1"),
    ("a read of the first value", "register:init=0", "0 write(1) / 0 ok / 1 read() / 1 ok 0"),
    (
        "a value that goes and comes back",
        "register",
        "0 write(1) / 1 write(2) / 2 read() / 2 ok 1 / 2 read() / 2 ok 2 / 2 read() / 2 ok 1 / 0 ok / 1 ok",
    ),
    (
        "two readers that disagree on the order of two writes",
        "register",
        "0 write(1) / 1 write(2) / 2 read() / 2 ok 1 / 3 read() / 3 ok 2 / 2 read() / 2 ok 2 / 3 read() / 3 ok 1 / 0 ok / 1 ok",
    ),
    (
        "a value that is written again too late",
        "register",
        "0 write(1) / 0 ok / 0 write(2) / 0 ok / 1 read() / 1 ok 1 / 0 write(3) / 0 ok / 0 write(4) / 0 ok / 0 write(5) / 0 ok / 0 write(1) / 0 ok",
    ),
    (
        "which of the writes is meant",
        "register",
        "0 write(4) / 0 ok / 1 write(0) / 1 ok / 2 read() / 2 ok 4 / 0 write(4) / 0 ok",
    ),
    (
        "a cas that should have failed",
        "cas-register",
        "0 write(1) / 0 ok / 0 write(2) / 0 ok / 1 cas(1,3) / 1 ok 1",
    ),
    ("a cas that should have succeeded", "cas-register", "0 write(1) / 0 ok / 1 cas(1,3) / 1 ok 0"),
    (
        "a value that was written once and found twice",
        "cas-register",
        "0 write(3) / 1 read() / 1 ok 3 / 1 write(0) / 1 ok / 1 read() / 1 ok 3 / 1 write(1) / 1 ok / 1 read() / 1 ok 3 / 2 write(3)",
    ),
    ("an update of another value", "rmw", "0 write(1) / 0 ok / 1 rmw(0,2) / 1 ok"),
    (
        "a new value and then the old one",
        "register",
        "0 write(1) / 0 ok / 0 write(2) / 1 read() / 1 ok 2 / 1 read() / 1 ok 1 / 0 ok",
    ),
    (
        "a write of unknown outcome that does not help",
        "register",
        "0 write(1) / 0 ok / 1 write(3) / 2 read() / 2 ok 3 / 2 read() / 2 ok 1",
    ),
    ("two cas from one value", "cas-register:init=0", "0 cas(0,1) / 1 cas(0,2) / 0 ok 1 / 1 ok 1"),
    (
        "three cas from a value that a write and a cas bring",
        "cas-register:init=0",
        "0 write(1) / 1 cas(0,1) / 2 cas(1,2) / 3 cas(1,3) / 4 cas(1,4) / 0 ok / 1 ok 1 / 2 ok 1 / 3 ok 1 / 4 ok 1",
    ),
    (
        "two cas from one value that is written once, from another value",
        "cas-register:init=0",
        "0 cas(0,1) / 0 ok 1 / 1 cas(1,2) / 2 cas(1,3) / 1 ok 1 / 2 ok 1",
    ),
    (
        "two cas that bring one value, each from another",
        "cas-register:init=0",
        "0 cas(0,3) / 1 cas(1,3) / 0 ok 1 / 1 ok 1 / 2 read() / 2 ok 3",
    ),
    (
        "a value that was replaced before the one that a cas found",
        "cas-register:init=0",
        "0 write(2) / 1 write(3) / 0 ok / 2 cas(3,5) / 1 ok / 2 ok 1 / 3 read() / 3 ok 2",
    ),
    ("two updates of one value", "rmw", "0 rmw(0,1) / 1 rmw(0,2) / 0 ok / 1 ok"),
    // Maps and stores.
    ("a value that was never put", "map", "0 put(1,5) / 0 ok / 1 get(1) / 1 ok 6"),
    (
        "a key that was removed",
        "map",
        "0 put(1,5) / 0 ok / 0 remove(1) / 0 ok 1 / 1 contains(1) / 1 ok 1",
    ),
    ("a text that was replaced", "kv", "0 put(k,a) / 0 ok / 0 put(k,b) / 0 ok / 1 get(k) / 1 ok a"),
    (
        "an append that was lost",
        "kv",
        "0 append(k,a) / 0 ok / 0 append(k,b) / 0 ok / 1 get(k) / 1 ok a",
    ),
    (
        "two texts neither of which is a prefix of the other",
        "kv",
        "0 append(k,a) / 1 append(k,b) / 0 ok / 1 ok / 2 get(k) / 2 ok ab / 2 get(k) / 2 ok ba",
    ),
    ("a key that is there", "map", "0 put(1,5) / 0 ok / 1 get(1) / 1 ok"),
    (
        "a key that is removed twice",
        "map",
        "0 put(1,5) / 0 ok / 0 remove(1) / 0 ok 1 / 1 remove(1) / 1 ok 1",
    ),
    ("a text that nobody appended", "kv", "0 append(k,a) / 0 ok / 1 get(k) / 1 ok ax"),
    // Sets.
    (
        "a value that was added and removed",
        "set",
        "0 add(1) / 0 ok 1 / 0 remove(1) / 0 ok 1 / 1 contains(1) / 1 ok 1",
    ),
    ("a value that was added twice", "set", "0 add(1) / 0 ok 1 / 1 add(1) / 1 ok 1"),
    ("a value that was never added", "set", "0 remove(3) / 0 ok 1"),
    ("a multiset that counts too much", "multiset", "0 add(1) / 0 ok / 1 count(1) / 1 ok 2"),
    ("a multiset that lost a value", "multiset", "0 add(1) / 0 ok / 1 contains(1) / 1 ok 0"),
    (
        "two that remove one value",
        "set",
        "0 add(1) / 0 ok 1 / 1 remove(1) / 2 remove(1) / 1 ok 1 / 2 ok 1",
    ),
    ("a value that is there", "set", "0 add(1) / 0 ok 1 / 1 contains(1) / 1 ok 0"),
    (
        "a lost element",
        "set",
        "0 add(1) / 0 ok 1 / 0 add(2) / 0 ok 1 / 0 add(3) / 0 ok 1 / 1 read() / 1 ok [1 3]",
    ),
    (
        "a multiset that counts too little",
        "multiset",
        "0 add(1) / 0 ok / 0 add(1) / 0 ok / 1 count(1) / 1 ok 1",
    ),
    (
        "a set that lacks what is there initially",
        "set:init=[1]",
        "0 add(3) / 0 ok 1 / 1 read() / 1 ok []",
    ),
    ("a set that shows a value twice", "set", "0 add(1) / 0 ok 1 / 1 read() / 1 ok [1 1]"),
    // Locks.
    ("a lock that two hold", "mutex", "0 acquire() / 0 ok / 1 acquire() / 1 ok"),
    ("a lock that two get at once", "mutex", "0 acquire() / 1 acquire() / 0 ok / 1 ok"),
    (
        "a lock that nobody holds",
        "mutex",
        "0 acquire() / 0 ok / 0 release() / 0 ok / 1 release() / 1 ok",
    ),
    (
        "a permit that is not there",
        "semaphore:init=1",
        "0 acquire() / 0 ok 1 / 1 acquire() / 1 ok 1",
    ),
    ("a permit that was there", "semaphore:init=1", "0 acquire() / 0 ok 0"),
    (
        "two that take the last permit",
        "semaphore:init=1",
        "0 acquire() / 1 acquire() / 0 ok 1 / 1 ok 1",
    ),
    ("a release that is refused", "semaphore", "0 release() / 0 ok 1 / 1 release() / 1 ok 0"),
    ("a lock that was never taken", "mutex", "0 release() / 0 ok"),
    (
        "a lock that is refused after it was handed over at the same time as it was released",
        "mutex",
        "0 acquire() / 0 ok / 1 acquire() / 0 release() / 0 ok / 2 release() / 1 ok / 2 ok / 3 try_acquire() / 3 ok 0",
    ),
    (
        "a lock that somebody else releases",
        "owner-mutex",
        "0 acquire() / 0 ok / 1 release() / 1 ok 1",
    ),
    ("a lock with owners that two hold", "owner-mutex", "0 acquire() / 0 ok / 1 acquire() / 1 ok"),
    (
        "a lock with owners that two get at once",
        "owner-mutex",
        "0 acquire() / 1 try_acquire() / 0 ok / 1 ok 1",
    ),
    (
        "a lock whose owner may not release it",
        "owner-mutex",
        "0 acquire() / 0 ok / 0 release() / 0 ok 0",
    ),
    ("a lock that nobody holds but that is refused", "owner-mutex", "0 try_acquire() / 0 ok 0"),
    // Counters.
    (
        "a total that is too high",
        "counter",
        "0 add(1) / 1 add(1) / 0 ok / 1 ok / 2 read() / 2 ok 3",
    ),
    ("a total that is too low", "counter", "0 add(1) / 0 ok / 0 add(2) / 0 ok / 2 read() / 2 ok 1"),
    (
        "a total that goes down",
        "counter",
        "0 add(5) / 1 read() / 1 ok 5 / 1 read() / 1 ok 0 / 0 ok",
    ),
    (
        "two that were told the same total",
        "counter",
        "0 fetch_add(1) / 1 fetch_add(1) / 0 ok 0 / 1 ok 0",
    ),
    ("a total that no additions make", "counter", "0 add(2) / 0 ok / 1 add(2) / 2 read() / 2 ok 3"),
    (
        "two totals of which one lacks the other's addition",
        "counter",
        "0 add(1) / 1 add(2) / 2 read() / 2 ok 1 / 3 read() / 3 ok 2 / 0 ok / 1 ok",
    ),
    (
        "a total in the midst of many",
        "counter",
        "0 add(5) / 0 ok / 1 read() / 1 ok 5 / 0 add(4) / 1 add(4) / 0 ok / 1 ok / 2 read() / 2 ok 10",
    ),
    (
        "an addition that is told a total that no additions make",
        "counter",
        "0 add(2) / 1 add_and_get(1) / 0 ok / 1 ok 2",
    ),
    ("nobody is there", "snzi", "0 arrive() / 0 ok / 0 depart() / 0 ok / 1 query() / 1 ok 1"),
    ("somebody is there", "snzi", "0 arrive() / 0 ok / 1 query() / 1 ok 0"),
    // Logs and snapshots.
    (
        "two lists of one log",
        "log",
        "0 append(1) / 1 append(2) / 0 ok / 1 ok / 2 read() / 2 ok [1 2] / 2 read() / 2 ok [2 1]",
    ),
    (
        "a list that lost a value",
        "log",
        "0 append(1) / 0 ok / 0 append(2) / 0 ok / 2 read() / 2 ok [1]",
    ),
    ("a list that shrinks", "log", "0 append(1) / 2 read() / 2 ok [1] / 2 read() / 2 ok [] / 0 ok"),
    (
        "a list with a value that nobody appended",
        "log",
        "0 append(1) / 0 ok / 2 read() / 2 ok [1 5]",
    ),
    (
        "a scan that shows what was overwritten",
        "snapshot",
        "0 update(0,1) / 0 ok / 0 update(0,2) / 0 ok / 2 scan() / 2 ok [1 0]",
    ),
    (
        "a scan that shows what nobody wrote",
        "snapshot",
        "0 update(0,1) / 0 ok / 2 scan() / 2 ok [1 7]",
    ),
    (
        "two scans that contradict each other",
        "snapshot",
        "0 update(0,1) / 1 update(1,2) / 2 scan() / 3 scan() / 2 ok [1 0] / 3 ok [0 2] / 0 ok / 1 ok",
    ),
    (
        "a set that shows what was removed",
        "set",
        "0 add(1) / 0 ok 1 / 0 remove(1) / 0 ok 1 / 1 read() / 1 ok [1]",
    ),
    ("two values of one index", "log", "0 append(a) / 1 append(b) / 0 ok 0 / 1 ok 0"),
    ("an index that is too high", "log", "0 append(a) / 0 ok 1"),
    ("an index that is too low", "log", "0 append(a) / 0 ok 0 / 1 append(b) / 1 ok 0"),
    (
        "a list in another order than the appends",
        "log",
        "0 append(1) / 0 ok / 0 append(2) / 0 ok / 2 read() / 2 ok [2 1]",
    ),
    ("a list that shows a value twice", "log", "0 append(1) / 0 ok / 2 read() / 2 ok [1 1]"),
    ("a scan that misses an update", "snapshot", "0 update(0,1) / 0 ok / 2 scan() / 2 ok [0 0]"),
    (
        "a scan that goes back",
        "snapshot",
        "0 update(0,1) / 2 scan() / 2 ok [1 0] / 2 scan() / 2 ok [0 0] / 0 ok",
    ),
    (
        "a later update without an earlier one",
        "snapshot",
        "2 scan() / 0 update(0,1) / 0 ok / 0 update(1,1) / 0 ok / 2 ok [0 1]",
    ),
    // Found by a second cold reading.
    (
        "one value twice into a queue with room for one",
        "bounded-queue:capacity=3,init=[7 8]",
        "0 enq(9) / 0 ok 1 / 1 enq(9) / 1 ok 1",
    ),
    (
        "one value three times into a queue with room for two",
        "bounded-queue:capacity=2",
        "0 enq(1) / 1 enq(1) / 2 enq(1) / 0 ok 1 / 1 ok 1 / 2 ok 1",
    ),
    (
        "one value four times into a queue that gave out one",
        "bounded-queue:capacity=2",
        "0 enq(1) / 1 enq(1) / 2 enq(1) / 0 ok 1 / 3 deq() / 1 ok 1 / 2 ok 1 / 3 ok 1 / 0 enq(1) / 0 ok 1",
    ),
    (
        "a relaxed queue that is full",
        "relaxed-queue:capacity=1,out-of-order=1",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok",
    ),
    (
        "a removal that is late for the second time in a row",
        "relaxed-queue:lateness=1",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 0 enq(3) / 0 ok / 1 deq() / 1 ok 2 / 1 deq() / 1 ok 3",
    ),
    (
        "a value of the next window",
        "relaxed-queue:window=2",
        "0 enq(1) / 0 ok / 0 enq(2) / 0 ok / 0 enq(3) / 0 ok / 1 deq() / 1 ok 3",
    ),
    (
        "a value of a lower segment",
        "relaxed-stack:window=1",
        "0 push(1) / 0 ok / 0 push(2) / 0 ok / 1 pop() / 1 ok 1 / 1 pop() / 1 ok 2",
    ),
    (
        "a value that is seen after it overtook another",
        "queue",
        "0 enq(1) / 0 ok / 1 enq(2) / 2 deq() / 2 ok 2 / 1 ok / 3 peek() / 3 ok 2",
    ),
    (
        "a lock that is released more often than its owner took it",
        "owner-mutex:reentrant=true",
        "0 acquire() / 0 ok / 0 release() / 0 ok 1 / 0 release() / 0 ok 1",
    ),
    (
        "a lock that its owner still holds once",
        "owner-mutex:reentrant=true",
        "0 acquire() / 0 ok / 0 acquire() / 0 ok / 0 release() / 0 ok 1 / 1 acquire() / 1 ok",
    ),
    (
        "a lock that two owners get at once",
        "owner-mutex:reentrant=true",
        "0 acquire() / 1 acquire() / 0 ok / 1 ok",
    ),
    (
        "a text that is longer than what was appended",
        "kv",
        "0 append(x,a) / 1 append(x,a) / 0 ok / 1 ok / 2 get(x) / 2 ok aaa",
    ),
    (
        "a text that lacks one of two equal pieces",
        "kv",
        "0 append(x,a) / 1 append(x,a) / 0 ok / 1 ok / 2 get(x) / 2 ok a",
    ),
    (
        "a key that is removed more often than it was put",
        "map",
        "0 put(k,1) / 0 ok / 1 put(k,1) / 2 remove(k) / 2 ok 1 / 3 remove(k) / 3 ok 1 / 4 remove(k) / 4 ok 1 / 1 ok",
    ),
    ("more of a value than there is initially", "multiset:init=[x x]", "0 count(x) / 0 ok 3"),
    (
        "more of a value than there is initially and was added",
        "multiset:init=[x y]",
        "0 add(x) / 0 ok / 0 count(x) / 0 ok 3",
    ),
    (
        "a value that is there and then is not",
        "multiset",
        "0 add(x) / 1 contains(x) / 1 ok 1 / 1 contains(x) / 1 ok 0 / 0 ok",
    ),
    (
        "somebody is there and then nobody",
        "snzi",
        "0 arrive() / 1 query() / 1 ok 1 / 1 query() / 1 ok 0 / 0 ok",
    ),
    (
        "a value that a cas replaced",
        "cas-register:init=0",
        "0 cas(0,1) / 1 cas(1,0) / 0 ok 1 / 1 ok 1 / 2 read() / 2 ok 1",
    ),
    (
        "a value that an update replaced",
        "rmw",
        "0 rmw(0,1) / 1 rmw(1,0) / 0 ok / 1 ok / 2 read() / 2 ok 1",
    ),
    ("two increments that are told one total", "counter", "0 inc() / 1 inc() / 0 ok 1 / 1 ok 1"),
    (
        "a lookup that misses what was there again",
        "set:init=[1]",
        "0 remove(1) / 0 ok 1 / 1 add(1) / 1 ok 1 / 2 contains(1) / 2 ok 0",
    ),
];

#[test]
fn sentences_of_small_violations() {
    let mut told = String::new();
    for (name, specification, events) in CASES {
        let named = spec::named(specification).unwrap();
        let history = history(events);
        let outcome = named.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
        let Verdict::Violation(explanation) = outcome.verdict else {
            panic!("{name}: {}", outcome.verdict.name());
        };
        assert!(explanation.rechecked, "{name}");
        let operations: Vec<String> =
            explanation.operations.iter().map(|&i| named.show(&history, i, true)).collect();
        told += &format!(
            "{name}\n  {specification}: {events}\n  {}\n  by {}\n\n",
            explanation.sentence,
            operations.join(", ")
        );
    }
    expect_file!["sentences.txt"].assert_eq(&told);
}
