//! Runs an object: every case under every schedule that matters, or on real threads.

use std::sync::Arc;
use std::time::Duration;

use trueline::spec::Builtin;
use trueline::{History, Value};
use trueline_explore::harness::{self, Counts, Kind, explore};

use super::matrices;
use super::notation;
use super::program::{self, Argument, Call, Case, Error};
use super::subject::{Invocation, Specified, Subject};
use super::Entry;

/// What to run, and how much of it.
#[derive(Clone, Default)]
pub struct Request {
    /// How.
    pub mode: Mode,
    /// What is called.
    pub cases: Vec<Case>,
    /// Explored: at most so many executions of a case. On real threads: so many rounds of all cases together.
    pub limit: Option<u64>,
    /// Explored: at most so much time for a case.
    pub time: Option<Duration>,
    /// Explored: only schedules with at most so many preemptions.
    pub preemptions: Option<u32>,
    /// What random choices come from.
    pub seed: u64,
    /// The failure to run again, as [`Found::replay`] says it.
    pub replay: Option<String>,
    /// Sees each history before it is checked.
    pub watch: Option<Arc<dyn Fn(&History) + Send + Sync>>,
}

/// How an object is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Over the shadow std, under every schedule that matters.
    #[default]
    Explore,
    /// As it ships, on real threads.
    Stress,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The answer.
    pub verdict: Verdict,
    /// How much was done for it.
    pub counts: Counts,
    /// What has been seen, in words.
    pub scope: String,
}

/// The answer to 'does the object do what its specification says?'.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// In all that was run.
    Holds,
    /// It does not.
    Violation(Box<Found>),
    /// A limit was reached; which.
    Undecided(String),
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// Why, in a sentence.
    pub sentence: String,
    /// What was called, as small as it could be made.
    pub case: String,
    /// The history, where the failure has one.
    pub history: Option<History>,
    /// The report of the harness.
    pub report: String,
    /// What to replay.
    pub replay: Option<String>,
}

/// The objects of one specification.
pub(crate) struct Of<S: Builtin> {
    pub(crate) spec: fn() -> S,
    /// Those of its methods that the object has.
    pub(crate) methods: &'static [&'static str],
    /// Those that wait where the specification says that they return nil.
    pub(crate) waiting: &'static [&'static str],
    pub(crate) shadowed: fn() -> Subject<S::Op>,
    /// As it ships; None for mutants, whose shadow is as good on real threads.
    pub(crate) production: Option<fn() -> Subject<S::Op>>,
}

/// An object of which it is not known what its operations are.
pub(crate) trait Simulation: Send + Sync {
    fn run(&self, entry: &Entry, request: &Request) -> Result<Simulated, Error>;
    fn check(&self, entry: &Entry, case: &Case) -> Result<(), Error>;
}

impl Entry {
    /// Runs it. An error says what is wrong with a case.
    pub fn run(&self, request: &Request) -> Result<Simulated, Error> {
        self.simulation.run(self, request)
    }

    /// Whether a case calls what the object has, as it may be called.
    pub fn check(&self, case: &Case) -> Result<(), Error> {
        self.simulation.check(self, case)
    }

    /// All programs of so many processes with so many operations each, up to the names of the processes.
    pub fn matrices(&self, processes: usize, operations: usize) -> Vec<Case> {
        let programs = matrices::all(&self.calls(), self.rule, processes, operations);
        programs.into_iter().map(|program| Case { program, ..Case::default() }).collect()
    }

    /// So many programs at random.
    pub fn random(&self, count: usize, processes: usize, operations: usize, seed: u64) -> Vec<Case> {
        let mut rng = trueline::rng::Rng::new(seed);
        let alphabet = self.calls();
        let program = |_| matrices::random(&alphabet, self.rule, processes, operations, &mut rng);
        (0..count).map(program).map(|program| Case { program, ..Case::default() }).collect()
    }

    fn calls(&self) -> Vec<Call> {
        program::calls(self.alphabet).expect("a list of calls")
    }
}

/// A case in the words of a specification.
struct Decoded<Op> {
    before: Vec<Invocation<Op>>,
    program: Vec<Vec<Invocation<Op>>>,
    after: Vec<Invocation<Op>>,
}

impl<S: Builtin> Of<S> {
    fn decode(&self, spec: &S, entry: &Entry, case: &Case) -> Result<Decoded<S::Op>, Error> {
        let decode_all = |calls: &[Call]| -> Result<Vec<Invocation<S::Op>>, Error> {
            calls.iter().map(|call| self.decode_call(spec, entry, call)).collect()
        };
        let decoded = Decoded {
            before: decode_all(&case.before)?,
            program: case.program.iter().map(|calls| decode_all(calls)).collect::<Result<_, _>>()?,
            after: decode_all(&case.after)?,
        };
        if let Some(rule) = entry.rule {
            let main = decoded.before.iter().chain(&decoded.after).collect::<Vec<_>>();
            let rows = decoded.program.iter().map(|row| row.iter().collect());
            for row in std::iter::once(main).chain(rows) {
                let methods: Vec<&str> = row.iter().map(|call| spec.encode(&call.op).0).collect();
                let wrong = |message| Error { line: 0, column: 1, message };
                rule(&methods).map_err(wrong)?;
            }
        }
        Ok(decoded)
    }

    fn decode_call(&self, spec: &S, entry: &Entry, call: &Call) -> Result<Invocation<S::Op>, Error> {
        let wrong = |message| Error { line: 0, column: call.column, message };
        let number = |arg: &Argument| match arg {
            Argument::Number(n) => Ok(Value::Int(*n)),
            Argument::Fresh => Err(wrong("found *: expected a whole number".into())),
        };
        let args = call.args.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let (op, _) = spec.decode(&call.method, &args, None).map_err(wrong)?;
        let (method, _) = spec.encode(&op);
        if !self.methods.contains(&method) {
            let all = self.methods.join(", ");
            return Err(wrong(format!("{} has no {method}: expected one of {all}", entry.name)));
        }
        Ok(Invocation::new(spec, op))
    }

    /// Explores one case.
    fn explore(
        &self,
        entry: &'static str,
        request: &Request,
        case: Decoded<S::Op>,
    ) -> harness::Outcome<Invocation<S::Op>, Value> {
        let specified = Specified { spec: (self.spec)(), waiting: self.waiting };
        let mut harness = explore(self.shadowed)
            .spec(specified)
            .before(case.before)
            .program(case.program)
            .after(case.after);
        if let Some(most) = request.preemptions {
            harness = harness.preemptions(most);
        }
        if let Some(most) = request.limit {
            harness = harness.executions(most);
        }
        if let Some(most) = request.time {
            harness = harness.time(most);
        }
        if let Some(watch) = request.watch.clone() {
            let spec = (self.spec)();
            harness = harness.each_history(move |history| {
                watch(&notation::named(&spec, entry, history));
            });
        }
        harness.run()
    }
}

impl<S: Builtin> Simulation for Of<S> {
    fn check(&self, entry: &Entry, case: &Case) -> Result<(), Error> {
        self.decode(&(self.spec)(), entry, case).map(drop)
    }

    fn run(&self, entry: &Entry, request: &Request) -> Result<Simulated, Error> {
        let spec = (self.spec)();
        let mut counts = Counts::default();
        let mut scope = String::new();
        let mut undecided = None;
        for case in &request.cases {
            let decoded = self.decode(&spec, entry, case)?;
            let outcome = self.explore(entry.letter, request, decoded);
            counts += outcome.counts;
            let report = outcome.to_string();
            match outcome.verdict {
                harness::Verdict::Holds => {}
                harness::Verdict::Undecided(why) => undecided = Some(why),
                harness::Verdict::Error(message) => return Err(Error { line: 0, column: 1, message }),
                harness::Verdict::Fails(failure) => {
                    let named = |history| notation::named(&spec, entry.letter, &history);
                    let found = Found {
                        kind: failure.kind,
                        sentence: failure.sentence,
                        case: failure.scenario,
                        history: failure.history.map(named),
                        report,
                        replay: failure.replay,
                    };
                    let verdict = Verdict::Violation(Box::new(found));
                    return Ok(Simulated { verdict, counts, scope: outcome.scope });
                }
            }
            scope = outcome.scope;
        }
        let verdict = undecided.map_or(Verdict::Holds, Verdict::Undecided);
        Ok(Simulated { verdict, counts, scope })
    }
}
