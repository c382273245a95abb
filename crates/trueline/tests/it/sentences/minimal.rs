//! What may leave an explanation so that the rest is a violation for the same reason, told once
//! more from the names of methods: an operation that only looks, everything that is done to one
//! value of a container, a write that nobody reads, what is added to a collection that grows and
//! that no read shows. An explanation that is said to be minimal has an order without any of them.

use trueline::Value;

use super::scene::{Op, Scene};

/// Containers in which a value can be left out without a trace: those without a bound on what is
/// inside, and on how many removals are late.
const CONTAINERS: &[&str] = &["queue", "stack", "deque", "priority-queue", "semiqueue"];
const REGISTERS: &[&str] = &["register", "cas-register", "rmw"];

/// Operations, shown or not, beyond which brute force would take too long; and that are added to
/// what is shown in all ways.
const MOST: usize = 12;
const ALL_WAYS: usize = 6;

impl Scene<'_> {
    /// What is shown must be a violation whatever else of the history is added to it: otherwise a
    /// reader may ask why one of the operations that are not shown does not help.
    pub(crate) fn stays_a_violation(&self) -> Result<(), String> {
        let others: Vec<usize> =
            self.all().map(|(i, _)| i).filter(|i| !self.told.contains(i)).collect();
        if self.told.len() + others.len() > MOST {
            return Ok(());
        }
        let sets: Vec<u32> = match others.len() {
            n if n <= ALL_WAYS => (1..1 << n).collect(),
            n => (0..n).flat_map(|a| (0..=a).map(move |b| 1 << a | 1 << b)).collect(),
        };
        for set in sets {
            let added = others.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1);
            let added: Vec<usize> = added.map(|(_, &i)| i).collect();
            let mut all: Vec<usize> = self.told.iter().chain(&added).copied().collect();
            all.sort_unstable();
            if (self.in_time)(&all) {
                return Err(format!("together with {added:?} it has an order"));
            }
        }
        Ok(())
    }

    /// Operations that are shown and may leave together.
    pub(crate) fn may_leave(&self, looks: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> =
            self.told.iter().filter(|&&i| looks(i)).map(|&i| vec![i]).collect();
        if CONTAINERS.contains(&self.spec) {
            let value = |op: &Op<'_>| op.args.first().or(op.result.as_ref()).cloned();
            let all = self.told.iter().map(|&i| value(self.op(i)));
            let mut values: Vec<Value> = all.flatten().filter(|v| !v.is_nil()).collect();
            // What is inside at first stays inside.
            values.retain(|v| !self.initial.contains(v));
            values.sort();
            values.dedup();
            let of = |v: &Value| {
                let is_it = |i: &&usize| value(self.op(**i)).as_ref() == Some(v);
                self.told.iter().filter(is_it).copied().collect()
            };
            groups.extend(values.iter().map(of));
        }
        groups.extend(self.unseen_additions());
        // A cas that fails needs another value than the one it names.
        let fails = |i: &usize| self.op(*i).result == Some(Value::Bool(false));
        if REGISTERS.contains(&self.spec) && !self.told.iter().any(fails) {
            let reads = |op: &Op<'_>, value: &Value| match op.method {
                "read" => op.result.as_ref() == Some(value),
                "write" => false,
                _ => op.args[0] == *value,
            };
            let is_unread = |i: &&usize| {
                let op = self.op(**i);
                op.method == "write"
                    && !self.told.iter().any(|&other| reads(self.op(other), &op.args[0]))
            };
            groups.extend(self.told.iter().filter(is_unread).map(|&i| vec![i]));
        }
        groups
    }

    /// Additions that no read shows: whatever else is shown has an order without them, if it has
    /// one with them.
    fn unseen_additions(&self) -> Vec<Vec<usize>> {
        let told = || self.told.iter().map(|&i| (i, self.op(i)));
        let shown: Vec<&Value> = told().filter_map(|(_, op)| op.result.as_ref()).collect();
        let is_seen = |value: &Value| {
            shown.iter().any(|result| match (result, value) {
                (Value::List(all), _) => all.contains(value),
                (Value::Text(all), Value::Text(piece)) => all.contains(piece.as_str()),
                _ => false,
            })
        };
        // Where a value is shown that nothing brings which is shown, the rest is a violation for
        // another reason.
        let brings = |value: &Value| {
            let own = |(_, op): (usize, &Op<'_>)| op.args.first() == Some(value);
            self.initial.contains(value) || told().any(own)
        };
        let is_whole = |result: &&Value| match result {
            Value::List(all) => all.iter().all(brings),
            Value::Text(text) => text.is_empty(),
            _ => true,
        };
        let mut groups = Vec::new();
        if !shown.iter().all(is_whole) {
            return groups;
        }
        for (i, op) in told() {
            match (self.spec, op.method) {
                // All that is done to one value.
                ("set", "add" | "remove" | "contains") if !self.initial.contains(&op.args[0]) => {
                    let own = |other: &Op<'_>| other.args.first() == Some(&op.args[0]);
                    if !is_seen(&op.args[0]) {
                        groups.push(told().filter(|(_, other)| own(other)).map(|o| o.0).collect());
                    }
                }
                ("log", "append") => {
                    let index =
                        |(_, other): (usize, &Op<'_>)| matches!(other.result, Some(Value::Int(_)));
                    if !is_seen(&op.args[0]) && !told().any(index) {
                        groups.push(vec![i]);
                    }
                }
                ("kv", "append")
                    if !is_seen(&op.args[1]) && told().all(|(_, other)| other.method != "put") =>
                {
                    groups.push(vec![i]);
                }
                _ => {}
            }
        }
        groups
    }
}
