//! The register with unique writes, online.
//!
//! By [`crate::monitor::register`] each value has a cluster, its write and its reads, with f the
//! first return in it and s the last call. The rule of the zones is symmetric: v and w clash iff
//!
//! > s(w) > f(v) and s(v) > f(w)
//!
//! (each was certainly there before the last time that the other was). A return changes one
//! cluster: f is set once, s grows. The change is checked against all kept clusters, so a violation
//! is found at the first return that makes the history one.
//!
//! **Forgetting.** Let m be the first call among the open reads (now, if there are none). A cluster
//! v is *over* if some other w has s(w) > f(v) and f(w) < m: an operation that reads v from here on
//! was called at or after m > f(w), so v clashes with w. Then v is dropped, and a read of a missing
//! value is a violation. All clusters that are over are dropped at once, which makes it exact. Let
//! a kept w' clash later with a dropped v, by a read that was called at c >= m, so c > f(v) and
//! s(v) > f(w'). If f(v) < m, then w' was over because of v, and not kept. Otherwise v was dropped
//! for some w with f(w) < m <= f(v) < s(w); v and w did not clash, so f(w') < s(v) <= f(w) < s(w),
//! and c > f(w): w' clashes with w too, and if w is dropped later then w' is over because of w. A
//! dropped value may be written again.
//!
//! So open writes are kept (also those of unknown outcome), the current value, and the values that
//! were there since the first open read was called. Sweeps happen when the number of clusters has
//! doubled.
//!
//! Cost: O(log k) per return for k kept clusters, plus as many steps as clusters overlap the one
//! that changes.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::VecDeque;

use super::{Clash, Engine, Id, NEVER, NONE, Stop, Time, strange};
use crate::spec::Action;
use crate::value::Value;

/// Clusters below which there is no sweep.
const FEW: usize = if cfg!(test) { 2 } else { 64 };
/// Values that are over and are remembered to explain a late read.
const RECENT: usize = 256;

#[derive(Clone, Copy)]
struct Cluster {
    write: Id,
    first_returned: Id,
    last_called: Id,
    /// Its place in the list of those with a return; [`UNSEEN`] if it has none yet.
    place: usize,
    /// The last call while it has no place.
    last_call: Time,
}

const UNSEEN: usize = usize::MAX;

/// A cluster that has a return.
#[derive(Clone)]
struct Zone {
    first_return: Time,
    last_call: Time,
    /// At least the last call of this and every earlier zone.
    latest: Time,
    value: Value,
}

pub(super) struct Register {
    clusters: HashMap<Value, Cluster, FixedState>,
    /// By first return.
    zones: Vec<Zone>,
    /// Open reads, by call.
    reads: Vec<(Time, Id)>,
    sweep_at: usize,
    /// Clusters that are over: the value, its write, and the operations on a later value.
    recent: VecDeque<(Value, [Id; 2], [Id; 3])>,
    /// The initial value is unknown.
    forgiving: bool,
    unjudged: u64,
}

impl Register {
    pub(super) fn new(initial: &[Value]) -> Register {
        let value = initial.first().cloned().unwrap_or_default();
        let cluster = Cluster {
            write: NONE,
            first_returned: NONE,
            last_called: NONE,
            place: 0,
            last_call: 0,
        };
        let zone = Zone { first_return: 0, last_call: 0, latest: 0, value: value.clone() };
        Register {
            clusters: HashMap::from_iter([(value, cluster)]),
            zones: vec![zone],
            reads: Vec::new(),
            sweep_at: FEW,
            recent: VecDeque::new(),
            forgiving: false,
            unjudged: 0,
        }
    }

    /// See [`super::forgiving_engine`].
    pub(super) fn forgiving() -> Register {
        Register {
            clusters: HashMap::default(),
            zones: Vec::new(),
            reads: Vec::new(),
            sweep_at: FEW,
            recent: VecDeque::new(),
            forgiving: true,
            unjudged: 0,
        }
    }

    /// An operation of the value returned: `call` to `at`.
    fn seen(&mut self, value: &Value, id: Id, call: Time, at: Time) -> Result<(), Clash> {
        let Some(cluster) = self.clusters.get_mut(value) else {
            if self.forgiving {
                self.unjudged += 1;
                return Ok(());
            }
            let over = self.recent.iter().rev().find(|recent| recent.0 == *value);
            let what = match over {
                Some(_) => "found a value that was certainly overwritten",
                None => "found a value that was not there: never written, or overwritten long ago",
            };
            let others = over.into_iter().flat_map(|(_, a, b)| a.iter().chain(b).copied());
            let mut clash = Clash::new(others.chain([id])).because(id, what);
            clash.partial = true;
            return Err(clash);
        };
        if cluster.place == UNSEEN {
            let last_call = cluster.last_call.max(call);
            if call >= cluster.last_call {
                cluster.last_called = id;
            }
            cluster.first_returned = id;
            cluster.place = self.zones.len();
            let latest = self.zones.last().map_or(0, |zone| zone.latest).max(last_call);
            let value = value.clone();
            self.zones.push(Zone { first_return: at, last_call, latest, value });
        } else if call > self.zones[cluster.place].last_call {
            cluster.last_called = id;
            self.zones[cluster.place].last_call = call;
            for zone in &mut self.zones[cluster.place..] {
                if zone.latest >= call {
                    break;
                }
                zone.latest = call;
            }
        } else {
            return Ok(());
        }
        let place = cluster.place;
        self.clash(place)
    }

    /// Looks for a cluster that clashes with the one at this place.
    fn clash(&self, place: usize) -> Result<(), Clash> {
        let Zone { first_return, last_call, .. } = self.zones[place];
        let before = self.zones.partition_point(|zone| zone.first_return < last_call);
        for other in (0..before).rev() {
            let zone = &self.zones[other];
            if zone.latest <= first_return {
                break;
            }
            if other != place && zone.last_call > first_return {
                let ids = [place, other].map(|p| self.clusters[&self.zones[p].value].operations());
                return Err(Clash::new(ids.into_iter().flatten()));
            }
        }
        Ok(())
    }

    /// Forgets clusters that are over.
    fn sweep(&mut self) {
        let first_open = self.reads.first().map_or(NEVER, |read| read.0);
        // The two latest last calls among the clusters that returned before then.
        let (mut latest, mut by, mut second) = (0, UNSEEN, 0);
        for (place, zone) in self.zones.iter().enumerate() {
            if zone.first_return < first_open {
                if zone.last_call > latest || by == UNSEEN {
                    (second, latest, by) = (latest, zone.last_call, place);
                } else {
                    second = second.max(zone.last_call);
                }
            }
        }
        let mut latest_so_far = 0;
        let mut kept = Vec::new();
        let by_ids = match by {
            UNSEEN => [NONE; 3],
            by => self.clusters[&self.zones[by].value].operations(),
        };
        for (place, mut zone) in std::mem::take(&mut self.zones).into_iter().enumerate() {
            let others = if place == by { second } else { latest };
            if others > zone.first_return {
                if let Some(cluster) = self.clusters.remove(&zone.value) {
                    if self.recent.len() == RECENT {
                        self.recent.pop_front();
                    }
                    let ids = [cluster.write, cluster.first_returned];
                    self.recent.push_back((zone.value, ids, by_ids));
                }
                continue;
            }
            if let Some(cluster) = self.clusters.get_mut(&zone.value) {
                cluster.place = kept.len();
            }
            latest_so_far = zone.last_call.max(latest_so_far);
            zone.latest = latest_so_far;
            kept.push(zone);
        }
        self.zones = kept;
        self.sweep_at = FEW.max(2 * self.zones.len());
    }

    fn close_read(&mut self, id: Id) -> Option<Time> {
        let at = self.reads.iter().rposition(|read| read.1 == id)?;
        Some(self.reads.remove(at).0)
    }
}

impl Cluster {
    fn operations(&self) -> [Id; 3] {
        [self.write, self.first_returned, self.last_called]
    }
}

impl Engine for Register {
    fn call(&mut self, id: Id, at: Time, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            None => self.reads.push((at, id)),
            Some(Action::Write(value)) => {
                let cluster = Cluster {
                    write: id,
                    first_returned: NONE,
                    last_called: id,
                    place: UNSEEN,
                    last_call: at,
                };
                if self.clusters.contains_key(value) {
                    self.sweep();
                }
                if self.clusters.insert(value.clone(), cluster).is_some() {
                    let message =
                        format!("the value {value} is written again while it may be read");
                    return Err(Stop::Unfit(message));
                }
            }
            Some(other) => return Err(strange(other)),
        }
        Ok(())
    }

    fn returns(&mut self, id: Id, at: Time, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Read(value) => {
                let call = self.close_read(id).unwrap_or(at);
                self.seen(value, id, call, at)?;
            }
            Action::Write(value) => {
                // If it was read already it has its first return; its call counts from the
                // beginning.
                if let Some(cluster) = self.clusters.get(value)
                    && cluster.place == UNSEEN
                {
                    let call = cluster.last_call;
                    self.seen(value, id, call, at)?;
                }
            }
            other => return Err(strange(other)),
        }
        if self.zones.len() >= self.sweep_at {
            self.sweep();
        }
        Ok(())
    }

    fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        if may.is_none() {
            self.close_read(id);
        }
        Ok(())
    }

    fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        let Some(Action::Write(value)) = may else { return self.unknown(id, may) };
        match self.clusters.get(value) {
            Some(cluster) if cluster.write == id && cluster.place != UNSEEN => {
                let read = cluster.first_returned;
                Err(Clash::new([read]).because(read, "found a value that was never written").into())
            }
            Some(cluster) if cluster.write == id => {
                self.clusters.remove(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn unjudged(&self) -> u64 {
        self.unjudged
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.clusters.values().flat_map(Cluster::operations).for_each(&mut *keep);
        self.reads.iter().for_each(|read| keep(read.1));
        let recent = self.recent.iter();
        recent.flat_map(|(_, a, b)| a.iter().chain(b)).for_each(|&id| keep(id));
    }
}
