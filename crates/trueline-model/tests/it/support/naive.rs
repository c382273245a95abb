//! An oracle: runs programs as trees over plain vectors, keeps whole histories of specification
//! states, and shares no code with the engine. Slow on purpose. Nodes are never reused and never
//! renamed; garbage is not collected.

use std::collections::{BTreeSet, HashMap, HashSet};

use trueline_model::program::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    pub at: Option<LocationId>,
    pub made: u32,
    pub own: Vec<Vec<i32>>,
    pub locals: Vec<Vec<i32>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    pub shared: Vec<Vec<i32>>,
    pub heap: Vec<Vec<Vec<i32>>>,
    pub processes: Vec<Process>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    Call(CallId),
    Return(Vec<i32>),
}

#[derive(Clone, Debug)]
pub enum Result {
    Fine(State, Vec<Seen>),
    Bad(#[allow(dead_code, reason = "failing tests show it")] String),
}

fn cells(variable: &Variable) -> Vec<i32> {
    (0..variable.cells()).map(|i| variable.first(i)).collect()
}

pub fn initial(program: &Program) -> State {
    let process =
        Process { at: None, made: 0, own: program.own.iter().map(cells).collect(), locals: vec![] };
    State {
        shared: program.shared.iter().map(cells).collect(),
        heap: program.nodes.iter().map(|_| vec![]).collect(),
        processes: vec![process; program.processes()],
    }
}

struct Run<'a> {
    program: &'a Program,
    p: usize,
    op: OpId,
}

enum Flow {
    On(State),
    Goto(State, LocationId),
    Return(State, Vec<i32>),
    Bad(#[allow(dead_code, reason = "failing tests show it")] String),
}

impl Run<'_> {
    fn value(&self, s: &State, e: &Expr) -> std::result::Result<i32, String> {
        Ok(match e {
            Expr::Const(v) => *v,
            Expr::Me => self.p as i32,
            Expr::Read(place) => match &**place {
                Place::Local(v, i) => {
                    s.processes[self.p].locals[*v]
                        [self.offset(s, &self.program.operations[self.op].locals[*v], i)?]
                }
                Place::Own(v, i) => {
                    s.processes[self.p].own[*v][self.offset(s, &self.program.own[*v], i)?]
                }
                Place::Shared(v, i) => s.shared[*v][self.offset(s, &self.program.shared[*v], i)?],
                Place::Field(node, pointer, field) => {
                    let at = self.value(s, pointer)?;
                    if at <= 0 {
                        return Err("null".into());
                    }
                    s.heap[*node][at as usize - 1][*field]
                }
                Place::FieldCell(..) => unreachable!("no random program has one"),
            },
            Expr::Unary(Unary::Not, a) => (self.value(s, a)? == 0) as i32,
            Expr::Unary(Unary::Minus, a) => -self.value(s, a)?,
            Expr::Unary(Unary::Number(none), a) => match self.value(s, a)? {
                number if number == *none => return Err("a number that stands for none".into()),
                number => number,
            },
            Expr::If(a, b, c) => {
                if self.value(s, a)? != 0 {
                    self.value(s, b)?
                } else {
                    self.value(s, c)?
                }
            }
            Expr::Binary(op, a, b) => {
                let x = self.value(s, a)?;
                if *op == Binary::And && x == 0 {
                    return Ok(0);
                }
                if *op == Binary::Or && x != 0 {
                    return Ok(1);
                }
                let y = self.value(s, b)?;
                match op {
                    Binary::Add => x + y,
                    Binary::Sub => x - y,
                    Binary::Mul => x * y,
                    Binary::Div | Binary::Rem if y == 0 => return Err("zero".into()),
                    Binary::Div => x.div_euclid(y),
                    Binary::Rem => x.rem_euclid(y),
                    Binary::Eq => (x == y) as i32,
                    Binary::Ne => (x != y) as i32,
                    Binary::Lt => (x < y) as i32,
                    Binary::Le => (x <= y) as i32,
                    Binary::Gt => (x > y) as i32,
                    Binary::Ge => (x >= y) as i32,
                    Binary::And | Binary::Or => (y != 0) as i32,
                    Binary::Min => x.min(y),
                    Binary::Max => x.max(y),
                }
            }
        })
    }

    fn offset(
        &self,
        s: &State,
        variable: &Variable,
        indices: &[Expr],
    ) -> std::result::Result<usize, String> {
        let mut at = 0;
        for (index, dim) in indices.iter().zip(&variable.dims) {
            let i = self.value(s, index)?;
            if i < 0 || i as usize >= dim.len {
                return Err("index".into());
            }
            at = at * dim.len + i as usize;
        }
        Ok(at)
    }

    fn assign(&self, s: &mut State, place: &Place, value: i32) -> std::result::Result<(), String> {
        let ty = match place {
            Place::Local(v, _) => &self.program.operations[self.op].locals[*v].ty,
            Place::Own(v, _) => &self.program.own[*v].ty,
            Place::Shared(v, _) => &self.program.shared[*v].ty,
            Place::Field(n, _, f) | Place::FieldCell(n, _, f, _) => {
                &self.program.nodes[*n].fields[*f].ty
            }
        };
        // Pointers are not bounded here: names are never used again.
        if !matches!(ty.kind, Kind::Pointer(_)) && (value < ty.lo || value > ty.hi) {
            return Err("range".into());
        }
        match place {
            Place::Local(v, i) => {
                let at = self.offset(s, &self.program.operations[self.op].locals[*v], i)?;
                s.processes[self.p].locals[*v][at] = value;
            }
            Place::Own(v, i) => {
                let at = self.offset(s, &self.program.own[*v], i)?;
                s.processes[self.p].own[*v][at] = value;
            }
            Place::Shared(v, i) => {
                let at = self.offset(s, &self.program.shared[*v], i)?;
                s.shared[*v][at] = value;
            }
            Place::Field(node, pointer, field) => {
                let at = self.value(s, pointer)?;
                if at <= 0 {
                    return Err("null".into());
                }
                s.heap[*node][at as usize - 1][*field] = value;
            }
            Place::FieldCell(..) => unreachable!("no random program has one"),
        }
        Ok(())
    }

    fn body(&self, s: State, body: &[Stmt]) -> Vec<Flow> {
        let Some((first, rest)) = body.split_first() else { return vec![Flow::On(s)] };
        let mut all = Vec::new();
        for flow in self.stmt(s, first) {
            match flow {
                Flow::On(s) => all.extend(self.body(s, rest)),
                other => all.push(other),
            }
        }
        all
    }

    fn stmt(&self, mut s: State, stmt: &Stmt) -> Vec<Flow> {
        let done = |r: std::result::Result<State, String>| match r {
            Ok(s) => vec![Flow::On(s)],
            Err(m) => vec![Flow::Bad(m)],
        };
        match stmt {
            Stmt::Set(place, e) => {
                done(self.value(&s, e).and_then(|v| self.assign(&mut s, place, v)).map(|_| s))
            }
            Stmt::If(test, a, b) => match self.value(&s, test) {
                Ok(0) => self.body(s, b),
                Ok(_) => self.body(s, a),
                Err(m) => vec![Flow::Bad(m)],
            },
            Stmt::While(test, body) => match self.value(&s, test) {
                Ok(0) => vec![Flow::On(s)],
                Ok(_) => {
                    let mut all = vec![];
                    for flow in self.body(s, body) {
                        match flow {
                            Flow::On(s) => all.extend(self.stmt(s, stmt)),
                            other => all.push(other),
                        }
                    }
                    all
                }
                Err(m) => vec![Flow::Bad(m)],
            },
            Stmt::Choose(branches) => {
                branches.iter().flat_map(|b| self.body(s.clone(), b)).collect()
            }
            Stmt::Pick(place, lo, hi) => match (self.value(&s, lo), self.value(&s, hi)) {
                (Ok(lo), Ok(hi)) if lo <= hi => (lo..=hi)
                    .flat_map(|v| {
                        let mut s = s.clone();
                        done(self.assign(&mut s, place, v).map(|_| s))
                    })
                    .collect(),
                (Err(m), _) | (_, Err(m)) => vec![Flow::Bad(m)],
                _ => vec![Flow::Bad("no choice".into())],
            },
            Stmt::New(place, node, fields) => {
                let mut new: Vec<i32> =
                    self.program.nodes[*node].fields.iter().map(|f| f.first(0)).collect();
                for (field, e) in fields {
                    match self.value(&s, e) {
                        Ok(v) => new[*field] = v,
                        Err(m) => return vec![Flow::Bad(m)],
                    }
                }
                s.heap[*node].push(new);
                let name = s.heap[*node].len() as i32;
                done(self.assign(&mut s, place, name).map(|_| s))
            }
            Stmt::Free(..) => unreachable!("this oracle has no reuse"),
            Stmt::Await(e) => match self.value(&s, e) {
                Ok(0) => vec![],
                Ok(_) => vec![Flow::On(s)],
                Err(m) => vec![Flow::Bad(m)],
            },
            Stmt::Assert(e, message) => match self.value(&s, e) {
                Ok(0) => vec![Flow::Bad(message.clone())],
                Ok(_) => vec![Flow::On(s)],
                Err(m) => vec![Flow::Bad(m)],
            },
            Stmt::Lin(_) => vec![Flow::On(s)],
            Stmt::Goto(l) => vec![Flow::Goto(s, *l)],
            Stmt::Return(results) => {
                let values: std::result::Result<Vec<i32>, String> =
                    results.iter().map(|e| self.value(&s, e)).collect();
                match values {
                    Ok(v) => vec![Flow::Return(s, v)],
                    Err(m) => vec![Flow::Bad(m)],
                }
            }
        }
    }
}

/// Every step of a process.
pub fn steps(program: &Program, state: &State, p: usize) -> Vec<Result> {
    let role = &program.roles[program.role_of(p)];
    let mut all = Vec::new();
    let mut finish = |flows: Vec<Flow>, call: Option<CallId>| {
        let seen: Vec<Seen> = call.map(Seen::Call).into_iter().collect();
        for flow in flows {
            all.push(match flow {
                Flow::On(_) => Result::Bad("ends nowhere".into()),
                Flow::Bad(m) => Result::Bad(m),
                Flow::Goto(mut s, l) => {
                    s.processes[p].at = Some(l);
                    Result::Fine(s, seen.clone())
                }
                Flow::Return(mut s, results) => {
                    s.processes[p].at = None;
                    s.processes[p].locals.clear();
                    let mut seen = seen.clone();
                    seen.push(Seen::Return(results));
                    Result::Fine(s, seen)
                }
            });
        }
    };
    match state.processes[p].at {
        Some(l) => {
            let op = program.locations[l].operation;
            finish(Run { program, p, op }.body(state.clone(), &program.locations[l].body), None);
        }
        None => {
            if role.limit.is_some_and(|limit| state.processes[p].made >= limit) {
                return vec![];
            }
            for &call in &role.calls {
                let op = program.calls[call].operation;
                let mut s = state.clone();
                if role.limit.is_some() {
                    s.processes[p].made += 1;
                }
                s.processes[p].locals = program.operations[op].locals.iter().map(cells).collect();
                for (i, arg) in program.calls[call].args.iter().enumerate() {
                    s.processes[p].locals[i] = vec![*arg];
                }
                finish(Run { program, p, op }.body(s, &program.operations[op].entry), Some(call));
            }
        }
    }
    all
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Status {
    Idle,
    Called(CallId),
    Done(Vec<i32>),
}

type Explanation = (Vec<i32>, Vec<Status>);

fn explain(
    program: &Program,
    set: &BTreeSet<Explanation>,
    p: usize,
    seen: &Seen,
) -> BTreeSet<Explanation> {
    let mut next = BTreeSet::new();
    for (object, statuses) in set {
        let mut statuses = statuses.clone();
        match seen {
            Seen::Call(call) => statuses[p] = Status::Called(*call),
            Seen::Return(results) => {
                if statuses[p] != Status::Done(results.clone()) {
                    continue;
                }
                statuses[p] = Status::Idle;
            }
        }
        next.insert((object.clone(), statuses));
    }
    loop {
        let mut more = next.clone();
        for (object, statuses) in &next {
            for (q, status) in statuses.iter().enumerate() {
                if let Status::Called(call) = status {
                    let call = &program.calls[*call];
                    let mut out = vec![];
                    program.spec.step(object, q, call.operation, &call.args, &mut out);
                    for (results, object) in out {
                        let mut statuses = statuses.clone();
                        statuses[q] = Status::Done(results.to_vec());
                        more.insert((object.to_vec(), statuses));
                    }
                }
            }
        }
        if more.len() == next.len() {
            return next;
        }
        next = more;
    }
}

/// What is wrong, at the least depth.
#[derive(Clone, Debug, Default)]
pub struct Wrong {
    /// Steps of the shortest run to a state in which nobody can move though the specification does
    /// not let them wait.
    pub stuck: Option<usize>,
    /// Steps of the shortest run with a wrong step, the wrong one included.
    pub depth: Option<usize>,
    /// Some history of this length is not explained.
    pub unexplained: bool,
    /// Some step at this depth is bad.
    pub bad: bool,
}

/// What is wrong, if anything is; nothing at all where there are more states than that.
pub fn decide(program: &Program, most: usize) -> Option<Option<Wrong>> {
    let idle = vec![Status::Idle; program.processes()];
    let set: BTreeSet<Explanation> =
        program.spec.initial().into_iter().map(|o| (o.to_vec(), idle.clone())).collect();
    let mut seen: HashSet<(State, BTreeSet<Explanation>)> = HashSet::new();
    let mut level = vec![(initial(program), set)];
    seen.extend(level.iter().cloned());
    let mut memo: HashMap<(BTreeSet<Explanation>, usize, Seen), BTreeSet<Explanation>> =
        HashMap::new();
    let mut depth = 0;
    let mut stuck = None;
    while !level.is_empty() {
        depth += 1;
        let (mut unexplained, mut bad) = (false, false);
        let mut next = vec![];
        for (state, set) in level {
            let mut moves = false;
            for p in 0..program.processes() {
                for result in steps(program, &state, p) {
                    moves = true;
                    match result {
                        Result::Bad(_) => bad = true,
                        Result::Fine(after, events) => {
                            let mut set = set.clone();
                            for event in events {
                                let key = (set.clone(), p, event.clone());
                                set = memo
                                    .entry(key)
                                    .or_insert_with(|| explain(program, &set, p, &event))
                                    .clone();
                            }
                            if set.is_empty() {
                                unexplained = true;
                            } else if seen.insert((after.clone(), set.clone())) {
                                next.push((after, set));
                            }
                        }
                    }
                }
            }
            let within = state.processes.iter().any(|process| process.at.is_some());
            if !moves && within && !set.iter().any(|explanation| waits(program, explanation)) {
                stuck = Some(depth - 1);
            }
            if seen.len() > most {
                return None;
            }
        }
        if unexplained || bad {
            return Some(Some(Wrong { stuck, depth: Some(depth), unexplained, bad }));
        }
        if stuck.is_some() {
            return Some(Some(Wrong { stuck, ..Wrong::default() }));
        }
        level = next;
    }
    Some(None)
}

/// Whether nobody has taken effect, and nobody who has called can.
fn waits(program: &Program, (object, statuses): &Explanation) -> bool {
    statuses.iter().enumerate().all(|(p, status)| match status {
        Status::Idle => true,
        Status::Done(_) => false,
        Status::Called(call) => {
            let call = &program.calls[*call];
            let mut out = vec![];
            program.spec.step(object, p, call.operation, &call.args, &mut out);
            let types = &program.operations[call.operation].results;
            let fits = |results: &[i32]| results.iter().zip(types).all(|(r, t)| t.contains(*r));
            !out.iter().any(|(results, _)| fits(results))
        }
    })
}
