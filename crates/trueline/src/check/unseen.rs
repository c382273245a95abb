//! Additions that no read shows: of collections that are read as a whole, these may leave an
//! explanation.
//!
//! Every read of a set may depend on every addition, so [`Touches`](crate::spec::Touches) says that
//! none may leave. But if no read in the explanation shows a value, all operations on it can be
//! deleted from any order of the others:
//! - of a set, the operations on a value that is not there initially and that no read shows;
//! - of a log in which no append returns its index, an append whose value no read shows;
//! - of a text that is never replaced, an append of a text that no read contains.
//!
//! An explanation that stays a violation without them is not minimal, unless it shows values whose
//! additions it leaves out, because then the rest is another violation. Nothing is left out because
//! of this: the vocabulary of a specification decides nothing, see
//! [`Vocabulary`](crate::spec::Vocabulary).

use std::collections::HashSet;

use super::problem::Window;
use crate::spec::subject::Subject;
use crate::spec::vocabulary::{Act, Family};
use crate::value::Value;

/// The operations that may leave together with this one, if nothing shows it.
pub(super) fn with(subject: &Subject<'_>, kept: &[u32], index: u32) -> Option<HashSet<u32>> {
    let portrait = subject.spec.portrait()?;
    let act = |i: u32| subject.spec.act(Window::ALL.recorded(&subject.history, i));
    // Called for each shown operation: for other objects nothing has to be checked.
    let own = match (portrait.family, act(index)?) {
        own @ ((Family::Set, Act::Cell(..))
        | (Family::Log, Act::Append(_, None))
        | (Family::Kv, Act::AppendText(_))) => own,
        _ => return None,
    };
    let acts: Vec<Act> = kept.iter().map(|&i| act(i)).collect::<Option<_>>()?;
    let initial = portrait.initial.as_deref().unwrap_or_default();
    let brings = |value: &Value| {
        let is_it = |act: &Act| match act {
            Act::Cell(key, ..) => key == value,
            Act::Append(own, _) => own == value,
            _ => false,
        };
        initial.contains(value) || acts.iter().any(is_it)
    };
    let is_whole = |act: &Act| match act {
        Act::Contents(all) | Act::List(all) => all.iter().all(brings),
        Act::Text(text) => text.is_empty(),
        _ => true,
    };
    if !acts.iter().all(is_whole) {
        return None;
    }
    match own {
        (Family::Set, Act::Cell(key, ..)) => {
            let shows = |act: &Act| matches!(act, Act::Contents(all) if all.contains(&key));
            let is_initial = portrait.initial.is_none() || initial.contains(&key);
            if is_initial || acts.iter().any(shows) {
                return None;
            }
            let is_own = |act: &Act| matches!(act, Act::Cell(other, ..) if *other == key);
            let own = kept.iter().zip(&acts).filter(|(_, act)| is_own(act));
            Some(own.map(|(&i, _)| i).collect())
        }
        (Family::Log, Act::Append(value, None)) => {
            let needs = |act: &Act| match act {
                Act::List(all) => all.contains(&value),
                Act::Append(_, told) => told.is_some(),
                _ => false,
            };
            (!acts.iter().any(needs)).then(|| HashSet::from([index]))
        }
        (Family::Kv, Act::AppendText(piece)) => {
            let needs = |act: &Act| match act {
                Act::Text(text) => text.contains(piece.as_str()),
                Act::PutText(_) => true,
                _ => false,
            };
            (!acts.iter().any(needs)).then(|| HashSet::from([index]))
        }
        _ => None,
    }
}
