//! Simple snapshot histories directly from their text, `startScan!7;endScan!7,0,1;`, into the
//! automata of [`super::snapshot`].
//!
//! Only the state of the automata is kept: O(processes and segments) memory, one pass. The few
//! operations that a violation names are remembered, and form a history of their own.

use std::io::Read;

use super::snapshot::{Automata, Fault, Halt, Mark};
use super::{Id, NONE, Tally};
use crate::formats::{Source, found, int};
use crate::history::{Args, Builder, Call, Error, History, Part, Position};
use crate::value::Value;

/// The result for a simple snapshot history.
#[derive(Debug)]
pub enum Tested {
    /// Linearizable.
    Linearizable,
    /// A violation: these few operations are one by themselves.
    Violation(History),
    /// The history is not simple, and why: nothing is known from there on.
    NotSimple(&'static str),
}

/// Processes are numbers below this.
const MOST: i64 = 1 << 16;
/// The value of all segments at first.
const INITIAL: i64 = 0;

/// The current operation of a process.
#[derive(Clone, Copy)]
enum Doing {
    Nothing,
    Updates(i64),
    Scans(Mark),
}

#[derive(Clone, Copy)]
struct Process {
    doing: Doing,
    id: Id,
    called: u64,
}

/// An operation that a violation may name.
struct Kept {
    id: Id,
    process: u32,
    called: u64,
    returned: Option<u64>,
    /// The values that it wrote or returned.
    values: Vec<i64>,
    is_scan: bool,
}

struct Tester {
    automata: Automata<i64>,
    processes: Vec<Process>,
    kept: Vec<Kept>,
    tally: Tally,
    next: Id,
}

/// Tests a simple history in the format `snapshot-actions` while reading it. An error says where
/// the text is wrong.
pub fn test_actions(input: impl Read) -> Result<(Tested, Tally), Error> {
    let mut source = Source::new(input);
    let mut tester = Tester {
        automata: Automata::new(INITIAL),
        processes: Vec::new(),
        kept: Vec::new(),
        tally: Tally::default(),
        next: 0,
    };
    let mut numbers: Vec<i64> = Vec::new();
    while let Some(piece) = source.piece(b';')? {
        let action = piece.bytes.trim_ascii();
        if action.is_empty() {
            continue;
        }
        let told = tester.action(action, &mut numbers);
        let stop = match told {
            Ok(()) => continue,
            Err(Wrong::Halt(Halt::Fault(fault))) => Tested::Violation(tester.history(&fault)),
            Err(Wrong::Halt(Halt::NotSimple(why))) => Tested::NotSimple(why),
            Err(Wrong::Text(expected)) => {
                let message = format!("found {}: expected {expected}", found(action));
                return Err(piece.error(0, message));
            }
        };
        return Ok((stop, tester.tally()));
    }
    Ok((Tested::Linearizable, tester.tally()))
}

/// Why an action cannot be taken.
enum Wrong {
    Halt(Halt),
    /// The text that was expected.
    Text(&'static str),
}

impl From<Halt> for Wrong {
    fn from(halt: Halt) -> Wrong {
        Wrong::Halt(halt)
    }
}

impl Tester {
    fn action(&mut self, action: &[u8], numbers: &mut Vec<i64>) -> Result<(), Wrong> {
        const WORDS: &str = "startUpdate!process,value, endUpdate!process,value, startScan!process or \
                             endScan!process,value,...";
        let bang = action.iter().position(|&b| b == b'!').ok_or(Wrong::Text(WORDS))?;
        numbers.clear();
        for word in action[bang + 1..].split(|&b| b == b',') {
            numbers.push(digits(word).ok_or(Wrong::Text("numbers behind the exclamation mark"))?);
        }
        let process = numbers[0];
        if !(0..MOST).contains(&process) {
            return Err(Wrong::Text("a process from 0 to 65535"));
        }
        let place = process as usize;
        if self.processes.len() <= place {
            let idle = Process { doing: Doing::Nothing, id: NONE, called: 0 };
            self.processes.resize(place + 1, idle);
        }
        self.tally.events += 1;
        let now = self.tally.events;
        let open = self.processes[place];
        match (&action[..bang], &numbers[..], open.doing) {
            (b"startScan", [_], Doing::Nothing) => {
                let mark = self.automata.scan_called();
                self.call(place, Doing::Scans(mark), now);
            }
            (b"startUpdate", &[_, value], Doing::Nothing) => {
                let id = self.call(place, Doing::Updates(value), now);
                self.automata.update_called(id, place as u32, &value)?;
                if value != INITIAL && self.automata.changes().any(|change| change == id) {
                    let values = vec![value];
                    let process = place as u32;
                    let (called, returned, is_scan) = (now, None, false);
                    self.kept.push(Kept { id, process, called, returned, values, is_scan });
                }
            }
            (b"endScan", [_, shown @ ..], Doing::Scans(mark)) if !shown.is_empty() => {
                self.processes[place].doing = Doing::Nothing;
                let told = self.automata.scan_returned(open.id, mark, shown);
                let is_kept = told.is_err() || self.automata.named().any(|id| id == open.id);
                if is_kept && shown.iter().any(|&v| v != INITIAL) || told.is_err() {
                    self.kept.push(Kept {
                        id: open.id,
                        process: place as u32,
                        called: open.called,
                        returned: Some(now),
                        values: shown.to_vec(),
                        is_scan: true,
                    });
                }
                told?;
            }
            (b"endUpdate", &[_, value], Doing::Updates(written)) if value == written => {
                self.processes[place].doing = Doing::Nothing;
                self.automata.update_returned(open.id, place as u32);
                if value != INITIAL {
                    let kept = self.kept.iter_mut().find(|kept| kept.id == open.id);
                    kept.into_iter().for_each(|kept| kept.returned = Some(now));
                }
            }
            (b"startScan" | b"startUpdate", _, Doing::Updates(_) | Doing::Scans(_)) => {
                return Err(Wrong::Text("the end of what the process started first"));
            }
            (b"endScan" | b"endUpdate", ..) => {
                return Err(Wrong::Text("the end of what the process started"));
            }
            _ => return Err(Wrong::Text(WORDS)),
        }
        Ok(())
    }

    fn call(&mut self, place: usize, doing: Doing, called: u64) -> Id {
        let id = self.next;
        // Numbers are reused after four thousand million operations; remembered ones are older
        // then.
        self.next = if id + 1 == NONE { 0 } else { id + 1 };
        self.tally.operations += 1;
        self.processes[place] = Process { doing, id, called };
        id
    }

    fn tally(&self) -> Tally {
        let is_open = |p: &&Process| !matches!(p.doing, Doing::Nothing);
        let open = self.processes.iter().filter(is_open).count() as u64;
        let held = open + self.kept.len() as u64;
        Tally { open, held, most_held: self.processes.len() as u64 + 6, ..self.tally }
    }

    /// The operations of a fault, as a history of their own.
    fn history(&self, fault: &Fault) -> History {
        let mut builder = Builder::new();
        builder.set_spec("snapshot");
        let part = builder.part(Part::default());
        let (update, scan) = (builder.method("update"), builder.method("scan"));
        let is_named = |kept: &&Kept| {
            fault.operations.contains(&kept.id) || self.automata.changes().any(|id| id == kept.id)
        };
        let mut events: Vec<(u64, bool, &Kept)> = Vec::new();
        for kept in self.kept.iter().filter(is_named) {
            events.push((kept.called, false, kept));
            events.extend(kept.returned.map(|at| (at, true, kept)));
        }
        events.sort_by_key(|event| event.0);
        for (_, is_return, kept) in events {
            let process = builder.process(&Value::Int(i64::from(kept.process)));
            let at = Position::default();
            let told = match (is_return, kept.is_scan) {
                (false, true) => {
                    let call = Call { method: scan, args: Args::None };
                    builder.call(process, part, call, at).map(drop)
                }
                (false, false) => {
                    let segment = Value::Int(i64::from(kept.process));
                    let args = Args::from(vec![segment, Value::Int(kept.values[0])]);
                    builder.call(process, part, Call { method: update, args }, at).map(drop)
                }
                (true, true) => {
                    let shown = Value::list(kept.values.iter().map(|&v| Value::Int(v)));
                    builder.returns(process, shown, at).map(drop)
                }
                (true, false) => builder.returns(process, Value::Nil, at).map(drop),
            };
            debug_assert!(told.is_ok(), "operations of one process do not overlap");
        }
        builder.finish()
    }
}

/// A number; most have one digit.
fn digits(word: &[u8]) -> Option<i64> {
    match word {
        [d @ b'0'..=b'9'] => Some(i64::from(d - b'0')),
        word => int(word.trim_ascii()),
    }
}
