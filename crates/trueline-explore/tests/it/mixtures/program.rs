//! Random programs, and what they are made of.

use std::collections::BTreeSet;

use trueline::rng::Rng;

/// What a step is about. A program has steps of a few classes, so that they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Cells,
    Mutex,
    RwLock,
    Condvar,
    Parking,
    Once,
    Barrier,
    Channel,
    Owners,
    Weaks,
    ThreadLocal,
    /// Threads that others start in the scope of all.
    Spawning,
    /// Scopes within the scope of all.
    Scopes,
    /// Threads of no scope.
    Handles,
    Loops,
    SpinLocks,
    Branches,
    Panics,
    /// A lock that was poisoned before the exploration began.
    PoisonedOutside,
    Boxes,
    Futures,
}

pub(super) const CLASSES: [Class; 21] = [
    Class::Cells,
    Class::Mutex,
    Class::RwLock,
    Class::Condvar,
    Class::Parking,
    Class::Once,
    Class::Barrier,
    Class::Channel,
    Class::Owners,
    Class::Weaks,
    Class::ThreadLocal,
    Class::Spawning,
    Class::Scopes,
    Class::Handles,
    Class::Loops,
    Class::SpinLocks,
    Class::Branches,
    Class::Panics,
    Class::PoisonedOutside,
    Class::Boxes,
    Class::Futures,
];

/// What a thread does next. Without a handle to do it with, or with a lock held that it would wait
/// for, it does nothing.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Load(usize),
    Store(usize, u32),
    Add(usize, u32),
    Max(usize, u32),
    Or(usize, u32),
    Swap(usize, u32),
    Exchange(usize, u32, u32),
    ExchangeWeak(usize, u32, u32),
    /// These take a lock for some steps.
    Lock(Vec<Step>),
    TryLock(Vec<Step>),
    Read(Vec<Step>),
    Write(Vec<Step>),
    TryRead(Vec<Step>),
    TryWrite(Vec<Step>),
    NotifyOne,
    NotifyAll,
    Wait,
    WaitTimeout,
    Park,
    ParkTimeout,
    /// Of a thread that was started before.
    Unpark(usize),
    CallOnce,
    GetOrInit,
    Get,
    Set,
    WaitForAnother,
    /// A message is an owner, if there is one.
    Send,
    TrySend,
    Receive,
    TryReceive,
    ReceiveTimeout,
    DropSender,
    DropReceiver,
    Clone,
    Drop,
    Use,
    GetMut,
    StrongCount,
    TryUnwrap,
    IntoInner,
    Downgrade,
    Upgrade,
    /// The new owner is kept.
    UpgradeAndKeep,
    CloneWeak,
    DropWeak,
    CountOfWeak,
    /// Something with a destructor is put into a thread local.
    Keep,
    Spawn(Vec<Step>),
    Scope(Vec<Step>),
    SpawnFree(Vec<Step>),
    Join,
    Detach,
    IsFinished,
    /// Until a cell is as large as this.
    Await(usize, u32),
    /// With a cell as the lock.
    SpinLock(usize, Vec<Step>),
    /// If a cell has this value.
    If(usize, u32, Vec<Step>),
    /// A panic after these steps, with the lock held, which is caught.
    PanicLocked(Vec<Step>),
    PanicWriting,
    ClearPoison,
    IsPoisoned,
    LockPoisoned,
    ClearPoisoned,
    LookAtPoisoned,
    NewBox,
    DropBox,
    UseBox,
    /// Exchanges a box for what has been published at this place.
    Publish(usize),
    TakePublished(usize),
    /// Takes what has been published if it is still the same.
    TakeSame(usize),
    Peek(usize),
    /// Waits for a future that is ready once a cell is not 0.
    BlockOn,
    /// Makes it ready, and wakes who waits.
    Wake,
}

impl Step {
    pub(super) fn class(&self) -> Class {
        match self {
            Step::Load(_) | Step::Store(..) | Step::Add(..) | Step::Max(..) => Class::Cells,
            Step::Or(..) | Step::Swap(..) => Class::Cells,
            Step::Exchange(..) | Step::ExchangeWeak(..) => Class::Cells,
            Step::Lock(_) | Step::TryLock(_) => Class::Mutex,
            Step::Read(_) | Step::Write(_) => Class::RwLock,
            Step::TryRead(_) | Step::TryWrite(_) => Class::RwLock,
            Step::NotifyOne | Step::NotifyAll | Step::Wait | Step::WaitTimeout => Class::Condvar,
            Step::Park | Step::ParkTimeout | Step::Unpark(_) => Class::Parking,
            Step::CallOnce | Step::GetOrInit | Step::Get | Step::Set => Class::Once,
            Step::WaitForAnother => Class::Barrier,
            Step::Send | Step::TrySend | Step::Receive | Step::TryReceive => Class::Channel,
            Step::ReceiveTimeout | Step::DropSender | Step::DropReceiver => Class::Channel,
            Step::Clone | Step::Drop | Step::Use | Step::GetMut => Class::Owners,
            Step::StrongCount | Step::TryUnwrap | Step::IntoInner => Class::Owners,
            Step::Downgrade | Step::Upgrade | Step::UpgradeAndKeep => Class::Weaks,
            Step::CloneWeak | Step::DropWeak | Step::CountOfWeak => Class::Weaks,
            Step::Keep => Class::ThreadLocal,
            Step::Spawn(_) => Class::Spawning,
            Step::Scope(_) => Class::Scopes,
            Step::SpawnFree(_) | Step::Join | Step::Detach | Step::IsFinished => Class::Handles,
            Step::Await(..) => Class::Loops,
            Step::SpinLock(..) => Class::SpinLocks,
            Step::If(..) => Class::Branches,
            Step::PanicLocked(_) | Step::PanicWriting => Class::Panics,
            Step::ClearPoison | Step::IsPoisoned => Class::Panics,
            Step::LockPoisoned | Step::ClearPoisoned => Class::PoisonedOutside,
            Step::LookAtPoisoned => Class::PoisonedOutside,
            Step::NewBox | Step::DropBox | Step::UseBox | Step::Publish(_) => Class::Boxes,
            Step::TakePublished(_) | Step::TakeSame(_) | Step::Peek(_) => Class::Boxes,
            Step::BlockOn | Step::Wake => Class::Futures,
        }
    }

    /// The steps within it.
    fn inner(&self) -> &[Step] {
        match self {
            Step::Lock(steps) | Step::TryLock(steps) | Step::Read(steps) => steps,
            Step::Write(steps) | Step::TryRead(steps) | Step::TryWrite(steps) => steps,
            Step::Spawn(steps) | Step::Scope(steps) | Step::SpawnFree(steps) => steps,
            Step::SpinLock(_, steps) | Step::If(_, _, steps) => steps,
            Step::PanicLocked(steps) => steps,
            _ => &[],
        }
    }
}

/// The threads of a program, and what they start with.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// What the main thread does once it has started the others.
    pub(super) main: Vec<Step>,
    pub(super) threads: Vec<Started>,
    /// The main thread and all that it starts have a `Weak`.
    pub(super) weak: bool,
    /// The capacity of the channel, if it has one.
    pub(super) bound: Option<usize>,
    /// Memory is used again.
    pub(super) reuse: bool,
    pub(super) spurious: bool,
    pub(super) classes: BTreeSet<Class>,
}

/// A thread that the main thread starts.
#[derive(Clone, Debug)]
pub(super) struct Started {
    pub(super) steps: Vec<Step>,
    /// It has an owner.
    pub(super) owner: bool,
    /// It has a handle to send with.
    pub(super) sender: bool,
}

fn classes_of(steps: &[Step], classes: &mut BTreeSet<Class>) {
    for step in steps {
        classes.insert(step.class());
        classes_of(step.inner(), classes);
    }
}

pub(super) fn random_program(rng: &mut Rng) -> Program {
    let crowd = rng.percent(10);
    let mut classes: Vec<Class> = (0..1 + rng.index(3)).map(|_| *rng.choose(&CLASSES)).collect();
    if crowd {
        classes.extend([Class::Owners; 3]);
    }
    if classes.contains(&Class::Condvar) && rng.percent(50) {
        classes.push(Class::Mutex);
    }
    if rng.percent(50) {
        classes.push(Class::Cells);
    }
    let threads = if crowd { 4 } else { 2 + rng.index(3) };
    // The more threads there are, the less each may do for the program to be small.
    let most = match threads {
        2 => 4,
        3 => 3,
        _ => 2,
    };
    let mut started = Vec::new();
    for _ in 0..threads - 1 + rng.index(2) {
        let length = 1 + rng.index(most);
        let steps = (0..length).map(|_| random_step(rng, &classes, true)).collect();
        let owner = crowd || rng.percent(67);
        started.push(Started { steps, owner, sender: rng.percent(67) });
    }
    let length = rng.index(most + 1);
    let main: Vec<_> = (0..length).map(|_| random_step(rng, &classes, true)).collect();
    let mut classes = BTreeSet::new();
    classes_of(&main, &mut classes);
    started.iter().for_each(|thread| classes_of(&thread.steps, &mut classes));
    // Where memory is used again, the order of all that allocates matters, so that programs are
    // larger.
    let allocates = classes.contains(&Class::Boxes) || classes.contains(&Class::Futures);
    Program {
        main,
        threads: started,
        weak: rng.percent(50),
        bound: rng.percent(50).then(|| rng.index(2)),
        reuse: rng.percent(if allocates { 50 } else { 10 }),
        spurious: rng.percent(12),
        classes,
    }
}

/// A step of one of these classes. Those within others have no steps of their own, and start no
/// threads.
fn random_step(rng: &mut Rng, classes: &[Class], outer: bool) -> Step {
    let class = *rng.choose(classes);
    let (cell, old, new) = (rng.index(2), rng.below(3) as u32, rng.below(3) as u32);
    let random = rng.index(1 << 16);
    let choice = |of: usize| random % of;
    let mut steps = |least: usize| -> Vec<Step> {
        let length = if outer { least + rng.index(3 - least) } else { 0 };
        (0..length).map(|_| random_step(rng, classes, false)).collect()
    };
    match class {
        Class::Cells => match choice(8) {
            0 => Step::Load(cell),
            1 => Step::Store(cell, new),
            2 => Step::Add(cell, new),
            3 => Step::Max(cell, new),
            4 => Step::Or(cell, new),
            5 => Step::Swap(cell, new),
            6 => Step::Exchange(cell, old, new),
            _ => Step::ExchangeWeak(cell, old, new),
        },
        Class::Mutex if choice(2) == 0 => Step::Lock(steps(0)),
        Class::Mutex => Step::TryLock(steps(0)),
        Class::RwLock => match choice(4) {
            0 => Step::Read(steps(0)),
            1 => Step::Write(steps(0)),
            2 => Step::TryRead(steps(0)),
            _ => Step::TryWrite(steps(0)),
        },
        Class::Condvar => {
            [Step::NotifyOne, Step::NotifyAll, Step::Wait, Step::WaitTimeout][choice(4)].clone()
        }
        Class::Parking => match choice(4) {
            0 => Step::Park,
            1 => Step::ParkTimeout,
            _ => Step::Unpark(random / 4 % 3),
        },
        Class::Once => match choice(5) {
            0 => Step::CallOnce,
            1 => Step::Get,
            2 => Step::Set,
            _ => Step::GetOrInit,
        },
        Class::Barrier => Step::WaitForAnother,
        Class::Channel => match choice(9) {
            0..=2 => Step::Send,
            3 => Step::TrySend,
            4 => Step::Receive,
            5 => Step::TryReceive,
            6 => Step::ReceiveTimeout,
            7 => Step::DropSender,
            _ => Step::DropReceiver,
        },
        Class::Owners => match choice(8) {
            0 => Step::Clone,
            1 | 2 => Step::Drop,
            3 => Step::Use,
            4 => Step::GetMut,
            5 => Step::StrongCount,
            6 => Step::TryUnwrap,
            _ => Step::IntoInner,
        },
        Class::Weaks => match choice(7) {
            0 => Step::Downgrade,
            1 => Step::Upgrade,
            2 => Step::UpgradeAndKeep,
            3 => Step::CloneWeak,
            4 => Step::DropWeak,
            5 => Step::CountOfWeak,
            _ => Step::Drop,
        },
        Class::ThreadLocal => Step::Keep,
        Class::Spawning if outer => Step::Spawn(steps(1)),
        Class::Scopes if outer => Step::Scope(steps(0)),
        Class::Handles => match choice(6) {
            0 | 1 if outer => Step::SpawnFree(steps(1)),
            2 | 3 => Step::Join,
            4 => Step::Detach,
            _ => Step::IsFinished,
        },
        Class::Loops => Step::Await(cell, 1 + new % 2),
        Class::SpinLocks if outer => Step::SpinLock(cell, steps(0)),
        Class::Branches if outer => Step::If(cell, old, steps(1)),
        Class::Panics => match choice(6) {
            0 | 1 => Step::PanicLocked(steps(0)),
            2 => Step::PanicWriting,
            3 => Step::ClearPoison,
            4 => Step::IsPoisoned,
            _ => Step::Lock(Vec::new()),
        },
        Class::PoisonedOutside => {
            [Step::LockPoisoned, Step::ClearPoisoned, Step::LookAtPoisoned][choice(3)].clone()
        }
        Class::Boxes => match choice(9) {
            0 | 1 => Step::NewBox,
            2 => Step::DropBox,
            3 => Step::UseBox,
            4 | 5 => Step::Publish(cell),
            6 => Step::TakePublished(cell),
            7 => Step::TakeSame(cell),
            _ => Step::Peek(cell),
        },
        Class::Futures if choice(2) == 0 => Step::BlockOn,
        Class::Futures => Step::Wake,
        Class::Spawning | Class::Scopes | Class::SpinLocks | Class::Branches => Step::Load(cell),
    }
}
