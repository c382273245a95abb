//! Random small programs of everything that threads can do to each other: all ways to look for
//! their behaviours find the same ones.
//!
//! No oracle knows what such programs may do. But what a complete exploration has seen is compared
//! with what others see: samples, which know nothing of which events commute, the search by
//! preemptions, which knows as little, and the search with several workers.

mod program;
mod run;

use std::collections::BTreeSet;
use std::panic::resume_unwind;

use program::{CLASSES, Program, random_program};
use run::{Outcomes, observe};
use trueline::rng::{self, Rng};
use trueline_explore::engine::interface::Failure;
use trueline_explore::engine::{Exploration, Sampler};

/// Programs with more executions are left out.
const MOST: u64 = 600;

/// How many programs there are, if not told otherwise.
const CASES: u64 = 300;

/// More preemptions than a program that is small enough has events between which there could be
/// one.
const ALL: u32 = 64;

#[track_caller]
fn assert_within(inner: &Outcomes, outer: &Outcomes, what: &str) {
    let more = inner.keys().find(|outcome| !outer.contains_key(*outcome));
    assert!(more.is_none(), "{what}: {more:#?}");
}

/// Whether the program was small enough to be explored completely.
#[track_caller]
fn compare(seed: u64, program: &'static Program) -> bool {
    let exploration = Exploration::new().may_block().spurious(program.spurious).events(400);
    let limited = exploration.clone().executions(MOST);
    let (report, complete) = observe(&limited, program);
    if let Some(Failure::Livelock { .. }) = report.failure {
        return false;
    }
    let name = |what| format!("seed {seed}, {what}: {program:?}");
    assert_eq!(report.failure, None, "{}\n{report}", name("complete"));
    if report.scope.stopped.is_some() || report.scope.assumed.is_some() {
        return false;
    }

    let sampler = *Rng::new(seed).choose(&[Sampler::Random, Sampler::Pos]);
    let (sampling, sampled) =
        observe(&exploration.clone().sample(sampler, seed, MOST / 2), program);
    assert_eq!(sampling.failure, None, "{}\n{sampling}", name("sampled"));
    assert_within(&sampled, &complete, &name("only sampled"));

    let bounding = exploration.clone().preemptions(ALL).executions(2 * MOST);
    let (bounding, bounded) = observe(&bounding, program);
    assert_eq!(bounding.failure, None, "{}\n{bounding}", name("bounded"));
    assert_within(&bounded, &complete, &name("only bounded"));
    if bounding.scope.stopped.is_none() {
        assert_within(&complete, &bounded, &name("only complete"));
    }

    let (working, worked) = observe(&exploration.workers(3), program);
    assert_eq!(working.failure, None, "{}\n{working}", name("workers"));
    assert_within(&worked, &complete, &name("only workers"));
    assert_eq!(worked, complete, "{}", name("workers"));
    true
}

#[test]
fn all_searches_see_the_same_behaviours_of_random_mixtures() {
    let seeds = rng::seeds(CASES);
    let (cases, mut complete, mut classes) = (seeds.cases(), 0, BTreeSet::new());
    let (mut reuse, mut spurious) = (0, 0);
    for seed in seeds {
        // It is never freed: threads that outlive their scopes read it.
        let program: &'static Program = Box::leak(Box::new(random_program(&mut Rng::new(seed))));
        // Two panics at once leave the thread unsure of who panics, for good.
        let compared = std::thread::spawn(move || compare(seed, program)).join();
        if compared.unwrap_or_else(|panic| resume_unwind(panic)) {
            complete += 1;
            reuse += u64::from(program.reuse);
            spurious += u64::from(program.spurious);
            classes.extend(&program.classes);
        }
    }
    assert!(2 * complete >= cases, "{complete} of {cases} programs were explored completely");
    if cases >= CASES {
        assert_eq!(classes, BTreeSet::from(CLASSES));
        assert!(reuse > 0 && spurious > 0, "{reuse} with memory used again, {spurious} spurious");
    }
}
