//! Every algorithm against the brute-force oracle, on random small histories. `TRUELINE_CASES` says how many.

// The oracle is shared with the benches, where it is a module of a binary.
#[allow(unreachable_pub)]
#[path = "../oracle/mod.rs"]
mod oracle;

mod builtin;
mod users_own;

/// How many histories a test tries.
fn cases() -> u64 {
    std::env::var("TRUELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500)
}
