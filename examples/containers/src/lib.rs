//! A queue, a set and a map, each with a test of fifteen lines or so.

pub mod map;
pub mod queue;
pub mod set;

/// Std in production, its shadow in tests.
mod sync {
    #[cfg(not(test))]
    pub(crate) use std::{cell::UnsafeCell, sync::*};
    #[cfg(test)]
    pub(crate) use trueline_explore::std::{cell::UnsafeCell, sync::*};
}

#[cfg(test)]
#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;
