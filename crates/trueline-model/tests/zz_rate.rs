mod support;
use support::*;
use trueline::Budget;
use trueline_model::engine::*;
#[test]
fn rate() {
    let pick = std::env::var("PICK").unwrap_or_default();
    let n: usize = std::env::var("N").unwrap().parse().unwrap();
    let p = match &pick[..] {
        "register" => register(n, 4),
        "points" => counter_with_points(n, 4),
        _ => counter(n, 4, Some(1)),
    };
    let f = std::env::var("F").unwrap_or_default();
    let o = Options {
        symmetry: f.contains('s'),
        partial_order: f.contains('p'),
        antichain: f.contains('a'),
        points: pick == "points",
        threads: if f.contains('2') { 2 } else { 1 },
        ..Options::plain()
    };
    let t = std::time::Instant::now();
    let r = verify(&p, &o, &Budget::unlimited());
    let s = t.elapsed().as_secs_f64();
    println!(
        "{pick} {n} {f}: states {} trans {} sets {} bytes/state {:.1} {:.2}s {:.0}/s depth {} term {} verified {}",
        r.states,
        r.transitions,
        r.sets,
        r.bytes as f64 / (r.states - if f.contains('a') { 0 } else { r.terminal }) as f64,
        s,
        r.states as f64 / s,
        r.depth,
        r.terminal,
        matches!(r.verdict, Verdict::Verified)
    );
}
