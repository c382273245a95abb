//! Random small programs: all combinations of reductions agree with each other and with the oracle,
//! on the verdict and on the length of the shortest counterexample; and every counterexample is a
//! run of the oracle's.

use std::collections::HashSet;
use std::sync::Arc;

use crate::support::naive::{self, Seen};
use crate::support::*;
use trueline::Budget;
use trueline::rng::{self, Rng};
use trueline_model::engine::{Counterexample, Event, Options, Reason, Verdict, verify};
use trueline_model::program::*;

/// A specification given by a table, or by running the operations one at a time.
struct Sequential(Program);

impl SpecMachine for Sequential {
    fn initial(&self) -> Vec<Box<[i32]>> {
        vec![naive::initial(&self.0).shared.concat().into()]
    }
    fn step(
        &self,
        state: &[i32],
        process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<(Box<[i32]>, Box<[i32]>)>,
    ) {
        let mut start = naive::initial(&self.0);
        let mut cells = state.iter();
        for variable in &mut start.shared {
            for cell in variable {
                *cell = *cells.next().unwrap();
            }
        }
        // Only the wanted call, and everyone else stands still.
        let wanted =
            self.0.calls.iter().position(|c| c.operation == operation && c.args == args).unwrap();
        let mut open = vec![start];
        let mut known = HashSet::new();
        while let Some(state) = open.pop() {
            for result in naive::steps(&self.0, &state, process) {
                let naive::Result::Fine(after, seen) = result else { continue };
                if seen.iter().any(|s| matches!(s, Seen::Call(c) if *c != wanted)) {
                    continue;
                }
                match seen.last() {
                    Some(Seen::Return(results)) => {
                        out.push((results.clone().into(), after.shared.concat().into()))
                    }
                    _ if known.insert(after.clone()) => open.push(after),
                    _ => {}
                }
            }
        }
        out.sort();
        out.dedup();
    }
    fn show(&self, state: &[i32]) -> String {
        format!("{state:?}")
    }
}

struct Table(Vec<Vec<(i32, i32)>>);

impl SpecMachine for Table {
    fn initial(&self) -> Vec<Box<[i32]>> {
        vec![Box::new([0])]
    }
    fn step(
        &self,
        state: &[i32],
        _: usize,
        operation: OpId,
        _: &[i32],
        out: &mut Vec<(Box<[i32]>, Box<[i32]>)>,
    ) {
        for &(result, next) in &self.0[(state[0] * 2) as usize + operation] {
            out.push((Box::new([result]), Box::new([next])));
        }
    }
    fn show(&self, state: &[i32]) -> String {
        state[0].to_string()
    }
}

const TOP: i32 = 2;

fn expr(rng: &mut Rng, heap: bool) -> Expr {
    match rng.below(if heap { 7 } else { 6 }) {
        0 => c(rng.below(3) as i32),
        1 | 2 => get(local(0)),
        3 => get(shared(0)),
        4 => get(shared(1)),
        5 => bin(Binary::Rem, plus(get(local(0)), 1), c(TOP + 1)),
        _ => bin(Binary::Ne, get(shared(2)), c(0)),
    }
}

fn test(rng: &mut Rng) -> Expr {
    let op = *rng.choose(&[Binary::Eq, Binary::Ne, Binary::Lt]);
    let side = |rng: &mut Rng| {
        if rng.chance(0.5) { get(shared(rng.below(2) as usize)) } else { get(local(0)) }
    };
    let left = side(rng);
    let right = if rng.chance(0.5) { c(rng.below(3) as i32) } else { side(rng) };
    bin(op, left, right)
}

fn end(rng: &mut Rng, first: usize, count: usize) -> Vec<Stmt> {
    if rng.chance(0.4) {
        vec![Stmt::Return(vec![if rng.chance(0.8) { get(local(0)) } else { c(0) }])]
    } else {
        vec![goto(first + rng.below(count as u64) as usize)]
    }
}

fn body(rng: &mut Rng, first: usize, count: usize, heap: bool, pids: bool) -> Vec<Stmt> {
    let mut body = vec![];
    if rng.chance(0.12) {
        body.push(Stmt::Await(test(rng)));
    }
    if rng.chance(0.1) {
        body.push(Stmt::Lin(None));
    }
    for _ in 0..1 + rng.below(2) {
        let stmt = match rng.below(if heap { 9 } else { 6 }) {
            0 | 1 => set(local(0), expr(rng, heap)),
            2 | 3 => set(shared(rng.below(2) as usize), expr(rng, heap)),
            4 if pids => when(
                eq(get(own(0)), Expr::Me),
                vec![set(shared(if heap { 3 } else { 2 }), get(own(0)))],
                vec![set(
                    own(0),
                    if rng.chance(0.5) { Expr::Me } else { get(shared(if heap { 3 } else { 2 })) },
                )],
            ),
            4 => Stmt::Pick(local(0), c(0), c(rng.below(3) as i32)),
            5 => when(test(rng), vec![set(shared(rng.below(2) as usize), expr(rng, heap))], vec![]),
            6 => Stmt::New(
                if rng.chance(0.5) { local(1) } else { shared(2) },
                0,
                vec![(0, get(local(0))), (1, get(shared(2)))],
            ),
            7 => set(
                if rng.chance(0.5) { local(1) } else { shared(2) },
                if rng.chance(0.5) { get(local(1)) } else { get(shared(2)) },
            ),
            _ => {
                let pointer = if rng.chance(0.5) { get(local(1)) } else { get(shared(2)) };
                let field = Place::Field(0, Box::new(pointer.clone()), 0);
                let inner = if rng.chance(0.5) {
                    set(field, get(local(0)))
                } else {
                    set(local(0), get(field))
                };
                when(bin(Binary::Ne, pointer, c(0)), vec![inner], vec![])
            }
        };
        body.push(stmt);
    }
    if rng.chance(0.04) {
        body.push(Stmt::Assert(bin(Binary::Ne, get(shared(0)), get(shared(1))), "equal".into()));
    }
    if rng.chance(0.3) {
        let (a, b) = (end(rng, first, count), end(rng, first, count));
        body.push(when(test(rng), a, b));
    } else if rng.chance(0.1) {
        let (a, b) = (end(rng, first, count), end(rng, first, count));
        body.push(Stmt::Choose(vec![a, b]));
    } else {
        body.extend(end(rng, first, count));
    }
    body
}

fn random_program(seed: u64) -> Arc<Program> {
    let rng = &mut Rng::new(seed);
    let heap = rng.chance(0.3);
    let pids = rng.chance(0.3);
    let int = Type::int(0, TOP);
    let pointer = Type::pointer(0, 12);
    let processes = 2 + rng.below(2) as usize;
    let mut shared = vec![
        Variable::scalar("x", int.clone(), 0),
        Variable::scalar("y", int.clone(), rng.below(2) as i32),
    ];
    let mut locals = vec![Variable::scalar("a", int.clone(), 0)];
    let mut nodes = vec![];
    if heap {
        shared.push(Variable::scalar("p", pointer.clone(), 0));
        locals.push(Variable::scalar("q", pointer.clone(), 0));
        let fields = vec![Variable::scalar("v", int.clone(), 0), Variable::scalar("n", pointer, 0)];
        nodes.push(NodeType {
            name: "N".into(),
            fields,
            capacity: 12,
            reclaim: Reclaim::Collected,
        });
    }
    let mut own = vec![];
    if pids {
        shared.push(Variable::scalar("w", Type::pid(processes), -1));
        own.push(Variable::scalar("o", Type::pid(processes), -1));
    }
    let mut locations = vec![];
    let mut operations = vec![];
    for op in 0..2 {
        let first = locations.len();
        let count = 1 + rng.below(3) as usize;
        for _ in 0..count {
            let body = body(rng, first, count, heap, pids);
            locations.push(Location {
                operation: op,
                body,
                live: (0..locals.len()).collect(),
                line: 0,
                text: String::new(),
            });
        }
        let entry =
            if rng.chance(0.5) { vec![goto(first)] } else { body(rng, first, count, heap, pids) };
        operations.push(operation(
            &format!("op{op}"),
            locals.clone(),
            usize::from(rng.chance(0.3)),
            vec![int.clone()],
            entry,
        ));
    }
    let mut calls = vec![];
    for (op, operation) in operations.iter().enumerate() {
        let args: Vec<Vec<i32>> =
            if operation.parameters == 1 { vec![vec![0], vec![2]] } else { vec![vec![]] };
        calls.extend(args.into_iter().map(|args| Call { operation: op, args }));
    }
    let all: Vec<CallId> = (0..calls.len()).collect();
    let limit = Some(1 + rng.below(2) as u32 * u32::from(processes == 2));
    let roles = if rng.chance(0.7) {
        vec![role("p", processes, all, limit)]
    } else {
        vec![role("a", 1, vec![0], limit), role("b", processes - 1, all, Some(1))]
    };
    let mut program = Program {
        name: format!("random {seed}"),
        shared,
        nodes,
        own,
        operations,
        locations,
        calls,
        roles,
        spec: Arc::new(Table(vec![])),
        points: Points::Marked,
        count_terminal_states: false,
        setup: Setup::default(),
        responses: vec![],
    };
    program.spec = if heap || pids || rng.chance(0.4) {
        let density = if rng.chance(0.5) { 0.9 } else { 0.5 };
        let table = (0..6).map(|_| {
            let mut entries = vec![];
            for result in 0..=TOP {
                for next in 0..=TOP {
                    if rng.chance(density) {
                        entries.push((result, next));
                    }
                }
            }
            entries
        });
        Arc::new(Table(table.collect()))
    } else {
        Arc::new(Sequential(program.clone()))
    };
    Arc::new(program)
}

fn combinations() -> Vec<Options> {
    (0..8)
        .map(|bits| Options {
            symmetry: bits & 1 != 0,
            partial_order: bits & 2 != 0,
            antichain: bits & 4 != 0,
            threads: 1 + (bits & 1),
            ..Options::plain()
        })
        .collect()
}

/// Follows a counterexample with the oracle. Only programs without a heap: the oracle's names of
/// nodes are its own.
fn replay(program: &Program, found: &Counterexample, seed: u64) {
    let mut states = vec![naive::initial(program)];
    let length = found.trace.steps.len();
    for (i, step) in found.trace.steps.iter().enumerate() {
        let mut next = vec![];
        let events: Vec<Seen> = step
            .events
            .iter()
            .filter_map(|e| match e {
                Event::Call(call) => Some(Seen::Call(*call)),
                Event::Return(results) => Some(Seen::Return(results.clone())),
                Event::Lin => None,
            })
            .collect();
        let last = i + 1 == length;
        for state in &states {
            for result in naive::steps(program, state, step.process) {
                match result {
                    naive::Result::Fine(after, seen)
                        if seen == events && after.shared.concat() == step.shared =>
                    {
                        next.push(after)
                    }
                    naive::Result::Bad(_) if last && matches!(found.reason, Reason::Fault(_)) => {
                        return;
                    }
                    _ => {}
                }
            }
        }
        next.sort();
        next.dedup();
        assert!(
            !next.is_empty(),
            "seed {seed}: step {i} of {:#?} is not one of the model's",
            found.trace
        );
        states = next;
    }
    let stuck = |state: &naive::State| {
        (0..program.processes()).all(|p| naive::steps(program, state, p).is_empty())
    };
    match found.reason {
        Reason::NotLinearizable => {}
        Reason::Deadlock => assert!(states.iter().any(stuck), "seed {seed}: somebody can move"),
        Reason::Fault(_) => panic!("seed {seed}: there is no fault"),
        Reason::WrongPoints => panic!("seed {seed}: no points were trusted"),
    }
}

#[test]
fn all_combinations_agree_with_the_oracle() {
    let seeds = rng::seeds(40);
    let cases = seeds.cases();
    let (mut wrong, mut right, mut skipped, mut full, mut deadlocks) = (0, 0, 0, 0, 0);
    for seed in seeds {
        let program = random_program(seed);
        let Some(expected) = naive::decide(&program, 20_000) else {
            skipped += 1;
            continue;
        };
        for options in combinations() {
            let about = format!(
                "seed {seed}, symmetry {}, por {}, antichain {}, expected {expected:?}",
                options.symmetry, options.partial_order, options.antichain
            );
            let report = verify(&program, &options, &Budget::unlimited());
            match (&expected, &report.verdict) {
                (None, Verdict::Holds) => {}
                (Some(wrong), Verdict::Violation(found)) => {
                    assert!(found.shortest, "{about}");
                    let depth = match found.reason {
                        Reason::Deadlock => wrong.stuck,
                        _ => wrong.depth,
                    };
                    let length = Some(found.trace.steps.len());
                    assert_eq!(length, depth, "{about}: {:#?}", found.trace);
                    // The shortest of all kinds, not of its own kind alone.
                    let shortest = wrong.stuck.into_iter().chain(wrong.depth).min();
                    assert_eq!(length, shortest, "{about}: {:#?}", found.trace);
                    let right = match found.reason {
                        Reason::NotLinearizable => wrong.unexplained,
                        Reason::Fault(_) => wrong.bad,
                        Reason::Deadlock => true,
                        Reason::WrongPoints => false,
                    };
                    deadlocks += u64::from(found.reason == Reason::Deadlock);
                    assert!(right, "{about}: {:?}", found.reason);
                    if program.nodes.is_empty() {
                        replay(&program, found, seed);
                    }
                }
                // A process that allocates for ever and touches nothing shared is run until the
                // heap is full before the others have their turn, in which a shorter way leads to a
                // violation: nothing is said then, which is no mismatch.
                (Some(_), Verdict::Undecided(why))
                    if options.partial_order && why.message.contains("is full") =>
                {
                    full += 1;
                    continue;
                }
                (_, Verdict::Undecided(why)) => panic!("{about}: {why}"),
                (_, verdict) => panic!("{about}: {verdict:?}"),
            }
            let marked =
                verify(&program, &Options { points: true, ..options }, &Budget::unlimited());
            match (&expected, &marked.verdict) {
                (None, Verdict::Holds) => {}
                (expected, Verdict::Violation(found))
                    if expected.is_none() == (found.reason == Reason::WrongPoints) => {}
                (_, verdict) => panic!("{about}, with points: {verdict:?}"),
            }
        }
        if expected.is_some() { wrong += 1 } else { right += 1 }
    }
    println!("{right} verified, {wrong} violations, {skipped} too large for the oracle");
    println!("{full} times the heap was full, {deadlocks} deadlocks");
    assert!(full <= 8 + cases / 10, "the heap was full {full} times in {cases} programs");
    // A twentieth at least, one less in a small sample: the generator makes both.
    let enough = |some: u64| some * 20 + 20 >= cases;
    assert!(enough(wrong) && enough(right), "{right} verified, {wrong} violations");
}
