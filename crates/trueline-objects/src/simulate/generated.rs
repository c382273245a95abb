//! The programs of a simulation: first the given ones, then generated ones. These are generated as
//! they run, since all of them together may need too much memory. Also describes the coverage of a
//! verdict.

use super::matrices;
use super::program::{self, Call, Case, Program};
use super::run::{Mode, Request};
use super::{Entry, Standing};

/// Generated programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// How many processes each has.
    pub processes: usize,
    /// The number of operations per process; for random programs, the maximum.
    pub operations: usize,
    /// This many random programs instead of all.
    pub random: Option<u32>,
    /// The calls before the processes start.
    pub before: Vec<Call>,
    /// The calls after they have ended.
    pub after: Vec<Call>,
}

impl Generated {
    pub(super) fn is_sample(&self) -> bool {
        self.random.is_some()
    }

    /// `all programs of 2 processes x 2 operations`.
    pub(super) fn programs(&self) -> String {
        let counted = |n: usize, one: &str, more: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{n} {more}"),
        };
        let processes = counted(self.processes, "process", "processes");
        let operations = counted(self.operations, "operation", "operations");
        let which = match self.random {
            None => "all programs".to_string(),
            Some(1) => "1 random program".to_string(),
            Some(n) => format!("{n} random programs"),
        };
        let mut text = format!("{which} of {processes} x {operations}");
        if !self.before.is_empty() {
            text += &format!(" after {}", program::join_calls(&self.before));
        }
        if !self.after.is_empty() {
            text += &format!(" before {}", program::join_calls(&self.after));
        }
        text
    }
}

impl Entry {
    /// All programs with this many processes and operations each, up to renaming of processes.
    pub fn matrices(&self, processes: usize, operations: usize) -> Vec<Case> {
        let programs = matrices::all(&self.calls(), self.rule, processes, operations);
        programs.map(|program| Case { program, ..Case::default() }).collect()
    }

    /// All programs with this many operations in all, up to renaming of processes.
    pub fn programs_of(&self, operations: usize) -> Vec<Case> {
        let programs = matrices::of_total(&self.calls(), self.rule, operations);
        programs.into_iter().map(|program| Case { program, ..Case::default() }).collect()
    }

    /// The programs of a request, one after the other.
    pub(super) fn programs<'a>(&self, request: &'a Request) -> Box<dyn Iterator<Item = Case> + 'a> {
        let given = request.cases.iter().cloned();
        let Some(generated) = &request.generated else { return Box::new(given) };
        let (processes, operations) = (generated.processes, generated.operations);
        let programs: Box<dyn Iterator<Item = Program>> = match generated.random {
            None => Box::new(matrices::all(&self.calls(), self.rule, processes, operations)),
            Some(count) => {
                let size = (processes, operations);
                Box::new(self.draw(request.mode, size, request.seed).take(count as usize))
            }
        };
        let case = |program| Case {
            before: generated.before.clone(),
            program,
            after: generated.after.clone(),
        };
        let is_something = |program: &Program| !program.is_empty();
        Box::new(given.chain(programs.filter(is_something).map(case)))
    }

    /// How many programs a request runs, at least one.
    pub(super) fn number_of_programs(&self, request: &Request) -> u64 {
        let generated = request.generated.as_ref().map_or(0, |generated| match generated.random {
            Some(count) => u64::from(count),
            None => {
                let number = self.number_of_matrices(generated.processes, generated.operations);
                u64::try_from(number).unwrap_or(u64::MAX)
            }
        });
        generated.saturating_add(request.cases.len() as u64).max(1)
    }

    /// A description of the programs of a request, for the coverage of its verdict.
    pub(super) fn extent(&self, request: &Request) -> String {
        let given = match (&request.generated, request.cases.len()) {
            (Some(generated), 0) => return generated.programs(),
            (None, 1) => return "this program".to_string(),
            (None, n) => return format!("these {n} programs"),
            (Some(_), 1) => "the program that shows its fault".to_string(),
            (Some(_), n) => format!("{n} given programs"),
        };
        let generated = request.generated.as_ref().map(Generated::programs).unwrap_or_default();
        format!("{given} and {generated}")
    }

    /// The program that shows its fault, if it has one.
    pub fn shown_by(&self) -> Option<Case> {
        match self.standing {
            Standing::Correct => None,
            Standing::Flawed { shown_by, .. } | Standing::Mutant { shown_by, .. } => {
                Some(program::case(shown_by).expect("a program of the list"))
            }
        }
    }

    /// How many programs [`Entry::matrices`] has; the largest number means too many to run.
    pub fn number_of_matrices(&self, processes: usize, operations: usize) -> u128 {
        matrices::number(&self.calls(), self.rule, processes, operations)
    }

    /// This many random programs, of processes with at most this many operations each. On real
    /// threads no process of them waits for ever.
    pub fn random(
        &self,
        mode: Mode,
        count: usize,
        (processes, operations): (usize, usize),
        seed: u64,
    ) -> Vec<Case> {
        let programs = self.draw(mode, (processes, operations), seed).take(count);
        let programs = programs.filter(|program| !program.is_empty());
        programs.map(|program| Case { program, ..Case::default() }).collect()
    }

    /// Random programs, without end; one may be empty.
    fn draw(
        &self,
        mode: Mode,
        (processes, operations): (usize, usize),
        seed: u64,
    ) -> impl Iterator<Item = Program> + use<> {
        let mut rng = trueline::rng::Rng::new(seed);
        let alphabet = self.calls();
        let rules = match mode {
            Mode::Explore => [self.rule, None],
            Mode::Stress => [self.rule, self.stress_rule],
        };
        let program = move || matrices::random(&alphabet, rules, processes, operations, &mut rng);
        std::iter::repeat_with(program)
    }
}
