//! The control flow of an operation, and how it is cut into steps.
//!
//! An operation is first compiled to a graph of small actions. A node that *cuts* must begin a step
//! if another node that cuts came before it in the same step. The construction of the graph decides
//! which nodes cut: each shared access in the default semantics, each statement in PAT's.
//! [`Flow::steps`] then walks the graph from each node that begins a step and copies the actions up
//! to the next cut, so that local computation costs nothing. If a path reaches the head of a loop
//! that it has passed in the same step (a loop of local steps), it is cut before the head: a round
//! of such a loop is a step. The interpreter follows the same rule.
//!
//! A step that cannot be completed is not taken at all. So nothing that has happened or was chosen
//! may share a step with a guard after it: a guard begins a step, and the step of a call ends
//! before it. There are two intended exceptions: `atomic` waits as a whole, and a guard on local
//! state before any access prevents the call.
//!
//! A backward analysis finds the live locals at each location, so that dead ones can be cleared.

use std::collections::HashMap;

use super::diagnostic::{Diagnostic, Span};
use super::parser::Parsed;
use crate::program::{Expr, Location, LocationId, OpId, Place, Stmt, VarId};

pub(super) type NodeIx = usize;

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Not built yet, or unreachable.
    Open,
    Jump(NodeIx),
    Do {
        body: Vec<Stmt>,
        cut: bool,
        /// Waits on local state: the earlier actions have happened, even if it waits for ever.
        waits: bool,
        next: NodeIx,
    },
    Branch {
        condition: Expr,
        cut: bool,
        yes: NodeIx,
        no: NodeIx,
    },
    Choose {
        branches: Vec<NodeIx>,
        cut: bool,
    },
    Return {
        values: Vec<Expr>,
        cut: bool,
    },
}

impl Node {
    fn cuts(&self) -> bool {
        match self {
            Node::Do { cut, .. }
            | Node::Branch { cut, .. }
            | Node::Choose { cut, .. }
            | Node::Return { cut, .. } => *cut,
            Node::Open | Node::Jump(_) => false,
        }
    }

    /// Whether it begins a step if another node that cuts came before it.
    fn begins_when_spent(&self) -> bool {
        self.cuts() || matches!(self, Node::Do { waits: true, .. })
    }
}

/// The graph of one operation.
#[derive(Debug, Default)]
pub(super) struct Flow {
    nodes: Vec<(Node, Span)>,
    /// Where the rounds of loops begin.
    heads: Vec<NodeIx>,
    /// Guards at the beginning of an operation: they decide when it may be called.
    entries: Vec<NodeIx>,
}

/// An operation cut into steps.
pub(super) struct Steps {
    /// The actions in the step of the call.
    pub(super) entry: Vec<Stmt>,
    pub(super) locations: Vec<Location>,
}

/// A larger body comes from a model that should use fewer nested conditions.
const LARGEST_BODY: usize = 100_000;
/// More nodes on one way through a step.
const LONGEST_PATH: usize = 600;

impl Flow {
    pub(super) fn open(&mut self) -> NodeIx {
        self.nodes.push((Node::Open, Span::default()));
        self.nodes.len() - 1
    }

    /// A node where the rounds of a loop begin. Every cycle of the graph contains one.
    pub(super) fn open_head(&mut self) -> NodeIx {
        let head = self.open();
        self.heads.push(head);
        head
    }

    /// Marks the guard here as one that decides when the operation may be called.
    pub(super) fn keep_from_calling(&mut self, at: NodeIx) {
        self.entries.push(at);
    }

    pub(super) fn fill(&mut self, at: NodeIx, node: Node, span: Span) {
        self.nodes[at] = (node, span);
    }

    /// The end of a chain of jumps.
    fn resolve(&self, mut at: NodeIx) -> Parsed<NodeIx> {
        let mut left = self.nodes.len();
        while let (Node::Jump(next), span) = &self.nodes[at] {
            if left == 0 {
                let message = "this loop does nothing, for ever";
                return Err(Diagnostic::new(*span, message).help("await something in it"));
            }
            left -= 1;
            at = *next;
        }
        Ok(at)
    }

    /// Whether the step that begins at this node, with a node that cuts, may have to wait.
    fn waits_from(&self, from: NodeIx) -> Parsed<bool> {
        let (mut open, mut seen) = (vec![from], vec![false; self.nodes.len()]);
        while let Some(at) = open.pop() {
            let at = self.resolve(at)?;
            let ends = at != from && self.nodes[at].0.begins_when_spent();
            if ends || std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match &self.nodes[at].0 {
                Node::Do { body, .. } if body.iter().any(may_wait) => return Ok(true),
                Node::Do { next, .. } => open.push(*next),
                Node::Branch { yes, no, .. } => open.extend([*yes, *no]),
                Node::Choose { branches, .. } => open.extend(branches),
                Node::Return { .. } | Node::Open | Node::Jump(_) => {}
            }
        }
        Ok(false)
    }

    /// The statements from a node to another, within one step.
    pub(super) fn straight(&self, from: NodeIx, stop: NodeIx) -> Parsed<Vec<Stmt>> {
        let mut walk = Walk::new(self);
        walk.stop = Some(self.resolve(stop)?);
        walk.whole = true;
        walk.body(from, Done::default(), &mut Vec::new())
    }

    /// Cuts the operation into steps. `first` is the id of the first new location; a mark carries
    /// the values of the first `told` locals.
    pub(super) fn steps(
        &self,
        from: NodeIx,
        fused: bool,
        (operation, told): (OpId, usize),
        first: LocationId,
        source: &str,
    ) -> Parsed<Steps> {
        let mut walk = Walk::new(self);
        walk.first = first;
        walk.calling = true;
        let called = Done { access: !fused, ..Done::default() };
        let entry = walk.body(from, called, &mut Vec::new())?;
        walk.calling = false;
        let live = self.liveness(told);
        let mut locations = Vec::new();
        let mut done = 0;
        while done < walk.order.len() {
            let node = walk.order[done];
            done += 1;
            let body = walk.body(node, Done::default(), &mut Vec::new())?;
            let span = self.nodes[node].1;
            let (line, _) = span.line_column(source);
            let text = source.get(span.start as usize..span.end as usize).unwrap_or("");
            let text = text.lines().next().unwrap_or("").trim().to_string();
            let live = (live[node].locals.iter().enumerate())
                .filter_map(|(v, live)| live.then_some(v))
                .collect();
            locations.push(Location { operation, body, live, line: line as u32, text });
        }
        Ok(Steps { entry, locations })
    }

    /// The own variables that the operation may read before it writes them.
    pub(super) fn needs_own(&self, from: NodeIx) -> Vec<VarId> {
        let live = self.liveness(0);
        let own = &live[from].own;
        own.iter().enumerate().filter_map(|(v, live)| live.then_some(v)).collect()
    }

    /// The live locals before each node. A mark reads the first `told` locals.
    fn liveness(&self, told: usize) -> Vec<Live> {
        let mut live = vec![Live::default(); self.nodes.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..self.nodes.len()).rev() {
                let mut now = Live::default();
                match &self.nodes[at].0 {
                    Node::Open => {}
                    Node::Jump(next) => now.join(&live[*next]),
                    Node::Do { body, next, .. } => {
                        now.join(&live[*next]);
                        now.before_all(body);
                        if body.iter().any(marks) {
                            (0..told).for_each(|local| mark(&mut now.locals, local, true));
                        }
                    }
                    Node::Branch { condition, yes, no, .. } => {
                        now.join(&live[*yes]);
                        now.join(&live[*no]);
                        now.read(condition);
                    }
                    Node::Choose { branches, .. } => {
                        branches.iter().for_each(|branch| now.join(&live[*branch]));
                    }
                    Node::Return { values, .. } => values.iter().for_each(|v| now.read(v)),
                }
                changed |= now != live[at];
                live[at] = now;
            }
        }
        live
    }
}

fn marks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Lin(_) => true,
        Stmt::If(_, yes, no) => yes.iter().chain(no).any(marks),
        Stmt::While(_, body) => body.iter().any(marks),
        Stmt::Choose(branches) => branches.iter().flatten().any(marks),
        _ => false,
    }
}

fn may_wait(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Await(_) => true,
        Stmt::If(_, yes, no) => yes.iter().chain(no).any(may_wait),
        Stmt::While(_, body) => body.iter().any(may_wait),
        Stmt::Choose(branches) => branches.iter().flatten().any(may_wait),
        _ => false,
    }
}

/// Makes the bodies of steps and numbers the locations as they are met.
struct Walk<'f> {
    flow: &'f Flow,
    /// The heads of loops, with jumps resolved. A head that only jumps for ever is reported when it
    /// is reached.
    heads: Vec<NodeIx>,
    /// The nodes that begin a step, in the order of their locations.
    order: Vec<NodeIx>,
    ids: HashMap<NodeIx, LocationId>,
    first: LocationId,
    stop: Option<NodeIx>,
    /// The step of the call is being built: it ends before anything that may have to wait for
    /// others, because the operation counts as called even if it waits for ever.
    calling: bool,
    /// Nothing is cut.
    whole: bool,
    size: usize,
}

impl<'f> Walk<'f> {
    fn new(flow: &'f Flow) -> Walk<'f> {
        let (order, ids) = (Vec::new(), HashMap::new());
        let heads = flow.heads.iter().filter_map(|head| flow.resolve(*head).ok()).collect();
        Walk {
            flow,
            heads,
            order,
            ids,
            first: 0,
            stop: None,
            calling: false,
            whole: false,
            size: 0,
        }
    }

    fn location(&mut self, node: NodeIx) -> Stmt {
        let next = self.first + self.order.len();
        let id = *self.ids.entry(node).or_insert(next);
        if id == next {
            self.order.push(node);
        }
        Stmt::Goto(id)
    }

    /// The actions of a step from this node on.
    fn body(&mut self, from: NodeIx, mut done: Done, path: &mut Vec<NodeIx>) -> Parsed<Vec<Stmt>> {
        let depth = path.len();
        let mut out = Vec::new();
        let mut at = from;
        loop {
            at = self.flow.resolve(at)?;
            if self.stop == Some(at) {
                break;
            }
            let (node, span) = &self.flow.nodes[at];
            self.size += 1;
            if self.size > LARGEST_BODY || path.len() > LONGEST_PATH {
                let message = "the steps of this operation have too many paths";
                return Err(Diagnostic::new(*span, message).help("split long chains of `if`"));
            }
            let goes_round = self.heads.contains(&at) && path.contains(&at);
            if !self.whole && (goes_round || self.begins(at, done)?) {
                out.push(self.location(at));
                break;
            }
            done.access |= node.cuts() && !self.flow.entries.contains(&at);
            path.push(at);
            match node {
                Node::Do { body, next, .. } => {
                    done.choice |= body.iter().any(|stmt| matches!(stmt, Stmt::Pick(..)));
                    out.extend(body.iter().cloned());
                    at = *next;
                }
                Node::Branch { condition, yes, no, .. } => {
                    let yes = self.body(*yes, done, path)?;
                    let no = self.body(*no, done, path)?;
                    out.push(Stmt::If(condition.clone(), yes, no));
                    break;
                }
                Node::Choose { branches, .. } => {
                    done.choice = true;
                    let mut bodies = Vec::new();
                    for branch in branches {
                        bodies.push(self.body(*branch, done, path)?);
                    }
                    out.push(Stmt::Choose(bodies));
                    break;
                }
                Node::Return { values, .. } => {
                    out.push(Stmt::Return(values.clone()));
                    break;
                }
                Node::Open | Node::Jump(_) => break,
            }
        }
        path.truncate(depth);
        Ok(out)
    }

    /// Whether this node begins another step than the one in which that much was done.
    fn begins(&self, at: NodeIx, done: Done) -> Parsed<bool> {
        let node = &self.flow.nodes[at].0;
        Ok(match node {
            _ if self.calling && self.flow.entries.contains(&at) => false,
            node if done.access => node.begins_when_spent(),
            Node::Do { cut: false, waits: true, .. } => done.choice || self.calling,
            node => (done.choice || self.calling) && node.cuts() && self.flow.waits_from(at)?,
        })
    }
}

/// What a step has done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Something that cuts.
    access: bool,
    /// One of several branches or values was chosen.
    choice: bool,
}

/// Which locals and own variables are needed later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Live {
    locals: Vec<bool>,
    own: Vec<bool>,
}

fn mark(set: &mut Vec<bool>, variable: VarId, live: bool) {
    if set.len() <= variable {
        set.resize(variable + 1, false);
    }
    set[variable] = live;
}

impl Live {
    fn join(&mut self, other: &Live) {
        for (mine, theirs) in [(&mut self.locals, &other.locals), (&mut self.own, &other.own)] {
            for (variable, live) in theirs.iter().enumerate() {
                if *live {
                    mark(mine, variable, true);
                }
            }
        }
    }

    fn read(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::Me => {}
            Expr::Read(place) => {
                match &**place {
                    Place::Local(variable, _) => mark(&mut self.locals, *variable, true),
                    Place::Own(variable, _) => mark(&mut self.own, *variable, true),
                    Place::Shared(..) | Place::Field(..) | Place::FieldCell(..) => {}
                }
                self.address(place);
            }
            Expr::Unary(_, of) => self.read(of),
            Expr::Binary(_, a, b) => {
                self.read(a);
                self.read(b);
            }
            Expr::If(c, a, b) => {
                self.read(c);
                self.read(a);
                self.read(b);
            }
        }
    }

    fn address(&mut self, place: &Place) {
        match place {
            Place::Local(_, indices) | Place::Own(_, indices) | Place::Shared(_, indices) => {
                indices.iter().for_each(|index| self.read(index));
            }
            Place::Field(_, pointer, _) => self.read(pointer),
            Place::FieldCell(_, pointer, _, indices) => {
                self.read(pointer);
                indices.iter().for_each(|(index, _)| self.read(index));
            }
        }
    }

    fn write(&mut self, place: &Place) {
        match place {
            Place::Local(variable, indices) if indices.is_empty() => {
                mark(&mut self.locals, *variable, false);
            }
            Place::Own(variable, indices) if indices.is_empty() => {
                mark(&mut self.own, *variable, false);
            }
            _ => {}
        }
        self.address(place);
    }

    fn before_all(&mut self, body: &[Stmt]) {
        body.iter().rev().for_each(|stmt| self.before(stmt));
    }

    fn before(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(place, value) => {
                self.write(place);
                self.read(value);
            }
            Stmt::If(condition, yes, no) => {
                let mut other = self.clone();
                self.before_all(yes);
                other.before_all(no);
                self.join(&other);
                self.read(condition);
            }
            Stmt::While(condition, body) => {
                // Locals that are live after the loop stay live, because the body may run zero
                // times; two rounds suffice.
                for _ in 0..2 {
                    let mut round = self.clone();
                    round.before_all(body);
                    self.join(&round);
                }
                self.read(condition);
            }
            Stmt::Choose(branches) => {
                let after = self.clone();
                for (i, branch) in branches.iter().enumerate() {
                    let mut one = after.clone();
                    one.before_all(branch);
                    if i == 0 {
                        *self = one;
                    } else {
                        self.join(&one);
                    }
                }
            }
            Stmt::Pick(place, low, high) => {
                self.write(place);
                self.read(low);
                self.read(high);
            }
            Stmt::New(place, _, fields) => {
                self.write(place);
                fields.iter().for_each(|(_, value)| self.read(value));
            }
            Stmt::Free(_, pointer) => self.read(pointer),
            Stmt::Await(condition) | Stmt::Assert(condition, _) => self.read(condition),
            Stmt::Lin(values) => values.iter().flatten().for_each(|value| self.read(value)),
            Stmt::Goto(_) => {}
            Stmt::Return(values) => values.iter().for_each(|value| self.read(value)),
        }
    }
}
