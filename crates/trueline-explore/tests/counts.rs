//! The number of executions of programs whose number of traces is known in closed form.

mod common;

use common::{Cell, threads};
use trueline_explore::engine::{Exploration, Scope};

#[track_caller]
fn check(name: &str, traces: u64, body: impl Fn()) {
    let start = std::time::Instant::now();
    let report = Exploration::new().run(body);
    let time = start.elapsed();
    println!("{name}: {} executions, {} blocked, {time:?}, {:.0}/s", report.executions, report.blocked,
        report.executions as f64 / time.as_secs_f64());
    assert_eq!(report.failure, None, "{name}");
    assert_eq!((report.executions, report.blocked), (traces, 0), "{name}");
    assert_eq!(report.scope, Scope::Complete);
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

fn counter(n: u64, k: u64) {
    threads((0..n).map(|_| Box::new(move || (0..k).for_each(|_| drop(Cell(8).add(1)))) as Box<dyn FnOnce()>));
}

#[test]
fn counters() {
    for (n, k) in [(1, 3), (2, 1), (2, 2), (3, 1), (2, 3), (3, 2), (4, 2), (7, 1), (2, 6)] {
        let traces = factorial(n * k) / factorial(k).pow(n as u32);
        check(&format!("counter({n}, {k})"), traces, || counter(n, k));
    }
}

#[test]
fn readers() {
    for n in 0..=12u64 {
        check(&format!("readers({n})"), 1 << n, || {
            threads((0..=n).map(|i| -> Box<dyn FnOnce()> {
                if i == 0 { Box::new(|| Cell(8).store(1)) } else { Box::new(|| drop(Cell(8).load())) }
            }));
        });
    }
}
