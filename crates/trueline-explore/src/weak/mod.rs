//! Weak memory: all executions that RC11 allows, as graphs.
//!
//! For programs whose orderings are weaker than `SeqCst`, an interleaving does not determine what a
//! load may read. So here an execution is a graph: the events of each thread, the write that each
//! read reads, and the order in which the writes of each location took effect. [`explore`] visits
//! every graph that the memory model allows, each exactly once; [`sample`] draws one.
//!
//! The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: 'Repairing Sequential Consistency in
//! C/C++11', PLDI 2017) with the change of C++20: a release sequence continues only through
//! read-modify-writes. **It does not cover load buffering**: a load never reads a store that
//! depends on it or comes after it in its own thread, although C++, Rust and some processors allow
//! that.
//!
//! A [`Program`] here is abstract: each thread is a function of the values that it has read.
//! [`Exploration`](crate::engine::Exploration) explores code over the shadow std, under sequential
//! consistency.
//!
//! # Example
//!
//! Store buffering: two threads each store to one location and load the other. With `Relaxed` both
//! loads may miss both stores.
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::ops::ControlFlow;
//! use trueline_explore::weak::{Order, Program, Request, Turn, explore};
//!
//! struct StoreBuffering(Order);
//!
//! impl Program for StoreBuffering {
//!     fn threads(&self) -> usize {
//!         2
//!     }
//!
//!     fn next(&self, thread: usize, answers: &[u64]) -> Request {
//!         let order = self.0;
//!         match answers.len() {
//!             0 => Request::Write { location: thread, order, value: 1 },
//!             1 => Request::Read { location: 1 - thread, order, until: None },
//!             _ => Request::End,
//!         }
//!     }
//! }
//!
//! let outcomes = |order| {
//!     let mut found = BTreeSet::new();
//!     explore(&StoreBuffering(order), Turn::First, |graph, _| {
//!         found.insert((graph.answers(0)[1], graph.answers(1)[1]));
//!         ControlFlow::Continue(())
//!     });
//!     Vec::from_iter(found)
//! };
//! assert_eq!(outcomes(Order::Relaxed), [(0, 0), (0, 1), (1, 0), (1, 1)]);
//! assert_eq!(outcomes(Order::SeqCst), [(0, 1), (1, 0), (1, 1)]);
//! ```

mod clocks;
mod coherence;
mod explorer;
mod graph;
mod program;
mod psc;
mod revisit;
mod steps;
mod walk;
mod workers;

pub use crate::engine::interface::Condition;
pub use explorer::{End, Summary, Turn, explore, sample};
pub use graph::{Event, EventId, Graph, Kind};
pub use program::{Order, Program, Request, Update};
pub use steps::Step;
pub use workers::explore_with_workers;
