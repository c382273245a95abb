//! Runs a compiled specification: see [`super::specification`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};

use trueline::Value;

use super::ast::BinaryOp;
use super::containers::{LONGEST, call, is_full, part, too_long};
use super::observers::changes;
use super::ranges::Shape;
use super::spec_words::{decode, encode_all, flatten, rename, show};
use super::types::{Ty, Types};
use crate::program::{MOST_ROUNDS, OpId, SpecMachine};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Data {
    Int(i32),
    /// A value of a history that nothing is known of.
    Any(Value),
    /// A sequence, an array or a record.
    List(Vec<Data>),
    Set(BTreeSet<Data>),
    Map(BTreeMap<Data, Data>),
}

#[derive(Clone, Debug)]
pub(super) enum Tree {
    Const(Data),
    Read(Where),
    Me,
    Not(Box<Tree>),
    Negate(Box<Tree>),
    Binary(BinaryOp, Box<Tree>, Box<Tree>),
    If(Box<Tree>, Box<Tree>, Box<Tree>),
    List(Vec<Tree>),
    Min(Box<Tree>, Box<Tree>),
    Max(Box<Tree>, Box<Tree>),
    /// Where there is no such number the operation cannot be executed.
    Choose(Box<Tree>, Box<Tree>),
    Method(Method, Where, Vec<Tree>),
    /// The value, if it is one of the type of where it goes to, which the text names.
    Within(Box<Tree>, Box<(Shape, String)>),
}

/// A variable (first the state, then arguments and locals) and the path to a part of it.
#[derive(Clone, Debug)]
pub(super) struct Where {
    pub(super) slot: usize,
    pub(super) path: Vec<Tree>,
    /// The values of the part, if it is a number.
    pub(super) domain: Option<(i32, i32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    PushBack,
    PushFront,
    PopBack,
    PopFront,
    Back,
    Front,
    Len,
    IsEmpty,
    Contains,
    Insert,
    Remove,
    Get,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Set(Where, Tree),
    Eval(Tree),
    If(Tree, Vec<Step>, Vec<Step>),
    /// With the line of the model that it stands on.
    While(Tree, Vec<Step>, usize),
    Either(Vec<Vec<Step>>),
    Await(Tree),
    Break,
    Continue,
    Return(Option<Tree>),
}

pub(super) struct CompiledOp {
    pub(super) name: String,
    pub(super) body: Vec<Step>,
    pub(super) frame: usize,
}

/// A specification that the model's author wrote.
pub(super) struct Written {
    pub(super) types: Types,
    pub(super) state: Vec<(String, Ty, Data)>,
    pub(super) ops: Vec<CompiledOp>,
    pub(super) results: Vec<Ty>,
    /// Set when an operation of a model's specification could not be run to its end: nothing that
    /// was said since can be relied on.
    pub(super) trouble: OnceLock<String>,
    /// What has kept an operation from being executed since the last question: a number left its
    /// range, or a loop did not end.
    pub(super) doubt: Mutex<Option<String>>,
}

/// So many runs of an operation that do not end are told from each other; then the others, which
/// make other choices, are not tried.
const MOST_ENDLESS: usize = 16;

pub(super) fn first_value(types: &Types, ty: &Ty) -> Data {
    match ty {
        Ty::Seq(_) => Data::List(Vec::new()),
        Ty::Set(_) => Data::Set(BTreeSet::new()),
        Ty::Map(..) => Data::Map(BTreeMap::new()),
        Ty::Array { of, len, .. } => Data::List(vec![first_value(types, of); *len]),
        Ty::Record(record) => {
            let fields = &types.records[*record].fields;
            Data::List(fields.iter().map(|(_, ty)| first_value(types, ty)).collect())
        }
        Ty::Any => Data::Any(Value::Nil),
        _ => Data::Int(types.first(ty)),
    }
}

/// One execution, with the choices that it makes.
pub(super) struct Run {
    slots: Vec<Data>,
    me: i32,
    script: Vec<usize>,
    arities: Vec<usize>,
    rounds: u32,
    /// The first this many choices lead to the same place as those of the previous run.
    given: usize,
    /// The number of this run among those with other choices, and the states in which rounds of
    /// loops with choices began, over all of them.
    number: usize,
    met: Met,
    /// Why the run was given up.
    trouble: Option<String>,
    /// The line of the loop whose choices led back to where others had led.
    returned_in: Option<usize>,
    /// The number that would have left its range.
    left: Option<Left>,
}

/// A number that the place where it goes to cannot hold.
struct Left {
    place: Place,
    number: i64,
    range: (i32, i32),
}

enum Place {
    /// A variable, by its number.
    Variable(usize),
    Named(String),
    Nowhere,
}

impl Left {
    fn told(&self, variable: impl Fn(usize) -> Option<String>) -> String {
        let Left { place, number, range: (lo, hi) } = self;
        let what = match place {
            Place::Variable(slot) => variable(*slot).map(|name| format!("`{name}`")),
            Place::Named(what) => Some(what.clone()),
            Place::Nowhere => None,
        };
        let what = what.unwrap_or_else(|| "a number".into());
        format!("{what} would be {number}, which is not one of {lo}..{hi}")
    }
}

/// By loop and state: the run, and how many choices it had made.
type Met = HashMap<(usize, String), (usize, usize)>;

enum End {
    Falls,
    Break,
    Continue,
    Return(Option<Data>),
    Blocked,
}

impl Run {
    pub(super) fn new(slots: Vec<Data>) -> Run {
        Run {
            slots,
            me: 0,
            script: Vec::new(),
            arities: Vec::new(),
            rounds: 0,
            given: 0,
            number: 0,
            met: Met::new(),
            trouble: None,
            returned_in: None,
            left: None,
        }
    }

    /// What left its range where that kept the run from going on.
    pub(super) fn outside(&self) -> Option<String> {
        self.left.as_ref().map(|left| left.told(|_| None))
    }

    fn choice(&mut self, arity: usize) -> usize {
        let at = self.arities.len();
        self.arities.push(arity);
        if self.script.len() == at {
            self.script.push(0);
        }
        self.script[at]
    }

    fn steps(&mut self, steps: &[Step]) -> End {
        for step in steps {
            match self.step(step) {
                Some(End::Falls) => {}
                Some(end) => return end,
                None => return End::Blocked,
            }
        }
        End::Falls
    }

    fn step(&mut self, step: &Step) -> Option<End> {
        Some(match step {
            Step::Set(place, tree) => {
                let value = self.eval(tree)?;
                if let (Data::Int(number), Some((lo, hi))) = (&value, place.domain)
                    && !(lo..=hi).contains(number)
                {
                    let number = i64::from(*number);
                    let place = Place::Variable(place.slot);
                    self.left = Some(Left { place, number, range: (lo, hi) });
                    return None;
                }
                let path = self.path(place)?;
                if let Some((_, above)) = path.split_last() {
                    let map = part(&mut self.slots[place.slot], above, false)?;
                    if matches!(map, Data::Map(items) if items.len() >= LONGEST) {
                        self.trouble = Some(too_long(map));
                        return None;
                    }
                }
                *part(&mut self.slots[place.slot], &path, true)? = value;
                End::Falls
            }
            Step::Eval(tree) => {
                self.eval(tree)?;
                End::Falls
            }
            Step::If(condition, yes, no) => {
                let branch = if self.truth(condition)? { yes } else { no };
                self.steps(branch)
            }
            Step::While(condition, body, line) => {
                let before = self.arities.len();
                while self.truth(condition)? {
                    // Choices that lead to a state that other choices have reached need not be
                    // followed.
                    let chosen = self.arities.len();
                    if chosen > before && chosen >= self.given {
                        let state = (body.as_ptr() as usize, format!("{:?}", self.slots));
                        match self.met.insert(state, (self.number, chosen)) {
                            None => {}
                            Some(same) if same == (self.number, chosen) => {
                                let trouble = format!("its loop in line {line} changes nothing");
                                self.trouble = Some(trouble);
                                return None;
                            }
                            Some(_) => {
                                self.returned_in = Some(*line);
                                return None;
                            }
                        }
                    }
                    self.rounds += 1;
                    if self.rounds > MOST_ROUNDS {
                        self.trouble = Some(format!(
                            "its loop in line {line} makes more than {MOST_ROUNDS} rounds"
                        ));
                        return None;
                    }
                    match self.steps(body) {
                        End::Break => break,
                        End::Falls | End::Continue => {}
                        end => return Some(end),
                    }
                }
                End::Falls
            }
            Step::Either(branches) => {
                let chosen = self.choice(branches.len());
                self.steps(&branches[chosen])
            }
            Step::Await(condition) => match self.truth(condition)? {
                true => End::Falls,
                false => End::Blocked,
            },
            Step::Break => End::Break,
            Step::Continue => End::Continue,
            Step::Return(None) => End::Return(None),
            Step::Return(Some(tree)) => End::Return(Some(self.eval(tree)?)),
        })
    }

    fn truth(&mut self, tree: &Tree) -> Option<bool> {
        Some(self.number(tree)? != 0)
    }

    fn number(&mut self, tree: &Tree) -> Option<i32> {
        match self.eval(tree)? {
            Data::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The result of a computation; `None` if it is too large.
    fn counted(&mut self, number: i64) -> Option<Data> {
        let fits = i32::try_from(number).ok();
        if fits.is_none() {
            self.left = Some(Left { place: Place::Nowhere, number, range: (i32::MIN, i32::MAX) });
        }
        fits.map(Data::Int)
    }

    fn path(&mut self, place: &Where) -> Option<Vec<Data>> {
        place.path.iter().map(|tree| self.eval(tree)).collect()
    }

    /// `None` if there is no value: an index out of bounds, an empty sequence.
    pub(super) fn eval(&mut self, tree: &Tree) -> Option<Data> {
        Some(match tree {
            Tree::Const(data) => data.clone(),
            Tree::Me => Data::Int(self.me),
            Tree::Read(place) => {
                let path = self.path(place)?;
                part(&mut self.slots[place.slot], &path, false)?.clone()
            }
            Tree::Not(of) => Data::Int(i32::from(!self.truth(of)?)),
            Tree::Negate(of) => Data::Int(self.number(of)?.checked_neg()?),
            Tree::If(condition, yes, no) => {
                let chosen = if self.truth(condition)? { yes } else { no };
                self.eval(chosen)?
            }
            Tree::List(items) => {
                Data::List(items.iter().map(|item| self.eval(item)).collect::<Option<_>>()?)
            }
            Tree::Min(a, b) => Data::Int(self.number(a)?.min(self.number(b)?)),
            Tree::Max(a, b) => Data::Int(self.number(a)?.max(self.number(b)?)),
            Tree::Choose(low, high) => {
                let (low, high) = (self.number(low)?, self.number(high)?);
                let count = usize::try_from(i64::from(high) - i64::from(low) + 1).ok()?;
                if count == 0 {
                    return None;
                }
                Data::Int(low + self.choice(count) as i32)
            }
            Tree::Binary(op, left, right) => return self.binary(*op, left, right),
            Tree::Within(of, within) => {
                let (value, (shape, what)) = (self.eval(of)?, &**within);
                if let Some((number, range)) = shape.outside(&value) {
                    let place = Place::Named(what.clone());
                    self.left = Some(Left { place, number: number.into(), range });
                    return None;
                }
                value
            }
            Tree::Method(method, place, args) => {
                let args: Vec<Data> =
                    args.iter().map(|arg| self.eval(arg)).collect::<Option<_>>()?;
                let path = self.path(place)?;
                let target = part(&mut self.slots[place.slot], &path, false)?;
                if is_full(*method, target) {
                    self.trouble = Some(too_long(target));
                    return None;
                }
                return call(*method, target, args);
            }
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &Tree, right: &Tree) -> Option<Data> {
        let truth = |b: bool| Some(Data::Int(i32::from(b)));
        match op {
            BinaryOp::And => return truth(self.truth(left)? && self.truth(right)?),
            BinaryOp::Or => return truth(self.truth(left)? || self.truth(right)?),
            _ => {}
        }
        let (a, b) = (self.eval(left)?, self.eval(right)?);
        match op {
            BinaryOp::Equal => truth(a == b),
            BinaryOp::Different => truth(a != b),
            BinaryOp::Concat => match (a, b) {
                (Data::List(a), Data::List(b)) if a.len() + b.len() > LONGEST => {
                    self.trouble = Some(too_long(&Data::List(a)));
                    None
                }
                (Data::List(mut a), Data::List(b)) => {
                    a.extend(b);
                    Some(Data::List(a))
                }
                _ => None,
            },
            BinaryOp::In => truth(match &b {
                Data::List(items) => items.contains(&a),
                Data::Set(items) => items.contains(&a),
                Data::Map(items) => items.contains_key(&a),
                Data::Int(_) | Data::Any(_) => return None,
            }),
            _ => {
                let (Data::Int(a), Data::Int(b)) = (a, b) else { return None };
                match op {
                    BinaryOp::Add => self.counted(i64::from(a) + i64::from(b)),
                    BinaryOp::Sub => self.counted(i64::from(a) - i64::from(b)),
                    BinaryOp::Mul => self.counted(i64::from(a) * i64::from(b)),
                    BinaryOp::Div => a.checked_div_euclid(b).map(Data::Int),
                    BinaryOp::Rem => a.checked_rem_euclid(b).map(Data::Int),
                    BinaryOp::Less => truth(a < b),
                    BinaryOp::LessEqual => truth(a <= b),
                    BinaryOp::Greater => truth(a > b),
                    _ => truth(a >= b),
                }
            }
        }
    }
}

/// The result of an operation, if it has one, and the next state.
pub(super) type Ended = (Option<Data>, Vec<Data>);

impl Written {
    pub(super) fn first(&self) -> Vec<Data> {
        self.state.iter().map(|(_, _, data)| data.clone()).collect()
    }

    /// Whether no execution of the operation changes the state.
    pub(super) fn observes(&self, operation: OpId) -> bool {
        !changes(&self.ops[operation].body, self.state.len())
    }

    /// Every way in which the operation can be executed, each once.
    pub(super) fn outcomes(
        &self,
        state: &[Data],
        process: usize,
        operation: OpId,
        args: impl Iterator<Item = Data> + Clone,
    ) -> Vec<Ended> {
        let op = &self.ops[operation];
        let mut out: Vec<Ended> = Vec::new();
        let (mut script, mut met, mut number) = (Vec::new(), Met::new(), 0);
        let (mut endless, mut returned_in) = (0, None);
        while self.trouble.get().is_none() {
            let mut slots = state.to_vec();
            slots.extend(args.clone());
            slots.resize(op.frame.max(slots.len()), Data::Int(0));
            let given = script.len();
            number += 1;
            let mut run = Run { me: process as i32, script, given, number, met, ..Run::new(slots) };
            let ended = run.steps(&op.body);
            if let Some(why) = run.trouble {
                let told = format!("the specification of `{}` does not end: {why}", op.name);
                endless += 1;
                if !self.types.histories {
                    let _ = self.trouble.set(told);
                    return out;
                }
                self.note(|| told);
                if endless == MOST_ENDLESS {
                    return out;
                }
            }
            returned_in = returned_in.or(run.returned_in);
            if let Some(left) = run.left {
                let name = |slot: usize| self.state.get(slot).map(|(name, ..)| name.clone());
                self.note(|| {
                    let left = left.told(name);
                    format!("the specification of `{}` leaves its range: {left}", op.name)
                });
            }
            let result = match ended {
                End::Falls | End::Return(None) => Some(None),
                End::Return(result) => Some(result),
                End::Blocked | End::Break | End::Continue => None,
            };
            if let Some(result) = result {
                run.slots.truncate(self.state.len());
                let outcome = (result, run.slots);
                if !out.contains(&outcome) {
                    out.push(outcome);
                }
            }
            met = run.met;
            script = run.script;
            script.truncate(run.arities.len());
            // The next sequence of choices, as an odometer counts.
            while let Some(last) = script.pop() {
                if last + 1 < run.arities[script.len()] {
                    script.push(last + 1);
                    break;
                }
            }
            if script.is_empty() {
                break;
            }
        }
        if let (true, Some(line)) = (out.is_empty(), returned_in) {
            let name = &op.name;
            self.note(|| {
                format!("the specification of `{name}` does not end: no choice ends its loop in line {line}")
            });
        }
        out
    }

    /// Keeps the first doubt.
    fn note(&self, doubt: impl FnOnce() -> String) {
        let mut noted = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get_or_insert_with(doubt);
    }

    /// Why an unexplained history may be due to the specification.
    pub(super) fn take_doubt(&self) -> Option<String> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn shown(&self, data: &[Data]) -> String {
        let shown = self.state.iter().zip(data);
        let all: Vec<String> = match self.state.len() {
            1 => shown.map(|((_, ty, _), data)| show(&self.types, ty, data)).collect(),
            _ => shown
                .map(|((name, ty, _), data)| format!("{name} = {}", show(&self.types, ty, data)))
                .collect(),
        };
        all.join(", ")
    }

    fn decode(&self, state: &[i32]) -> Vec<Data> {
        let mut words = state;
        self.state.iter().map(|(_, ty, _)| decode(&self.types, ty, &mut words)).collect()
    }
}

impl SpecMachine for Written {
    fn initial(&self) -> Vec<Box<[i32]>> {
        vec![encode_all(&self.first())]
    }

    fn step(
        &self,
        state: &[i32],
        process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<(Box<[i32]>, Box<[i32]>)>,
    ) {
        let args = args.iter().map(|arg| Data::Int(*arg));
        for (result, next) in self.outcomes(&self.decode(state), process, operation, args) {
            let result = result
                .map(|data| flatten(&self.types, &self.results[operation], &data))
                .unwrap_or_default();
            let outcome = (result.into(), encode_all(&next));
            if !out.contains(&outcome) {
                out.push(outcome);
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.get().cloned()
    }

    fn permute(&self, state: &[i32], to: &[u8]) -> Box<[i32]> {
        let data = self.decode(state).into_iter().zip(&self.state);
        let renamed: Vec<Data> =
            data.map(|(data, (_, ty, _))| rename(&self.types, ty, data, to)).collect();
        encode_all(&renamed)
    }

    fn show(&self, state: &[i32]) -> String {
        self.shown(&self.decode(state))
    }
}
