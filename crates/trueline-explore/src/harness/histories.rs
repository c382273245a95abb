//! From the real-time orders of an execution to histories that the checkers read.
//!
//! The sets of operations before an operation, in an interval order, are nested. So events come out in rounds: all that the
//! next larger set adds returns, then all operations with that set before them are called.

use trueline::History;
use trueline::Value;
use trueline::history::{Args, Builder, Call, Part, Position};

use super::scenario::Scenario;

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
