//! A total outside of what must and may have been added by then.
//!
//! Amounts whose addition returned before the total's call are included. Amounts whose addition was
//! called before the total's return may be included. So the total lies between the sum of the
//! former plus the negative ones of the latter, and the sum of the former plus the positive ones of
//! the latter. It also differs from the initial number by a multiple of the greatest common divisor
//! of all amounts. Not used if a sum might overflow. Cost: O(n log n).

use super::Violation;
use crate::monitor::{Blame, Span};
use crate::spec::Total;
use crate::spec::subject::Summed;

/// Amounts by rank, with their sums up to each.
struct Ranked {
    ranks: Vec<u32>,
    sums: Vec<i128>,
}

impl Ranked {
    fn new(mut amounts: Vec<(u32, i128)>) -> Ranked {
        amounts.sort_unstable();
        let mut sum = 0;
        let sums = amounts.iter().map(|&(_, amount)| {
            sum += amount;
            sum
        });
        Ranked { sums: sums.collect(), ranks: amounts.iter().map(|&(rank, _)| rank).collect() }
    }

    /// The sum over smaller ranks.
    fn before(&self, rank: u32) -> i128 {
        let count = self.ranks.partition_point(|&r| r < rank);
        if count == 0 { 0 } else { self.sums[count - 1] }
    }
}

pub(super) fn refute(sum: &Summed, spans: &[Span]) -> Option<Violation> {
    let amounts: Vec<i128> = sum.amounts.iter().map(|&amount| i128::from(amount)).collect();
    let up: i128 = amounts.iter().filter(|&&a| a > 0).sum();
    let down: i128 = amounts.iter().filter(|&&a| a < 0).sum();
    let initial = i128::from(sum.initial);
    if initial + up > i128::from(i64::MAX) || initial + down < i128::from(i64::MIN) {
        return None;
    }
    let divisor = amounts.iter().fold(0, |divisor, &amount| gcd(divisor, amount.abs()));
    let of_sign = |sign: i128, rank: fn(&Span) -> u32| {
        let own = spans.iter().zip(&amounts).filter(|(_, a)| a.signum() == sign);
        Ranked::new(own.map(|(o, &a)| (rank(o), a)).collect())
    };
    let (up_called, up_returned) = (of_sign(1, |o| o.call), of_sign(1, |o| o.returned));
    let (down_called, down_returned) = (of_sign(-1, |o| o.call), of_sign(-1, |o| o.returned));
    for (n, (o, &own)) in spans.iter().zip(&amounts).enumerate() {
        let told = match sum.totals[n] {
            None => continue,
            Some(Total::Before(total)) => i128::from(total),
            Some(Total::After(total)) => i128::from(total) - own,
        };
        // It was called before it returned, but it does not count itself.
        let most =
            initial + up_called.before(o.returned) - own.max(0) + down_returned.before(o.call);
        let least =
            initial + down_called.before(o.returned) - own.min(0) + up_returned.before(o.call);
        let (sign, text) = if told > most {
            (1, "tells more than the additions that were called before it returned make")
        } else if told < least {
            (-1, "tells less than the additions that returned before it was called make")
        } else if divisor > 1 && (told - initial) % divisor != 0 {
            (0, "tells a total that no additions make")
        } else {
            continue;
        };
        // Amounts that move the total in that direction if they may be included, and in the other
        // direction if they must be.
        let counts = |m: usize| {
            let (other, amount) = (&spans[m], amounts[m]);
            let may = other.call < o.returned;
            let must = other.returned < o.call;
            m != n && amount != 0 && if amount.signum() == sign || sign == 0 { may } else { must }
        };
        let mut clash: Vec<u32> =
            (0..spans.len()).filter(|&m| counts(m)).map(|m| m as u32).collect();
        clash.push(n as u32);
        return Some(Violation::new(&clash, Some(Blame::naming(&[n as u32], text))));
    }
    None
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
