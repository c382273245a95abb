//! Verifying a model: the search, the replay of its counterexample, and the properties that the
//! model declares.
//!
//! **Invariant: every returned violation was replayed.** The interpreter, which shares nothing with
//! the engine, runs every counterexample on the unreduced model. If it rejects one, that is an
//! error; if the budget does not suffice for the replay, the verdict is unknown.

use std::fmt;
use std::sync::Arc;

use trueline::Budget;

use crate::engine::{
    self, Counterexample, Options, Progress, ProgressReport, Property, Reason, Report, Verdict,
};
use crate::interpret::{self, Note, Rejected};
use crate::language::{Diagnostic, Model, Semantics};
use crate::program::Program;

/// How to verify a model.
///
/// ```
/// use trueline::Budget;
/// use trueline_model::{Model, library};
///
/// let mut model = Model::parse(library::find("treiber").unwrap().source).unwrap();
/// model.set("procs", 2).unwrap();
/// model.verify(&Budget::unlimited()).unwrap().assert_verified();
/// ```
#[derive(Clone, Default)]
pub struct Verification {
    /// What a step is.
    pub semantics: Semantics,
    /// Reductions, limits of the search, checkpoints.
    pub options: Options,
    /// Whether to check the progress properties that the model declares, including freedom from
    /// deadlock.
    pub progress: bool,
}

/// The result of verifying a model.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The verdict on its histories, and what it cost.
    pub report: Report,
    /// What each step of the counterexample did.
    pub notes: Vec<Note>,
    /// Progress properties by name.
    pub progress: Vec<(String, ProgressReport)>,
    /// By property: what each step of the counterexample to it did.
    pub progress_notes: Vec<Vec<Note>>,
}

/// Why a model was not verified.
#[derive(Clone, Debug)]
pub enum VerifyError {
    /// The model does not compile; the diagnostic says why.
    Model(Diagnostic),
    /// The combination of options is not supported.
    Refused(String),
    /// The model assigns a variable a value outside of its range, or returns one outside of the
    /// result's type.
    LeavesRange {
        /// The error, with its place in the text.
        message: String,
        /// How many steps lead there.
        steps: usize,
    },
    /// The interpreter does not accept the counterexample: a bug in trueline.
    NotReplayed(String),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Model(diagnostic) => write!(f, "{diagnostic:?}"),
            VerifyError::Refused(why) => f.write_str(why),
            VerifyError::LeavesRange { message, steps } => write!(
                f,
                "the model leaves a range after {steps} steps: {message}; widen the range, or write `await` \
                 where the process should wait"
            ),
            VerifyError::NotReplayed(why) => write!(
                f,
                "internal error: the counterexample does not replay on the full model; please report it: {why}"
            ),
        }
    }
}

impl std::error::Error for VerifyError {}

impl Model {
    /// Verifies the model with all reductions, on one thread. [`Verification`] has the options.
    pub fn verify(&self, budget: &Budget) -> Result<Findings, VerifyError> {
        let program = self.compile(Semantics::Default, false).map_err(VerifyError::Model)?;
        Verification::default().run(self, &Arc::new(program), budget)
    }
}

impl Findings {
    /// Nothing is known, and why.
    pub fn unknown(reason: String) -> Findings {
        let (notes, progress, progress_notes) = (Vec::new(), Vec::new(), Vec::new());
        Findings { report: Report::unknown(reason), notes, progress, progress_notes }
    }

    /// Whether every history is one of the specification, and every checked property holds.
    pub fn is_verified(&self) -> bool {
        let holds = |p: &(String, ProgressReport)| matches!(p.1.progress, Progress::Holds);
        matches!(self.report.verdict, Verdict::Verified) && self.progress.iter().all(holds)
    }

    /// Panics unless the model is [verified](Findings::is_verified).
    #[track_caller]
    pub fn assert_verified(&self) {
        assert!(self.is_verified(), "not verified: {:?}, {:?}", self.report.verdict, self.progress);
    }
}

impl Verification {
    /// Verifies the program, which the model was compiled to.
    pub fn run(
        &self,
        model: &Model,
        program: &Arc<Program>,
        budget: &Budget,
    ) -> Result<Findings, VerifyError> {
        let mut report = engine::verify(program, &self.options, budget);
        let mut notes = Vec::new();
        match &report.verdict {
            Verdict::Refused(why) => return Err(VerifyError::Refused(why.clone())),
            Verdict::Violation(found) => {
                match interpret::explain(model, self.semantics, program, found, budget) {
                    Ok(told) => match leaves_range(program, found) {
                        Some(error) => return Err(error),
                        None => notes = told,
                    },
                    Err(Rejected::Mismatch(why)) => return Err(VerifyError::NotReplayed(why)),
                    Err(Rejected::Spent(spent)) => {
                        report.verdict = Verdict::Unknown(format!(
                            "{spent}; a violation was found, but there was no time left to confirm it"
                        ));
                    }
                }
            }
            Verdict::WrongPoints(found) => {
                let steps = &found.trace.steps;
                let told = interpret::follow(model, self.semantics, program, steps, budget);
                notes = told.unwrap_or_default();
            }
            Verdict::Verified | Verdict::Unknown(_) => {}
        }
        let mut findings = Findings { report, notes, ..Findings::unknown(String::new()) };
        if self.progress && !matches!(findings.report.verdict, Verdict::Violation(_)) {
            findings.progress = check_progress(model, program, budget);
            let notes = |(_, report): &(String, ProgressReport)| {
                let Progress::Fails(lasso) = &report.progress else { return Vec::new() };
                let run: Vec<_> = lasso.stem.iter().chain(&lasso.cycle).cloned().collect();
                let told = interpret::follow(model, self.semantics, program, &run, budget);
                told.unwrap_or_default()
            };
            findings.progress_notes = findings.progress.iter().map(notes).collect();
        }
        Ok(findings)
    }
}

/// The error of the model that the counterexample shows, if it is one of the model and not of the
/// algorithm.
fn leaves_range(program: &Program, found: &Counterexample) -> Option<VerifyError> {
    let Reason::Fault(fault) = &found.reason else { return None };
    let steps = found.trace.steps.len();
    let location = found.trace.steps.last().and_then(|step| step.location);
    let message = match location.map(|location| &program.locations[location]) {
        Some(location) => format!("{} (line {}: {})", fault.message, location.line, location.text),
        None => fault.message.clone(),
    };
    fault.leaves_range.then_some(VerifyError::LeavesRange { message, steps })
}

/// Checks the progress properties that the model declares, and freedom from deadlock in any case.
fn check_progress(
    model: &Model,
    program: &Arc<Program>,
    budget: &Budget,
) -> Vec<(String, ProgressReport)> {
    let mut wanted = vec![("deadlock-free".to_string(), Property::DeadlockFree)];
    if model.asks_for("lock_free") {
        wanted.push(("lock-free".to_string(), Property::LockFree));
    }
    for response in &program.responses {
        let weakly_fair = model.weakly_fair(&response.name);
        let (operation, results) = (response.operation, response.results.clone());
        let property = Property::Response { operation, results, weakly_fair };
        wanted.push((response.name.clone(), property));
    }
    let check = |(name, property)| (name, engine::progress(program, &property, budget));
    wanted.into_iter().map(check).collect()
}
