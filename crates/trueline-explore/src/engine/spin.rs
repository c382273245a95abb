//! Threads that spin, found without their help.

use super::footprint::Watched;
use super::interface::{Access, Effect};
use super::locations::Locations;

/// What is known of a thread's recent reads.
#[derive(Default)]
pub(crate) struct Spin {
    watched: Option<Watched>,
}

impl Spin {
    pub(crate) fn reset(&mut self) {
        self.watched = None;
    }
    pub(crate) fn hint(&mut self) {}
    pub(crate) fn announce(&mut self, _: &Access, _: u32) {}
    pub(crate) fn recorded(&mut self, _: &Access, _: Effect) -> Option<Watched> {
        None
    }
    pub(crate) fn watched(&self) -> Option<Watched> {
        self.watched.clone()
    }
    pub(crate) fn may_go_on(&self, locations: &Locations) -> bool {
        match &self.watched {
            None => true,
            Some(watched) => watched.iter().any(|&(l, v)| locations.value(l) != v),
        }
    }
}
