//! Every object and every mutant under every schedule that matters.
#![cfg(feature = "simulate")]

use trueline_explore::engine::Exploration;
use trueline_explore::harness::Kind;
use trueline_explore::std::thread;
use trueline_objects::shadowed::{MichaelScottQueue, TreiberStack};
use trueline_objects::simulate::{
    self, Case, Entry, Request, Simulated, Standing, Verdict, program,
};

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

#[track_caller]
fn run(entry: &Entry, cases: Vec<Case>) -> Simulated {
    // The full search of a k-stack has not been seen to end; why is not known.
    let preemptions = is_k_stack(entry).then_some(2);
    match entry.run(&Request { cases, preemptions, ..Request::default() }) {
        Ok(simulated) => simulated,
        Err(error) => panic!("{}: {error}", entry.name),
    }
}

fn is_k_stack(entry: &Entry) -> bool {
    entry.name.starts_with("k-stack")
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
        assert!(matches!(broken.verdict, Verdict::Violation(_)), "{}: {broken:?}", entry.name);
        let sound = run_text(of, shown_by);
        assert!(matches!(sound.verdict, Verdict::Holds), "{of}: {sound:?}");
    }
}

#[test]
fn objects_hold_for_all_small_programs() {
    let correct = |entry: &&Entry| entry.standing == Standing::Correct && !is_k_stack(entry);
    for entry in simulate::all().filter(correct) {
        for (processes, operations) in [(2, 2), (3, 1), (1, 4)] {
            let cases = entry.matrices(processes, operations);
            // Three threads that thwart each other have very many schedules: `cargo xtask evidence` takes the time.
            let many = processes == 3 && ["fetch-add-queue", "snzi"].contains(&entry.name);
            let preemptions = many.then_some(2);
            let found = entry.run(&Request { cases, preemptions, ..Request::default() }).unwrap();
            assert!(matches!(found.verdict, Verdict::Holds), "{}: {found:?}", entry.name);
            assert!(many || found.scope.contains("complete"), "{}: {}", entry.name, found.scope);
        }
    }
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
    assert_eq!(kind("array-queue-relaxed"), Kind::Race);
    assert_eq!(kind("ticket-lock-relaxed"), Kind::Race);
    assert_eq!(kind("ticket-lock-skips"), Kind::Stuck);
}

/// The known violation of Vyukov's queue: `None` after one's own completed `enq`, while another `enq` is half done.
#[test]
fn what_is_wrong_with_vyukovs_queue_is_made_as_small_as_it_gets() {
    let entry = simulate::find("vyukov-queue").unwrap();
    let found = run(entry, entry.matrices(2, 3));
    let Verdict::Violation(found) = found.verdict else { panic!("{found:?}") };
    assert_eq!(found.kind, Kind::NotLinearizable);
    let case = program::case(&found.case).unwrap();
    assert!(case.program.len() <= 2 && case.before.is_empty(), "{case}");
    assert!(case.program.iter().all(|calls| calls.len() <= 2), "{case}");
    assert!(found.report.contains("vyukov_queue.rs:"), "{}", found.report);
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
    assert_eq!((second.sentence, second.report), (first.sentence, first.report));
}

/// With a batch of one each `pop` and `deq` looks around and frees what it can, in the midst of the others.
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

#[test]
fn an_array_grows_under_threads_that_use_it() {
    let first = "before enq(1) enq(2) enq(3) enq(4) enq(5) enq(6) enq(7)";
    let found = run_text("herlihy-wing-queue", &format!("{first}; enq(8) enq(9) | enq(10) deq()"));
    assert!(matches!(found.verdict, Verdict::Holds), "{found:?}");
}
