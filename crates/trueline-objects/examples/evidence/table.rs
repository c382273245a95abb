//! Renders the evidence as a page.

use std::fmt::Write;
use std::time::Duration;

use trueline_report::grouped;

use super::gather::{Checked, Evidence, Explored, Mutant};

/// The page, in Markdown.
pub(crate) fn document(all: &[Evidence], quick: bool, took: Duration) -> String {
    let mut out = String::new();
    let command = if quick { "cargo xtask evidence --quick" } else { "cargo xtask evidence" };
    let clean = super::gather::wrong(all).is_empty();
    let (found, mutants) = (found(all), all.iter().map(|e| e.mutants.len()).sum::<usize>());
    let _ = write!(
        out,
        "# The evidence for the objects\n\n<!-- written by `{command}`: do not edit -->\n\n{INTRODUCTION}\n\
        This run: {} objects, {found} of {mutants} mutants found, {}; {:.0} s.\n\n",
        all.len(),
        if clean { "every object clean" } else { "**not clean**" },
        took.as_secs_f64(),
    );
    out += "## Objects\n\n";
    for evidence in all {
        object(&mut out, evidence);
    }
    relaxed(&mut out, all);
    out += "## Mutants\n\nEach mutant is explored with the program in its entry; the search ends at the first failure.\n\n";
    out += "| mutant | failure | executions until then |\n|---|---|---|\n";
    for mutant in all.iter().flat_map(|evidence| &evidence.mutants) {
        out += &fault(mutant);
    }
    out += MEMORY;
    out
}

/// One object: its model, explorations, rounds on real threads and mutants.
fn object(out: &mut String, evidence: &Evidence) {
    let _ = write!(out, "### `{}`\n\n", evidence.entry.name);
    if let Some(checked) = &evidence.model {
        model(out, checked);
    }
    out.push_str("- Explored\n");
    for size in &evidence.explored {
        let _ = writeln!(out, "  - {}", explored(size));
    }
    match &evidence.stressed {
        Some(stressed) => {
            let (rounds, seconds) = (grouped(stressed.rounds), stressed.seconds);
            let verdict = if stressed.clean { "nothing wrong" } else { "**violation**" };
            let _ = writeln!(out, "- On real threads: {verdict}, {rounds} rounds, {seconds:.1} s");
        }
        None => out.push_str("- On real threads: not run, because it does not ship\n"),
    }
    let found = evidence.mutants.iter().filter(|mutant| mutant.found.is_some()).count();
    let _ = write!(out, "- Mutants found: {found} of {}\n\n", evidence.mutants.len());
}

const INTRODUCTION: &str = "\
`cargo xtask evidence` repeats everything on this page and rewrites it. It exits with 1 unless every
object is clean and every mutant is found. `--quick` has smaller bounds and runs with the tests.

- **Model.** The model of the algorithm under `models/`, checked against its specification in every
  interleaving, with the number of states. The mutants of the model are the settings that its header
  expects to fail.
- **Explored.** `P x N` means every program of P processes with N operations each, up to renaming of
  processes and values. The shipped code runs under every schedule that matters, with sequentially
  consistent values; races are detected by the orderings as written. `<= K preemptions` means only
  schedules that take the processor away from a process at most K times. No search was truncated by
  a time limit.
- **On real threads.** Random programs of 2 x 4 and 4 x 3, each history checked. This covers only
  some schedules. Objects of papers that do not ship are not run.
- **Mutants.** Variants with one fault each, and objects that are wrong as published: all must be
  found.
";

const MEMORY: &str = "
## Memory

An exploration ends with an error at a use of freed memory, a double free or a leak. The tests in the
modules `production` and `ordered` run the shipped objects on real threads. They were run under
valgrind by hand (cargo prints the name of the binary). Both ended without an invalid access and
without a leak; memory that std's test harness keeps for its main thread counts as 'possibly lost'.
Miri was not available.

```sh
cargo test --profile dev -p trueline-objects --test it --no-run
RUST_BACKTRACE=0 valgrind --leak-check=full --show-leak-kinds=definite,indirect \\
    --errors-for-leak-kinds=definite,indirect \\
    --error-exitcode=1 BINARY --test-threads=1 production:: ordered::
```
";

fn found(all: &[Evidence]) -> usize {
    all.iter().flat_map(|evidence| &evidence.mutants).filter(|m| m.found.is_some()).count()
}

fn model(out: &mut String, checked: &Checked) {
    let _ = writeln!(out, "- Model `{}`", checked.name);
    for run in checked.runs.iter().filter(|run| run.expected == "verified") {
        let states = grouped(run.states);
        let _ = writeln!(out, "  - {}: {}, {states} states", run.settings, run.verdict);
    }
    let wrong = checked.runs.iter().filter(|run| run.expected == "violation");
    let caught = wrong.clone().filter(|run| run.verdict == "violation").count();
    let wrong = wrong.count();
    if wrong > 0 {
        let _ = writeln!(out, "  - its mutants: {caught} of {wrong}");
    }
}

fn explored(size: &Explored) -> String {
    let bound = size.preemptions.map_or(String::new(), |most| format!(", <= {most} preemptions"));
    let (programs, executions) = (grouped(size.programs as u64), grouped(size.executions));
    let verdict = if size.holds { "holds" } else { "**does not hold**" };
    let (processes, operations) = (size.processes, size.operations);
    format!(
        "{processes} x {operations}{bound}: {verdict}, {programs} programs, {executions} executions, {:.1} s",
        size.seconds
    )
}

fn relaxed(out: &mut String, all: &[Evidence]) {
    let relaxed = all.iter().filter_map(|e| e.strict.as_ref().map(|strict| (e, strict)));
    let mut relaxed = relaxed.peekable();
    if relaxed.peek().is_none() {
        return;
    }
    *out += "## Relaxed objects\n\nEach object satisfies its own specification (above) and violates the strict one. No program with fewer\n\
        operations shows that.\n\n| object | satisfies | violates | shortest program |\n|---|---|---|---|\n";
    for (evidence, strict) in relaxed {
        let program = match &strict.program {
            Some(program) => format!("`{}`", program.replace('|', "\\|")),
            None if strict.exempt => {
                "none: linearizable, contrary to Round-Up's table; all programs of up to 4 operations".to_string()
            }
            None => "**none found**".to_string(),
        };
        let violates = if strict.program.is_some() { &*strict.spec } else { "nothing" };
        let (name, spec) = (evidence.entry.name, evidence.entry.spec);
        let _ = writeln!(out, "| `{name}` | `{spec}` | `{violates}` | {program} |");
    }
}

fn fault(mutant: &Mutant) -> String {
    let (what, executions) = match &mutant.found {
        Some((kind, executions)) => (kind.as_str(), grouped(*executions)),
        None => ("**nothing**", String::new()),
    };
    format!("| `{}` | {what} | {executions} |\n", mutant.entry.name)
}
