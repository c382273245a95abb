//! Phrases about a cell, in the terms of its family.

use super::{ABSENT, Cell, PRESENT, Touch};
use crate::check::sentences::{mark, short};
use crate::spec::vocabulary::{Act, Family};
use crate::value::Value;

impl Cell<'_> {
    /// `; the register holds 0 initially`.
    pub(super) fn at_first(&self) -> String {
        let Some(initial) = &self.initial else { return String::new() };
        match self.scene.family {
            Family::Set | Family::Map => match initial {
                Value::Bool(true) => format!("; {} is there initially", self.name),
                _ => String::new(),
            },
            Family::Mutex => match initial {
                Value::Bool(true) => "; the lock is held initially".into(),
                _ => "; the lock is free initially".into(),
            },
            Family::OwnerMutex => "; the lock is free initially".into(),
            Family::Snapshot => {
                format!("; segment {} holds {} initially", self.name, short(initial))
            }
            _ => format!("; the {} holds {} initially", self.noun(), short(initial)),
        }
    }

    pub(super) fn noun(&self) -> &'static str {
        if self.scene.family == Family::Register { "register" } else { "key" }
    }

    pub(super) fn only_at_first(&self, value: &Value) -> String {
        let shown = short(value);
        if self.initial.is_none() {
            return format!(": {shown} can only be what the {} held initially", self.noun());
        }
        match self.scene.family {
            Family::Set | Family::Mutex | Family::OwnerMutex => String::new(),
            Family::Map => ": the key is absent only initially".into(),
            Family::Snapshot => {
                format!(": {shown} is only the initial value of segment {}", self.name)
            }
            _ => format!(": {shown} is only the initial value"),
        }
    }

    /// The property of snapshots that is broken by a scan alone, or by two.
    pub(super) fn property(&self, two_scans: bool) -> String {
        match (self.scene.family, two_scans) {
            (Family::Snapshot, false) => "Appropriateness: ".into(),
            (Family::Snapshot, true) => "Non-Decreasing: ".into(),
            _ => String::new(),
        }
    }

    /// The impossible claim of the operation.
    pub(super) fn subject(&self, r: &Touch<'_>, value: &Value) -> String {
        let (shown, name) = (mark(r.place), short(&self.name));
        match (self.scene.family, &self.scene.cast[r.place].act) {
            (Family::Set, Act::Contents(_)) if *value == PRESENT => {
                format!("{shown} cannot show {name}")
            }
            (Family::Set, Act::Contents(_)) => format!("{shown} should show {name}"),
            (Family::Mutex, _) if r.leaves == Some(&PRESENT) => {
                format!("{shown} got the lock while it was held")
            }
            (Family::Mutex, _) if r.leaves == Some(&ABSENT) => {
                format!("{shown} released the lock while it was free")
            }
            (Family::Mutex, _) if *value == PRESENT => {
                format!("{shown} found the lock held while it was free")
            }
            (Family::Mutex, _) => format!("{shown} found the lock free while it was held"),
            (Family::OwnerMutex, _) if value.is_nil() => {
                format!("{shown} got the lock while it was held")
            }
            (Family::OwnerMutex, _) => {
                format!("{shown} released the lock while {} did not hold it", short(value))
            }
            (Family::Snapshot, _) => {
                format!("{shown} cannot show {} in segment {name}", short(value))
            }
            (Family::Register, _) if r.leaves.is_some() => {
                format!("{shown} cannot have found {}", short(value))
            }
            _ => format!("{shown} is impossible"),
        }
    }

    pub(super) fn subject_of_other(&self, r: &Touch<'_>, value: &Value) -> String {
        let shown = mark(r.place);
        match self.scene.family {
            Family::Register => format!("{shown} should have found {}", short(value)),
            Family::OwnerMutex if value.is_nil() => {
                format!("{shown} found the lock held while it was free")
            }
            Family::OwnerMutex => {
                format!("{shown} should have found the lock held by {}", short(value))
            }
            _ => format!("{shown} is impossible"),
        }
    }

    /// `3 was never written`.
    pub(super) fn never(&self, value: &Value) -> String {
        let (name, shown) = (short(&self.name), short(value));
        match self.scene.family {
            Family::Set if *value == PRESENT => format!("{name} was never added"),
            Family::Set => format!("{name} was never removed"),
            Family::Mutex if *value == PRESENT => "there was no acquire".into(),
            Family::Mutex => "there was no release".into(),
            Family::OwnerMutex if value.is_nil() => "there was no release".into(),
            Family::OwnerMutex => format!("{shown} never took the lock"),
            Family::Map if value.is_nil() => "the key was never removed".into(),
            Family::Snapshot => format!("{shown} was never written there"),
            Family::Map | Family::Kv => format!("{shown} was never written under the key"),
            _ => format!("{shown} was never written"),
        }
    }

    /// `wrote 3`.
    pub(super) fn brought_about(&self, value: &Value) -> String {
        let (name, shown) = (short(&self.name), short(value));
        match self.scene.family {
            Family::Set if *value == PRESENT => format!("added {name}"),
            Family::Set => format!("removed {name}"),
            Family::Mutex if *value == PRESENT => "took the lock".into(),
            Family::Mutex => "released the lock".into(),
            Family::OwnerMutex if value.is_nil() => "released the lock".into(),
            Family::OwnerMutex => format!("took the lock for {shown}"),
            Family::Map if value.is_nil() => "removed the key".into(),
            Family::Snapshot => format!("wrote {shown} there"),
            Family::Map | Family::Kv => format!("wrote {shown} under the key"),
            _ => format!("wrote {shown}"),
        }
    }

    /// `written 3`.
    pub(super) fn done(&self, value: &Value) -> String {
        let (name, shown) = (short(&self.name), short(value));
        match self.scene.family {
            Family::Set if *value == PRESENT => format!("added {name}"),
            Family::Set => format!("removed {name}"),
            Family::Mutex if *value == PRESENT => "taken the lock".into(),
            Family::Mutex => "released the lock".into(),
            Family::OwnerMutex if value.is_nil() => "released the lock".into(),
            Family::OwnerMutex => format!("taken the lock for {shown}"),
            Family::Map if value.is_nil() => "removed the key".into(),
            Family::Snapshot => format!("written {shown} there"),
            Family::Map | Family::Kv => format!("written {shown} under the key"),
            _ => format!("written {shown}"),
        }
    }

    /// `written anything but 3`.
    pub(super) fn other_than(&self, value: &Value) -> String {
        match self.scene.family {
            Family::Map if value.is_nil() => "put anything under the key".into(),
            Family::OwnerMutex if value.is_nil() => "taken the lock".into(),
            Family::OwnerMutex => "released the lock".into(),
            Family::Map | Family::Kv => {
                format!("written anything but {} under the key", short(value))
            }
            _ => format!("written anything but {}", short(value)),
        }
    }
}
