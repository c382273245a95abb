//! Test of canonical forms: they are the same for a whole orbit. States are met by random walks, and
//! given other names by a random exchange of processes and of data values.

use std::sync::{Arc, Mutex};

use trueline::rng::{self, Rng};

use super::canonical::Symmetry;
use super::layout::Frame;
use super::scratch::Scratch;
use super::spec_sets::{Cache, EMPTY, Permutation, SpecSets};
use super::step::{Ended, Machine};
use crate::language::{Model, Semantics};
use crate::program::Points;
use crate::{generate, library};

/// An array of the operation's and one of the process's own are indexed by processes.
const ARRAYS: &str = "object Arrays
data V(2)
shared H: [V?; pid], o: pid
local last: [V?; pid]
op f(v: V) -> V? {
  local seen: [bool; pid], a: [pid; pid], r: V?, p: pid
  p = o
  H[me] = v
  o = me
  if p != null { seen[p] = true; a[p] = me; last[p] = v; r = H[p] }
  seen[me] = true
  a[me] = p
  last[me] = r
  p = o
  if p != null && !seen[p] { r = H[p]; last[p] = r; a[p] = p }
  p = o
  if p != null && seen[p] { p = a[p] }
  if p != null { r = H[p] }
  return r
}
spec { f(v) { local r: V?; either { r = v } or { skip } return r } }
client { procs 3; ops 2 }
";

fn shuffled(dice: &mut Rng, to: &mut [u8]) {
    for i in (1..to.len()).rev() {
        to.swap(i, dice.index(i + 1));
    }
}

/// Whether some state was moved by an exchange.
fn check(source: &str, seed: u64) -> bool {
    let model = Model::parse(source).unwrap_or_else(|e| panic!("{}", e.render("m.tl", source)));
    let program = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let machine = Machine::new(program.clone(), Points::None);
    let sets = Mutex::new(SpecSets::new(program, Points::None));
    let mut symmetry = Symmetry::new(&machine, true);
    let mut cache = Cache::new(&sets);
    let mut dice = Rng::new(seed);
    let mut moved = false;
    for _ in 0..4 {
        let Ok(mut frame) = machine.initial() else { return false };
        let mut set = cache.lock().initial();
        for _ in 0..30 {
            let mut to: Permutation = (0..machine.layout.names as u8).collect();
            for &(from, end) in machine.layout.symmetric.iter().chain(&machine.layout.data) {
                shuffled(&mut dice, &mut to[from..end]);
            }
            let (mut one, mut two) = (frame.clone(), Frame::new());
            symmetry.rename(&frame, &to, &mut two);
            moved |= one != two;
            let other = cache.lock().permute(set, &to);
            let first = symmetry.canonical_with_classes(&mut one, set, &mut cache);
            let second = symmetry.canonical_with_classes(&mut two, other, &mut cache);
            assert_eq!((&one, first), (&two, second), "seed {seed}, {to:?}, {frame:?}\n{source}");
            let Some(next) = step(&machine, &frame, &mut dice) else { break };
            for label in next.labels {
                set = cache.after(set, label);
            }
            if set == EMPTY {
                break;
            }
            frame = next.frame;
            machine.normalise(&mut frame, &mut Default::default());
        }
    }
    moved
}

/// A random step of a random process.
fn step(machine: &Machine, frame: &Frame, dice: &mut Rng) -> Option<Scratch> {
    let mut all = Vec::new();
    let mut scratch = Scratch::default();
    for process in 0..machine.layout.processes {
        machine.begin(&mut scratch, false);
        loop {
            if machine.step(frame, process, &mut scratch) == Ended::Moved {
                all.push(scratch.clone());
            }
            if !scratch.advance() {
                break;
            }
        }
    }
    (!all.is_empty()).then(|| all.swap_remove(dice.index(all.len())))
}

#[test]
fn the_canonical_form_is_one_for_a_whole_orbit() {
    let (mut cases, mut moved) = (0, 0);
    for seed in rng::seeds(60) {
        cases += 3;
        moved += u64::from(check(&generate::opaque(seed), seed));
        moved += u64::from(check(&generate::model(seed), seed));
        moved += u64::from(check(ARRAYS, seed));
    }
    assert!(moved * 10 > cases * 8, "{moved} of {cases}");
    for name in ["treiber", "ms-queue", "elimination-stack"] {
        let source = library::find(name).unwrap().source;
        let opaque = source.replacen("type Value = 1..values", "data Value(values)", 1);
        let opaque = opaque.replacen("procs: 1..6 = 2", "procs: 1..6 = 3", 1);
        assert!(opaque.contains("data Value"));
        (0..5).for_each(|seed| assert!(check(&opaque, seed)));
    }
}
