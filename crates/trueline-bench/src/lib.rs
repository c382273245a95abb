//! Not yet filled.
