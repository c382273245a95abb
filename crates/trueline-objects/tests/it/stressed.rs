//! The objects as they ship, and the mutants whose fault is no undefined behaviour, on real
//! threads.

use trueline::{Algorithm, Budget, spec};
use trueline_objects::simulate::{
    self, Case, Entry, Found, Mode, Request, Standing, Verdict, program,
};

fn stress(entry: &Entry, cases: Vec<Case>, rounds: u64) -> Verdict<Box<Found>> {
    let request = Request { mode: Mode::Stress, cases, limit: Some(rounds), ..Request::default() };
    entry.run(&request).unwrap_or_else(|error| panic!("{}: {error}", entry.name)).verdict
}

#[test]
fn nothing_is_wrong_with_the_objects() {
    let correct = |entry: &&Entry| entry.standing == Standing::Correct && entry.ships();
    for entry in simulate::all().filter(correct) {
        for size in [(2, 4), (4, 3)] {
            let verdict = stress(entry, entry.random(Mode::Stress, 10, size, 1), 500);
            assert!(matches!(verdict, Verdict::Undecided(_)), "{}: {verdict:?}", entry.name);
        }
    }
}

/// Whether real threads show a fault depends on the machine and on what else it does; that two
/// operations overlap is forced in the tests of `simulate` itself. What is shown is a violation for
/// the checker, too, which knows nothing of the simulation.
#[test]
fn what_real_threads_show_of_a_fault_is_a_violation() {
    for (name, case) in [
        ("treiber-stack-pops-blindly", "push(1) push(2) pop() pop() | push(3) push(4) pop() pop()"),
        ("treiber-stack-forgets-link", "push(1) pop() push(2) pop() | push(3) pop() push(4) pop()"),
        (
            "michael-scott-queue-links-blindly",
            "enq(1) enq(2) deq() deq() | enq(3) enq(4) deq() deq()",
        ),
        (
            "michael-scott-queue-moves-blindly",
            "enq(1) enq(2) deq() deq() | enq(3) enq(4) deq() deq()",
        ),
        ("array-queue-claims-blindly", "enq(1) deq() enq(2) deq() | enq(3) deq() enq(4) deq()"),
        ("b-link-tree-takes-no-lock", "put(1, 1) put(3, 2) get(1) | put(2, 3) put(4, 4) get(2)"),
        ("ticket-lock-tries-twice", "try_acquire() | try_acquire()"),
    ] {
        let entry = simulate::find(name).unwrap();
        let found = match stress(entry, vec![program::case(case).unwrap()], 500) {
            Verdict::Violation(found) => found,
            Verdict::Undecided(_) => continue,
            Verdict::Holds => panic!("{name}: real threads are a sample"),
        };
        let Some(history) = &found.history else { panic!("{name}: {found:?}") };
        let spec = spec::named(entry.spec).unwrap();
        let checked = spec.check(history, Algorithm::Auto, &Budget::unlimited()).unwrap();
        assert!(matches!(checked.verdict, trueline::Verdict::Violation(_)), "{name}: {found:?}");
    }
}

#[test]
fn undefined_behaviour_is_not_run_on_real_threads() {
    let entry = simulate::find("michael-scott-queue-hasty").unwrap();
    let cases = vec![program::case("enq(1) | deq()").unwrap()];
    let request = Request { mode: Mode::Stress, cases, ..Request::default() };
    let error = entry.run(&request).unwrap_err().to_string();
    assert!(error.contains("explored only"), "{error}");
}
