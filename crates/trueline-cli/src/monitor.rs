//! `trueline monitor`: events in as they come, the first violation out.

mod actions;
mod events;
mod follow;
mod interrupt;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use trueline::history::{self, Part};
use trueline::spec::{self, Named};
use trueline::stream::{Ended, Stopped, Tally, Violation, Watch};
use trueline::{Budget, Value};
use trueline_report::{Case, Look, SCHEMA, count, seconds};

use crate::again::{self, Again};
use crate::args::{MonitorArgs, Online, ensure_distinct};
use crate::exit::Exit;
use crate::limits;
use crate::output::{self, Output, complain};
use events::{Events, Names, Next, What};
use interrupt::Interrupt;

/// Events between two looks at the memory, and two updates of what an interrupt would tell.
const PERIOD: u64 = 1 << 12;
/// Bytes after which the memory is looked at, too: a few events can be long.
const LONG: u64 = 1 << 22;
/// Operations that are named in a sentence.
const FEW: usize = 4;
/// What is said at the end where something may have been missed: by saturation, or in lines that were left out.
const NOTHING_FOUND: &str = "no violation found";
/// Where the next event has to be waited for, what was put off is decided, unless that took more than one in so many parts
/// of the time.
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
    // From here on an interrupt waits for what is said to be said.
    let _said = interrupt.hold();
    let mut out = Output::new();
    let seconds = start.elapsed().as_secs_f64();
    let tally = watcher.tally();
    let ended = ended.map_err(|end| watcher.doubted(end));
    let exit = match ended {
        Ok(()) => Exit::Holds,
        Err(End::Input(message)) => {
            complain(format_args!("{message}"));
            return Ok(Exit::Error);
        }
        Err(End::Unknown(_)) => Exit::Undecided,
        Err(End::Violation(_)) => Exit::Violation,
    };
    let text = match ended {
        Err(End::Violation(violation)) => watcher.report(&name, &violation, seconds),
        Err(End::Unknown(why)) => watcher.summary(&name, "unknown", Some(&why), seconds, tally),
        // That saturation finds nothing does not mean that there is nothing, and a line that was skipped may be wrong.
        _ if args.algorithm == Online::Saturate || watcher.skipped > 0 => {
            watcher.summary(&name, NOTHING_FOUND, None, seconds, tally)
        }
        _ => watcher.summary(&name, "linearizable", None, seconds, tally),
    };
    out.show(&text, exit)?;
    // What it holds is given back with the process, at once.
    std::mem::forget(watcher);
    Ok(exit)
}

/// Why the end of the stream was not reached.
enum End {
    Violation(Box<Violation<history::Call, Value>>),
    /// From here on, and why.
    Unknown(String),
    /// With the file's name.
    Input(String),
}

struct Watcher<'a> {
    args: &'a MonitorArgs,
    budget: Budget,
    watch: Option<Box<dyn Watch>>,
    /// What read the file instead, and what it saw.
    direct: Option<(&'static str, Tally)>,
    spec: Option<Arc<Named>>,
    /// Lines that were left out.
    skipped: u64,
}

impl Watcher<'_> {
    fn run(&mut self, interrupt: &Interrupt) -> Result<(), End> {
        let mut events = Events::open(&self.args.files, self.args.follow).map_err(End::Input)?;
        let mut names = Names::default();
        let (mut seen, mut looked) = (0u64, 0);
        let (mut settled, mut cost) = (Instant::now(), Duration::ZERO);
        loop {
            if events.must_wait() {
                interrupt.tell(self.tally());
                if settled.elapsed() > SHARE * cost {
                    let start = Instant::now();
                    self.settle()?;
                    settled = Instant::now();
                    cost = settled - start;
                }
            }
            let told = match events.next() {
                Ok(Some(next)) => self.event(&next, &mut names),
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
                interrupt.tell(self.tally());
                if let Some(why) = limits::spent(&self.budget) {
                    return Err(End::Unknown(why.to_string()));
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

    /// A violation is none where lines were left out: what was in them may explain it.
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
        End::Unknown(format!(
            "{} {} skipped, and what was in them may explain what fits no order: {}{more}",
            count(self.skipped, "malformed line"),
            if self.skipped == 1 { "was" } else { "were" },
            few.join(", ")
        ))
    }

    /// An error with the name of the file that it is in.
    fn complete(&self, end: End, events: &Events) -> End {
        match end {
            End::Input(message) if !message.starts_with(events.file()) => {
                End::Input(format!("{}: {message}", events.file()))
            }
            other => other,
        }
    }

    fn settle(&mut self) -> Result<(), End> {
        match &mut self.watch {
            Some(watch) => watch.settle().map_err(|ended| end(ended, "")),
            None => Ok(()),
        }
    }

    fn tally(&self) -> Tally {
        match &self.watch {
            Some(watch) => watch.tally(),
            None => self.direct.map_or(Tally::default(), |(_, tally)| tally),
        }
    }

    fn event(&mut self, next: &Next<'_>, names: &mut Names) -> Result<(), End> {
        let watch = match &mut self.watch {
            Some(watch) => watch,
            None => {
                let spec = match &self.spec {
                    Some(spec) => spec.clone(),
                    None => named(next.spec, next.file).map_err(End::Input)?,
                };
                let watch = spec.watch(self.args.algorithm.into()).map_err(End::Input)?;
                self.spec = Some(spec);
                self.watch.insert(watch)
            }
        };
        let process = names.process(next.input, &next.held.process, || {
            watch.process(events::process_name(next, self.args.files.len()))
        });
        let at = next.held.at;
        let told = match &next.held.what {
            What::Call { args, part } => {
                let part = part.as_deref().cloned().unwrap_or_else(Part::default);
                let object = names.object(part, |part| watch.object(part)).map_err(End::Unknown)?;
                let rename = self.args.rename.iter().find(|r| r.from == next.method);
                let method = rename.map_or(next.method, |rename| rename.to.as_str());
                match watch.call(process, object, method, args.clone(), at) {
                    // The return of its last call was skipped: nobody knows what came of it.
                    Err(Stopped::Input(_))
                        if self.args.lenient && watch.unknown(process, at).is_ok() =>
                    {
                        watch.call(process, object, method, args.clone(), at)
                    }
                    told => told,
                }
            }
            What::Return(result) => watch.returns(process, result, at),
            What::Fail => watch.fails(process, at),
            What::Unknown => watch.unknown(process, at),
        };
        told.map_err(|ended| end(ended, next.file))
    }

    fn report(
        &self,
        name: &str,
        violation: &Violation<history::Call, Value>,
        seconds: f64,
    ) -> String {
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
        let tally = self.tally();
        if self.args.json {
            let mut object = trueline_report::json(&case);
            object["events"] = tally.events.into();
            object["operations"] = tally.operations.into();
            object["open"] = tally.open.into();
            object["most_held"] = tally.most_held.into();
            object["skipped"] = self.skipped.into();
            return format!("{object}\n");
        }
        let look = Look {
            width: output::width(None),
            ascii: output::wants_ascii(self.args.output.drawing.ascii),
            quiet: self.args.output.quiet,
        };
        let text = trueline_report::text(&case, &look)
            .render(output::wants_color(self.args.output.drawing.color));
        match self.args.output.quiet {
            true => text,
            false => format!("{text}seen after {}\n", describe(tally, self.skipped)),
        }
    }

    fn summary(
        &self,
        name: &str,
        verdict: &str,
        why: Option<&str>,
        seconds: f64,
        tally: Tally,
    ) -> String {
        let direct = self.direct.map_or("", |(algorithm, _)| algorithm);
        let algorithm = self.watch.as_ref().map_or(direct, |watch| watch.algorithm());
        let spec = self.spec.as_ref().map_or("", |spec| spec.text());
        if self.args.json {
            let mut object = json!({
                "schema": SCHEMA,
                "file": name,
                "verdict": verdict,
                "spec": spec,
                "algorithm": algorithm,
                "seconds": (seconds * 1e6).round() / 1e6,
                "events": tally.events,
                "operations": tally.operations,
                "open": tally.open,
                "most_held": tally.most_held,
                "skipped": self.skipped,
            });
            if let Some(why) = why {
                object["message"] = why.into();
            }
            if verdict == NOTHING_FOUND {
                object["verdict"] = "unknown".into();
                object["message"] = NOTHING_FOUND.into();
            }
            return format!("{object}\n");
        }
        let seen = describe(tally, self.skipped);
        let time = trueline_report::seconds(seconds);
        match why {
            Some(why) => {
                format!(
                    "unknown: {name}: from here on: {why}\n  no violation found: {seen}, {time}\n"
                )
            }
            None => format!("{verdict}: {name}: {seen}, {time}\n"),
        }
    }
}

fn describe(tally: Tally, skipped: u64) -> String {
    let mut text = format!(
        "{}, {} ({} open, at most {} held)",
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

fn end(ended: Ended, file: &str) -> End {
    match ended {
        Stopped::Violation(violation) => End::Violation(violation),
        Stopped::Unknown(why) => End::Unknown(why),
        Stopped::Input(error) => End::Input(format!("{file}:{error}")),
    }
}

/// The specification that the stream itself names.
fn named(spec: Option<&str>, file: &str) -> Result<Arc<Named>, String> {
    match spec {
        Some(text) => spec::named(text)
            .map(Arc::new)
            .map_err(|e| format!("{file}: the stream asks for a specification: {e}")),
        None => Err(format!(
            "{file}: the stream names no specification: expected --spec NAME; 'trueline specs' lists all"
        )),
    }
}

/// The command that watches the same again.
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

/// What a monitor says that is ended by Ctrl-C or by its time limit.
fn interrupted(name: &str, why: &str, as_json: bool, tally: Tally, elapsed: f64) -> String {
    if as_json {
        let object = json!({
            "schema": SCHEMA,
            "file": name,
            "verdict": "unknown",
            "message": why,
            "seconds": (elapsed * 1e6).round() / 1e6,
            "events": tally.events,
            "operations": tally.operations,
            "open": tally.open,
            "most_held": tally.most_held,
        });
        return format!("{object}\n");
    }
    let seen = describe(tally, 0);
    format!("unknown: {name}: {why}, no violation so far: {seen}, {}\n", seconds(elapsed))
}

/// True for standard input.
fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}
