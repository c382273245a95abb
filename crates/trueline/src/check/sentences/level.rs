//! Amounts: totals, permits, numbers of arrivals, multiplicities.
//!
//! Operations that certainly come before an operation (they returned before it was called) and
//! those that may (they were called before it returned) bound the amount that it finds, from the
//! start or from an earlier operation whose amount is known. An amount outside these bounds is
//! impossible.

use super::{Draft, Scene, mark, marks};
use crate::spec::vocabulary::{Act, Amount, Family, Needs};
use crate::value::Value;

/// Maximum number of operations that are examined, for all bounds together.
const WORK: usize = 1 << 18;
/// The same for locks, which are mostly explained as cells.
const WORK_FOR_LOCKS: usize = 1 << 16;
/// Earlier operations that are tried to count from.
const ANCHORS: usize = 8;
/// Drafts of so few operations need no better one.
const SHORT: usize = 12;
/// Scenes of more operations than this are not counted through.
const CROWD: usize = 512;
/// Longer lists are not enumerated.
const NAMED: usize = 6;

/// Where counting starts.
#[derive(Clone, Copy)]
enum From {
    Start,
    After(usize),
    /// There may be more.
    AtLeastAfter(usize),
}

impl From {
    /// The operation after which it starts.
    fn anchor(self) -> Option<usize> {
        match self {
            From::Start => None,
            From::After(a) | From::AtLeastAfter(a) => Some(a),
        }
    }
}

pub(super) fn drafts(scene: &Scene) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut work = 0;
    let most_work = if scene.family == Family::Mutex { WORK_FOR_LOCKS } else { WORK };
    let start = match (scene.family, scene.initial.as_deref()) {
        (Family::Mutex, Some(held)) => Some(i64::from(!held.is_empty())),
        (_, Some([Value::Int(n)])) => Some(*n),
        _ => None,
    };
    // A counter wraps around at the ends of its numbers.
    let most: i128 = (0..scene.cast.len()).map(|p| change(scene, p).abs()).sum();
    if most + start.map_or(0, |n| i128::from(n).abs()) >= i128::from(i64::MAX / 2) {
        return drafts;
    }
    // Those next to the first faulty one come first, because the work is bounded. Mostly that one
    // suffices.
    let others = std::iter::once_with(|| {
        let mut places: Vec<usize> =
            (0..scene.cast.len()).filter(|&place| Some(place) != scene.first).collect();
        if let Some(first) = scene.first {
            let end = scene.cast[first].returned;
            places.sort_by_key(|&place| scene.cast[place].returned.abs_diff(end));
        }
        places
    });
    for r in scene.first.into_iter().chain(others.flatten()) {
        let actor = &scene.cast[r];
        let (needs, true) = (amount(scene, r), actor.is_certain()) else { continue };
        let (low, high) = match needs {
            Amount::Any => continue,
            Amount::Some => (1, i128::MAX),
            Amount::Exactly(n) => (i128::from(n), i128::from(n)),
        };
        work += scene.cast.len();
        let is_explained = drafts.iter().any(|draft| draft.cast().len() <= SHORT);
        // If the explanation of a counter is long anyway, sums are more informative than other
        // bounds.
        let is_explained = is_explained || (scene.family == Family::Counter && !drafts.is_empty());
        if work > most_work || (Some(r) != scene.first && is_explained) {
            break;
        }
        let mut anchors: Vec<usize> = (0..scene.cast.len())
            .filter(|&a| match level(scene, a) {
                (Amount::Exactly(_), _) => true,
                (Amount::Some, change) => change >= 0,
                (Amount::Any, _) => false,
            })
            .filter(|&a| scene.cast[a].is_certain() && scene.cast[a].precedes(actor))
            .collect();
        let latest = |&a: &usize| std::cmp::Reverse(scene.cast[a].returned);
        if anchors.len() > ANCHORS {
            anchors.select_nth_unstable_by_key(ANCHORS, latest);
            anchors.truncate(ANCHORS);
        }
        anchors.sort_by_key(latest);
        let starts = start.map(|n| (From::Start, i128::from(n)));
        let starts = starts.filter(|_| scene.family != Family::Mutex);
        let after = anchors.iter().filter_map(|&a| match level(scene, a) {
            (Amount::Exactly(n), change) => {
                Some((From::After(a), i128::from(n) + i128::from(change)))
            }
            (Amount::Some, change) => Some((From::AtLeastAfter(a), 1 + i128::from(change))),
            (Amount::Any, _) => None,
        });
        for (from, base) in starts.into_iter().chain(after) {
            work += scene.cast.len();
            if work > most_work {
                break;
            }
            let bounds = Bounds::new(scene, r, from, base);
            let too_much = match from {
                From::AtLeastAfter(_) => None,
                _ => bounds.too_much(low),
            };
            drafts.extend(too_much.or_else(|| bounds.too_little(high)));
        }
        // If a lock is handed over all the time, only counting explains the violation.
        if let (Family::Mutex, true, true, Some(n)) =
            (scene.family, Some(r) == scene.first, drafts.is_empty(), start)
        {
            crowds(scene, From::Start, i128::from(n), &mut drafts);
            if !drafts.is_empty() {
                return drafts;
            }
        }
    }
    // An operation finds a lock in the wrong state after many hand-overs: all of them count, so
    // this sentence comes last.
    if let (true, Family::Mutex, Some(r), Some(n)) =
        (drafts.is_empty(), scene.family, scene.first, start)
        && scene.cast[r].is_certain()
        && let Amount::Exactly(needs) = amount(scene, r)
    {
        let bounds = Bounds::new(scene, r, From::Start, i128::from(n));
        let needs = i128::from(needs);
        drafts.extend(bounds.too_much(needs).or_else(|| bounds.too_little(needs)));
    }
    if drafts.is_empty() && scene.family == Family::Counter && scene.cast.len() <= CROWD {
        same_total(scene, &mut drafts);
    }
    let is_explained = drafts.iter().any(|draft| draft.cast().len() <= SHORT);
    if !is_explained && scene.family != Family::Counter {
        if let Some(start) = start {
            crowds(scene, From::Start, i128::from(start), &mut drafts);
        }
        let is_explained = !drafts.is_empty() && scene.family == Family::Mutex;
        let crowd = if is_explained { 0 } else { CROWD };
        // From each that it starts from, all are counted through.
        let starts = (WORK / scene.cast.len().pow(2).max(1)).min(scene.cast.len());
        let starts = if scene.cast.len() <= crowd { starts } else { 0 };
        for a in (scene.cast.len() - starts)..scene.cast.len() {
            if let (Amount::Exactly(n), change) = level(scene, a)
                && scene.cast[a].is_certain()
            {
                crowds(scene, From::After(a), i128::from(n) + i128::from(change), &mut drafts);
            }
        }
    }
    drafts
}

/// A lock is held at most once: taking it adds one.
fn level(scene: &Scene, place: usize) -> (Amount, i64) {
    match &scene.cast[place].act {
        Act::Level(amount, change) => (*amount, *change),
        Act::Cell(_, needs, leaves) if scene.family == Family::Mutex => {
            let amount = match needs {
                Needs::Is(Value::Bool(held)) => Amount::Exactly(i64::from(*held)),
                _ => Amount::Any,
            };
            let change = match leaves {
                Some(Value::Bool(true)) => 1,
                Some(_) => -1,
                None => 0,
            };
            (amount, change)
        }
        _ => (Amount::Any, 0),
    }
}

fn amount(scene: &Scene, place: usize) -> Amount {
    level(scene, place).0
}

fn change(scene: &Scene, place: usize) -> i128 {
    i128::from(level(scene, place).1)
}

/// `once`, `twice`, `3 times`.
fn times(n: i128) -> String {
    usize::try_from(n).map_or_else(|_| format!("{n} times"), super::times)
}

/// The phrases for what was added and what was taken away: `.. can have <added>`.
fn words(family: Family) -> (&'static str, &'static str) {
    match family {
        Family::Semaphore => ("released a permit", "taken a permit"),
        Family::Snzi => ("arrived", "departed"),
        Family::Multiset => ("added it", "removed it"),
        Family::Mutex => ("taken the lock", "released the lock"),
        _ => ("added to it", "subtracted from it"),
    }
}

/// More was taken than there can have been, or a lock was taken more often than it can have been
/// free: counted up to a return.
///
/// Among the operations that certainly came after `from` and returned by then, those in one
/// direction all count; in the other direction, everything counts that can have come in between.
fn crowds(scene: &Scene, from: From, base: i128, drafts: &mut Vec<Draft>) {
    let cast = &scene.cast;
    let (added, taken) = words(scene.family);
    let bounds = [(false, Some(0)), (true, (scene.family == Family::Mutex).then_some(1))];
    for (up, limit) in bounds {
        let Some(limit) = limit else { continue };
        let goes =
            |place: usize, up: bool| (change(scene, place) > 0) == up && change(scene, place) != 0;
        let certain = |&place: &usize| {
            let after = from.anchor().is_none_or(|a| cast[a].precedes(&cast[place]));
            goes(place, up) && cast[place].is_certain() && after
        };
        let mut these: Vec<usize> = (0..cast.len()).filter(certain).collect();
        these.sort_by_key(|&place| cast[place].returned);
        let against = |&place: &usize| {
            let follows = |a: usize| place != a && !cast[place].precedes(&cast[a]);
            let perhaps = from.anchor().is_none_or(follows);
            goes(place, !up) && perhaps
        };
        // By call, as the cast is.
        let against: Vec<usize> = (0..cast.len()).filter(against).collect();
        let (mut level, mut open) = (base, 0);
        for count in 1..=these.len() {
            let end = cast[these[count - 1]].returned;
            level += change(scene, these[count - 1]);
            while against.get(open).is_some_and(|&place| cast[place].call < end) {
                level += change(scene, against[open]);
                open += 1;
            }
            if (up && level <= limit) || (!up && level >= limit) {
                continue;
            }
            let others = against[..open].to_vec();
            if scene.family == Family::Mutex && matches!(from, From::Start) && others.len() > NAMED
            {
                drafts.extend(lock_counts(&these[..count], others.len(), up));
                break;
            }
            let bounds = Bounds {
                scene,
                r: these[0],
                from,
                base,
                whom: "they were",
                must: Vec::new(),
                may: Vec::new(),
            };
            let (done, undone) = if up { (added, taken) } else { (taken, added) };
            let mut chosen = these[..count].to_vec();
            // Only as many as are needed.
            let mut spare = if up { level - limit } else { limit - level } - 1;
            chosen.retain(|&p| {
                let leaves = spare >= change(scene, p).abs();
                spare -= if leaves { change(scene, p).abs() } else { 0 };
                !leaves
            });
            chosen.sort_unstable();
            let only = match others.len() {
                0 => "nothing".into(),
                n if n > NAMED => format!("only the {n} others shown"),
                _ => format!("only {}", marks(&others)),
            };
            let (all, when) = match chosen.len() {
                1 => (format!("{} cannot", mark(chosen[0])), "it returned"),
                2 => (format!("{} cannot both", marks(&chosen)), "both had returned"),
                n if n > NAMED => (format!("The {n} shown cannot all"), "all of them had returned"),
                _ => (format!("{} cannot all", marks(&chosen)), "all of them had returned"),
            };
            let base = bounds.base();
            let text =
                format!("{all} have {done}: {base}, and {only} can have {undone} before {when}");
            drafts.push(Draft::new(text).with(chosen).with(others));
            break;
        }
    }
}

/// Two that added to a total that never goes down, and found the same.
fn same_total(scene: &Scene, drafts: &mut Vec<Draft>) {
    if (0..scene.cast.len()).any(|place| change(scene, place) < 0) {
        return;
    }
    let text: Vec<(usize, i64)> = (0..scene.cast.len())
        .filter(|&place| scene.cast[place].is_certain() && change(scene, place) > 0)
        .filter_map(|place| match amount(scene, place) {
            Amount::Exactly(n) => Some((place, n)),
            _ => None,
        })
        .collect();
    for (n, &(a, first)) in text.iter().enumerate() {
        for &(b, second) in &text[n + 1..] {
            if first == second && drafts.len() < 32 {
                drafts.push(Draft::new(format!(
                    "{} and {} contradict each other: both added to a total of {first}, and nothing ever subtracts from it",
                    mark(a),
                    mark(b)
                )));
            }
        }
    }
}

/// A lock that was taken too often to have been free, or released too often, with the counts.
fn lock_counts(these: &[usize], others: usize, up: bool) -> Option<Draft> {
    let &last = these.last()?;
    let n = these.len();
    if up {
        let before = these[..n - 1].last()?;
        return Some(Draft::new(format!(
            "{} got the lock while it was held: when it returned, the lock had been taken {n} times, the time before by {}, and only {others} releases had been called",
            mark(last),
            mark(*before)
        )));
    }
    Some(Draft::new(format!(
        "{} released the lock while it was free: when it returned, the lock had been released {n} times, and only {others} acquires had been called",
        mark(last)
    )))
}

struct Bounds<'a> {
    scene: &'a Scene,
    r: usize,
    from: From,
    base: i128,
    /// The operation before whose call that is.
    whom: &'static str,
    /// Certainly in between, or perhaps.
    must: Vec<usize>,
    may: Vec<usize>,
}

impl<'a> Bounds<'a> {
    fn new(scene: &'a Scene, r: usize, from: From, base: i128) -> Bounds<'a> {
        let cast = &scene.cast;
        let (mut must, mut may) = (Vec::new(), Vec::new());
        for (place, actor) in cast.iter().enumerate() {
            if place == r || change(scene, place) == 0 || actor.call > cast[r].returned {
                continue;
            }
            let (after, perhaps_after) = match from.anchor() {
                None => (true, true),
                Some(a) if a == place => continue,
                Some(a) => (cast[a].precedes(actor), !actor.precedes(&cast[a])),
            };
            if after && actor.precedes(&cast[r]) {
                must.push(place);
            }
            if perhaps_after {
                may.push(place);
            }
        }
        Bounds { scene, r, from, base, whom: "it was", must, may }
    }

    fn sum(&self, places: &[usize]) -> i128 {
        places.iter().map(|&p| change(self.scene, p)).sum()
    }

    fn some(&self, places: &[usize], up: bool) -> Vec<usize> {
        let fits = |&p: &usize| (change(self.scene, p) > 0) == up;
        places.iter().copied().filter(fits).collect()
    }

    /// The largest changes that are enough to reach a bound, starting from `now`.
    fn enough(
        &self,
        mut all: Vec<usize>,
        mut now: i128,
        done: impl Fn(i128) -> bool,
    ) -> Option<Vec<usize>> {
        all.sort_by_key(|&p| (std::cmp::Reverse(change(self.scene, p).abs()), p));
        let mut chosen = Vec::new();
        for place in all {
            if done(now) {
                break;
            }
            now += change(self.scene, place);
            chosen.push(place);
        }
        chosen.sort_unstable();
        done(now).then_some(chosen)
    }

    /// It needs at least `low`, and there is less.
    fn too_much(&self, low: i128) -> Option<Draft> {
        let (added, taken) = words(self.scene.family);
        let ups = self.some(&self.may, true);
        let most = self.base + self.sum(&ups);
        let downs = self.enough(self.some(&self.must, false), most, |now| now < low)?;
        let most = most + self.sum(&downs);
        // Less than nothing is wrong whatever this one needs.
        if most < 0 && self.scene.family != Family::Counter {
            return None;
        }
        let mut text =
            format!("{} is impossible: {}: {}", mark(self.r), self.bound(most, true), self.base());
        text += &match ups.len() {
            0 => format!(", and nothing can have {added}{}", self.between()),
            n if n > NAMED => {
                format!(", and only the {n} others shown can have {added}{}", self.between())
            }
            _ => format!(", and only {} can have {added}{}", marks(&ups), self.between()),
        };
        text += &match downs.len() {
            0 => String::new(),
            n if n > NAMED => {
                format!(", and {n} of the others shown had certainly {taken} by then")
            }
            _ => format!(", and {}", self.came_before(&downs, taken)),
        };
        Some(Draft::new(text).with(ups).with(downs))
    }

    /// It needs at most `high`, and there is more.
    fn too_little(&self, high: i128) -> Option<Draft> {
        let (added, taken) = words(self.scene.family);
        let downs = self.some(&self.may, false);
        let least = self.base + self.sum(&downs);
        let ups = self.enough(self.some(&self.must, true), least, |now| now > high)?;
        let least = least + self.sum(&ups);
        if least > 1 && self.scene.family == Family::Mutex {
            return None;
        }
        // That there was nothing at the start makes nothing more.
        let is_explained = self.base != 0 || ups.is_empty() || self.scene.family == Family::Counter;
        let is_explained = is_explained || self.from.anchor().is_some();
        let mut clauses: Vec<String> = is_explained.then(|| self.base()).into_iter().collect();
        match ups.len() {
            0 => {}
            n if n > NAMED => {
                clauses.push(format!("{n} of the others shown had certainly {added} by then"));
            }
            _ => clauses.push(self.came_before(&ups, added)),
        }
        clauses.push(match downs.len() {
            0 => format!("nothing can have {taken}{}", self.between()),
            n if n > NAMED => {
                format!("only the {n} others shown can have {taken}{}", self.between())
            }
            _ => format!("only {} can have {taken}{}", marks(&downs), self.between()),
        });
        let (r, bound) = (mark(self.r), self.bound(least, false));
        let text = format!("{r} is impossible: {bound}: {}", clauses.join(", and "));
        Some(Draft::new(text).with(ups).with(downs))
    }

    /// The phrase for what certainly came before the faulty operation, and after the start of the
    /// count.
    fn came_before(&self, some: &[usize], done: &str) -> String {
        match self.from {
            From::Start => format!("{} had returned before it was called", marks(some)),
            _ => format!("{} had certainly {done} by then", marks(some)),
        }
    }

    fn between(&self) -> &'static str {
        match self.from {
            From::Start => " before it returned",
            _ => " in between",
        }
    }

    /// The largest, or the smallest, possible amount.
    fn bound(&self, n: i128, most: bool) -> String {
        let at = if most { "at most" } else { "at least" };
        match self.scene.family {
            Family::Semaphore if most && n == 0 => "no permit was free".into(),
            Family::Snzi if most && n == 0 => "nobody was present".into(),
            Family::Multiset if most && n == 0 => "the value was not there".into(),
            Family::Snzi if !most && n == 1 => "somebody was present".into(),
            Family::Semaphore => {
                let permits = if n == 1 { "permit was" } else { "permits were" };
                format!("{at} {n} {permits} free")
            }
            Family::Snzi => format!("{at} {n} {} present", if n == 1 { "was" } else { "were" }),
            Family::Multiset => format!("the value was there {at} {}", times(n)),
            Family::Mutex if n > 0 => "the lock was held".into(),
            Family::Mutex => "the lock was free".into(),
            _ => format!("the total was {at} {n}"),
        }
    }

    /// Where counting starts.
    fn base(&self) -> String {
        let n = self.base;
        match (self.from, self.scene.family) {
            (From::Start, Family::Semaphore) => {
                format!("{n} {} free initially", if n == 1 { "permit is" } else { "permits are" })
            }
            (From::Start, Family::Snzi) if n == 0 => "nobody is present initially".into(),
            (From::Start, Family::Snzi) => {
                format!("{n} {} present initially", if n == 1 { "is" } else { "are" })
            }
            (From::Start, Family::Multiset) if n == 0 => "it is not there initially".into(),
            (From::Start, Family::Multiset) => format!("it is there {} initially", times(n)),
            (From::Start, Family::Mutex) => {
                format!("it is {} initially", if n == 0 { "free" } else { "held" })
            }
            (From::Start, _) => format!("it is {n} initially"),
            (From::After(a) | From::AtLeastAfter(a), family) => {
                let a = mark(a);
                let at_least = matches!(self.from, From::AtLeastAfter(_));
                let left = match family {
                    Family::Snzi if at_least => format!("at least {n} was present"),
                    Family::Multiset if at_least => format!("it was there at least {}", times(n)),
                    Family::Semaphore => {
                        format!("{n} {} free", if n == 1 { "permit was" } else { "permits were" })
                    }
                    Family::Snzi if n == 0 => "nobody was present".into(),
                    Family::Snzi => format!("{n} {} present", if n == 1 { "was" } else { "were" }),
                    Family::Multiset => {
                        format!("it was there {}", times(n))
                    }
                    Family::Mutex => format!("it was {}", if n == 0 { "free" } else { "held" }),
                    _ => format!("it was {n}"),
                };
                format!("{left} after {a}, which had returned before {} called", self.whom)
            }
        }
    }
}
