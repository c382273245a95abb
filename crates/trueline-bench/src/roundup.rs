//! Tables II, III and V of the paper on Round-Up, beside what we find.
//!
//! The paper gives the shape of each program (`2*2+4`: two threads of two calls, and four of the main thread), not the program; ours have
//! that shape, and as many removals as additions. Table II asks for linearizability, Tables III and V for quasi
//! linearizability with the factor 2, or 3 where the row says so.
//!
//! Our numbers of histories differ from the paper's: our objects are written anew, so that they have other steps; one history stands for all
//! executions with the same results and real-time order; and an exploration ends at the first history that is wrong.

use std::time::Instant;

use trueline_objects::simulate::{self, Request, Verdict, program};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only rows that contain this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A row of the paper: class, object, program, factor (none: linearizability), whether there is a violation, buggy and all histories, seconds.
struct Row {
    table: &'static str,
    class: &'static str,
    object: &'static str,
    program: &'static str,
    factor: Option<u32>,
    violation: bool,
    histories: &'static str,
    seconds: f64,
}

const FILL: &str = "enq(1) enq(2) | enq(3) enq(4); after deq() deq() deq() deq()";
const FILL_STACK: &str = "push(1) push(2) | push(3) push(4); after pop() pop() pop() pop()";
const FILL_PRIORITY: &str =
    "insert(1) insert(2) | insert(3) insert(4); after poll() poll() poll() poll()";
const RACE_STACK: &str = "before push(3) push(4); push(1) pop() | push(2) pop(); after pop() pop()";
const P334: &str = "enq(1) enq(2) enq(3) | enq(4) enq(5) deq(); after deq() deq() deq() deq()";
const P233: &str = "enq(1) enq(2) | enq(3) enq(4) deq(); after deq() deq() deq()";
const P332: &str = "enq(1) enq(2) deq() | enq(3) enq(4) deq(); after deq() deq()";
const P341: &str = "enq(1) enq(2) deq() | enq(3) enq(4) deq() deq(); after deq()";
const P440: &str = "enq(1) enq(2) deq() deq() | enq(3) enq(4) deq() deq()";
const ENQ_DEQ: &str = "before enq(1) enq(2) enq(3) enq(4) enq(5) enq(6); enq(7) | deq(); after deq() deq() deq() deq() deq() deq()";
const ENQ_ENQ: &str = "before enq(1) enq(2) enq(3) enq(4) enq(5); enq(6) | enq(7); after deq() deq() deq() deq() deq() deq() deq()";
const DEQ_DEQ: &str = "before enq(1) enq(2) enq(3) enq(4) enq(5) enq(6) enq(7); deq() | deq(); after deq() deq() deq() deq() deq()";
const PUSH_POP: &str = "before push(1) push(2) push(3) push(4) push(5) push(6); push(7) | pop(); after pop() pop() pop() pop() pop() pop()";
const PUSH_PUSH: &str = "before push(1) push(2) push(3) push(4) push(5); push(6) | push(7); after pop() pop() pop() pop() pop() pop() pop()";
const POP_POP: &str = "before push(1) push(2) push(3) push(4) push(5) push(6) push(7); pop() | pop(); after pop() pop() pop() pop() pop()";
/// The uppermost segment is empty when the two meet.
const MEET: &str = "before push(1) push(2) push(3) push(4) pop() push(5) push(6) pop(); push(7) | pop(); after pop() pop() pop() pop()";

const fn row(
    table: &'static str,
    class: &'static str,
    object: &'static str,
    program: &'static str,
    factor: Option<u32>,
    violation: bool,
    histories: &'static str,
    seconds: f64,
) -> Row {
    Row { table, class, object, program, factor, violation, histories, seconds }
}

const LIN: Option<u32> = None;
const Q2: Option<u32> = Some(2);
const Q3: Option<u32> = Some(3);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("II", "IQueue 2*2+0", "incorrect-queue", "enq(1) deq() | enq(2) deq()", LIN, true, "2/6", 0.3),
    row("II", "Herlihy/Wing queue 2*2+0", "herlihy-wing-queue", "enq(1) deq() | enq(2) deq()", LIN, false, "0/4", 0.2),
    row("II", "Quasi Queue 2*2+4", "quasi-queue", FILL, LIN, true, "16/16", 2.5),
    row("II", "Quasi Queue 3*3+4", "quasi-queue", P334, LIN, true, "64/64", 43.7),
    row("II", "Quasi Queue 2*3+3", "quasi-queue", P233, LIN, true, "24/32", 8.3),
    row("II", "Quasi Queue 3*3+2", "quasi-queue", P332, LIN, true, "108/118", 83.0),
    row("II", "Quasi Queue 3*4+1", "quasi-queue", P341, LIN, true, "149/198", 308.0),
    row("II", "Quasi Queue 4*4+0", "quasi-queue", P440, LIN, true, "274/476", 2254.0),
    row("II", "Quasi Queue b1 2*2+4", "quasi-queue-b1", FILL, LIN, true, "91/91", 17.8),
    row("II", "Quasi Queue b2 2*2+4", "quasi-queue-b2", FILL, LIN, true, "91/91", 18.1),
    row("II", "Quasi Queue b3 2*2+4", "quasi-queue-b3", FILL, LIN, true, "141/141", 26.9),
    row("II", "Quasi Stack b1 2*2+4", "quasi-stack-b1", RACE_STACK, LIN, true, "9/9", 1.6),
    row("II", "Quasi Stack b2 2*2+4", "quasi-stack-b2", FILL_STACK, LIN, true, "16/16", 2.5),
    row("II", "Quasi Stack 2*2+4", "quasi-stack", FILL_STACK, LIN, false, "0/16", 2.5),
    row("II", "Quasi Priority Queue 2*2+4", "quasi-priority-queue", FILL_PRIORITY, LIN, true, "16/16", 4.9),
    row("II", "Quasi Priority Queue b2 2*2+4", "quasi-priority-queue-b2", FILL_PRIORITY, LIN, true, "125/125", 27.0),
    row("III", "Quasi Queue 2*2+4", "quasi-queue", FILL, Q2, false, "0/16", 2.9),
    row("III", "Quasi Queue 3*3+4", "quasi-queue", P334, Q2, false, "0/64", 333.0),
    row("III", "Quasi Queue 2*3+3", "quasi-queue", P233, Q2, false, "0/32", 9.6),
    row("III", "Quasi Queue 3*3+2", "quasi-queue", P332, Q2, false, "0/118", 94.0),
    row("III", "Quasi Queue 3*4+1", "quasi-queue", P341, Q2, false, "0/198", 340.0),
    row("III", "Quasi Queue 4*4+0", "quasi-queue", P440, Q2, false, "0/476", 2456.0),
    row("III", "Quasi Queue (qfactor=3) 2*3+3", "quasi-queue", P233, Q3, false, "0/32", 14.9),
    row("III", "Quasi Queue (qfactor=3) 3*3+2", "quasi-queue", P332, Q3, false, "0/118", 156.0),
    row("III", "Quasi Queue (qfactor=3) 3*4+1", "quasi-queue", P341, Q3, false, "0/198", 615.0),
    row("III", "Quasi Queue (qfactor=3) 4*4+0", "quasi-queue", P440, Q3, false, "0/476", 4172.0),
    row("III", "Quasi Queue b1 2*2+4", "quasi-queue-b1", FILL, Q2, true, "41/91", 20.1),
    row("III", "Quasi Queue b2 2*2+4", "quasi-queue-b2", FILL, Q2, true, "91/91", 20.2),
    row("III", "Quasi Queue b3 2*2+4", "quasi-queue-b3", FILL, Q2, true, "73/141", 31.0),
    row("III", "Quasi Stack b1 2*2+4", "quasi-stack-b1", RACE_STACK, Q2, true, "9/9", 3.5),
    row("III", "Quasi Stack b2 2*2+4", "quasi-stack-b2", FILL_STACK, Q2, true, "6/16", 2.8),
    row("III", "Quasi Stack b3 (correct) 2*2+4", "quasi-stack", FILL_STACK, Q2, false, "0/16", 2.8),
    row("III", "Quasi Priority Queue 2*2+4", "quasi-priority-queue", FILL_PRIORITY, Q2, false, "0/16", 4.7),
    row("III", "Quasi Priority Queue b2 2*2+4", "quasi-priority-queue-b2", FILL_PRIORITY, Q2, true, "54/125", 20.0),
    row("V", "sl-queue (enq+deq)", "single-list-queue", ENQ_DEQ, Q2, false, "0/2", 1.61),
    row("V", "sl-queue (enq+enq)", "single-list-queue", ENQ_ENQ, Q2, true, "1/2", 1.78),
    row("V", "sl-queue (deq+deq)", "single-list-queue", DEQ_DEQ, Q2, true, "4/8", 7.21),
    row("V", "t-stack (push+pop)", "treiber-stack", PUSH_POP, Q2, false, "0/8", 7.77),
    row("V", "t-stack (push+push)", "treiber-stack", PUSH_PUSH, Q2, false, "0/8", 7.78),
    row("V", "t-stack (pop+pop)", "treiber-stack", POP_POP, Q2, false, "0/8", 7.63),
    row("V", "ms-queue (enq+deq)", "michael-scott-queue", ENQ_DEQ, Q2, false, "0/3", 2.94),
    row("V", "ms-queue (enq+enq)", "michael-scott-queue", ENQ_ENQ, Q2, false, "0/31", 32.47),
    row("V", "ms-queue (deq+deq)", "michael-scott-queue", DEQ_DEQ, Q2, false, "0/12", 12.33),
    row("V", "rd-queue (enq+deq)", "random-dequeue-queue", ENQ_DEQ, Q2, false, "0/5", 5.97),
    row("V", "rd-queue (enq+enq)", "random-dequeue-queue", ENQ_ENQ, Q2, false, "0/31", 37.83),
    row("V", "rd-queue (deq+deq)", "random-dequeue-queue", DEQ_DEQ, Q2, false, "0/4", 7.31),
    row("V", "ubk-queue (enq+deq)", "k-fifo-queue", ENQ_DEQ, Q2, false, "0/21", 35.71),
    row("V", "ubk-queue (enq+enq)", "k-fifo-queue", ENQ_ENQ, Q2, false, "0/41", 61.94),
    row("V", "ubk-queue (deq+deq)", "k-fifo-queue", DEQ_DEQ, Q2, false, "0/52", 68.21),
    row("V", "k-stack (push+pop)", "k-stack-as-published", MEET, Q2, true, "11/69", 89.0),
    row("V", "k-stack (push+push)", "k-stack-as-published", PUSH_PUSH, Q2, false, "0/12", 15.13),
    row("V", "k-stack (pop+pop)", "k-stack-as-published", POP_POP, Q2, false, "0/8", 9.46),
];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let only = arguments.only.as_deref().unwrap_or_default();
    let asked = |row: &&Row| format!("{} {} {}", row.table, row.class, row.object).contains(only);
    println!(
        "{:<5} {:<32} {:<24} {:>9} {:>10}   {:<9} {:>9} {:>10} {:>9}",
        "table",
        "class",
        "our object",
        "violation",
        "histories",
        "ours",
        "histories",
        "time",
        "faster"
    );
    let (mut rows, mut same, mut slow) = (0, 0, 0);
    for row in ROWS.iter().filter(asked) {
        let entry = simulate::find(row.object)
            .ok_or_else(|| anyhow::anyhow!("no object is called {}", row.object))?;
        let spec = match row.factor {
            Some(factor) => entry.displaced_by(factor),
            None => entry.strict(),
        };
        let cases =
            vec![program::case(row.program).map_err(|e| anyhow::anyhow!("{}: {e}", row.class))?];
        let start = Instant::now();
        // The retries of a k-stack have no bound that the full search would see.
        let preemptions = row.object.starts_with("k-stack").then_some(2);
        let found = entry.run(&Request { cases, spec, preemptions, ..Request::default() });
        let found = found.map_err(|e| anyhow::anyhow!("{}: {e}", row.class))?;
        let seconds = start.elapsed().as_secs_f64();
        let (verdict, agrees) = match &found.verdict {
            Verdict::Holds => ("holds", !row.violation),
            Verdict::Violation(_) => ("violation", row.violation),
            Verdict::Undecided(_) => ("undecided", false),
        };
        let faster = row.seconds / seconds;
        rows += 1;
        same += usize::from(agrees);
        slow += usize::from(faster < 100.0);
        println!(
            "{:<5} {:<32} {:<24} {:>9} {:>10}   {:<9} {:>9} {:>7.2} ms {:>8.0}x{}",
            row.table,
            row.class,
            row.object,
            if row.violation { "YES" } else { "NO" },
            row.histories,
            verdict,
            found.counts.histories,
            seconds * 1e3,
            faster,
            if agrees { "" } else { "  DIFFERS" },
        );
    }
    println!(
        "{same} of {rows} rows have the verdict of the paper; {slow} are less than 100 times faster"
    );
    anyhow::ensure!(same == rows, "{} rows differ", rows - same);
    Ok(())
}
