//! Segments to update one by one and to read all at once: `snapshot`.

use super::items::Items;
use super::method::{self, Method, found, nothing};
use super::vocabulary::{self as words, Family, Vocabulary};
use super::{Action, Builtin, Canonical, Info, Kind, Spec};
use crate::value::Value;

/// The operations of a snapshot object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SnapshotOp {
    /// Replaces the value of a segment.
    Update(u32, Value),
    /// The values of the segments from 0 on. A scan with fewer values shows only these segments.
    Scan,
}

use SnapshotOp::{Scan, Update};

/// Updates before one of a simple history changes its segment, on average.
const CHANGES_AFTER: u64 = 50;

/// More segments than any object has; it bounds the state.
pub(super) const LIMIT: u32 = 1 << 16;

const METHODS: [Method<SnapshotOp>; 2] = [
    Method::new("update(segment, value)", &["write", "set"], |a| {
        let segment = a[0].as_int().and_then(|n| u32::try_from(n).ok()).filter(|&n| n < LIMIT);
        let segment = segment.ok_or_else(|| {
            format!("expected a segment from 0 to {}, found {}", LIMIT - 1, found(&a[0]))
        })?;
        Ok(Update(segment, a[1].clone()))
    }),
    Method::new("scan() -> list", &["read", "snapshot"], |_| Ok(Scan)),
];

pub(super) const SNAPSHOT: Info = Info {
    name: "snapshot",
    aliases: &["atomic-snapshot"],
    parameters: "segments=? (segments=N: scans show the first N), init=0",
    methods: &method::signatures(&METHODS),
    summary: "segments; update writes one, scan reads all at once or a prefix of them",
};

/// A snapshot object.
#[derive(Clone, Debug)]
pub struct Snapshot {
    segments: Option<u32>,
    init: Value,
}

/// A snapshot object whose segments are initially 0. With `segments`, scans show at most this many:
/// updates of others are never seen.
pub fn snapshot(segments: Option<u32>) -> Snapshot {
    Snapshot { segments, init: Value::Int(0) }
}

impl Snapshot {
    /// The same object whose segments initially hold `init`.
    pub fn with_init(self, init: impl Into<Value>) -> Snapshot {
        Snapshot { init: init.into(), ..self }
    }

    fn is_seen(&self, segment: u32) -> bool {
        self.segments.is_none_or(|segments| segment < segments)
    }

    fn change(&self, state: &mut Items, op: &SnapshotOp) {
        let Update(segment, value) = op else { return };
        let at = *segment as usize;
        if !self.is_seen(*segment) || state.get(at).unwrap_or(&self.init) == value {
            return;
        }
        if state.len() <= at {
            state.resize(at + 1, self.init.clone());
        }
        state.set(at, value.clone());
        // Equal states are equal data: no initial values at the end.
        let used = state.iter().rposition(|v| *v != self.init).map_or(0, |last| last + 1);
        state.resize(used, self.init.clone());
    }
}

impl Spec for Snapshot {
    /// The segments up to the last one that does not hold the initial value.
    type State = Items;
    type Op = SnapshotOp;
    type Ret = Value;

    fn initial(&self) -> Items {
        Items::default()
    }

    fn step(&self, state: &Items, op: &SnapshotOp, ret: Option<&Value>, next: &mut Vec<Items>) {
        let legal = match (op, ret) {
            (_, None) => true,
            (Update(..), Some(ret)) => ret.is_nil(),
            (Scan, Some(ret)) => ret.as_list().is_some_and(|shown| {
                let held = state.iter().chain(std::iter::repeat(&self.init));
                shown.iter().zip(held).all(|(shown, held)| shown == held)
            }),
        };
        if legal {
            let mut after = state.clone();
            self.change(&mut after, op);
            next.push(after);
        }
    }

    fn canonical(&self) -> Option<Canonical<SnapshotOp, Value>> {
        let action = |op: &SnapshotOp, ret: Option<&Value>| match (op, ret) {
            (Update(segment, value), _) => Some(Action::Update(*segment, value.clone())),
            (Scan, Some(shown @ Value::List(_))) => Some(Action::Scan(shown.clone())),
            (Scan, _) => None,
        };
        Some(Canonical::new(Kind::Snapshot, action).holding(vec![self.init.clone()]))
    }

    fn observes(&self, op: &SnapshotOp, _ret: Option<&Value>) -> bool {
        match op {
            Scan => true,
            Update(segment, _) => !self.is_seen(*segment),
        }
    }

    fn reorders(&self) -> bool {
        true
    }

    /// Updates of different segments commute, and so do an update and a scan that does not show its
    /// segment.
    fn commutes(&self, a: (&SnapshotOp, Option<&Value>), b: (&SnapshotOp, Option<&Value>)) -> bool {
        match (a, b) {
            ((Update(one, _), _), (Update(other, _), _)) => one != other,
            ((Update(segment, _), _), (Scan, Some(Value::List(shown))))
            | ((Scan, Some(Value::List(shown))), (Update(segment, _), _)) => {
                shown.len() <= *segment as usize
            }
            _ => false,
        }
    }

    fn says_nothing(&self, op: &SnapshotOp, ret: &Value) -> bool {
        *op != Scan && ret.is_nil()
    }

    fn vocabulary(&self) -> Option<Vocabulary<SnapshotOp, Value>> {
        Some(Vocabulary::new(Family::Snapshot, [self.init.clone()], words::snapshot))
    }

    fn show(&self, op: &SnapshotOp, ret: Option<&Value>) -> String {
        method::show(&METHODS, self.encode(op), ret)
    }

    fn show_state(&self, state: &Items) -> String {
        match (state.len(), self.segments) {
            (0, None) => format!("[{} ...]", self.init),
            (n, segments) => {
                let shown = segments.map_or(n, |segments| segments as usize);
                let mut state = state.clone();
                state.resize(shown, self.init.clone());
                Value::list(state.iter().cloned()).to_string()
            }
        }
    }
}

impl Builtin for Snapshot {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(SnapshotOp, Option<Value>), String> {
        method::decode(&METHODS, method, args, result, |op, ret| match (op, ret, self.segments) {
            (Update(..), _, _) => nothing(ret),
            (Scan, Value::List(shown), Some(segments)) if shown.len() > segments as usize => {
                Err(format!("expected at most {segments} segments, found {}", shown.len()))
            }
            (Scan, Value::List(_), _) => Ok(ret.clone()),
            (Scan, _, _) => Err(format!("expected a list as the result, found {}", found(ret))),
        })
    }

    fn encode(&self, op: &SnapshotOp) -> (&'static str, Vec<Value>) {
        match op {
            Update(segment, value) => {
                ("update", vec![Value::Int(i64::from(*segment)), value.clone()])
            }
            Scan => ("scan", vec![]),
        }
    }

    fn results(&self, state: &Items, op: &SnapshotOp) -> Vec<Value> {
        vec![match op {
            Update(..) => Value::Nil,
            Scan => {
                let shown = self.segments.map_or(state.len(), |segments| segments as usize);
                let held = state.iter().chain(std::iter::repeat(&self.init));
                Value::list(held.take(shown).cloned())
            }
        }]
    }

    fn sample(&self, _: &Items, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> SnapshotOp {
        match pick(2) {
            0 => {
                let segments = u64::from(self.segments.unwrap_or(3)).max(1);
                Update(pick(segments) as u32, Value::Int(fresh))
            }
            _ => Scan,
        }
    }

    /// Each process has a segment of its own. In a simple history the first two processes change
    /// theirs to 1 at some time, and the others never.
    fn sample_by(
        &self,
        process: u32,
        simple: bool,
        state: &Items,
        pick: &mut dyn FnMut(u64) -> u64,
        fresh: i64,
    ) -> SnapshotOp {
        let segment = match self.segments {
            Some(segments) => process % segments.max(1),
            None => process % LIMIT,
        };
        if pick(2) == 1 {
            return Scan;
        }
        if !simple {
            return Update(segment, Value::Int(fresh));
        }
        let held = state.get(segment as usize).unwrap_or(&self.init);
        let changes = segment < 2 && (*held != self.init || pick(CHANGES_AFTER) == 0);
        Update(segment, if changes { Value::Int(1) } else { self.init.clone() })
    }

    /// A scan in which one segment has its initial value although it changed, or the reverse.
    fn falsify(
        &self,
        op: &SnapshotOp,
        result: &Value,
        simple: bool,
        pick: &mut dyn FnMut(u64) -> u64,
    ) -> Option<Value> {
        let (Scan, Value::List(shown)) = (op, result) else { return None };
        let mut shown: Vec<Value> = shown.iter().cloned().collect();
        let of_pair = if simple { shown.len().min(2) } else { shown.len() };
        if of_pair == 0 {
            return None;
        }
        let cell = &mut shown[pick(of_pair as u64) as usize];
        match (*cell == self.init, simple) {
            (false, _) => *cell = self.init.clone(),
            (true, true) => *cell = Value::Int(1),
            (true, false) => return None,
        }
        Some(Value::list(shown))
    }

    fn keeps_apart(&self, processes: usize) -> bool {
        self.segments.is_some_and(|segments| processes <= segments as usize)
    }

    fn perform(
        &self,
        state: &mut Items,
        op: &SnapshotOp,
        _: &Value,
        _: &mut dyn FnMut(u64) -> u64,
    ) {
        self.change(state, op);
    }

    fn alien(&self, value: i64) -> Option<(SnapshotOp, Value)> {
        let others = self.segments.unwrap_or(1).saturating_sub(1) as usize;
        let shown = [Value::Int(value)].into_iter().chain(vec![self.init.clone(); others]);
        (self.segments != Some(0)).then(|| (Scan, Value::list(shown)))
    }
}
