//! Definition 4 of the paper, by brute force: every order that respects real time, every legal
//! order, every distance. Shares no code with trueline.

/// What an operation does: `None` in a removal found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Add(i64),
    Remove(Option<i64>),
}

/// An operation with its interval. `end` is `None` where it never returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) does: Does,
    pub(crate) start: f64,
    pub(crate) end: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Queue,
    Stack,
    Priority,
}

/// The least factor in each reading, `None` if there is none: slots, uniform, literal.
pub(crate) type Least = [Option<usize>; 3];

/// The least factors with a closed end.
pub(crate) fn closed(kind: Kind, ops: &[Op]) -> Least {
    let mut least = [None; 3];
    for completed in completions(ops) {
        let orders = real_time_orders(&completed);
        merge(&mut least, over_pairs(kind, &completed, &orders));
    }
    least
}

/// The least factors with an open end: some removal of what remains, after everything, makes it one
/// with a closed end.
pub(crate) fn open(kind: Kind, ops: &[Op]) -> Least {
    let mut least = [None; 3];
    for completed in completions(ops) {
        let mut left: Vec<i64> = Vec::new();
        for op in &completed {
            if let Does::Add(v) = op.does {
                left.push(v);
            }
        }
        for op in &completed {
            if let Does::Remove(Some(v)) = op.does
                && let Some(at) = left.iter().position(|&x| x == v)
            {
                left.remove(at);
            }
        }
        for drain in orders_of(&left) {
            let mut all = completed.clone();
            for (i, &v) in drain.iter().enumerate() {
                let start = 1e6 + 2.0 * i as f64;
                let does = Does::Remove(Some(v));
                all.push(Op { does, start, end: Some(start + 1.0) });
            }
            let orders = real_time_orders(&all);
            merge(&mut least, over_pairs(kind, &all, &orders));
        }
    }
    least
}

fn merge(into: &mut Least, other: Least) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = match (*a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// All orders of these values.
pub(crate) fn orders_of(values: &[i64]) -> Vec<Vec<i64>> {
    if values.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for i in 0..values.len() {
        let mut rest = values.to_vec();
        let first = rest.remove(i);
        for mut order in orders_of(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

fn completions(ops: &[Op]) -> Vec<Vec<Op>> {
    let Some(at) = ops.iter().position(|o| o.end.is_none()) else { return vec![ops.to_vec()] };
    let mut all = Vec::new();
    let mut without = ops.to_vec();
    without.remove(at);
    all.extend(completions(&without));
    let outcomes: Vec<Does> = match ops[at].does {
        Does::Add(v) => vec![Does::Add(v)],
        Does::Remove(_) => {
            let added = ops.iter().filter_map(|o| match o.does {
                Does::Add(v) => Some(Does::Remove(Some(v))),
                _ => None,
            });
            added.chain([Does::Remove(None)]).collect()
        }
    };
    for does in outcomes {
        let mut with = ops.to_vec();
        with[at] = Op { does, end: Some(1e5), ..ops[at] };
        all.extend(completions(&with));
    }
    all
}

fn real_time_orders(ops: &[Op]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    grow(ops, &mut Vec::new(), &mut all);
    all
}

fn grow(ops: &[Op], order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    if order.len() == ops.len() {
        all.push(order.clone());
        return;
    }
    for i in 0..ops.len() {
        let must_wait = |j: usize| !order.contains(&j) && ops[j].end.unwrap() < ops[i].start;
        if order.contains(&i) || (0..ops.len()).any(must_wait) {
            continue;
        }
        order.push(i);
        grow(ops, order, all);
        order.pop();
    }
}

fn legal_orders(
    kind: Kind,
    ops: &[Op],
    order: &mut Vec<usize>,
    inside: &[i64],
    all: &mut Vec<Vec<usize>>,
) {
    if order.len() == ops.len() {
        all.push(order.clone());
        return;
    }
    for i in 0..ops.len() {
        if order.contains(&i) {
            continue;
        }
        let mut after = inside.to_vec();
        match ops[i].does {
            Does::Add(v) => after.push(v),
            Does::Remove(None) if inside.is_empty() => {}
            Does::Remove(None) => continue,
            Does::Remove(Some(v)) => {
                let turn = match kind {
                    Kind::Queue => inside.first(),
                    Kind::Stack => inside.last(),
                    Kind::Priority => inside.iter().max(),
                };
                if turn != Some(&v) {
                    continue;
                }
                let at = match kind {
                    Kind::Stack => inside.len() - 1,
                    _ => inside.iter().position(|&x| x == v).unwrap(),
                };
                after.remove(at);
            }
        }
        order.push(i);
        legal_orders(kind, ops, order, &after, all);
        order.pop();
    }
}

fn over_pairs(kind: Kind, ops: &[Op], orders: &[Vec<usize>]) -> Least {
    let mut legal = Vec::new();
    legal_orders(kind, ops, &mut Vec::new(), &[], &mut legal);
    let removes = |i: &usize| matches!(ops[*i].does, Does::Remove(Some(_)));
    let adds = |i: &usize| matches!(ops[*i].does, Does::Add(_));
    let legal: Vec<Places> = legal.into_iter().map(|order| Places::new(ops, order)).collect();
    let mut least: Least = [None; 3];
    let mut better = |reading: usize, distance: usize| {
        least[reading] = Some(least[reading].map_or(distance, |d: usize| d.min(distance)));
    };
    for order in orders {
        let causal = is_causal(ops, order);
        let places = Places::new(ops, order.clone());
        for other in &legal {
            better(1, furthest(&places.whole, &other.whole, |_| true));
            let removals = furthest(&places.of_class, &other.of_class, removes);
            if furthest(&places.of_class, &other.of_class, adds) == 0 {
                better(2, removals);
            }
            let only_removals_move =
                order.iter().zip(&other.order).all(|(a, b)| a == b || (removes(a) && removes(b)));
            if causal && only_removals_move {
                better(0, removals);
            }
        }
    }
    least
}

/// An order, and the place of each operation in it: among all, and among those that do the same
/// (add, remove, find nothing).
struct Places {
    order: Vec<usize>,
    whole: Vec<usize>,
    of_class: Vec<usize>,
}

impl Places {
    fn new(ops: &[Op], order: Vec<usize>) -> Places {
        let (mut whole, mut of_class) = (vec![0; ops.len()], vec![0; ops.len()]);
        let mut counts = [0; 3];
        for (place, &i) in order.iter().enumerate() {
            let class = match ops[i].does {
                Does::Add(_) => 0,
                Does::Remove(Some(_)) => 1,
                Does::Remove(None) => 2,
            };
            whole[i] = place;
            of_class[i] = counts[class];
            counts[class] += 1;
        }
        Places { order, whole, of_class }
    }
}

/// The largest difference between the places of an operation.
fn furthest(a: &[usize], b: &[usize], of: impl Fn(&usize) -> bool) -> usize {
    (0..a.len()).filter(of).map(|i| a[i].abs_diff(b[i])).max().unwrap_or(0)
}

fn is_causal(ops: &[Op], order: &[usize]) -> bool {
    let mut inside: Vec<i64> = Vec::new();
    for &i in order {
        match ops[i].does {
            Does::Add(v) => inside.push(v),
            Does::Remove(Some(v)) => match inside.iter().position(|&x| x == v) {
                Some(at) => drop(inside.remove(at)),
                None => return false,
            },
            Does::Remove(None) => {}
        }
    }
    true
}
