//! Determinised specifications: hash-consed sets of specification states.
//!
//! A *configuration* is a state of the sequential object with the status of every process: idle,
//! called, or done with a result. A *set* contains all configurations that explain the observations
//! so far (subset construction, section 4.1 of the paper). A call makes a process 'called'. A
//! called process may take effect at any moment, and the set is closed under that at once. A return
//! keeps the configurations in which the process is done with that result.
//!
//! Configurations and sets are interned: a product state carries one number. (set, label) -> set,
//! subset tests, and (set, permutation) -> set are computed once each. The empty set, with the
//! number [`EMPTY`], means a violation.
//!
//! [`SpecSets`] is behind a lock that all workers share; each worker has a [`Cache`] of its
//! answers.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use smallvec::SmallVec;

use crate::program::{Kind, OpId, Points, Program, Type, renamed};

use super::automata::Automata;
use super::label::{Label, LabelKind, result_count, result_number, results_of};

/// The number of the empty set.
pub(crate) const EMPTY: u32 = 0;

/// Which process gets which name.
pub(crate) type Permutation = SmallVec<[u8; 8]>;

/// `results[p]` and so on of two permutations, first one and then the other.
pub(crate) fn compose(first: &[u8], second: &[u8]) -> Permutation {
    first.iter().map(|&p| second[usize::from(p)]).collect()
}

/// A list of slices, each stored once.
struct Interner<T> {
    items: Vec<Arc<[T]>>,
    table: HashTable<u32>,
    bytes: u64,
}

impl<T: Hash + Eq + Clone> Interner<T> {
    fn new() -> Interner<T> {
        Interner { items: Vec::new(), table: HashTable::new(), bytes: 0 }
    }

    fn intern(&mut self, item: &[T]) -> u32 {
        let state = FixedState::with_seed(11);
        let hash = state.hash_one(item);
        let items = &self.items;
        if let Some(&id) = self.table.find(hash, |&id| *items[id as usize] == *item) {
            return id;
        }
        let id = items.len() as u32;
        self.bytes += (size_of_val(item) + 48) as u64;
        self.items.push(item.into());
        let items = &self.items;
        self.table.insert_unique(hash, id, |&id| state.hash_one(&*items[id as usize]));
        id
    }
}

/// The outcomes of a call: the status of the caller and the next state of the object.
type Steps = Arc<[(u32, u32)]>;

/// Objects, configurations and sets, each in the order of their numbers.
pub(crate) type Tables = (Vec<Vec<i32>>, Vec<Vec<u32>>, Vec<Vec<u32>>);

/// A status of a process in a configuration, as a number.
const IDLE: u32 = 0;

/// All the sets of a run.
pub(crate) struct SpecSets {
    program: Arc<Program>,
    points: Points,
    /// States of the sequential object.
    objects: Interner<i32>,
    /// The object's number, then a status for each process.
    configurations: Interner<u32>,
    /// Numbers of configurations in ascending order.
    sets: Interner<u32>,
    /// By set: bits of hashes of its members, to refute inclusion fast.
    signatures: Vec<u64>,
    /// (object, process, call) -> (status, object).
    steps: HashMap<(u32, u8, u16), Steps, FixedState>,
    labelled: HashMap<(u32, Label), u32, FixedState>,
    permuted: HashMap<(u32, Permutation), u32, FixedState>,
    included: HashMap<(u32, u32), bool, FixedState>,
    /// The same up to exchanges of processes; the last number names the classes.
    included_up_to: HashMap<(u32, u32, u64), bool, FixedState>,
    /// By set: bits of hashes that no exchange of processes changes.
    invariants: Vec<u64>,
    /// By operation: the status 'done with result 0'.
    done: Vec<u32>,
    /// Whether some result or argument is a process id or a data value: a renaming then changes
    /// statuses.
    has_names: bool,
    /// What takes the place of specification states: a set then holds one state of it.
    automata: Option<Automata>,
}

impl SpecSets {
    pub(crate) fn new(program: Arc<Program>, points: Points) -> SpecSets {
        let mut done = Vec::new();
        let mut next = 1 + program.calls.len() as u32;
        let mut has_names = false;
        for operation in &program.operations {
            done.push(next);
            next = next.saturating_add(
                u32::try_from(result_count(&operation.results)).unwrap_or(u32::MAX),
            );
            let parameters = operation.locals[..operation.parameters].iter().map(|v| &v.ty);
            let named = |t: &Type| matches!(t.kind, Kind::Pid | Kind::Data { .. });
            has_names |= parameters.chain(&operation.results).any(named);
        }
        let mut sets = SpecSets {
            program,
            points,
            objects: Interner::new(),
            configurations: Interner::new(),
            sets: Interner::new(),
            signatures: Vec::new(),
            steps: HashMap::default(),
            labelled: HashMap::default(),
            permuted: HashMap::default(),
            included: HashMap::default(),
            included_up_to: HashMap::default(),
            invariants: Vec::new(),
            done,
            has_names,
            automata: None,
        };
        sets.set(&mut Vec::new());
        sets
    }

    /// The same table with these automata instead of specification states.
    pub(crate) fn replaced_by(mut self, automata: Automata) -> SpecSets {
        self.automata = Some(automata);
        self
    }

    /// Everything that numbers stand for, in order: objects, configurations, sets.
    pub(crate) fn tables(&self) -> Tables {
        fn all<T: Clone>(interner: &Interner<T>) -> Vec<Vec<T>> {
            interner.items.iter().map(|i| i.to_vec()).collect()
        }
        (all(&self.objects), all(&self.configurations), all(&self.sets))
    }

    /// Restores the result of [`SpecSets::tables`] into a new table.
    pub(crate) fn restore(
        &mut self,
        objects: &[Vec<i32>],
        configurations: &[Vec<u32>],
        sets: &[Vec<u32>],
    ) {
        objects.iter().for_each(|o| {
            self.objects.intern(o);
        });
        configurations.iter().for_each(|c| {
            self.configurations.intern(c);
        });
        sets.iter().for_each(|s| {
            self.set(&mut s.clone());
        });
    }

    /// The set before the first step.
    pub(crate) fn initial(&mut self) -> u32 {
        let mut members = Vec::new();
        for object in self.program.spec.initial() {
            let mut configuration = vec![self.objects.intern(&object)];
            if self.points != Points::Labelled {
                configuration.resize(1 + self.program.processes(), IDLE);
            }
            if self.automata.is_some() {
                configuration.push(0);
            }
            members.push(self.configurations.intern(&configuration));
        }
        self.set(&mut members)
    }

    /// How many sets there are, the empty one included.
    pub(crate) fn count(&self) -> usize {
        self.sets.items.len()
    }

    /// Approximate memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.objects.bytes
            + self.configurations.bytes
            + self.sets.bytes
            + size_of::<((u32, Label), u32)>() as u64 * self.labelled.capacity() as u64
            + size_of::<((u32, u32), bool)>() as u64 * self.included.capacity() as u64
            + size_of::<((u32, u32, u64), bool)>() as u64 * self.included_up_to.capacity() as u64
            + size_of::<((u32, Permutation), u32)>() as u64 * self.permuted.capacity() as u64
    }

    fn set(&mut self, members: &mut Vec<u32>) -> u32 {
        members.sort_unstable();
        members.dedup();
        let id = self.sets.intern(members);
        if id as usize == self.signatures.len() {
            let bit = |&m: &u32| 1u64 << (m.wrapping_mul(0x9E37_79B9) >> 26);
            self.signatures.push(members.iter().map(bit).fold(0, |a, b| a | b));
            self.invariants.push(self.invariant(members));
        }
        id
    }

    fn invariant(&self, members: &[u32]) -> u64 {
        let state = FixedState::with_seed(23);
        let bits = members.iter().map(|&member| {
            let words = &self.configurations.items[member as usize];
            let mut statuses: SmallVec<[u32; 8]> =
                words[1..].iter().map(|&status| self.shape(status)).collect();
            statuses.sort_unstable();
            1u64 << (state.hash_one(&statuses[..]) >> 58)
        });
        bits.fold(0, |a, b| a | b)
    }

    /// A status without the names in it: what a renaming does not change.
    fn shape(&self, status: u32) -> u32 {
        let calls = self.program.calls.len() as u32;
        if !self.has_names || status == IDLE || self.automata.is_some() {
            return status;
        }
        if status <= calls {
            return 1 + self.program.calls[status as usize - 1].operation as u32;
        }
        calls + self.done.partition_point(|&d| d <= status) as u32
    }

    /// False where no exchange of processes makes `a` a subset of `b`.
    pub(crate) fn may_include(&self, a: u32, b: u32) -> bool {
        let (small, large) = (&self.sets.items[a as usize], &self.sets.items[b as usize]);
        small.len() <= large.len()
            && self.invariants[a as usize] & !self.invariants[b as usize] == 0
    }

    /// The cached answer about inclusion up to exchanges.
    pub(crate) fn included_up_to(&self, a: u32, b: u32, classes: u64) -> Option<bool> {
        self.included_up_to.get(&(a, b, classes)).copied()
    }

    /// Caches the answer about inclusion up to exchanges.
    pub(crate) fn remember_included(&mut self, a: u32, b: u32, classes: u64, included: bool) {
        self.included_up_to.insert((a, b, classes), included);
    }

    /// The words of the one configuration of a set of automata.
    fn only_member(&self, set: u32) -> Option<&[u32]> {
        let member = self.sets.items[set as usize].first()?;
        Some(&self.configurations.items[*member as usize])
    }

    fn member(&self, set: u32) -> Arc<[u32]> {
        self.sets.items[set as usize].clone()
    }

    fn object_steps(&mut self, object: u32, process: u8, call: u16) -> Arc<[(u32, u32)]> {
        let key = (object, process, call);
        if let Some(steps) = self.steps.get(&key) {
            return steps.clone();
        }
        let program = self.program.clone();
        let chosen = &program.calls[usize::from(call)];
        let state = self.objects.items[object as usize].clone();
        let mut out = Vec::new();
        let spec = &program.spec;
        spec.step(&state, usize::from(process), chosen.operation, &chosen.args, &mut out);
        let types = &program.operations[chosen.operation].results;
        let mut steps: Vec<(u32, u32)> = Vec::new();
        for (results, next) in out {
            // The implementation cannot return a result outside of the operation's type.
            if let Some(number) = result_number(types, &results) {
                let status = self.done[chosen.operation] + number;
                steps.push((status, self.objects.intern(&next)));
            }
        }
        steps.sort_unstable();
        steps.dedup();
        let steps: Arc<[(u32, u32)]> = steps.into();
        self.steps.insert(key, steps.clone());
        steps
    }

    /// The configurations that remain after the label.
    pub(crate) fn after(&mut self, set: u32, label: Label) -> u32 {
        if let Some(&next) = self.labelled.get(&(set, label)) {
            return next;
        }
        let p = 1 + usize::from(label.process);
        let mut next: Vec<u32> = Vec::new();
        for &member in self.member(set).iter() {
            let mut words = self.configurations.items[member as usize].to_vec();
            if let Some(automata) = self.automata {
                if automata.after(&self.program, &mut words[1..], label) {
                    next.push(self.configurations.intern(&words));
                }
                continue;
            }
            match label.what {
                LabelKind::Call(call) => {
                    words[p] = 1 + u32::from(call);
                    next.push(self.configurations.intern(&words));
                }
                LabelKind::Return(operation, number) => {
                    if words[p] == self.done[usize::from(operation)] + number {
                        words[p] = IDLE;
                        next.push(self.configurations.intern(&words));
                    }
                }
                LabelKind::Lin(number) => {
                    if words[p] == IDLE || words[p] > self.program.calls.len() as u32 {
                        // A second mark in one operation takes effect twice: nothing explains that.
                        continue;
                    }
                    let call = (words[p] - 1) as u16;
                    let operation = self.program.calls[usize::from(call)].operation;
                    let wanted = number.map(|n| self.done[operation] + n);
                    for &(status, object) in self.object_steps(words[0], label.process, call).iter()
                    {
                        if wanted.is_none_or(|w| w == status) {
                            words[0] = object;
                            words[p] = status;
                            next.push(self.configurations.intern(&words));
                        }
                    }
                }
                LabelKind::Point(call, number) => {
                    let operation = self.program.calls[usize::from(call)].operation;
                    let wanted = self.done[operation] + number;
                    for &(status, object) in self.object_steps(words[0], label.process, call).iter()
                    {
                        if wanted == status {
                            words[0] = object;
                            next.push(self.configurations.intern(&words));
                        }
                    }
                }
            }
        }
        let closes = self.points == Points::None && self.automata.is_none();
        if closes && matches!(label.what, LabelKind::Call(_)) {
            self.close(&mut next);
        }
        let id = self.set(&mut next);
        self.labelled.insert((set, label), id);
        id
    }

    /// Adds the configurations in which called processes have taken effect, in any order.
    fn close(&mut self, members: &mut Vec<u32>) {
        let calls = self.program.calls.len() as u32;
        let mut seen: HashMap<u32, (), FixedState> = members.iter().map(|&m| (m, ())).collect();
        let mut next = 0;
        while next < members.len() {
            let words = self.configurations.items[members[next] as usize].clone();
            next += 1;
            for p in 1..words.len() {
                if words[p] == IDLE || words[p] > calls {
                    continue;
                }
                let call = (words[p] - 1) as u16;
                for &(status, object) in self.object_steps(words[0], p as u8 - 1, call).iter() {
                    let mut words = words.to_vec();
                    words[0] = object;
                    words[p] = status;
                    let id = self.configurations.intern(&words);
                    if seen.insert(id, ()).is_none() {
                        members.push(id);
                    }
                }
            }
        }
    }

    /// The set in which process `p` is called `to[p]`. Behind the processes `to` may name data values.
    pub(crate) fn permute(&mut self, set: u32, to: &[u8]) -> u32 {
        if to.iter().enumerate().all(|(p, &q)| p == usize::from(q)) {
            return set;
        }
        let key = (set, Permutation::from_slice(to));
        if let Some(&next) = self.permuted.get(&key) {
            return next;
        }
        let mut next = Vec::new();
        for &member in self.member(set).iter() {
            let words = self.configurations.items[member as usize].clone();
            let object = self.objects.items[words[0] as usize].clone();
            let mut moved = words.to_vec();
            moved[0] = self.objects.intern(&self.program.spec.permute(&object, to));
            for (p, &status) in words[1..].iter().enumerate() {
                moved[1 + usize::from(to[p])] = self.rename(status, to);
            }
            next.push(self.configurations.intern(&moved));
        }
        let id = self.set(&mut next);
        self.permuted.insert(key, id);
        id
    }

    /// A status with the names in its arguments or results renamed.
    fn rename(&self, status: u32, to: &[u8]) -> u32 {
        if !self.has_names || status == IDLE {
            return status;
        }
        let calls = self.program.calls.len() as u32;
        let processes = self.program.processes();
        let name = |kind: &Kind, value: i32| match kind {
            Kind::Pid if value >= 0 => i32::from(to[value as usize]),
            Kind::Data { first } => renamed(processes + first, value, to),
            _ => value,
        };
        if status <= calls {
            let call = &self.program.calls[status as usize - 1];
            let renamed = call.renamed(&self.program, to);
            let position = self.program.calls.iter().position(|c| *c == renamed);
            return position.map_or(status, |i| 1 + i as u32);
        }
        let operation = self.done.partition_point(|&d| d <= status) - 1;
        let types = &self.program.operations[operation].results;
        let results = results_of(types, status - self.done[operation]);
        let results: Vec<i32> = results.iter().zip(types).map(|(r, t)| name(&t.kind, *r)).collect();
        result_number(types, &results).map_or(status, |n| self.done[operation] + n)
    }

    /// Whether every configuration of `a` is one of `b`, so that `b` can be dropped. For automata,
    /// whether `a` forbids everything that `b` does.
    pub(crate) fn includes(&mut self, a: u32, b: u32) -> bool {
        if a == b || a == EMPTY {
            return true;
        }
        if let (Some(automata), Some(stronger), Some(weaker)) =
            (&self.automata, self.only_member(a), self.only_member(b))
        {
            return automata.forbids_no_less(&stronger[1..], &weaker[1..]);
        }
        if self.signatures[a as usize] & !self.signatures[b as usize] != 0 {
            return false;
        }
        let (small, large) = (&self.sets.items[a as usize], &self.sets.items[b as usize]);
        if small.len() >= large.len() {
            return false;
        }
        *self.included.entry((a, b)).or_insert_with(|| {
            let mut rest = large.iter();
            small.iter().all(|m| rest.by_ref().find(|&o| o >= m) == Some(m))
        })
    }

    /// Compares sets by their contents, not by their numbers.
    pub(crate) fn compare(&self, a: u32, b: u32) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.content(a).cmp(&self.content(b))
    }

    fn content(&self, set: u32) -> Vec<(&[i32], &[u32])> {
        let members = self.sets.items[set as usize].iter().map(|&member| {
            let words = &self.configurations.items[member as usize];
            (&*self.objects.items[words[0] as usize], &words[1..])
        });
        let mut members: Vec<_> = members.collect();
        members.sort_unstable();
        members
    }

    /// For each of these processes a number that depends on the set alone, not on names: how it
    /// occurs in the set. Processes that can be exchanged have equal numbers. Data values have all
    /// the same.
    pub(crate) fn occurrences(&self, set: u32, names: &[u8]) -> Vec<u64> {
        let state = FixedState::with_seed(13);
        let mut counts = vec![0u64; names.len()];
        for &member in self.sets.items[set as usize].iter() {
            let words = &self.configurations.items[member as usize];
            if words.len() == 1 {
                continue;
            }
            // What holds for the whole configuration: the statuses of all processes, sorted.
            let mut all: SmallVec<[u32; 8]> =
                words[1..].iter().map(|&status| self.shape(status)).collect();
            all.sort_unstable();
            for (count, &p) in counts.iter_mut().zip(names) {
                // Nothing is said of data values: they are told apart by trying.
                let Some(&status) = words.get(1 + usize::from(p)) else { continue };
                *count = count.wrapping_add(state.hash_one((&all[..], self.shape(status))));
            }
        }
        counts
    }

    /// Whether the specification explains that all called processes wait: in some configuration
    /// none of them has taken effect, and none can.
    pub(crate) fn explains_waiting(&mut self, set: u32) -> bool {
        if self.points == Points::Labelled {
            // The called processes are not known here: the search without points decides.
            return false;
        }
        let calls = self.program.calls.len() as u32;
        self.member(set).iter().any(|&member| {
            let words = self.configurations.items[member as usize].clone();
            (1..words.len()).all(|p| match words[p] {
                IDLE => true,
                status if status > calls => false,
                status => self.object_steps(words[0], p as u8 - 1, (status - 1) as u16).is_empty(),
            })
        })
    }

    /// The results with which the process can return in some configuration of the set, in the order
    /// of their numbers.
    pub(crate) fn possible(&self, set: u32, process: usize, operation: OpId) -> Vec<Vec<i32>> {
        let types = &self.program.operations[operation].results;
        let first = self.done[operation];
        let end = self.done.get(operation + 1).copied().unwrap_or(u32::MAX);
        let mut numbers: Vec<u32> = (self.sets.items[set as usize].iter())
            .filter_map(|&member| self.configurations.items[member as usize].get(1 + process))
            .filter(|status| (first..end).contains(*status))
            .map(|status| status - first)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| results_of(types, number)).collect()
    }

    /// The distinct states of the object in the configurations of the set, as text.
    pub(crate) fn show(&self, set: u32) -> Vec<String> {
        let mut shown: Vec<String> = Vec::new();
        for &member in self.sets.items[set as usize].iter() {
            let object = self.configurations.items[member as usize][0];
            shown.push(self.program.spec.show(&self.objects.items[object as usize]));
        }
        shown.sort();
        shown.dedup();
        shown
    }
}

/// One worker's view of the sets of a run: queries the shared table once per question.
pub(crate) struct Cache<'a> {
    shared: &'a Mutex<SpecSets>,
    after: HashMap<u64, u32, FixedState>,
    /// For [`super::canonical`]: (set, order of the processes, classes of equal ones) -> canonical
    /// set.
    pub(crate) canonical: HashMap<(u32, Permutation, u64), u32, FixedState>,
}

impl<'a> Cache<'a> {
    pub(crate) fn new(shared: &'a Mutex<SpecSets>) -> Cache<'a> {
        Cache { shared, after: HashMap::default(), canonical: HashMap::default() }
    }

    pub(crate) fn after(&mut self, set: u32, label: Label) -> u32 {
        let Some(packed) = label.packed() else {
            return self.lock().after(set, label);
        };
        let key = u64::from(set) << 32 | u64::from(packed);
        match self.after.get(&key) {
            Some(&next) => next,
            None => {
                let next = self.lock().after(set, label);
                self.after.insert(key, next);
                next
            }
        }
    }

    /// Approximate memory in bytes: an entry is a key, a value and a byte of the table, which is at
    /// most seven eighths full.
    pub(crate) fn bytes(&self) -> u64 {
        let canonical = size_of::<((u32, Permutation, u64), u32)>() + 1;
        (self.after.capacity() * 17 + self.canonical.capacity() * canonical) as u64
    }

    /// The shared table. If a worker panicked while it held the lock, the table is still
    /// consistent: sets are only ever added.
    pub(crate) fn lock(&self) -> MutexGuard<'a, SpecSets> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
