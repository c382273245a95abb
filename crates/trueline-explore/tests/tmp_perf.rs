mod common;
use common::{Cell, boxed, threads};
use trueline_explore::engine::Exploration;
#[test]
fn perf() {
    let t = std::time::Instant::now();
    let mut n = 0;
    while t.elapsed().as_secs() < 6 {
        let r = Exploration::new().run(|| {
            let (head, next) = (Cell(8), |node: u64| Cell(16 + 8 * node as usize));
            threads((1..=3).map(|node| {
                boxed(move || {
                    loop {
                        let top = head.load();
                        next(node).store(top);
                        if head.compare_exchange(top, node).is_ok() {
                            break;
                        }
                    }
                    loop {
                        let top = head.load();
                        if top == 0 {
                            break;
                        }
                        let below = next(top).load();
                        if head.compare_exchange(top, below).is_ok() {
                            break;
                        }
                    }
                })
            }));
        });
        n += r.executions;
    }
    println!("{} {:?} {:.0}/s", n, t.elapsed(), n as f64 / t.elapsed().as_secs_f64());
}
