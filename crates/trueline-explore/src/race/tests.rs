//! Compares the detector with the definition: random sequences of events, happens-before as the
//! closure of its edges.

use super::*;
use trueline::rng::{self, Rng};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Atomic(usize, Atomic, Ordering),
    Fence(Ordering),
    Plain(usize, Plain),
    /// The thread learns everything that the other has done so far: a join.
    Learn(u32),
}

/// `strict`: most accesses are `SeqCst`, and to more locations.
fn random_step(random: &mut Rng, threads: u32, strict: bool) -> Step {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let location = 100 + random.below(if strict { 4 } else { 2 }) as usize;
    if strict && random.below(3) > 0 {
        let access = [Atomic::Load, Atomic::Store, Atomic::Update, Atomic::Rewrite];
        return Step::Atomic(location, *random.choose(&access), SeqCst);
    }
    match random.below(10) {
        0..=1 => Step::Atomic(location, Atomic::Load, *random.choose(&[Relaxed, Acquire, SeqCst])),
        2..=3 => Step::Atomic(location, Atomic::Store, *random.choose(&[Relaxed, Release, SeqCst])),
        4 => {
            let order = *random.choose(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
            let update = *random.choose(&[Atomic::Update, Atomic::Rewrite]);
            Step::Atomic(location, update, order)
        }
        5..=6 => Step::Fence(*random.choose(&[Acquire, Release, AcqRel, SeqCst])),
        7 if random.below(4) == 0 => Step::Learn(random.below(u64::from(threads)) as u32),
        _ => Step::Plain(
            200 + random.below(2) as usize,
            *random.choose(&[Plain::Read, Plain::Write]),
        ),
    }
}

/// The first plain access that races, by definition: no path of program order and synchronisation
/// from an earlier conflicting one.
fn oracle(steps: &[(u32, Step)]) -> Option<usize> {
    let n = steps.len();
    let mut before = vec![vec![false; n]; n];
    for j in 0..n {
        for i in 0..j {
            before[i][j] = steps[i].0 == steps[j].0 || synchronises(steps, i, j);
            if let Step::Learn(other) = steps[j].1 {
                before[i][j] |= steps[i].0 == other;
            }
        }
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                before[i][j] |= before[i][k] && before[k][j];
            }
        }
    }
    (0..n).find(|&j| {
        (0..j).any(|i| match (steps[i].1, steps[j].1) {
            (Step::Plain(a, x), Step::Plain(b, y)) => {
                a == b && (x == Plain::Write || y == Plain::Write) && !before[i][j]
            }
            _ => false,
        })
    })
}

/// Whether the release at `i` (an access or a fence) synchronises with the acquire at `j`.
fn synchronises(steps: &[(u32, Step)], i: usize, j: usize) -> bool {
    let heads = (i..j).filter(|&head| is_head(steps, i, head));
    let tails: Vec<usize> = (i..=j).filter(|&tail| is_tail(steps, tail, j)).collect();
    heads.into_iter().any(|head| tails.iter().any(|&tail| reads_sequence(steps, head, tail)))
}

/// Whether the write `head` is released by `i`: it is a releasing write itself, or comes after a
/// release fence of its thread.
fn is_head(steps: &[(u32, Step)], i: usize, head: usize) -> bool {
    let Step::Atomic(_, Atomic::Store | Atomic::Update | Atomic::Rewrite, order) = steps[head].1
    else {
        return false;
    };
    match steps[i].1 {
        Step::Fence(fence) => releases(fence) && steps[i].0 == steps[head].0,
        _ => i == head && releases(order),
    }
}

/// Whether the read `tail` acquires for `j`: it is an acquiring read itself, or comes before an
/// acquire fence of its thread.
fn is_tail(steps: &[(u32, Step)], tail: usize, j: usize) -> bool {
    let Step::Atomic(_, Atomic::Load | Atomic::Update | Atomic::Rewrite, order) = steps[tail].1
    else {
        return false;
    };
    match steps[j].1 {
        Step::Fence(fence) => acquires(fence) && steps[tail].0 == steps[j].0,
        _ => tail == j && acquires(order),
    }
}

/// Whether the read takes its value from the release sequence that the write heads: from the write
/// itself or, through updates alone, from a later one. Updates that leave the value unchanged may
/// come in any order among themselves, with loads between them. An update that need not come before
/// the read does not count.
fn reads_sequence(steps: &[(u32, Step)], head: usize, read: usize) -> bool {
    let Step::Atomic(location, kind, _) = steps[read].1 else { return false };
    let of = |at: usize| match steps[at].1 {
        Step::Atomic(l, access, _) if l == location => Some(access),
        _ => None,
    };
    if (head + 1..read).any(|at| of(at) == Some(Atomic::Store)) {
        return false;
    }
    let changes = |at: usize| of(at) == Some(Atomic::Update);
    let must_precede = of(head) != Some(Atomic::Rewrite)
        || kind == Atomic::Update
        || (head + 1..read).any(changes)
        || seq_cst_order(steps)[head][read];
    head < read && of(head).is_some_and(|access| access != Atomic::Load) && must_precede
}

/// For each two `SeqCst` accesses, whether the first is before the second in every order that C++20
/// allows, by program order and by coherence alone.
fn seq_cst_order(steps: &[(u32, Step)]) -> Vec<Vec<bool>> {
    let n = steps.len();
    let at = |i: usize| match steps[i].1 {
        Step::Atomic(location, access, order) => Some((location, access, order)),
        _ => None,
    };
    let mut before = vec![vec![false; n]; n];
    for j in 0..n {
        for i in 0..j {
            let (Some((a, _, Ordering::SeqCst)), Some((b, _, Ordering::SeqCst))) = (at(i), at(j))
            else {
                continue;
            };
            let changed = (i..=j).any(|k| {
                at(k).is_some_and(|(l, access, _)| {
                    l == a && matches!(access, Atomic::Store | Atomic::Update)
                })
            });
            before[i][j] = steps[i].0 == steps[j].0 || a == b && changed;
        }
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                before[i][j] |= before[i][k] && before[k][j];
            }
        }
    }
    before
}

fn detector(steps: &[(u32, Step)], threads: u32) -> Option<usize> {
    let here = Location::caller();
    let mut detector = Detector::default();
    detector.reset();
    for thread in 1..threads {
        detector.start(thread, Some(0));
    }
    steps.iter().position(|&(thread, step)| match step {
        Step::Atomic(location, access, order) => {
            detector.atomic(thread, location, access, order, "", here);
            false
        }
        Step::Fence(order) => {
            detector.fence(thread, order);
            false
        }
        Step::Learn(other) => {
            // A join is of a thread that has ended; here its later steps must not be known.
            detector.join(thread, other);
            detector.advance(other);
            false
        }
        Step::Plain(cell, access) => {
            detector.plain(thread, cell, access, "", Place::At(here)).is_err()
        }
    })
}

#[test]
fn races_are_those_of_the_definition() {
    let seeds = rng::seeds(20_000);
    let cases = seeds.cases();
    let (mut races, mut none) = (0, 0);
    for seed in seeds {
        let mut random = Rng::new(seed);
        let threads = 2 + random.below(2) as u32;
        let length = 4 + random.below(12);
        let strict = random.below(2) == 0;
        let mut step = |_| {
            let thread = random.below(u64::from(threads)) as u32;
            (thread, random_step(&mut random, threads, strict))
        };
        let steps: Vec<(u32, Step)> = (0..length).map(&mut step).collect();
        let expected = oracle(&steps);
        assert_eq!(detector(&steps, threads), expected, "{steps:?}");
        if expected.is_some() { races += 1 } else { none += 1 }
    }
    assert!(races > cases / 10 && none > cases / 10, "{races} races, {none} without");
}

#[test]
fn a_free_is_checked_against_every_access_inside_of_the_block() {
    let here = Location::caller();
    let mut detector = Detector::default();
    detector.reset();
    detector.start(1, Some(0));
    detector.atomic(1, 64, Atomic::Load, Ordering::Relaxed, "load", here);
    detector.plain(0, 72, Plain::Write, "write", Place::At(here)).unwrap();
    assert!(detector.free(0, 65..128).is_ok(), "the access is elsewhere");
    let touch = detector.free(0, 64..128).unwrap_err();
    assert_eq!((touch.thread, touch.name), (1, "load"));
    assert!(detector.free(0, 64..128).is_ok(), "the block has a new life");
}
