//! An object behind calls by name, as the harness runs it.

use trueline::Value;
use trueline::spec::Invocation;
use trueline_explore::harness::{Operate, Thread};

/// An object that can be called by name.
pub(crate) trait Concurrent: Send + Sync {
    /// Calls a method. `holds` is for locks: whether the calling thread holds this one.
    fn call(&self, method: &str, args: &[Value], holds: &mut bool) -> Value;
}

/// An object of which no more is known.
pub(crate) type Subject = Box<dyn Concurrent>;

/// An object in the hands of one thread.
pub(crate) struct Hand<'a> {
    object: &'a Subject,
    holds: bool,
}

impl Operate<Subject> for Invocation {
    type Ret = Value;
    type Handle<'a> = Hand<'a>;

    fn handle(object: &Subject, _: Thread) -> Hand<'_> {
        Hand { object, holds: false }
    }

    fn operate(&self, hand: &mut Hand<'_>) -> Value {
        hand.object.call(&self.method, self.args.as_slice(), &mut hand.holds)
    }
}
