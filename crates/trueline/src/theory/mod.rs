//! Operations in the words of the algorithms that monitor symbolically: which object, which method,
//! which argument, which result, event by event.
//!
//! After Emmi, Enea and Hamza, Monitoring refinement via symbolic reasoning (PLDI 2015), section 3.
//! `y` is *matched* to `x` where it removes, reads or releases what `x` added, wrote or acquired.
//! [Saturation](crate::saturate) decides by these words. The theories of the objects, as formulas,
//! are in `papers`, behind the feature of that name.

pub(crate) mod events;
mod label;

pub use events::Event;
pub use label::{Label, Method, Object};
