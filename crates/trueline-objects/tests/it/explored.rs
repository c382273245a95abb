//! Every object and every mutant under every schedule that matters.

use trueline_explore::engine::Exploration;
use trueline_explore::harness::Kind;
use trueline_explore::std::thread;
use trueline_objects::shadowed::priority_queue::Tuning;
use trueline_objects::shadowed::{
    BLinkTree, ListSet, MichaelScottQueue, Multiset, PriorityQueue, Semiqueue, StutteringQueue,
    TreiberStack, WideRegister,
};
use trueline_objects::simulate::{
    self, Case, Entry, Request, Simulated, Standing, Verdict, program,
};

#[track_caller]
fn run(entry: &Entry, cases: Vec<Case>) -> Simulated {
    match entry.run(&Request { cases, ..Request::default() }) {
        Ok(simulated) => simulated,
        Err(error) => panic!("{}: {error}", entry.name),
    }
}

#[track_caller]
fn run_text(name: &str, case: &str) -> Simulated {
    let entry = simulate::find(name).unwrap_or_else(|| panic!("no object {name}"));
    run(entry, vec![program::case(case).unwrap()])
}

#[test]
fn each_fault_is_found_by_its_program_and_not_in_the_object_itself() {
    for entry in simulate::all() {
        let (of, shown_by) = match entry.standing {
            Standing::Correct => continue,
            Standing::Flawed { repaired, shown_by } => (repaired, shown_by),
            Standing::Mutant { of, shown_by, .. } => (of, shown_by),
        };
        let broken = run_text(entry.name, shown_by);
        let Verdict::Violation(found) = &broken.verdict else {
            panic!("{}: {broken:?}", entry.name);
        };
        // The smaller program is one that the object may be asked to run.
        match program::case(&found.case) {
            Ok(smaller) => entry.check(&smaller).unwrap_or_else(|why| {
                panic!("{}: {smaller}: {why}", entry.name);
            }),
            // What is left are calls before and after: a case needs a process.
            Err(why) => assert!(found.case.contains("; ; after"), "{}: {why}", found.case),
        }
        let sound = run_text(of, shown_by);
        assert!(matches!(sound.verdict, Verdict::Holds), "{of}: {sound:?}");
    }
}

#[test]
fn objects_hold_for_all_small_programs() {
    let correct = |entry: &&Entry| entry.standing == Standing::Correct;
    for entry in simulate::all().filter(correct) {
        for (processes, operations) in [(2, 2), (3, 1), (1, 4)] {
            let cases = entry.matrices(processes, operations);
            // Three threads that thwart each other have very many schedules: `cargo xtask evidence`
            // takes the time.
            let many = processes == 3 && ["fetch-add-queue", "snzi"].contains(&entry.name);
            let preemptions = many.then_some(2);
            let found = entry.run(&Request { cases, preemptions, ..Request::default() }).unwrap();
            assert!(matches!(found.verdict, Verdict::Holds), "{}: {found:?}", entry.name);
            assert!(
                many || found.scope.to_string().contains("complete"),
                "{}: {}",
                entry.name,
                found.scope
            );
        }
    }
}

/// What the small programs do not reach from an empty object: neighbours that go at once, towers,
/// splits of nodes above the leaves.
#[test]
fn ordered_objects_hold_for_programs_with_contents() {
    for (name, case) in [
        ("list-set", "before add(1) add(2) add(3); remove(1) | remove(2) contains(3)"),
        ("list-set", "before add(1) add(2); remove(1) add(1) | remove(2) add(2) | contains(2)"),
        ("list-set", "before add(1) add(3); remove(1) | add(2) | remove(3)"),
        ("multiset", "before add(1) add(2); remove(1) add(1) | add(1) remove(1); after count(1)"),
        ("multiset", "before add(1) add(2); remove(1) | add(1) | count(1) contains(2)"),
        (
            "priority-queue",
            "before insert(2) insert(3); poll() insert(4) | poll() insert(1) poll()",
        ),
        (
            "priority-queue",
            "before insert(5) insert(5) insert(5); poll() poll() | poll() insert(5)",
        ),
        ("priority-queue", "before insert(2) insert(2); poll() | insert(2) | poll()"),
        (
            "bounded-priority-queue",
            "before insert(1) insert(2); poll() insert(1) | insert(1) poll() | poll()",
        ),
        (
            "b-link-tree",
            "before put(1, 1) put(2, 2) put(3, 3) put(4, 4); put(5, 5) get(4) | put(6, 6) remove(4)",
        ),
        (
            "bounded-priority-queue",
            "before insert(1); poll() insert(3) | insert(2) peek() | poll()",
        ),
        ("b-link-tree", "before put(1, 1) put(2, 2); put(3, 3) | put(0, 4) get(2) | remove(2)"),
    ] {
        let found = run_text(name, case);
        assert!(matches!(found.verdict, Verdict::Holds), "{name}: {case}: {found:?}");
    }
}

/// The token of a parked thread was named after whoever came to it first, which is no event: here
/// both orders occur, and were taken for nondeterminism.
#[test]
fn a_token_has_one_name_whoever_comes_first() {
    let entry = simulate::find("blocking-queue").unwrap();
    let cases = vec![program::case("enq(1) enq(1) | deq() deq()").unwrap()];
    let request = Request { cases, ..Request::default() };
    let found = entry.run(&request).unwrap();
    assert!(matches!(found.verdict, Verdict::Holds), "{found:?}");
}

#[test]
fn faults_are_of_the_kind_that_they_say() {
    let kind = |name: &str| {
        let entry = simulate::find(name).unwrap();
        let Standing::Mutant { shown_by, .. } = entry.standing else { panic!("no mutant {name}") };
        match run_text(name, shown_by).verdict {
            Verdict::Violation(found) => found.kind,
            other => panic!("{name}: {other:?}"),
        }
    };
    assert_eq!(kind("treiber-stack-reuses-nodes"), Kind::NotLinearizable);
    assert_eq!(kind("treiber-stack-relaxed"), Kind::Race);
    assert_eq!(kind("michael-scott-queue-hasty"), Kind::Memory);
    assert_eq!(kind("list-set-hasty"), Kind::Memory);
    assert_eq!(kind("array-queue-relaxed"), Kind::Race);
    assert_eq!(kind("ticket-lock-relaxed"), Kind::Race);
    assert_eq!(kind("ticket-lock-skips"), Kind::Stuck);
}

/// The known violation of Vyukov's queue: `None` after one's own completed `enq`, while another
/// `enq` is half done.
#[test]
fn what_is_wrong_with_vyukovs_queue_is_made_as_small_as_it_gets() {
    let entry = simulate::find("vyukov-queue").unwrap();
    let found = run(entry, entry.matrices(2, 3));
    let Verdict::Violation(found) = found.verdict else { panic!("{found:?}") };
    assert_eq!(found.kind, Kind::NotLinearizable);
    let case = program::case(&found.case).unwrap();
    assert!(case.program.len() <= 2 && case.before.is_empty(), "{case}");
    assert!(case.program.iter().all(|calls| calls.len() <= 2), "{case}");
    let report = found.report().text(&Default::default()).render(false);
    assert!(report.contains("vyukov_queue.rs:"), "{report}");
}

#[test]
fn a_failure_is_run_again_from_its_text() {
    let entry = simulate::find("herlihy-wing-queue-rereads").unwrap();
    let Verdict::Violation(first) = run(entry, entry.matrices(2, 2)).verdict else {
        panic!("the fault was not found")
    };
    let request = Request {
        cases: vec![first.of.clone()],
        replay: first.replay.clone(),
        ..Request::default()
    };
    let again = entry.run(&request).unwrap();
    assert_eq!(again.counts.executions, 1);
    let Verdict::Violation(second) = again.verdict else { panic!("{again:?}") };
    assert_eq!((second.sentence, second.sections), (first.sentence, first.sections));
}

/// With a batch of one each `pop` and `deq` looks around and frees what it can, in the midst of the
/// others.
#[test]
fn nodes_are_freed_in_the_midst_of_other_operations() {
    let stack = Exploration::new().run(|| {
        let stack = TreiberStack::with_batch(1);
        stack.push(1);
        stack.push(2);
        thread::scope(|s| {
            s.spawn(|| stack.pop());
            s.spawn(|| (stack.pop(), stack.push(3)));
        });
        stack.pop();
    });
    assert!(stack.holds(), "{stack}");
    let queue = Exploration::new().run(|| {
        let queue = MichaelScottQueue::with_batch(1);
        queue.enq(1);
        thread::scope(|s| {
            s.spawn(|| queue.deq());
            s.spawn(|| (queue.enq(2), queue.deq()));
        });
        queue.deq();
    });
    assert!(queue.holds(), "{queue}");
}

/// The same where what is freed is a segment, a value that several were told, or words that others
/// read.
#[test]
fn segments_and_values_are_freed_in_the_midst_of_other_operations() {
    let segments = Exploration::new().run(|| {
        let queue = Semiqueue::with_batch(1, 1);
        (1..=2).for_each(|value| queue.enq(value));
        thread::scope(|s| {
            s.spawn(|| (queue.deq(), queue.deq()));
            s.spawn(|| queue.deq());
        });
    });
    assert!(segments.holds(), "{segments}");
    let told = Exploration::new().run(|| {
        let queue = StutteringQueue::with_batch(2, 1);
        (1..=2).for_each(|value| queue.enq(value));
        thread::scope(|s| {
            s.spawn(|| (queue.deq(), queue.deq()));
            s.spawn(|| queue.deq());
        });
    });
    assert!(told.holds(), "{told}");
    let words = Exploration::new().run(|| {
        let register = WideRegister::with_batch([0; 2], 1);
        thread::scope(|s| {
            s.spawn(|| (register.write([1; 2]), register.read()));
            s.spawn(|| (register.read(), register.write([2; 2])));
        });
    });
    assert!(words.holds(), "{words}");
}

/// The same for the objects whose operations read what others take out, and go on from there.
#[test]
fn ordered_objects_free_nodes_in_the_midst_of_other_operations() {
    let bag = Exploration::new().run(|| {
        let bag = Multiset::with_batch(1);
        (1..=2).for_each(|value| bag.add(value));
        thread::scope(|s| {
            s.spawn(|| (bag.remove(&1), bag.remove(&2)));
            s.spawn(|| (bag.count(&2), bag.add(1)));
        });
    });
    assert!(bag.holds(), "{bag}");
    let tree = Exploration::new().run(|| {
        let tree = BLinkTree::<_, _, 2>::with_batch(1);
        (1..=2).for_each(|key| assert_eq!(tree.insert(key, key), None));
        thread::scope(|s| {
            s.spawn(|| tree.insert(3, 3));
            s.spawn(|| (tree.get(&2), tree.remove(&1)));
        });
    });
    assert!(tree.holds(), "{tree}");
}

/// A thread leaves an operation in which it has read a node, and enters the next one before the
/// collector looks: what the collector reads is the number of the second entry, and that must order
/// the free after the read, too.
#[test]
fn a_collector_that_sees_the_next_operation_comes_after_the_one_before() {
    let set = Exploration::new().run(|| {
        let set = ListSet::with_batch(1);
        (1..=3).for_each(|value| assert!(set.insert(value)));
        thread::scope(|s| {
            s.spawn(|| (set.remove(&1), set.remove(&2)));
            s.spawn(|| (set.contains(&3), set.insert(2)));
        });
    });
    assert!(set.holds(), "{set}");
}

/// Nodes with towers are pushed, popped, cut off and freed at the same time, on two levels.
#[test]
fn towers_are_gone_before_their_nodes_are_freed() {
    // Seeds: all nodes that come before are tall, and the first two of each thread; only the first
    // node of the first thread is.
    let (all_tall, one_tall) = (1312, 0);
    let explore =
        |seed: u64, preemptions: Option<u32>, before: &[u32], threads: &[&[Option<u32>]]| {
            let mut exploration = Exploration::new();
            if let Some(most) = preemptions {
                exploration = exploration.preemptions(most);
            }
            let report = exploration.run(|| {
                let tuning = Tuning { prefix: 1, batch: 1, levels: 2, seed };
                let queue = PriorityQueue::with_tuning(tuning);
                before.iter().for_each(|&priority| queue.push(priority, priority));
                let run = |calls: &[Option<u32>]| {
                    for call in calls {
                        match *call {
                            Some(priority) => queue.push(priority, priority),
                            None => _ = queue.pop(),
                        }
                    }
                };
                thread::scope(|s| {
                    for calls in threads {
                        s.spawn(|| run(calls));
                    }
                });
            });
            assert!(report.holds(), "{before:?} {threads:?}: {report}");
        };
    let pop = None;
    explore(all_tall, None, &[], &[&[Some(1), pop], &[pop, Some(2), pop]]);
    explore(all_tall, None, &[1], &[&[Some(2), pop], &[pop, pop]]);
    explore(all_tall, None, &[2, 2], &[&[pop, Some(3)], &[pop, pop]]);
    // Popped while it is being linked on the upper level, cut off, freed, and looked for there.
    explore(one_tall, Some(2), &[1], &[&[Some(2)], &[pop, pop, Some(3)]]);
    // Passed by a cut while the one that popped it has not taken it off the upper level, where a
    // third thread finds it. Were it freed then, three preemptions would show it; they take half a
    // minute, and two are what every run of the tests has time for.
    let thorough = std::env::var("TRUELINE_CASES").is_ok_and(|cases| cases.len() > 3);
    let preemptions = if thorough { 3 } else { 2 };
    explore(all_tall, Some(preemptions), &[3, 2, 1], &[&[pop], &[pop, pop], &[Some(0)]]);
}

/// What comes first does not get worse while others only push; and who alone pops sees what it then
/// takes, unless something better came.
#[test]
fn a_peek_tells_what_is_first() {
    let report = Exploration::new().run(|| {
        let tuning = Tuning { prefix: 1, batch: 64, levels: 2, seed: 1312 };
        let queue = PriorityQueue::with_tuning(tuning);
        queue.push(2, ());
        thread::scope(|s| {
            s.spawn(|| {
                queue.push(1, ());
                queue.push(3, ());
            });
            s.spawn(|| {
                let (first, second) = (queue.peek(), queue.peek());
                assert!(first >= Some(2) && second >= first);
                let taken = queue.pop().map(|(priority, ())| priority);
                assert!(
                    taken >= second
                        && queue.peek().is_none_or(|left| left == 3 || Some(left) < taken)
                );
            });
        });
        assert!(queue.peek().is_some());
    });
    assert!(report.holds(), "{report}");
}

#[test]
fn an_array_grows_under_threads_that_use_it() {
    let first = "before enq(1) enq(2) enq(3) enq(4) enq(5) enq(6) enq(7)";
    let found = run_text("herlihy-wing-queue", &format!("{first}; enq(8) enq(9) | enq(10) deq()"));
    assert!(matches!(found.verdict, Verdict::Holds), "{found:?}");
}

/// The reads of a round were taken for a round each, so that a `deq` that looks at nine places was
/// reported as stuck.
#[test]
fn a_dequeue_that_rereads_how_far_to_look_is_not_stuck_behind_many_empty_places() {
    let before: Vec<String> = (1..=8).map(|i| format!("enq({i}) deq()")).collect();
    let case = format!("before {}; deq() | enq(99)", before.join(" "));
    for name in ["herlihy-wing-queue-rereads", "herlihy-wing-queue"] {
        let found = run_text(name, &case);
        assert!(matches!(found.verdict, Verdict::Holds), "{name}: {found:?}");
        assert!(found.scope.to_string().contains("complete"), "{name}: {}", found.scope);
    }
}

/// Weak compare-exchanges are repeated wherever they are used.
#[test]
fn objects_hold_for_small_programs_with_spurious_failures() {
    let correct = |entry: &&Entry| entry.standing == Standing::Correct;
    for entry in simulate::all().filter(correct) {
        let cases = entry.matrices(2, 1);
        let request = Request { cases, spurious: true, ..Request::default() };
        let found = entry.run(&request).unwrap();
        assert!(matches!(found.verdict, Verdict::Holds), "{}: {found:?}", entry.name);
        assert!(
            !found.scope.to_string().contains("no spurious"),
            "{}: {}",
            entry.name,
            found.scope
        );
    }
}
