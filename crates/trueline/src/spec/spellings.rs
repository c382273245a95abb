//! How calls and results of the formats are understood: decoded, then shown.

use super::*;
use crate::value::Value;
use Value::{Bool, Int, Nil};

#[track_caller]
fn check<B: Builtin>(spec: &B, method: &str, args: &[Value], result: Value, expect: &str) {
    let shown = match spec.decode(method, args, Some(&result)) {
        Ok((op, ret)) => spec.show(&op, ret.as_ref()),
        Err(e) => format!("error: {e}"),
    };
    assert_eq!(shown, expect);
}

fn pair(a: i64, b: i64) -> [Value; 2] {
    [Int(a), Int(b)]
}

#[test]
fn containers() {
    for insert in ["add", "put", "push", "enqueue", "Enq", "OFFER", "insert"] {
        check(&queue(), insert, &[Int(1)], Nil, "enq(1)");
        check(&stack(), insert, &[Int(1)], Nil, "push(1)");
        check(&priority_queue(), insert, &[Int(1)], Nil, "insert(1)");
    }
    for remove in ["rem", "remove", "get", "pop", "dequeue", "deq", "poll", "take"] {
        check(&queue(), remove, &[], Int(1), "deq() -> 1");
        check(&stack(), remove, &[], Nil, "pop() -> nil");
        check(&priority_queue(), remove, &[Nil], Int(1), "poll() -> 1");
    }
    check(&deque(), "push-front", &[Int(1)], Int(1), "push_front(1)");
    check(&deque(), "peekBack", &[], Nil, "peek_back() -> nil");
    check(&queue(), "enq", &[Int(1)], Int(1), "enq(1)");
    check(&bounded_queue(1), "enq", &[Int(1)], Int(0), "enq(1) -> false");
    check(&bounded_queue(1), "enq", &[Int(1)], Nil, "enq(1) -> true");
    let nil = "error: enq: expected a value, found nil, which means nothing";
    check(&queue(), "enq", &[Nil], Nil, nil);
    let unknown = "error: unknown method drain: expected enq(value), deq() -> value or nil, peek() -> value or nil";
    check(&queue(), "drain", &[], Nil, unknown);
}

#[test]
fn registers() {
    let r = cas_register(None);
    check(&r, "read", &[], Nil, "read() -> nil");
    check(&r, "read", &[Int(3)], Int(3), "read() -> 3");
    check(&r, "write", &[Int(3)], Int(3), "write(3)");
    check(&r, "cas", &pair(1, 2), Nil, "cas(1, 2) -> true");
    check(&r, "cas", &[Value::list(pair(1, 2))], Value::list(pair(1, 2)), "cas(1, 2) -> true");
    check(&r, "cas", &pair(1, 2), Bool(false), "cas(1, 2) -> false");
    let odd = "error: cas: expected true or false as the result, found a text: odd";
    check(&r, "cas", &pair(1, 2), "odd".into(), odd);
    check(&rmw(0), "READ_MODIFY_WRITE", &pair(0, 2), Nil, "rmw(0, 2)");
}

#[test]
fn counters_and_locks() {
    check(&counter(), "read", &[], Nil, "read() -> 0");
    check(&counter(), "add", &[Int(5)], Nil, "add(5)");
    check(&counter(), "add", &[Int(5)], Int(7), "add(5) -> 7");
    check(&counter(), "decr", &[], Nil, "add(-1)");
    check(&semaphore(0), "INCR", &[], Int(1), "release() -> true");
    check(&semaphore(0), "DECR", &[], Int(0), "acquire() -> false");
    check(&mutex(), "acquire", &[], Nil, "acquire()");
    check(&mutex(), "lock", &[], Bool(false), "try_acquire() -> false");
    check(&mutex(), "tryLock", &[], Int(1), "try_acquire() -> true");
}

#[test]
fn sets_and_maps() {
    check(&set(), "INSERT", &[Int(2)], Int(1), "add(2) -> true");
    check(&set(), "add", &[Int(2)], Nil, "add(2)");
    check(&set(), "contains", &[Int(2)], Int(0), "contains(2) -> false");
    check(&set(), "read", &[], Value::list(pair(2, 1)), "read() -> [1 2]");
    check(&kv(), "get", &["0".into()], Nil, r#"get("0") -> """#);
    check(&kv(), "append", &["0".into(), "x 9 0 y".into()], Nil, r#"append("0", "x 9 0 y")"#);
    check(&map(), "remove", &[Int(1)], Nil, "remove(1)");
    check(&map(), "swap", &pair(1, 2), Nil, "swap(1, 2) -> nil");
    check(&log(), "append", &[Int(4)], Int(0), "append(4) -> 0");
    check(&snapshot(None), "scan", &[], Value::list(pair(0, 1)), "scan() -> [0 1]");
    let range = "error: update: expected a segment from 0 to 65535, found a number: -1";
    check(&snapshot(None), "update", &pair(-1, 1), Nil, range);
}
