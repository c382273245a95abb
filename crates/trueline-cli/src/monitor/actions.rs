//! A file of snapshot actions, `startScan!7;endScan!7,0,1;`: one pass with the automata for simple
//! histories.

use std::fs::File;
use std::io::Read;

use trueline::formats::Format;
use trueline::stream::{Tally, Tested, Violation, test_actions};
use trueline::{Algorithm, Budget};

use super::{End, Watcher, is_stdin};
use crate::args::{MonitorArgs, Online};

/// The texts with which a first action may begin.
const WORDS: [&[u8]; 2] = [b"startUpdate!", b"startScan!"];

/// Watches the file if it contains snapshot actions and no flag asks for something else, or if the
/// user declares that format.
pub(super) fn watch(watcher: &mut Watcher<'_>) -> Option<Result<(), End>> {
    let said = watcher.args.format == Format::SnapshotActions;
    let file = match applies(watcher.args, said) {
        Some(Ok(file)) => file,
        Some(Err(why)) => return Some(Err(End::Input(why))),
        None if said => {
            let why = "--format snapshot-actions reads one file of a snapshot object from its start to its end: \
                       expected one FILE, and no --follow, --lenient, --rename, --algorithm or other --spec";
            return Some(Err(End::Input(why.into())));
        }
        None => return None,
    };
    let spec = trueline::spec::named("snapshot").ok()?;
    let name = watcher.args.files[0].display().to_string();
    let (tested, tally) = match test_actions(file) {
        Ok(tested) => tested,
        Err(error) => return Some(Err(End::Input(format!("{name}:{error}")))),
    };
    watcher.read_by("snapshot-monitor", tally, spec);
    Some(match tested {
        Tested::Linearizable => Ok(()),
        Tested::NotSimple(why) => Err(super::unfit(format!(
            "the history is not simple: {why}; 'trueline check' decides any history"
        ))),
        Tested::Violation(history) => {
            let spec = watcher.spec.clone()?;
            match spec.check(&history, Algorithm::Monitor, &Budget::unlimited()) {
                Ok(outcome) => Err(End::Violation(Box::new(Violation { history, outcome }))),
                Err(error) => Err(End::Input(format!("{name}:{error}"))),
            }
        }
    })
}

/// Opens the file if it is to be read in this way. `said`: the user declared the format, whatever
/// the file begins with.
fn applies(args: &MonitorArgs, said: bool) -> Option<Result<Box<dyn Read>, String>> {
    let [path] = args.files.as_slice() else { return None };
    let other = args.follow || args.lenient || !args.rename.is_empty();
    if other || args.algorithm != Online::Exact {
        return None;
    }
    if args.spec.as_ref().is_some_and(|spec| spec.text() != "snapshot") {
        return None;
    }
    if is_stdin(path) {
        return said.then(|| Ok(Box::new(std::io::stdin().lock()) as Box<dyn Read>));
    }
    let open = || File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    if said {
        return Some(open().map(|file| Box::new(file) as Box<dyn Read>));
    }
    let mut head = Vec::new();
    open().ok()?.take(64).read_to_end(&mut head).ok()?;
    let is_actions = WORDS.iter().any(|word| head.trim_ascii_start().starts_with(word));
    if is_actions { Some(Ok(Box::new(open().ok()?))) } else { None }
}

impl Watcher<'_> {
    /// Records the result of a reader that needs no monitor of events.
    fn read_by(&mut self, algorithm: &'static str, tally: Tally, spec: trueline::spec::Named) {
        self.direct = Some((algorithm, tally));
        self.spec.get_or_insert_with(|| spec.into());
    }
}
