//! The symbolic monitors against the brute-force oracle, on random small histories of every object
//! that has a theory, complete and with pending operations. `TRUELINE_CASES` says how many of each.

// The oracle is shared with other tests and the benches, where it is a module of a binary.
mod exchanger;
mod figures;
mod objects;
mod saturation;
mod symbolic;
mod tables;

use trueline::rng::{self, Seeds};

/// A seed for each history that a test tries.
fn seeds() -> Seeds {
    rng::seeds(400)
}
