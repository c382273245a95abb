//! The tests that run the binary, one module per subject. No test changes the environment or the
//! current directory of its own process; each passes them to the commands that it starts.

mod bad_input;
mod check;
mod claims;
mod commands;
mod common;
mod corpus_rows;
mod histories;
mod input;
mod monitor;
mod page;
mod pages;
mod quasi;
mod simulate;
mod spec_files;
mod truth;
mod verify;
