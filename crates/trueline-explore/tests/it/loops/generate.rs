//! Random programs with loops.

use super::oracle::{Look, Program, Step};
use trueline::rng::Rng;

/// What a program may consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Atomics alone.
    Atomics,
    /// Compare-exchanges are weak.
    Weak,
    /// Operations under a lock, some of which wait at a condition variable.
    Locks,
}

pub(crate) fn random_program(seed: u64, flavour: Flavour, cells: usize) -> Program {
    let rng = &mut Rng::new(seed);
    let most = if flavour == Flavour::Atomics { 6 } else { 4 };
    let (left, cells) = (4 + rng.below(most), 1 + rng.below(cells as u64));
    Generator { rng, left, cells, flavour }.program()
}

struct Generator<'a> {
    rng: &'a mut Rng,
    /// What the program may still cost: about the number of accesses.
    left: u64,
    cells: u64,
    flavour: Flavour,
}

impl Generator<'_> {
    fn program(&mut self) -> Program {
        let threads = 2 + usize::from(self.rng.below(4) == 0);
        let mut program = vec![Vec::new(); threads];
        while self.left > 0 {
            let thread = self.rng.below(threads as u64) as usize;
            let locks = self.flavour == Flavour::Locks && self.rng.below(3) > 0;
            let length = if locks { self.rng.below(2) } else { 1 + self.rng.below(3) };
            let mut operation = self.operation(length);
            if locks {
                operation = self.under_lock(operation);
            }
            program[thread].push(operation);
        }
        program
    }

    fn operation(&mut self, length: u64) -> Vec<Step> {
        let mut steps: Vec<Step> = (0..length).map(|_| self.step()).collect();
        if length > 0 && self.rng.below(5) == 0 {
            let length = 1 + self.rng.below(2);
            let body = (0..length).map(|_| self.step()).collect();
            let at = self.rng.below(steps.len() as u64 + 1) as usize;
            steps.insert(at, Step::Spawn(body));
            if self.rng.below(4) > 0 {
                let behind = at + 1 + self.rng.below((steps.len() - at) as u64) as usize;
                steps.insert(behind, Step::Join);
            }
            self.left = self.left.saturating_sub(1);
        }
        steps
    }

    /// Takes the lock, or tries to, does this, and gives the lock back.
    fn under_lock(&mut self, mut steps: Vec<Step>) -> Vec<Step> {
        let first = match self.rng.below(3) {
            0 => Step::TryLock((self.rng.below(2) == 0).then(|| 1 + self.rng.below(3))),
            _ => Step::Lock,
        };
        if first == Step::Lock && self.rng.below(2) == 0 {
            steps.insert(0, Step::Wait { once: self.rng.below(2) == 0 });
            self.left = self.left.saturating_sub(2);
        }
        let notifies = Step::Notify { all: self.rng.below(2) == 0 };
        let (inside, outside) = (self.rng.below(3) == 0, self.rng.below(3) == 0);
        steps.insert(0, first);
        if inside {
            steps.push(notifies.clone());
        }
        steps.push(Step::Unlock { adds: self.rng.below(2) });
        if outside {
            steps.push(notifies);
        }
        self.left = self.left.saturating_sub(2 + u64::from(inside || outside));
        steps
    }

    fn cell(&mut self) -> usize {
        self.rng.below(self.cells) as usize
    }

    fn step(&mut self) -> Step {
        let (cell, a, b) = (self.cell(), self.rng.below(3), self.rng.below(3));
        let (step, cost) = match self.rng.below(10) {
            0 => (Step::Load(cell), 1),
            1 | 2 => (Step::Store(cell, a), 1),
            3 => (Step::Swap(cell, a), 1),
            4 if self.flavour == Flavour::Weak => (Step::WeakCas(cell, a, b), 1),
            4 => (Step::Cas(cell, a, b), 1),
            5 => (Step::Increment(cell), 3),
            _ => self.looks(),
        };
        self.left = self.left.saturating_sub(cost);
        step
    }

    /// A loop, and what it costs.
    fn looks(&mut self) -> (Step, u64) {
        let rounds = (self.rng.below(2) == 0).then(|| 1 + self.rng.below(3));
        let length = 1 + self.rng.below(3);
        let mut looks: Vec<(Look, u64)> =
            (0..length).map(|_| (self.look(rounds.is_some()), 1)).collect();
        if self.rng.below(4) == 0 {
            // A loop inside of the loop.
            looks[self.rng.below(length) as usize].1 = 2;
        }
        let cost = looks.iter().map(|look| look.1).sum::<u64>() * rounds.unwrap_or(2);
        (Step::Loop(looks, rounds), cost)
    }

    fn look(&mut self, bounded: bool) -> Look {
        let (cell, a, b) = (self.cell(), self.rng.below(3), self.rng.below(3));
        match self.rng.below(10) {
            0 | 1 => Look::Load(cell, 1 + self.rng.below(2)),
            2 => Look::Take(cell),
            3 => Look::Set(cell, 1 + self.rng.below(2)),
            4 => Look::Raise(cell, 1 + self.rng.below(2)),
            5 => Look::Peek(cell, 1 + self.rng.below(2)),
            6 => Look::Update(cell, a, b),
            // What changes a value in each round would go on for ever.
            7 if bounded => Look::Swap(cell, a, b),
            _ if self.flavour == Flavour::Weak => Look::WeakCas(cell, a, b),
            _ => Look::Cas(cell, a, b),
        }
    }
}
