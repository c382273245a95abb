//! How much is run for each object: bounds that make the whole take minutes, by counts and never by
//! the clock. What is not named here gets the bounds at the end, so that a new object is covered by
//! itself.

use trueline_objects::simulate::Entry;

/// How far an object is explored, and which model stands for its algorithm.
pub(crate) struct Plan {
    /// Processes, operations each, and at most so many preemptions.
    pub(crate) sizes: Vec<(usize, usize, Option<u32>)>,
    /// A model of `models/`, and settings beyond those that its header expects.
    pub(crate) model: Option<(&'static str, &'static [Settings])>,
    /// Rounds on real threads.
    pub(crate) rounds: u64,
}

/// Parameters of a model.
pub(crate) type Settings = &'static [(&'static str, i32)];

pub(crate) fn of(entry: &Entry, quick: bool) -> Plan {
    let mut plan = match quick {
        true => Plan { sizes: vec![(2, 2, None)], model: model(entry.name), rounds: 200 },
        false => Plan { sizes: sizes(entry.name), model: model(entry.name), rounds: 100_000 },
    };
    if quick {
        plan.model = plan.model.map(|(name, _)| (name, &[][..]));
        // They are the slowest by far; the test of all objects covers more of them.
        if matches!(
            entry.name,
            "snapshot" | "k-stack" | "k-stack-of-one" | "snzi" | "b-link-tree" | "priority-queue"
        ) {
            plan.sizes = vec![(2, 1, preemptions(entry.name))];
        }
    }
    plan
}

/// Of the k-stack as published the full search does not end (see its file); the others are bounded
/// alike, so that figures can be compared.
pub(crate) fn preemptions(name: &str) -> Option<u32> {
    name.starts_with("k-stack").then_some(2)
}

/// A search without a bound where it takes no more than a minute, otherwise with as high a bound as
/// fits.
fn sizes(name: &str) -> Vec<(usize, usize, Option<u32>)> {
    let all = None;
    match name {
        "treiber-stack"
        | "michael-scott-queue"
        | "herlihy-wing-queue"
        | "array-queue"
        | "semiqueue"
        | "wide-register"
        | "counter"
        | "ticket-lock" => {
            vec![(2, 3, all), (3, 2, all)]
        }
        "stuttering-queue" => vec![(2, 3, all), (3, 1, all), (3, 2, Some(3))],
        "fetch-add-queue" => vec![(2, 3, all), (3, 1, Some(4)), (3, 2, Some(2))],
        "snapshot" | "snzi" => vec![(2, 3, all), (3, 1, all), (3, 2, Some(2))],
        name if preemptions(name).is_some() => vec![(2, 2, Some(2)), (3, 1, Some(2))],
        // Who waits takes locks to enter a list and to leave it.
        "blocking-queue" => vec![(2, 2, all), (3, 1, all), (2, 3, Some(2))],
        "bounded-priority-queue" => vec![(2, 3, all), (3, 1, all), (3, 2, Some(2))],
        // With keys to choose there are thousands of larger programs.
        "list-set" | "multiset" | "b-link-tree" | "priority-queue" => {
            vec![(2, 3, all), (3, 1, all)]
        }
        _ => vec![(2, 2, all), (3, 1, Some(3)), (2, 3, Some(2)), (3, 2, Some(1))],
    }
}

fn model(name: &str) -> Option<(&'static str, &'static [Settings])> {
    Some(match name {
        "treiber-stack" => ("treiber", &[&[("procs", 3), ("ops", 2)]]),
        "michael-scott-queue" => ("ms-queue", &[&[("procs", 3), ("ops", 2)]]),
        "herlihy-wing-queue" => ("herlihy-wing", &[&[("procs", 3), ("ops", 2)]]),
        "snapshot" => ("afek-unbounded-snapshot", &[&[("procs", 2), ("ops", 2)]]),
        "counter" => ("striped-counter", &[&[("procs", 3), ("ops", 3)]]),
        "snzi" => ("snzi", &[&[("procs", 3), ("ops", 3)]]),
        "list-set" => ("harris-list", &[&[("procs", 3), ("ops", 2)]]),
        "semiqueue" => ("semiqueue", &[&[("procs", 3), ("ops", 2)]]),
        "stuttering-queue" => ("stuttering-queue", &[&[("procs", 3), ("ops", 2)]]),
        "array-queue" => ("array-queue", &[&[("procs", 3), ("ops", 2)]]),
        "fetch-add-queue" => ("fetch-add-queue", &[&[("procs", 2), ("ops", 3), ("k", 2)]]),
        "ticket-lock" => ("ticket-lock", &[&[("procs", 3), ("ops", 4)]]),
        // A model with the name of the object is one of it.
        name => (trueline_model::library::find(name)?.name, &[]),
    })
}
