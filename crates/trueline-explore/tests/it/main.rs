//! The tests of explored code, with the allocator that serves it. Tests that run without the
//! allocator are in `tests/bare`: a binary has it in all of its tests or in none.

mod cells;
mod clocks;
mod count_loops;
mod determinism;
mod example_crate;
mod forced_points;
mod frees;
mod handles;
mod harness;
mod loops;
mod moved_and_reused;
mod outcomes;
mod poisoning;
mod reports;
mod rounds;
mod shadow;
mod statics;
mod tagged_values;
mod threads;
mod unwinding;
mod weak_counts;
mod workers;

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;
