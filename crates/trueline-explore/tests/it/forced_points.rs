//! Random small programs over handles, poison, cells that are set once and the ends of threads: a
//! call that can be told apart by its order is an event.
//!
//! Each program is run twice. The second time a thread adds to a counter that all share before each
//! of its calls, so that all orders of the calls are explored whether they are events or not. Both
//! must have the same outcomes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::outcomes::explore;
use trueline::rng::{self, Rng};
use trueline_explore::memory::untracked;
use trueline_explore::std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trueline_explore::std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, TryLockError, Weak};
use trueline_explore::std::thread;

#[derive(Clone, Copy, Debug)]
enum Step {
    Clone,
    DropArc,
    Downgrade,
    CloneWeak,
    DropWeak,
    Upgrade,
    StrongCount,
    WeakCount,
    WeakStrongCount,
    GetMut,
    TryUnwrap,
    TryLock,
    Unlock,
    IsPoisoned,
    ClearPoison,
    ReadPoisoned,
    ClearReadPoison,
    Set,
    Get,
    GetOrInit,
    Spawn,
    IsFinished,
    DropHandle,
    Join,
    ShowMark,
}

/// What a program is about, so that its calls meet.
const THEMES: [&[Step]; 4] = [
    &[
        Step::Clone,
        Step::DropArc,
        Step::Downgrade,
        Step::CloneWeak,
        Step::DropWeak,
        Step::Upgrade,
        Step::StrongCount,
        Step::WeakCount,
        Step::WeakStrongCount,
        Step::GetMut,
        Step::TryUnwrap,
    ],
    &[
        Step::TryLock,
        Step::Unlock,
        Step::IsPoisoned,
        Step::ClearPoison,
        Step::ReadPoisoned,
        Step::ClearReadPoison,
    ],
    &[Step::Set, Step::Get, Step::GetOrInit],
    &[Step::Spawn, Step::IsFinished, Step::DropHandle, Step::Join, Step::ShowMark],
];

/// Leaves a mark of the thread that drops it.
struct Marked;

/// What they leave.
static MARK: AtomicU64 = AtomicU64::new(0);

impl Drop for Marked {
    fn drop(&mut self) {
        let mark = if thread::current().name() == Some("child") { 9 } else { 1 };
        MARK.fetch_add(mark, SeqCst);
    }
}

trueline_explore::thread_local! {
    static AT_THE_END: RefCell<Option<Marked>> = RefCell::new(None);
}

/// What the threads of a program share.
struct Shared {
    forced: bool,
    order: AtomicU64,
    mutex: Mutex<u64>,
    lock: RwLock<u64>,
    once: OnceLock<u64>,
}

impl Shared {
    fn force(&self) {
        if self.forced {
            self.order.fetch_add(1, SeqCst);
        }
    }
}

/// What a thread has of its own.
#[derive(Default)]
struct Own<'a> {
    arcs: Vec<Arc<Marked>>,
    weaks: Vec<Weak<Marked>>,
    guard: Option<MutexGuard<'a, u64>>,
    child: Option<thread::JoinHandle<Marked>>,
}

fn run_step<'a>(number: u64, step: Step, shared: &'a Shared, own: &mut Own<'a>) -> u64 {
    shared.force();
    let found = |yes: bool| u64::from(yes) + 1;
    match step {
        Step::Clone => own.arcs.last().cloned().map_or(0, |arc| {
            own.arcs.push(arc);
            1
        }),
        Step::DropArc => own.arcs.pop().map_or(0, |_| 1),
        Step::Downgrade => own.arcs.last().map(Arc::downgrade).map_or(0, |weak| {
            own.weaks.push(weak);
            1
        }),
        Step::CloneWeak => own.weaks.last().cloned().map_or(0, |weak| {
            own.weaks.push(weak);
            1
        }),
        Step::DropWeak => own.weaks.pop().map_or(0, |_| 1),
        Step::Upgrade => own.weaks.last().map_or(0, |weak| {
            let upgraded = weak.upgrade();
            let found = found(upgraded.is_some());
            own.arcs.extend(upgraded);
            found
        }),
        Step::StrongCount => own.arcs.last().map_or(0, |arc| Arc::strong_count(arc) as u64),
        Step::WeakCount => own.arcs.last().map_or(9, |arc| Arc::weak_count(arc) as u64),
        Step::WeakStrongCount => own.weaks.last().map_or(9, |weak| weak.strong_count() as u64),
        Step::GetMut => own.arcs.last_mut().map_or(0, |arc| found(Arc::get_mut(arc).is_some())),
        Step::TryUnwrap => own.arcs.pop().map_or(0, |arc| match Arc::try_unwrap(arc) {
            Ok(value) => {
                shared.force();
                drop(value);
                2
            }
            Err(arc) => {
                own.arcs.push(arc);
                1
            }
        }),
        Step::TryLock if own.guard.is_none() => match shared.mutex.try_lock() {
            Ok(guard) => {
                own.guard = Some(guard);
                1
            }
            Err(TryLockError::Poisoned(error)) => {
                own.guard = Some(error.into_inner());
                2
            }
            Err(TryLockError::WouldBlock) => 3,
        },
        Step::TryLock => 0,
        Step::Unlock => own.guard.take().map_or(0, |mut guard| {
            *guard += number + 1;
            *guard
        }),
        Step::IsPoisoned => found(shared.mutex.is_poisoned()),
        Step::ClearPoison => {
            shared.mutex.clear_poison();
            0
        }
        Step::ReadPoisoned => found(shared.lock.is_poisoned()),
        Step::ClearReadPoison => {
            shared.lock.clear_poison();
            0
        }
        Step::Set => found(shared.once.set(number + 3).is_ok()),
        Step::Get => shared.once.get().copied().unwrap_or(0),
        Step::GetOrInit => *shared.once.get_or_init(|| number + 5),
        Step::Spawn if own.child.is_none() => {
            let body = || {
                AT_THE_END.with(|end| *end.borrow_mut() = Some(Marked));
                Marked
            };
            let named = thread::Builder::new().name("child".into());
            own.child = Some(named.spawn(body).expect("a thread"));
            1
        }
        Step::Spawn => 0,
        Step::IsFinished => own.child.as_ref().map_or(0, |child| found(child.is_finished())),
        Step::DropHandle => own.child.take().map_or(0, |_| 1),
        Step::Join => own.child.take().map_or(0, |child| {
            let result = child.join().expect("it does not panic");
            shared.force();
            drop(result);
            1
        }),
        Step::ShowMark => MARK.load(SeqCst),
    }
}

fn run_steps<'a>(
    number: u64,
    steps: &[Step],
    shared: &'a Shared,
    handles: (Option<Weak<Marked>>, Option<Arc<Marked>>),
) -> u64 {
    let mut own = Own::default();
    own.weaks.extend(handles.0);
    own.arcs.extend(handles.1);
    let fold = |result: u64, next: u64| result * 32 + next;
    let result = steps
        .iter()
        .fold(1, |result, &step| fold(result, run_step(number, step, shared, &mut own)));
    // What is left is given up, in calls of its own.
    let give_up = |step: Step, own: &mut Own<'a>| run_step(number, step, shared, own);
    if own.guard.is_some() {
        give_up(Step::Unlock, &mut own);
    }
    if own.child.is_some() {
        give_up(Step::DropHandle, &mut own);
    }
    while !own.arcs.is_empty() {
        give_up(Step::DropArc, &mut own);
    }
    while !own.weaks.is_empty() {
        give_up(Step::DropWeak, &mut own);
    }
    result
}

/// A program: the steps of two threads, whether the locks are poisoned at first, and whether it is
/// about handles.
type Program = ([Vec<Step>; 2], bool, bool);

fn random_program(seed: u64, rng: &mut Rng) -> Program {
    let theme = seed as usize % THEMES.len();
    let steps = THEMES[theme];
    let most = if theme == 0 { 2 } else { 3 };
    let mut thread = || (0..1 + rng.below(most)).map(|_| *rng.choose(steps)).collect();
    let threads = [thread(), thread()];
    (threads, rng.percent(60), theme == 0)
}

fn outcomes_of(program: &Program, forced: bool) -> BTreeSet<[u64; 3]> {
    let (threads, poisoned, with_arc) = program;
    let (report, outcomes) = explore(|| {
        // Not an event: what the execution before has left is no part of this one.
        untracked(|| MARK.store(0, SeqCst));
        let shared = Shared {
            forced,
            order: AtomicU64::new(0),
            mutex: Mutex::new(0),
            lock: RwLock::new(0),
            once: OnceLock::new(),
        };
        if *poisoned {
            let poisons = || {
                let _guards = (shared.mutex.lock(), shared.lock.write());
                panic!("they are poisoned");
            };
            assert!(catch_unwind(AssertUnwindSafe(poisons)).is_err());
        }
        // One thread owns the value and has a `Weak`, the other has a handle of one kind.
        let arc = with_arc.then(|| Arc::new(Marked));
        let weak = || arc.as_ref().map(Arc::downgrade);
        let second = if *poisoned { (None, arc.clone()) } else { (weak(), None) };
        let first = (weak(), arc);
        let shared = &shared;
        thread::scope(|s| {
            let other = s.spawn(|| run_steps(0, &threads[0], shared, first));
            let own = run_steps(1, &threads[1], shared, second);
            [other.join().expect("it does not panic"), own, MARK.load(SeqCst)]
        })
    });
    assert!(report.holds(), "{:?}, {report} of {program:?}", report.failure);
    outcomes
}

#[test]
fn a_point_before_each_call_adds_no_outcome() {
    let mut several = 0;
    for seed in rng::seeds(96) {
        let program = random_program(seed, &mut Rng::new(seed));
        let plain = outcomes_of(&program, false);
        assert_eq!(plain, outcomes_of(&program, true), "seed {seed}: {program:?}");
        several += usize::from(plain.len() > 1);
    }
    assert!(several > 0 || rng::seeds(96).cases() < 8, "programs whose calls never meet");
}
