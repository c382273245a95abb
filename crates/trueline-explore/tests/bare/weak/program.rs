//! Litmus programs as text, and what they ask the explorer for.
//!
//! ```text
//! x.rlx = e               store                    orders: na rlx acq rel acqrel sc
//! r = x.acq               load
//! r = x.add.rlx(e)        fetch_add; also swap, and cas.success.failure(expected, new)
//! fence.sc    r = e    if e { .. } else { .. }    assume e
//! ```
//!
//! Threads are separated by `||`, statements by `;`. Locations are 0 at first, registers belong to
//! one thread.

use std::collections::BTreeMap;

use trueline_explore::weak::{Condition, Order, Program, Request, Update};

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Number(i64),
    Register(String),
    Not(Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Swap,
    CompareExchange,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Store(char, Order, Expression),
    Load(String, char, Order),
    Rmw(String, char, Operation, Order, Order, Vec<Expression>),
    Fence(Order),
    Set(String, Expression),
    Assume(Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
}

pub(super) type Registers = BTreeMap<String, i64>;

/// Locations are single letters; their numbers are those of the letters.
#[derive(Clone, Debug)]
pub(super) struct Litmus {
    pub(super) threads: Vec<Vec<Statement>>,
    /// An assumption right behind its load or read-modify-write is part of that, which then waits.
    pub(super) awaits: bool,
}

impl Litmus {
    pub(super) fn new(text: &str) -> Litmus {
        let threads = text.split("||").map(|thread| Parser::new(thread).block()).collect();
        Litmus { threads, awaits: true }
    }

    /// All orderings, changed by a function that is told how many came before.
    pub(super) fn with_orders(
        &self,
        mut change: impl FnMut(usize, OrderOf, Order) -> Order,
    ) -> Litmus {
        let mut count = 0;
        let mut changed = self.clone();
        for thread in &mut changed.threads {
            map_orders(thread, &mut |what, order| {
                count += 1;
                *order = change(count - 1, what, *order);
            });
        }
        changed
    }

    /// What is the same in all executions and what a reader of the table is told: the registers,
    /// with the number of the thread where a name is used twice, and the last values of what is
    /// written more than once.
    pub(super) fn outcome(&self, registers: &[Registers], last: impl Fn(char) -> i64) -> String {
        let all: Vec<&String> = registers.iter().flat_map(Registers::keys).collect();
        let mut shown = BTreeMap::new();
        for (thread, own) in registers.iter().enumerate() {
            for (name, value) in own {
                let once = all.iter().filter(|&&other| other == name).count() == 1;
                let key = if once { name.clone() } else { format!("{thread}:{name}") };
                shown.insert(key, *value);
            }
        }
        let mut parts: Vec<String> = shown.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mut written = BTreeMap::new();
        self.threads.iter().for_each(|thread| count_writes(thread, &mut written));
        for (location, _) in written.into_iter().filter(|&(_, count)| count > 1) {
            parts.push(format!("[{location}]={}", last(location)));
        }
        parts.join(" ")
    }

    /// Runs a thread on answers: what it asks for next, and its registers.
    pub(super) fn run(&self, thread: usize, answers: &[u64]) -> (Request, Registers) {
        let mut registers = Registers::new();
        let mut answers = answers.iter().map(|&answer| answer as i64);
        let mut rest: Vec<&Statement> = self.threads[thread].iter().rev().collect();
        while let Some(statement) = rest.pop() {
            let number = |e: &Expression| e.value(&registers) as u64;
            let (request, register) = match statement {
                Statement::Store(location, order, value) => {
                    let (location, value) = (*location as usize, number(value));
                    (Request::Write { location, order: *order, value }, None)
                }
                Statement::Load(register, location, order) => {
                    let until = rest.last().and_then(|next| self.awaited(register, next));
                    let location = *location as usize;
                    (Request::Read { location, order: *order, until }, Some(register))
                }
                Statement::Rmw(register, location, operation, success, failure, arguments) => {
                    let update = match operation {
                        Operation::Add => Update::add(number(&arguments[0])),
                        Operation::Swap => Update::swap(number(&arguments[0])),
                        Operation::CompareExchange => {
                            Update::compare_exchange(number(&arguments[0]), number(&arguments[1]))
                        }
                    };
                    let (success, failure) = (*success, *failure);
                    let location = *location as usize;
                    let until = rest.last().and_then(|next| self.awaited(register, next));
                    let request = Request::Update { location, update, success, failure, until };
                    (request, Some(register))
                }
                Statement::Fence(order) => (Request::Fence(*order), None),
                Statement::Set(register, value) => {
                    let value = value.value(&registers);
                    registers.insert(register.clone(), value);
                    continue;
                }
                Statement::Assume(condition) if condition.value(&registers) == 0 => {
                    return (Request::Stuck, registers);
                }
                Statement::Assume(_) => continue,
                Statement::If(condition, then, otherwise) => {
                    let taken = if condition.value(&registers) != 0 { then } else { otherwise };
                    rest.extend(taken.iter().rev());
                    continue;
                }
            };
            let Some(answer) = answers.next() else { return (request, registers) };
            if let Some(register) = register {
                registers.insert(register.clone(), answer);
            }
        }
        (Request::End, registers)
    }

    /// The condition that a statement behind an access puts on its value, where it is a simple one.
    fn awaited(&self, register: &str, next: &Statement) -> Option<Condition> {
        let Statement::Assume(Expression::Binary(operator, left, right)) = next else {
            return None;
        };
        match (&**left, &**right) {
            (Expression::Register(name), Expression::Number(number))
                if self.awaits && name == register =>
            {
                match *operator {
                    "==" => Some(Condition::equals(*number as u64)),
                    "!=" => Some(Condition::differs(*number as u64)),
                    "<" => Some(Condition::new(*number as u64, |value, number| value < number)),
                    ">" => Some(Condition::new(*number as u64, |value, number| value > number)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl Program for Litmus {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn next(&self, thread: usize, answers: &[u64]) -> Request {
        self.run(thread, answers).0
    }
}

/// What an ordering belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderOf {
    Store,
    Load,
    Success,
    Failure,
    Fence,
}

fn map_orders(statements: &mut [Statement], change: &mut dyn FnMut(OrderOf, &mut Order)) {
    for statement in statements {
        match statement {
            Statement::Store(_, order, _) => change(OrderOf::Store, order),
            Statement::Load(_, _, order) => change(OrderOf::Load, order),
            Statement::Rmw(_, _, operation, success, failure, _) => {
                change(OrderOf::Success, success);
                if *operation == Operation::CompareExchange {
                    change(OrderOf::Failure, failure);
                }
            }
            Statement::Fence(order) => change(OrderOf::Fence, order),
            Statement::Set(..) | Statement::Assume(_) => (),
            Statement::If(_, then, otherwise) => {
                map_orders(then, change);
                map_orders(otherwise, change);
            }
        }
    }
}

fn count_writes(statements: &[Statement], counts: &mut BTreeMap<char, usize>) {
    for statement in statements {
        match statement {
            Statement::Store(location, ..) | Statement::Rmw(_, location, ..) => {
                *counts.entry(*location).or_default() += 1;
            }
            Statement::If(_, then, otherwise) => {
                count_writes(then, counts);
                count_writes(otherwise, counts);
            }
            _ => (),
        }
    }
}

impl Expression {
    pub(super) fn value(&self, registers: &Registers) -> i64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Register(name) => registers[name],
            Expression::Not(inner) => i64::from(inner.value(registers) == 0),
            Expression::Binary(operator, left, right) => {
                let (a, b) = (left.value(registers), right.value(registers));
                match *operator {
                    "or" => i64::from(a != 0 || b != 0),
                    "&&" => i64::from(a != 0 && b != 0),
                    "==" => i64::from(a == b),
                    "!=" => i64::from(a != b),
                    "<" => i64::from(a < b),
                    ">" => i64::from(a > b),
                    "<=" => i64::from(a <= b),
                    ">=" => i64::from(a >= b),
                    "+" => a + b,
                    "-" => a - b,
                    _ => a * b,
                }
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

const LEVELS: [&[&str]; 5] =
    [&["or"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*"]];

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parser<'a> {
        Parser { rest: text.trim_start() }
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.strip_prefix(token);
        if let Some(rest) = found {
            self.rest = rest.trim_start();
        }
        found.is_some()
    }

    #[track_caller]
    fn take(&mut self, token: &str) {
        assert!(self.eat(token), "expected {token} before {:?}", self.rest);
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        assert!(!word.is_empty(), "expected a word before {rest:?}");
        self.rest = rest.trim_start();
        word
    }

    fn order(&mut self) -> Order {
        self.take(".");
        let word = self.word();
        order_of(word).unwrap_or_else(|| panic!("not an order: {word}"))
    }

    fn block(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with('}') {
            if !self.eat(";") {
                statements.push(self.statement());
            }
        }
        statements
    }

    fn braced(&mut self) -> Vec<Statement> {
        self.take("{");
        let block = self.block();
        self.take("}");
        block
    }

    fn statement(&mut self) -> Statement {
        let name = self.word();
        match name {
            "fence" => return Statement::Fence(self.order()),
            "assume" => return Statement::Assume(self.expression(0)),
            "if" => {
                let condition = self.expression(0);
                let then = self.braced();
                let otherwise = if self.eat("else") { self.braced() } else { Vec::new() };
                return Statement::If(condition, then, otherwise);
            }
            _ => (),
        }
        if self.rest.starts_with('.') {
            let order = self.order();
            self.take("=");
            return Statement::Store(letter(name), order, self.expression(0));
        }
        self.take("=");
        let register = name.to_string();
        let ahead = self.rest;
        if ahead.starts_with(|c: char| c.is_alphabetic()) {
            let location = self.word();
            if self.rest.starts_with('.') {
                return self.access(register, letter(location));
            }
            self.rest = ahead;
        }
        Statement::Set(register, self.expression(0))
    }

    fn access(&mut self, register: String, location: char) -> Statement {
        self.take(".");
        let kind = self.word();
        let operation = match kind {
            "add" => Operation::Add,
            "swap" => Operation::Swap,
            "cas" => Operation::CompareExchange,
            _ => return Statement::Load(register, location, order_of(kind).expect("an order")),
        };
        let success = self.order();
        let weaker = match success {
            Order::AcqRel => Order::Acquire,
            Order::Release => Order::Relaxed,
            other => other,
        };
        let failure = if self.rest.starts_with('.') { self.order() } else { weaker };
        self.take("(");
        let mut arguments = vec![self.expression(0)];
        while self.eat(",") {
            arguments.push(self.expression(0));
        }
        self.take(")");
        Statement::Rmw(register, location, operation, success, failure, arguments)
    }

    fn expression(&mut self, level: usize) -> Expression {
        let Some(operators) = LEVELS.get(level) else { return self.atom() };
        let mut left = self.expression(level + 1);
        while let Some(operator) = operators.iter().find(|operator| self.eat(operator)) {
            let right = self.expression(level + 1);
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        left
    }

    fn atom(&mut self) -> Expression {
        if self.eat("(") {
            let inner = self.expression(0);
            self.take(")");
            return inner;
        }
        if self.eat("!") {
            return Expression::Not(Box::new(self.atom()));
        }
        let word = self.word();
        match word.parse() {
            Ok(number) => Expression::Number(number),
            Err(_) => Expression::Register(word.to_string()),
        }
    }
}

fn order_of(word: &str) -> Option<Order> {
    Some(match word {
        "na" => Order::NotAtomic,
        "rlx" => Order::Relaxed,
        "acq" => Order::Acquire,
        "rel" => Order::Release,
        "acqrel" => Order::AcqRel,
        "sc" => Order::SeqCst,
        _ => return None,
    })
}

fn letter(name: &str) -> char {
    let mut letters = name.chars();
    let first = letters.next().expect("a name");
    assert!(letters.next().is_none(), "a location is one letter: {name}");
    first
}
