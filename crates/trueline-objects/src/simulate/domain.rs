//! The arguments that an object accepts. Some objects reserve numbers to mark a cell as free or
//! taken, and some have only a few bits. Their behaviour with other values would say nothing about
//! them, so programs are checked against these ranges before they run.

use std::ops::RangeInclusive;

use super::program::{Argument, Call};

/// The accepted whole numbers at each argument position, whatever the method. Positions that are
/// not listed accept all.
pub(crate) type Domain = &'static [RangeInclusive<i64>];

/// All numbers, everywhere.
pub(crate) const ANY_NUMBERS: Domain = &[];

const ANY: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// Whether the numbers of a call are among those that are taken.
pub(crate) fn has(domain: Domain, call: &Call) -> bool {
    call.args.iter().enumerate().all(|(place, arg)| match arg {
        Argument::Number(number) => range(domain, place).contains(number),
        Argument::Fresh => true,
    })
}

/// The call with ranges in place of its arguments: `enq(1 or more)`.
pub(crate) fn pattern(domain: Domain, call: &Call) -> String {
    let ranges: Vec<String> = (0..call.args.len()).map(|i| describe(range(domain, i))).collect();
    format!("{}({})", call.method, ranges.join(", "))
}

fn range(domain: Domain, place: usize) -> &'static RangeInclusive<i64> {
    domain.get(place).unwrap_or(&ANY)
}

fn describe(range: &RangeInclusive<i64>) -> String {
    match (*range.start(), *range.end()) {
        (i64::MIN, i64::MAX) => "any number".to_string(),
        (least, i64::MAX) => format!("{least} or more"),
        (least, greatest) => format!("{least} to {greatest}"),
    }
}
