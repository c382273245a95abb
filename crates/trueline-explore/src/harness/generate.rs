//! Generates scenarios if the test gives none: all matrices of operations up to a size, or random
//! ones.
//!
//! A matrix has one row of calls for each thread. Threads of the same role are interchangeable, so
//! of all matrices that differ only in the order of such rows only one is generated: rows are
//! numbers in the base of their role's operations, and rows of one role ascend. Small matrices come
//! first, since their failures are found sooner and are easier to read; matrices of one size come
//! in ascending order.
//!
//! All rows of a matrix have the same length, and there are at least two. A history of a program
//! with shorter rows is a prefix of a history of a matrix, and a fault of the prefix is a fault of
//! the whole: it has no order, an operation panics, two accesses race. Invariants differ: they are
//! checked after all operations have returned, and later operations may repair a violation. So with
//! an invariant, rows of all lengths are generated ([`Plan::uneven`]).
//!
//! Cost: with `m` operations, `n` threads and `k` calls each, C(m^k + n - 1, n) matrices of the
//! largest size.

use trueline::rng::Rng;

use super::scenario::{Lane, Scenario};

/// Threads with the same role: their number, and the operations (indices into the alphabet) that
/// they may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) threads: usize,
    pub(crate) operations: Vec<usize>,
}

/// The scenarios to generate: only the calls of the threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) roles: Vec<Role>,
    pub(crate) length: usize,
    /// Rows may be shorter than others, or empty, so that a thread runs alone.
    pub(crate) uneven: bool,
}

/// The shape of a row: the role of its thread and the number of its calls.
type Shape = (usize, usize);

impl Plan {
    /// All matrices, small ones first.
    pub(crate) fn all(&self) -> impl Iterator<Item = Scenario> + '_ {
        let shapes = if self.uneven { self.uneven_shapes() } else { self.shapes() };
        shapes.into_iter().flat_map(|rows| self.of_shape(rows))
    }

    /// Matrices of the largest size, drawn at random; there may be duplicates.
    pub(crate) fn random(&self, count: u64, seed: u64) -> impl Iterator<Item = Scenario> + '_ {
        let mut rng = Rng::new(seed);
        (0..count).map(move |_| {
            let mut lanes = Vec::new();
            for (role, Role { threads, operations }) in self.roles.iter().enumerate() {
                for _ in 0..*threads {
                    let calls = (0..self.length).map(|_| *rng.choose(operations)).collect();
                    lanes.push(Lane { role, calls });
                }
            }
            Scenario { lanes, ..Scenario::default() }
        })
    }

    /// The shapes of matrices, by total number of calls. With several roles all of their threads
    /// take part from the start.
    fn shapes(&self) -> Vec<Vec<Shape>> {
        let all: Vec<usize> = self.roles.iter().map(|role| role.threads).collect();
        let mut sizes = Vec::new();
        for length in 1..=self.length {
            match all[..] {
                [most] => sizes.extend((2.min(most)..=most).map(|threads| (vec![threads], length))),
                _ => sizes.push((all.clone(), length)),
            }
        }
        sizes.sort_by_key(|(threads, length)| (threads.iter().sum::<usize>() * length, *length));
        let rows = |(threads, length): (Vec<usize>, usize)| {
            let roles = threads.into_iter().enumerate();
            roles.flat_map(|(role, n)| std::iter::repeat_n((role, length), n)).collect()
        };
        sizes.into_iter().map(rows).collect()
    }

    /// As [`Plan::shapes`], with rows of all lengths: those of one role ascend.
    fn uneven_shapes(&self) -> Vec<Vec<Shape>> {
        let mut shapes: Vec<Vec<Shape>> = vec![Vec::new()];
        for (role, Role { threads, .. }) in self.roles.iter().enumerate() {
            for _ in 0..*threads {
                let longer = |rows: Vec<Shape>| {
                    let least = rows.last().filter(|last| last.0 == role).map_or(0, |last| last.1);
                    (least..=self.length).map(move |n| [&rows[..], &[(role, n)]].concat())
                };
                shapes = shapes.into_iter().flat_map(longer).collect();
            }
        }
        for rows in &mut shapes {
            rows.retain(|row| row.1 > 0);
        }
        shapes.retain(|rows| !rows.is_empty());
        let calls = |rows: &Vec<Shape>| rows.iter().map(|row| row.1).sum::<usize>();
        shapes.sort_by_key(|rows| (calls(rows), rows.len()));
        shapes
    }

    fn of_shape(&self, shape: Vec<Shape>) -> impl Iterator<Item = Scenario> + '_ {
        let rows = move |(role, length): Shape| {
            (self.roles[role].operations.len() as u64).checked_pow(length as u32)
        };
        let mut next = Some(vec![0u64; shape.len()]);
        if shape.iter().any(|&(role, _)| self.roles[role].operations.is_empty()) {
            next = None;
        }
        std::iter::from_fn(move || {
            let row_numbers = next.take()?;
            let lanes = shape
                .iter()
                .zip(&row_numbers)
                .map(|(&(role, length), &row)| self.lane(role, row, length));
            let scenario = Scenario { lanes: lanes.collect(), ..Scenario::default() };
            let mut after = row_numbers;
            // Like an odometer in which a wheel of one role and length never shows less than the
            // one to its left.
            for i in (0..after.len()).rev() {
                if rows(shape[i]).is_none_or(|rows| after[i] + 1 < rows) {
                    after[i] += 1;
                    for j in i + 1..after.len() {
                        after[j] = if shape[j] == shape[j - 1] { after[j - 1] } else { 0 };
                    }
                    next = Some(after);
                    break;
                }
            }
            Some(scenario)
        })
    }

    fn lane(&self, role: usize, mut row: u64, length: usize) -> Lane {
        let operations = &self.roles[role].operations;
        let base = operations.len() as u64;
        let mut calls = vec![0; length];
        for call in calls.iter_mut().rev() {
            *call = operations[(row % base) as usize];
            row /= base;
        }
        Lane { role, calls }
    }
}

/// The rule for well-formed scenarios: as many removals as insertions, with the missing ones at the
/// end.
#[derive(Clone, Debug)]
pub(crate) struct WellFormed {
    /// Which operations of the alphabet insert.
    pub(crate) inserts: Vec<bool>,
    /// The operation that removes.
    pub(crate) removal: usize,
}

impl WellFormed {
    /// Adds removals after the threads; `None` if there are already more removals than insertions.
    pub(crate) fn complete(&self, mut scenario: Scenario) -> Option<Scenario> {
        let (insertions, removals) = self.count(&scenario);
        let missing = insertions.checked_sub(removals)?;
        scenario.after.extend(std::iter::repeat_n(self.removal, missing));
        Some(scenario)
    }

    /// Adds or removes removals at the end until the scenario is well-formed; `None` if that is not
    /// enough.
    pub(crate) fn balance(&self, mut scenario: Scenario) -> Option<Scenario> {
        let (insertions, mut removals) = self.count(&scenario);
        while removals > insertions && scenario.after.last() == Some(&self.removal) {
            scenario.after.pop();
            removals -= 1;
        }
        self.complete(scenario)
    }

    /// Whether there are at most as many removals as insertions.
    pub(crate) fn allows(&self, scenario: &Scenario) -> bool {
        let (insertions, removals) = self.count(scenario);
        removals <= insertions
    }

    /// How many insertions and removals a scenario has.
    fn count(&self, scenario: &Scenario) -> (usize, usize) {
        let calls = scenario.calls();
        let insertions = calls.iter().filter(|(_, call)| self.inserts[*call]).count();
        (insertions, calls.iter().filter(|(_, call)| *call == self.removal).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(roles: &[(usize, &[usize])], length: usize) -> Plan {
        let roles = roles
            .iter()
            .map(|&(threads, operations)| Role { threads, operations: operations.to_vec() });
        Plan { roles: roles.collect(), length, uneven: false }
    }

    fn largest(plan: &Plan) -> usize {
        let all: Vec<Scenario> = plan.all().collect();
        let most = all.iter().map(Scenario::len).max().unwrap_or(0);
        all.iter().filter(|s| s.len() == most).count()
    }

    #[test]
    fn there_are_as_many_matrices_as_multisets_of_rows() {
        assert_eq!(largest(&plan(&[(2, &[0, 1, 2])], 3)), 27 * 28 / 2);
        assert_eq!(largest(&plan(&[(3, &[0, 1, 2])], 2)), 9 * 10 * 11 / 6);
        assert_eq!(largest(&plan(&[(1, &[0, 1]), (1, &[2])], 2)), 4);
        assert_eq!(largest(&plan(&[(1, &[0, 1]), (2, &[2, 3])], 1)), 2 * 3);
        assert_eq!(plan(&[(2, &[])], 2).all().count(), 0);
    }

    #[test]
    fn no_two_matrices_are_the_same_up_to_the_order_of_threads_of_one_role() {
        let plan = plan(&[(1, &[0, 1]), (2, &[0, 2])], 2);
        let mut seen = std::collections::BTreeSet::new();
        for mut scenario in plan.all() {
            scenario.lanes.sort();
            assert!(seen.insert(scenario.to_string()), "{scenario}");
        }
        let naive: usize = 2 * 3 + 4 * (4 * 5 / 2);
        assert_eq!(seen.len(), naive);
    }

    /// All programs of at most this many threads and calls, by brute force, as texts with the
    /// threads of a role in order.
    fn naive(roles: &[(usize, &[usize])], length: usize) -> std::collections::BTreeSet<String> {
        let mut all = vec![Vec::<Lane>::new()];
        for (role, &(threads, operations)) in roles.iter().enumerate() {
            let mut rows = vec![Vec::<usize>::new()];
            let mut longest = rows.clone();
            for _ in 0..length {
                let longer = |row: &Vec<usize>| {
                    let row = row.clone();
                    operations.iter().map(move |&op| [&row[..], &[op]].concat())
                };
                longest = longest.iter().flat_map(longer).collect();
                rows.extend(longest.iter().cloned());
            }
            for _ in 0..threads {
                let with = |lanes: Vec<Lane>| {
                    let rows = rows.iter();
                    let add = move |calls: &Vec<usize>| {
                        let lane = Lane { role, calls: calls.clone() };
                        [&lanes[..], &[lane]].concat()
                    };
                    rows.map(add).collect::<Vec<_>>()
                };
                all = all.into_iter().flat_map(with).collect();
            }
        }
        let text = |mut lanes: Vec<Lane>| {
            lanes.retain(|lane| !lane.calls.is_empty());
            lanes.sort();
            Scenario { lanes, ..Scenario::default() }.to_string()
        };
        all.into_iter().map(text).filter(|text| text != "//").collect()
    }

    #[test]
    fn uneven_scenarios_are_all_programs_each_once() {
        type Roles<'a> = &'a [(usize, &'a [usize])];
        let cases: [(Roles<'_>, usize); 4] = [
            (&[(2, &[0])], 2),
            (&[(3, &[0, 1])], 2),
            (&[(1, &[0, 1]), (2, &[1, 2])], 2),
            (&[(2, &[0, 1, 2])], 3),
        ];
        for (roles, length) in cases {
            let plan = Plan { uneven: true, ..plan(roles, length) };
            let mut seen = std::collections::BTreeSet::new();
            let mut sizes = Vec::new();
            for mut scenario in plan.all() {
                sizes.push(scenario.len());
                scenario.lanes.sort();
                assert!(seen.insert(scenario.to_string()), "{scenario}");
            }
            assert_eq!(seen, naive(roles, length));
            assert!(sizes.is_sorted());
        }
    }

    #[test]
    fn small_matrices_come_first_and_random_ones_depend_on_the_seed() {
        let plan = plan(&[(3, &[0, 1])], 2);
        let sizes: Vec<usize> = plan.all().map(|s| s.len()).collect();
        assert!(sizes.is_sorted() && sizes[0] == 2);
        let text = |seed| plan.random(4, seed).map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert!(plan.random(4, 1).all(|s| s.len() == 6));
    }

    #[test]
    fn a_well_formed_scenario_is_drained_at_the_end() {
        let well_formed = WellFormed { inserts: vec![true, false], removal: 1 };
        let complete = |text: &str| {
            well_formed.complete(text.parse().unwrap()).map(|scenario| scenario.to_string())
        };
        assert_eq!(complete("0/0.1,0/"), Some(String::from("0/0.1,0/1.1")));
        assert_eq!(complete("/0,1/"), Some(String::from("/0,1/")));
        assert_eq!(complete("/0,1.1/"), None);
        let balance = |text: &str| {
            well_formed.balance(text.parse().unwrap()).map(|scenario| scenario.to_string())
        };
        assert_eq!(balance("/0,1/1"), Some(String::from("/0,1/")));
        assert_eq!(balance("/0.0,1/"), Some(String::from("/0.0,1/1")));
        assert_eq!(balance("/1.0,1/"), None);
    }
}
