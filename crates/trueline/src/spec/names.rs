//! The table of the built-in specifications: names, parameters, and how parameters make one.

use super::method::same;
use super::params::Params;
use super::*;
use crate::error::SpecError;
use crate::value::Value;

type Make = fn(&mut Params) -> Result<Opaque, String>;

/// Every built-in specification, and how its parameters make it.
const BUILTIN: &[(Info, Make)] = &[
    (register::REGISTER, |p| {
        Ok(Opaque::new(match p.unless_unknown("init", Value::Nil)? {
            Some(init) => register(init),
            None => unknown_register(),
        }))
    }),
    (register::CAS_REGISTER, |p| {
        Ok(Opaque::new(match p.unless_unknown("init", Value::Nil)? {
            Some(init) => cas_register(Some(init)),
            None => unknown_register(),
        }))
    }),
    (rmw::RMW, |p| Ok(Opaque::new(rmw(p.value("init", Value::Int(0))?)))),
    (counter::COUNTER, |p| {
        let counter = counter().with_init(p.int("init", 0)?);
        Ok(Opaque::new(match p.before_or_after()? {
            Some(before) => counter.telling(before),
            None => counter,
        }))
    }),
    (kv::KV, |_| Ok(Opaque::new(kv()))),
    (map::MAP, |_| Ok(Opaque::new(map()))),
    (queue::QUEUE, |p| Ok(Opaque::new(queue().with_init(p.list("init")?)))),
    (queue::BOUNDED_QUEUE, |p| {
        let capacity = p.required("capacity")?;
        Ok(Opaque::new(bounded_queue(capacity).with_init(p.contents(capacity)?)))
    }),
    (stack::STACK, |p| Ok(Opaque::new(stack().with_init(p.list("init")?)))),
    (deque::DEQUE, |p| Ok(Opaque::new(deque().with_init(p.list("init")?)))),
    (priority_queue::PRIORITY_QUEUE, |p| {
        let queue = priority_queue().with_init(p.list("init")?);
        Ok(Opaque::new(if p.smallest_first()? { queue.smallest_first() } else { queue }))
    }),
    (priority_queue::BOUNDED_PRIORITY_QUEUE, |p| {
        let capacity = p.required("capacity")?;
        let queue = bounded_priority_queue(capacity);
        let queue = queue.with_init(p.contents(capacity)?);
        Ok(Opaque::new(if p.smallest_first()? { queue.smallest_first() } else { queue }))
    }),
    (set::SET, |p| Ok(Opaque::new(set().with_init(p.list("init")?)))),
    (set::MULTISET, |p| Ok(Opaque::new(multiset().with_init(p.list("init")?)))),
    (lock::MUTEX, |_| Ok(Opaque::new(mutex()))),
    (owner_mutex::OWNER_MUTEX, |p| {
        let mutex = owner_mutex();
        Ok(Opaque::new(if p.truth("reentrant", false)? { mutex.reentrant() } else { mutex }))
    }),
    (lock::SEMAPHORE, |p| Ok(Opaque::new(semaphore(p.count("init", 0)? as u64)))),
    (log::LOG, |p| Ok(Opaque::new(log().with_init(p.list("init")?)))),
    (snapshot::SNAPSHOT, |p| {
        let segments = p.at_most_unless_unknown("segments", snapshot::LIMIT)?;
        let init = p.value("init", Value::Int(0))?;
        Ok(Opaque::new(snapshot(segments).with_init(init)))
    }),
    (snzi::SNZI, |p| Ok(Opaque::new(snzi(p.count("init", 0)? as u64)))),
    (relaxed::SEMIQUEUE, |p| {
        Ok(Opaque::new(semiqueue(p.positive("k", 2)?).with_init(p.list("init")?)))
    }),
    (relaxed::STUTTERING_QUEUE, |p| {
        let j = p.positive("j", 2)? as u32;
        Ok(Opaque::new(stuttering_queue(j).with_init(p.list("init")?)))
    }),
    (relaxations::RELAXED_QUEUE, |p| Ok(Opaque::new(Relaxed::named(Turn::Oldest, p)?))),
    (relaxations::RELAXED_STACK, |p| Ok(Opaque::new(Relaxed::named(Turn::Newest, p)?))),
    (relaxations::RELAXED_PRIORITY_QUEUE, |p| Ok(Opaque::new(Relaxed::named(Turn::Largest, p)?))),
];

/// Every built-in specification.
pub fn all() -> &'static [Info] {
    const ALL: [Info; BUILTIN.len()] = {
        let mut all = [register::REGISTER; BUILTIN.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = BUILTIN[i].0;
            i += 1;
        }
        all
    };
    &ALL
}

/// The specification that a text names: `queue:init=[1 2]`. An error says what is wrong and lists
/// the known names.
pub fn named(text: &str) -> Result<Named, SpecError> {
    let text = text.trim();
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let is =
        |info: &Info| same(info.name, name) || info.aliases.iter().any(|alias| same(alias, name));
    let Some((info, make)) = BUILTIN.iter().find(|(info, _)| is(info)) else {
        return Err(format!("no specification is called {name:?}: {}", nearest(name)).into());
    };
    let mut params = Params::parse(info, parameters)?;
    let spec = make(&mut params)?;
    params.finish()?;
    Ok(Named::of(text.to_string(), spec))
}

/// The known names that look most like `name`.
fn nearest(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let far = |known: &str| {
        let whole = distance(&name, known);
        // A part of a longer name is near: priority, bounded.
        if name.len() > 2 && known.contains(&name) { whole.min(1) } else { whole }
    };
    let mut known: Vec<(usize, &str)> = BUILTIN
        .iter()
        .map(|(info, _)| {
            let nearest = info.aliases.iter().map(|alias| far(alias)).min().unwrap_or(usize::MAX);
            (nearest.min(far(info.name)), info.name)
        })
        .collect();
    known.sort_by_key(|&(far, _)| far);
    let best = known[0].0;
    let close: Vec<&str> = match best <= 2 + name.len() / 4 {
        true => known.iter().take_while(|(far, _)| *far == best).map(|(_, n)| *n).collect(),
        false => Vec::new(),
    };
    match close.as_slice() {
        [] => {
            let all: Vec<&str> = BUILTIN.iter().map(|(info, _)| info.name).collect();
            format!("expected one of {}", all.join(", "))
        }
        close => format!("did you mean {}?", close[..close.len().min(3)].join(" or ")),
    }
}

/// Letters to insert, delete or replace to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(text: &str, expect: &str) {
        assert_eq!(named(text).unwrap_err().to_string(), expect);
    }

    #[test]
    fn names_aliases_and_parameters() {
        for text in [
            "queue",
            "Queue",
            "atomic-queue",
            "fifo",
            "kv_store",
            "pqueue",
            "register:init=?",
            "register:init=0",
            "queue:init=[1 2]",
            "queue:init=[1, 2]",
            "queue:init=[\"a, b]\" [1 2]]",
            "bounded-queue:capacity=4",
            "bounded-queue:capacity=4,init=[1 2]",
            "bounded-priority-queue:capacity=4, order=min, init=[1,2]",
            "semiqueue:k=2",
            "relaxed-queue:out-of-order=2,lateness=2",
            "k-stack:window=2",
            "relaxed-priority-queue:stutter=2,order=min",
            "priority-queue:order=min",
            "semaphore:init=3",
            "owner-mutex:reentrant=true",
            "snapshot:segments=?",
            "snapshot:segments=2,init=nil",
        ] {
            assert_eq!(named(text).unwrap().text(), text);
        }
        for info in all() {
            let text = match info.name.starts_with("bounded") {
                true => format!("{}:capacity=2", info.name),
                false => info.name.to_string(),
            };
            named(&text).unwrap();
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        wrong("quue", "no specification is called \"quue\": did you mean queue?");
        wrong(
            "priority",
            "no specification is called \"priority\": did you mean priority-queue or bounded-priority-queue or relaxed-priority-queue?",
        );
        let names: Vec<&str> = all().iter().map(|info| info.name).collect();
        let all = format!("expected one of {}", names.join(", "));
        wrong("xylophone-42", &format!("no specification is called \"xylophone-42\": {all}"));
        wrong("queue:size=3", "queue has no parameter size: expected init=[]");
        wrong("kv:size=3", "kv has no parameter size: it takes none");
        wrong(
            "queue:init=3",
            "the parameter init of queue: expected a list such as [1 2], found a number: 3",
        );
        wrong("queue:init=[1", "the parameters of queue: expected ] at the end of \"[1\"");
        wrong("queue:init", "the parameters of queue: expected key=value, found \"init\"");
        wrong("queue:init=[],init=[]", "the parameter init of queue is given twice");
        wrong(
            "queue:init=[nil]",
            "the parameter init of queue: expected values, found nil, which means nothing",
        );
        wrong(
            "bounded-queue",
            "bounded-queue needs the parameter capacity: bounded-queue:capacity=4",
        );
        wrong(
            "bounded-queue:capacity=0",
            "the parameter capacity of bounded-queue: expected a number from 1 to 4294967295, found a number: 0",
        );
        wrong(
            "bounded-queue:capacity=1,init=[1 2]",
            "the parameter init of bounded-queue: expected at most 1 value, found 2",
        );
        wrong(
            "priority-queue:order=up",
            "the parameter order of priority-queue: expected min or max, found a text: up",
        );
        wrong(
            "snapshot:segments=4000000000",
            "the parameter segments of snapshot: expected a number from 0 to 65536, found a number: 4000000000",
        );
        wrong("relaxed-queue:stutter=2,window=2", "the parameter stutter goes with no other");
        wrong(
            "semiqueue:k=x",
            "the parameter k of semiqueue: expected a number from 1 to 4294967295, found a text: x",
        );
    }
}
