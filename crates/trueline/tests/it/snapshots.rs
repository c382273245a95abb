//! Snapshots: the monitors, offline and online, against brute force on small random histories of
//! three kinds, and the properties that explain violations.
//!
//! `TRUELINE_CASES` sets the number of histories.

use trueline::formats::{self, Format, ReadOptions};
use trueline::history::{Args, Builder, Call, Position};
use trueline::rng::{Rng, seeds};
use trueline::spec::{self, Named};
use trueline::stream::{self, Stopped};
use trueline::verdict::Reason;
use trueline::{Algorithm, Budget, History, Value, Verdict};

/// What happens: to which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Call(usize),
    Return(usize),
}

#[derive(Clone, Debug)]
enum Op {
    Update(usize, i64),
    /// What it showed; empty while it has not returned.
    Scan(Vec<i64>),
}

/// Operations, each of a process, and the order of their events.
#[derive(Clone, Debug, Default)]
struct Story {
    ops: Vec<(usize, Op)>,
    events: Vec<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Simple,
    Differentiated,
    /// Values repeat; each segment has one writer.
    Repeated,
    /// Values repeat, and everybody writes every segment.
    ManyWriters,
}

/// Processes call, take effect on a real object, and return; then some scans are spoilt. What has
/// not returned at the end is pending.
fn story(random: &mut Rng, style: Style) -> Story {
    let processes = 2 + random.below(3) as usize;
    let length = 2 + random.below(7) as usize;
    let mut story = Story::default();
    let mut memory = vec![0i64; processes];
    let mut past = vec![memory.clone()];
    // The open operation of each process, and whether it took effect.
    let mut open: Vec<Option<(usize, bool)>> = vec![None; processes];
    let pair = (random.below(processes as u64) as usize, random.below(processes as u64) as usize);
    let mut has_changed = vec![false; processes];
    let mut fresh = 0;
    for _ in 0..length * 6 {
        let p = random.below(processes as u64) as usize;
        match open[p] {
            None if story.ops.len() < length => {
                let op = if random.percent(50) {
                    Op::Scan(Vec::new())
                } else {
                    fresh += 1;
                    let value = match style {
                        Style::Simple => {
                            has_changed[p] |= (p == pair.0 || p == pair.1) && random.percent(60);
                            i64::from(has_changed[p])
                        }
                        Style::Differentiated => fresh,
                        Style::Repeated | Style::ManyWriters => random.below(3) as i64,
                    };
                    let segment = match style {
                        Style::ManyWriters => random.below(processes as u64) as usize,
                        _ => p,
                    };
                    Op::Update(segment, value)
                };
                story.events.push(Event::Call(story.ops.len()));
                open[p] = Some((story.ops.len(), false));
                story.ops.push((p, op));
            }
            None => {}
            Some((i, false)) => {
                match &mut story.ops[i].1 {
                    Op::Update(segment, value) => {
                        memory[*segment] = *value;
                        past.push(memory.clone());
                    }
                    Op::Scan(shown) => *shown = memory.clone(),
                }
                open[p] = Some((i, true));
            }
            Some((i, true)) => {
                if let Op::Scan(shown) = &mut story.ops[i].1
                    && random.percent(70)
                {
                    let then = random.below(past.len() as u64) as usize;
                    let at = random.below(processes as u64) as usize;
                    match random.percent(50) {
                        true => shown.clone_from(&past[then]),
                        false => shown[at] = past[then][at],
                    }
                }
                story.events.push(Event::Return(i));
                open[p] = None;
            }
        }
    }
    story
}

impl Story {
    fn returned(&self, i: usize) -> Option<usize> {
        self.events.iter().position(|e| *e == Event::Return(i))
    }

    fn called(&self, i: usize) -> usize {
        self.events.iter().position(|e| *e == Event::Call(i)).unwrap()
    }

    /// Tries every order.
    fn is_linearizable(&self) -> bool {
        let n = self.ops.len();
        let times: Vec<(usize, usize)> =
            (0..n).map(|i| (self.called(i), self.returned(i).unwrap_or(usize::MAX))).collect();
        let segments = self.ops.iter().map(|(p, op)| match op {
            Op::Update(segment, _) => segment + 1,
            Op::Scan(shown) => shown.len().max(p + 1),
        });
        let mut memory = vec![0; segments.max().unwrap_or(0)];
        self.can_finish(&times, 0, &mut memory)
    }

    fn can_finish(&self, times: &[(usize, usize)], done: u32, memory: &mut Vec<i64>) -> bool {
        let left: Vec<usize> = (0..times.len()).filter(|i| done >> i & 1 == 0).collect();
        if left.iter().all(|&i| times[i].1 == usize::MAX) {
            return true;
        }
        for &i in &left {
            if left.iter().any(|&j| times[j].1 < times[i].0) {
                continue;
            }
            match &self.ops[i].1 {
                Op::Update(segment, value) => {
                    let before = std::mem::replace(&mut memory[*segment], *value);
                    if self.can_finish(times, done | 1 << i, memory) {
                        return true;
                    }
                    memory[*segment] = before;
                }
                Op::Scan(shown) => {
                    let fits = times[i].1 == usize::MAX
                        || shown.iter().zip(memory.iter()).all(|(a, b)| a == b);
                    if fits && self.can_finish(times, done | 1 << i, memory) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The same up to an event.
    fn until(&self, events: usize) -> Story {
        let events = self.events[..events].to_vec();
        let called = |i: &usize| events.contains(&Event::Call(*i));
        let ops = (0..self.ops.len()).take_while(called).map(|i| self.ops[i].clone()).collect();
        Story { ops, events }
    }

    fn history(&self) -> History {
        let mut builder = Builder::new();
        let part = builder.part(Default::default());
        let (update, scan) = (builder.method("update"), builder.method("scan"));
        let at = Position::default();
        for event in &self.events {
            let (Event::Call(i) | Event::Return(i)) = event;
            let (p, op) = &self.ops[*i];
            let process = builder.process(&Value::Int(*p as i64));
            match (event, op) {
                (Event::Call(_), Op::Update(segment, value)) => {
                    let args = vec![Value::Int(*segment as i64), Value::Int(*value)];
                    let call = Call { method: update, args: args.into() };
                    builder.call(process, part, call, at).unwrap();
                }
                (Event::Call(_), Op::Scan(_)) => {
                    let call = Call { method: scan, args: vec![].into() };
                    builder.call(process, part, call, at).unwrap();
                }
                (Event::Return(_), Op::Update(..)) => {
                    builder.returns(process, Value::Nil, at).unwrap();
                }
                (Event::Return(_), Op::Scan(shown)) => {
                    let shown = Value::list(shown.iter().map(|&v| Value::Int(v)));
                    builder.returns(process, shown, at).unwrap();
                }
            }
        }
        builder.finish()
    }

    /// What the online monitor says: after how many events it saw a violation; an error where it
    /// does not fit.
    fn watch(&self, spec: &Named) -> Result<Option<usize>, String> {
        let mut watch = spec.watch(stream::Algorithm::Exact).unwrap();
        let object = watch.object(Default::default()).unwrap();
        let at = Position::default();
        let most = self.ops.iter().map(|(p, _)| p + 1).max().unwrap_or(0);
        let processes: Vec<u32> = (0..most).map(|p| watch.process(Value::Int(p as i64))).collect();
        for (n, event) in self.events.iter().enumerate() {
            let (Event::Call(i) | Event::Return(i)) = event;
            let (p, op) = &self.ops[*i];
            let process = processes[*p];
            let told = match (event, op) {
                (Event::Call(_), Op::Update(segment, value)) => {
                    let args = vec![Value::Int(*segment as i64), Value::Int(*value)];
                    let method = watch.method("update");
                    trueline::history::Event::Call(object, Call { method, args: args.into() })
                }
                (Event::Call(_), Op::Scan(_)) => {
                    let method = watch.method("scan");
                    trueline::history::Event::Call(object, Call { method, args: Args::None })
                }
                (Event::Return(_), Op::Update(..)) => trueline::history::Event::Return(Value::Nil),
                (Event::Return(_), Op::Scan(shown)) => {
                    let shown = Value::list(shown.iter().map(|&v| Value::Int(v)));
                    trueline::history::Event::Return(shown)
                }
            };
            match watch.event(process, told, at) {
                Ok(()) => {}
                Err(Stopped::Violation(violation)) => {
                    let Verdict::Violation(explanation) = &violation.outcome.verdict else {
                        panic!("{:?} of {self:?}", violation.outcome)
                    };
                    assert!(explanation.rechecked, "{explanation:?} of {self:?}");
                    return Ok(Some(n + 1));
                }
                Err(Stopped::Unknown(why)) => return Err(why),
                Err(Stopped::Input(error)) => panic!("{error}"),
            }
        }
        watch.finish().map_err(|_| "at the end".to_string())?;
        Ok(None)
    }
}

#[test]
fn monitors_agree_with_brute_force() {
    let spec = spec::named("snapshot").unwrap();
    let budget = Budget::unlimited();
    // By style: linearizable, violations, those that the monitor left to the search.
    let mut tally = [[0u64; 3]; 4];
    for case in seeds(8_000) {
        let mut random = Rng::new(case);
        let style = [Style::Simple, Style::Differentiated, Style::Repeated, Style::ManyWriters]
            [(case % 4) as usize];
        let story = story(&mut random, style);
        let expected = story.is_linearizable();
        let tally = &mut tally[(case % 4) as usize];
        tally[usize::from(!expected)] += 1;
        let history = story.history();
        let outcome = spec.check(&history, Algorithm::Auto, &budget).unwrap();
        match &outcome.verdict {
            Verdict::Linearizable(_) => assert!(expected, "a violation was accepted: {story:?}"),
            Verdict::Violation(explanation) => {
                assert!(!expected, "a false alarm, {}: {story:?}", explanation.sentence);
                assert!(explanation.rechecked, "{explanation:?} of {story:?}");
            }
            Verdict::Unknown(why) => panic!("{why:?}: {story:?}"),
        }
        let named = spec.check(&history, Algorithm::Monitor, &budget).unwrap();
        match &named.verdict {
            Verdict::Unknown(unknown) => {
                let decides = matches!(style, Style::Simple | Style::Differentiated);
                let why = &unknown.reason;
                assert!(!decides && matches!(why, Reason::NotApplicable(_)), "{why:?}: {story:?}");
                tally[2] += 1;
            }
            verdict => assert_eq!(verdict.is_linearizable(), expected, "{story:?}"),
        }
        match (story.watch(&spec), style) {
            (Ok(None), _) => assert!(expected, "the automata missed a violation: {story:?}"),
            (Ok(Some(events)), _) => {
                assert!(!expected, "the automata see what is not there: {story:?}");
                assert!(!story.until(events).is_linearizable(), "too early: {story:?}");
                assert!(story.until(events - 1).is_linearizable(), "too late: {story:?}");
            }
            (Err(why), Style::Simple) => panic!("{why}: {story:?}"),
            // A story in which only two values ever change is simple by chance.
            (Err(_), _) => {}
        }
    }
    eprintln!("linearizable, violations, left to the search, by style: {tally:?}");
    for [fine, wrong, _] in tally {
        assert!(fine * 10 > wrong && wrong * 10 > fine, "{tally:?}");
    }
}

/// A history in the notation of the authors.
fn read(bytes: &[u8]) -> History {
    let options = ReadOptions { format: Some(Format::SnapshotActions), ..ReadOptions::default() };
    formats::read(bytes, &options).unwrap().0
}

/// The sentence for a history in the notation of the authors.
fn sentence(text: &str) -> String {
    let history = read(text.as_bytes());
    let spec = spec::named("snapshot").unwrap();
    let outcome = spec.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
    assert_eq!(outcome.algorithm, "snapshot-monitor");
    match outcome.verdict {
        Verdict::Violation(explanation) => {
            assert!(explanation.rechecked);
            explanation.sentence
        }
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn violations_name_the_property_the_scans_and_the_updates() {
    assert_eq!(
        sentence(
            "startUpdate!0,1;startUpdate!1,1;startScan!2;startScan!3;endScan!2,0,1;endScan!3,1,0;\
             endUpdate!0,1;endUpdate!1,1;"
        ),
        "No Inversion: `scan() -> [1 0]` and `scan() -> [0 1]` contradict each other: `scan() -> [1 0]` shows \
         `update(0, 1)` but not `update(1, 1)`, and `scan() -> [0 1]` shows `update(1, 1)` but not `update(0, 1)`"
    );
    assert_eq!(
        sentence(
            "startUpdate!0,1;startScan!2;endScan!2,1,0;startScan!2;endScan!2,0,0;endUpdate!0,1;"
        ),
        "Non-Decreasing: `scan() -> [0 0]` cannot show 0 in segment 0: `scan() -> [1 0]` had returned before it was called, \
         and nothing can have written 0 there in between: 0 is only the initial value of segment 0"
    );
    assert_eq!(
        sentence("startUpdate!0,1;endUpdate!0,1;startScan!2;endScan!2,0,0;"),
        "Appropriateness: `scan() -> [0 0]` cannot show 0 in segment 0: `update(0, 1)` had returned before it was called, \
         and nothing can have written 0 there in between: 0 is only the initial value of segment 0"
    );
    assert_eq!(
        sentence("startScan!2;endScan!2,1,0;startUpdate!0,1;endUpdate!0,1;"),
        "Appropriateness: `scan() -> [1 0]` cannot show 1 in segment 0: `update(0, 1)`, which alone wrote 1 there, was \
         called only after it had returned; segment 0 holds 0 initially"
    );
    assert_eq!(
        sentence(
            "startScan!2;startUpdate!0,1;endUpdate!0,1;startUpdate!1,1;endUpdate!1,1;endScan!2,0,1;"
        ),
        "Appropriateness: `scan() -> [0 1]` shows `update(1, 1)` but not `update(0, 1)`, although `update(0, 1)` had \
         returned before `update(1, 1)` was called"
    );
    assert_eq!(
        sentence("startScan!2;endScan!2,0,7;startUpdate!0,1;endUpdate!0,1;"),
        "Appropriateness: `scan() -> [0 7]` cannot show 7 in segment 1: 7 was never written there; segment 1 holds 0 initially"
    );
}

#[test]
fn a_long_chain_of_scans_is_told_by_two_of_them() {
    // Each scan shows one update more than the one before, but the last returns before the first is
    // called.
    let mut text = String::new();
    for p in 0..12 {
        text += &format!("startUpdate!{p},{};", p + 1);
    }
    for seen in (0..13).rev() {
        let shown: Vec<String> =
            (0..12).map(|p| if p < seen { p + 1 } else { 0 }.to_string()).collect();
        text += &format!("startScan!20;endScan!20,{};", shown.join(","));
    }
    let told = sentence(&text);
    assert!(told.starts_with("Non-Decreasing: "), "{told}");
}

#[test]
fn the_corpus_of_the_authors_is_decided_by_the_monitor() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let Ok(manifest) = std::fs::read_to_string(root.join("MANIFEST.tsv")) else { return };
    let spec = spec::named("snapshot").unwrap();
    let mut decided = 0;
    for row in manifest.lines().filter(|row| row.starts_with("snapshot/")) {
        let fields: Vec<&str> = row.split('\t').collect();
        let bytes = std::fs::read(root.join(fields[0])).unwrap();
        let outcome = spec.check(&read(&bytes), Algorithm::Monitor, &Budget::unlimited());
        assert_eq!(outcome.unwrap().verdict.name(), fields[5], "{}", fields[0]);
        decided += 1;
    }
    assert_eq!(decided, 468);
}

#[test]
fn the_page_on_snapshots_shows_what_is_said() {
    let page = include_str!("../../../../docs/snapshots.md");
    let (_, rest) = page.split_once("```snapshot-actions\n").unwrap();
    let (history, rest) = rest.split_once("```").unwrap();
    let said = rest.lines().find_map(|line| line.strip_prefix("> ")).unwrap();
    assert_eq!(sentence(history), said);
}
