//! The number of executions of programs whose number of traces is known in closed form.
//!
//! `TRUELINE_CASES=n` with `n` above 1,000 adds the large ones.

use crate::common::{Cell, boxed, threads};
use trueline_explore::engine::Exploration;

#[track_caller]
fn check(name: &str, traces: u64, body: impl Fn() + Sync) {
    for workers in [1, 2, 4] {
        let start = std::time::Instant::now();
        let report = Exploration::new().workers(workers).run(&body);
        let rate = report.executions as f64 / start.elapsed().as_secs_f64();
        println!("{name}: {} executions, {rate:.0}/s, workers {workers}", report.executions);
        assert_eq!(report.failure, None, "{name}");
        assert_eq!((report.executions, report.blocked), (traces, 0), "{name}, {workers} workers");
        assert!(report.holds(), "{name}");
    }
}

fn large() -> bool {
    std::env::var("TRUELINE_CASES").is_ok_and(|n| n.parse::<u64>().is_ok_and(|n| n > 1000))
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// `n` threads add `k` times each to one cell: (nk)! / (k!)^n.
#[test]
fn counters() {
    let mut sizes = vec![(1, 3), (2, 1), (2, 2), (3, 1), (2, 3), (3, 2), (4, 2), (7, 1), (2, 6)];
    if large() {
        sizes.extend([(5, 2), (3, 4), (9, 1)]);
    }
    for (n, k) in sizes {
        let traces = factorial(n * k) / factorial(k).pow(n as u32);
        check(&format!("counter({n}, {k})"), traces, || {
            threads((0..n).map(|_| {
                boxed(move || {
                    for _ in 0..k {
                        Cell(8).add(1);
                    }
                })
            }));
        });
    }
}

/// One writer and `n` readers of one cell: 2^n.
#[test]
fn readers() {
    for n in 0..=if large() { 16 } else { 11 } {
        check(&format!("readers({n})"), 1 << n, || {
            threads((0..=n).map(|i| {
                boxed(move || {
                    if i == 0 {
                        Cell(8).store(1);
                    } else {
                        Cell(8).load();
                    }
                })
            }));
        });
    }
}

/// Thread 0 looks for the last zero of an array; thread `i` sets entry `i` to that of `i - 1` and
/// one: (n + 3) 2^(n - 2).
#[test]
fn last_zero() {
    let entry = |i: usize| Cell(8 + 8 * i);
    for n in 2..=if large() { 15 } else { 9 } {
        check(&format!("lastzero({n})"), (n as u64 + 3) << (n - 2), || {
            threads((0..=n).map(|i| {
                boxed(move || {
                    if i > 0 {
                        let before = entry(i - 1).load();
                        entry(i).store(before + 1);
                    } else {
                        let mut i = n;
                        while entry(i).load() != 0 {
                            i -= 1;
                        }
                    }
                })
            }));
        });
    }
}

/// Threads insert four messages each into a shared hash table of 128 slots (Flanagan and Godefroid
/// 2005): the first eleven do not meet; each further one meets another three times.
#[test]
fn indexer() {
    for n in [1, 2, 10, 11, 12, 13, 14, 15].into_iter().take(if large() { 8 } else { 6 }) {
        let traces = 8u64.pow((n as u32).saturating_sub(11));
        check(&format!("indexer({n})"), traces, || {
            threads((0..n).map(|thread| {
                boxed(move || {
                    for m in 1..=4 {
                        let message = m * 11 + thread;
                        let mut slot = message * 7 % 128;
                        while Cell(8 + 8 * slot).compare_exchange(0, message as u64).is_err() {
                            slot = (slot + 1) % 128;
                        }
                    }
                })
            }));
        });
    }
}

/// Threads allocate a disk block for an inode (Flanagan and Godefroid 2005): 32 inodes and 26
/// blocks with a lock each; from the fourteenth on, each further one meets another once.
#[test]
fn file_system() {
    let (inode_lock, inode) = (|i: usize| Cell(1000 + i), |i: usize| Cell(2000 + i));
    let (block_lock, busy) = (|b: usize| Cell(3000 + b), |b: usize| Cell(4000 + b));
    for n in [1, 12, 13, 14, 15, 16, 18, 20, 22].into_iter().take(if large() { 9 } else { 7 }) {
        let traces = 1 << usize::saturating_sub(n, 13);
        check(&format!("filesystem({n})"), traces, || {
            threads((0..n).map(|thread| {
                boxed(move || {
                    let i = thread % 32;
                    inode_lock(i).lock();
                    if inode(i).load() == 0 {
                        let mut b = i * 2 % 26;
                        loop {
                            block_lock(b).lock();
                            if busy(b).load() == 0 {
                                busy(b).store(1);
                                inode(i).store(b as u64 + 1);
                                block_lock(b).unlock();
                                break;
                            }
                            block_lock(b).unlock();
                            b = (b + 1) % 26;
                        }
                    }
                    inode_lock(i).unlock();
                })
            }));
        });
    }
}

/// A Treiber stack whose nodes are numbers: `next` of a node is written before the compare-exchange
/// of `head`.
fn treiber(pairs: u64) {
    let (head, next) = (Cell(8), |node: u64| Cell(16 + 8 * node as usize));
    threads((1..=pairs).map(|node| {
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
}

#[test]
fn treiber_stacks() {
    check("Treiber 2 x (push, pop)", 46, || treiber(2));
    let start = std::time::Instant::now();
    check("Treiber 3 x (push, pop)", 68_892, || treiber(3));
    println!("{:?}", start.elapsed());
}
