//! Exchangers are not sequential, so they have an oracle of their own: try all pairings.

use trueline::papers::{Options, Symbolic};
use trueline::saturate::{Online, Saturate, Stop};
use trueline::theory::{Method, Object};
use trueline::{Budget, Value};

use super::seeds;
use trueline::rng::Rng;

/// One operation: offer, result (0 is nil), call and return; no return where it is pending.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    offer: i64,
    got: i64,
    call: u64,
    returned: Option<u64>,
}

/// True where all operations that got something can be paired: they overlap, and each got the
/// other's offer.
fn can_pair(operations: &[Exchange], until: u64) -> bool {
    let known = |o: &Exchange| o.returned.is_some_and(|returned| returned <= until);
    let needs = |o: &&Exchange| known(o) && o.got != 0;
    let left: Vec<Exchange> = operations.iter().copied().filter(|o| o.call <= until).collect();
    let Some(one) = left.iter().position(|o| needs(&o)) else { return true };
    (0..left.len()).filter(|&two| two != one).any(|two| {
        let (x, y) = (left[one], left[two]);
        let overlap =
            x.call < y.returned.unwrap_or(u64::MAX) && y.call < x.returned.unwrap_or(u64::MAX);
        let swapped = x.got == y.offer && (!known(&y) || y.got == x.offer);
        let rest = (0..left.len()).filter(|&i| i != one && i != two).map(|i| left[i]);
        overlap && swapped && can_pair(&rest.collect::<Vec<_>>(), until)
    })
}

fn some_history(random: &mut Rng) -> Vec<Exchange> {
    let n = 2 + random.below(4);
    let mut order: Vec<u64> = Vec::new();
    for i in 0..n {
        // The call and the return of an operation, in random places.
        for _ in 0..2 {
            order.insert(random.below(order.len() as u64 + 1) as usize, i);
        }
    }
    let mut operations: Vec<Exchange> = (0..n)
        .map(|i| {
            let mut places = (1..).zip(&order).filter(|(_, o)| **o == i).map(|(place, _)| place);
            let (call, returned) = (places.next().unwrap(), places.next());
            Exchange { offer: i as i64 + 1, got: 0, call, returned }
        })
        .collect();
    for i in 0..n as usize {
        let j = random.below(n) as usize;
        // Pairs that may be right, and some that are not.
        if i < j && random.below(3) > 0 {
            operations[i].got = operations[j].offer;
            operations[j].got = operations[i].offer;
        }
        if random.below(12) == 0 {
            operations[i].got = 1 + random.below(n) as i64;
        }
        if random.below(8) == 0 {
            operations[i].returned = None;
        }
    }
    operations
}

fn seen_at(monitor: &mut dyn Online, operations: &[Exchange]) -> Option<u64> {
    let value = |v: i64| if v == 0 { Value::Nil } else { Value::Int(v) };
    let last = 2 * operations.len() as u64;
    for time in 1..=last {
        for (number, o) in (0..).zip(operations) {
            let told = if o.call == time {
                monitor.call(number, Method::Exchange, &value(o.offer))
            } else if o.returned == Some(time) {
                monitor.returned(number, &value(o.got))
            } else {
                continue;
            };
            match told {
                Ok(()) => {}
                Err(Stop::Violation(_)) => return Some(time),
                Err(stop) => panic!("{stop}"),
            }
        }
    }
    None
}

#[test]
fn exchangers_are_decided_as_by_trying_all_pairings() {
    let budget = Budget::unlimited();
    let (mut good, mut bad) = (0, 0);
    for seed in seeds() {
        let mut random = Rng::new(seed);
        let operations = some_history(&mut random);
        let last = 2 * operations.len() as u64;
        let expected = (1..=last).find(|&until| !can_pair(&operations, until));
        let found = seen_at(&mut Saturate::new(Object::Exchanger), &operations);
        assert_eq!(found, expected, "seed {seed}: {operations:?}");
        for letters in ["", "i", "c"] {
            let options: Options = letters.parse().unwrap();
            let mut checker = Symbolic::new(Object::Exchanger, options, &budget);
            let found = seen_at(&mut checker, &operations);
            assert_eq!(found, expected, "seed {seed}, options {letters}: {operations:?}");
        }
        if expected.is_some() { bad += 1 } else { good += 1 }
    }
    assert!(good > seeds().cases() / 10 && bad > seeds().cases() / 10, "{good} good, {bad} bad");
}
