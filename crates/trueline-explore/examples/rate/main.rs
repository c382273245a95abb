//! Explores one program of the benchmark again and again, alone: for a profiler, and for counting
//! instructions.
//!
//! ```text
//! cargo run --release -p trueline-explore --example rate -- 'counter 4x2' 3
//! valgrind --tool=callgrind target/release/examples/rate 'treiber 3x' 1 2000
//! ```

mod programs;

use std::time::Instant;

use trueline_explore::engine::Exploration;

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

/// A program; what its threads saw.
pub(crate) type Body = fn() -> u64;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let only = arguments.next().unwrap_or_default();
    let repeats: u32 = arguments.next().map_or(1, |n| n.parse().expect("how often"));
    let most: u64 = arguments.next().map_or(u64::MAX, |n| n.parse().expect("how many executions"));
    for (name, body) in programs::objects().into_iter().filter(|(name, _)| name.contains(&only)) {
        let start = Instant::now();
        let mut executions = 0;
        for _ in 0..repeats {
            let report = Exploration::new().executions(most).run(|| {
                body();
            });
            assert!(report.failure.is_none(), "{report}");
            executions += report.executions;
        }
        let rate = executions as f64 / start.elapsed().as_secs_f64();
        println!("{name:<28} {executions:>8} executions {rate:>10.0} a second");
    }
}
