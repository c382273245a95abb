//! Explores all programs of 2 processes with 3 operations and of 3 with 2, for each object; prints how long it took.
//!
//! `cargo run --release --features simulate -p trueline-objects --example matrices [NAME...]`

use std::time::Instant;

use trueline_objects::simulate::{self, Request, Standing, Verdict};

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for entry in simulate::all() {
        let named = wanted.iter().any(|name| name == entry.name);
        if !named && (!wanted.is_empty() || entry.standing != Standing::Correct) {
            continue;
        }
        for (processes, operations) in [(2, 3), (3, 2)] {
            let cases = entry.matrices(processes, operations);
            let (programs, start) = (cases.len(), Instant::now());
            let simulated = entry.run(&Request { cases, ..Request::default() });
            let simulated = simulated.expect("programs that the object can be called by");
            let verdict = match &simulated.verdict {
                Verdict::Holds => "holds",
                Verdict::Violation(_) => "violation",
                Verdict::Undecided(_) => "undecided",
            };
            let seconds = start.elapsed().as_secs_f64();
            let counts = simulated.counts;
            println!(
                "{:20} {processes} x {operations}: {verdict}, {programs} programs, {counts}, {seconds:.2} s",
                entry.name
            );
        }
    }
}
