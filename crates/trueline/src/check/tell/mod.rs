//! Tells a violation in the words of its kind of object: the result that cannot be, what it would
//! have needed, and the operations that exclude that.
//!
//! A rule looks for a pattern in a [`Scene`] that no linearizable history has, and tells it. Each
//! rule is a theorem about the operations of the scene alone: it holds whatever else happened, as
//! long as the scene leaves out nothing that touches the values it names. Where no rule fits,
//! [`super::explain`] tells which times exclude every order.
//!
//! | file | objects |
//! |---|---|
//! | `container` | queues, stacks, deques, priority queues: what went in, what came out, what was inside |
//! | `cell` | registers, maps, sets, locks, segments: what was last left there |
//! | `level` | counters, semaphores, indicators, multisets: how much there can have been |
//! | `total` | counters: sums that nothing makes |
//! | `list` | logs, and texts that grow |
//! | `owned` | locks that their owner may take again |
//!
//! Cost: O(n^2) for n operations; larger scenes than [`MOST`] are not looked at.

mod cell;
mod container;
mod level;
mod list;
mod owned;
mod total;

use crate::history::PENDING;
use crate::spec::vocabulary::{Act, Family};
use crate::value::Value;

/// Scenes of more operations than this are not looked at.
pub(super) const MOST: usize = 2048;

/// Tales of so few operations need no better one.
const FEW: usize = 12;

/// An operation of a scene.
pub(super) struct Actor {
    pub(super) call: u32,
    /// [`PENDING`] where its outcome is not known.
    pub(super) returned: u32,
    pub(super) act: Act,
}

impl Actor {
    fn precedes(&self, other: &Actor) -> bool {
        self.returned < other.call
    }

    fn is_certain(&self) -> bool {
        self.returned != PENDING
    }
}

/// The operations of one object, by call.
pub(super) struct Scene {
    pub(super) family: Family,
    /// What the object holds at first; `None` where that is not known.
    pub(super) initial: Option<Vec<Value>>,
    pub(super) capacity: Option<usize>,
    pub(super) cast: Vec<Actor>,
    /// The operation whose return is the first that cannot be explained, where that is known: it is
    /// looked at first.
    pub(super) first: Option<usize>,
    /// True where nothing that touches the values of the scene was left out or forgotten.
    pub(super) complete: bool,
}

/// A sentence. Operations stand in it as marks, see [`mark`].
pub(super) struct Tale {
    text: String,
    /// Operations that belong to it without being named.
    others: Vec<usize>,
}

/// An operation in the text of a tale: a place in the cast between two characters that no text
/// holds.
fn mark(place: usize) -> String {
    format!("\u{1}{place}\u{1}")
}

impl Tale {
    fn new(text: String) -> Tale {
        Tale { text, others: Vec::new() }
    }

    fn with(mut self, others: impl IntoIterator<Item = usize>) -> Tale {
        self.others.extend(others);
        self
    }

    /// The operations that it names, in the order in which it does.
    pub(super) fn named(&self) -> Vec<usize> {
        let mut named = Vec::new();
        for piece in self.text.split('\u{1}').skip(1).step_by(2) {
            if let Ok(place) = piece.parse()
                && !named.contains(&place)
            {
                named.push(place);
            }
        }
        named
    }

    /// The operation that cannot be, where the sentence begins with it.
    pub(super) fn subject(&self) -> Option<usize> {
        let text = self.text.strip_prefix('\u{1}')?;
        text.split('\u{1}').next()?.parse().ok()
    }

    /// The operations that it is about, ascending.
    pub(super) fn cast(&self) -> Vec<usize> {
        let mut cast = self.named();
        cast.extend(&self.others);
        cast.sort_unstable();
        cast.dedup();
        cast
    }

    /// The sentence, with operations as people read them.
    pub(super) fn told(&self, show: impl Fn(usize) -> String) -> String {
        let mut told = String::new();
        for (n, piece) in self.text.split('\u{1}').enumerate() {
            match piece.parse::<usize>() {
                Ok(place) if n % 2 == 1 => told += &show(place),
                _ => told += piece,
            }
        }
        told
    }
}

/// What can be told of a scene that is a violation: the best first.
pub(super) fn tales(scene: &Scene) -> Vec<Tale> {
    if scene.cast.len() > MOST {
        return Vec::new();
    }
    // What was called after the first bad return is not to blame for it.
    let end = scene.first.map_or(PENDING, |first| scene.cast[first].returned);
    let never = |(place, actor): (usize, &Actor)| match actor.act {
        Act::Never(why) if actor.call < end => {
            Some(Tale::new(format!("{} is impossible: {why}", mark(place))))
        }
        _ => None,
    };
    if let Some(tale) = scene.cast.iter().enumerate().find_map(never) {
        return vec![tale];
    }
    let mut tales = match scene.family {
        Family::Queue { .. }
        | Family::StutteringQueue(_)
        | Family::Stack
        | Family::Deque
        | Family::PriorityQueue { .. }
        | Family::Relaxed { .. } => container::tales(scene),
        Family::Register | Family::Map | Family::Set | Family::Snapshot | Family::OwnerMutex => {
            cell::tales(scene)
        }
        Family::Mutex => {
            let mut tales = cell::tales(scene);
            if tales.is_empty() && scene.complete {
                tales = level::tales(scene);
            }
            tales
        }
        Family::Kv if scene.cast.iter().any(|a| matches!(a.act, Act::AppendText(_))) => {
            list::texts(scene)
        }
        Family::Kv => cell::tales(scene),
        Family::Counter => {
            let mut tales = level::tales(scene);
            if !tales.iter().any(|tale| tale.cast().len() <= FEW) {
                tales.extend(total::tales(scene));
            }
            tales
        }
        Family::Semaphore | Family::Snzi | Family::Multiset => level::tales(scene),
        Family::Log => list::tales(scene),
        Family::ReentrantMutex if scene.complete => owned::tales(scene),
        Family::ReentrantMutex => Vec::new(),
    };
    tales.sort_by_key(|tale| tale.cast().len());
    tales
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

fn marks(places: &[usize]) -> String {
    and(&places.iter().map(|&place| mark(place)).collect::<Vec<_>>())
}

fn values(values: &[&Value]) -> String {
    and(&values.iter().map(|value| short(value)).collect::<Vec<_>>())
}

/// A value as people read it, cut where it is long. A text stands in quotes: it may be a word of
/// the sentence.
fn short(value: &Value) -> String {
    match value {
        Value::Text(text) => cut(format!("{text:?}"), 40),
        other => cut(other.to_string(), 40),
    }
}

/// A text of at most so many characters and a mark, cut behind a word where there is one.
pub(super) fn cut(text: String, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let kept = &text[..end];
    let word = kept.rfind(' ').filter(|&at| at > end / 2);
    format!("{}…", kept[..word.unwrap_or(end)].trim_end())
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// `once`, `twice`, `3 times`.
fn times(count: usize) -> String {
    match count {
        1 => "once".into(),
        2 => "twice".into(),
        n => format!("{n} times"),
    }
}
