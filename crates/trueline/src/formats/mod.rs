//! Formats of histories: bytes in, a validated [`History`](crate::History) out, and back.
