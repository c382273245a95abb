//! Generated histories are what they claim to be, by a checker of their own.

use std::collections::HashSet;

use super::*;
use crate::history::PENDING;
use crate::spec::*;

/// Tracks the possible (open operations that took effect, state) from event to event.
fn is_linearizable<B: Builtin>(spec: &B, history: &History) -> bool {
    let decoded = history.decode(|m, a, r| spec.decode(m, a, r)).unwrap();
    let operations = decoded.operations();
    let mut events: Vec<(u32, usize, bool)> = Vec::new();
    for (i, o) in operations.iter().enumerate() {
        events.push((o.call, i, false));
        if o.returned != PENDING {
            events.push((o.returned, i, true));
        }
    }
    events.sort_unstable();
    let mut open: Vec<usize> = Vec::new();
    let mut known = HashSet::from([(Vec::<usize>::new(), spec.initial())]);
    for (_, i, returns) in events {
        if !returns {
            open.push(i);
            continue;
        }
        let mut todo: Vec<_> = known.drain().collect();
        let mut seen: HashSet<_> = todo.iter().cloned().collect();
        while let Some((done, state)) = todo.pop() {
            if done.contains(&i) {
                let rest = done.iter().copied().filter(|&o| o != i).collect();
                known.insert((rest, state));
                continue;
            }
            for &o in open.iter().filter(|o| !done.contains(o)) {
                let mut next = Vec::new();
                spec.step(&state, &operations[o].op, operations[o].result.as_ref(), &mut next);
                for state in next {
                    let mut done = done.clone();
                    done.push(o);
                    done.sort_unstable();
                    if seen.insert((done.clone(), state.clone())) {
                        todo.push((done, state));
                    }
                }
            }
        }
        open.retain(|&o| o != i);
        if known.is_empty() {
            return false;
        }
    }
    true
}

#[track_caller]
fn check<B: Builtin>(spec: B) {
    for seed in 0..15 {
        for unique in [true, false] {
            let plan = Plan { operations: 40, processes: 3, seed, unique, ..Plan::default() };
            let some_pending = Plan { operations: 24, pending: 0.1, ..plan.clone() };
            for plan in [plan.clone(), Plan { overlap: 1.0, ..plan }, some_pending] {
                let history = generate(&spec, &plan, None).unwrap();
                assert_eq!(history.len(), plan.operations);
                assert!(plan.pending > 0.0 || history.pending() == 0);
                assert!(is_linearizable(&spec, &history), "{plan:?}");
                let depth = (seed % 5) as f64 / 4.0;
                let plan = Plan { violation: Some(depth), ..plan };
                match generate(&spec, &plan, None) {
                    Ok(history) => assert!(!is_linearizable(&spec, &history), "{plan:?}"),
                    Err(e) => assert_eq!(e, "no result is always wrong".into()),
                }
            }
        }
    }
}

fn two() -> [Value; 2] {
    [Value::Int(1), Value::Int(2)]
}

#[test]
fn queues() {
    check(queue());
    check(queue().with_init(two()));
    check(bounded_queue(2));
    check(semiqueue(2));
    check(stuttering_queue(2));
}

#[test]
fn other_containers() {
    check(stack());
    check(stack().with_init(two()));
    check(deque());
    check(priority_queue());
    check(priority_queue().smallest_first().with_init(two()));
    check(bounded_priority_queue(2));
}

#[test]
fn registers() {
    check(register(0));
    check(cas_register(None));
    check(unknown_register());
    check(rmw(0));
    check(counter());
    check(mutex());
    check(semaphore(1));
    check(snzi(1));
}

#[test]
fn keyed() {
    check(set());
    check(multiset());
    check(kv());
    check(map());
    check(log());
    check(snapshot(None));
    check(snapshot(Some(2)));
}

/// The first operations of a history, one a line.
fn shown(history: &History) -> String {
    let line = |(i, o): (usize, &crate::history::Operation<Call, Value>)| {
        format!("{} {}-{} {}\n", o.process, o.call, o.returned, history.show(i as u32))
    };
    history.operations().iter().enumerate().map(line).collect()
}

#[test]
fn a_plan_gives_the_same_history_for_ever() {
    let plan = Plan { operations: 8, processes: 2, seed: 3, overlap: 1.0, ..Plan::default() };
    let history = generate(&queue(), &plan, Some("queue")).unwrap();
    assert_eq!(history.spec(), Some("queue"));
    expect_test::expect![[r#"
        0 0-4 deq() -> 2
        1 1-2 enq(2)
        1 3-14 deq()
        0 5-6 deq()
        0 7-8 deq()
        0 9-10 enq(6)
        0 11-12 deq() -> 6
        0 13-15 deq()
    "#]]
    .assert_eq(&shown(&history));
}

#[test]
fn violations_are_subtle_where_values_are_unique() {
    // The values were inserted: the violation is one of order.
    for seed in 0..20 {
        let plan = Plan { operations: 400, seed, violation: Some(0.5), ..Plan::default() };
        let history = generate(&queue(), &plan, None).unwrap();
        let alien = |o: &crate::history::Operation<Call, Value>| o.result == Some(ALIEN.into());
        assert!(!history.operations().iter().any(alien));
    }
}

#[test]
fn empties_and_overlap_are_as_asked() {
    let plan = Plan { operations: 500, empties: false, overlap: 0.0, ..Plan::default() };
    let history = generate(&stack(), &plan, None).unwrap();
    assert!(
        (0..500).all(|i| !history.show(i).starts_with("pop()") || history.show(i).contains("->"))
    );
    assert!(history.operations().iter().all(|o| o.returned == o.call + 1));
}

#[test]
fn a_plan_that_cannot_be_is_an_error() {
    let wrong = |plan: Plan| generate(&queue(), &plan, None).unwrap_err();
    assert_eq!(
        wrong(Plan { pending: 1.5, ..Plan::default() }),
        "pending: expected a number from 0 to 1, found 1.5".into()
    );
    assert_eq!(
        wrong(Plan { processes: 0, ..Plan::default() }),
        "processes: expected a number from 1 to 1048576, found 0".into()
    );
    assert_eq!(
        wrong(Plan { operations: 0, violation: Some(0.0), ..Plan::default() }),
        "a violation needs an operation".into()
    );
    assert!(
        generate(&queue(), &Plan { operations: 0, ..Plan::default() }, None).unwrap().is_empty()
    );
}

#[test]
fn a_stream_is_the_same_history() {
    use crate::formats::{self, EventWriter, Format};
    for seed in 0..20 {
        let plan = Plan { operations: 300, seed, pending: 0.1, processes: 5, ..Plan::default() };
        let named = named("queue").unwrap();
        let mut whole = Vec::new();
        formats::write(&named.generate(&plan).unwrap(), Format::JsonLines, &mut whole).unwrap();
        let mut streamed = Vec::new();
        let mut writer = EventWriter::new(&mut streamed, "queue");
        let mut gave_up = [false; 5];
        let mut tell = |process: u32, told: Generated<'_>| {
            if matches!(told, Generated::Unknown) {
                gave_up[process as usize] = true;
                return true;
            }
            if matches!(told, Generated::Call(..)) && std::mem::take(&mut gave_up[process as usize])
            {
                writer.event(process, &Generated::Unknown).unwrap();
            }
            writer.event(process, &told).unwrap();
            true
        };
        named.generate_stream(&plan, &mut tell).unwrap();
        writer.finish().unwrap();
        assert_eq!(String::from_utf8(whole).unwrap(), String::from_utf8(streamed).unwrap());
    }
}

#[test]
fn an_occupancy_is_kept() {
    for name in ["queue", "stack", "priority-queue", "set"] {
        let spec = named(name).unwrap();
        let unique = name != "set";
        let plan = Plan { operations: 3000, occupancy: 100, unique, ..Plan::default() };
        let (mut inside, mut most) = (0i64, 0i64);
        let mut open = vec![String::new(); plan.processes];
        let mut tell = |process: u32, told: Generated<'_>| {
            match (told, &*open[process as usize]) {
                (Generated::Call(_, (method, _)), _) => open[process as usize] = method.to_string(),
                (Generated::Return(ret), "add" | "remove") if *ret == Value::Bool(false) => {}
                (Generated::Return(_), "enq" | "push" | "insert" | "add") => inside += 1,
                (Generated::Return(_), "deq" | "pop" | "poll" | "remove") => inside -= 1,
                _ => {}
            }
            most = most.max(inside);
            // Each process may have one open operation that makes a difference of one.
            assert!(most < 105 || inside >= 95, "{name}: {inside}");
            true
        };
        spec.generate_stream(&plan, &mut tell).unwrap();
        assert!(most >= 105, "{name}: {most}");
    }
}
