//! The integration tests of the crate, one module per subject, in one binary: each binary links the
//! library again.

mod algorithms;
mod corpus_formats;
mod docs_formats;
mod dynamic_spec;
mod example_user_spec;
#[cfg(feature = "live")]
mod example_watch_queue;
mod fuzz_formats;
mod limits;
#[cfg(feature = "live")]
mod live;
mod monitoring;
#[allow(unreachable_pub, reason = "trueline-bench includes it")]
mod oracle;
mod promises;
mod quasi;
mod sentences;
mod snapshots;
mod verdicts;
