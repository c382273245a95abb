//! Operations in the terms of symbolic monitoring: object, method, argument, result, event by
//! event.
//!
//! After Emmi, Enea and Hamza, Monitoring refinement via symbolic reasoning (PLDI 2015), section 3.
//! `y` is *matched* to `x` if it removes, reads or releases what `x` added, wrote or acquired.
//! [Saturation](crate::saturate) uses these terms. The theories of the objects, as formulas, are in
//! `papers`, behind the feature of that name.

pub(crate) mod events;
mod label;

pub use events::Event;
pub use label::{Label, Method, Object};
