//! The relaxed objects: what the paper on Round-Up reports about each, and what it left open.
#![cfg(feature = "simulate")]

use std::sync::{Arc, Mutex};

use trueline::quasi::{Factor, Factors, Quasi};
use trueline::{Budget, History, spec};
use trueline_objects::simulate::{self, Found, Request, Simulated, Verdict, program};

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

#[track_caller]
fn run(name: &str, case: &str) -> (Simulated, Vec<History>) {
    let entry = simulate::find(name).unwrap_or_else(|| panic!("no object {name}"));
    let histories = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&histories);
    let watch: Arc<dyn Fn(&History) + Send + Sync> =
        Arc::new(move |history: &History| seen.lock().unwrap().push(history.clone()));
    let cases = vec![program::case(case).unwrap()];
    let request = Request { cases, watch: Some(watch), ..Request::default() };
    let simulated = entry.run(&request).unwrap_or_else(|error| panic!("{name}: {error}"));
    let histories = std::mem::take(&mut *histories.lock().unwrap());
    (simulated, histories)
}

#[track_caller]
fn violation(name: &str, case: &str) -> Found {
    match run(name, case).0.verdict {
        Verdict::Violation(found) => *found,
        other => panic!("{name}: {other:?}"),
    }
}

#[track_caller]
fn holds(name: &str, case: &str) {
    let (simulated, _) = run(name, case);
    assert!(matches!(simulated.verdict, Verdict::Holds), "{name}: {simulated:?}");
}

#[test]
fn overview() {
    use trueline_objects::simulate::Standing;
    for name in [
        "k-stack", "k-stack-as-published", "incorrect-queue", "single-list-queue",
    ] {
        let entry = simulate::find(name).unwrap();
        let start = std::time::Instant::now();
        let cases = match entry.standing {
            Standing::Correct => entry.matrices(2, 2),
            Standing::Flawed { shown_by, .. } | Standing::Mutant { shown_by, .. } => vec![program::case(shown_by).unwrap()],
        };
        let got = entry.run(&Request { cases, limit: Some(3000), ..Request::default() }).unwrap();
        let verdict = match &got.verdict { Verdict::Holds => "holds".to_string(), Verdict::Undecided(w) => w.clone(), Verdict::Violation(f) => format!("violation {} {}", f.case, f.sentence) };
        println!("{name}: {verdict} {:?} {:?}", got.counts, start.elapsed());
    }
}
