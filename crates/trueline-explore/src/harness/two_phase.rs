//! Quasi linearizability in two phases, after Zhang, Chattopadhyay and Wang (*Round-Up*, 2015): all
//! sequentializations of a history, and of each all quasi permutations, held against what a golden
//! model does when it is run serially.
//!
//! The golden model is the specification of the test, another object run serially
//! (`Harness::golden`), or the object itself. The paper runs all serial executions of the program
//! first; here Phase 1 is done step by step, when a sequence is asked about, and remembered
//! ([`super::guarded`]).
//!
//! What moves is a removal that returned a value, among the places of such removals, by at most the
//! factor; additions and all else stay. In a sequentialization nothing is removed before it was
//! added. The end is closed: programs should remove as many values as they add, else a value that
//! is owed when the program ends is a violation. This is `trueline`'s reading `slots`, which a
//! specification such as `relaxed-queue:displacement=2` decides by a search, for any program; the
//! enumeration is the paper's, for reference and for objects that have no such specification.
//!
//! **The paper's optimisations** (section VI-C): identical histories are checked once
//! (`checking.rs`), sequentializations and permutations that an earlier history of the scenario had
//! are skipped, with the answer that they had then. All are counted, and can be left out to see
//! what they are worth. Cost: the number of sequentializations times that of the permutations, both
//! exponential.

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

/// What an operation did, to the eyes of quasi linearizability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Added a value, by its number.
    Adds(u64),
    /// Removed a value: this is what may be out of order.
    Removes(u64),
    /// Anything else, such as a removal that found nothing.
    Other,
}

/// How far removals may be out of order, and how that is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoPhase {
    /// The most places that a removal may be away from its turn.
    pub factor: u32,
    /// Whether what was seen before is skipped.
    pub skips: bool,
    /// Whether all sequentializations and permutations are gone through, as the paper's tool does,
    /// even where one was found that is legal.
    pub exhaustive: bool,
}

impl TwoPhase {
    /// With this factor, and with the optimisations.
    pub fn new(factor: u32) -> TwoPhase {
        TwoPhase { factor, skips: true, exhaustive: false }
    }
}

/// What an operation with this result did.
type Acts<O, R> = dyn Fn(&O, &R) -> Act + Send + Sync;

impl<T, O: Operate<T>, M> Harness<T, O, M> {
    /// Asks for quasi linearizability in place of linearizability: removals may be out of order.
    /// The specification, or the golden model, is the strict one, and programs remove as many
    /// values as they add. `acts` says what an operation did.
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

/// Whether sequences are what they should be.
type Known = HashMap<Sequence, bool, FixedState>;

/// What the histories of a scenario so far have shown.
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

    /// Whether a history of these operations is quasi linearizable; those that must come `before`
    /// each, and `acts`, what each did. An error says why there is no answer.
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

    /// True where nothing is removed before it was added.
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
