//! Every algorithm against the brute-force oracle, on random small histories. `TRUELINE_CASES` says
//! how many.

// The oracle is shared with the benches, where it is a module of a binary.
mod builtin;
mod crowded;
mod machines;
mod ruled;
mod users_own;

use trueline::rng::{self, Seeds};

/// A seed for each history that a test tries.
fn seeds() -> Seeds {
    rng::seeds(1_500)
}
