use std::sync::Arc;
use trueline::Budget;
use trueline_model::engine::{Options, verify};
use trueline_model::{Model, Semantics};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let source = std::fs::read_to_string(&args[1]).unwrap();
    let mut model = Model::parse(&source).unwrap_or_else(|e| panic!("{}", e.render("m", &source)));
    let mut o = Options::default();
    for a in &args[2..] {
        if a == "antichain" {
            o.antichain = false
        } else if a == "por" {
            o.partial_order = false
        } else if a == "sym" {
            o.symmetry = false
        } else {
            let (k, v) = a.split_once('=').unwrap();
            model.set(k, v.parse().unwrap()).unwrap();
        }
    }
    let p = Arc::new(model.compile(Semantics::Default, false).unwrap());
    let r = verify(&p, &o, &Budget::unlimited());
    let v = format!("{:?}", r.verdict);
    println!(
        "{} states, {} transitions, depth {}, sets {}: {}",
        r.states,
        r.transitions,
        r.depth,
        r.sets,
        &v[..v.len().min(200)]
    );
}
