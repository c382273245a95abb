//! Labels: what a step makes visible to the specification.

use crate::program::Type;

/// The kind of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LabelKind {
    /// The call with this number.
    Call(u16),
    /// A marked linearization point; with the number of the result if the mark gives it.
    Lin(Option<u32>),
    /// A labelled linearization point: the call and the result's number.
    Point(u16, u32),
    /// A return: the operation and the result's number.
    Return(u16, u32),
}

/// A visible event and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Label {
    pub(crate) process: u8,
    pub(crate) what: LabelKind,
}

/// Results as numbers: a tuple is a number in the mixed radix of its types.
pub(crate) fn result_number(types: &[Type], results: &[i32]) -> Option<u32> {
    let mut number = 0u64;
    for (ty, &result) in types.iter().zip(results) {
        if !ty.contains(result) {
            return None;
        }
        number = number * size(ty) + (i64::from(result) - i64::from(ty.lo)) as u64;
    }
    u32::try_from(number).ok()
}

/// The inverse of [`result_number`].
pub(crate) fn results_of(types: &[Type], number: u32) -> Vec<i32> {
    let mut number = u64::from(number);
    let mut results = vec![0; types.len()];
    for (result, ty) in results.iter_mut().zip(types).rev() {
        *result = (i64::from(ty.lo) + (number % size(ty)) as i64) as i32;
        number /= size(ty);
    }
    results
}

/// How many different results an operation has.
pub(crate) fn result_count(types: &[Type]) -> u64 {
    types.iter().map(size).fold(1, u64::saturating_mul)
}

fn size(ty: &Type) -> u64 {
    (i64::from(ty.hi) - i64::from(ty.lo) + 1) as u64
}

impl Label {
    /// The label in 32 bits, if it fits.
    pub(crate) fn packed(&self) -> Option<u32> {
        let (kind, first, second) = match self.what {
            LabelKind::Call(call) => (0, call, 0),
            LabelKind::Lin(number) => (1, 0, number.map_or(0, |n| n.saturating_add(1))),
            LabelKind::Point(call, number) => (2, call, number),
            LabelKind::Return(operation, number) => (3, operation, number),
        };
        (first < 1 << 8 && second < 1 << 18)
            .then(|| kind | u32::from(self.process) << 2 | u32::from(first) << 6 | second << 14)
    }
}
