//! From the real-time orders of an execution to histories that the checkers read.
//!
//! The sets of operations before an operation, in an interval order, are nested. So events come out in rounds: all that the
//! next larger set adds returns, then all operations with that set before them are called.

use trueline::History;
use trueline::Value;
use trueline::history::{Args, Builder, Call, Part, Position};

use super::scenario::Scenario;
use crate::engine::Step;

/// An operation of an execution: which call of the scenario, and the number of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    pub(crate) call: usize,
    pub(crate) result: Option<u64>,
}

/// The history of these operations, of which `before(i)` precede the `i`th, as bits. Each call has the place of the operation among
/// them as its argument. Processes are numbered as threads are.
pub(crate) fn of_order(
    scenario: &Scenario,
    made: &[Made],
    before: impl Fn(usize) -> u128,
) -> History {
    let threads: Vec<usize> = scenario.calls().iter().map(|&(thread, _)| thread).collect();
    let mut calls: Vec<usize> = (0..made.len()).collect();
    calls.sort_by_key(|&i| before(i).count_ones());
    let mut builder = Builder::new();
    let part = builder.part(Part::default());
    let method = builder.method("operation");
    let nowhere = Position::default();
    let mut returned = 0u128;
    let mut returns = |builder: &mut Builder, set: u128| {
        for (i, operation) in made.iter().enumerate() {
            if set >> i & 1 == 1 && returned >> i & 1 == 0 && operation.result.is_some() {
                returned |= 1 << i;
                let process = builder.process(&Value::Int(threads[operation.call] as i64));
                builder.returns(process, Value::Nil, nowhere).expect("a call before its return");
            }
        }
    };
    for i in calls {
        returns(&mut builder, before(i));
        let process = builder.process(&Value::Int(threads[made[i].call] as i64));
        let call = Call { method, args: Args::One(Value::Int(i as i64)) };
        builder.call(process, part, call, nowhere).expect("one operation of a thread at a time");
    }
    let all = if made.is_empty() { 0 } else { u128::MAX >> (128 - made.len()) };
    returns(&mut builder, all);
    builder.finish()
}

/// Which of the operations of [`of_order`] this call is.
pub(crate) fn place(call: &Call) -> usize {
    match call.args.as_slice() {
        [Value::Int(place)] => *place as usize,
        _ => unreachable!("calls of these histories have one argument"),
    }
}

/// The operations that were over before each began, as it ran: those that returned with their last step before its first. An operation
/// without a step is taken to be over at once, after what came before it in its thread.
pub(crate) fn before_in_steps(made: &[Made], steps: &[Step]) -> Vec<u128> {
    let place = |operation: &Made| {
        let inside = |step: &&Step| step.operation == Some(operation.call as u64);
        let first = steps.iter().position(|step| inside(&step));
        Some((first?, steps.iter().rposition(|step| inside(&step))?))
    };
    let places: Vec<Option<(usize, usize)>> = made.iter().map(place).collect();
    let mut before: Vec<u128> = Vec::new();
    for (i, here) in places.iter().enumerate() {
        let over = |j: &usize| match (here, places[*j]) {
            (Some((first, _)), Some((_, last))) => made[*j].result.is_some() && last < *first,
            _ => false,
        };
        before.push((0..made.len()).filter(over).fold(0, |set, j| set | 1 << j));
        debug_assert!(before[i] >> i & 1 == 0);
    }
    before
}
