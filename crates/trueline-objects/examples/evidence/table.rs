//! The page of what was seen.

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
    out += "| object | model: verdict, states | explored: programs, executions | on real threads | mutants found |\n";
    out += "|---|---|---|---|---|\n";
    for evidence in all {
        let stressed = evidence.stressed.as_ref().map_or("does not ship".to_string(), |stressed| {
            let (rounds, seconds) = (grouped(stressed.rounds), stressed.seconds);
            let verdict = if stressed.clean { "nothing wrong" } else { "**violation**" };
            format!("{rounds} rounds, {seconds:.1} s: {verdict}")
        });
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {stressed} | {} of {} |",
            evidence.entry.name,
            evidence.model.as_ref().map_or("none".to_string(), model),
            lines(evidence.explored.iter().map(explored)),
            evidence.mutants.iter().filter(|mutant| mutant.found.is_some()).count(),
            evidence.mutants.len(),
        );
    }
    relaxed(&mut out, all);
    out += "\n## Mutants\n\nEach is explored with the program that its entry names; the search ends at the first fault.\n\n";
    out += "| mutant | what was found | executions until then |\n|---|---|---|\n";
    for mutant in all.iter().flat_map(|evidence| &evidence.mutants) {
        out += &fault(mutant);
    }
    out += MEMORY;
    out
}

const INTRODUCTION: &str = "\
Everything here is run again by `cargo xtask evidence`, which writes this page, and exits with 1 unless every object is clean and every mutant is
found. `--quick` has smaller bounds and runs with the tests.

- **Model.** The model of the algorithm under `models/`, checked against its specification in every interleaving; mutants of the model
  are those that its header says must fail.
- **Explored.** `P x N`: every program of P processes with N operations each, up to the names of processes and of values, over the code that ships,
  under every schedule that matters; sequentially consistent values, races by the orderings as written. `<= K preemptions`: only schedules that
  take the processor away from a process at most K times. Nothing is cut short by the clock.
- **On real threads.** Random programs of 2 x 4 and 4 x 3, each history checked. It shows some schedules only. Objects of papers that do not ship are not
  run so.
- **Mutants.** Variants with one fault each, and objects that are wrong as published: all must be found.
";

const MEMORY: &str = "
## Memory

An exploration ends with an error at a use of freed memory, a double free or a leak. The objects as they ship are run on threads by the tests in the modules
`production` and `ordered`, which valgrind runs by hand (cargo prints the name of the binary). Both ended without an invalid access and without a leak; what std's test harness keeps for its main
thread is 'possibly lost'. Miri was not at hand.

```sh
cargo test --profile dev -p trueline-objects --test it --no-run
RUST_BACKTRACE=0 valgrind --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
    --error-exitcode=1 BINARY --test-threads=1 production:: ordered::
```
";

fn found(all: &[Evidence]) -> usize {
    all.iter().flat_map(|evidence| &evidence.mutants).filter(|m| m.found.is_some()).count()
}

fn model(checked: &Checked) -> String {
    let verified = checked.runs.iter().filter(|run| run.expected == "verified");
    let verified =
        verified.map(|run| format!("{}: {}, {}", run.settings, run.verdict, grouped(run.states)));
    let wrong = checked.runs.iter().filter(|run| run.expected == "violation");
    let caught = wrong.clone().filter(|run| run.verdict == "violation").count();
    let wrong = wrong.count();
    let mutants = (wrong > 0).then(|| format!("its mutants: {caught} of {wrong}"));
    let name = format!("`{}`", checked.name);
    lines(std::iter::once(name).chain(verified).chain(mutants))
}

fn explored(size: &Explored) -> String {
    let bound = size.preemptions.map_or(String::new(), |most| format!(", <= {most} preemptions"));
    let (programs, executions) = (grouped(size.programs as u64), grouped(size.executions));
    let verdict = if size.holds { "holds" } else { "**does not hold**" };
    let (processes, operations) = (size.processes, size.operations);
    format!(
        "{processes} x {operations}{bound}: {programs}, {executions}: {verdict}, {:.1} s",
        size.seconds
    )
}

fn relaxed(out: &mut String, all: &[Evidence]) {
    let relaxed = all.iter().filter_map(|e| e.strict.as_ref().map(|strict| (e, strict)));
    let mut relaxed = relaxed.peekable();
    if relaxed.peek().is_none() {
        return;
    }
    *out += "\n## Relaxed objects\n\nEach satisfies its own specification (above) and violates the strict one. The program is one with the \
        fewest operations\nof all that show it.\n\n| object | satisfies | violates | shortest program |\n|---|---|---|---|\n";
    for (evidence, strict) in relaxed {
        let program = match &strict.program {
            Some(program) => format!("`{}`", program.replace('|', "\\|")),
            None if strict.exempt => {
                "none: linearizable, whatever Round-Up's table says; all programs of up to 4 operations".to_string()
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

fn lines(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("<br>")
}
