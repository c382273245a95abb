//! Every built-in specification, with parameters that matter, by its type.

use trueline::Value;
use trueline::spec::{self, Builtin};

/// Something to do with each of them.
pub trait Visit {
    fn visit<B: Builtin>(&mut self, name: &str, spec: B);
}

/// Shows every specification to the visitor, under the name that the command line knows.
pub fn every_spec(visitor: &mut impl Visit) {
    let items = |values: &[i64]| values.iter().map(|&v| Value::Int(v)).collect::<Vec<_>>();
    visitor.visit("register", spec::register(Value::Nil));
    visitor.visit("register:init=?", spec::unknown_register());
    visitor.visit("cas-register:init=0", spec::cas_register(Some(Value::Int(0))));
    visitor.visit("rmw", spec::rmw(Value::Int(0)));
    visitor.visit("counter", spec::counter());
    visitor.visit("counter:init=3", spec::counter().with_init(3));
    visitor.visit("kv", spec::kv());
    visitor.visit("map", spec::map());
    visitor.visit("queue", spec::queue());
    visitor.visit("queue:init=[1 0]", spec::queue().with_init(items(&[1, 0])));
    visitor.visit("bounded-queue:capacity=2", spec::bounded_queue(2));
    visitor.visit("stack", spec::stack());
    visitor.visit("stack:init=[1 0]", spec::stack().with_init(items(&[1, 0])));
    visitor.visit("deque", spec::deque());
    visitor.visit("deque:init=[1 0]", spec::deque().with_init(items(&[1, 0])));
    visitor.visit("priority-queue", spec::priority_queue());
    visitor.visit("priority-queue:init=[1 1]", spec::priority_queue().with_init(items(&[1, 1])));
    visitor.visit("priority-queue:order=min", spec::priority_queue().smallest_first());
    visitor.visit("bounded-priority-queue:capacity=2", spec::bounded_priority_queue(2));
    visitor.visit("set", spec::set());
    visitor.visit("set:init=[0 1]", spec::set().with_init(items(&[0, 1])));
    visitor.visit("multiset", spec::multiset());
    visitor.visit("multiset:init=[1 1]", spec::multiset().with_init(items(&[1, 1])));
    visitor.visit("mutex", spec::mutex());
    visitor.visit("owner-mutex", spec::owner_mutex());
    visitor.visit("owner-mutex:reentrant=true", spec::owner_mutex().reentrant());
    visitor.visit("semaphore", spec::semaphore(0));
    visitor.visit("semaphore:init=1", spec::semaphore(1));
    visitor.visit("snzi", spec::snzi(0));
    visitor.visit("log", spec::log());
    visitor.visit("log:init=[1]", spec::log().with_init(items(&[1])));
    visitor.visit("snapshot", spec::snapshot(None));
    visitor.visit("semiqueue:k=2", spec::semiqueue(2));
    visitor.visit("stuttering-queue:j=2", spec::stuttering_queue(2));
    let none = spec::Relaxation::default();
    let strict = spec::Relaxation { out_of_order: Some(1), lateness: Some(1), ..none };
    visitor.visit(
        "relaxed-queue:out-of-order=1,lateness=1",
        spec::relaxed(spec::Turn::Oldest, strict),
    );
    let passing = spec::Relaxation { out_of_order: Some(1), ..none };
    visitor.visit("relaxed-stack:out-of-order=1", spec::relaxed(spec::Turn::Newest, passing));
    visitor.visit(
        "relaxed-priority-queue:out-of-order=1",
        spec::relaxed(spec::Turn::Largest, passing),
    );
    let window = spec::Relaxation { window: Some(2), ..none };
    visitor.visit("relaxed-stack:window=2", spec::relaxed(spec::Turn::Newest, window));
    let stutter = spec::Relaxation { stutter: 2, ..none };
    visitor.visit("relaxed-priority-queue:stutter=2", spec::relaxed(spec::Turn::Largest, stutter));
}

/// A specification that is missing above would escape the tests that use it.
#[test]
fn every_built_in_specification_is_visited() {
    #[derive(Default)]
    struct Names(Vec<String>);
    impl Visit for Names {
        fn visit<B: Builtin>(&mut self, name: &str, _: B) {
            self.0.push(name.split(':').next().unwrap_or(name).to_string());
        }
    }
    let mut visited = Names::default();
    every_spec(&mut visited);
    for info in spec::all() {
        assert!(visited.0.iter().any(|name| name == info.name), "{} is missing", info.name);
    }
}
