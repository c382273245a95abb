//! Runs a program, and tells what its threads did.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::replace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::{Mutex as RealMutex, Once as RealOnce, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use smallvec::SmallVec;
use trueline_explore::engine::{Execution, Exploration, Report};
use trueline_explore::memory::{Reuse, allow_leaks, reuse};
use trueline_explore::std::future::{block_on, poll_fn};
use trueline_explore::std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};
use trueline_explore::std::sync::{
    Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Weak, mpsc,
};
use trueline_explore::std::thread::{self, JoinHandle, Scope};

use super::program::{Class, Program, Step};

/// The numbers of threads are below this: see [`Thread::number_of_next`].
const NUMBERS: usize = 48;

/// What the threads share. It is never freed: threads without a scope may outlive all others.
struct Objects {
    /// Each thread begins with a look at that of its number, which tells the threads apart: the
    /// explorer numbers them as they are started.
    numbers: [AtomicU64; NUMBERS],
    /// Destructors write to the last one.
    cells: [AtomicU32; 3],
    mutex: Mutex<()>,
    rwlock: RwLock<()>,
    condvar: Condvar,
    once: Once,
    once_lock: OnceLock<usize>,
    barrier: Barrier,
    published: [AtomicPtr<AtomicU32>; 2],
    waker: Mutex<Option<Waker>>,
}

impl Objects {
    fn new() -> &'static Objects {
        Box::leak(Box::new(Objects {
            numbers: std::array::from_fn(|number| AtomicU64::new(number as u64)),
            cells: [const { AtomicU32::new(0) }; 3],
            mutex: Mutex::new(()),
            rwlock: RwLock::new(()),
            condvar: Condvar::new(),
            once: Once::new(),
            once_lock: OnceLock::new(),
            barrier: Barrier::new(2),
            published: [const { AtomicPtr::new(null_mut()) }; 2],
            waker: Mutex::new(None),
        }))
    }

    /// Something whose destructor is an event.
    fn tells(&'static self, amount: u32) -> Tells {
        Tells { cell: &self.cells[2], amount }
    }
}

/// A lock that is poisoned before any exploration begins.
static POISONED: Mutex<()> = Mutex::new(());

fn poison() {
    static ONCE: RealOnce = RealOnce::new();
    ONCE.call_once(|| {
        let panics = || {
            let _guard = POISONED.lock();
            panic!("the lock is poisoned")
        };
        assert!(catch_unwind(panics).is_err());
    });
}

/// Tells when it is dropped.
struct Tells {
    cell: &'static AtomicU32,
    amount: u32,
}

impl Drop for Tells {
    fn drop(&mut self) {
        self.cell.fetch_add(self.amount, SeqCst);
    }
}

/// What is owned.
struct Payload {
    uses: AtomicU32,
    _tells: Tells,
}

trueline_explore::thread_local! {
    static LOCAL: Cell<Option<Tells>> = Cell::new(None);
}

type Message = Option<Arc<Payload>>;

#[derive(Clone)]
enum Sender {
    Unbounded(mpsc::Sender<Message>),
    Bounded(mpsc::SyncSender<Message>),
}

/// A thread of a program. Where memory is used again each allocation is an event: what it keeps is
/// on its stack.
struct Thread<'scope, 'env> {
    objects: &'static Objects,
    /// That of all, if the thread is of it.
    scope: Option<&'scope Scope<'scope, 'env>>,
    number: usize,
    /// How many threads it has started.
    started: usize,
    holds_mutex: bool,
    holds_rwlock: bool,
    owners: SmallVec<[Arc<Payload>; 4]>,
    weaks: SmallVec<[Weak<Payload>; 4]>,
    sender: Option<Sender>,
    receiver: Option<mpsc::Receiver<Message>>,
    peers: SmallVec<[thread::Thread; 4]>,
    boxes: SmallVec<[Box<AtomicU32>; 4]>,
    handles: SmallVec<[JoinHandle<Tells>; 4]>,
}

const A_SECOND: Duration = Duration::from_secs(1);

impl<'scope, 'env> Thread<'scope, 'env> {
    fn new(objects: &'static Objects, number: usize) -> Thread<'scope, 'env> {
        Thread {
            objects,
            scope: None,
            number,
            started: 0,
            holds_mutex: false,
            holds_rwlock: false,
            owners: SmallVec::new(),
            weaks: SmallVec::new(),
            sender: None,
            receiver: None,
            peers: SmallVec::new(),
            boxes: SmallVec::new(),
            handles: SmallVec::new(),
        }
    }

    /// A number that depends on this thread's past alone. Threads start at most eight others, those
    /// that they start none.
    fn number_of_next(&mut self) -> usize {
        self.started += 1;
        self.number * 8 + self.started
    }

    /// A thread to start, with an owner of this one's.
    fn next<'a, 'b>(&mut self) -> Thread<'a, 'b> {
        let mut next = Thread::new(self.objects, self.number_of_next());
        next.owners.extend(self.owners.last().cloned());
        next.sender.clone_from(&self.sender);
        next.peers.push(thread::current());
        next
    }

    fn begin(mut self, steps: &'static [Step]) {
        self.objects.numbers[self.number].load(SeqCst);
        self.run(steps);
    }

    fn run(&mut self, steps: &'static [Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    fn run_with_mutex(&mut self, steps: &'static [Step]) {
        let before = replace(&mut self.holds_mutex, true);
        self.run(steps);
        self.holds_mutex = before;
    }

    fn run_with_rwlock(&mut self, steps: &'static [Step]) {
        let before = replace(&mut self.holds_rwlock, true);
        self.run(steps);
        self.holds_rwlock = before;
    }

    fn step(&mut self, step: &'static Step) {
        match step.class() {
            Class::Cells => self.access_cell(step),
            Class::Mutex | Class::RwLock | Class::Condvar => self.lock(step),
            Class::Parking | Class::Once | Class::Barrier | Class::Futures => self.wait(step),
            Class::Channel => self.communicate(step),
            Class::Owners | Class::Weaks => self.count(step),
            Class::ThreadLocal => {
                let tells = self.objects.tells(32);
                LOCAL.with(|local| local.set(Some(tells)));
            }
            Class::Spawning | Class::Scopes | Class::Handles => self.start(step),
            Class::Loops | Class::SpinLocks | Class::Branches => self.decide(step),
            Class::Panics | Class::PoisonedOutside => self.panic(step),
            Class::Boxes => self.allocate(step),
        }
    }

    fn access_cell(&mut self, step: &Step) {
        let cells = &self.objects.cells;
        match *step {
            Step::Store(cell, value) => cells[cell].store(value, SeqCst),
            Step::Add(cell, value) => _ = cells[cell].fetch_add(value, SeqCst),
            Step::Max(cell, value) => _ = cells[cell].fetch_max(value, SeqCst),
            Step::Or(cell, value) => _ = cells[cell].fetch_or(value, SeqCst),
            Step::Swap(cell, value) => _ = cells[cell].swap(value, SeqCst),
            Step::Exchange(cell, old, new) => {
                _ = cells[cell].compare_exchange(old, new, SeqCst, SeqCst);
            }
            Step::ExchangeWeak(cell, old, new) => {
                _ = cells[cell].compare_exchange_weak(old, new, SeqCst, SeqCst);
            }
            Step::Load(cell) => _ = cells[cell].load(SeqCst),
            _ => unreachable!("{step:?}"),
        }
    }

    fn lock(&mut self, step: &'static Step) {
        let Objects { mutex, rwlock, condvar, .. } = self.objects;
        match step {
            Step::Lock(_) | Step::Wait | Step::WaitTimeout if self.holds_mutex => (),
            Step::Read(_) | Step::Write(_) if self.holds_rwlock => (),
            Step::Lock(steps) => {
                let _guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
                self.run_with_mutex(steps);
            }
            Step::TryLock(steps) => {
                if let Ok(_guard) = mutex.try_lock() {
                    self.run_with_mutex(steps);
                }
            }
            Step::Read(steps) => {
                let _guard = rwlock.read().unwrap_or_else(PoisonError::into_inner);
                self.run_with_rwlock(steps);
            }
            Step::Write(steps) => {
                let _guard = rwlock.write().unwrap_or_else(PoisonError::into_inner);
                self.run_with_rwlock(steps);
            }
            Step::TryRead(steps) => {
                if let Ok(_guard) = rwlock.try_read() {
                    self.run_with_rwlock(steps);
                }
            }
            Step::TryWrite(steps) => {
                if let Ok(_guard) = rwlock.try_write() {
                    self.run_with_rwlock(steps);
                }
            }
            Step::NotifyOne => condvar.notify_one(),
            Step::NotifyAll => condvar.notify_all(),
            Step::Wait => {
                let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
                drop(condvar.wait(guard));
            }
            Step::WaitTimeout => {
                let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
                drop(condvar.wait_timeout(guard, A_SECOND));
            }
            _ => unreachable!("{step:?}"),
        }
    }

    fn wait(&mut self, step: &Step) {
        let objects = self.objects;
        match step {
            Step::Park => thread::park(),
            Step::ParkTimeout => thread::park_timeout(A_SECOND),
            Step::Unpark(peer) => {
                if let Some(peer) = self.peers.get(*peer) {
                    peer.unpark();
                }
            }
            Step::CallOnce => {
                objects.once.call_once(|| _ = objects.cells[1].fetch_add(2, SeqCst));
            }
            Step::GetOrInit => {
                objects.once_lock.get_or_init(|| {
                    objects.cells[0].fetch_add(2, SeqCst);
                    NUMBERS
                });
            }
            Step::Get => _ = objects.once_lock.get(),
            Step::Set => _ = objects.once_lock.set(self.number),
            Step::WaitForAnother => _ = objects.barrier.wait(),
            Step::BlockOn => block_on(poll_fn(|context| {
                let waker = context.waker().clone();
                *objects.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
                if objects.cells[0].load(SeqCst) > 0 { Poll::Ready(()) } else { Poll::Pending }
            })),
            Step::Wake => {
                objects.cells[0].fetch_add(1, SeqCst);
                let waker = objects.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            _ => unreachable!("{step:?}"),
        }
    }

    fn communicate(&mut self, step: &Step) {
        let received = match (step, &self.sender, &self.receiver) {
            (Step::DropSender, ..) => {
                self.sender = None;
                return;
            }
            (Step::DropReceiver, ..) => {
                self.receiver = None;
                return;
            }
            (Step::Send | Step::TrySend, Some(sender), _) => {
                let message = self.owners.pop();
                match sender {
                    Sender::Unbounded(sender) => drop(sender.send(message)),
                    Sender::Bounded(sender) if matches!(step, Step::Send) => {
                        drop(sender.send(message));
                    }
                    Sender::Bounded(sender) => drop(sender.try_send(message)),
                }
                return;
            }
            (Step::Receive, _, Some(receiver)) => receiver.recv().ok(),
            (Step::TryReceive, _, Some(receiver)) => receiver.try_recv().ok(),
            (Step::ReceiveTimeout, _, Some(receiver)) => receiver.recv_timeout(A_SECOND).ok(),
            _ => None,
        };
        self.owners.extend(received.flatten());
    }

    fn count(&mut self, step: &Step) {
        let Thread { owners, weaks, .. } = self;
        match step {
            Step::Clone => owners.extend(owners.last().cloned()),
            Step::Drop => drop(owners.pop()),
            Step::Use => _ = owners.last().map(|owner| owner.uses.fetch_add(1, SeqCst)),
            Step::GetMut => _ = owners.last_mut().map(Arc::get_mut),
            Step::StrongCount => _ = owners.last().map(Arc::strong_count),
            Step::TryUnwrap => {
                let owner = owners.pop().and_then(|owner| Arc::try_unwrap(owner).err());
                owners.extend(owner);
            }
            Step::IntoInner => drop(owners.pop().map(Arc::into_inner)),
            Step::Downgrade => weaks.extend(owners.last().map(Arc::downgrade)),
            Step::Upgrade => drop(weaks.last().map(Weak::upgrade)),
            Step::UpgradeAndKeep => owners.extend(weaks.last().and_then(Weak::upgrade)),
            Step::CloneWeak => weaks.extend(weaks.last().cloned()),
            Step::DropWeak => drop(weaks.pop()),
            Step::CountOfWeak => _ = weaks.last().map(Weak::strong_count),
            _ => unreachable!("{step:?}"),
        }
    }

    fn start(&mut self, step: &'static Step) {
        match step {
            Step::Spawn(steps) => {
                if let Some(scope) = self.scope {
                    let next = self.next();
                    scope.spawn(move || next.begin(steps));
                }
            }
            Step::Scope(steps) => {
                let (number, objects) = (self.number_of_next(), self.objects);
                thread::scope(|scope| {
                    scope.spawn(move || {
                        objects.numbers[number].load(SeqCst);
                        objects.cells[0].fetch_add(1, SeqCst);
                    });
                    self.run(steps);
                });
            }
            Step::SpawnFree(steps) => {
                let (next, tells) = (self.next(), self.objects.tells(64));
                self.handles.push(thread::spawn(move || {
                    next.begin(steps);
                    tells
                }));
            }
            Step::Join => drop(self.handles.pop().map(JoinHandle::join)),
            Step::Detach => drop(self.handles.pop()),
            Step::IsFinished => _ = self.handles.last().map(JoinHandle::is_finished),
            _ => unreachable!("{step:?}"),
        }
    }

    fn decide(&mut self, step: &'static Step) {
        let cells = &self.objects.cells;
        match step {
            Step::Await(cell, value) => {
                while cells[*cell].load(SeqCst) < *value {
                    thread::yield_now();
                }
            }
            Step::SpinLock(cell, steps) => {
                while cells[*cell].compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                    thread::yield_now();
                }
                self.run(steps);
                cells[*cell].store(0, SeqCst);
            }
            Step::If(cell, value, steps) => {
                if cells[*cell].load(SeqCst) == *value {
                    self.run(steps);
                }
            }
            _ => unreachable!("{step:?}"),
        }
    }

    fn panic(&mut self, step: &'static Step) {
        let objects = self.objects;
        match step {
            Step::PanicLocked(_) if self.holds_mutex => (),
            Step::PanicWriting if self.holds_rwlock => (),
            Step::PanicLocked(steps) => caught(|| {
                let _tells = objects.tells(128);
                let _guard = objects.mutex.lock();
                self.run_with_mutex(steps);
                panic!("caught")
            }),
            Step::PanicWriting => caught(|| {
                let _guard = objects.rwlock.write();
                let _tells = objects.tells(128);
                panic!("caught")
            }),
            Step::ClearPoison => {
                objects.mutex.clear_poison();
                objects.rwlock.clear_poison();
            }
            Step::IsPoisoned => _ = objects.mutex.is_poisoned(),
            // What it found is no event if the lock was taken for one that is not poisoned.
            Step::LockPoisoned => {
                let poisoned = POISONED.lock().is_err();
                objects.cells[0].fetch_add(256 * u32::from(poisoned), SeqCst);
            }
            Step::ClearPoisoned => POISONED.clear_poison(),
            Step::LookAtPoisoned => _ = POISONED.is_poisoned(),
            _ => unreachable!("{step:?}"),
        }
    }

    fn allocate(&mut self, step: &Step) {
        let published = &self.objects.published;
        let taken = match *step {
            Step::NewBox => Box::into_raw(Box::new(AtomicU32::new(0))),
            Step::DropBox => {
                drop(self.boxes.pop());
                null_mut()
            }
            Step::UseBox => {
                if let Some(used) = self.boxes.last() {
                    used.fetch_add(1, SeqCst);
                }
                null_mut()
            }
            Step::Publish(place) => {
                let own = self.boxes.pop();
                own.map_or(null_mut(), |own| published[place].swap(Box::into_raw(own), SeqCst))
            }
            Step::TakePublished(place) => published[place].swap(null_mut(), SeqCst),
            Step::TakeSame(place) => {
                let seen = published[place].load(SeqCst);
                let taken = published[place].compare_exchange(seen, null_mut(), SeqCst, SeqCst);
                taken.unwrap_or(null_mut())
            }
            Step::Peek(place) => {
                published[place].load(SeqCst);
                null_mut()
            }
            _ => unreachable!("{step:?}"),
        };
        if !taken.is_null() {
            // SAFETY: it came from a box, and whoever takes it from where it was published leaves
            // nothing there.
            self.boxes.push(unsafe { Box::from_raw(taken) });
        }
    }
}

fn caught(function: impl FnOnce()) {
    _ = catch_unwind(AssertUnwindSafe(function));
}

fn run(program: &'static Program) {
    allow_leaks();
    if program.reuse {
        reuse(Reuse::Lifo);
    }
    let objects = Objects::new();
    let uses = |class| program.classes.contains(&class);
    objects.numbers[0].load(SeqCst);
    thread::scope(|scope| {
        let mut main = Thread::new(objects, 0);
        main.scope = Some(scope);
        if uses(Class::Owners) || uses(Class::Weaks) || uses(Class::Channel) {
            let payload = Payload { uses: AtomicU32::new(0), _tells: objects.tells(16) };
            main.owners.push(Arc::new(payload));
        }
        if program.weak {
            main.weaks.extend(main.owners.last().map(Arc::downgrade));
        }
        if uses(Class::Channel) {
            let (sender, receiver) = match program.bound {
                None => {
                    let (sender, receiver) = mpsc::channel();
                    (Sender::Unbounded(sender), receiver)
                }
                Some(bound) => {
                    let (sender, receiver) = mpsc::sync_channel(bound);
                    (Sender::Bounded(sender), receiver)
                }
            };
            (main.sender, main.receiver) = (Some(sender), Some(receiver));
        }
        main.peers.push(thread::current());
        for started in &program.threads {
            let mut thread = Thread::new(objects, main.number_of_next());
            thread.scope = Some(scope);
            if started.owner {
                thread.owners.extend(main.owners.last().cloned());
            }
            if started.sender {
                thread.sender.clone_from(&main.sender);
            }
            thread.weaks.clone_from(&main.weaks);
            thread.peers.clone_from(&main.peers);
            let handle = scope.spawn(|| thread.begin(&started.steps));
            main.peers.push(handle.thread().clone());
        }
        main.run(&program.main);
    });
}

/// The name of an event, and the values before it and after.
type Event = (&'static str, u64, u64);

/// What a thread did. Its number is among the values.
pub(super) type Done = Vec<Event>;

/// What all threads did, and how many executions have shown that.
pub(super) type Outcomes = BTreeMap<Vec<Done>, u64>;

/// Explores a program.
pub(super) fn observe(exploration: &Exploration, program: &'static Program) -> (Report, Outcomes) {
    poison();
    let outcomes = RealMutex::new(Outcomes::new());
    let visit = |execution: &Execution<'_>| {
        let outcome = outcome(program, execution);
        *outcomes.lock().unwrap_or_else(PoisonError::into_inner).entry(outcome).or_default() += 1;
        Ok(())
    };
    let report = exploration.run_with(|| run(program), visit);
    (report, outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn outcome(program: &Program, execution: &Execution<'_>) -> Vec<Done> {
    let mut threads = BTreeMap::<_, Done>::new();
    for step in execution.steps() {
        let (before, after) = match step.name {
            // Those that commute see different values.
            "Arc::clone" | "Arc::downgrade" => (0, 0),
            "Arc::drop" | "Arc::into_inner" | "Weak::clone" | "Weak::drop" => {
                (0, u64::from(step.after == 0))
            }
            // Where memory comes from depends on how the explorer numbers the threads.
            name if name.starts_with("AtomicPtr") => {
                (u64::from(step.before != 0), u64::from(step.after != 0))
            }
            _ => (step.before, step.after),
        };
        threads.entry(step.thread.0).or_default().push((step.name, before, after));
    }
    for blocked in execution.blocked_threads() {
        threads.entry(blocked.0).or_default().push(("waits for ever", 0, 0));
    }
    let mut outcome: Vec<_> = threads.into_values().collect();
    if program.classes.contains(&Class::Loops) || program.classes.contains(&Class::SpinLocks) {
        // How many rounds it takes until a loop is known to wait depends on what else is on the
        // stack.
        let is_round = |&(_, before, after): &Event| before == after;
        outcome
            .iter_mut()
            .for_each(|done| done.dedup_by(|next, last| next == last && is_round(next)));
    }
    outcome.sort();
    outcome
}
