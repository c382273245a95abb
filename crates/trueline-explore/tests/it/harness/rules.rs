//! Rules that callers keep to, in all scenarios and while a failure is made smaller.

use trueline_explore::harness::Kind;
use trueline_explore::std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use trueline_explore::{explore, operations};

/// Tells whether somebody is inside. Two threads that enter at once may be counted as one.
#[derive(Default)]
struct Room {
    inside: AtomicI32,
    last: AtomicI32,
}

impl Room {
    fn enter(&self, name: i32) {
        self.last.store(name, SeqCst);
        let inside = self.inside.load(SeqCst);
        self.inside.store(inside + 1, SeqCst);
    }
    fn leave(&self) {
        self.inside.fetch_sub(1, SeqCst);
    }
    /// A room that was left more often than it was entered is taken to be empty, which the count
    /// does not do.
    fn is_empty(&self) -> bool {
        self.inside.load(SeqCst) <= 0
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Count(i32);

impl Count {
    fn enter(&mut self, _: i32) {
        self.0 += 1;
    }
    fn leave(&mut self) {
        self.0 -= 1;
    }
    fn is_empty(&mut self) -> bool {
        self.0 == 0
    }
}

operations! {
    enum Op -> Ret for Room, Count {
        enter(name: i32) -> ();
        leave() -> ();
        is_empty() -> bool;
    }
}

/// Everybody leaves as often as he has entered at most.
fn leaves_after_entering(calls: &[&Op]) -> bool {
    let mut inside = 0;
    calls.iter().all(|call| {
        match call {
            Op::enter(_) => inside += 1,
            Op::leave() => inside -= 1,
            Op::is_empty() => {}
        }
        inside >= 0
    })
}

#[test]
fn a_failure_is_made_smaller_within_the_rule() {
    let outcome = explore(Room::default)
        .spec(Count::default())
        .program([
            vec![Op::is_empty(), Op::enter(1), Op::leave()],
            vec![Op::enter(2), Op::leave(), Op::is_empty()],
        ])
        .after([Op::is_empty()])
        .rule(leaves_after_entering)
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(failure.kind, Kind::NotLinearizable, "{outcome}");
    for thread in failure.scenario.split(['|', ';']) {
        let before = |call: &str| thread.split(call).next().unwrap_or_default().to_string();
        let leaves = before("leave()").len() < thread.len();
        assert!(!leaves || before("leave()").contains("enter"), "{}", failure.scenario);
    }
}

#[test]
fn calls_that_differ_still_differ_in_a_smaller_failure() {
    let outcome = explore(Room::default)
        .spec(Count::default())
        .program([[Op::enter(1)], [Op::enter(2)]])
        .after([Op::leave(), Op::is_empty()])
        .run();
    let failure = outcome.failure().unwrap_or_else(|| panic!("{outcome}"));
    let scenario = &failure.scenario;
    assert!(scenario.contains("enter(1)") && scenario.contains("enter(2)"), "{scenario}");
}

#[test]
fn only_scenarios_within_the_rule_are_run_and_the_scope_says_so() {
    let room =
        || explore(Room::default).spec(Count::default()).operations([Op::leave(), Op::is_empty()]);
    let outcome = room().rule(leaves_after_entering).run();
    assert!(outcome.holds(), "{outcome}");
    let scope = "all matrices up to 2 threads x 2 operations that keep to the rule";
    assert!(outcome.to_string().contains(scope), "{outcome}");
    assert!(!room().run().holds());
}

#[test]
fn a_program_that_breaks_the_rule_is_an_error() {
    let room = || explore(Room::default).spec(Count::default()).rule(leaves_after_entering);
    let outcome = room().program([[Op::leave()]]).run();
    let Some(message) = outcome.error() else { panic!("{outcome}") };
    assert_eq!(message, "the program leave() does not keep to .rule(..)");
    let outcome = room().operations([Op::leave()]).run();
    let Some(message) = outcome.error() else { panic!("{outcome}") };
    assert_eq!(message, "there is nothing to run: .rule(..) allows no scenario");
}
