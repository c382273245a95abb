//! Random programs on a correct queue, one step at a time: calls, effects and returns of several
//! processes; calls that are cancelled before or after their effect, or whose effect comes later;
//! processes that come and go; rounds of the monitor at random times. No such run is a violation,
//! and a fault at its end is found or reported as not checked.

use std::collections::VecDeque;

use super::super::{Full, Live, Open, Process, Token};
use super::{Manual, manual_of};
use crate::rng::{Rng, seeds};
use crate::spec::{self, Queue, QueueOp};
use crate::value::Value;

/// A queue and its users.
struct Program {
    rng: Rng,
    live: Manual,
    values: VecDeque<i64>,
    next: i64,
    users: Vec<(Process<Queue>, State)>,
    /// Cancelled calls that may still take effect.
    late: Vec<QueueOp>,
}

enum State {
    Idle,
    Called(QueueOp),
    Done(Value),
}

impl Program {
    fn new(seed: u64) -> Program {
        let mut rng = Rng::new(seed);
        let when_full = *rng.choose(&[Full::Block, Full::Drop, Full::Drop]);
        let capacity = 2 + rng.index(20);
        let live = manual_of(Live::new(spec::queue()).capacity(capacity).when_full(when_full));
        let users = (0..1 + rng.index(3)).map(|_| (live.running.process(), State::Idle)).collect();
        Program { rng, live, values: VecDeque::new(), next: 1, users, late: Vec::new() }
    }

    fn apply(&mut self, op: &QueueOp) -> Value {
        match op {
            QueueOp::Enq(Value::Int(value)) => {
                self.values.push_back(*value);
                Value::Nil
            }
            _ => self.values.pop_front().map_or(Value::Nil, Value::Int),
        }
    }

    fn step(&mut self, may_cancel: bool) {
        // No other thread makes room.
        if self.rng.percent(12) || self.live.running.shared.when_full == Full::Block {
            self.live.checker.round();
        }
        if !self.late.is_empty() && self.rng.percent(5) {
            let at = self.rng.index(self.late.len());
            let op = self.late.swap_remove(at);
            self.apply(&op);
        }
        let user = self.rng.index(self.users.len());
        if may_cancel && self.rng.percent(2) {
            // Whether it has taken effect or not, or will.
            if let State::Called(op) = std::mem::replace(&mut self.users[user].1, State::Idle)
                && self.rng.percent(60)
            {
                self.late.push(op);
            }
            if self.rng.percent(50) {
                self.users[user].0 = self.live.running.process();
            } else {
                drop(Token { process: &mut self.users[user].0 });
            }
            return;
        }
        match std::mem::replace(&mut self.users[user].1, State::Idle) {
            State::Idle => {
                let op = if self.rng.percent(50) {
                    self.next += 1;
                    QueueOp::Enq(Value::Int(self.next))
                } else {
                    QueueOp::Deq
                };
                let (process, state) = &mut self.users[user];
                std::mem::forget(process.call(op.clone()));
                *state = State::Called(op);
            }
            State::Called(op) => self.users[user].1 = State::Done(self.apply(&op)),
            State::Done(result) => Token { process: &mut self.users[user].0 }.returns(result),
        }
    }

    /// Lets all that runs return.
    fn come_to_rest(&mut self) {
        while self.users.iter().any(|user| !matches!(user.1, State::Idle)) {
            for user in 0..self.users.len() {
                match std::mem::replace(&mut self.users[user].1, State::Idle) {
                    State::Idle => {}
                    State::Called(op) => self.users[user].1 = State::Done(self.apply(&op)),
                    State::Done(result) => {
                        Token { process: &mut self.users[user].0 }.returns(result);
                    }
                }
            }
            self.live.checker.round();
        }
    }
}

#[test]
fn random_runs_of_a_correct_queue_are_no_violation() {
    let mut gaps = 0;
    for seed in seeds(400) {
        let mut program = Program::new(seed);
        let steps = 20 + program.rng.below(300);
        (0..steps).for_each(|_| program.step(true));
        let report = program.live.report();
        assert!(!report.is_violation(), "seed {seed}: {report}");
        gaps += report.gaps.iter().filter(|gap| gap.until.is_some()).count();
        assert!(report.is_fine() || !report.gaps.is_empty(), "seed {seed}: {report}");
    }
    assert!(gaps > 100, "{gaps}");
}

#[test]
fn a_fault_behind_a_random_run_is_found_or_said_not_to_be_checked() {
    let (mut found, mut behind_gaps) = (0, 0);
    for seed in seeds(400) {
        let mut program = Program::new(seed);
        let may_cancel = program.rng.percent(30);
        let steps = 20 + program.rng.below(200);
        (0..steps).for_each(|_| program.step(may_cancel));
        program.come_to_rest();
        program.live.checker.round();
        // It empties the queue, and then the queue makes something up.
        let mut all: Vec<(QueueOp, Value)> =
            program.values.drain(..).map(|value| (QueueOp::Deq, Value::Int(value))).collect();
        all.push((QueueOp::Deq, Value::Nil));
        all.push((QueueOp::Deq, Value::Int(1_000_000)));
        program.live.operations(&all);
        let report = program.live.report();
        assert!(report.is_violation() || !report.is_fine(), "seed {seed}: {report}");
        if !may_cancel {
            assert!(report.is_violation(), "seed {seed}: {report}");
        }
        found += usize::from(report.is_violation());
        behind_gaps += usize::from(report.is_violation() && !report.gaps.is_empty());
    }
    assert!(found > 250 && behind_gaps > 50, "{found} {behind_gaps}");
}

/// The open operation of a process is the one in its state.
#[test]
fn a_process_knows_what_is_open() {
    let mut program = Program::new(1);
    for _ in 0..200 {
        program.step(true);
        for (process, state) in &program.users {
            let is_open = matches!(process.open, Some(Open::Recorded | Open::Lost(_)));
            assert_eq!(is_open, !matches!(state, State::Idle));
        }
    }
}
