//! The engine: runs a program again and again under schedules of its choosing.

mod execution;
pub mod interface;
