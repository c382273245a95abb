//! Grounds a theory on some operations, giving propositional logic (section 4 of the paper).
//!
//! Variables of the axioms are replaced by operations in all ways. The result has four kinds of
//! atoms: `used(x)`, a pending operation took effect; `x < y`; `match(x, y)`; and that a pending
//! operation returns a value. Facts known from labels and real time are filled in at once, so most
//! instances vanish. For an atomic object `x < y` and `y < x` are one atom and its negation. The
//! transitivity of the order is added to the solver only where a model violates it, which saves a
//! cubic number of clauses.
//!
//! A history may grow: [`Ground::ground`] grounds the instances with operations that were added
//! since. A disjunction over 'some operation' that later ones may extend ends in a literal for
//! future operations, which is assumed false.

use std::sync::Arc;

use batsat::{Callbacks, Lit, Solver, SolverInterface, lbool};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::node::{Node, all, any};
use crate::budget::{Budget, Exhausted};
use crate::papers::theory::{Axiom, Formula, Theory, Var};
use crate::theory::Label;
use crate::value::Value;

/// Operations tried at a place of an axiom between two checks of the budget.
const CHARGE: u64 = 1 << 10;
/// Circles of three that are forbidden after one model, at most.
const CIRCLES: usize = 200;

/// A propositional formula that grows with the history.
pub(super) struct Ground<'a> {
    theory: Arc<Theory>,
    budget: &'a Budget,
    solver: Solver<Watch<'a>>,
    operations: Vec<Known>,
    /// The known order: `before[y][x]` if `x` comes before `y`.
    before: Vec<Vec<bool>>,
    /// The atom `x < y` for `x < y` as numbers.
    order: HashMap<(u32, u32), Lit, FixedState>,
    /// The atom `match(x, y)`; none if the labels forbid it.
    matches: HashMap<(u32, u32), Option<Lit>, FixedState>,
    /// Whether operations may still be added.
    grows: bool,
    /// Disjunctions that later operations may still fulfil.
    tails: Vec<Tail>,
    /// Implied by all tails; assumed false.
    frontier: Option<Lit>,
    /// Operations from this one on have no axioms yet.
    grounded: u32,
    /// The operations that count, ascending.
    alive: Vec<u32>,
    /// Operations that were tried at a place of an axiom since the last check of the budget: most
    /// instances vanish, but finding that takes time.
    tried: u64,
}

/// The facts known about an operation.
struct Known {
    label: Label,
    used: Node,
    /// The atoms 'it returns this value'.
    answers: Vec<(Value, Lit)>,
}

/// A disjunction to be continued.
struct Tail {
    literal: Lit,
    variable: Var,
    body: Formula,
    at: Vec<u32>,
}

/// Lets the solver ask whether the budget is spent.
struct Watch<'a>(&'a Budget);

impl Callbacks for Watch<'_> {
    fn stop(&self) -> bool {
        self.0.spend(1).is_err()
    }
}

/// Whether an operation takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It does.
    Yes,
    /// Decided by the solver, or by an assumption.
    Open,
}

impl<'a> Ground<'a> {
    /// A formula about no operation.
    pub(super) fn new(theory: Arc<Theory>, grows: bool, budget: &'a Budget) -> Ground<'a> {
        let mut solver = Solver::new(Default::default(), Watch(budget));
        let frontier = grows.then(|| Lit::new(solver.new_var_default(), true));
        Ground {
            theory,
            budget,
            solver,
            operations: Vec::new(),
            before: Vec::new(),
            order: HashMap::default(),
            matches: HashMap::default(),
            grows,
            tails: Vec::new(),
            frontier,
            grounded: 0,
            alive: Vec::new(),
            tried: 0,
        }
    }

    /// Adds an operation after the given ones. [`Ground::ground`] then adds its axioms.
    pub(super) fn add(&mut self, label: Label, before: impl Fn(u32) -> bool, used: Use) -> u32 {
        let number = self.operations.len() as u32;
        let used = match used {
            Use::Yes => Node::True,
            Use::Open => Node::Literal(self.fresh()),
        };
        self.operations.push(Known { label, used, answers: Vec::new() });
        self.alive.push(number);
        for row in &mut self.before {
            row.push(false);
        }
        self.before.push((0..=number).map(|x| x < number && before(x)).collect());
        number
    }

    /// Orders an operation before another that may have been added earlier.
    pub(super) fn order(&mut self, x: u32, y: u32) {
        if self.before[y as usize][x as usize] {
            return;
        }
        // Earlier instances contain the atom: inform the solver, and record the fact.
        if let Node::Literal(literal) = self.precedes(x, y) {
            self.solver.add_clause_reuse(&mut vec![literal]);
        }
        self.before[y as usize][x as usize] = true;
    }

    /// Grounds the axioms for all tuples with an operation that was added since the last time.
    pub(super) fn ground(&mut self) -> Result<(), Exhausted> {
        let first = std::mem::replace(&mut self.grounded, self.operations.len() as u32);
        if first == self.grounded {
            return Ok(());
        }
        if self.grows {
            self.continue_tails(first)?;
        }
        let theory = self.theory.clone();
        for axiom in &theory.axioms {
            let mut at = Vec::with_capacity(usize::from(axiom.variables) + 1);
            self.instances_of(axiom, first, &mut at)?;
        }
        Ok(())
    }

    /// The operation returned this.
    pub(super) fn returned(&mut self, x: u32, result: &Value, used: Use) {
        let known = &mut self.operations[x as usize];
        known.label.result = Some(result.clone());
        let mut facts: Vec<Lit> = Vec::new();
        for (value, literal) in &known.answers {
            facts.push(if value == result { *literal } else { !*literal });
        }
        if let (Use::Yes, &Node::Literal(literal)) = (used, &known.used) {
            facts.push(literal);
            known.used = Node::True;
        }
        for fact in facts {
            self.solver.add_clause_reuse(&mut vec![fact]);
        }
    }

    /// The operation counts no more.
    pub(super) fn forget(&mut self, x: u32) {
        if let Node::Literal(literal) = self.operations[x as usize].used {
            self.solver.add_clause_reuse(&mut vec![!literal]);
            self.operations[x as usize].used = Node::False;
            self.alive.retain(|&y| y != x);
        }
    }

    /// The assumption that an operation takes effect, or does not; `None` if that is known.
    pub(super) fn assume_used(&self, x: u32, used: bool) -> Option<Lit> {
        match self.operations[x as usize].used {
            Node::Literal(literal) => Some(if used { literal } else { !literal }),
            _ => None,
        }
    }

    /// The assumption that a pending operation returns this; `None` if nothing depends on it.
    pub(super) fn assume_answers(&self, x: u32, value: &Value) -> Vec<Lit> {
        let told = |(v, literal): &(Value, Lit)| if v == value { *literal } else { !*literal };
        self.operations[x as usize].answers.iter().map(told).collect()
    }

    /// The assumption that one operation comes before another; `None` if that is known.
    pub(super) fn assume_order(&mut self, x: u32, y: u32) -> Option<Lit> {
        match self.precedes(x, y) {
            Node::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// The used operations in an order that satisfies everything, if there is one.
    pub(super) fn solve(&mut self, assumptions: &[Lit]) -> Result<Option<Vec<u32>>, Exhausted> {
        let mut all = assumptions.to_vec();
        all.extend(self.frontier.map(|frontier| !frontier));
        loop {
            let answer = self.solver.solve_limited(&all);
            if answer == lbool::FALSE {
                return Ok(None);
            }
            if answer != lbool::TRUE {
                // The solver stops for no other reason.
                self.budget.spend(0)?;
                return Err(Exhausted::Cancelled);
            }
            let used: Vec<u32> = (0..self.operations.len() as u32)
                .filter(|&x| match self.operations[x as usize].used {
                    Node::True => true,
                    Node::Literal(literal) => self.solver.value_lit(literal) == lbool::TRUE,
                    _ => false,
                })
                .collect();
            if !self.theory.atomic {
                return Ok(Some(used));
            }
            let circles = match self.sorted(&used) {
                Ok(mut order) => {
                    order.retain(|&x| !self.changed_nothing(x));
                    return Ok(Some(order));
                }
                Err(circles) => circles,
            };
            for [x, y, z] in circles {
                let links = [(x, y), (y, z), (z, x)].map(|(x, y)| self.precedes(x, y).negated());
                self.assert(any(links.into()));
            }
            self.budget.spend(1)?;
        }
    }

    /// Whether the model lets a pending operation return false: it found nothing to do, and an
    /// order without it is as good. One that can only block, as an acquire may, would not be part
    /// of an order.
    fn changed_nothing(&self, x: u32) -> bool {
        let known = &self.operations[x as usize];
        let is_false = |(value, literal): &(Value, Lit)| {
            *value == Value::Bool(false) && self.solver.value_lit(*literal) == lbool::TRUE
        };
        known.label.result.is_none() && known.answers.iter().any(is_false)
    }

    /// The operations in the order of the model, or cycles of three if the model has no order.
    fn sorted(&mut self, used: &[u32]) -> Result<Vec<u32>, Vec<[u32; 3]>> {
        let n = used.len();
        let mut precedes = vec![false; n * n];
        for (i, &x) in used.iter().enumerate() {
            for (j, &y) in used.iter().enumerate().skip(i + 1) {
                let first = match self.precedes(x, y) {
                    Node::True => true,
                    Node::Literal(literal) => self.solver.value_lit(literal) == lbool::TRUE,
                    _ => false,
                };
                precedes[i * n + j] = first;
                precedes[j * n + i] = !first;
            }
        }
        let behind = |i: usize| (0..n).filter(|&j| precedes[i * n + j]).count();
        let counts: Vec<usize> = (0..n).map(behind).collect();
        let mut places: Vec<usize> = (0..n).collect();
        places.sort_by_key(|&i| std::cmp::Reverse(counts[i]));
        // An operation that precedes another without having more successors is in a cycle of three
        // with it.
        let mut circles = Vec::new();
        for i in 0..n {
            for j in 0..n {
                if precedes[i * n + j] && counts[i] <= counts[j] {
                    let third = (0..n).find(|&k| precedes[j * n + k] && precedes[k * n + i]);
                    circles.extend(third.map(|k| [used[i], used[j], used[k]]));
                    if circles.len() >= CIRCLES {
                        return Err(circles);
                    }
                }
            }
        }
        if circles.is_empty() {
            Ok(places.iter().map(|&i| used[i]).collect())
        } else {
            Err(circles)
        }
    }

    fn fresh(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// Later operations may fulfil what earlier ones require, or leave it to those after them.
    fn continue_tails(&mut self, first: u32) -> Result<(), Exhausted> {
        let frontier = self.fresh();
        let tails = std::mem::take(&mut self.tails);
        self.frontier = Some(frontier);
        for mut tail in tails {
            self.charge()?;
            let mut found = Vec::new();
            self.tried += self.operations.len() as u64 - u64::from(first);
            for o in first..self.operations.len() as u32 {
                found.push(self.witness(&tail.body, tail.variable, &mut tail.at, o));
            }
            let settled = tail.at.iter().all(|&x| {
                let known = &self.operations[x as usize];
                known.label.result.is_some() || matches!(known.used, Node::False)
            });
            let found = any(found);
            match found {
                Node::False if settled => {
                    self.solver.add_clause_reuse(&mut vec![!tail.literal]);
                    continue;
                }
                Node::False => {}
                found => {
                    let next = self.fresh();
                    let mut clause = vec![!tail.literal, next];
                    self.push(found, &mut clause);
                    self.solver.add_clause_reuse(&mut clause);
                    tail.literal = next;
                }
            }
            self.solver.add_clause_reuse(&mut vec![!tail.literal, frontier]);
            self.tails.push(tail);
        }
        Ok(())
    }

    /// Every assignment of operations to the remaining variables of an axiom, at least one of them
    /// new.
    fn instances_of(
        &mut self,
        axiom: &Axiom,
        first: u32,
        at: &mut Vec<u32>,
    ) -> Result<(), Exhausted> {
        if at.len() == usize::from(axiom.variables) {
            self.instance(axiom, at);
            return Ok(());
        }
        let variable = at.len() as Var;
        // The last one must be new if no other is.
        let is_last = variable + 1 == axiom.variables;
        let start = if is_last && at.iter().all(|&x| x < first) { first } else { 0 };
        for i in self.alive.partition_point(|&o| o < start)..self.alive.len() {
            self.charge()?;
            let o = self.alive[i];
            at.truncate(usize::from(variable));
            at.push(o);
            // A premise that is known to fail spares everything below.
            let fails = axiom.premises.iter().any(|premise| {
                premise.last_variable() == variable
                    && matches!(self.formula(premise, true, at), Node::False)
            });
            if !fails {
                self.instances_of(axiom, first, at)?;
            }
        }
        at.truncate(usize::from(variable));
        Ok(())
    }

    /// One instance: some operation is not used, or a premise fails, or the conclusion holds.
    fn instance(&mut self, axiom: &Axiom, at: &mut Vec<u32>) {
        let mut nodes = Vec::new();
        for premise in &axiom.premises {
            nodes.push(self.formula(premise, false, at));
        }
        for &x in at.iter() {
            nodes.push(self.operations[x as usize].used.clone().negated());
        }
        if nodes.iter().any(|node| matches!(node, Node::True)) {
            return;
        }
        nodes.push(self.formula(&axiom.conclusion, true, at));
        self.assert(any(nodes));
    }

    /// An operation may fulfil a requirement.
    fn witness(&mut self, body: &Formula, variable: Var, at: &mut Vec<u32>, o: u32) -> Node {
        let length = at.len();
        at.resize(usize::from(variable), 0);
        at.push(o);
        let found = self.formula(body, true, at);
        at.truncate(length);
        match found {
            Node::False => Node::False,
            found => all(vec![self.operations[o as usize].used.clone(), found]),
        }
    }

    fn formula(&mut self, formula: &Formula, positive: bool, at: &mut Vec<u32>) -> Node {
        let o = |x: &Var, at: &[u32]| at[usize::from(*x)];
        let operation = |x: &Var| &self.operations[at[usize::from(*x)] as usize];
        let node = match formula {
            Formula::Is(x, method) => (operation(x).label.method == *method).into(),
            Formula::Returns(x, value) => self.returns(o(x, at), value),
            Formula::ReturnsArgument(x, y) => {
                let value = operation(y).label.argument.clone();
                self.returns(o(x, at), &value)
            }
            Formula::SameArgument(x, y) => {
                (operation(x).label.argument == operation(y).label.argument).into()
            }
            Formula::LessArgument(x, y) => {
                (operation(x).label.argument < operation(y).label.argument).into()
            }
            Formula::Same(x, y) => (o(x, at) == o(y, at)).into(),
            Formula::Before(x, y) => self.precedes(o(x, at), o(y, at)),
            Formula::Match(x, y) => self.matched(o(x, at), o(y, at)),
            Formula::Not(inner) => return self.formula(inner, !positive, at),
            Formula::And(inner) | Formula::Or(inner) => {
                let is_and = matches!(formula, Formula::And(_)) == positive;
                let mut nodes = Vec::with_capacity(inner.len());
                for inner in inner {
                    let node = self.formula(inner, positive, at);
                    if matches!((&node, is_and), (Node::False, true) | (Node::True, false)) {
                        return node;
                    }
                    nodes.push(node);
                }
                return if is_and { all(nodes) } else { any(nodes) };
            }
            Formula::Exists(variable, body) => {
                debug_assert!(positive, "what is asked for is not asked for within a negation");
                return self.exists(*variable, body, at);
            }
        };
        if positive { node } else { node.negated() }
    }

    fn exists(&mut self, variable: Var, body: &Formula, at: &mut Vec<u32>) -> Node {
        let mut nodes = Vec::new();
        self.tried += self.alive.len() as u64;
        for i in 0..self.alive.len() {
            match self.witness(body, variable, at, self.alive[i]) {
                Node::False => {}
                Node::True => return Node::True,
                node => nodes.push(node),
            }
        }
        if let (true, Some(frontier)) = (self.grows, self.frontier) {
            let literal = self.fresh();
            self.solver.add_clause_reuse(&mut vec![!literal, frontier]);
            self.tails.push(Tail { literal, variable, body: body.clone(), at: at.clone() });
            nodes.push(Node::Literal(literal));
        }
        any(nodes)
    }

    fn returns(&mut self, x: u32, value: &Value) -> Node {
        let known = &self.operations[x as usize];
        if let Some(result) = &known.label.result {
            return (result == value).into();
        }
        if let Some((_, literal)) = known.answers.iter().find(|(v, _)| v == value) {
            return Node::Literal(*literal);
        }
        let literal = self.fresh();
        let known = &mut self.operations[x as usize];
        self.tried += known.answers.len() as u64;
        for (_, other) in &known.answers {
            self.solver.add_clause_reuse(&mut vec![!literal, !*other]);
        }
        known.answers.push((value.clone(), literal));
        Node::Literal(literal)
    }

    fn precedes(&mut self, x: u32, y: u32) -> Node {
        if x == y || self.before[x as usize][y as usize] {
            return Node::False;
        }
        if self.before[y as usize][x as usize] {
            return Node::True;
        }
        if !self.theory.atomic {
            return Node::False;
        }
        let pair = (x.min(y), x.max(y));
        let literal = match self.order.get(&pair) {
            Some(&literal) => literal,
            None => {
                let literal = self.fresh();
                self.order.insert(pair, literal);
                literal
            }
        };
        Node::Literal(if x < y { literal } else { !literal })
    }

    fn matched(&mut self, x: u32, y: u32) -> Node {
        if let Some(known) = self.matches.get(&(x, y)) {
            return known.map_or(Node::False, Node::Literal);
        }
        // The labels may rule it out.
        let theory = self.theory.clone();
        for axiom in &theory.axioms {
            if axiom.premises == [Formula::Match(0, 1)]
                && !matches!(axiom.conclusion, Formula::Match(..))
                && matches!(self.formula(&axiom.conclusion, true, &mut vec![x, y]), Node::False)
            {
                self.matches.insert((x, y), None);
                return Node::False;
            }
        }
        let literal = self.fresh();
        self.matches.insert((x, y), Some(literal));
        Node::Literal(literal)
    }

    fn assert(&mut self, node: Node) {
        match node {
            Node::True => {}
            Node::And(nodes) => nodes.into_iter().for_each(|node| self.assert(node)),
            node => {
                let mut clause = Vec::new();
                self.push(node, &mut clause);
                self.solver.add_clause_reuse(&mut clause);
            }
        }
    }

    /// Adds a disjunct to a clause. A conjunction gets a name.
    fn push(&mut self, node: Node, clause: &mut Vec<Lit>) {
        match node {
            Node::False => {}
            Node::Literal(literal) => clause.push(literal),
            Node::Or(nodes) => nodes.into_iter().for_each(|node| self.push(node, clause)),
            Node::And(nodes) => {
                let name = self.fresh();
                for node in nodes {
                    let mut part = vec![!name];
                    self.push(node, &mut part);
                    self.solver.add_clause_reuse(&mut part);
                }
                clause.push(name);
            }
            // [`any`] removes these.
            Node::True => debug_assert!(false, "a clause that is true"),
        }
    }

    fn charge(&mut self) -> Result<(), Exhausted> {
        self.tried += 1;
        if self.tried < CHARGE {
            return Ok(());
        }
        self.budget.spend(std::mem::take(&mut self.tried))
    }
}
