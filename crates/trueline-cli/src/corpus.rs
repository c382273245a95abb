//! `trueline corpus`: checks every history of a manifest and compares the verdicts with the stated
//! ones.
//!
//! Rows are decided on all cores and reported in the order of the manifest, so that the output is
//! always the same.

mod manifest;
mod tally;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context, bail};
use serde_json::{Value as Json, json};
use trueline::formats::ReadOptions;
use trueline::{Verdict, spec};
use trueline_report::{Case, IndexRow, SCHEMA, clean, index_page};

use crate::again::{self, Again};
use crate::args::CorpusArgs;
use crate::check::name_guess;
use crate::exit::Exit;
use crate::input::{self, Failure, Reading};
use crate::limits::Limits;
use crate::output::Output;
use crate::progress;
use manifest::Row;
use tally::Tally;

/// How the check of a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Passed,
    Failed,
    /// Counts as failed.
    Unreadable,
    Skipped,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Failed | Ending::Unreadable => "failed",
            Ending::Skipped => "skipped",
        }
    }

    fn exit(self) -> Exit {
        match self {
            Ending::Passed => Exit::Holds,
            Ending::Failed => Exit::Violation,
            Ending::Unreadable => Exit::Error,
            Ending::Skipped => Exit::Undecided,
        }
    }
}

/// A row that was checked.
struct Done {
    ending: Ending,
    /// The message for people; empty for a row that passed.
    message: String,
    seconds: f64,
    json: Json,
    /// Whether the values look like keys, and neither the manifest nor the specification says so.
    guessed_keys: bool,
    /// The answer in its headline, and the rest of the headline.
    headline: (String, String),
    /// The file of its page in the folder of pages.
    page: Option<String>,
}

pub(crate) fn run(args: &CorpusArgs) -> anyhow::Result<Exit> {
    // Reports an error before any row is checked.
    args.deciding.algorithm()?;
    let mut rows = manifest::read(&args.manifest)?;
    if let Some(only) = &args.only {
        rows.retain(|row| row.path.contains(only) || row.spec.contains(only));
        if rows.is_empty() {
            bail!("{}: no row contains {only}", args.manifest.display());
        }
    }
    let folder = args.manifest.parent().unwrap_or(Path::new(""));
    let mut out = Output::new();
    let mut exit = Exit::Holds;
    let mut tally = Tally::default();
    let start = Instant::now();
    let finished = AtomicUsize::new(0);
    let say = || format!("row {} of {}", finished.load(Ordering::Relaxed) + 1, rows.len());
    if let Some(pages) = &args.html {
        fs::create_dir_all(pages).with_context(|| format!("--html: {}", pages.display()))?;
    }
    let mut index = Vec::new();
    let result = progress::during(say, || {
        in_order(
            rows.len(),
            |n| look_at(&rows[n], n, folder, args),
            |n, mut done| {
                finished.store(n + 1, Ordering::Relaxed);
                if args.html.is_some() {
                    index.push(index_row(&rows[n], &mut done));
                }
                exit = exit.max(done.ending.exit());
                tally.add(&rows[n], done.ending, done.seconds);
                if done.guessed_keys {
                    tally.add_guess(&rows[n]);
                }
                let text = if args.json { done.json.to_string() } else { done.message };
                if text.is_empty() {
                    return Ok(());
                }
                progress::clear();
                out.show(&format!("{text}\n"), exit)
            },
        )
    });
    result?;
    let seconds = start.elapsed().as_secs_f64();
    let text = if args.json { format!("{}\n", tally.json(seconds)) } else { tally.text() };
    out.show(&text, exit)?;
    if let Some(pages) = &args.html {
        let file = pages.join("index.html");
        let text = index_page(&args.manifest.display().to_string(), &index);
        fs::write(&file, text).with_context(|| format!("--html: {}", file.display()))?;
        if !args.json {
            out.show(&format!("  page: {}\n", clean(&file.display().to_string())), exit)?;
        }
    }
    Ok(exit)
}

/// The row of the index for a row of the manifest.
fn index_row(row: &Row, done: &mut Done) -> IndexRow {
    let (words, summary) = std::mem::take(&mut done.headline);
    let expected = row.verdict.as_deref().unwrap_or("nothing");
    IndexRow {
        subject: row.path.clone(),
        words,
        summary,
        note: format!("{}: expected {expected}", done.ending.name()),
        file: done.page.take(),
    }
}

/// Does `work` for every number below `n` on all cores and gives the results to `take` in order. An
/// error of `take` ends it.
fn in_order<T: Send>(
    n: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(n) {
            let (send, next, work) = (send.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= n || send.send((i, work(i))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        for (i, result) in receive {
            waiting.insert(i, result);
            while let Some(result) = waiting.remove(&turn) {
                if let Err(error) = take(turn, result) {
                    next.store(n, Ordering::Relaxed);
                    return Err(error);
                }
                turn += 1;
            }
        }
        Ok(())
    })
}

/// Reads and decides one row, the one with this number.
fn look_at(row: &Row, number: usize, folder: &Path, args: &CorpusArgs) -> Done {
    let start = Instant::now();
    let file = folder.join(&row.path);
    let again = Again::new("check")
        .flag("spec", &row.spec)
        .flag("format", &row.format)
        .flag("keys", row.keys.name());
    let again = args
        .deciding
        .again(again)
        .flag("timeout", again::time(args.timeout))
        .maybe("memory", args.memory.map(|bytes| bytes.to_string()))
        .file(&file.display().to_string());
    let done = |ending: Ending, text: String, mut json: Json| {
        let seconds = start.elapsed().as_secs_f64();
        json["group"] = row.group().into();
        json["expected"] = row.verdict.as_deref().into();
        json["result"] = ending.name().into();
        let (path, text, again) = (clean(&row.path), clean(&text), clean(&again));
        let message = match ending {
            Ending::Passed => String::new(),
            Ending::Skipped => format!("skipped: {path}: {text}"),
            Ending::Failed => format!("failed: {path}: {text}\n  reproduce: {again}"),
            // The message already contains the file's name.
            Ending::Unreadable => format!("failed: {text}\n  reproduce: {again}"),
        };
        let guessed_keys = json.get("keys").is_some();
        let headline = (ending.name().to_string(), text);
        Done { ending, message, seconds, json, guessed_keys, headline, page: None }
    };
    let wrong = |message: String| {
        let json = json!({ "schema": SCHEMA, "file": row.path, "error": message, "again": again });
        done(Ending::Unreadable, message, json)
    };

    let (format, spec) = match (row.format.parse(), spec::named(&row.spec)) {
        (Ok(format), Ok(spec)) => (format, spec),
        (Err(error), _) => return wrong(format!("{}: {error}", row.path)),
        (_, Err(error)) => return wrong(format!("{}: {error}", row.path)),
    };
    let budget = Limits { time: Some(args.timeout), memory: args.memory }.budget();
    let options = ReadOptions { format: Some(format), keys: input::keys(row.keys, Some(&spec)) };
    let reading = Reading { options, rename: &[] };
    let history = match input::read(&file, &reading, &budget, &AtomicU64::new(0)) {
        Ok(history) => history,
        Err(Failure::Exhausted(why)) => {
            let json = json!({ "schema": SCHEMA, "file": row.path, "verdict": "unknown" });
            return done(Ending::Skipped, format!("{why} while it was read"), json);
        }
        Err(failure) => return wrong(failure.message(&row.path)),
    };
    let algorithm = match args.deciding.algorithm() {
        Ok(algorithm) => algorithm,
        Err(error) => return wrong(format!("{}: {error}", row.path)),
    };
    let outcome = match spec.check(&history, algorithm, &budget) {
        Ok(outcome) => outcome,
        Err(error) => return wrong(format!("{}:{error}", row.path)),
    };
    let case = Case {
        file: &row.path,
        history: &history,
        spec: spec.text(),
        show: &|i, with_result| spec.show(&history, i, with_result),
        outcome: &outcome,
        seconds: start.elapsed().as_secs_f64(),
        again: &again,
        witness: false,
    };
    let mut report = case.report();
    let mut page = None;
    if let Some(pages) = &args.html {
        let file = format!("{}.html", number + 1);
        report.timeline = Some(case.timeline(Some(&spec)));
        if let Err(error) = fs::write(pages.join(&file), report.page()) {
            return wrong(format!("--html: {}: {error}", pages.join(&file).display()));
        }
        report.page = Some(pages.join(&file).display().to_string());
        page = Some(file);
    }
    let headline = (report.verdict.words().to_string(), report.summary.clone());
    let mut json = report.json();
    let done = |ending, text, json| Done { headline, page, ..done(ending, text, json) };
    if let Some(has_keys) = history.guessed_keys() {
        json["keys"] = name_guess(has_keys).into();
    }
    let found = outcome.verdict.name();
    match (&outcome.verdict, &row.verdict) {
        (Verdict::Unknown(_), _) => {
            let why = json["message"].as_str().unwrap_or_default();
            let progress = json["progress"].as_str().unwrap_or_default();
            let text = if progress.is_empty() { why.into() } else { format!("{why}; {progress}") };
            done(Ending::Skipped, text, json)
        }
        (_, Some(expected)) if expected != found => {
            done(Ending::Failed, format!("expected {expected}, found {found}"), json)
        }
        _ => done(Ending::Passed, String::new(), json),
    }
}
