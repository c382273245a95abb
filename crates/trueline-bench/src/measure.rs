//! What the benchmarks share: times as medians, peaks of memory, temporary files, and how numbers
//! are shown.
//!
//! **Invariant.** Results are dropped outside of what is timed, and a decision that its budget
//! stopped is never shown as a time: it is shown as 'more than'.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use trueline::budget::Meter;
use trueline::formats::{self, Format, ReadOptions};
use trueline::spec::Named;
use trueline::{Algorithm, Budget, History, Verdict};

use crate::memory;

/// No decision may hold more: a reference search without bounds would take the machine down with
/// it.
const MEMORY: u64 = 4_000_000_000;

/// A decision, measured.
pub(crate) struct Decision {
    /// Median over the runs.
    pub(crate) seconds: f64,
    /// The most bytes held at once beyond those that were held before, over all runs.
    pub(crate) peak: usize,
    /// `linearizable`, `violation` or `unknown`.
    pub(crate) verdict: &'static str,
    /// What decided, as [`trueline::Outcome`] tells it.
    pub(crate) algorithm: &'static str,
    /// How many operations explain a violation.
    pub(crate) explained: usize,
}

impl Decision {
    pub(crate) fn is_decided(&self) -> bool {
        self.verdict != "unknown"
    }

    /// The time in seconds, or that it was more.
    pub(crate) fn shown(&self) -> String {
        let more = if self.is_decided() { "" } else { "> " };
        format!("{more}{}", seconds(self.seconds))
    }
}

/// Decides up to `runs` times, fewer once that took `enough`. A decision that the budget stopped is
/// not repeated.
pub(crate) fn decide(
    spec: &Named,
    history: &History,
    algorithm: Algorithm,
    timeout: Duration,
    (runs, enough): (usize, Duration),
) -> anyhow::Result<Decision> {
    let (mut times, mut peak) = (Vec::new(), 0);
    let begin = Instant::now();
    loop {
        let budget = Budget::unlimited().time(timeout).memory(MEMORY).meter(Gauge(Instant::now()));
        let before = memory::held();
        memory::reset_peak();
        let start = Instant::now();
        let outcome = spec.check(history, algorithm, &budget);
        times.push(start.elapsed().as_secs_f64());
        peak = peak.max(memory::peak() - before);
        let outcome = outcome.map_err(|e| anyhow!("{}:{e}", spec.text()))?;
        let explained = match &outcome.verdict {
            Verdict::Violation(why) => why.operations.len(),
            _ => 0,
        };
        let verdict = outcome.verdict.name();
        if times.len() >= runs || begin.elapsed() >= enough || verdict == "unknown" {
            let algorithm = outcome.algorithm;
            return Ok(Decision { seconds: median(times), peak, verdict, algorithm, explained });
        }
    }
}

/// The clock, and the memory as the allocator counts it.
pub(crate) struct Gauge(pub(crate) Instant);

impl Meter for Gauge {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn resident(&self) -> u64 {
        memory::held() as u64
    }
}

/// A file read, measured.
pub(crate) struct Reading {
    /// What was read last.
    pub(crate) history: History,
    /// Median over the runs.
    pub(crate) seconds: f64,
    /// The most bytes held at once beyond those that were held before.
    pub(crate) peak: usize,
    /// Bytes that the history holds.
    pub(crate) held: usize,
}

/// Reads `runs` times what `open` gives.
pub(crate) fn read<R: io::Read>(
    open: impl Fn() -> io::Result<R>,
    options: &ReadOptions,
    runs: usize,
) -> anyhow::Result<Reading> {
    let mut times = Vec::new();
    loop {
        let before = memory::held();
        memory::reset_peak();
        let start = Instant::now();
        let (history, _) = formats::read(open()?, options).map_err(|e| anyhow!("line {e}"))?;
        times.push(start.elapsed().as_secs_f64());
        if times.len() >= runs {
            let (peak, held) = (memory::peak() - before, memory::held() - before);
            return Ok(Reading { history, seconds: median(times), peak, held });
        }
    }
}

/// A history in a temporary file, which goes when this is dropped.
pub(crate) struct TempFile {
    path: PathBuf,
    /// Its size in bytes.
    pub(crate) bytes: u64,
}

impl TempFile {
    /// Writes a history. `name` tells it from other files of this process.
    pub(crate) fn write(history: &History, format: Format, name: &str) -> anyhow::Result<TempFile> {
        let path =
            std::env::temp_dir().join(format!("trueline-bench-{}-{name}", std::process::id()));
        let mut file = TempFile { path, bytes: 0 };
        let opened = File::create_new(&file.path).context("the temporary file")?;
        let mut out = BufWriter::new(opened);
        formats::write(history, format, &mut out)?;
        out.flush()?;
        file.bytes = out.get_ref().metadata()?.len();
        Ok(file)
    }

    pub(crate) fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = fs::remove_file(&self.path);
    }
}

/// The middle of the numbers, the lower one of two.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// Seconds with three digits that count: `12.3`, `0.0123`, `0.000123`.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.1}"),
        s if s >= 1.0 => format!("{s:.2}"),
        s if s >= 0.1 => format!("{s:.3}"),
        s if s >= 0.01 => format!("{s:.4}"),
        s if s >= 0.001 => format!("{s:.5}"),
        s => format!("{s:.6}"),
    }
}

/// A large number for people: `950`, `12.3k`, `4.56M`.
pub(crate) fn large(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.2}M", n / 1e6),
        n if n >= 1e3 => format!("{:.1}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

/// How often the second goes into the first: `12`, `1.2`, `0.34`; nothing where there is nothing to
/// divide by.
pub(crate) fn ratio(above: f64, below: f64) -> String {
    match above / below {
        r if !r.is_finite() => "-".to_string(),
        r if r >= 10.0 => format!("{r:.0}"),
        r if r >= 1.0 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}

/// `5s`, `500ms`; a bare number means seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds: Option<f64> = number.parse().ok();
    seconds
        .and_then(|s| Duration::try_from_secs_f64(s * unit).ok())
        .ok_or_else(|| "expected a number and a unit, ms or s: 5s".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_units() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 1.0);
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2"), Ok(Duration::from_secs(2)));
        assert!(parse_time("-1s").is_err() && parse_time("soon").is_err());
        assert_eq!([seconds(12.34), seconds(0.01234)], ["12.3", "0.0123"]);
        assert_eq!([large(950.0), large(12_345.0), large(2e6)], ["950", "12.3k", "2.00M"]);
        assert_eq!([ratio(1.0, 0.0), ratio(30.0, 2.0), ratio(1.0, 4.0)], ["-", "15", "0.25"]);
    }

    #[test]
    fn a_peak_outlives_what_made_it() {
        let before = memory::held();
        memory::reset_peak();
        drop(std::hint::black_box(vec![0u8; 100_000_000]));
        // Other tests may run beside this one: the numbers are theirs too.
        assert!(memory::peak() >= before + 50_000_000);
        assert!(memory::held() < before + 50_000_000);
    }

    #[test]
    fn a_temporary_file_reads_back_and_goes() {
        let spec = trueline::spec::named("queue").unwrap();
        let plan = trueline::generate::Plan { operations: 100, ..Default::default() };
        let history = spec.generate(&plan).unwrap();
        let file = TempFile::write(&history, Format::JsonLines, "test").unwrap();
        let again = read(|| file.open(), &ReadOptions::default(), 2).unwrap();
        assert_eq!(again.history.len(), 100);
        let once = (1, Duration::ZERO);
        let decision =
            decide(&spec, &again.history, Algorithm::Auto, Duration::from_secs(60), once).unwrap();
        assert_eq!(decision.verdict, "linearizable");
        let path = file.path.clone();
        drop(file);
        assert!(!path.exists());
    }
}
