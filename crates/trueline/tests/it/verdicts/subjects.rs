//! Every specification that has a name, with parameters at random.

use trueline::rng::Rng;

use super::history::{Arg, Method, Subject};
use super::model::{Kind, Object, Turn};
use super::value::{V, parameter, pool};

const fn method(
    name: &'static str,
    spellings: &'static [&'static str],
    args: &'static [Arg],
) -> Method {
    Method { name, spellings, args }
}

const VALUE: &[Arg] = &[Arg::Value];
const NONE: &[Arg] = &[];

fn container(remove: &'static [&'static str], peeks: bool) -> Vec<Method> {
    let mut all = vec![
        method("insert", &["enq", "push", "insert", "enqueue", "add", "offer"], VALUE),
        method("remove", remove, NONE),
        method("remove", remove, NONE),
    ];
    if peeks {
        all.push(method("peek", &["peek"], NONE));
    }
    all
}

/// A specification, its parameters, the values that are used and the initial state.
pub(crate) fn pick(random: &mut Rng) -> Subject {
    let pool = pool();
    // A few values that repeat, or many that mostly do not.
    let few = [1, 2, 3, 4, pool.len()][random.index(5)];
    let mut values = Vec::new();
    while values.len() < few.min(12) {
        let value = random.choose(&pool).clone();
        if few > 4 && values.contains(&value) {
            continue;
        }
        values.push(value);
    }
    let some = |random: &mut Rng, most: u64| -> Vec<V> {
        (0..random.below(most + 1)).map(|_| random.choose(&values).clone()).collect()
    };
    let init = if random.percent(30) { some(random, 2) } else { Vec::new() };
    let list = parameter(&V::List(init.clone()));
    let with_init = |name: &str| match init.is_empty() {
        true => name.to_string(),
        false => format!("{name}{}init={list}", if name.contains(':') { "," } else { ":" }),
    };
    let first = match random.below(3) {
        0 => random.choose(&values).clone(),
        1 => V::int(0),
        _ => V::Nil,
    };
    let start = |kind: Kind| vec![Object::new(kind).holding(init.clone())];
    let strict = |turn| Kind::Container { turn, capacity: None };
    let deq: &[&str] = &["deq", "dequeue", "poll", "remove"];
    let pop: &[&str] = &["pop", "poll", "take"];
    // Rare ones are as likely as common ones: each is one of these.
    let (name, starts, methods) = match random.below(28) {
        0 | 1 => {
            let name = ["register", "cas-register"][random.index(2)];
            let unknown = random.percent(20);
            let name = match unknown {
                true => format!("{name}:init=?"),
                false if first == V::Nil => name.into(),
                false => format!("{name}:init={}", parameter(&first)),
            };
            let mut methods = vec![
                method("read", &["read", "get", "load"], NONE),
                method("write", &["write"], VALUE),
            ];
            if random.percent(50) {
                methods.push(method("cas", &["cas"], &[Arg::Value, Arg::Value]));
            }
            (name, vec![Object::new(Kind::Register).holding(vec![first.clone()])], methods)
        }
        2 => {
            let methods = vec![
                method("read", &["read"], NONE),
                method("write", &["write"], VALUE),
                method("rmw", &["rmw", "read_modify_write"], &[Arg::Value, Arg::Value]),
            ];
            let start = Object::new(Kind::Rmw).holding(vec![first.clone()]);
            (format!("rmw:init={}", parameter(&first)), vec![start], methods)
        }
        3 | 4 => {
            let init = [0, 0, 5, i64::MAX][random.index(4)];
            let counter = |before| {
                let mut start = Object::new(Kind::Counter { before, init });
                start.number = init;
                start
            };
            let (name, starts) = match random.below(4) {
                0 => (format!("counter:init={init},results=before"), vec![counter(true)]),
                1 => (format!("counter:init={init},results=after"), vec![counter(false)]),
                _ => (format!("counter:init={init}"), vec![counter(false), counter(true)]),
            };
            let mut methods = vec![
                method("add", &["add"], &[Arg::Whole]),
                method("inc", &["inc", "increment"], NONE),
                method("dec", &["dec", "decr"], NONE),
                method("read", &["read", "get", "load"], NONE),
            ];
            if random.percent(40) {
                methods.extend([
                    method("fetch_add", &["fetch_add", "get_and_add"], &[Arg::Whole]),
                    method("fetch_sub", &["fetch_sub"], &[Arg::Whole]),
                    method("fetch_inc", &["fetch_inc", "getAndIncrement"], NONE),
                    method("fetch_dec", &["fetch_dec"], NONE),
                    method("add_and_get", &["add_and_get"], &[Arg::Whole]),
                    method("inc_and_get", &["inc_and_get", "incrementAndGet"], NONE),
                    method("dec_and_get", &["dec_and_get"], NONE),
                ]);
            }
            (name, starts, methods)
        }
        5 => {
            let methods = vec![
                method("get", &["get", "read"], &[Arg::Key]),
                method("get", &["get"], &[Arg::Key]),
                method("put", &["put", "set"], &[Arg::Key, Arg::Text]),
                method("append", &["append"], &[Arg::Key, Arg::Text]),
            ];
            ("kv".into(), vec![Object::new(Kind::Kv)], methods)
        }
        6 | 7 => {
            let mut methods = vec![
                method("get", &["get", "read"], &[Arg::Key]),
                method("put", &["put", "write"], &[Arg::Key, Arg::Value]),
            ];
            if random.percent(60) {
                methods.extend([
                    method("swap", &["swap", "replace"], &[Arg::Key, Arg::Value]),
                    method("remove", &["remove", "delete"], &[Arg::Key]),
                    method("contains", &["contains", "has"], &[Arg::Key]),
                ]);
            }
            ("map".into(), vec![Object::new(Kind::Map)], methods)
        }
        8 | 9 => {
            (with_init("queue"), start(strict(Turn::Oldest)), container(deq, random.percent(30)))
        }
        10 => {
            let capacity = init.len().max(1) + random.index(2);
            let kind = Kind::Container { turn: Turn::Oldest, capacity: Some(capacity) };
            let name = with_init(&format!("bounded-queue:capacity={capacity}"));
            (name, start(kind), container(deq, true))
        }
        11 | 12 => {
            (with_init("stack"), start(strict(Turn::Newest)), container(pop, random.percent(30)))
        }
        13 => {
            let methods = vec![
                method("push_front", &["push_front", "addFirst"], VALUE),
                method("push_back", &["push_back"], VALUE),
                method("pop_front", &["pop_front", "poll-first"], NONE),
                method("pop_back", &["pop_back"], NONE),
                method("peek_front", &["peek_front"], NONE),
                method("peek_back", &["peek_back"], NONE),
            ];
            (with_init("deque"), start(Kind::Deque), methods)
        }
        14 | 15 => {
            let (name, turn) = match random.below(2) {
                0 => ("priority-queue", Turn::Largest),
                _ => ("priority-queue:order=min", Turn::Smallest),
            };
            (with_init(name), start(strict(turn)), container(pop, random.percent(30)))
        }
        16 => {
            let capacity = init.len().max(1) + random.index(2);
            let (order, turn) = [("max", Turn::Largest), ("min", Turn::Smallest)][random.index(2)];
            let kind = Kind::Container { turn, capacity: Some(capacity) };
            let name = format!("bounded-priority-queue:capacity={capacity},order={order}");
            (with_init(&name), start(kind), container(pop, true))
        }
        17 | 18 => {
            let mut methods = vec![
                method("add", &["add", "insert"], VALUE),
                method("remove", &["remove", "delete"], VALUE),
                method("contains", &["contains", "has", "lookup"], VALUE),
            ];
            if random.percent(30) {
                methods.push(method("read", &["read"], NONE));
            }
            (with_init("set"), start(Kind::Set), methods)
        }
        19 => {
            let methods = vec![
                method("add", &["add", "insert"], VALUE),
                method("remove", &["remove", "delete"], VALUE),
                method("contains", &["contains", "has"], VALUE),
                method("count", &["count"], VALUE),
            ];
            (with_init("multiset"), start(Kind::Multiset), methods)
        }
        20 => {
            let mut methods = vec![
                method("acquire", &["acquire", "lock"], NONE),
                method("release", &["release", "unlock"], NONE),
            ];
            if random.percent(50) {
                methods.push(method("try_acquire", &["try_acquire", "tryLock"], NONE));
            }
            ("mutex".into(), vec![Object::new(Kind::Mutex)], methods)
        }
        21 => {
            let init = random.below(3) as i64;
            let methods = vec![
                method("acquire", &["acquire", "decr", "down"], NONE),
                method("release", &["release", "incr", "up"], NONE),
            ];
            let start = Object { number: init, ..Object::new(Kind::Semaphore) };
            (format!("semaphore:init={init}"), vec![start], methods)
        }
        22 => {
            let methods = vec![
                method("append", &["append", "push"], VALUE),
                method("append", &["append"], VALUE),
                method("read", &["read"], NONE),
            ];
            (with_init("log"), start(Kind::Log), methods)
        }
        23 => {
            let methods = vec![
                method("update", &["update", "set"], &[Arg::Segment, Arg::Value]),
                method("scan", &["scan", "snapshot"], NONE),
            ];
            let name = format!("snapshot:init={}", parameter(&first));
            (name, vec![Object::new(Kind::Snapshot { init: first.clone() })], methods)
        }
        24 => {
            let init = random.below(2) as i64;
            let methods = vec![
                method("arrive", &["arrive", "enter"], NONE),
                method("depart", &["depart"], NONE),
                method("query", &["query"], NONE),
            ];
            let start = Object { number: init, ..Object::new(Kind::Snzi) };
            (format!("snzi:init={init}"), vec![start], methods)
        }
        26 => {
            let methods = vec![
                method("acquire", &["acquire", "lock"], &[Arg::Key]),
                method("release", &["release", "unlock"], &[Arg::Key]),
                method("try_acquire", &["try_acquire"], &[Arg::Key]),
            ];
            let reentrant = random.percent(50);
            let name = format!("owner-mutex:reentrant={reentrant}");
            (name, vec![Object::new(Kind::OwnerMutex { reentrant })], methods)
        }
        25 => match random.below(2) {
            0 => {
                let k = 1 + random.index(3);
                let name = with_init(&format!("semiqueue:k={k}"));
                (name, start(Kind::Semiqueue { k }), container(deq, true))
            }
            _ => {
                let j = 1 + random.index(3);
                let name = with_init(&format!("stuttering-queue:j={j}"));
                (name, start(Kind::Stuttering { j }), container(deq, true))
            }
        },
        _ => {
            let (name, turn) = [
                ("relaxed-queue", Turn::Oldest),
                ("relaxed-stack", Turn::Newest),
                ("relaxed-priority-queue:order=max", Turn::Largest),
                ("relaxed-priority-queue:order=min", Turn::Smallest),
            ][random.index(4)];
            let n = random.index(3);
            let (parameter, out_of_order, lateness, window, stutter) = match random.below(5) {
                0 => (format!("out-of-order={n}"), Some(n), None, None, 1),
                1 => (format!("lateness={n}"), None, Some(n), None, 1),
                2 => (format!("out-of-order={},lateness=1", n + 1), Some(n + 1), Some(1), None, 1),
                3 => (format!("window={}", n + 1), None, None, Some(n + 1), 1),
                _ => (format!("stutter={}", n + 1), None, None, None, n + 1),
            };
            let separator = if name.contains(':') { "," } else { ":" };
            let capacity = random.percent(30).then(|| init.len().max(1) + random.index(2));
            let parameter = match capacity {
                Some(most) => format!("{parameter},capacity={most}"),
                None => parameter,
            };
            let kind = Kind::Relaxed { turn, out_of_order, lateness, window, stutter, capacity };
            let name = with_init(&format!("{name}{separator}{parameter}"));
            (name, start(kind), container(if turn == Turn::Oldest { deq } else { pop }, false))
        }
    };
    Subject { name, starts, methods, values }
}
