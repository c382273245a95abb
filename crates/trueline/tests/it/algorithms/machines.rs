//! Random machines whose operations commute now and then, against the oracle: for the cuts of the
//! searches, see `check/cuts.rs`. The built-in types have few chains in which `x` matters to `y`
//! and `y` to `z`, but `x` not to `z`.
//!
//! A machine has a few components of a few values. A letter changes some components, each by a
//! random function, blocks in some states, and may tell what a component was. What commutes is read
//! off the table of all states, so that the claim is true; some of it is kept back at random.

use std::collections::HashSet;
use std::sync::Arc;

use trueline::history::{Builder, Call, Position};
use trueline::rng::{self, Rng};
use trueline::spec::Spec;
use trueline::{Algorithm, History, Value};

use crate::oracle::compare::compare_those;

const COMPONENTS: usize = 3;
const VALUES: usize = 3;
const STATES: usize = 27;

type State = u8;

fn component(state: State, place: usize) -> usize {
    state as usize / VALUES.pow(place as u32) % VALUES
}

#[derive(Clone, Debug)]
struct Letter {
    /// What it does in each state; `None` where it blocks.
    after: [Option<State>; STATES],
    /// The component whose former value it tells, if any.
    tells: Option<usize>,
}

impl Letter {
    fn random(random: &mut Rng) -> Letter {
        let mut tables = [[0; VALUES]; COMPONENTS];
        let changes = 1 + random.index(2);
        let mut changed = [false; COMPONENTS];
        (0..changes).for_each(|_| changed[random.index(COMPONENTS)] = true);
        for (place, table) in tables.iter_mut().enumerate() {
            // Permutations commute more often than other functions; constants hide what was before.
            let (shift, kind) = (1 + random.index(VALUES - 1), random.below(4));
            for (value, to) in table.iter_mut().enumerate() {
                *to = match kind {
                    _ if !changed[place] => value,
                    0 => shift,
                    1 | 2 => (value + shift) % VALUES,
                    _ => random.index(VALUES),
                };
            }
        }
        let blocks = random.percent(15).then(|| (random.index(COMPONENTS), random.index(VALUES)));
        let mut after = [None; STATES];
        for state in 0..STATES as State {
            let to = |place: usize| tables[place][component(state, place)];
            let number = to(0) + VALUES * to(1) + VALUES * VALUES * to(2);
            let is_blocked = blocks.is_some_and(|(place, value)| component(state, place) == value);
            after[state as usize] = (!is_blocked).then_some(number as State);
        }
        let tells = random.percent(25).then(|| random.index(COMPONENTS));
        Letter { after, tells }
    }
}

/// An operation: a letter, or a look at one component, or at everything behind them.
type Op = usize;

/// An operation and its result, where that is known.
type Known = (Op, Option<u8>);

#[derive(Clone, Debug)]
struct Machine {
    letters: Arc<Vec<Letter>>,
    /// What is claimed to commute.
    claims: Arc<HashSet<(Known, Known)>>,
}

impl Machine {
    fn random(random: &mut Rng) -> Machine {
        let count = 3 + random.index(4);
        let letters = Arc::new((0..count).map(|_| Letter::random(random)).collect::<Vec<_>>());
        let mut machine = Machine { letters, claims: Arc::default() };
        let kept_back = [0, 0, 30][random.index(3)];
        let mut all = Vec::new();
        for op in 0..machine.operations() {
            let told = (0..STATES as State).filter_map(|s| machine.perform(s, op)).map(|(_, r)| r);
            let told: HashSet<u8> = told.collect();
            all.extend(told.into_iter().map(|r| (op, Some(r))).chain([(op, None)]));
        }
        all.sort_unstable();
        let mut claims = HashSet::new();
        for (n, &a) in all.iter().enumerate() {
            // Looks commute with each other in any case.
            for &b in all[n..].iter().filter(|_| a.0 < machine.letters.len()) {
                if machine.commute(a, b) && !random.percent(kept_back) {
                    claims.insert((a, b));
                    claims.insert((b, a));
                }
            }
        }
        machine.claims = Arc::new(claims);
        machine
    }

    fn operations(&self) -> usize {
        self.letters.len() + COMPONENTS + 1
    }

    /// The next state and the result; nothing where it blocks.
    fn perform(&self, state: State, op: Op) -> Option<(State, u8)> {
        match self.letters.get(op) {
            Some(letter) => {
                let told = letter.tells.map_or(0, |place| component(state, place) as u8);
                Some((letter.after[state as usize]?, told))
            }
            None if op < self.letters.len() + COMPONENTS => {
                Some((state, component(state, op - self.letters.len()) as u8))
            }
            None => Some((state, state)),
        }
    }

    fn then(&self, state: State, (op, ret): Known) -> Option<State> {
        let (after, told) = self.perform(state, op)?;
        ret.is_none_or(|ret| ret == told).then_some(after)
    }

    fn commute(&self, a: Known, b: Known) -> bool {
        (0..STATES as State).all(|state| {
            let there = self.then(state, a).and_then(|s| self.then(s, b));
            there == self.then(state, b).and_then(|s| self.then(s, a))
        })
    }
}

impl Spec for Machine {
    type State = State;
    type Op = Op;
    type Ret = u8;

    fn initial(&self) -> State {
        0
    }

    fn step(&self, state: &State, op: &Op, ret: Option<&u8>, next: &mut Vec<State>) {
        next.extend(self.then(*state, (*op, ret.copied())));
    }

    fn observes(&self, op: &Op, _: Option<&u8>) -> bool {
        *op >= self.letters.len()
    }

    fn reorders(&self) -> bool {
        true
    }

    fn commutes(&self, a: (&Op, Option<&u8>), b: (&Op, Option<&u8>)) -> bool {
        self.claims.contains(&((*a.0, a.1.copied()), (*b.0, b.1.copied())))
    }
}

/// Processes call, take effect and return; now and then a result is that of another moment.
fn random_history(machine: &Machine, random: &mut Rng) -> History<Op, u8> {
    #[derive(Clone, Copy)]
    enum Phase {
        Idle,
        Called(Op),
        Done(u8),
    }
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    let method = builder.method("do");
    let at = Position::default();
    let operations = 4 + random.below(4);
    let (wrong, unknown) = ([10, 40, 80][random.index(3)], [0, 0, 15][random.index(3)]);
    // With fewer observers, more unobserved operations overlap.
    let looks = [5, 15, 30][random.index(3)];
    let hurry = [10, 25][random.index(2)];
    let mut phases = vec![Phase::Idle; 3 + random.index(4)];
    let (mut state, mut states, mut called) = (0, vec![0], 0);
    let mut names: Vec<i64> = (0..phases.len() as i64).collect();
    for _ in 0..operations * 20 {
        let p = random.index(phases.len());
        let process = builder.process(&Value::Int(names[p]));
        phases[p] = match phases[p] {
            Phase::Idle if called < operations => {
                called += 1;
                let count = machine.letters.len();
                let op = match random.percent(looks) {
                    true => count + random.index(COMPONENTS + 1),
                    false => random.index(count),
                };
                let call = Call { method, args: vec![Value::Int(op as i64)].into() };
                builder.call(process, part, call, at).unwrap();
                Phase::Called(op)
            }
            Phase::Idle => Phase::Idle,
            Phase::Called(op) => match machine.perform(state, op) {
                None => Phase::Called(op),
                Some((after, mut told)) => {
                    state = after;
                    states.push(after);
                    if random.percent(wrong) {
                        let any = random.below(STATES as u64) as State;
                        let then = if random.percent(30) { any } else { *random.choose(&states) };
                        told = machine.perform(then, op).map_or(told, |(_, told)| told);
                    }
                    Phase::Done(told)
                }
            },
            Phase::Done(_) if random.percent(unknown) => {
                builder.unknown(process, at).unwrap();
                names[p] += 100;
                Phase::Idle
            }
            Phase::Done(told) if random.percent(hurry) => {
                builder.returns(process, Value::Int(told.into()), at).unwrap();
                Phase::Idle
            }
            Phase::Done(told) => Phase::Done(told),
        };
    }
    let decoded = builder.finish().decode(|_, args, result| {
        let number = |v: &Value| v.as_int().unwrap();
        Ok((number(&args[0]) as Op, result.map(|r| number(r) as u8)))
    });
    decoded.unwrap()
}

#[test]
fn machines_whose_operations_commute_are_decided_as_the_oracle_does() {
    let all = rng::seeds(6_000);
    let (cases, mut good) = (all.cases(), 0);
    for seed in all {
        let mut random = Rng::new(seed ^ 0x3ac4);
        let machine = Machine::random(&mut random);
        let history = random_history(&machine, &mut random);
        use Algorithm::{DepthFirst, JustInTime, Wgl};
        let counts = |a| matches!(a, DepthFirst | JustInTime) || a == Wgl && seed % 8 == 0;
        match compare_those(&machine, &history, counts) {
            Ok(linearizable) => good += u64::from(linearizable),
            Err(e) => panic!("seed {seed}: {e}\n{:?}", history.operations()),
        }
    }
    println!("{good} of {cases} are good");
    assert!(good > cases / 5 && good < cases * 19 / 20, "{good} of {cases} are good");
}
