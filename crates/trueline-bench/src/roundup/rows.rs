//! The rows of the paper's Tables II, III and V, and a program of ours for each.
//!
//! The paper gives the shape of each program (`2*2+4`: two threads of two calls, and four of the
//! main thread), not the program. Ours have that shape and remove as many values as they add. They
//! say `add` and `take`, whatever the object calls it.

/// A row of the paper, and what we run for it.
pub(super) struct Row {
    pub(super) table: Table,
    pub(super) class: &'static str,
    pub(super) object: &'static str,
    pub(super) shape: Shape,
    /// None: linearizability.
    pub(super) factor: Option<u32>,
    /// The paper's: whether there is a violation, histories that are one and all of them, seconds
    /// of Phase 2.
    pub(super) violation: bool,
    pub(super) histories: (u32, u32),
    pub(super) seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Two,
    Three,
    Five,
}

impl Table {
    /// As the paper counts them.
    pub(super) fn number(self) -> &'static str {
        match self {
            Table::Two => "II",
            Table::Three => "III",
            Table::Five => "V",
        }
    }
}

/// What a program looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// As the paper writes it.
    pub(super) name: &'static str,
    program: &'static str,
}

impl Shape {
    /// The program for an object with these methods.
    pub(super) fn program(self, add: &str, take: &str) -> String {
        self.program.replace("add", add).replace("take", take)
    }
}

const fn shape(name: &'static str, program: &'static str) -> Shape {
    Shape { name, program }
}

const S220: Shape = shape("2*2+0", "add(1) take() | add(2) take()");
const S224: Shape =
    shape("2*2+4", "add(1) add(2) | add(3) add(4); after take() take() take() take()");
/// For a fault that shows only where two removals meet.
const S224_RACE: Shape =
    shape("2*2+4", "before add(3) add(4); add(1) take() | add(2) take(); after take() take()");
const S334: Shape = shape(
    "3*3+4",
    "add(1) add(2) add(3) | add(4) add(5) take(); after take() take() take() take()",
);
const S233: Shape =
    shape("2*3+3", "add(1) add(2) | add(3) add(4) take(); after take() take() take()");
const S332: Shape =
    shape("3*3+2", "add(1) add(2) take() | add(3) add(4) take(); after take() take()");
const S341: Shape =
    shape("3*4+1", "add(1) add(2) take() | add(3) add(4) take() take(); after take()");
const S440: Shape = shape("4*4+0", "add(1) add(2) take() take() | add(3) add(4) take() take()");
const ADD_TAKE: Shape = shape(
    "1*1+12",
    "before add(1) add(2) add(3) add(4) add(5) add(6); add(7) | take(); after take() take() take() take() take() take()",
);
const ADD_ADD: Shape = shape(
    "1*1+12",
    "before add(1) add(2) add(3) add(4) add(5); add(6) | add(7); after take() take() take() take() take() take() take()",
);
const TAKE_TAKE: Shape = shape(
    "1*1+12",
    "before add(1) add(2) add(3) add(4) add(5) add(6) add(7); take() | take(); after take() take() take() take() take()",
);
/// The uppermost segment of a stack of segments of two is empty when the two meet.
const MEET: Shape = shape(
    "1*1+12",
    "before add(1) add(2) add(3) add(4) add(5) add(6) take() take(); add(7) | take(); after take() take() take() take()",
);

const fn row(
    table: Table,
    (class, object): (&'static str, &'static str),
    shape: Shape,
    factor: Option<u32>,
    histories: (u32, u32),
    seconds: f64,
) -> Row {
    Row { table, class, object, shape, factor, violation: histories.0 > 0, histories, seconds }
}

const fn ii(of: Of, shape: Shape, histories: (u32, u32), seconds: f64) -> Row {
    row(Table::Two, of, shape, None, histories, seconds)
}

const fn iii(of: Of, shape: Shape, histories: (u32, u32), seconds: f64) -> Row {
    row(Table::Three, of, shape, Some(2), histories, seconds)
}

const fn iii_3(of: Of, shape: Shape, histories: (u32, u32), seconds: f64) -> Row {
    row(Table::Three, of, shape, Some(3), histories, seconds)
}

const fn v(of: Of, shape: Shape, histories: (u32, u32), seconds: f64) -> Row {
    row(Table::Five, of, shape, Some(2), histories, seconds)
}

/// What the paper calls an object, and what we call it.
type Of = (&'static str, &'static str);

const QQ: Of = ("Quasi Queue", "quasi-queue");
const QQ_3: Of = ("Quasi Queue (qfactor=3)", "quasi-queue");
const QQ_B1: Of = ("Quasi Queue b1", "quasi-queue-b1");
const QQ_B2: Of = ("Quasi Queue b2", "quasi-queue-b2");
const QQ_B3: Of = ("Quasi Queue b3", "quasi-queue-b3");
const QS: Of = ("Quasi Stack", "quasi-stack");
/// Table III calls the correct one b3.
const QS_B3: Of = ("Quasi Stack b3 (correct)", "quasi-stack");
const QS_B1: Of = ("Quasi Stack b1", "quasi-stack-b1");
const QS_B2: Of = ("Quasi Stack b2", "quasi-stack-b2");
const QP: Of = ("Quasi Priority Queue", "quasi-priority-queue");
const QP_B2: Of = ("Quasi Priority Queue b2", "quasi-priority-queue-b2");

pub(super) const ROWS: &[Row] = &[
    ii(("IQueue", "incorrect-queue"), S220, (2, 6), 0.3),
    ii(("Herlihy/Wing queue", "herlihy-wing-queue"), S220, (0, 4), 0.2),
    ii(QQ, S224, (16, 16), 2.5),
    ii(QQ, S334, (64, 64), 43.7),
    ii(QQ, S233, (24, 32), 8.3),
    ii(QQ, S332, (108, 118), 83.0),
    ii(QQ, S341, (149, 198), 308.0),
    ii(QQ, S440, (274, 476), 2254.0),
    ii(QQ_B1, S224, (91, 91), 17.8),
    ii(QQ_B2, S224, (91, 91), 18.1),
    ii(QQ_B3, S224, (141, 141), 26.9),
    ii(QS_B1, S224_RACE, (9, 9), 1.6),
    ii(QS_B2, S224, (16, 16), 2.5),
    ii(QS, S224, (0, 16), 2.5),
    ii(QP, S224, (16, 16), 4.9),
    ii(QP_B2, S224, (125, 125), 27.0),
    iii(QQ, S224, (0, 16), 2.9),
    iii(QQ, S334, (0, 64), 333.0),
    iii(QQ, S233, (0, 32), 9.6),
    iii(QQ, S332, (0, 118), 94.0),
    iii(QQ, S341, (0, 198), 340.0),
    iii(QQ, S440, (0, 476), 2456.0),
    iii_3(QQ_3, S233, (0, 32), 14.9),
    iii_3(QQ_3, S332, (0, 118), 156.0),
    iii_3(QQ_3, S341, (0, 198), 615.0),
    iii_3(QQ_3, S440, (0, 476), 4172.0),
    iii(QQ_B1, S224, (41, 91), 20.1),
    iii(QQ_B2, S224, (91, 91), 20.2),
    iii(QQ_B3, S224, (73, 141), 31.0),
    iii(QS_B1, S224_RACE, (9, 9), 3.5),
    iii(QS_B2, S224, (6, 16), 2.8),
    iii(QS_B3, S224, (0, 16), 2.8),
    iii(QP, S224, (0, 16), 4.7),
    iii(QP_B2, S224, (54, 125), 20.0),
    v(("sl-queue (enq+deq)", "single-list-queue"), ADD_TAKE, (0, 2), 1.61),
    v(("sl-queue (enq+enq)", "single-list-queue"), ADD_ADD, (1, 2), 1.78),
    v(("sl-queue (deq+deq)", "single-list-queue"), TAKE_TAKE, (4, 8), 7.21),
    v(("t-stack (push+pop)", "treiber-stack"), ADD_TAKE, (0, 8), 7.77),
    v(("t-stack (push+push)", "treiber-stack"), ADD_ADD, (0, 8), 7.78),
    v(("t-stack (pop+pop)", "treiber-stack"), TAKE_TAKE, (0, 8), 7.63),
    v(("ms-queue (enq+deq)", "michael-scott-queue"), ADD_TAKE, (0, 3), 2.94),
    v(("ms-queue (enq+enq)", "michael-scott-queue"), ADD_ADD, (0, 31), 32.47),
    v(("ms-queue (deq+deq)", "michael-scott-queue"), TAKE_TAKE, (0, 12), 12.33),
    v(("rd-queue (enq+deq)", "random-dequeue-queue"), ADD_TAKE, (0, 5), 5.97),
    v(("rd-queue (enq+enq)", "random-dequeue-queue"), ADD_ADD, (0, 31), 37.83),
    v(("rd-queue (deq+deq)", "random-dequeue-queue"), TAKE_TAKE, (0, 4), 7.31),
    v(("bk-queue (enq+deq)", "bounded-k-fifo-queue"), ADD_TAKE, (0, 29), 34.45),
    v(("bk-queue (enq+enq)", "bounded-k-fifo-queue"), ADD_ADD, (0, 41), 50.98),
    v(("bk-queue (deq+deq)", "bounded-k-fifo-queue"), TAKE_TAKE, (0, 24), 28.11),
    v(("ubk-queue (enq+deq)", "k-fifo-queue"), ADD_TAKE, (0, 21), 35.71),
    v(("ubk-queue (enq+enq)", "k-fifo-queue"), ADD_ADD, (0, 41), 61.94),
    v(("ubk-queue (deq+deq)", "k-fifo-queue"), TAKE_TAKE, (0, 52), 68.21),
    v(("k-stack (push+pop)", "k-stack-as-published"), MEET, (11, 69), 89.0),
    v(("k-stack (push+push)", "k-stack-as-published"), ADD_ADD, (0, 12), 15.13),
    v(("k-stack (pop+pop)", "k-stack-as-published"), TAKE_TAKE, (0, 8), 9.46),
];
