//! The beginning and end of the user's operations in an execution, and their accesses to plain
//! memory.

use std::panic::Location;

use super::execution::Machine;
use super::trace::{Aside, OperationSpan};

impl Machine {
    /// Whether the current thread is inside an operation, or has made no event since an operation
    /// that made none.
    pub(super) fn spawning_is_an_event(&self) -> bool {
        let thread = self.current;
        let inside = self.threads[thread as usize].operation.is_some();
        let latest = || self.trace.operations.iter().rfind(|span| span.thread == thread);
        let count = self.trace.count_of(thread);
        inside || latest().is_some_and(|span| span.call == span.ret && span.ret == count)
    }

    pub(crate) fn operation_begins(&mut self, operation: u64) {
        if self.unwinding.is_passive() {
            return;
        }
        let thread = self.current;
        let call = self.trace.count_of(thread);
        let record = &mut self.threads[thread as usize];
        record.operation = Some(self.trace.operations.len());
        record.spin.reset();
        let span = OperationSpan { thread, operation, result: None, call, ret: call };
        self.trace.operations.push(span);
    }

    /// Notes an access to plain memory; its number.
    pub(crate) fn aside(
        &mut self,
        location: usize,
        wrote: bool,
        caller: &'static Location<'static>,
    ) -> usize {
        let thread = self.current;
        let index = self.threads[thread as usize].operation;
        let operation = index.map(|index| self.trace.operations[index].operation);
        let after = self.trace.len() as u32;
        self.trace.asides.push(Aside { thread, after, operation, location, wrote, caller });
        self.trace.asides.len() - 1
    }

    pub(crate) fn operation_ends(&mut self, result: u64) {
        if self.unwinding.is_passive() {
            return;
        }
        let thread = self.current;
        let record = &mut self.threads[thread as usize];
        record.spin.reset();
        let index = record.operation.take().expect("an operation that began");
        let ret = self.trace.count_of(thread);
        let span = &mut self.trace.operations[index];
        (span.result, span.ret) = (Some(result), ret);
    }
}
