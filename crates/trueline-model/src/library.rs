//! The models that come with trueline, by name.

/// A model that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name that `trueline verify` understands.
    pub name: &'static str,
    /// Its text.
    pub source: &'static str,
}

impl BuiltIn {
    /// The first sentence of its header.
    pub fn summary(&self) -> String {
        let header = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        let text: Vec<&str> = header.map(str::trim).take_while(|line| !line.is_empty()).collect();
        let text = text.join(" ");
        text.split_inclusive(". ").next().unwrap_or(&text).trim().to_string()
    }
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, source: include_str!(concat!("../models/", $name, ".tl")) }),*]
    };
}

/// All of them, sorted.
pub const ALL: &[BuiltIn] = built_in![
    "afek-bounded-snapshot",
    "afek-unbounded-snapshot",
    "array-queue",
    "attiya-welch-snapshot",
    "b-link-tree",
    "bounded-priority-queue",
    "bowman-snapshot",
    "counter",
    "elimination-stack",
    "fetch-add-queue",
    "harris-list",
    "herlihy-wing",
    "jayanti-snapshot",
    "lazy-list",
    "mailbox",
    "ms-queue",
    "multiset",
    "priority-queue",
    "register",
    "riany-snapshot",
    "semiqueue",
    "shann-queue",
    "snzi",
    "snzi-tree",
    "striped-counter",
    "stuttering-queue",
    "ticket-lock",
    "treiber",
    "treiber-reuse",
    "two-lock-queue",
    "wide-register",
    "wing-gong-semiqueue",
    "wing-gong-stuttering-queue",
];

/// The one with this name.
pub fn find(name: &str) -> Option<BuiltIn> {
    ALL.iter().copied().find(|m| m.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".tl").map(String::from))
            .collect();
        files.sort();
        assert_eq!(files, ALL.iter().map(|m| m.name).collect::<Vec<_>>());
        assert!(ALL.iter().all(|m| !m.summary().is_empty()));
    }
}
