//! The harness from outside: tests as users write them, and what comes of them.

mod api;
mod blocking;
mod failures;
mod papers;
mod progress;
mod promises;
mod random;
mod roles;
mod rules;
mod stress;
mod two_phase;
mod vyukov;
mod wing_gong;
