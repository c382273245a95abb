//! Quasi linearizability in two phases, after Zhang, Chattopadhyay and Wang (*Round-Up*, 2015):
//! compares all quasi permutations of all sequentializations of a history with serial runs of a
//! golden model.
//!
//! The golden model is the specification of the test, another object run serially
//! (`Harness::golden`), or the object itself. The paper runs all serial executions of the program
//! first. Here Phase 1 runs step by step, when a sequence is needed, and its results are cached
//! ([`super::guarded`]).
//!
//! Only removals that returned a value move, among the places of such removals, by at most the
//! factor; additions and everything else stay. In a sequentialization nothing is removed before it
//! was added. The end is closed: programs should remove as many values as they add, otherwise a
//! value that is missing when the program ends is a violation. This is `trueline`'s reading
//! `slots`. A specification such as `relaxed-queue:displacement=2` decides it by a search, for any
//! program. The enumeration is the paper's, for reference and for objects without such a
//! specification.
//!
//! **The paper's optimisations** (section VI-C): identical histories are checked once
//! (`checking.rs`). Sequentializations and permutations that an earlier history of the scenario had
//! are skipped, and their answers reused. All of these are counted, and can be switched off to
//! measure their effect. Cost: the number of sequentializations times that of the permutations,
//! both exponential.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trueline::history::Operation;
use trueline::papers::Permutations;
use trueline::{Budget, History};

use super::Operate;
use super::builder::Harness;
use super::guarded::{self, NoAnswer, Specification};
use super::outcome::Enumerated;
use super::setting::Judge;
use super::table::Table;

/// The effect of an operation, as quasi linearizability sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Added a value, by its number.
    Adds(u64),
    /// Removed a value. Only removals may be out of order.
    Removes(u64),
    /// Anything else, such as a removal that found nothing.
    Other,
}

/// How far removals may be out of order, and how that is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoPhase {
    /// The largest distance of a removal from its place.
    pub factor: u32,
    /// Whether duplicates are skipped.
    pub skips: bool,
    /// Whether all sequentializations and permutations are enumerated, as the paper's tool does,
    /// even after a legal one was found.
    pub exhaustive: bool,
}

impl TwoPhase {
    /// With this factor, and with the optimisations.
    pub fn new(factor: u32) -> TwoPhase {
        TwoPhase { factor, skips: true, exhaustive: false }
    }
}

/// The effect of an operation with this result.
type Acts<O, R> = dyn Fn(&O, &R) -> Act + Send + Sync;

impl<T, O: Operate<T>, M> Harness<T, O, M> {
    /// Checks quasi linearizability in place of linearizability: removals may be out of order. The
    /// specification, or the golden model, is the strict one, and programs remove as many values as
    /// they add. `acts` gives the effect of an operation.
    pub fn two_phase(
        mut self,
        how: TwoPhase,
        acts: impl Fn(&O, &O::Ret) -> Act + Send + Sync + 'static,
    ) -> Self {
        let acts: Arc<Acts<O, O::Ret>> = Arc::new(acts);
        self.judge = Some(Box::new(move || {
            let (phases, numbers) = (Phases::new(how), Table::default());
            Box::new(InPhases { phases, numbers, acts: acts.clone() })
        }));
        self
    }
}

/// The phases, and the numbers that operations with their results have there.
struct InPhases<O, R> {
    phases: Phases,
    numbers: Table<(O, R)>,
    acts: Arc<Acts<O, R>>,
}

impl<T, O: Operate<T>> Judge<T, O> for InPhases<O, O::Ret> {
    fn skips_identical(&self) -> bool {
        self.phases.how.skips
    }

    fn enumerated(&self) -> Enumerated {
        self.phases.effort
    }

    fn judge(
        &mut self,
        spec: &Specification<O, O::Ret>,
        history: &History<O, O::Ret>,
        budget: &Arc<Budget>,
    ) -> Result<Option<u32>, NoAnswer> {
        let all = history.operations();
        let act = |o: &Operation<O, O::Ret>| match &o.result {
            Some(result) => (self.acts)(&o.op, result),
            None => Act::Other,
        };
        let acts: Vec<Act> = all.iter().map(act).collect();
        let numbers = &mut self.numbers;
        let mut number =
            |o: &Operation<O, O::Ret>| Some(numbers.number_of(&(o.op.clone(), o.result.clone()?)));
        let Some(operations) = all.iter().map(&mut number).collect() else {
            return Err(NoAnswer::Error("two-phase checking needs operations that return".into()));
        };
        let earlier = |i: usize| (0..all.len()).filter(|&j| all[j].precedes(&all[i])).collect();
        let before = (0..all.len()).map(earlier).collect();
        let golden = |sequence: &[u32]| {
            let sequence = sequence.iter().map(|&pair| numbers.get(pair));
            guarded::is_legal(spec, sequence, budget)
        };
        let holds = self.phases.check(&golden, operations, before, &acts)?;
        Ok((!holds).then_some(self.phases.how.factor))
    }
}

/// Operations with their results, by number, in an order.
type Sequence = Vec<u32>;

/// Whether the golden model does this.
type Golden<'a> = dyn Fn(&[u32]) -> Result<bool, NoAnswer> + 'a;

/// Whether each sequence is legal.
type Known = HashMap<Sequence, bool, FixedState>;

/// Findings from the histories of a scenario so far.
pub(crate) struct Phases {
    how: TwoPhase,
    sequentializations: Known,
    permutations: Known,
    pub(crate) effort: Enumerated,
}

/// A history on its way through the phases.
struct Trial<'a> {
    phases: &'a mut Phases,
    golden: &'a Golden<'a>,
    operations: Sequence,
    acts: &'a [Act],
    /// Those that must come before each.
    before: Vec<Vec<usize>>,
}

impl Phases {
    pub(crate) fn new(how: TwoPhase) -> Phases {
        let known = || HashMap::with_hasher(FixedState::default());
        let (sequentializations, permutations) = (known(), known());
        Phases { how, sequentializations, permutations, effort: Enumerated::default() }
    }

    /// Whether a history of these operations is quasi linearizable. `before` gives the operations
    /// that must precede each, `acts` the effect of each. An error says why there is no answer.
    pub(crate) fn check(
        &mut self,
        golden: &Golden<'_>,
        operations: Sequence,
        before: Vec<Vec<usize>>,
        acts: &[Act],
    ) -> Result<bool, NoAnswer> {
        let count = operations.len();
        let mut trial = Trial { phases: self, golden, operations, acts, before };
        let (mut order, mut placed) = (Vec::new(), vec![false; count]);
        trial.sequentialize(&mut order, &mut placed)
    }
}

impl Trial<'_> {
    /// Extends an order in every way that respects real time; whether one of them does.
    fn sequentialize(
        &mut self,
        order: &mut Vec<usize>,
        placed: &mut [bool],
    ) -> Result<bool, NoAnswer> {
        if order.len() == placed.len() {
            return self.sequentialization(order);
        }
        let mut found = false;
        for next in 0..placed.len() {
            if placed[next] || self.before[next].iter().any(|&earlier| !placed[earlier]) {
                continue;
            }
            placed[next] = true;
            order.push(next);
            found |= self.sequentialize(order, placed)?;
            order.pop();
            placed[next] = false;
            if found && !self.phases.how.exhaustive {
                break;
            }
        }
        Ok(found)
    }

    /// Whether this sequentialization is legal, or one of its quasi permutations is.
    fn sequentialization(&mut self, order: &[usize]) -> Result<bool, NoAnswer> {
        let sequence: Sequence = order.iter().map(|&o| self.operations[o]).collect();
        if let Some(&known) = self.phases.sequentializations.get(&sequence) {
            self.phases.effort.skipped_sequentializations += 1;
            return Ok(known);
        }
        self.phases.effort.sequentializations += 1;
        let mut found = self.causal(order) && (self.golden)(&sequence)?;
        if self.causal(order) && (!found || self.phases.how.exhaustive) {
            found |= self.permute(order, &sequence)?;
        }
        if self.phases.how.skips {
            self.phases.sequentializations.insert(sequence, found);
        }
        Ok(found)
    }

    fn permute(&mut self, order: &[usize], sequence: &Sequence) -> Result<bool, NoAnswer> {
        let removes = |place: &usize| matches!(self.acts[order[*place]], Act::Removes(_));
        let places: Vec<usize> = (0..order.len()).filter(removes).collect();
        let mut found = false;
        for permutation in Permutations::new(places.len(), self.phases.how.factor) {
            let mut permuted = sequence.clone();
            for (&to, from) in places.iter().zip(permutation) {
                permuted[to] = sequence[places[from as usize]];
            }
            found |= self.permutation(permuted)?;
            if found && !self.phases.how.exhaustive {
                break;
            }
        }
        Ok(found)
    }

    fn permutation(&mut self, permuted: Sequence) -> Result<bool, NoAnswer> {
        if let Some(&known) = self.phases.permutations.get(&permuted) {
            self.phases.effort.skipped_permutations += 1;
            return Ok(known);
        }
        self.phases.effort.permutations += 1;
        let legal = (self.golden)(&permuted)?;
        if self.phases.how.skips {
            self.phases.permutations.insert(permuted, legal);
        }
        Ok(legal)
    }

    /// Whether nothing is removed before it was added.
    fn causal(&self, order: &[usize]) -> bool {
        let mut inside: Vec<u64> = Vec::new();
        order.iter().all(|&o| match self.acts[o] {
            Act::Adds(value) => {
                inside.push(value);
                true
            }
            Act::Removes(value) => match inside.iter().position(|&other| other == value) {
                Some(at) => inside.swap_remove(at) == value,
                None => false,
            },
            Act::Other => true,
        })
    }
}
