//! `cargo xtask soak`: the randomised tests, with seeds that nobody has tried, until the time is
//! over or one fails.
//!
//! Every test that takes its cases from `trueline::rng::seeds` can be soaked: `TRUELINE_FROM` gives
//! the first seed, `TRUELINE_CASES` how many, and the test prints how many cases it made. They run
//! as processes of their own, as many at a time as there are processors, so that a crash, an
//! endless loop or an abort is a finding like any other. The kinds take turns, each for about the
//! same time: how many cases a turn has is adapted to how long the last one took.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// One randomised test, or several with a common beginning of their names.
struct Kind {
    what: &'static str,
    package: &'static str,
    /// The test binary: a folder under `tests`, or `lib` for the tests inside of the crate.
    target: &'static str,
    test: &'static str,
    /// Seeds of the first turn.
    seeds: u64,
}

const fn kind(
    what: &'static str,
    package: &'static str,
    target: &'static str,
    test: &'static str,
    seeds: u64,
) -> Kind {
    Kind { what, package, target, test, seeds }
}

#[rustfmt::skip]
const KINDS: &[Kind] = &[
    kind("every algorithm against the oracle", "trueline", "it", "algorithms::builtin::every_algorithm_agrees_with_the_oracle", 1_000),
    kind("specifications of users' own", "trueline", "it", "algorithms::users_own::a_", 10_000),
    kind("register monitor", "trueline", "lib", "monitor::tests::keys::register_against_the_oracle", 20_000),
    kind("set monitor", "trueline", "lib", "monitor::tests::keys::set_against_the_oracle", 20_000),
    kind("mutex monitor", "trueline", "lib", "monitor::tests::keys::mutex_against_the_oracle", 20_000),
    kind("queue monitor", "trueline", "lib", "monitor::tests::containers::queue_against_the_oracle", 10_000),
    kind("stack monitor", "trueline", "lib", "monitor::tests::containers::stack_against_the_oracle", 10_000),
    kind("priority queue monitor", "trueline", "lib", "monitor::tests::containers::priority_queue_against_the_oracle", 10_000),
    kind("streams against whole histories", "trueline", "lib", "stream::tests::", 2_000),
    kind("live monitors of random runs", "trueline", "lib", "live::tests::random::", 2_000),
    kind("snapshots", "trueline", "it", "snapshots::monitors_agree_with_brute_force", 20_000),
    kind("quasi linearizability", "trueline", "it", "quasi::random_histories_agree_with_the_definition", 200),
    kind("symbolic monitors and saturation", "trueline", "it", "monitoring::", 500),
    kind("readers of formats", "trueline", "it", "fuzz_formats::", 20_000),
    kind("races by the orderings", "trueline-explore", "lib", "race::tests::races_are_those_of_the_definition", 200_000),
    kind("explored programs against all interleavings", "trueline-explore", "bare", "soundness::", 200),
    kind("models against a naive search", "trueline-model", "it", "naive_search::", 40),
    kind("random programs in all reductions", "trueline-model", "it", "random_models::", 20),
    kind("broken models", "trueline-model", "it", "errors::broken_models_are_errors_and_never_panics", 5_000),
];

/// How long a turn should take, and after how long it is taken to hang.
const TURN: Duration = Duration::from_secs(15);
const HANGS: Duration = Duration::from_secs(600);

const HELP: &str = "\
cargo xtask soak [--minutes N] [--seed N] [--only TEXT] [--list]

  --minutes N   how long (20)
  --seed N      the first seed (from the clock); a soak with the same one tries the same cases first
  --only TEXT   only kinds whose name contains this
  --list        print the kinds";

struct Options {
    time: Duration,
    seed: u64,
    only: String,
}

fn options(arguments: &[String]) -> Result<Option<Options>, String> {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |t| t.as_secs());
    let mut options =
        Options { time: Duration::from_secs(20 * 60), seed: clock << 24, only: String::new() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value\n\n{HELP}"));
        match argument.as_str() {
            "--minutes" => {
                let minutes: f64 = value()?.parse().map_err(|_| "--minutes takes a number")?;
                let seconds = Duration::try_from_secs_f64(minutes * 60.0);
                options.time = seconds.map_err(|_| "--minutes takes a number from 0 on")?;
            }
            "--seed" => options.seed = value()?.parse().map_err(|_| "--seed takes a number")?,
            "--only" => options.only = value()?.clone(),
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(None);
            }
            "--list" => {
                KINDS.iter().for_each(|kind| println!("{}", kind.what));
                return Ok(None);
            }
            _ => return Err(format!("unknown argument {argument}\n\n{HELP}")),
        }
    }
    Ok(Some(options))
}

/// What has been done, by kind.
#[derive(Clone, Default)]
struct Tally {
    cases: u64,
    seconds: f64,
    /// Seeds of the next turn, and where it starts.
    seeds: u64,
    next: u64,
    running: bool,
}

struct Finding {
    kind: &'static Kind,
    from: u64,
    seeds: u64,
    output: String,
}

pub(crate) fn soak(arguments: &[String]) -> ExitCode {
    let options = match options(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let kinds: Vec<&'static Kind> =
        KINDS.iter().filter(|k| k.what.contains(&options.only)).collect();
    if kinds.is_empty() {
        eprintln!("no kind contains '{}'; --list prints them", options.only);
        return ExitCode::from(2);
    }
    let Some(binaries) = binaries(&kinds) else {
        return ExitCode::FAILURE;
    };
    println!("seeds from {} on, for {:.0} s", options.seed, options.time.as_secs_f64());
    let start = |kind: &&Kind| Tally { seeds: kind.seeds, next: options.seed, ..Tally::default() };
    let tallies = Mutex::new(kinds.iter().map(start).collect::<Vec<Tally>>());
    let finding = Mutex::new(None);
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let told = Mutex::new(began);
    let worker = || {
        while !stop.load(Ordering::Relaxed) && began.elapsed() < options.time {
            let Some(turn) = claim(&mut lock(&tallies)) else {
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let (index, from, seeds) = turn;
            let kind = kinds[index];
            let turn_began = Instant::now();
            let result = run(&binaries[&(kind.package, kind.target)], kind, from, seeds, &stop);
            let seconds = turn_began.elapsed().as_secs_f64();
            match result {
                Ok(cases) => {
                    let mut tallies = lock(&tallies);
                    let tally = &mut tallies[index];
                    tally.cases += cases;
                    tally.seconds += seconds;
                    let factor = (TURN.as_secs_f64() / seconds.max(0.01)).clamp(0.25, 4.0);
                    tally.seeds = ((seeds as f64 * factor) as u64).max(1);
                    tally.running = false;
                    tell_progress(&tallies, &told, began);
                }
                Err(_) if stop.load(Ordering::Relaxed) => {}
                Err(output) => {
                    stop.store(true, Ordering::Relaxed);
                    lock(&finding).get_or_insert(Finding { kind, from, seeds, output });
                }
            }
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        (0..processors).for_each(|_| drop(scope.spawn(worker)));
    });
    report(&kinds, &lock(&tallies), began.elapsed());
    match lock(&finding).take() {
        None => {
            println!("no mismatch, no panic");
            ExitCode::SUCCESS
        }
        Some(found) => {
            tell(&found);
            ExitCode::FAILURE
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The kind that has had the least time and is not running: its index, first seed and number of
/// seeds.
fn claim(tallies: &mut [Tally]) -> Option<(usize, u64, u64)> {
    let waiting = tallies.iter().enumerate().filter(|(_, tally)| !tally.running);
    let (index, _) = waiting.min_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds))?;
    let tally = &mut tallies[index];
    tally.running = true;
    let from = tally.next;
    tally.next += tally.seeds;
    Some((index, from, tally.seeds))
}

/// Builds the test binaries; where each is.
fn binaries(kinds: &[&Kind]) -> Option<HashMap<(&'static str, &'static str), PathBuf>> {
    let mut all = HashMap::new();
    for kind in kinds {
        let mut command = Command::new("cargo");
        command.args(["test", "--no-run", "--features", "trueline/live", "-p", kind.package]);
        match kind.target {
            "lib" => command.arg("--lib"),
            target => command.args(["--test", target]),
        };
        if all.contains_key(&(kind.package, kind.target)) {
            continue;
        }
        println!("> building {} of {}", kind.target, kind.package);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().ok()?;
        let told = String::from_utf8_lossy(&output.stderr);
        // cargo says: Executable tests/it/main.rs (target/debug/deps/it-0123456789abcdef)
        let path = told.lines().filter(|line| line.trim_start().starts_with("Executable"));
        let path = path.filter_map(|line| line.rsplit_once('(')?.1.strip_suffix(')')).next_back();
        let Some(path) = path.filter(|_| output.status.success()) else {
            eprintln!("{told}");
            return None;
        };
        all.insert((kind.package, kind.target), PathBuf::from(path));
    }
    Some(all)
}

/// The sum of the cases that a test says it made, or what it printed when it failed.
fn run(
    binary: &Path,
    kind: &Kind,
    from: u64,
    seeds: u64,
    stop: &AtomicBool,
) -> Result<u64, String> {
    // Tests expect to run in the folder of their package.
    let binary = binary.canonicalize().map_err(|error| format!("{}: {error}", binary.display()))?;
    let mut child = Command::new(binary)
        .current_dir(format!("crates/{}", kind.package))
        .args(["--nocapture", "--test-threads=1", kind.test])
        .env("TRUELINE_FROM", from.to_string())
        .env("TRUELINE_CASES", seeds.to_string())
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let readers =
        (thread::spawn(move || text(out.as_mut())), thread::spawn(move || text(err.as_mut())));
    let status = wait(&mut child, stop);
    let out = readers.0.join().unwrap_or_default();
    let err = readers.1.join().unwrap_or_default();
    match status {
        Some(status) if status.success() => {
            let counts = out.lines().filter_map(|line| line.strip_prefix("cases: "));
            match counts.filter_map(|n| n.parse::<u64>().ok()).sum() {
                0 => Err(format!("the test made no case\n{out}")),
                cases => Ok(cases),
            }
        }
        Some(status) => Err(format!("{out}\n{err}\n{status}")),
        None => Err(format!("{out}\n{err}\nnot over after {} s", HANGS.as_secs())),
    }
}

fn text(source: Option<&mut impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(source) = source {
        // What was read until an error is all that there is to tell.
        let _ = source.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How it ended; nothing if it had to be ended.
fn wait(child: &mut Child, stop: &AtomicBool) -> Option<std::process::ExitStatus> {
    let began = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if stop.load(Ordering::Relaxed) || began.elapsed() > HANGS {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Says how far it got, once a minute.
fn tell_progress(tallies: &[Tally], told: &Mutex<Instant>, began: Instant) {
    let mut told = lock(told);
    if told.elapsed() >= Duration::from_secs(60) {
        *told = Instant::now();
        let cases: u64 = tallies.iter().map(|tally| tally.cases).sum();
        eprintln!("{:.0} s: {cases} cases, nothing found", began.elapsed().as_secs_f64());
    }
}

fn report(kinds: &[&Kind], tallies: &[Tally], time: Duration) {
    println!("{:>12} {:>8}  kind", "cases", "seconds");
    for (kind, tally) in kinds.iter().zip(tallies) {
        println!("{:>12} {:>8.0}  {}", tally.cases, tally.seconds, kind.what);
    }
    let all: u64 = tallies.iter().map(|tally| tally.cases).sum();
    println!("{all:>12} {:>8.0}  in all", time.as_secs_f64());
}

fn tell(Finding { kind, from, seeds, output }: &Finding) {
    let lines: Vec<&str> = output.lines().collect();
    let shown = &lines[lines.len().saturating_sub(60)..];
    println!("\n{}\n", shown.join("\n"));
    let target = match kind.target {
        "lib" => "--lib".to_string(),
        target => format!("--test {target}"),
    };
    println!("found by: {}. Again:", kind.what);
    println!(
        "  TRUELINE_FROM={from} TRUELINE_CASES={seeds} cargo test --features trueline/live -p {} {target} {} -- --nocapture",
        kind.package, kind.test
    );
}
