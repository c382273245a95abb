//! `spec queue`: the built-in specifications, as the checker of models steps them.
//!
//! The specification itself is the untyped one that the whole project uses ([`Opaque`]). This
//! module adds what a search over models needs and a search over histories does not: states as
//! words, with the same numbers in a run that resumes from a checkpoint, and every possible result
//! of an operation, of which a history shows one. So [`Bridge`] is a [`SpecMachine`], like a
//! written specification, and not a second form of a specification.
//!
//! States are interned: a state is one word, its number in order of appearance. The origin of each
//! state (the previous state and the operation) is kept, so that another run can repeat the same
//! steps and recover the meaning of the numbers in a checkpoint.
//!
//! A returned value is decoded by the same code as a result in a history ([`Builtin::decode`]): an
//! operation without a result type returns nothing. In a state in which no value of the result type
//! is legal, the operation waits: a `deq` whose type has no `none` waits for an element. A result
//! type without any value that the specification can decode is an error of the model.

use std::sync::{Mutex, PoisonError};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::Arc;
use trueline::Value;
use trueline::spec::{self, Builtin, Opaque, OpaqueOp, OpaqueState, Spec};

use super::ast::{Expr, ExprKind, Name, Op};
use super::diagnostic::{Diagnostic, did_you_mean};
use super::parser::Parsed;
use super::specification::Signature;
use super::types::{Ty, Types};
use crate::program::{self, OpId, SpecMachine};

/// The specification of this name, for these operations.
pub(super) fn named(
    types: &Types,
    name: &Name,
    arguments: &[(Name, Expr)],
    ops: &[Op],
    signatures: Vec<Signature>,
) -> Parsed<Arc<dyn SpecMachine>> {
    let mut given = Given { types, arguments, used: Vec::new() };
    let value = |number: Option<i64>| number.map_or(Value::Nil, Value::Int);
    let sized = |wanted: &str, found: Option<i64>| {
        found.filter(|n| *n > 0).ok_or_else(|| {
            let help = format!("write `spec {}({wanted}: 2)`", name.text);
            Diagnostic::new(name.span, format!("`{}` needs its {wanted}", name.text)).help(help)
        })
    };
    let data = signatures.iter().flat_map(|s| s.args.iter().chain([&s.result]));
    if data.into_iter().any(|ty| types.has_data(ty)) {
        let refused = |message: String| {
            let help = "give the operations a range of numbers: `type Value = 1..2`";
            Err(Diagnostic::new(name.span, message).help(help))
        };
        if !ALIKE.contains(&name.text.as_str()) {
            return refused(format!("`{}` does not treat all values alike", name.text));
        }
        if let Some((key, _)) = arguments
            .iter()
            .find(|(key, value)| key.text == "init" && !matches!(value.kind, ExprKind::None))
        {
            return refused(format!("`{}` is one of the numbers, not of a `data` type", key.text));
        }
    }
    let types = types.clone();
    let make = Make { types, ops, signatures, name };
    let machine = match name.text.as_str() {
        "queue" => make.bridge(spec::queue()),
        "bounded-queue" => {
            let capacity = sized("capacity", given.number("capacity")?)?;
            make.bridge(spec::bounded_queue(capacity as usize))
        }
        "stack" => make.bridge(spec::stack()),
        "deque" => make.bridge(spec::deque()),
        "set" => make.bridge(spec::set()),
        "multiset" => make.bridge(spec::multiset()),
        "map" => make.bridge(spec::map()),
        "priority-queue" => make.bridge(spec::priority_queue()),
        "register" => make.bridge(spec::register(value(given.number("init")?))),
        "cas-register" => make.bridge(spec::cas_register(Some(value(given.number("init")?)))),
        "counter" => {
            let init = given.number("init")?.unwrap_or(0);
            make.require_clear_totals()?;
            make.bridge(spec::counter().with_init(init))
        }
        "semaphore" => make.bridge(spec::semaphore(given.count("init")?)),
        "log" => make.bridge(spec::log()),
        "snzi" => make.bridge(spec::snzi(given.count("init")?)),
        "semiqueue" => {
            let k = sized("k", given.number("k")?)?;
            make.bridge(spec::semiqueue(k as usize))
        }
        "stuttering-queue" => {
            let j = sized("j", given.number("j")?)?;
            make.bridge(spec::stuttering_queue(j as u32))
        }
        _ => {
            let help = did_you_mean(&name.text, NAMES)
                .unwrap_or_else(|| format!("known are {}", NAMES.join(", ")));
            let message = format!("no built-in specification is called `{}`", name.text);
            return Err(Diagnostic::new(name.span, message).help(help));
        }
    }?;
    given.all_used()?;
    Ok(machine)
}

const NAMES: [&str; 17] = [
    "queue",
    "bounded-queue",
    "stack",
    "deque",
    "set",
    "multiset",
    "map",
    "priority-queue",
    "register",
    "cas-register",
    "counter",
    "semaphore",
    "log",
    "snapshot",
    "snzi",
    "semiqueue",
    "stuttering-queue",
];

/// Those that only keep, compare and give back what they are given: values can be exchanged.
const ALIKE: [&str; 12] = [
    "queue",
    "bounded-queue",
    "stack",
    "deque",
    "set",
    "multiset",
    "map",
    "register",
    "cas-register",
    "log",
    "semiqueue",
    "stuttering-queue",
];

struct Given<'a> {
    types: &'a Types,
    arguments: &'a [(Name, Expr)],
    used: Vec<String>,
}

impl Given<'_> {
    fn number(&mut self, key: &str) -> Parsed<Option<i64>> {
        match self.arguments.iter().find(|(name, _)| name.text == key) {
            None => Ok(None),
            Some((_, expr)) if matches!(expr.kind, ExprKind::None) => {
                self.used.push(key.to_string());
                Ok(None)
            }
            Some((_, expr)) => {
                self.used.push(key.to_string());
                Ok(Some(self.types.number(expr)?.into()))
            }
        }
    }

    /// A number from 0 on; 0 where none is given.
    fn count(&mut self, key: &str) -> Parsed<u64> {
        let Some(number) = self.number(key)? else { return Ok(0) };
        u64::try_from(number).map_err(|_| {
            let (name, _) =
                self.arguments.iter().find(|(name, _)| name.text == key).expect("given");
            Diagnostic::new(name.span, format!("`{key}` is {number}: expected 0 or more"))
        })
    }

    fn all_used(&self) -> Parsed<()> {
        match self.arguments.iter().find(|(name, _)| !self.used.contains(&name.text)) {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("this specification has no parameter `{}`", name.text);
                Err(Diagnostic::new(name.span, message))
            }
        }
    }
}

struct Make<'a> {
    types: Types,
    ops: &'a [Op],
    signatures: Vec<Signature>,
    name: &'a Name,
}

impl Make<'_> {
    /// Rejects additions that return a number without saying which. A history of such additions is
    /// decoded as returning either the totals before or those after, whichever explains all of it,
    /// but a model has many histories.
    fn require_clear_totals(&self) -> Parsed<()> {
        let total = Value::Int(0);
        for (op, signature) in self.ops.iter().zip(&self.signatures) {
            let args = vec![total.clone(); signature.args.len()];
            let read = |before: bool| {
                spec::counter().telling(before).decode(&signature.name, &args, Some(&total)).ok()
            };
            if Types::has_numbers(&signature.result) && read(true) != read(false) {
                let message = format!("`{}` does not say which total it returns", signature.name);
                let help = "call it `fetch_add`, `fetch_inc` or `fetch_dec` if it returns the total before, `add_and_get`, \
                            `inc_and_get` or `dec_and_get` if it returns the total after";
                return Err(Diagnostic::new(op.name.span, message).help(help));
            }
        }
        Ok(())
    }

    fn bridge(self, spec: impl Builtin) -> Parsed<Arc<dyn SpecMachine>> {
        self.machine(Opaque::new(spec))
    }

    fn machine(self, spec: Opaque) -> Parsed<Arc<dyn SpecMachine>> {
        let bridge = Bridge {
            spec,
            types: self.types,
            signatures: self.signatures,
            states: Mutex::new(States {
                ids: HashMap::default(),
                all: Vec::new(),
                origins: Vec::new(),
            }),
            meanings: Mutex::default(),
            renamed: Mutex::default(),
        };
        for (op, signature) in self.ops.iter().zip(&bridge.signatures) {
            let args: Vec<i32> =
                signature.args.iter().map(|ty| bridge.types.passed(ty).hi).collect();
            if let Err(message) = bridge.understand(signature, &args) {
                let message = format!("{message}, for the specification {}", self.name.text);
                return Err(Diagnostic::new(op.name.span, message)
                    .help("`trueline specs` lists the operations of each specification"));
            }
        }
        Ok(Arc::new(bridge))
    }
}

struct States {
    ids: HashMap<OpaqueState, i32, FixedState>,
    all: Vec<OpaqueState>,
    /// By state: empty for the first; otherwise the previous state, the operation, the number of
    /// the outcome, and the arguments.
    origins: Vec<Vec<i32>>,
}

struct Bridge {
    spec: Opaque,
    types: Types,
    signatures: Vec<Signature>,
    states: Mutex<States>,
    /// By operation and arguments, the cached answers.
    meanings: Mutex<Meanings>,
    /// By state and renaming: the state in which values have other names.
    renamed: Mutex<RenamedStates>,
}

type RenamedStates = HashMap<(i32, Box<[u8]>), i32, FixedState>;

type Meanings = HashMap<(OpId, Box<[i32]>), Arc<[Meaning]>, FixedState>;

/// A value that an operation may return, and the specification's decoding of the call and its
/// result.
struct Meaning {
    words: Box<[i32]>,
    op: OpaqueOp,
    result: Option<Value>,
}

impl Bridge {
    /// The specification's decoding of all values that the operation may return; an error if it can
    /// decode none.
    fn understand(&self, signature: &Signature, args: &[i32]) -> Result<Arc<[Meaning]>, String> {
        let args: Vec<Value> =
            signature.args.iter().zip(args).map(|(ty, arg)| self.value(ty, *arg)).collect();
        let meaning = |words: &[i32], value: Value| {
            let (op, result) = self.spec.decode(&signature.name, &args, Some(&value))?;
            Ok(Meaning { words: words.into(), op, result })
        };
        let (mut meanings, mut wrong) = (Vec::new(), String::new());
        let mut add = |meaning: Result<Meaning, String>| match meaning {
            Ok(meaning) => meanings.push(meaning),
            Err(message) => wrong = message,
        };
        match &signature.result {
            Ty::Unit => add(meaning(&[], Value::Nil)),
            ty => {
                let scalar = self.types.passed(ty);
                (scalar.lo..=scalar.hi).for_each(|n| add(meaning(&[n], self.value(ty, n))));
            }
        }
        if meanings.is_empty() { Err(wrong) } else { Ok(meanings.into()) }
    }

    fn meanings(&self, operation: OpId, args: &[i32]) -> Arc<[Meaning]> {
        let mut known = self.meanings.lock().unwrap_or_else(PoisonError::into_inner);
        let understood = || self.understand(&self.signatures[operation], args).unwrap_or_default();
        known.entry((operation, args.into())).or_insert_with(understood).clone()
    }

    fn value(&self, ty: &Ty, number: i32) -> Value {
        if self.types.nothing(ty) == Some(number) {
            return Value::Nil;
        }
        match ty {
            Ty::Optional(of) => self.value(of, number),
            Ty::Bool => Value::Bool(number != 0),
            Ty::Enum(_) => Value::text(self.types.scalar_shown(ty, number)),
            _ => Value::Int(number.into()),
        }
    }

    fn id(&self, state: OpaqueState, origin: &[i32]) -> i32 {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let next = states.all.len() as i32;
        let States { ids, all, origins } = &mut *states;
        *ids.entry(state).or_insert_with_key(|state| {
            all.push(state.clone());
            origins.push(origin.to_vec());
            next
        })
    }

    /// Every possible result of the operation here, with the next state, in an order that never
    /// changes.
    fn outcomes(
        &self,
        state: i32,
        operation: OpId,
        args: &[i32],
    ) -> Vec<(Box<[i32]>, OpaqueState)> {
        let state = self.state(&[state]);
        let mut outcomes = Vec::new();
        let mut next = Vec::new();
        for Meaning { words, op, result } in self.meanings(operation, args).iter() {
            self.spec.step(&state, op, result.as_ref(), &mut next);
            outcomes.extend(next.drain(..).map(|state| (words.clone(), state)));
        }
        outcomes
    }

    /// The state in which the values of `data` types have other names: the one that is met on the same
    /// way with other arguments. Of several outcomes with one result the same is taken. The
    /// specifications that may be used here ([`ALIKE`]) treat all values alike, so that the outcomes
    /// are the same up to names, in the same order.
    fn renamed(&self, state: i32, to: &[u8]) -> i32 {
        let lock = || self.renamed.lock().unwrap_or_else(PoisonError::into_inner);
        // Back to a state that was renamed before, then forward again.
        let mut way = Vec::new();
        let mut at = state;
        let mut now = loop {
            if let Some(&known) = lock().get(&(at, to.into())) {
                break known;
            }
            let origin = {
                let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
                states.origins[at as usize].clone()
            };
            let Some(&before) = origin.first() else { break at };
            way.push((at, origin));
            at = before;
        };
        while let Some((state, origin)) = way.pop() {
            let [before, operation, which, args @ ..] = &origin[..] else { continue };
            let operation = *operation as usize;
            let Signature { args: types, result, .. } = &self.signatures[operation];
            let name = |ty: &Ty, value: i32| self.rename(ty, value, to);
            let outcomes = self.outcomes(*before, operation, args);
            let (words, _) = &outcomes[*which as usize];
            let earlier = &outcomes[..*which as usize];
            let number = earlier.iter().filter(|(other, _)| other == words).count();
            let words: Box<[i32]> = words.iter().map(|word| name(result, *word)).collect();
            let args: Vec<i32> = types.iter().zip(args).map(|(ty, arg)| name(ty, *arg)).collect();
            let outcomes = self.outcomes(now, operation, &args).into_iter().enumerate();
            let mut same = outcomes.filter(|(_, (other, _))| *other == words);
            let Some((which, (_, next))) = same.nth(number) else {
                unreachable!("the specification treats all values alike")
            };
            now = self.id(next, &[&[now, operation as i32, which as i32], &args[..]].concat());
            lock().insert((state, to.into()), now);
        }
        now
    }

    fn rename(&self, ty: &Ty, value: i32, to: &[u8]) -> i32 {
        match ty {
            Ty::Optional(of) => self.rename(of, value, to),
            Ty::Data(at) => {
                program::renamed(self.types.processes + self.types.data[*at].first, value, to)
            }
            _ => value,
        }
    }

    /// The number of the state with this origin; states below `known` have the numbers that the
    /// origin uses.
    fn met_again(&self, origin: &[i32], known: usize) -> Option<i32> {
        let [before, operation, which, args @ ..] = origin else {
            return origin.is_empty().then(|| self.id(self.spec.initial(), &[]));
        };
        usize::try_from(*before).ok().filter(|before| *before < known)?;
        let operation = usize::try_from(*operation).ok()?;
        if self.signatures.get(operation)?.args.len() != args.len() {
            return None;
        }
        let outcomes = self.outcomes(*before, operation, args);
        let (_, state) = outcomes.into_iter().nth(usize::try_from(*which).ok()?)?;
        Some(self.id(state, origin))
    }

    fn state(&self, words: &[i32]) -> OpaqueState {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.all[words[0] as usize].clone()
    }
}

impl SpecMachine for Bridge {
    fn initial(&self) -> Vec<Box<[i32]>> {
        vec![[self.id(self.spec.initial(), &[])].into()]
    }

    fn step(
        &self,
        state: &[i32],
        _process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<(Box<[i32]>, Box<[i32]>)>,
    ) {
        let outcomes = self.outcomes(state[0], operation, args);
        for (which, (words, next)) in outcomes.into_iter().enumerate() {
            let origin = [&[state[0], operation as i32, which as i32], args].concat();
            out.push((words, [self.id(next, &origin)].into()));
        }
    }

    fn permute(&self, state: &[i32], to: &[u8]) -> Box<[i32]> {
        let processes = self.types.processes;
        match to.iter().enumerate().skip(processes).all(|(at, name)| at == usize::from(*name)) {
            true => state.into(),
            false => [self.renamed(state[0], to)].into(),
        }
    }

    fn origins(&self) -> Vec<Vec<i32>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).origins.clone()
    }

    fn recover(&self, origins: &[Vec<i32>]) -> Result<(), String> {
        for (number, origin) in origins.iter().enumerate() {
            match self.met_again(origin, number) {
                Some(here) if here as usize == number => {}
                Some(_) => {
                    // Canonical states depend on the numbers: with another numbering, the search
                    // would not recognise its own states.
                    return Err("the specification has numbered its states in another order: \
                                compile the model again before going on"
                        .into());
                }
                None => return Err("its states are those of another specification".into()),
            }
        }
        Ok(())
    }

    fn show(&self, state: &[i32]) -> String {
        self.spec.show_state(&self.state(state))
    }
}
