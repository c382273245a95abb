//! Words that are addresses, with tags in any of their bits: the engine sees numbers that stand for
//! them, and everything that it foretells must be about the words themselves.

use std::collections::BTreeSet;
use std::sync::Mutex;

use trueline::rng;
use trueline_explore::engine::{Exploration, Report};
use trueline_explore::memory;
use trueline_explore::std::sync::atomic::Ordering::SeqCst;
use trueline_explore::std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use trueline_explore::std::thread;

type Seen<T> = Mutex<BTreeSet<T>>;

/// All outcomes of a body.
fn outcomes<T: Ord + Clone + Send>(body: impl Fn() -> T + Sync) -> (Report, BTreeSet<T>) {
    let seen: Seen<T> = Mutex::default();
    let report = Exploration::new().run(|| {
        let outcome = body();
        memory::untracked(|| seen.lock().unwrap().insert(outcome.clone()));
    });
    (report, seen.into_inner().unwrap())
}

/// T0 loads a and stores y, T1 sets a bit of a and loads y, T2 loads a and y.
///
/// By hand: T0 sees the bit iff its load comes after T1's update, T1 sees y iff its load comes
/// after T0's store. Each of these four cases leaves room for a moment in which the bit is set and
/// y is not, or neither, or both; and T2's loads may lie before and after the two writes. So T2
/// sees all four combinations in each case: 16 outcomes.
fn tagged(bit: u32) -> BTreeSet<(bool, u32, bool, u32)> {
    let (report, seen) = outcomes(|| {
        let block = Box::into_raw(Box::new(0u64));
        let a = AtomicU64::new(block.expose_provenance() as u64);
        let y = AtomicU32::new(0);
        let is_tagged = |word: u64| word >> bit & 1 == 1;
        let outcome = thread::scope(|s| {
            let first = s.spawn(|| {
                let seen = is_tagged(a.load(SeqCst));
                y.store(1, SeqCst);
                seen
            });
            let second = s.spawn(|| {
                a.fetch_or(1 << bit, SeqCst);
                y.load(SeqCst)
            });
            let third = s.spawn(|| (is_tagged(a.load(SeqCst)), y.load(SeqCst)));
            let (bit, y) = third.join().unwrap();
            (first.join().unwrap(), second.join().unwrap(), bit, y)
        });
        // SAFETY: it was made above, and only its address was used.
        drop(unsafe { Box::from_raw(block) });
        outcome
    });
    assert!(report.holds(), "{report}");
    seen
}

#[test]
fn a_tag_in_any_high_bit_of_an_address_is_foretold_rightly() {
    for bit in [0, 1, 58, 59, 60, 61, 62, 63] {
        assert_eq!(tagged(bit).len(), 16, "bit {bit}: {:?}", tagged(bit));
    }
}

#[test]
fn a_number_that_once_stood_for_an_address_is_no_address() {
    // The load comes before the swap or after it: two outcomes for every word, whatever address was
    // there.
    let offsets = (0..64).map(|index| index * 8);
    for word in offsets.map(|offset| 1 << 61 | offset).chain([1 << 60, 0]) {
        let (report, seen) = outcomes(|| {
            let block = Box::into_raw(Box::new(0u64));
            let a = AtomicUsize::new(block.expose_provenance());
            let seen = thread::scope(|s| {
                s.spawn(|| a.swap(word, SeqCst));
                a.load(SeqCst) == word
            });
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(block) });
            seen
        });
        assert!(report.holds() && seen.len() == 2, "{word:x}: {seen:?} {report}");
    }
}

/// A word of a random program: none or one of two addresses, with tags in bits that no address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    address: usize,
    tags: u64,
}

/// What an address leaves free: alignment, and what lies above.
const FREE: u64 = 0xFFFF << 48 | 7;

#[derive(Clone, Copy, Debug)]
enum Op {
    Load,
    Store(Word),
    Swap(Word),
    Exchange(Word, Word),
    Or(u64),
    And(u64),
    Xor(u64),
}

/// Threads, each a sequence of operations on one of two cells.
type Program = Vec<Vec<(usize, Op)>>;
/// What each thread has read, and what is left in the cells.
type Outcome = (Vec<Vec<Word>>, [Word; 2]);

fn random_word(rng: &mut rng::Rng) -> Word {
    Word { address: rng.below(3) as usize, tags: random_tags(rng) }
}

/// No tag half of the time; the bits that have stood for an address more often than others.
fn random_tags(rng: &mut rng::Rng) -> u64 {
    let bits = [0, 1, 2, 48, 58, 60, 61, 61, 62, 63];
    match rng.below(4) {
        0 | 1 => 0,
        2 => 1 << bits[rng.below(10) as usize],
        _ => 1 << bits[rng.below(10) as usize] | 1 << bits[rng.below(10) as usize],
    }
}

fn random_program(rng: &mut rng::Rng) -> Program {
    let threads = 2 + rng.below(2) as usize;
    let mut program = vec![Vec::new(); threads];
    for _ in 0..3 + rng.below(4) {
        let op = match rng.below(9) {
            0 | 1 => Op::Load,
            2 => Op::Store(random_word(rng)),
            3 => Op::Swap(random_word(rng)),
            4 => Op::Exchange(random_word(rng), random_word(rng)),
            5 | 6 => Op::Or(random_tags(rng)),
            7 => Op::And(!random_tags(rng)),
            _ => Op::Xor(random_tags(rng)),
        };
        program[rng.below(threads as u64) as usize].push((rng.below(2) as usize, op));
    }
    program
}

fn initial(program: &Program) -> [Word; 2] {
    let tags = if program.len() == 2 { 0 } else { 1 << 61 };
    [Word { address: 1, tags: 0 }, Word { address: 2, tags }]
}

/// Every interleaving, by brute force.
fn all_interleavings(
    program: &Program,
    at: &mut [usize],
    outcome: &Outcome,
    found: &mut BTreeSet<Outcome>,
) {
    let mut is_over = true;
    for thread in 0..program.len() {
        let Some(&(cell, op)) = program[thread].get(at[thread]) else { continue };
        is_over = false;
        let mut next = outcome.clone();
        let word = &mut next.1[cell];
        let before = *word;
        match op {
            Op::Load => (),
            Op::Store(new) | Op::Swap(new) => *word = new,
            Op::Exchange(expected, new) if before == expected => *word = new,
            Op::Exchange(..) => (),
            Op::Or(tags) => word.tags |= tags,
            Op::And(tags) => word.tags &= tags,
            Op::Xor(tags) => word.tags ^= tags,
        }
        if !matches!(op, Op::Store(_)) {
            next.0[thread].push(before);
        }
        at[thread] += 1;
        all_interleavings(program, at, &next, found);
        at[thread] -= 1;
    }
    if is_over {
        found.insert(outcome.clone());
    }
}

/// Runs the program on real addresses.
fn run(program: &Program) -> Outcome {
    let blocks = [0; 2].map(|_| Box::into_raw(Box::new(0u64)));
    let addresses = [0, blocks[0].expose_provenance() as u64, blocks[1].expose_provenance() as u64];
    let bits = |word: Word| addresses[word.address] | word.tags;
    let word = |bits: u64| Word {
        address: addresses.iter().position(|&a| a == bits & !FREE).expect("an address"),
        tags: bits & FREE,
    };
    let cells = initial(program).map(|word| AtomicU64::new(bits(word)));
    let cells = &cells;
    let body = |(cell, op): (usize, Op)| {
        let cell = &cells[cell];
        match op {
            Op::Load => Some(cell.load(SeqCst)),
            Op::Store(new) => {
                cell.store(bits(new), SeqCst);
                None
            }
            Op::Swap(new) => Some(cell.swap(bits(new), SeqCst)),
            Op::Exchange(expected, new) => {
                let (Ok(found) | Err(found)) =
                    cell.compare_exchange(bits(expected), bits(new), SeqCst, SeqCst);
                Some(found)
            }
            Op::Or(tags) => Some(cell.fetch_or(tags, SeqCst)),
            Op::And(tags) => Some(cell.fetch_and(tags, SeqCst)),
            Op::Xor(tags) => Some(cell.fetch_xor(tags, SeqCst)),
        }
    };
    let read = thread::scope(|s| {
        let start = |ops: &Vec<(usize, Op)>| {
            let ops = ops.clone();
            s.spawn(move || ops.into_iter().filter_map(body).map(word).collect::<Vec<_>>())
        };
        let threads: Vec<_> = program.iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let left = [word(cells[0].load(SeqCst)), word(cells[1].load(SeqCst))];
    for block in blocks {
        // SAFETY: it was made above, and only its address was used.
        drop(unsafe { Box::from_raw(block) });
    }
    (read, left)
}

#[test]
fn programs_on_tagged_addresses_have_the_outcomes_of_all_interleavings() {
    for seed in rng::seeds(300) {
        let program = random_program(&mut rng::Rng::new(seed));
        let mut expected = BTreeSet::new();
        let start = (vec![Vec::new(); program.len()], initial(&program));
        all_interleavings(&program, &mut vec![0; program.len()], &start, &mut expected);
        let (report, seen) = outcomes(|| run(&program));
        assert!(report.holds(), "seed {seed}: {program:?}\n{report}");
        assert_eq!(seen, expected, "seed {seed}: {program:?}");
    }
}
