//! Converts the real-time orders of an execution to histories for the checkers.
//!
//! In an interval order, the sets of operations before an operation are nested. So events are
//! generated in rounds: the operations that the next larger set adds return, then all operations
//! with that set before them are called.

use trueline::History;
use trueline::Value;
use trueline::history::{Args, Builder, Call, Callers, Part, Position};

use super::scenario::Scenario;
use crate::engine::Step;

/// An operation of an execution: the call of the scenario, and the number of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Performed {
    pub(crate) call: usize,
    pub(crate) result: Option<u64>,
}

/// The history of these operations, of which `before(i)` precede the `i`th, as bits. The argument
/// of each call is the operation's index among them. Processes have the numbers of the threads.
pub(crate) fn of_order(
    scenario: &Scenario,
    performed: &[Performed],
    before: impl Fn(usize) -> u128,
) -> History {
    let threads: Vec<usize> = scenario.calls().iter().map(|&(thread, _)| thread).collect();
    let mut calls: Vec<usize> = (0..performed.len()).collect();
    calls.sort_by_key(|&i| before(i).count_ones());
    let mut builder = Builder::new();
    builder.set_callers(Callers::Threads);
    let part = builder.part(Part::default());
    let method = builder.method("operation");
    let nowhere = Position::default();
    let mut returned = 0u128;
    let mut returns = |builder: &mut Builder, set: u128| {
        for (i, operation) in performed.iter().enumerate() {
            if set >> i & 1 == 1 && returned >> i & 1 == 0 && operation.result.is_some() {
                returned |= 1 << i;
                let process = builder.process(&Value::Int(threads[operation.call] as i64));
                builder.returns(process, Value::Nil, nowhere).expect("a call before its return");
            }
        }
    };
    for i in calls {
        returns(&mut builder, before(i));
        let process = builder.process(&Value::Int(threads[performed[i].call] as i64));
        let call = Call { method, args: Args::One(Value::Int(i as i64)) };
        builder.call(process, part, call, nowhere).expect("one operation of a thread at a time");
    }
    let all = if performed.is_empty() { 0 } else { u128::MAX >> (128 - performed.len()) };
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

/// The operations that had ended before each began, in the order of this run: those whose last step
/// came before its first. Operations of a thread are in the order of their calls. An operation
/// without steps is taken to happen right after the previous operation of its thread.
pub(crate) fn before_in_steps(
    scenario: &Scenario,
    performed: &[Performed],
    steps: &[Step],
) -> Vec<u128> {
    let threads = scenario.calls();
    let thread = |operation: &Performed| threads[operation.call].0;
    // Between two steps there is room for all operations without steps.
    let room = performed.len() + 1;
    let mut spans: Vec<(usize, usize)> = Vec::with_capacity(performed.len());
    for (i, operation) in performed.iter().enumerate() {
        let inside = |step: &Step| !step.plain && step.operation == Some(operation.call as u64);
        let first = steps.iter().position(inside);
        let last = steps.iter().rposition(inside);
        let previous = (0..i).rev().find(|&j| thread(&performed[j]) == thread(operation));
        spans.push(match (first, last) {
            (Some(first), Some(last)) => ((first + 1) * room, (last + 1) * room),
            _ => {
                let after = previous.map_or(0, |j| spans[j].1) + 1;
                (after, after)
            }
        });
    }
    let over = |i: usize, j: &usize| performed[*j].result.is_some() && spans[*j].1 < spans[i].0;
    let before = |i| (0..performed.len()).filter(|j| over(i, j)).fold(0, |set, j| set | 1 << j);
    (0..performed.len()).map(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::interface::{Kind, ThreadId};

    fn show(history: &History) -> String {
        let event = |o: &trueline::history::Operation<Call, Value>| {
            let process = &history.processes()[o.process as usize];
            let end = if o.is_pending() { String::from("-") } else { o.returned.to_string() };
            format!("{process}:{}@{}..{end}", place(&o.op), o.call)
        };
        history.operations().iter().map(event).collect::<Vec<_>>().join(" ")
    }

    fn performed(results: &[Option<u64>]) -> Vec<Performed> {
        results.iter().enumerate().map(|(call, &result)| Performed { call, result }).collect()
    }

    #[test]
    fn an_interval_order_becomes_calls_and_returns() {
        let scenario: Scenario = "/0.0,0/".parse().unwrap();
        let performed = performed(&[Some(0), Some(0), Some(0)]);
        // The first precedes both others, which overlap.
        let history = of_order(&scenario, &performed, |i| [0, 0b001, 0b001][i]);
        assert_eq!(show(&history), "1:0@0..1 1:1@2..4 2:2@3..5");
        let waiting = [Performed { call: 0, result: None }, Performed { call: 2, result: Some(0) }];
        assert_eq!(show(&of_order(&scenario, &waiting, |_| 0)), "1:0@0..- 2:1@1..2");
        assert_eq!(show(&of_order(&scenario, &[], |_| 0)), "");
    }

    #[test]
    fn operations_of_a_thread_that_make_no_steps_do_not_overlap() {
        let scenario: Scenario = "/0.0.0,0/".parse().unwrap();
        let step = |operation| Step {
            thread: ThreadId(1),
            name: "",
            kind: Kind::Read,
            location: 1,
            before: 0,
            after: 0,
            wrote: false,
            caller: std::panic::Location::caller(),
            operation: Some(operation),
            plain: false,
        };
        let performed = performed(&[Some(0), Some(0), Some(0), None]);
        let before = before_in_steps(&scenario, &performed, &[step(3), step(2), step(3)]);
        assert_eq!(before, [0, 0b001, 0b011, 0b011]);
        let history = of_order(&scenario, &performed, |i| before[i]);
        assert_eq!(show(&history), "1:0@0..1 1:1@2..3 1:2@4..6 2:3@5..-");
    }
}
