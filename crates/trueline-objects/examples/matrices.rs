//! Explores all programs of 2 processes with 3 operations and of 3 with 2, for each object; prints
//! how long it took.
//!
//! `cargo run --release --features simulate -p trueline-objects --example matrices [NAME...] [2x3...]`

use std::time::Instant;

use trueline_objects::simulate::{self, Request, Standing, Verdict};

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

fn main() {
    let size = |text: &String| {
        let (processes, operations) = text.split_once('x')?;
        Some((processes.parse().ok()?, operations.parse().ok()?))
    };
    let (sizes, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|text| size(text).is_some());
    let mut sizes: Vec<(usize, usize)> = sizes.iter().filter_map(size).collect();
    if sizes.is_empty() {
        sizes = vec![(2, 3), (3, 2)];
    }
    for entry in simulate::all() {
        let named = wanted.iter().any(|name| name == entry.name);
        if !named && (!wanted.is_empty() || entry.standing != Standing::Correct) {
            continue;
        }
        for &(processes, operations) in &sizes {
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
