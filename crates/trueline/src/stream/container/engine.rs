//! The engine of every container: how the queue and the priority queue process events in the same
//! way.

use super::Container;
use crate::spec::Action;
use crate::stream::{Clash, Engine, Id, NONE, Stop, Time, strange};
use crate::value::Value;

/// An engine over a container: the part that depends on the kind.
pub(in crate::stream) trait Contained: Send {
    fn container(&self) -> &Container;
    fn container_mut(&mut self) -> &mut Container;

    /// The insert of the value at this place has returned.
    fn inserted(&mut self, _place: u32) {}

    /// A removal that was called at `call` returned this value now.
    fn took(&mut self, id: Id, call: Time, at: Time, value: &Value) -> Result<(), Clash>;

    /// The promise of an empty result has been made.
    fn found_empty(&mut self) {}
}

impl<C: Contained> Engine for C {
    fn call(&mut self, id: Id, at: Time, may: Option<&Action>) -> Result<(), Stop> {
        match may {
            Some(Action::Insert(value)) => self.container_mut().insert_called(id, at, value),
            Some(Action::RemoveUnknown) | None => {
                self.container_mut().removal_called(id, at, may.is_some());
                Ok(())
            }
            Some(other) => Err(strange(other)),
        }
    }

    fn returns(&mut self, id: Id, at: Time, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Insert(value) => {
                if let Some(place) = self.container_mut().insert_returned(at, value)? {
                    self.inserted(place);
                }
                return Ok(());
            }
            Action::Remove(value) => {
                let call = self.container_mut().removal_closed(id);
                self.took(id, call, at, value)?;
            }
            Action::FoundEmpty => {
                let call = self.container_mut().removal_closed(id);
                self.container_mut().promise(id, NONE, None, call, at)?;
                self.container_mut().unknown_is_gone(at);
                self.found_empty();
            }
            other => return Err(strange(other)),
        }
        Ok(self.container_mut().look_again()?)
    }

    fn unknown(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        self.container_mut().unknown(id, may)
    }

    fn fails(&mut self, id: Id, may: Option<&Action>) -> Result<(), Stop> {
        self.container_mut().fails(id, may)
    }

    fn finish(&mut self) -> Result<(), Stop> {
        self.container_mut().finish()
    }

    fn is_bare(&self) -> bool {
        self.container().is_bare()
    }

    fn unjudged(&self) -> u64 {
        self.container().unjudged()
    }

    fn mark(&self, keep: &mut dyn FnMut(Id)) {
        self.container().mark(keep);
    }
}
