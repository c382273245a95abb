//! The oracle's own objects: what the documentation says of each specification, told once more and
//! as plainly as possible.
//!
//! An object tells the [outcomes](Object::outcomes) of a call, and whether what was recorded can be
//! [read](Object::reads) as one of them.

use std::collections::BTreeMap;

use super::value::V;

/// How a container chooses what leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Turn {
    Oldest,
    Newest,
    Largest,
    Smallest,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Register,
    Rmw,
    /// Whether `add`, `inc` and `dec` tell the total before.
    Counter {
        before: bool,
        init: i64,
    },
    Kv,
    Map,
    Container {
        turn: Turn,
        capacity: Option<usize>,
    },
    Deque,
    Set,
    Multiset,
    Mutex,
    /// Who holds it is in it as often as it was taken.
    OwnerMutex {
        reentrant: bool,
    },
    Semaphore,
    Log,
    Snapshot {
        init: V,
    },
    Snzi,
    Semiqueue {
        k: usize,
    },
    Stuttering {
        j: usize,
    },
    Relaxed {
        turn: Turn,
        out_of_order: Option<usize>,
        lateness: Option<usize>,
        window: Option<usize>,
        stutter: usize,
        capacity: Option<usize>,
    },
}

/// An object in a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    /// The contents, the oldest first; of a register, the value.
    pub(crate) items: Vec<V>,
    pub(crate) map: BTreeMap<V, V>,
    pub(crate) number: i64,
    /// Sizes of windows; of the open one, or of all segments of a stack.
    pub(crate) windows: Vec<usize>,
    /// The values of the open window of a queue, which newer ones do not join.
    pub(crate) count: usize,
}

pub(crate) type Call<'a> = (&'a str, &'a [V]);

impl Object {
    pub(crate) fn new(kind: Kind) -> Object {
        Object {
            kind,
            items: Vec::new(),
            map: BTreeMap::new(),
            number: 0,
            windows: Vec::new(),
            count: 0,
        }
    }

    pub(crate) fn holding(mut self, items: Vec<V>) -> Object {
        if let Kind::Relaxed { .. } = self.kind {
            for item in items {
                self.relaxed_add(item);
            }
        } else {
            self.items = items;
            if self.kind == Kind::Set {
                self.items.sort();
                self.items.dedup();
            }
        }
        self
    }

    fn with_items(&self, items: Vec<V>) -> Object {
        Object { items, ..self.clone() }
    }

    fn with_number(&self, number: i64) -> Object {
        Object { number, ..self.clone() }
    }

    /// The place of the value whose turn it is.
    fn turn(&self, turn: Turn) -> Option<usize> {
        let all = self.items.iter().enumerate();
        match turn {
            Turn::Oldest => all.map(|(i, _)| i).next(),
            Turn::Newest => all.map(|(i, _)| i).next_back(),
            Turn::Largest => all.max_by_key(|(_, v)| *v).map(|(i, _)| i),
            Turn::Smallest => all.min_by_key(|(_, v)| *v).map(|(i, _)| i),
        }
    }

    fn seen(&self, at: Option<usize>) -> V {
        at.map_or(V::Nil, |at| self.items[at].clone())
    }

    fn without(&self, at: Option<usize>) -> Object {
        let mut items = self.items.clone();
        at.map(|at| items.remove(at));
        self.with_items(items)
    }

    fn with(&self, value: &V) -> Object {
        let mut items = self.items.clone();
        items.push(value.clone());
        self.with_items(items)
    }

    /// Everything that the call may lead to: its result and the object after it. Nothing where it
    /// blocks.
    pub(crate) fn outcomes(&self, (method, args): Call<'_>) -> Vec<(V, Object)> {
        let same = || self.clone();
        let held = |value: &V| self.items.contains(value);
        match (&self.kind, method) {
            (Kind::Register | Kind::Rmw, "read") => vec![(self.items[0].clone(), same())],
            (Kind::Register | Kind::Rmw, "write") => {
                vec![(V::Nil, self.with_items(vec![args[0].clone()]))]
            }
            (Kind::Register, "cas") if self.items[0] == args[0] => {
                vec![(V::Bool(true), self.with_items(vec![args[1].clone()]))]
            }
            (Kind::Register, "cas") => vec![(V::Bool(false), same())],
            (Kind::Rmw, "rmw") if self.items[0] == args[0] => {
                vec![(V::Nil, self.with_items(vec![args[1].clone()]))]
            }
            (Kind::Register | Kind::Rmw, _) => vec![],
            (Kind::Counter { .. }, "read") => vec![(V::int(self.number), same())],
            (Kind::Counter { .. }, _) => {
                let n = match method {
                    "inc" | "fetch_inc" | "inc_and_get" => 1,
                    "dec" | "fetch_dec" | "dec_and_get" => -1,
                    _ => args[0].whole().map_or(0, |n| n as i64),
                };
                let n = if method == "fetch_sub" { n.wrapping_neg() } else { n };
                let after = self.number.wrapping_add(n);
                let both = vec![V::int(self.number), V::int(after)];
                vec![(V::List(both), self.with_number(after))]
            }
            (Kind::Kv, "get") => {
                let text = self.map.get(&args[0]).cloned().unwrap_or(V::text(""));
                vec![(text, same())]
            }
            (Kind::Kv, _) => {
                let added = digits(&args[1]);
                let before = match (method, self.map.get(&args[0])) {
                    ("append", Some(V::Text(text))) => text.clone(),
                    _ => String::new(),
                };
                let mut after = same();
                after.map.insert(args[0].clone(), V::Text(before + &added));
                vec![(V::Nil, after)]
            }
            (Kind::Map, _) => {
                let now = self.map.get(&args[0]).cloned();
                let mut after = same();
                match method {
                    "put" | "swap" => drop(after.map.insert(args[0].clone(), args[1].clone())),
                    "remove" => drop(after.map.remove(&args[0])),
                    _ => {}
                }
                let told = match method {
                    "put" => V::Nil,
                    "get" | "swap" => now.unwrap_or(V::Nil),
                    _ => V::Bool(now.is_some()),
                };
                vec![(told, after)]
            }
            (Kind::Container { capacity, .. }, "insert") => match capacity {
                Some(most) if self.items.len() >= *most => vec![(V::Bool(false), same())],
                Some(_) => vec![(V::Bool(true), self.with(&args[0]))],
                None => vec![(V::Nil, self.with(&args[0]))],
            },
            (Kind::Container { turn, .. }, "remove") => {
                let at = self.turn(*turn);
                vec![(self.seen(at), self.without(at))]
            }
            (Kind::Container { turn, .. }, _) => vec![(self.seen(self.turn(*turn)), same())],
            (Kind::Deque, _) => {
                let end = match method.ends_with("front") {
                    true => self.turn(Turn::Oldest),
                    false => self.turn(Turn::Newest),
                };
                match method {
                    "push_front" => {
                        let items = args.iter().chain(&self.items).cloned().collect();
                        vec![(V::Nil, self.with_items(items))]
                    }
                    "push_back" => vec![(V::Nil, self.with(&args[0]))],
                    "pop_front" | "pop_back" => vec![(self.seen(end), self.without(end))],
                    _ => vec![(self.seen(end), same())],
                }
            }
            (Kind::Set, "read") => vec![(V::List(self.items.clone()), same())],
            (Kind::Set | Kind::Multiset, _) => {
                let at = self.items.iter().position(|v| *v == args[0]);
                let is_set = self.kind == Kind::Set;
                match method {
                    "add" if is_set && held(&args[0]) => vec![(V::Bool(false), same())],
                    "add" => {
                        let mut after = self.with(&args[0]);
                        after.items.sort();
                        let told = if is_set { V::Bool(true) } else { V::Nil };
                        vec![(told, after)]
                    }
                    "remove" => vec![(V::Bool(at.is_some()), self.without(at))],
                    "contains" => vec![(V::Bool(at.is_some()), same())],
                    _ => {
                        let count = self.items.iter().filter(|v| **v == args[0]).count();
                        vec![(V::int(count as i64), same())]
                    }
                }
            }
            (Kind::Mutex, "release") if self.number == 0 => vec![],
            (Kind::Mutex, "release") => vec![(V::Nil, self.with_number(0))],
            (Kind::Mutex, _) => vec![(V::Bool(self.number == 0), self.with_number(1))],
            (Kind::OwnerMutex { .. }, "release") => match self.items.first() == Some(&args[0]) {
                true => vec![(V::Bool(true), self.without(Some(0)))],
                false => vec![(V::Bool(false), same())],
            },
            (Kind::OwnerMutex { reentrant }, _) => {
                match self.items.is_empty() || *reentrant && held(&args[0]) {
                    true => vec![(V::Bool(true), self.with(&args[0]))],
                    false => vec![(V::Bool(false), same())],
                }
            }
            (Kind::Semaphore, "release") => {
                vec![(V::Bool(true), self.with_number(self.number + 1))]
            }
            (Kind::Semaphore, _) if self.number == 0 => vec![(V::Bool(false), same())],
            (Kind::Semaphore, _) => vec![(V::Bool(true), self.with_number(self.number - 1))],
            (Kind::Log, "append") => {
                vec![(V::int(self.items.len() as i64), self.with(&args[0]))]
            }
            (Kind::Log, _) => vec![(V::List(self.items.clone()), same())],
            (Kind::Snapshot { init }, "update") => {
                let at = args[0].whole().map_or(0, |n| n as usize);
                let mut items = self.items.clone();
                items.resize(items.len().max(at + 1), init.clone());
                items[at] = args[1].clone();
                vec![(V::Nil, self.with_items(items))]
            }
            (Kind::Snapshot { .. }, _) => vec![(V::List(self.items.clone()), same())],
            (Kind::Snzi, "arrive") => vec![(V::Nil, self.with_number(self.number + 1))],
            (Kind::Snzi, "depart") if self.number == 0 => vec![],
            (Kind::Snzi, "depart") => vec![(V::Nil, self.with_number(self.number - 1))],
            (Kind::Snzi, _) => vec![(V::Bool(self.number > 0), same())],
            (Kind::Semiqueue { .. } | Kind::Stuttering { .. }, "insert") => {
                vec![(V::Nil, self.with(&args[0]))]
            }
            (Kind::Semiqueue { .. } | Kind::Stuttering { .. } | Kind::Relaxed { .. }, _)
                if self.items.is_empty() && method != "insert" =>
            {
                vec![(V::Nil, same())]
            }
            (Kind::Semiqueue { k }, "remove") => {
                let places = 0..self.items.len().min(*k);
                places.map(|at| (self.items[at].clone(), self.without(Some(at)))).collect()
            }
            (Kind::Semiqueue { k }, _) => {
                self.items.iter().take(*k).map(|v| (v.clone(), same())).collect()
            }
            (Kind::Stuttering { j }, "remove") => {
                let gone = Object { count: 0, ..self.without(Some(0)) };
                let mut all = vec![(self.items[0].clone(), gone)];
                if self.count + 1 < *j {
                    let stays = Object { count: self.count + 1, ..same() };
                    all.push((self.items[0].clone(), stays));
                }
                all
            }
            (Kind::Stuttering { .. }, _) => vec![(self.items[0].clone(), same())],
            (Kind::Relaxed { capacity: Some(most), .. }, "insert") if self.items.len() >= *most => {
                vec![]
            }
            (Kind::Relaxed { .. }, "insert") => {
                let mut after = same();
                after.relaxed_add(args[0].clone());
                vec![(V::Nil, after)]
            }
            (Kind::Relaxed { .. }, _) => self.relaxed_removals(),
        }
    }

    /// Relaxed containers keep their values in the order of their turns, the one whose turn it is
    /// first. An open window of a queue stays in front, and a stack keeps the sizes of its
    /// segments, the uppermost first.
    fn relaxed_add(&mut self, value: V) {
        let Kind::Relaxed { turn, window, stutter, .. } = self.kind else { return };
        let fixed =
            if turn == Turn::Newest { 0 } else { self.windows.first().copied().unwrap_or(0) };
        let behind = |held: &V| match turn {
            Turn::Oldest => true,
            Turn::Newest => false,
            Turn::Largest => *held >= value,
            Turn::Smallest => *held <= value,
        };
        let at = fixed + self.items[fixed..].iter().take_while(|held| behind(held)).count();
        // Whether it is the turn of the new value now: one that equals it is as good as it.
        let takes_turn =
            self.items.is_empty() || (turn != Turn::Oldest && (at == 0 || self.items[0] == value));
        self.items.insert(at, value);
        if stutter > 1 && takes_turn {
            self.count = 0;
        }
        if let (Turn::Newest, Some(size)) = (turn, window) {
            match self.windows.first_mut() {
                Some(held) if *held < size => *held += 1,
                _ => self.windows.insert(0, 1),
            }
        }
    }

    fn relaxed_removals(&self) -> Vec<(V, Object)> {
        let Kind::Relaxed { out_of_order, lateness, window, stutter, .. } = self.kind else {
            return vec![];
        };
        let most = match (window, out_of_order, lateness) {
            (Some(size), ..) => self.windows.first().copied().unwrap_or(size),
            (_, Some(k), _) => k + 1,
            (_, _, Some(_)) => usize::MAX,
            _ => 1,
        };
        let mut all = Vec::new();
        for at in 0..self.items.len().min(most) {
            let mut after = self.without(Some(at));
            if let Some(late) = lateness {
                after.count = if at == 0 { 0 } else { self.count + 1 };
                if after.count > late {
                    continue;
                }
            }
            if stutter > 1 {
                after.count = 0;
            }
            if let Some(size) = window {
                if after.windows.is_empty() {
                    after.windows.push(size.min(self.items.len()));
                }
                after.windows[0] -= 1;
                if after.windows[0] == 0 {
                    after.windows.remove(0);
                }
            }
            all.push((self.items[at].clone(), after));
        }
        if stutter > self.count + 1 {
            let stays = Object { count: self.count + 1, ..self.clone() };
            all.push((self.items[0].clone(), stays));
        }
        all
    }

    /// Methods that tell whether something is so, rather than a value that may be a truth value.
    pub(crate) fn tells_truth(&self, method: &str) -> bool {
        matches!(
            (&self.kind, method),
            (Kind::Register, "cas")
                | (Kind::Container { capacity: Some(_), .. }, "insert")
                | (Kind::Set | Kind::Multiset | Kind::Map, "add" | "remove" | "contains")
                | (Kind::Mutex | Kind::Semaphore, _)
                | (Kind::Snzi, "query")
        )
    }

    /// Whether a recorded result means this outcome of the method.
    pub(crate) fn reads(&self, method: &str, recorded: &V, told: &V) -> bool {
        let is_nil = *recorded == V::Nil;
        let recorded = &match recorded.whole() {
            Some(0) if self.tells_truth(method) => V::Bool(false),
            Some(1) if self.tells_truth(method) => V::Bool(true),
            _ => recorded.clone(),
        };
        match (&self.kind, method) {
            (Kind::Counter { init, .. }, "read") if is_nil => V::int(*init) == *told,
            (Kind::Counter { .. }, "read") => recorded == told,
            (Kind::Counter { before, .. }, _) => {
                let V::List(both) = told else { return false };
                let tells_before = match method {
                    "add" | "inc" | "dec" => *before,
                    method => method.starts_with("fetch"),
                };
                is_nil
                    || *recorded == V::Bool(true)
                    || *recorded == both[usize::from(!tells_before)]
            }
            // What these tell is not looked at.
            (
                _,
                "write" | "put" | "rmw" | "update" | "arrive" | "depart" | "push_front"
                | "push_back",
            ) => true,
            (Kind::Kv, "append") | (Kind::Multiset, "add") => true,
            (Kind::Container { capacity: None, .. }, "insert") => true,
            (Kind::Semiqueue { .. } | Kind::Stuttering { .. } | Kind::Relaxed { .. }, "insert") => {
                true
            }
            // Nothing counts as success.
            (Kind::Container { .. }, "insert") | (Kind::Register, "cas") if is_nil => {
                *told == V::Bool(true)
            }
            (Kind::Multiset, "remove") | (Kind::Semaphore | Kind::Mutex, _) if is_nil => {
                matches!(told, V::Bool(true) | V::Nil)
            }
            (Kind::OwnerMutex { .. }, _) if is_nil => *told == V::Bool(true),
            (Kind::Mutex, "release") => *recorded == V::Bool(true),
            // Nothing is not known.
            (Kind::Set, "add" | "remove" | "contains") if is_nil => true,
            (Kind::Map, "remove" | "contains") | (Kind::Multiset, "contains") if is_nil => true,
            // Nothing is empty.
            (Kind::Set | Kind::Log, "read") if is_nil => *told == V::List(vec![]),
            (Kind::Kv, "get") => V::Text(digits(recorded)) == *told,
            (Kind::Log, "append") => is_nil || *recorded == V::Bool(true) || recorded == told,
            (Kind::Set, "read") => {
                let V::List(mut items) = recorded.clone() else { return false };
                items.sort();
                V::List(items) == *told
            }
            (Kind::Snapshot { init }, "scan") => {
                let (V::List(shown), V::List(held)) = (recorded, told) else { return false };
                shown.iter().enumerate().all(|(i, v)| v == held.get(i).unwrap_or(init))
            }
            _ => recorded == told,
        }
    }
}

/// A text of the key-value store: whole numbers count as their digits, nil as nothing.
fn digits(value: &V) -> String {
    match value {
        V::Text(text) => text.clone(),
        V::Num(n) => (n / 1000).to_string(),
        _ => String::new(),
    }
}
