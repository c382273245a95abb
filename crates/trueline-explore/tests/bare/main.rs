//! The tests that run without the allocator of the explorer: those of the engine alone, and those
//! of the shadow std outside of explorations. The engine notices whether the allocator is
//! installed, so these tests need a binary of their own.

mod common;
mod counts;
mod engine;
mod oracle;
mod outside;
mod soundness;
mod spinning;
mod weak;
