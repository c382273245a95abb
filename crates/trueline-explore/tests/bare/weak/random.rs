//! Random programs: the search and the sampler against brute force, and what stronger orderings do.

use trueline::rng::{Rng, seeds};
use trueline_explore::weak::{Order, Turn, sample};

use super::oracle::{self, Model};
use super::program::{Litmus, OrderOf};
use super::{all_graphs, graphs_of_workers, outcome, sequential};

/// Brute force looks at no more combinations of runs of threads.
const MOST_COMBINATIONS: usize = 400;

/// Two to four threads of all kinds of statements over two locations, some under a lock.
fn program(rng: &mut Rng) -> String {
    let count = 2 + rng.index(3);
    let mut budget = 3 + rng.index(4);
    let (mut names, mut threads) = ('a'..='w', Vec::new());
    for thread in 0..count {
        let wanted = if thread + 1 < count { 1 + rng.index(3) } else { 3 };
        let length = wanted.min(budget);
        budget -= length;
        let (mut statements, mut own) = (Vec::new(), Vec::new());
        for _ in 0..length {
            statements.extend(statement(rng, &mut names, &mut own));
        }
        if statements.is_empty() {
            continue;
        }
        if rng.percent(20) {
            // A lock, which is not always given back as it should be.
            let (lock, unlock) =
                (*rng.choose(&["acq", "acqrel", "sc"]), *rng.choose(&["rel", "rel", "sc", "rlx"]));
            let name = names.next().expect("enough names");
            statements.insert(0, format!("{name}=z.swap.{lock}(1); assume {name}==0"));
            statements.push(format!("z.{unlock}=0"));
        }
        threads.push(statements.join("; "));
    }
    threads.join(" || ")
}

fn statement(
    rng: &mut Rng,
    names: &mut impl Iterator<Item = char>,
    own: &mut Vec<char>,
) -> Vec<String> {
    let kinds = ["store", "store", "load", "load", "load", "add", "swap", "cas", "fence", "await"];
    let (kind, location) = (*rng.choose(&kinds), *rng.choose(&['x', 'y']));
    let value = match own.last() {
        Some(_) if rng.percent(20) => rng.choose(own).to_string(),
        _ => (1 + rng.index(2)).to_string(),
    };
    let of_store = |rng: &mut Rng| *rng.choose(&["rlx", "rel", "sc"]);
    match kind {
        "store" => return vec![format!("{location}.{}={value}", of_store(rng))],
        "fence" => {
            return vec![format!("fence.{}", rng.choose(&["acq", "rel", "acqrel", "sc", "sc"]))];
        }
        _ => (),
    }
    let name = names.next().expect("enough names");
    own.push(name);
    let order = *rng.choose(&["rlx", "acq", "sc"]);
    match kind {
        "load" if rng.percent(15) => {
            let (found, target) = (rng.index(2), *rng.choose(&['x', 'y']));
            let (order_of_store, new) = (of_store(rng), 1 + rng.index(3));
            let then = format!("if {name}=={found} {{ {target}.{order_of_store}={new} }}");
            vec![format!("{name}={location}.{order}"), then]
        }
        "load" => vec![format!("{name}={location}.{order}")],
        "await" => {
            let wanted = rng.index(3);
            vec![format!("{name}={location}.{order}"), format!("assume {name}=={wanted}")]
        }
        "cas" => {
            let order = *rng.choose(&["rlx.rlx", "acq.rlx", "acqrel.acq", "sc.sc", "sc.acq"]);
            let (expected, new) = (rng.index(3), 1 + rng.index(3));
            vec![format!("{name}={location}.cas.{order}({expected},{new})")]
        }
        _ => {
            let order = *rng.choose(&["rlx", "acq", "rel", "acqrel", "sc"]);
            vec![format!("{name}={location}.{kind}.{order}({value})")]
        }
    }
}

/// Two to four threads of two or three accesses of three locations, most of them SeqCst or with
/// SeqCst fences between.
fn sequential_program(rng: &mut Rng) -> String {
    let (mut names, mut threads) = ('a'..='w', Vec::new());
    for _ in 0..*rng.choose(&[2, 3, 3, 4]) {
        let mut locations = vec!['x', 'y', 'z'];
        locations.remove(rng.index(3));
        if rng.percent(50) {
            locations.swap(0, 1);
        }
        locations.push(*rng.choose(&['x', 'y', 'z']));
        let mut statements = Vec::new();
        for (k, location) in locations.into_iter().take(*rng.choose(&[2, 2, 3])).enumerate() {
            let strong = rng.percent(60);
            if k > 0 && rng.percent(30) {
                statements.push("fence.sc".to_string());
            }
            let (value, name) = (1 + rng.index(2), names.next().expect("enough names"));
            let store = ["store", "store", "load", "rmw"];
            let load = ["store", "load", "load", "rmw"];
            statements.push(match *rng.choose(if k == 0 { &store } else { &load }) {
                "store" => {
                    let order = if strong { "sc" } else { *rng.choose(&["rlx", "rel"]) };
                    format!("{location}.{order}={value}")
                }
                "load" => {
                    let order = if strong { "sc" } else { *rng.choose(&["rlx", "acq"]) };
                    format!("{name}={location}.{order}")
                }
                _ => {
                    let order = if strong { "sc" } else { "acqrel" };
                    format!("{name}={location}.swap.{order}({value})")
                }
            });
        }
        threads.push(statements.join("; "));
    }
    threads.join(" || ")
}

/// A program that brute force can do.
fn small_program(seed: u64) -> Option<(String, Litmus)> {
    let mut rng = Rng::new(seed);
    let text =
        if seed.is_multiple_of(2) { program(&mut rng) } else { sequential_program(&mut rng) };
    let litmus = Litmus::new(&text);
    let combinations = oracle::combinations(&litmus)?;
    (combinations <= MOST_COMBINATIONS).then_some((text, litmus))
}

#[test]
fn random_programs_have_the_graphs_that_brute_force_finds() {
    let (mut programs, mut graphs) = (0, 0);
    for seed in seeds(300) {
        let Some((text, mut litmus)) = small_program(seed) else { continue };
        let expected = oracle::check(&litmus, Model::Rc11);
        let expected_sc = oracle::check(&litmus, Model::Sc);
        for awaits in [true, false] {
            litmus.awaits = awaits;
            for turn in [Turn::First, Turn::Last, Turn::Random(seed)] {
                let found = all_graphs(&litmus, turn);
                assert_eq!(found.graphs.len(), expected.count, "seed {seed}, {turn:?}: {text}");
                assert_eq!(found.outcomes, expected.outcomes, "seed {seed}, {turn:?}: {text}");
                assert_eq!(found.sequential, expected_sc.count, "seed {seed}, steps: {text}");
            }
            let count = graphs_of_workers(&litmus, 2).len();
            assert_eq!(count, expected.count, "seed {seed}, 2 workers: {text}");
        }
        let found = all_graphs(&sequential(&litmus), Turn::First);
        assert_eq!(found.graphs.len(), expected_sc.count, "seed {seed}, all SeqCst: {text}");
        assert_eq!(found.outcomes, expected_sc.outcomes, "seed {seed}, all SeqCst: {text}");
        for drawn in 0..50 {
            litmus.awaits = drawn % 2 == 0;
            if let Some(graph) = sample(&litmus, drawn) {
                let outcome = outcome(&litmus, &graph);
                assert!(expected.outcomes.contains(&outcome), "seed {seed}: {outcome}: {text}");
            }
        }
        programs += 1;
        graphs += expected.count;
    }
    println!("{programs} programs, {graphs} graphs");
    assert!(programs > 0);
}

/// The next stronger orderings.
fn stronger(what: OrderOf, order: Order) -> &'static [Order] {
    match (what, order) {
        (_, Order::SeqCst) => &[],
        (OrderOf::Store, Order::Relaxed) => &[Order::Release, Order::SeqCst],
        (OrderOf::Load | OrderOf::Failure, Order::Relaxed) => &[Order::Acquire, Order::SeqCst],
        (OrderOf::Success, Order::Relaxed) => &[Order::Acquire, Order::Release, Order::AcqRel],
        (OrderOf::Success | OrderOf::Fence, Order::Acquire | Order::Release) => {
            &[Order::AcqRel, Order::SeqCst]
        }
        _ => &[Order::SeqCst],
    }
}

#[test]
fn a_stronger_ordering_never_adds_a_graph() {
    let mut changes = 0;
    for seed in seeds(60) {
        let Some((text, litmus)) = small_program(seed) else { continue };
        let before = all_graphs(&litmus, Turn::First);
        let mut orders = Vec::new();
        litmus.with_orders(|_, what, order| {
            orders.push((what, order));
            order
        });
        for (place, (what, order)) in orders.into_iter().enumerate() {
            for &new in stronger(what, order) {
                let changed =
                    litmus.with_orders(|k, _, order| if k == place { new } else { order });
                let after = all_graphs(&changed, Turn::First);
                let fewer = after.graphs.len() <= before.graphs.len();
                let within = after.outcomes.is_subset(&before.outcomes);
                assert!(fewer && within, "seed {seed}: {text}: {place} as {new:?}");
                changes += 1;
            }
        }
    }
    println!("{changes} changes");
    assert!(changes > 0);
}
