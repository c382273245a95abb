//! The operation to blame and the reason, in one sentence about a few operations, if a monitor can
//! explain more than the times do.

use smallvec::SmallVec;

/// A sentence about operations, which are numbers of the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blame {
    /// `{0}` stands for the first operation, and so on; without any, the first one comes in front.
    text: &'static str,
    operations: SmallVec<[u32; 4]>,
    /// Whether it is also used for a violation that is small enough for an explanation by times.
    pub(crate) always: bool,
}

impl Blame {
    /// One operation and the reason.
    pub(crate) fn new(operation: u32, text: &'static str) -> Blame {
        Blame { text, operations: SmallVec::from_slice(&[operation]), always: false }
    }

    /// A sentence that names several operations.
    pub(crate) fn naming(operations: &[u32], text: &'static str) -> Blame {
        Blame { text, operations: SmallVec::from_slice(operations), always: true }
    }

    /// The operations that it names.
    pub(crate) fn operations(&self) -> &[u32] {
        &self.operations
    }

    /// The same with other names for the operations; `None` if one has none.
    pub(crate) fn renamed(&self, name: impl Fn(u32) -> Option<u32>) -> Option<Blame> {
        let operations: Option<_> = self.operations.iter().map(|&o| name(o)).collect();
        Some(Blame { text: self.text, operations: operations?, always: self.always })
    }

    /// The sentence, with operations as people read them.
    pub(crate) fn render(&self, show: impl Fn(u32) -> String) -> String {
        if !self.text.contains('{') {
            return format!("{} {}", show(self.operations[0]), self.text);
        }
        let mut text = self.text.to_string();
        for (place, &operation) in self.operations.iter().enumerate() {
            text = text.replace(&format!("{{{place}}}"), &show(operation));
        }
        text
    }
}
