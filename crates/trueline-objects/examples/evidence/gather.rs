//! Runs what the plan says and keeps what came of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use trueline::{Budget, spec};
use trueline_model::engine::{self, Options, Reason, Simple};
use trueline_model::{Model, Semantics, library};
use trueline_objects::simulate::{
    self, Case, Entry, Mode, Request, Simulated, Standing, Verdict, program,
};

use super::plan::{self, Plan, Settings};

/// All that speaks for one object.
pub(crate) struct Evidence {
    pub(crate) entry: &'static Entry,
    pub(crate) model: Option<Checked>,
    pub(crate) explored: Vec<Explored>,
    pub(crate) stressed: Option<Stressed>,
    pub(crate) mutants: Vec<Mutant>,
    /// Of a relaxed object.
    pub(crate) strict: Option<Strict>,
}

/// A model whose header and further settings were checked.
pub(crate) struct Checked {
    pub(crate) name: &'static str,
    pub(crate) runs: Vec<ModelRun>,
}

pub(crate) struct ModelRun {
    pub(crate) settings: String,
    pub(crate) states: u64,
    pub(crate) verdict: String,
    pub(crate) expected: String,
}

/// All programs of a size.
pub(crate) struct Explored {
    pub(crate) processes: usize,
    pub(crate) operations: usize,
    pub(crate) preemptions: Option<u32>,
    pub(crate) programs: usize,
    pub(crate) executions: u64,
    pub(crate) verdict: String,
    pub(crate) holds: bool,
    pub(crate) seconds: f64,
}

pub(crate) struct Stressed {
    pub(crate) rounds: u64,
    pub(crate) seconds: f64,
    pub(crate) clean: bool,
    pub(crate) verdict: String,
}

pub(crate) struct Mutant {
    pub(crate) entry: &'static Entry,
    /// What was found, and in how many executions.
    pub(crate) found: Option<(String, u64)>,
}

/// Whether an object that promises less really keeps less.
pub(crate) struct Strict {
    pub(crate) spec: String,
    /// The shortest program that shows it.
    pub(crate) program: Option<String>,
    /// Not to be expected of the quasi stack of the paper, which is linearizable.
    pub(crate) exempt: bool,
}

/// The evidence for every object, or for those with these names. The rows are in the order of the
/// entries, whatever is ready first.
pub(crate) fn all(quick: bool, names: &[String], tell: &(dyn Fn(&str) + Sync)) -> Vec<Evidence> {
    let objects: Vec<&'static Entry> = simulate::all()
        .filter(|entry| entry.standing == Standing::Correct)
        .filter(|entry| names.is_empty() || names.iter().any(|name| name == entry.name))
        .collect();
    // What is explored and verified keeps a core busy each; threads under stress have the machine
    // to themselves.
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Evidence)>> = Mutex::new(Vec::new());
    thread::scope(|s| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(objects.len()) {
            s.spawn(|| {
                while let Some(&entry) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = objects.iter().position(|other| other.name == entry.name);
                    let (evidence, stages) = without_stress(entry, &plan::of(entry, quick), quick);
                    tell(&stages);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((number.unwrap_or_default(), evidence));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    let mut all: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
    for evidence in all.iter_mut().filter(|evidence| evidence.entry.ships()) {
        evidence.stressed = Some(stress(evidence.entry, plan::of(evidence.entry, quick).rounds));
    }
    tell("on real threads: done");
    all
}

/// What is not as it should be.
pub(crate) fn wrong(all: &[Evidence]) -> Vec<String> {
    let mut wrong = Vec::new();
    for evidence in all {
        let name = evidence.entry.name;
        let mut say = |ok: bool, what: String| {
            if !ok {
                wrong.push(format!("{name}: {what}"));
            }
        };
        for run in evidence.model.iter().flat_map(|model| &model.runs) {
            let what = format!("{}: {}, expected {}", run.settings, run.verdict, run.expected);
            say(run.verdict == run.expected, what);
        }
        for size in &evidence.explored {
            let what = format!("{} x {}: {}", size.processes, size.operations, size.verdict);
            say(size.holds && size.programs > 0, what);
        }
        if let Some(stressed) = &evidence.stressed {
            say(stressed.clean, format!("on real threads: {}", stressed.verdict));
        }
        for mutant in &evidence.mutants {
            say(mutant.found.is_some(), format!("nothing found in {}", mutant.entry.name));
        }
        if let Some(strict) = &evidence.strict {
            let what = format!("no program shows that it is no {}", strict.spec);
            say(strict.program.is_some() || strict.exempt, what);
        }
    }
    wrong
}

fn without_stress(entry: &'static Entry, plan: &Plan, quick: bool) -> (Evidence, String) {
    let mut stages = Stages { last: Instant::now(), text: format!("{}:", entry.name) };
    let model = plan.model.map(|(name, further)| check_model(name, further, quick));
    stages.ends("model");
    let explored = plan.sizes.iter().map(|&size| explore(entry, size)).collect();
    stages.ends("explored");
    let mutants = simulate::all().filter(|mutant| match mutant.standing {
        Standing::Correct => false,
        Standing::Mutant { of, .. } => of == entry.name,
        Standing::Flawed { repaired, .. } => repaired == entry.name,
    });
    let mutants = mutants.map(find_fault).collect();
    stages.ends("mutants");
    let strict = entry.relaxes().map(|spec| shortest(entry, spec));
    stages.ends("strict");
    (Evidence { entry, model, explored, stressed: None, mutants, strict }, stages.text)
}

/// How long each part took, for those who wait.
struct Stages {
    last: Instant,
    text: String,
}

impl Stages {
    fn ends(&mut self, what: &str) {
        let took = self.last.elapsed().as_secs_f64();
        self.text += &format!(" {what} {took:.1} s");
        self.last = Instant::now();
    }
}

fn check_model(name: &'static str, further: &[Settings], quick: bool) -> Checked {
    let source = library::find(name).expect("a model that is built in").source;
    let model = Model::parse(source).expect("a model that is read by a test");
    let mut runs = Vec::new();
    for expectation in model.expectations() {
        // The tests of the model checker run all of them.
        if quick && !runs.is_empty() {
            break;
        }
        let (points, simple) = (expectation.points, expectation.simple);
        runs.push(run_model(&model, &expectation.settings, (points, simple), expectation.verdict));
    }
    for settings in further {
        let settings: Vec<(String, i32)> =
            settings.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        runs.push(run_model(&model, &settings, (false, false), "verified".to_string()));
    }
    Checked { name, runs }
}

fn run_model(
    model: &Model,
    settings: &[(String, i32)],
    (points, simple): (bool, bool),
    expected: String,
) -> ModelRun {
    let mut model = model.clone();
    for (name, value) in settings {
        model.set(name, *value).expect("a parameter of the model");
    }
    let program = Arc::new(model.compile(Semantics::Default, points).expect("it compiles"));
    let simple = simple.then(|| Simple { automata: true, walks: 100_000, ..Simple::default() });
    let options = Options { points, simple, ..Options::default() };
    let report = engine::verify(&program, &options, &Budget::unlimited());
    let verdict = match report.verdict {
        Verdict::Holds => "verified".to_string(),
        Verdict::Violation(found) if found.reason == Reason::WrongPoints => {
            "wrong points".to_string()
        }
        Verdict::Violation(_) => "violation".to_string(),
        Verdict::Undecided(why) => format!("unknown: {why}"),
    };
    let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
    let settings = settings.collect::<Vec<_>>().join(" ");
    ModelRun { settings, states: report.counts.states, verdict, expected }
}

fn explore(
    entry: &'static Entry,
    (processes, operations, preemptions): (usize, usize, Option<u32>),
) -> Explored {
    let cases = entry.matrices(processes, operations);
    let (programs, start) = (cases.len(), Instant::now());
    let simulated = run(entry, &Request { cases, preemptions, ..Request::default() });
    Explored {
        processes,
        operations,
        preemptions,
        programs,
        executions: simulated.counts.executions,
        holds: matches!(simulated.verdict, Verdict::Holds),
        verdict: in_words(&simulated),
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn stress(entry: &'static Entry, rounds: u64) -> Stressed {
    let start = Instant::now();
    let sizes = [(2, 4), (4, 3)];
    let cases: Vec<Case> =
        sizes.into_iter().flat_map(|size| entry.random(Mode::Stress, 10, size, 1)).collect();
    let request = Request { mode: Mode::Stress, cases, limit: Some(rounds), ..Request::default() };
    let simulated = run(entry, &request);
    Stressed {
        rounds: simulated.counts.executions,
        seconds: start.elapsed().as_secs_f64(),
        clean: !matches!(simulated.verdict, Verdict::Violation(_)),
        verdict: in_words(&simulated),
    }
}

fn find_fault(entry: &'static Entry) -> Mutant {
    let (Standing::Mutant { shown_by, .. } | Standing::Flawed { shown_by, .. }) = entry.standing
    else {
        return Mutant { entry, found: None };
    };
    let cases = vec![program::case(shown_by).expect("a program that a test runs")];
    let preemptions = plan::preemptions(entry.name);
    let simulated = run(entry, &Request { cases, preemptions, ..Request::default() });
    let found = match &simulated.verdict {
        Verdict::Violation(found) => Some((found.kind.to_string(), simulated.counts.executions)),
        _ => None,
    };
    Mutant { entry, found }
}

/// Looks for a program that the strict specification forbids, by the number of its operations.
fn shortest(entry: &'static Entry, spec: String) -> Strict {
    let exempt = entry.name == "quasi-stack";
    let most = if exempt { 4 } else { 6 };
    let preemptions = plan::preemptions(entry.name);
    let named = Arc::new(spec::named(&spec).expect("a specification that an entry names"));
    let program = (1..=most).find_map(|operations| {
        let cases = entry.programs_of(operations);
        let spec = Some(named.clone());
        let simulated = run(entry, &Request { cases, preemptions, spec, ..Request::default() });
        match simulated.verdict {
            Verdict::Violation(found) => Some(found.case),
            _ => None,
        }
    });
    Strict { spec, program, exempt }
}

fn run(entry: &Entry, request: &Request) -> Simulated {
    match entry.run(request) {
        Ok(simulated) => simulated,
        Err(error) => panic!("{}: {error}", entry.name),
    }
}

fn in_words(simulated: &Simulated) -> String {
    match &simulated.verdict {
        Verdict::Holds => "holds".to_string(),
        Verdict::Violation(found) => format!("{}: {} ({})", found.kind, found.sentence, found.case),
        Verdict::Undecided(why) => why.message.clone(),
    }
}
