//! All consistent executions of a litmus program, by brute force from the axioms.
//!
//! It guesses the value of every read, every reads-from edge and every modification order, and
//! keeps what the axioms allow. It shares nothing with the explorer but the names of orderings.
//! Relations are rows of bits: a program has at most 64 events.

use std::collections::{BTreeMap, BTreeSet};

use trueline_explore::weak::Order;

use super::program::{Expression, Litmus, Operation, Registers, Statement};

/// The axioms to go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// RC11 with C++20's changes.
    Rc11,
    /// RC11 as printed in 2017.
    Pldi17,
    /// C++20's total order of SeqCst accesses, word by word.
    Cpp20,
    /// Sequential consistency.
    Sc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Fence,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    kind: Kind,
    location: char,
    order: Order,
    value: i64,
    /// Half of a read-modify-write.
    half: bool,
}

/// What brute force found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) count: usize,
    pub(super) outcomes: BTreeSet<String>,
    pub(super) race: bool,
}

type Row = u64;
type Run = (Vec<Event>, Registers);
/// Locations and values.
type Writes = BTreeSet<(char, i64)>;
type Domain = BTreeMap<char, BTreeSet<i64>>;

/// What a program may do under a model.
pub(super) fn check(litmus: &Litmus, model: Model) -> Found {
    let mut found = Found::default();
    executions(litmus, &mut |candidate, registers| {
        if !candidate.is_consistent(model) {
            return;
        }
        found.count += 1;
        let last = |location| candidate.last_value(location);
        found.outcomes.insert(litmus.outcome(registers, last));
        found.race |= candidate.has_race(model);
    });
    found
}

/// How many combinations of runs of its threads brute force has to look at. None: a thread alone
/// has more than [`MOST_RUNS`].
pub(super) fn combinations(litmus: &Litmus) -> Option<usize> {
    let domain = domain(litmus)?;
    let counts = litmus.threads.iter().map(|thread| Some(runs(thread, &domain)?.0.len()));
    counts.product()
}

/// A thread of more runs, complete or not, is too large. Values that are added up grow in each
/// round of [`domain`], and the runs of a thread are as many as there are values for all its reads.
const MOST_RUNS: usize = 20_000;

/// The complete runs of a thread, and all values that it writes in any run, complete or not. None:
/// there are too many.
fn runs(thread: &[Statement], domain: &Domain) -> Option<(Vec<Run>, Writes)> {
    let (mut runs, mut written, mut left) = (Vec::new(), BTreeSet::new(), MOST_RUNS);
    let rest: Vec<&Statement> = thread.iter().rev().collect();
    let registers = Registers::new();
    go(rest, Vec::new(), registers, domain, &mut runs, &mut written, &mut left);
    (left > 0).then_some((runs, written))
}

fn go(
    mut rest: Vec<&Statement>,
    mut events: Vec<Event>,
    mut registers: Registers,
    domain: &Domain,
    runs: &mut Vec<Run>,
    written: &mut Writes,
    left: &mut usize,
) {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return;
    }
    let event = |kind, location, order, value, half| Event { kind, location, order, value, half };
    while let Some(statement) = rest.pop() {
        match statement {
            Statement::Store(location, order, value) => {
                let value = value.value(&registers);
                events.push(event(Kind::Write, *location, *order, value, false));
                written.insert((*location, value));
            }
            Statement::Load(register, location, order) => {
                for &value in &domain[location] {
                    let (mut events, mut registers) = (events.clone(), registers.clone());
                    events.push(event(Kind::Read, *location, *order, value, false));
                    registers.insert(register.clone(), value);
                    go(rest.clone(), events, registers, domain, runs, written, left);
                }
                return;
            }
            Statement::Rmw(register, location, operation, success, failure, arguments) => {
                for &value in &domain[location] {
                    let (mut events, mut registers) = (events.clone(), registers.clone());
                    let argument = |k: usize| Expression::value(&arguments[k], &registers);
                    let new = match operation {
                        Operation::Add => Some(value + argument(0)),
                        Operation::Swap => Some(argument(0)),
                        Operation::CompareExchange => (value == argument(0)).then(|| argument(1)),
                    };
                    let (first, second) = halves(*success);
                    match new {
                        None => events.push(event(Kind::Read, *location, *failure, value, false)),
                        Some(new) => {
                            events.push(event(Kind::Read, *location, first, value, true));
                            events.push(event(Kind::Write, *location, second, new, true));
                            written.insert((*location, new));
                        }
                    }
                    registers.insert(register.clone(), value);
                    go(rest.clone(), events, registers, domain, runs, written, left);
                }
                return;
            }
            Statement::Fence(order) => events.push(event(Kind::Fence, ' ', *order, 0, false)),
            Statement::Set(register, value) => {
                let value = value.value(&registers);
                registers.insert(register.clone(), value);
            }
            Statement::Assume(condition) if condition.value(&registers) == 0 => return,
            Statement::Assume(_) => (),
            Statement::If(condition, then, otherwise) => {
                let taken = if condition.value(&registers) != 0 { then } else { otherwise };
                rest.extend(taken.iter().rev());
            }
        }
    }
    runs.push((events, registers));
}

fn halves(order: Order) -> (Order, Order) {
    match order {
        Order::AcqRel => (Order::Acquire, Order::Release),
        Order::Acquire => (Order::Acquire, Order::Relaxed),
        Order::Release => (Order::Relaxed, Order::Release),
        other => (other, other),
    }
}

fn locations(statements: &[Statement], found: &mut BTreeSet<char>) {
    for statement in statements {
        match statement {
            Statement::Store(location, ..)
            | Statement::Load(_, location, _)
            | Statement::Rmw(_, location, ..) => {
                found.insert(*location);
            }
            Statement::If(_, then, otherwise) => {
                locations(then, found);
                locations(otherwise, found);
            }
            _ => (),
        }
    }
}

fn count_reads(statements: &[Statement]) -> usize {
    let reads = statements.iter().map(|statement| match statement {
        Statement::Load(..) | Statement::Rmw(..) => 1,
        Statement::If(_, then, otherwise) => count_reads(then) + count_reads(otherwise),
        _ => 0,
    });
    reads.sum()
}

/// The values that each location may hold: what threads write when their reads find what is known
/// so far, again and again. No chain of reads is longer than there are reads; more values could
/// only come out of thin air.
fn domain(litmus: &Litmus) -> Option<Domain> {
    let mut all = BTreeSet::new();
    litmus.threads.iter().for_each(|thread| locations(thread, &mut all));
    let mut domain: Domain = all.into_iter().map(|l| (l, BTreeSet::from([0]))).collect();
    let rounds = 1 + litmus.threads.iter().map(|thread| count_reads(thread)).sum::<usize>();
    for _ in 0..rounds {
        let before = domain.clone();
        for thread in &litmus.threads {
            for (location, value) in runs(thread, &before)?.1 {
                domain.entry(location).or_default().insert(value);
            }
        }
        if domain == before {
            break;
        }
    }
    Some(domain)
}

/// One candidate execution. Initial writes come first, one for each location.
struct Candidate {
    events: Vec<Event>,
    thread: Vec<usize>,
    initial: Row,
    sb: Vec<Row>,
    rmw: Vec<Row>,
    rf: Vec<Row>,
    mo: Vec<Row>,
}

const NOBODY: usize = usize::MAX;

/// All ways to choose one of each list.
fn choices<T: Copy>(lists: &[Vec<T>], chosen: &mut Vec<T>, visit: &mut dyn FnMut(&[T])) {
    match lists.get(chosen.len()) {
        None => visit(chosen),
        Some(list) => {
            for &item in list {
                chosen.push(item);
                choices(lists, chosen, visit);
                chosen.pop();
            }
        }
    }
}

/// All orders of some writes that keep those of one thread in order, as every model demands.
fn orders(writes: &[usize], sb: &[Row]) -> Vec<Vec<usize>> {
    if writes.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for &first in writes {
        if writes.iter().any(|&other| sb[other] >> first & 1 != 0) {
            continue;
        }
        let rest: Vec<usize> = writes.iter().copied().filter(|&other| other != first).collect();
        for mut order in orders(&rest, sb) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

fn executions(litmus: &Litmus, visit: &mut dyn FnMut(&Candidate, &[Registers])) {
    let domain = domain(litmus).expect("a program that brute force can do");
    let runs_of = |thread: &Vec<Statement>| runs(thread, &domain).expect("a small program").0;
    let all: Vec<Vec<Run>> = litmus.threads.iter().map(runs_of).collect();
    let indices: Vec<Vec<usize>> = all.iter().map(|runs| (0..runs.len()).collect()).collect();
    choices(&indices, &mut Vec::new(), &mut |chosen| {
        let chosen: Vec<&Run> = all.iter().zip(chosen).map(|(runs, &k)| &runs[k]).collect();
        let registers: Vec<Registers> = chosen.iter().map(|run| run.1.clone()).collect();
        let threads: Vec<&[Event]> = chosen.iter().map(|run| &run.0[..]).collect();
        let mut candidate = Candidate::new(&domain, &threads);
        candidate.complete(&mut |candidate| visit(candidate, &registers));
    });
}

impl Candidate {
    fn new(domain: &Domain, threads: &[&[Event]]) -> Candidate {
        let initial = |&location: &char| Event {
            kind: Kind::Write,
            location,
            order: Order::NotAtomic,
            value: 0,
            half: false,
        };
        let mut events: Vec<Event> = domain.keys().map(initial).collect();
        let mut thread = vec![NOBODY; events.len()];
        let first: Row = (1 << events.len()) - 1;
        let count = events.len() + threads.iter().map(|events| events.len()).sum::<usize>();
        assert!(count <= 64, "too many events");
        let (mut sb, mut rmw) = (vec![0; count], vec![0; count]);
        for (number, &own) in threads.iter().enumerate() {
            let mut before = first;
            for &event in own {
                let index = events.len();
                if event.half && event.kind == Kind::Write {
                    rmw[index - 1] |= 1 << index;
                }
                bits(before).for_each(|earlier| sb[earlier] |= 1 << index);
                before |= 1 << index;
                events.push(event);
                thread.push(number);
            }
        }
        let empty = vec![0; count];
        Candidate { events, thread, initial: first, sb, rmw, rf: empty.clone(), mo: empty }
    }

    fn set(&self, wanted: impl Fn(&Event) -> bool) -> Row {
        let chosen = self.events.iter().enumerate().filter(|(_, event)| wanted(event));
        chosen.fold(0, |set, (index, _)| set | 1 << index)
    }

    /// Visits it with every rf and mo that is not absurd.
    fn complete(&mut self, visit: &mut dyn FnMut(&Candidate)) {
        let count = self.events.len();
        let mut sources: Vec<Vec<(usize, usize)>> = Vec::new();
        for read in (0..count).filter(|&index| self.events[index].kind == Kind::Read) {
            let (location, value) = (self.events[read].location, self.events[read].value);
            let fits = |event: &Event| {
                event.kind == Kind::Write && event.location == location && event.value == value
            };
            let fitting = bits(self.set(fits) & !self.sb[read]);
            sources.push(fitting.map(|write| (read, write)).collect());
        }
        let names: BTreeSet<char> =
            self.events.iter().filter(|e| e.kind == Kind::Write).map(|e| e.location).collect();
        let all: Vec<Vec<Vec<usize>>> = names
            .iter()
            .map(|&name| {
                let of = self.set(|e| e.kind == Kind::Write && e.location == name);
                let first = (of & self.initial).trailing_zeros() as usize;
                let rest: Vec<usize> = bits(of & !self.initial).collect();
                let with_first = |mut order: Vec<usize>| {
                    order.insert(0, first);
                    order
                };
                orders(&rest, &self.sb).into_iter().map(with_first).collect()
            })
            .collect();
        let indices: Vec<Vec<usize>> = all.iter().map(|o| (0..o.len()).collect()).collect();
        choices(&sources, &mut Vec::new(), &mut |chosen| {
            self.rf = vec![0; count];
            chosen.iter().for_each(|&(read, write)| self.rf[write] |= 1 << read);
            if !is_acyclic(&union(&[&self.sb, &self.rf])) {
                return;
            }
            choices(&indices, &mut Vec::new(), &mut |chosen| {
                self.mo = vec![0; count];
                for (orders, &k) in all.iter().zip(chosen) {
                    for (place, &write) in orders[k].iter().enumerate() {
                        let later = orders[k][place + 1..].iter();
                        self.mo[write] = later.fold(0, |row, &other| row | 1 << other);
                    }
                }
                visit(self);
            });
        });
    }

    /// The last value of a location.
    fn last_value(&self, location: char) -> i64 {
        let writes = bits(self.set(|e| e.kind == Kind::Write && e.location == location));
        let last = writes.into_iter().find(|&write| self.mo[write] == 0);
        self.events[last.expect("the initial write at least")].value
    }

    fn reads_before(&self) -> Vec<Row> {
        compose(&inverse(&self.rf), &self.mo)
    }

    /// (hb, sw)
    fn happens_before(&self, model: Model) -> (Vec<Row>, Vec<Row>) {
        let count = self.events.len();
        let strong = self.set(|e| e.kind == Kind::Write && e.order != Order::NotAtomic);
        let own = |write: usize| {
            let same = self.set(|e| e.location == self.events[write].location);
            if model == Model::Pldi17 { self.sb[write] & same & strong } else { 0 }
        };
        let head: Vec<Row> =
            (0..count).map(|w| if strong >> w & 1 != 0 { 1 << w | own(w) } else { 0 }).collect();
        let sequence = compose(&head, &optional(&closure(&compose(&self.rf, &self.rmw))));
        let releases = |order| matches!(order, Order::Release | Order::AcqRel | Order::SeqCst);
        let acquires = |order| matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst);
        let release = self.set(|e| releases(e.order) && e.kind != Kind::Read);
        let acquire = self.set(|e| acquires(e.order) && e.kind != Kind::Write);
        let relaxed = self.set(|e| e.kind == Kind::Read && e.order != Order::NotAtomic);
        let fences = self.set(|e| e.kind == Kind::Fence);
        let before = optional(&within(&self.sb, fences, Row::MAX));
        let after = optional(&within(&self.sb, Row::MAX, fences));
        let middle = within(&compose(&sequence, &self.rf), Row::MAX, relaxed);
        let sw = within(&compose(&compose(&before, &middle), &after), release, acquire);
        (closure(&union(&[&self.sb, &sw])), sw)
    }

    fn is_consistent(&self, model: Model) -> bool {
        let rb = self.reads_before();
        let between = compose(&rb, &self.mo);
        if self.rmw.iter().zip(&between).any(|(rmw, between)| rmw & between != 0) {
            return false;
        }
        if model == Model::Sc {
            return is_acyclic(&union(&[&self.sb, &self.rf, &self.mo, &rb]));
        }
        let (hb, sw) = self.happens_before(model);
        let eco = closure(&union(&[&self.rf, &self.mo, &rb]));
        if !is_irreflexive(&hb) || !is_irreflexive(&compose(&hb, &eco)) {
            return false;
        }
        match model {
            Model::Cpp20 => is_acyclic(&self.total_order(&hb, &sw, &eco)),
            _ => is_acyclic(&self.partial_order(&hb, &eco, &rb, model)),
        }
    }

    /// psc of RC11.
    fn partial_order(&self, hb: &[Row], eco: &[Row], rb: &[Row], model: Model) -> Vec<Row> {
        let count = self.events.len();
        let strong = self.set(|e| e.order == Order::SeqCst);
        let fences = strong & self.set(|e| e.kind == Kind::Fence);
        let same: Vec<Row> = (0..count)
            .map(|i| self.set(|e| e.location == self.events[i].location && e.location != ' '))
            .collect();
        let without = |rows: &[Row]| -> Vec<Row> {
            self.sb.iter().zip(rows).map(|(sb, row)| sb & !row).collect()
        };
        let apart = without(if model == Model::Pldi17 { &same } else { &self.rmw });
        let hb_same: Vec<Row> = hb.iter().zip(&same).map(|(hb, same)| hb & same).collect();
        let middle = compose(&compose(&apart, hb), &apart);
        let scb = union(&[&self.sb, &middle, &hb_same, &self.mo, rb]);
        let (maybe, identity) = (optional(hb), optional(&vec![0; count]));
        let left = union(&[&within(&identity, strong, strong), &within(&maybe, fences, Row::MAX)]);
        let right = union(&[&within(&identity, strong, strong), &within(&maybe, Row::MAX, fences)]);
        let base = compose(&compose(&left, &scb), &right);
        let through = compose(&compose(hb, eco), hb);
        let between = within(&union(&[hb, &through]), fences, fences);
        union(&[&base, &between])
    }

    /// What [atomics.order] of C++20 asks of the order of SeqCst operations.
    fn total_order(&self, hb: &[Row], sw: &[Row], eco: &[Row]) -> Vec<Row> {
        let count = self.events.len();
        let strong = self.set(|e| e.order == Order::SeqCst);
        let fences = strong & self.set(|e| e.kind == Kind::Fence);
        let accesses = strong & !fences;
        let step: Vec<Row> = self.sb.iter().zip(&self.rmw).map(|(sb, rmw)| sb & !rmw).collect();
        let through = compose(&compose(&step, hb), &step);
        let strongly = closure(&union(&[&self.sb, &within(sw, strong, strong), &through]));
        let identity = optional(&vec![0; count]);
        let own = within(&identity, accesses, accesses);
        let left = union(&[&own, &within(hb, fences, Row::MAX)]);
        let right = union(&[&own, &within(hb, Row::MAX, fences)]);
        let coherent = compose(&compose(&left, eco), &right);
        union(&[&within(&strongly, strong, strong), &coherent])
    }

    fn has_race(&self, model: Model) -> bool {
        let (hb, _) = self.happens_before(model);
        let conflict = |i: usize, j: usize| {
            let (a, b) = (&self.events[i], &self.events[j]);
            let plain = a.order == Order::NotAtomic || b.order == Order::NotAtomic;
            let writes = a.kind == Kind::Write || b.kind == Kind::Write;
            plain && writes && a.location == b.location && a.kind != Kind::Fence
        };
        let later = (0..self.events.len()).filter(|&i| self.initial >> i & 1 == 0);
        later.clone().any(|i| {
            later.clone().any(|j| {
                self.thread[i] < self.thread[j]
                    && conflict(i, j)
                    && hb[i] >> j & 1 == 0
                    && hb[j] >> i & 1 == 0
            })
        })
    }
}

fn bits(mut row: Row) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lowest = (row != 0).then(|| row.trailing_zeros() as usize)?;
        row &= row - 1;
        Some(lowest)
    })
}

fn compose(a: &[Row], b: &[Row]) -> Vec<Row> {
    a.iter().map(|&row| bits(row).fold(0, |sum, middle| sum | b[middle])).collect()
}

fn union(relations: &[&[Row]]) -> Vec<Row> {
    (0..relations[0].len()).map(|i| relations.iter().fold(0, |row, r| row | r[i])).collect()
}

fn closure(a: &[Row]) -> Vec<Row> {
    let mut closed = a.to_vec();
    for middle in 0..closed.len() {
        let row = closed[middle];
        for other in &mut closed {
            if *other >> middle & 1 != 0 {
                *other |= row;
            }
        }
    }
    closed
}

fn optional(a: &[Row]) -> Vec<Row> {
    a.iter().enumerate().map(|(i, row)| row | 1 << i).collect()
}

/// The edges from one set to another.
fn within(a: &[Row], left: Row, right: Row) -> Vec<Row> {
    let kept = |(i, row): (usize, &Row)| if left >> i & 1 != 0 { row & right } else { 0 };
    a.iter().enumerate().map(kept).collect()
}

fn inverse(a: &[Row]) -> Vec<Row> {
    let mut inverse = vec![0; a.len()];
    for (i, &row) in a.iter().enumerate() {
        bits(row).for_each(|j| inverse[j] |= 1 << i);
    }
    inverse
}

fn is_irreflexive(a: &[Row]) -> bool {
    a.iter().enumerate().all(|(i, row)| row >> i & 1 == 0)
}

fn is_acyclic(a: &[Row]) -> bool {
    is_irreflexive(&closure(a))
}
