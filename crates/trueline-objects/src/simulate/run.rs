//! Runs an object: every case under every schedule that matters, or on real threads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use trueline::spec::{self, Dynamic, Invocation, Named};
use trueline::{Budget, History, Value};
use trueline_explore::harness::{self, Act, Counts, Harness, Kind, Minimised, TwoPhase};
use trueline_report::{Answer, Report, Section, Undecided, Verdict, limit_code};

use super::domain;
use super::generated::Generated;
use super::notation;
use super::program::{self, Argument, Call, Case, Error};
use super::subject::Subject;
use super::{Entry, Standing};

/// What to run, and how much of it.
#[derive(Clone, Default)]
pub struct Request {
    /// How.
    pub mode: Mode,
    /// The programs to run.
    pub cases: Vec<Case>,
    /// Generated programs, which run after the cases. They are generated as they run.
    pub generated: Option<Generated>,
    /// Explored: the maximum number of executions per case. On real threads: the number of rounds
    /// of all cases together.
    pub limit: Option<u64>,
    /// Limits of the whole request, minimisation included: time, memory. Unlimited if not given.
    pub budget: Option<Arc<Budget>>,
    /// Explored: the maximum number of preemptions per schedule.
    pub preemptions: Option<u32>,
    /// Explored: weak compare-exchanges may fail spuriously, and waits may end spuriously.
    pub spurious: bool,
    /// The seed of random choices.
    pub seed: u64,
    /// The failure to run again, as given by [`Found::replay`].
    pub replay: Option<String>,
    /// The specification to check against instead of the object's own; one with the same methods.
    pub spec: Option<Arc<Named>>,
    /// Checks quasi linearizability by the enumeration of Round-Up, instead of linearizability. The
    /// specification is then the strict one, and programs remove as many values as they add.
    pub two_phase: Option<TwoPhase>,
    /// Whether to report a failure as it was found, without minimisation.
    pub as_found: bool,
    /// Whether to pass histories to [`Request::watch`] only, without checking them.
    pub survey: bool,
    /// Sees each history before it is checked.
    pub watch: Option<Watch>,
}

/// Sees histories.
pub type Watch = Arc<dyn Fn(&History) + Send + Sync>;

/// How an object is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Over the shadow std, under every schedule that matters.
    #[default]
    Explore,
    /// As it ships, on real threads.
    Stress,
}

/// The result of a request.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The answer.
    pub verdict: Verdict<Box<Found>>,
    /// How much was done for it.
    pub counts: Counts,
    /// A description of the coverage.
    pub scope: String,
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub struct Found {
    /// The kind of failure.
    pub kind: Kind,
    /// Why, in a sentence.
    pub sentence: String,
    /// The program; [`Found::minimised`] says whether there may be a smaller one.
    pub case: String,
    /// The history, if the failure has one.
    pub history: Option<History>,
    /// The sentence, the operations and the steps, for a report.
    pub sections: Vec<Section>,
    /// The schedule to replay, together with the case in which it was found.
    pub replay: Option<String>,
    /// The case in which it was found, before minimisation.
    pub of: Case,
    /// Whether smaller cases remain to be tried.
    pub minimised: Minimised,
}

impl Found {
    /// The report on it, without the counts of the search.
    pub fn report(&self) -> Report {
        let verdict = Answer::Violation(self.kind.to_string().into());
        let mut report = Report::new(&*self.case, verdict, "");
        report.sections.clone_from(&self.sections);
        report
    }
}

/// More processes are not run: there would be too many real-time orders.
pub const MOST_PROCESSES: usize = 16;

impl Entry {
    /// Whether it has a form over std, which real threads then run.
    pub fn ships(&self) -> bool {
        self.production.is_some()
    }

    /// Runs it. An error describes what is wrong with a case.
    pub fn run(&self, request: &Request) -> Result<Simulated, Error> {
        let wrong = |message: &str| Error { line: 0, column: 0, message: message.to_string() };
        if request.mode == Mode::Stress
            && let Standing::Mutant { stress: false, .. } = self.standing
        {
            let message = "its fault is undefined behaviour on real threads: it is explored only";
            return Err(wrong(message));
        }
        if request.cases.is_empty() && request.generated.is_none() {
            return Err(wrong("found no program to run"));
        }
        if let Some(spec) = &request.spec {
            let judge = spec.dynamic();
            for mut call in self.distinct_calls() {
                // Any value does for one that is chosen later.
                for argument in call.args.iter_mut().filter(|a| **a == Argument::Fresh) {
                    *argument = Argument::Number(1);
                }
                let call = self.decode_call(&self.specification(), &self.methods(), &call)?;
                let accepted = judge.accepts(&call);
                accepted.map_err(|why| wrong(&format!("{}: {why}", spec.text())))?;
            }
        }
        for case in &request.cases {
            self.check(case)?;
        }
        let budget = request.budget.clone().unwrap_or_default();
        let mut counts = Counts::default();
        let (mut scopes, mut undecided) = (BTreeSet::new(), None);
        let mut waiting = Vec::new();
        let rounds = request.limit.unwrap_or(ROUNDS).div_ceil(self.number_of_programs(request));
        for case in self.programs(request) {
            if let Err(why) = budget.spend(0) {
                undecided = Some(Undecided::limit(&why));
                break;
            }
            if waiting.len() == MOST_WAITING {
                waiting.push("the programs behind it were not run".to_string());
                break;
            }
            let decoded = self.decode(&case)?;
            // A doubt that another case raised does not concern this one.
            request.spec.iter().for_each(|spec| drop(spec.take_doubt()));
            let (outcome, done, waits) = match request.mode {
                Mode::Explore => {
                    let outcome = self.explore(request, decoded, &budget);
                    let done = outcome.counts;
                    (outcome, done, false)
                }
                Mode::Stress => self.stress(request, &decoded, rounds, &budget),
            };
            counts.add(&done);
            if request.replay.is_some() && request.mode == Mode::Explore {
                // One schedule of this program is one execution, which never covers all of them.
                if done.executions > 1 || outcome.holds() {
                    return Err(wrong("the schedule is one of another object or program"));
                }
            }
            if waits {
                waiting.push(format!(
                    "{case}: a round did not end within {} s, as it may",
                    PATIENCE.as_secs()
                ));
            }
            if let Some(message) = outcome.error() {
                return Err(wrong(message));
            }
            match outcome.verdict {
                Verdict::Holds => {}
                Verdict::Undecided(why) if why.code == Undecided::SAMPLE => {
                    let nothing = match request.mode {
                        Mode::Explore => NOTHING_REPLAYED,
                        Mode::Stress => NOTHING_FOUND,
                    };
                    undecided = Some(Undecided::new(Undecided::SAMPLE, nothing));
                }
                Verdict::Undecided(why) => {
                    // All programs share the budget: if it is spent, it says what stopped this one.
                    let code = budget.spend(0).err().map_or("incomplete", |why| limit_code(&why));
                    undecided = Some(Undecided::new(code, why.message));
                }
                Verdict::Violation(failure)
                    if request.replay.is_some() && failure.kind == Kind::Nondeterminism =>
                {
                    return Err(wrong("the schedule is one of another object or program"));
                }
                Verdict::Violation(failure) => {
                    let doubt = request.spec.as_ref().and_then(|spec| spec.take_doubt());
                    if let (Some(why), Kind::NotLinearizable | Kind::Stuck) = (doubt, failure.kind)
                    {
                        return Err(wrong(&why));
                    }
                    let found = Found {
                        kind: failure.kind,
                        sentence: failure.sentence,
                        case: failure.scenario,
                        history: failure.history.map(|h| notation::named(self.letter, &h)),
                        sections: failure.sections,
                        replay: failure.replay,
                        of: case,
                        minimised: failure.minimised,
                    };
                    let verdict = Verdict::Violation(Box::new(found));
                    return Ok(Simulated { verdict, counts, scope: outcome.scope });
                }
            }
            scopes.insert(outcome.seen);
        }
        if counts.scenarios == 0 && undecided.is_none() {
            return Err(wrong("found no program to run"));
        }
        let sample = request.generated.as_ref().filter(|generated| generated.is_sample());
        if let (None, Some(sample)) = (&undecided, sample) {
            // A random sample proves nothing about other programs.
            let programs = sample.programs();
            let message = format!("nothing wrong was found in {programs}, which are a sample");
            undecided = Some(Undecided::new("sample", message));
        }
        let whole = |mut why: Undecided| {
            why.message = [vec![why.message], waiting].concat().join("; ");
            why
        };
        let verdict = undecided.map(whole).map_or(Verdict::Holds, Verdict::Undecided);
        let scopes: Vec<String> = scopes.into_iter().collect();
        let scope = format!("{}; {}", self.extent(request), scopes.join(" / "));
        Ok(Simulated { verdict, counts, scope })
    }

    /// Checks that a case calls only methods of the object, with permitted arguments.
    pub fn check(&self, case: &Case) -> Result<(), Error> {
        self.decode(case).map(drop)
    }

    /// Its methods, as its specification spells them.
    pub fn methods(&self) -> Vec<String> {
        self.distinct_calls().into_iter().map(|call| call.method).collect()
    }

    /// Its methods with the arguments that they take: `enq(1 or more)`, `deq()`.
    pub fn operations(&self) -> Vec<String> {
        self.distinct_calls().iter().map(|call| domain::pattern(self.domain, call)).collect()
    }

    /// One call of each method.
    fn distinct_calls(&self) -> Vec<Call> {
        let mut distinct: Vec<Call> = Vec::new();
        for call in self.calls() {
            if distinct.iter().all(|known| known.method != call.method) {
                distinct.push(call);
            }
        }
        distinct
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        program::calls(self.alphabet).expect("a list of calls")
    }

    /// The specification for an object of this family whose removals are at most this many places
    /// from their turn; `None` if it is not a queue, stack or priority queue.
    pub fn displaced_by(&self, places: u32) -> Option<String> {
        let (name, parameters) = self.spec.split_once(':').unwrap_or((self.spec, ""));
        let family = name.strip_prefix("relaxed-").unwrap_or(name);
        let known = matches!(family, "queue" | "stack" | "priority-queue");
        let order = if parameters.contains("order=min") { ",order=min" } else { "" };
        let room = parameters.split(',').find(|one| one.starts_with("capacity="));
        let room = room.map_or(String::new(), |room| format!(",{room}"));
        known.then(|| format!("relaxed-{family}:displacement={places}{order}{room}"))
    }

    /// The strict specification of this family: see [`Entry::displaced_by`].
    pub fn strict(&self) -> Option<String> {
        let relaxed = self.displaced_by(0)?;
        let order = if relaxed.contains("order=min") { ":order=min" } else { "" };
        let name = relaxed.split_once(':').map_or("", |(name, _)| name);
        Some(format!("{}{order}", name.trim_start_matches("relaxed-")))
    }

    /// The strict specification, if the object deliberately guarantees less.
    pub fn relaxes(&self) -> Option<String> {
        match self.spec.split_once(':').map_or(self.spec, |(name, _)| name) {
            "semiqueue" | "stuttering-queue" => Some("queue".to_string()),
            name => self.strict().filter(|_| name.starts_with("relaxed-")),
        }
    }

    fn specification(&self) -> Dynamic {
        spec::named(self.spec).expect("a built-in specification").dynamic()
    }

    fn decode(&self, case: &Case) -> Result<Decoded, Error> {
        let processes = case.program.len();
        if let Some(call) = case.program.get(MOST_PROCESSES).and_then(|calls| calls.first()) {
            let message = format!("found {processes} processes: expected at most {MOST_PROCESSES}");
            return Err(Error { line: 0, column: call.column, message });
        }
        let spec = self.specification();
        let known = self.methods();
        let decode_all = |calls: &[Call]| -> Result<Vec<Invocation>, Error> {
            calls.iter().map(|call| self.decode_call(&spec, &known, call)).collect()
        };
        let decoded = Decoded {
            before: decode_all(&case.before)?,
            program: case
                .program
                .iter()
                .map(|calls| decode_all(calls))
                .collect::<Result<_, _>>()?,
            after: decode_all(&case.after)?,
        };
        if let Some(rule) = self.rule {
            let main: Vec<&Call> = case.before.iter().chain(&case.after).collect();
            let rows = case.program.iter().map(|row| row.iter().collect());
            for row in std::iter::once(main).chain(rows) {
                let methods: Vec<&str> = row.iter().map(|call| call.method.as_str()).collect();
                let column = row.first().map_or(1, |call| call.column);
                rule(&methods).map_err(|message| Error { line: 0, column, message })?;
            }
        }
        Ok(decoded)
    }

    fn decode_call(
        &self,
        spec: &Dynamic,
        known: &[String],
        call: &Call,
    ) -> Result<Invocation, Error> {
        let wrong = |message| Error { line: 0, column: call.column, message };
        if !known.contains(&call.method) {
            let known = known.join(", ");
            let message = format!("{} has no {}: expected one of {known}", self.name, call.method);
            return Err(wrong(message));
        }
        let number = |arg: &Argument| match arg {
            Argument::Number(n) => Ok(Value::Int(*n)),
            Argument::Fresh => Err(wrong("found *: expected a whole number".into())),
        };
        let args = call.args.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let invocation = Invocation::new(&call.method, args);
        spec.accepts(&invocation).map_err(|error| wrong(error.to_string()))?;
        if !domain::has(self.domain, call) {
            let expected = domain::pattern(self.domain, call);
            let message = format!("{} takes no {call}: expected {expected}", self.name);
            return Err(wrong(message));
        }
        Ok(invocation)
    }

    fn judged_by(&self, request: &Request) -> Dynamic {
        let asked = request.spec.as_ref().map(|spec| spec.dynamic());
        let spec = asked.unwrap_or_else(|| self.specification());
        spec.waiting(self.waiting)
    }

    /// Explores one case.
    fn explore(&self, request: &Request, case: Decoded, budget: &Arc<Budget>) -> Outcome {
        let mut harness = harness::explore(self.shadowed)
            .spec(self.judged_by(request))
            .before(case.before)
            .program(case.program)
            .after(case.after);
        if let Some(most) = request.preemptions {
            harness = harness.preemptions(most);
        }
        harness = harness.spurious(request.spurious);
        if let Some(most) = request.limit {
            harness = harness.executions(most);
        }
        self.prepared(harness, request, budget).run()
    }

    /// The common settings of both modes.
    fn prepared<M>(
        &self,
        mut harness: Harness<Subject, Invocation, M>,
        request: &Request,
        budget: &Arc<Budget>,
    ) -> Harness<Subject, Invocation, M> {
        harness = harness.budget(Arc::clone(budget));
        if let Some(rule) = self.rule {
            harness = harness.rule(move |calls| {
                let methods: Vec<&str> = calls.iter().map(|call| &*call.method).collect();
                rule(&methods).is_ok()
            });
        }
        if let Some(replay) = &request.replay {
            harness = harness.replay(replay);
        }
        if let Some(how) = request.two_phase {
            harness = harness.two_phase(how, act);
        }
        if request.survey {
            harness = harness.survey();
        }
        if request.as_found {
            harness = harness.as_found();
        }
        if let Some(watch) = request.watch.clone() {
            let letter = self.letter;
            harness = harness.each_history(move |history| watch(&notation::named(letter, history)));
        }
        harness
    }

    /// Runs one case on real threads this many times, a few rounds at once, so that minimisation of
    /// a failure takes no more rounds than finding it. Stops at a round that waits where it may;
    /// returns whether there was one.
    fn stress(
        &self,
        request: &Request,
        case: &Decoded,
        mut left: u64,
        budget: &Arc<Budget>,
    ) -> (Outcome, Counts, bool) {
        let mut counts = Counts::default();
        loop {
            let rounds = left.min(ROUNDS_AT_ONCE);
            left -= rounds;
            let outcome = self.stress_once(request, case, rounds, budget);
            counts.add(&outcome.counts);
            counts.scenarios = 1;
            let nothing = outcome.passes() && !outcome.holds();
            let waits = outcome.counts.blocked > 0;
            if left == 0 || waits || !nothing {
                return (outcome, counts, waits);
            }
        }
    }

    fn stress_once(
        &self,
        request: &Request,
        case: &Decoded,
        rounds: u64,
        budget: &Arc<Budget>,
    ) -> Outcome {
        let harness = harness::stress(self.production.unwrap_or(self.shadowed))
            .spec(self.judged_by(request))
            .before(case.before.clone())
            .program(case.program.clone())
            .after(case.after.clone())
            .rounds(rounds)
            .patience(PATIENCE);
        self.prepared(harness, request, budget).run()
    }
}

type Outcome = harness::Outcome<Invocation, Value>;

/// The effect of a call on a value, for quasi linearizability.
fn act(call: &Invocation, result: &Value) -> Act {
    match (&*call.method, call.args.as_slice(), result) {
        ("enq" | "push" | "insert", [Value::Int(value)], _) => Act::Adds(*value as u64),
        ("deq" | "pop" | "poll", [], Value::Int(value)) => Act::Removes(*value as u64),
        _ => Act::Other,
    }
}

/// Default number of rounds on real threads.
const ROUNDS: u64 = 20_000;

/// Rounds of one harness.
const ROUNDS_AT_ONCE: u64 = 100;

/// How long a round on real threads may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Cases run until this many had a waiting round, because the threads of such a round keep waiting.
const MOST_WAITING: usize = 3;

const NOTHING_REPLAYED: &str = "nothing is wrong under this schedule, which is one of many";

const NOTHING_FOUND: &str =
    "nothing wrong was seen on real threads, which show some schedules only";

/// A case, decoded by a specification.
struct Decoded {
    before: Vec<Invocation>,
    program: Vec<Vec<Invocation>>,
    after: Vec<Invocation>,
}
