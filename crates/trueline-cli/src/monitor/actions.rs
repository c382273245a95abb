//! A file of snapshot actions, `startScan!7;endScan!7,0,1;`: read once by the automata of simple histories.

use std::fs::File;
use std::io::Read;

use trueline::stream::{Tally, Tested, Violation, test_actions};
use trueline::{Algorithm, Budget};

use super::{End, Watcher, is_stdin};
use crate::args::{MonitorArgs, Online};

/// How the first action may begin.
const WORDS: [&[u8]; 2] = [b"startUpdate!", b"startScan!"];

/// Watches the file, if it is one of snapshot actions and nothing else was asked for.
pub(super) fn watch(watcher: &mut Watcher<'_>) -> Option<Result<(), End>> {
    let file = applies(watcher.args)?;
    let spec = trueline::spec::named("snapshot").ok()?;
    let name = watcher.args.files[0].display().to_string();
    let (tested, tally) = match test_actions(file) {
        Ok(tested) => tested,
        Err(error) => return Some(Err(End::Input(format!("{name}:{error}")))),
    };
    watcher.read_by("snapshot-monitor", tally, spec);
    Some(match tested {
        Tested::Linearizable => Ok(()),
        Tested::NotSimple(why) => Err(End::Unknown(format!(
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

fn applies(args: &MonitorArgs) -> Option<File> {
    let [path] = args.files.as_slice() else { return None };
    let other = args.follow || args.lenient || !args.rename.is_empty() || is_stdin(path);
    if other || args.algorithm != Online::Exact {
        return None;
    }
    if args.spec.as_ref().is_some_and(|spec| spec.text() != "snapshot") {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(64).read_to_end(&mut head).ok()?;
    let is_actions = WORDS.iter().any(|word| head.trim_ascii_start().starts_with(word));
    if is_actions { File::open(path).ok() } else { None }
}

impl Watcher<'_> {
    /// What was read without a monitor of events.
    fn read_by(&mut self, algorithm: &'static str, tally: Tally, spec: trueline::spec::Named) {
        self.direct = Some((algorithm, tally));
        self.spec.get_or_insert_with(|| spec.into());
    }
}
