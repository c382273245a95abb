//! The integration tests of the crate, one module per subject, in one binary.

mod checkpoints;
mod counts;
mod data;
mod documents;
mod errors;
mod faults;
mod graphs;
mod history_specs;
mod language;
mod models;
mod naive_progress;
mod naive_search;
mod named_specifications;
mod points;
mod procedures;
mod progress;
mod random_models;
mod ranges;
mod snapshots;
mod support;
mod switches;
mod truth;
mod waiting;
