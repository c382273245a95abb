//! Every algorithm against the brute-force oracle, on random small histories. `TRUELINE_CASES` says how many.

#[path = "../oracle/mod.rs"]
mod oracle;

mod builtin;
mod users_own;

/// How many histories a test tries.
fn cases() -> u64 {
    std::env::var("TRUELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500)
}
