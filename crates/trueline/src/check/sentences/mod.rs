//! Explains a violation in the terms of its kind of object: the impossible result, what it would
//! have needed, and the operations that exclude that.
//!
//! A rule searches a [`Scene`] for a pattern that no linearizable history has, and makes a sentence
//! of it. Each rule is a theorem about the operations of the scene alone: it holds whatever else
//! happened, as long as the scene contains all operations that touch the values it names. If no
//! rule fits, [`super::explain`] gives the times that exclude every order.
//!
//!  | file | objects |
//! |---|---|
//! | `container` | queues, stacks, deques, priority queues: what was inserted, removed, and inside |
//! | `cell` | registers, maps, sets, locks, segments: the last value there |
//! | `level` | counters, semaphores, indicators, multisets: the possible amounts |
//! | `total` | counters: sums that no additions make |
//! | `list` | logs, and texts that grow |
//! | `owned` | locks that their owner may take again |
//!
//! Cost: O(n^2) for n operations; scenes larger than [`MOST`] are skipped.

mod cell;
mod container;
mod level;
mod list;
mod owned;
mod total;

use crate::history::PENDING;
use crate::spec::vocabulary::{Act, Family};
use crate::value::Value;

/// Larger scenes are skipped.
pub(super) const MOST: usize = 2048;

/// Drafts of so few operations need no better one.
const FEW: usize = 12;

/// An operation of a scene.
pub(super) struct Actor {
    pub(super) call: u32,
    /// [`PENDING`] if its outcome is unknown.
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
    /// The initial content of the object; `None` if unknown.
    pub(super) initial: Option<Vec<Value>>,
    pub(super) capacity: Option<usize>,
    pub(super) cast: Vec<Actor>,
    /// The operation with the first unexplained return, if it is known: it is examined first.
    pub(super) first: Option<usize>,
    /// Whether everything that touches the values of the scene is included.
    pub(super) complete: bool,
}

/// A sentence. Operations stand in it as marks, see [`mark`].
pub(super) struct Draft {
    text: String,
    /// Operations that belong to it without being named.
    others: Vec<usize>,
}

/// An operation in the text of a draft: its place in the cast, between two characters that no text
/// contains.
fn mark(place: usize) -> String {
    format!("\u{1}{place}\u{1}")
}

impl Draft {
    fn new(text: String) -> Draft {
        Draft { text, others: Vec::new() }
    }

    fn with(mut self, others: impl IntoIterator<Item = usize>) -> Draft {
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
    pub(super) fn render(&self, show: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for (n, piece) in self.text.split('\u{1}').enumerate() {
            match piece.parse::<usize>() {
                Ok(place) if n % 2 == 1 => text += &show(place),
                _ => text += piece,
            }
        }
        text
    }
}

/// The sentences about a scene that is a violation, the best first.
pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    if scene.cast.len() > MOST {
        return Vec::new();
    }
    // Operations that were called after the first bad return are not to blame for it.
    let end = scene.first.map_or(PENDING, |first| scene.cast[first].returned);
    let never = |(place, actor): (usize, &Actor)| match actor.act {
        Act::Never(why) if actor.call < end => {
            Some(Draft::new(format!("{} is impossible: {why}", mark(place))))
        }
        _ => None,
    };
    if let Some(draft) = scene.cast.iter().enumerate().find_map(never) {
        return vec![draft];
    }
    let mut drafts = match scene.family {
        Family::Queue { .. }
        | Family::StutteringQueue(_)
        | Family::Stack
        | Family::Deque
        | Family::PriorityQueue { .. }
        | Family::Relaxed { .. } => container::drafts(scene),
        Family::Register | Family::Map | Family::Set | Family::Snapshot | Family::OwnerMutex => {
            cell::drafts(scene)
        }
        Family::Mutex => {
            let mut drafts = cell::drafts(scene);
            if drafts.is_empty() && scene.complete {
                drafts = level::drafts(scene);
            }
            drafts
        }
        Family::Kv if scene.cast.iter().any(|a| matches!(a.act, Act::AppendText(_))) => {
            list::texts(scene)
        }
        Family::Kv => cell::drafts(scene),
        Family::Counter => {
            let mut drafts = level::drafts(scene);
            if !drafts.iter().any(|draft| draft.cast().len() <= FEW) {
                drafts.extend(total::drafts(scene));
            }
            drafts
        }
        Family::Semaphore | Family::Snzi | Family::Multiset => level::drafts(scene),
        Family::Log => list::drafts(scene),
        Family::ReentrantMutex if scene.complete => owned::drafts(scene),
        Family::ReentrantMutex => Vec::new(),
    };
    drafts.sort_by_key(|draft| draft.cast().len());
    drafts
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

/// A value as text, cut if it is long. Texts are quoted, because they may look like a word of the
/// sentence.
fn short(value: &Value) -> String {
    match value {
        Value::Text(text) => cut(format!("{text:?}"), 40),
        other => cut(other.to_string(), 40),
    }
}

/// A text of at most this many characters and a mark, cut after a word if possible.
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
