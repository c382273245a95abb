//! The built-in specifications.

use trueline::history::{Builder, Call, Position};
use trueline::spec::{self, Builtin};
use trueline::{History, Value};

use super::seeds;
use crate::oracle::compare::compare;
use crate::oracle::every_spec::{Visit, every_spec};
use crate::oracle::random::{Shape, random_history};
use trueline::rng::Rng;

struct Compare {
    seeds: u64,
    names: Vec<String>,
}

impl Visit for Compare {
    fn visit<B: Builtin>(&mut self, name: &str, spec: B) {
        let mut good = 0;
        for seed in seeds() {
            let mut random = Rng::new(seed);
            let shape = Shape::up_to(8, &mut random);
            let raw = random_history(&spec, shape, &mut random);
            let history = raw.decode(|m, args, result| spec.decode(m, args, result)).unwrap();
            match compare(&spec, &history) {
                Ok(linearizable) => good += u64::from(linearizable),
                Err(e) => panic!("{name}, seed {seed}: {e}"),
            }
        }
        assert!(good > 0 && good < self.seeds, "{name}: {good} of {} are good", self.seeds);
        self.names.push(name.to_string());
    }
}

#[test]
fn every_algorithm_agrees_with_the_oracle() {
    let mut compare = Compare { seeds: seeds().cases(), names: Vec::new() };
    every_spec(&mut compare);
    let covers =
        |name: &str| compare.names.iter().any(|n| n == name || n.starts_with(&format!("{name}:")));
    for info in spec::all() {
        assert!(covers(info.name), "{} is not compared", info.name);
    }
}

/// More than 64 operations that are pending for ever need masks of more than one word; those here
/// were called after everything else and change nothing.
#[test]
fn more_than_64_pending_operations() {
    let spec = spec::queue();
    for seed in seeds().one_in(5) {
        let mut random = Rng::new(seed);
        let shape = Shape { operations: 5, processes: 3, wrong: 20, unknown: 10, values: 3 };
        let small = random_history(&spec, shape, &mut random);
        let decode = |h: &History| h.decode(|m, args, r| spec.decode(m, args, r)).unwrap();
        let wide = with_idle_pending(&small, 70);
        let narrow = compare(&spec, &decode(&small)).unwrap();
        for algorithm in [trueline::Algorithm::DepthFirst, trueline::Algorithm::JustInTime] {
            let check = trueline::Check::new(spec.clone()).algorithm(algorithm);
            let verdict = check.run(&decode(&wide)).verdict;
            assert_eq!(verdict.is_linearizable(), narrow, "seed {seed} {verdict:?}");
            assert_eq!(verdict.is_violation(), !narrow, "seed {seed} {verdict:?}");
        }
    }
}

/// The same history, with calls that never return at its end.
fn with_idle_pending(history: &History, extra: u32) -> History {
    let mut builder = Builder::new();
    let at = Position::default();
    let mut events: Vec<(u32, usize)> = Vec::new();
    for (i, o) in history.operations().iter().enumerate() {
        events.push((o.call, i));
        if !o.is_pending() {
            events.push((o.returned, i));
        }
    }
    events.sort_unstable();
    let part = builder.part(Default::default());
    for (rank, i) in events {
        let o = &history.operations()[i];
        // A process of its own for each operation: pending ones may stay open.
        let process = builder.process(&Value::Int(i as i64));
        if rank == o.call {
            let method = builder.method(&history.methods()[o.op.method as usize]);
            builder.call(process, part, Call { method, args: o.op.args.clone() }, at).unwrap();
        } else {
            builder.returns(process, o.result.clone().unwrap(), at).unwrap();
        }
    }
    let method = builder.method("enq");
    for i in 0..extra {
        let process = builder.process(&Value::Int(1000 + i64::from(i)));
        let args = vec![Value::Int(5000 + i64::from(i))].into();
        builder.call(process, part, Call { method, args }, at).unwrap();
    }
    builder.finish()
}

/// A cas that is pending for ever may have changed the register, though the theory of registers has
/// no word for it.
#[test]
fn a_pending_cas_is_not_left_out_by_the_theories() {
    let spec = spec::cas_register(Some(Value::Int(0)));
    let mut builder = Builder::new();
    let at = Position::default();
    let part = builder.part(Default::default());
    let (cas, read) = (builder.method("cas"), builder.method("read"));
    let (one, two) = (builder.process(&Value::Int(1)), builder.process(&Value::Int(2)));
    let args = vec![Value::Int(0), Value::Int(5)].into();
    builder.call(one, part, Call { method: cas, args }, at).unwrap();
    builder.call(two, part, Call { method: read, args: vec![].into() }, at).unwrap();
    builder.returns(two, Value::Int(5), at).unwrap();
    let history = builder.finish().decode(|m, args, r| spec.decode(m, args, r)).unwrap();
    assert_eq!(compare(&spec, &history), Ok(true));
}

/// The theory of locks lets a pending acquire find the lock held; such an acquire is no part of a
/// witness.
#[test]
fn a_pending_acquire_that_blocks_is_no_part_of_a_witness() {
    let spec = spec::mutex();
    for pending in 0..4 {
        let mut builder = Builder::new();
        let at = Position::default();
        let part = builder.part(Default::default());
        let call = Call { method: builder.method("acquire"), args: vec![].into() };
        for p in 0..=pending {
            let process = builder.process(&Value::Int(p));
            builder.call(process, part, call.clone(), at).unwrap();
        }
        let last = builder.process(&Value::Int(pending));
        builder.returns(last, Value::Nil, at).unwrap();
        let history = builder.finish().decode(|m, args, r| spec.decode(m, args, r)).unwrap();
        assert_eq!(compare(&spec, &history), Ok(true));
    }
}
