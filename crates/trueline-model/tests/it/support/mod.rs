//! Programs made by hand: the paper's counter and register with PAT's cost of steps.
#![allow(unreachable_pub)]

pub mod naive;

use std::sync::Arc;

use trueline_model::program::*;

/// A specification made of a function from (state, operation, arguments) to results with next
/// states.
pub type Step = fn(i32, i32, OpId, &[i32]) -> Vec<(Vec<i32>, i32)>;

/// A sequential object whose state is one number.
pub struct Number {
    pub initial: i32,
    pub bound: i32,
    pub step: Step,
}

impl SpecMachine for Number {
    fn initial(&self) -> Vec<Box<[i32]>> {
        vec![Box::new([self.initial])]
    }
    fn step(
        &self,
        state: &[i32],
        _process: usize,
        operation: OpId,
        args: &[i32],
        out: &mut Vec<(Box<[i32]>, Box<[i32]>)>,
    ) {
        for (results, next) in (self.step)(state[0], self.bound, operation, args) {
            out.push((results.into(), Box::new([next])));
        }
    }
    fn show(&self, state: &[i32]) -> String {
        state[0].to_string()
    }
}

pub fn c(value: i32) -> Expr {
    Expr::Const(value)
}
pub fn shared(id: VarId) -> Place {
    Place::Shared(id, vec![])
}
pub fn cell(id: VarId, index: Expr) -> Place {
    Place::Shared(id, vec![index])
}
pub fn own(id: VarId) -> Place {
    Place::Own(id, vec![])
}
pub fn local(id: VarId) -> Place {
    Place::Local(id, vec![])
}
pub fn get(place: Place) -> Expr {
    Expr::Read(Box::new(place))
}
pub fn bin(op: Binary, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}
pub fn eq(a: Expr, b: Expr) -> Expr {
    bin(Binary::Eq, a, b)
}
pub fn plus(a: Expr, b: i32) -> Expr {
    bin(Binary::Add, a, c(b))
}
pub fn set(place: Place, value: Expr) -> Stmt {
    Stmt::Set(place, value)
}
pub fn when(test: Expr, yes: Vec<Stmt>, no: Vec<Stmt>) -> Stmt {
    Stmt::If(test, yes, no)
}
pub fn goto(location: LocationId) -> Stmt {
    Stmt::Goto(location)
}

pub fn location(operation: OpId, live: usize, body: Vec<Stmt>) -> Location {
    Location { operation, body, live: (0..live).collect(), line: 0, text: String::new() }
}

pub fn role(name: &str, processes: usize, calls: Vec<CallId>, limit: Option<u32>) -> Role {
    Role { name: name.into(), processes, calls, limit, symmetric: true }
}

pub fn operation(
    name: &str,
    locals: Vec<Variable>,
    parameters: usize,
    results: Vec<Type>,
    entry: Vec<Stmt>,
) -> Operation {
    Operation { name: name.into(), locals, parameters, results, entry, line: 0 }
}

/// The counter of the paper's section 3, without points. `limit`: operations a process.
pub fn counter(processes: usize, size: i32, limit: Option<u32>) -> Arc<Program> {
    let (h, hl) = (|| shared(0), || own(0));
    let push = vec![
        // 0
        vec![set(hl(), get(h())), goto(1)],
        // 1
        vec![when(
            eq(get(hl()), get(h())),
            vec![
                when(bin(Binary::Lt, get(h()), c(size)), vec![set(h(), plus(get(h()), 1))], vec![]),
                set(hl(), get(h())),
                goto(2),
            ],
            vec![set(hl(), get(h())), goto(1)],
        )],
        // 2
        vec![goto(3)],
        // 3
        vec![Stmt::Return(vec![get(hl())])],
    ];
    let pop = vec![
        // 4
        vec![set(hl(), get(h())), goto(5)],
        // 5
        vec![when(eq(get(hl()), c(0)), vec![goto(7)], vec![goto(6)])],
        // 6
        vec![when(
            eq(get(hl()), get(h())),
            vec![set(h(), plus(get(h()), -1)), set(hl(), get(h())), goto(8)],
            vec![set(hl(), get(h())), goto(5)],
        )],
        // 7
        vec![Stmt::Return(vec![c(0)])],
        // 8
        vec![goto(9)],
        // 9
        vec![Stmt::Return(vec![plus(get(hl()), 1)])],
    ];
    let mut locations: Vec<Location> = push.into_iter().map(|b| location(0, 0, b)).collect();
    locations.extend(pop.into_iter().map(|b| location(1, 0, b)));
    Arc::new(Program {
        name: "counter".into(),
        shared: vec![Variable::scalar("H", Type::int(0, size), 0)],
        nodes: vec![],
        own: vec![Variable::scalar("HL", Type::int(0, size), 0)],
        operations: vec![
            operation("push", vec![], 0, vec![Type::int(0, size + 1)], vec![goto(0)]),
            operation("pop", vec![], 0, vec![Type::int(0, size + 1)], vec![goto(4)]),
        ],
        locations,
        calls: vec![Call { operation: 0, args: vec![] }, Call { operation: 1, args: vec![] }],
        roles: vec![role("process", processes, vec![0, 1], limit)],
        spec: Arc::new(Number {
            initial: 0,
            bound: size,
            step: |state, size, operation, _| {
                if operation == 0 {
                    let next = (state + 1).min(size);
                    vec![(vec![next], next)]
                } else {
                    vec![(vec![state], (state - 1).max(0))]
                }
            },
        }),
        points: Points::None,
        count_terminal_states: true,
        setup: Setup::default(),
        responses: vec![],
    })
}

/// The counter with labelled linearization points.
pub fn counter_with_points(processes: usize, size: i32) -> Arc<Program> {
    let (h, hl) = (|| shared(0), || own(0));
    let lin = |e: Expr| Stmt::Lin(Some(vec![e]));
    let bodies = vec![
        // 0: push, before the read
        (0, vec![set(hl(), get(h())), goto(1)]),
        // 1
        (
            0,
            vec![when(
                eq(get(hl()), get(h())),
                vec![
                    lin(plus(get(h()), 1)),
                    when(
                        bin(Binary::Lt, get(h()), c(size)),
                        vec![set(h(), plus(get(h()), 1))],
                        vec![],
                    ),
                    Stmt::Return(vec![plus(get(hl()), 1)]),
                ],
                vec![goto(0)],
            )],
        ),
        // 2: pop, before the read
        (1, vec![set(hl(), get(h())), goto(3)]),
        // 3
        (
            1,
            vec![when(
                eq(get(h()), c(0)),
                vec![lin(c(0)), Stmt::Return(vec![c(0)])],
                vec![goto(4)],
            )],
        ),
        // 4
        (
            1,
            vec![when(
                eq(get(hl()), get(h())),
                vec![
                    lin(get(h())),
                    when(
                        bin(Binary::Gt, get(h()), c(0)),
                        vec![set(h(), plus(get(h()), -1))],
                        vec![],
                    ),
                    Stmt::Return(vec![get(hl())]),
                ],
                vec![goto(2)],
            )],
        ),
    ];
    let mut program = (*counter(processes, size, Some(1))).clone();
    program.name = "counter with points".into();
    program.locations = bodies.into_iter().map(|(o, b)| location(o, 0, b)).collect();
    program.operations[0].entry = vec![set(hl(), get(h())), goto(1)];
    program.operations[1].entry = vec![set(hl(), get(h())), goto(3)];
    program.points = Points::Labelled;
    program.spec = Arc::new(Number {
        initial: 0,
        bound: size,
        step: |state, size, operation, _| {
            if operation == 0 {
                vec![(vec![state + 1], (state + 1).min(size))]
            } else {
                vec![(vec![state], (state - 1).max(0))]
            }
        },
    });
    Arc::new(program)
}

/// The register with `values` values, one writer and the other processes readers.
pub fn register(processes: usize, values: i32) -> Arc<Program> {
    let b = |index: Expr| cell(0, index);
    let i = || local(0);
    let v = || local(1);
    let index = Type::int(-1, values - 1);
    let down = |to: LocationId| vec![set(i(), plus(get(i()), -1)), goto(to)];
    let with = |mut first: Vec<Stmt>, rest: Vec<Stmt>| {
        first.extend(rest);
        first
    };
    let writer = vec![
        // 0
        with(vec![set(b(get(i())), c(1))], down(1)),
        // 1
        vec![when(bin(Binary::Ge, get(i()), c(0)), vec![goto(2)], vec![set(i(), c(0)), goto(3)])],
        // 2
        with(vec![set(b(get(i())), c(0))], down(1)),
        // 3
        vec![Stmt::Return(vec![])],
    ];
    let reader = vec![
        // 4
        vec![when(
            eq(get(b(get(i()))), c(1)),
            with(vec![set(v(), get(i()))], down(5)),
            vec![
                Stmt::Assert(bin(Binary::Lt, plus(get(i()), 1), c(values)), "no bit is set".into()),
                set(i(), plus(get(i()), 1)),
                goto(4),
            ],
        )],
        // 5
        vec![when(bin(Binary::Ge, get(i()), c(0)), vec![goto(6)], vec![set(i(), c(0)), goto(7)])],
        // 6
        with(vec![when(eq(get(b(get(i()))), c(1)), vec![set(v(), get(i()))], vec![])], down(5)),
        // 7
        vec![Stmt::Return(vec![get(v())])],
    ];
    let mut locations: Vec<Location> = writer.into_iter().map(|b| location(0, 1, b)).collect();
    locations.extend(reader.into_iter().map(|b| location(1, 2, b)));
    let mut calls: Vec<Call> = (0..values).map(|v| Call { operation: 0, args: vec![v] }).collect();
    calls.push(Call { operation: 1, args: vec![] });
    let mut initial = vec![0; values as usize];
    initial[values as usize - 1] = 1;
    Arc::new(Program {
        name: "register".into(),
        shared: vec![Variable {
            name: "B".into(),
            ty: Type::bool(),
            dims: vec![Dim { len: values as usize, by_process: false }],
            initial,
        }],
        nodes: vec![],
        own: vec![],
        operations: vec![
            operation(
                "write",
                vec![Variable::scalar("i", index.clone(), 0)],
                1,
                vec![],
                vec![goto(0)],
            ),
            operation(
                "read",
                vec![
                    Variable::scalar("i", index, 0),
                    Variable::scalar("v", Type::int(0, values - 1), 0),
                ],
                0,
                vec![Type::int(0, values - 1)],
                vec![goto(4)],
            ),
        ],
        locations,
        calls,
        roles: vec![
            role("writer", 1, (0..values as usize).collect(), Some(1)),
            role("reader", processes - 1, vec![values as usize], Some(1)),
        ],
        spec: Arc::new(Number {
            initial: values - 1,
            bound: values,
            step: |state, _, operation, args| {
                if operation == 0 { vec![(vec![], args[0])] } else { vec![(vec![state], state)] }
            },
        }),
        points: Points::None,
        count_terminal_states: true,
        setup: Setup::default(),
        responses: vec![],
    })
}
