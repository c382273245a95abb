//! A test that takes long says so. The clock is injected: nothing here sleeps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trueline::Budget;
use trueline::budget::Meter;
use trueline_explore::std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trueline_explore::{explore, operations, stress};

struct Counter(AtomicU32);

impl Counter {
    fn add(&self) -> u32 {
        self.0.fetch_add(1, SeqCst)
    }
}

operations! { enum Op -> Ret for Counter { add() -> u32; } }

/// Shows so many seconds more each time that it is asked.
struct Advancing(u64, AtomicU64);

impl Meter for Advancing {
    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.1.fetch_add(self.0, Relaxed))
    }
}

fn budget(step: u64) -> Arc<Budget> {
    Arc::new(Budget::unlimited().meter(Advancing(step, AtomicU64::new(0))))
}

/// Where lines go, and what came there.
fn lines() -> (impl Fn(&str) + Send + Sync + 'static, Arc<Mutex<Vec<String>>>) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&lines);
    (move |line: &str| theirs.lock().unwrap().push(line.to_string()), lines)
}

/// The seconds that a line names.
fn seconds(line: &str) -> u64 {
    let rest = line.strip_prefix("counter::adds: ").unwrap_or_else(|| panic!("{line}"));
    let (seconds, rest) = rest.split_once(" s, ").unwrap_or_else(|| panic!("{line}"));
    assert!(rest.contains(" scenario") && rest.ends_with(" so far\n"), "{line}");
    seconds.parse().unwrap()
}

#[test]
fn a_long_exploration_tells_how_far_it_is_at_most_every_ten_seconds() {
    let (sink, lines) = lines();
    let test = explore(|| Counter(AtomicU32::new(0))).operations([Op::add()]).length(3).threads(3);
    let outcome = test.name("counter::adds").budget(budget(1)).progress(sink).run();
    assert!(outcome.holds(), "{outcome}");
    let told: Vec<u64> = lines.lock().unwrap().iter().map(|line| seconds(line)).collect();
    assert!(told.len() >= 2 && told[0] >= 10, "{told:?}");
    assert!(told.windows(2).all(|pair| pair[1] - pair[0] >= 10), "{told:?}");
}

#[test]
fn a_long_stress_test_tells_how_far_it_is() {
    let (sink, lines) = lines();
    let test = stress(|| Counter(AtomicU32::new(0))).operations([Op::add()]).rounds(300);
    let outcome = test.name("counter::adds").budget(budget(10)).progress(sink).run();
    assert!(outcome.passes(), "{outcome}");
    let told = lines.lock().unwrap();
    assert!(!told.is_empty() && told.iter().all(|line| seconds(line) >= 10), "{told:?}");
}

#[test]
fn a_short_test_tells_nothing() {
    let (sink, lines) = lines();
    let test = explore(|| Counter(AtomicU32::new(0))).operations([Op::add()]);
    let outcome = test.budget(budget(0)).progress(sink).run();
    assert!(outcome.holds(), "{outcome}");
    assert!(lines.lock().unwrap().is_empty());
}
