//! Limits of time and memory: how they are written, and how the process measures them.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trueline::Budget;
use trueline::budget::{Exhausted, Meter};

/// A sample of the memory is as good as new for this long.
const FRESH: Duration = Duration::from_millis(5);
/// The default limit of memory, as a share of the free memory.
const SHARE: f64 = 0.75;

/// The limits of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) time: Option<Duration>,
    pub(crate) memory: Option<u64>,
}

impl Limits {
    /// A budget whose clock starts now.
    pub(crate) fn budget(&self) -> Budget {
        let mut budget = Budget::unlimited().meter(Gauge::new());
        if let Some(time) = self.time {
            budget = budget.time(time);
        }
        match self.memory.or_else(spare_memory) {
            Some(bytes) => budget.memory(bytes),
            None => budget,
        }
    }
}

/// Reading draws on the budget too.
pub(crate) fn spent(budget: &Budget) -> Option<Exhausted> {
    budget.spend(0).err()
}

/// The clock and the memory of this process.
struct Gauge {
    start: Instant,
    /// Nanoseconds since `start` at which `resident` was read.
    sampled: AtomicU64,
    resident: AtomicU64,
}

impl Gauge {
    fn new() -> Gauge {
        let resident = AtomicU64::new(resident());
        Gauge { start: Instant::now(), sampled: AtomicU64::new(0), resident }
    }
}

impl Meter for Gauge {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn resident(&self) -> u64 {
        let now = self.start.elapsed().as_nanos() as u64;
        let before = self.sampled.load(Ordering::Relaxed);
        let stale = now.saturating_sub(before) > FRESH.as_nanos() as u64;
        // Only the thread that wins the exchange reads the file; the others use the last sample.
        if stale
            && self
                .sampled
                .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.resident.store(resident(), Ordering::Relaxed);
        }
        self.resident.load(Ordering::Relaxed)
    }
}

/// Bytes of memory that the process holds; 0 if the system does not report it.
pub(crate) fn resident() -> u64 {
    const PAGE: u64 = 4096;
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .map_or(0, |pages: u64| pages * PAGE)
}

/// The free memory of the machine or the container.
pub(crate) fn spare_memory() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024;
    let number = |path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    let spare = group.map_or(available, |max| available.min(max.saturating_sub(used)));
    Some(((spare + resident()) as f64 * SHARE) as u64)
}

/// `10s`, `500ms`, `2m`, `1.5h`; a bare number means seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number and a unit, one of ms, s, m, h: 10s".to_string();
    let (number, unit) = number_and_unit(text).ok_or_else(expected)?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(expected()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| "this is too long".to_string())
}

/// `200M`, `4G`, `512MiB`; a bare number means bytes.
pub(crate) fn parse_memory(text: &str) -> Result<u64, String> {
    let expected = || {
        "expected a number and a unit, one of K, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (powers of 1024): 4G"
            .to_string()
    };
    let (number, unit) = number_and_unit(text).ok_or_else(expected)?;
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (prefix, base) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, 1024f64),
        None => (unit, 1000f64),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|p| *p == prefix).ok_or_else(expected)?;
    let bytes = number * base.powi(power as i32);
    if bytes < 1.0 { Err("this is no memory at all".into()) } else { Ok(bytes as u64) }
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let seconds = |text| parse_time(text).map(|t| t.as_secs_f64());
        for (text, expected) in
            [("10s", 10.0), ("500ms", 0.5), ("2m", 120.0), ("1.5h", 5400.0), ("3", 3.0)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "s", "10x", "-1s", "1e3s", "1.2.3s", "99999999999999999999999h"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in
            [("200M", 200_000_000), ("4G", 4_000_000_000), ("1KiB", 1024), ("7", 7)]
        {
            assert_eq!(parse_memory(text), Ok(expected), "{text}");
        }
        for text in ["", "G", "0", "-1G", "4X"] {
            assert!(parse_memory(text).is_err(), "{text}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_holds_memory() {
        assert!(Gauge::new().resident() > 100_000);
        assert!(spare_memory().is_some_and(|bytes| bytes > 1_000_000));
    }
}
