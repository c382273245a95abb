//! `trueline monitor`: reads events as they arrive and reports the first violation.

mod actions;
mod events;
mod follow;
mod interrupt;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trueline::formats::EventLine;
use trueline::history::{Call, Event};
use trueline::spec::{self, Named};
use trueline::stream::{Ended, Stopped, Tally, Violation, Watch};
use trueline::{Budget, Value};
use trueline_report::{Answer, Case, Look, Report, Section, Undecided, count, seconds};

use crate::again::{self, Again};
use crate::args::{MonitorArgs, Online, ensure_distinct};
use crate::exit::Exit;
use crate::limits;
use crate::output::{self, Output};
use crate::pages::Pages;
use events::{Events, Next, Numbers};
use interrupt::Interrupt;

/// Events between two checks of the memory, which also update the summary for an interrupt.
const PERIOD: u64 = 1 << 12;
/// Bytes after which the memory is checked, too: a few events can be long.
const LONG: u64 = 1 << 22;
/// At most this many operations are named in a sentence.
const FEW: usize = 4;
/// The reason if lines were skipped.
const SKIPPED: &str = "skipped-lines";
/// The verdict if a violation may have been missed: by saturation, or in skipped lines.
const NOTHING_FOUND: &str = "no violation found";
/// While the monitor waits for the next event, it decides what it had deferred, as long as that
/// takes at most one part in this many of the time.
const SHARE: u32 = 10;

pub(crate) fn run(args: &MonitorArgs) -> anyhow::Result<Exit> {
    let name = match args.files.as_slice() {
        [one] => one.display().to_string(),
        several => {
            let names: Vec<String> = several.iter().map(|f| f.display().to_string()).collect();
            names.join(",")
        }
    };
    ensure_distinct(&args.rename)?;
    let interrupt = Interrupt::catch(&name, args)?;
    if let Some(timeout) = args.timeout {
        interrupt.after(timeout, &name, args.json)?;
    }
    let memory = args.memory.or_else(limits::spare_memory);
    if let Some(bytes) = memory {
        interrupt.beyond(bytes, &name, args.json)?;
    }
    let start = Instant::now();
    let budget = limits::Limits { time: args.timeout, memory }.budget();
    let (spec, watch, direct, skipped) = (args.spec.clone(), None, None, 0);
    let mut watcher = Watcher { args, budget, watch, direct, spec, skipped };
    let ended = match actions::watch(&mut watcher) {
        Some(ended) => ended,
        None => watcher.run(&interrupt),
    };
    // Delays an interrupt until the report is printed.
    let _said = interrupt.hold();
    let mut out = Output::new();
    let seconds = start.elapsed().as_secs_f64();
    let tally = watcher.tally();
    let ended = ended.map_err(|end| watcher.doubted(end));
    let exit = match ended {
        Ok(()) => Exit::Holds,
        Err(End::Input(message)) => {
            out.refuse(&name, &message, args.json, Exit::Error)?;
            return Ok(Exit::Error);
        }
        Err(End::Unknown(_)) => Exit::Undecided,
        Err(End::Violation(_)) => Exit::Violation,
    };
    let text = match ended {
        Err(End::Violation(violation)) => watcher.report(&name, &violation, seconds),
        Err(End::Unknown(why)) => watcher.summary(&name, Answer::Unknown(why), seconds, tally),
        // Saturation may miss a violation, and a skipped line may contain one.
        _ if args.algorithm == Online::Saturate || watcher.skipped > 0 => {
            let code = if watcher.skipped > 0 { SKIPPED } else { "incomplete" };
            let nothing = Undecided { words: NOTHING_FOUND, ..Undecided::new(code, NOTHING_FOUND) };
            watcher.summary(&name, Answer::Unknown(nothing), seconds, tally)
        }
        _ => watcher.summary(&name, Answer::holds("linearizable"), seconds, tally),
    };
    let text = text.map_err(anyhow::Error::msg)?;
    out.show(&text, exit)?;
    // Ending the process frees its memory at once.
    std::mem::forget(watcher);
    Ok(exit)
}

/// Why the monitor stopped before the end of the stream.
enum End {
    Violation(Box<Violation<Call, Value>>),
    /// Undecided from here on, for this reason.
    Unknown(Undecided),
    /// An unusable input; the message names the file.
    Input(String),
}

struct Watcher<'a> {
    args: &'a MonitorArgs,
    budget: Budget,
    watch: Option<Watch>,
    /// The reader that decided the file without a monitor, and its counts.
    direct: Option<(&'static str, Tally)>,
    spec: Option<Arc<Named>>,
    /// The number of skipped lines.
    skipped: u64,
}

impl Watcher<'_> {
    fn run(&mut self, interrupt: &Interrupt) -> Result<(), End> {
        let mut events = Events::open(&self.args.files, self.args.follow).map_err(End::Input)?;
        let mut numbers = Numbers::default();
        let (mut seen, mut looked) = (0u64, 0);
        let (mut decided, mut cost) = (Instant::now(), Duration::ZERO);
        loop {
            if events.must_wait() {
                interrupt.update(self.tally());
                if decided.elapsed() > SHARE * cost {
                    let start = Instant::now();
                    self.decide_deferred()?;
                    decided = Instant::now();
                    cost = decided - start;
                }
            }
            let told = match events.next() {
                Ok(Some(next)) => self.event(next, &events, &mut numbers),
                Ok(None) => break,
                Err(error) if error.is_line => Err(End::Input(error.message)),
                Err(error) => return Err(End::Input(error.message)),
            };
            match told {
                Ok(()) => {}
                Err(End::Input(_)) if self.args.lenient => self.skipped += 1,
                Err(end) => return Err(self.complete(end, &events)),
            }
            seen += 1;
            if seen.is_multiple_of(PERIOD) || events.bytes() - looked > LONG {
                looked = events.bytes();
                interrupt.update(self.tally());
                if let Some(why) = limits::spent(&self.budget) {
                    return Err(End::Unknown(Undecided::limit(&why)));
                }
            }
        }
        match &mut self.watch {
            Some(watch) => watch.finish().map_err(|ended| end(ended, "")),
            // An empty log must not pass.
            None => Err(End::Input(format!(
                "{}: no events: expected a line such as {{\"process\":0,\"call\":\"enq\",\"args\":[5]}}",
                events.file()
            ))),
        }
    }

    /// If lines were skipped, a violation is unknown: their content may explain it.
    fn doubted(&self, end: End) -> End {
        let End::Violation(violation) = end else { return end };
        if self.skipped == 0 {
            return End::Violation(violation);
        }
        let Violation { history, .. } = &*violation;
        let show = |i: u32| match &self.spec {
            Some(spec) => spec.show(history, i, true),
            None => history.show(i),
        };
        let few: Vec<String> = (0..history.len().min(FEW) as u32).map(show).collect();
        let more = if history.len() > FEW { ", .." } else { "" };
        let why = format!(
            "{} {} skipped and may contain events that explain the operations that fit no order: {}{more}",
            count(self.skipped, "malformed line"),
            if self.skipped == 1 { "was" } else { "were" },
            few.join(", ")
        );
        End::Unknown(Undecided::new(SKIPPED, why))
    }

    /// Adds the name of the file to an error.
    fn complete(&self, end: End, events: &Events) -> End {
        match end {
            End::Input(message) if !message.starts_with(events.file()) => {
                End::Input(format!("{}: {message}", events.file()))
            }
            other => other,
        }
    }

    fn decide_deferred(&mut self) -> Result<(), End> {
        match &mut self.watch {
            Some(watch) => watch.decide_deferred().map_err(|ended| end(ended, "")),
            None => Ok(()),
        }
    }

    fn tally(&self) -> Tally {
        match &self.watch {
            Some(watch) => watch.tally(),
            None => self.direct.map_or(Tally::default(), |(_, tally)| tally),
        }
    }

    fn event(&mut self, next: Next, events: &Events, numbers: &mut Numbers) -> Result<(), End> {
        let watch = match &mut self.watch {
            Some(watch) => watch,
            None => {
                let spec = match &self.spec {
                    Some(spec) => spec.clone(),
                    None => named(events.spec(), events.file()).map_err(End::Input)?,
                };
                let watch = spec.watch(self.args.algorithm.into());
                let watch = watch.map_err(|error| End::Input(error.to_string()))?;
                self.spec = Some(spec);
                self.watch.insert(watch)
            }
        };
        let process = numbers.process(&next, || watch.process(events.process_name(&next)));
        let Next { line: EventLine { event, at, .. }, input } = next;
        let event = match event {
            Event::Call(part, Call { method, args }) => {
                let reader = events.reader(input);
                let new = |part| watch.object(part);
                let object = numbers.object(input, part, reader.part(part), new);
                let object = object.map_err(|error| unfit(error.to_string()))?;
                let method = numbers.method(input, method, || {
                    let name = reader.method(method);
                    let rename = self.args.rename.iter().find(|r| r.from == name);
                    watch.method(rename.map_or(name, |rename| rename.to.as_str()))
                });
                Event::Call(object, Call { method, args })
            }
            other => other,
        };
        let call = (self.args.lenient && matches!(event, Event::Call(..))).then(|| event.clone());
        let told = match (watch.event(process, event, at), call) {
            // The return of its last call was skipped, so the outcome is unknown.
            (Err(Stopped::Input(_)), Some(call))
                if watch.event(process, Event::Unknown, at).is_ok() =>
            {
                watch.event(process, call, at)
            }
            (told, _) => told,
        };
        told.map_err(|ended| end(ended, events.file()))
    }

    fn report(
        &self,
        name: &str,
        violation: &Violation<Call, Value>,
        seconds: f64,
    ) -> Result<String, String> {
        let Violation { history, outcome } = violation;
        let show = |i: u32, with_result: bool| match &self.spec {
            Some(spec) => spec.show(history, i, with_result),
            None => history.show(i),
        };
        let again = again(name, self.args);
        let spec = self.spec.as_ref().map_or("", |spec| spec.text());
        let case = Case {
            file: name,
            history,
            spec,
            show: &show,
            outcome,
            seconds,
            again: &again,
            witness: false,
        };
        let mut report = case.report();
        let tally = self.tally();
        add_tally(&mut report, tally);
        report.field("skipped", self.skipped);
        let seen = format!("found after {}", describe(tally, self.skipped));
        report.sections.push(Section::Paragraph(seen));
        let html = self.args.output.html.as_deref();
        if html.is_some() {
            report.timeline = Some(case.timeline(self.spec.as_deref()));
        }
        Pages::new(html, false).add(&mut report)?;
        Ok(output::render(&report, self.args.json, &self.args.output))
    }

    /// The report on a stream without a violation.
    fn summary(
        &self,
        name: &str,
        answer: Answer,
        seconds: f64,
        tally: Tally,
    ) -> Result<String, String> {
        let direct = self.direct.map_or("", |(algorithm, _)| algorithm);
        let algorithm = self.watch.as_ref().map_or(direct, |watch| watch.algorithm());
        let seen =
            format!("{}, {}", describe(tally, self.skipped), trueline_report::seconds(seconds));
        let (summary, section) = match &answer {
            Answer::Unknown(Undecided { words: "unknown", message, .. }) => (
                format!("undecided from here on: {message}"),
                Some(Section::Paragraph(format!("no violation found: {seen}"))),
            ),
            _ => (seen, None),
        };
        let mut report = Report::new(name, answer, summary);
        report.field("spec", self.spec.as_ref().map_or("", |spec| spec.text()));
        report.field("algorithm", algorithm);
        report.field("seconds", (seconds * 1e6).round() / 1e6);
        add_tally(&mut report, tally);
        report.field("skipped", self.skipped);
        report.sections.extend(section);
        Pages::new(self.args.output.html.as_deref(), false).add(&mut report)?;
        Ok(output::render(&report, self.args.json, &self.args.output))
    }
}

/// Adds the counts of the stream, for programs.
fn add_tally(report: &mut Report, tally: Tally) {
    report.field("events", tally.events);
    report.field("operations", tally.operations);
    report.field("open", tally.open);
    report.field("most_held", tally.most_held);
}

fn describe(tally: Tally, skipped: u64) -> String {
    let mut text = format!(
        "{}, {} ({} pending, at most {} in memory)",
        count(tally.events, "event"),
        count(tally.operations, "operation"),
        tally.open,
        tally.most_held
    );
    if skipped > 0 {
        text += &format!(", {} skipped", count(skipped, "malformed line"));
    }
    text
}

/// The monitor cannot decide the events from here on.
fn unfit(why: String) -> End {
    End::Unknown(Undecided::new("not-applicable", why))
}

fn end(ended: Ended, file: &str) -> End {
    match ended {
        Stopped::Violation(violation) => End::Violation(violation),
        Stopped::Unknown(why) => unfit(why),
        Stopped::Input(error) => End::Input(format!("{file}:{error}")),
    }
}

/// The specification that the stream itself names.
fn named(spec: Option<&str>, file: &str) -> Result<Arc<Named>, String> {
    match spec {
        Some(text) => spec::named(text).map(Arc::new).map_err(|e| {
            format!("{file}: the specification that the stream names is invalid: {e}")
        }),
        None => Err(format!(
            "{file}: the stream names no specification: expected --spec NAME; 'trueline specs' lists all"
        )),
    }
}

/// The command that watches the same stream again.
fn again(name: &str, args: &MonitorArgs) -> String {
    let renames: Vec<String> = args.rename.iter().map(|r| format!("{}={}", r.from, r.to)).collect();
    let command = Again::new("monitor")
        .maybe("spec", args.spec.as_ref().map(|spec| spec.text()))
        .maybe("algorithm", (args.algorithm == Online::Saturate).then_some("saturate"))
        .maybe("rename", (!renames.is_empty()).then(|| renames.join(",")))
        .maybe("timeout", args.timeout.map(again::time))
        .maybe("memory", args.memory.map(|bytes| bytes.to_string()));
    let command = if args.lenient { command.switch("lenient") } else { command };
    match args.files.as_slice() {
        [] | [_] => command.file(name),
        several => command.files(several.iter().map(|file| file.display().to_string())),
    }
}

/// The report of a monitor that Ctrl-C or a limit ended.
fn interrupted(name: &str, why: &Undecided, as_json: bool, tally: Tally, elapsed: f64) -> String {
    let seen = format!("{}, {}", describe(tally, 0), seconds(elapsed));
    let summary = format!("{}, no violation so far: {seen}", why.message);
    let mut report = Report::new(name, Answer::Unknown(why.clone()), summary);
    report.field("seconds", (elapsed * 1e6).round() / 1e6);
    add_tally(&mut report, tally);
    match as_json {
        true => format!("{}\n", report.json()),
        false => report.text(&Look::default()).render(false),
    }
}

/// Whether this is standard input.
fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}
