//! trueline decides whether a concurrent object behaves as if its operations happened one at a
//! time.
//!
//! Read a history ([`formats::read`]), name its specification ([`spec::named`]), set limits
//! ([`Budget`]), and match on the [`Verdict`]:
//!
//! ```
//! use trueline::{Algorithm, Budget, Verdict, formats, spec};
//!
//! let file = r#"{"process":"alice","call":"enq","args":[1]}
//! {"process":"alice","return":null}
//! {"process":"bob","call":"deq","args":[]}
//! {"process":"bob","return":2}"#;
//! let (history, _format) = formats::read(file.as_bytes(), &formats::ReadOptions::default())?;
//! let queue = spec::named("queue")?;
//! let outcome = queue.check(&history, Algorithm::Auto, &Budget::unlimited())?;
//! match outcome.verdict {
//!     Verdict::Linearizable(order) => println!("the order {:?} explains it", order.order),
//!     Verdict::Violation(why) => assert!(why.sentence.contains("deq() -> 2"), "{}", why.sentence),
//!     Verdict::Unknown(why) => println!("undecided: {}", why.reason),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A specification of your own is a struct with `apply` ([`Sequential`]) or a [`Spec`]; [`Check`]
//! decides its histories, which a [`history::Builder`] makes. The feature `live` attaches a monitor
//! to an object of a running program. Everything else is in [`advanced`].
//!
//! This crate is the core: it does no I/O of its own, reads no clock and prints nothing.
#![forbid(unsafe_code)]

pub mod budget;
pub mod check;
#[doc(hidden)]
pub mod decimal;
pub mod error;
pub mod formats;
#[doc(hidden)]
pub mod generate;
pub mod history;
#[cfg(feature = "live")]
pub mod live;
pub(crate) mod monitor;
#[cfg(feature = "papers")]
#[doc(hidden)]
pub mod papers;
#[doc(hidden)]
pub mod quasi;
#[doc(hidden)]
pub mod rng;
#[doc(hidden)]
pub mod saturate;
pub mod spec;
#[doc(hidden)]
pub mod stream;
#[doc(hidden)]
pub mod theory;
pub mod value;
pub mod verdict;

/// Rarely needed: single algorithms, streams, random histories, quasi linearizability.
pub mod advanced {
    #[doc(inline)]
    pub use crate::decimal;
    #[doc(inline)]
    pub use crate::generate;
    #[cfg(feature = "papers")]
    #[doc(inline)]
    pub use crate::papers;
    #[doc(inline)]
    pub use crate::quasi;
    #[doc(inline)]
    pub use crate::saturate;
    #[doc(inline)]
    pub use crate::stream;
    #[doc(inline)]
    pub use crate::theory;
}

pub use budget::Budget;
pub use check::{Algorithm, Check, Outcome};
pub use history::History;
pub use spec::{Sequential, Spec};
pub use value::Value;
pub use verdict::Verdict;

/// The page about specifications, whose example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/specifications.md")]
pub struct Specifications;
