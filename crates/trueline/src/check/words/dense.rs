//! A table of numbers for whole numbers that lie close together.

use std::ops::RangeInclusive;

/// The numbers of whole numbers that are close together: a table without hashing. In order of time
/// it is accessed almost sequentially, because values that are used at about the same time tend to
/// be neighbours.
#[derive(Default)]
pub(super) struct Dense {
    first: i64,
    /// `u32::MAX` if there is no number yet.
    numbers: Vec<u32>,
}

impl Dense {
    /// A table for these, unless it were much larger than the number of operations.
    pub(super) fn new(range: RangeInclusive<i64>, operations: usize) -> Option<Dense> {
        let size = usize::try_from(range.end().abs_diff(*range.start())).ok()?.checked_add(1)?;
        let fits = size <= operations.saturating_mul(2);
        fits.then(|| Dense { first: *range.start(), numbers: vec![u32::MAX; size] })
    }

    #[inline]
    pub(super) fn place(&mut self, n: i64) -> Option<&mut u32> {
        // A number below the first wraps around to a place beyond the end.
        let place = usize::try_from(n.wrapping_sub(self.first) as u64).ok()?;
        self.numbers.get_mut(place)
    }

    /// The values that have a number, ascending.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (i64, u32)> {
        let all = self.numbers.iter().enumerate().filter(|&(_, &number)| number != u32::MAX);
        all.map(|(place, &number)| (self.first + place as i64, number))
    }
}
