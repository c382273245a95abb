//! Runs all that speaks for the objects of this crate, and writes the table of it: what
//! `cargo xtask evidence` does.
//!
//! `cargo run --release -p trueline-objects --features evidence --example evidence -- [--quick] [--write FILE] [NAME...]`
//!
//! Exit code: 0 if every object is clean and every mutant was found, 1 if not, 2 if it was called
//! wrongly.

mod gather;
mod plan;
mod table;

use std::process::ExitCode;
use std::time::Instant;

#[global_allocator]
static ALLOC: trueline_explore::Alloc = trueline_explore::Alloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut quick, mut file, mut names) = (false, None, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => quick = true,
            "--write" => file = arguments.next(),
            name if name.starts_with('-') => {
                eprintln!("found {name}: expected --quick, --write FILE or names of objects");
                return ExitCode::from(2);
            }
            name => names.push(name.to_string()),
        }
    }
    let start = Instant::now();
    let evidence = gather::all(quick, &names, &|line| eprintln!("{line}"));
    let text = table::document(&evidence, quick, start.elapsed());
    let written = match &file {
        Some(file) => std::fs::write(file, &text),
        None => {
            print!("{text}");
            Ok(())
        }
    };
    if let Err(error) = written {
        eprintln!("{}: {error}", file.unwrap_or_default());
        return ExitCode::from(2);
    }
    let wrong = gather::wrong(&evidence);
    wrong.iter().for_each(|line| eprintln!("wrong: {line}"));
    ExitCode::from(u8::from(!wrong.is_empty()))
}
