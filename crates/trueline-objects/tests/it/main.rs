//! The integration tests of the crate, one module per subject. Two others have an allocator of
//! their own, hence a binary of their own: `tests/memory.rs` counts bytes, `tests/user_code`
//! overwrites what is freed.

#[cfg(feature = "simulate")]
mod arguments;
mod blocking;
mod conventions;
#[cfg(feature = "simulate")]
mod conventions_explored;
#[cfg(feature = "evidence")]
mod evidence;
#[cfg(feature = "simulate")]
mod explored;
mod ordered;
mod production;
#[cfg(feature = "simulate")]
mod relaxed;
#[cfg(feature = "simulate")]
mod stressed;
#[cfg(feature = "simulate")]
mod user_code_explored;
mod values;

#[cfg(feature = "simulate")]
#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;
