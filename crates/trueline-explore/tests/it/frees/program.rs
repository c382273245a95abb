//! Random programs that use a block on the heap and free it, and how to run them.

use std::alloc::{Layout, dealloc};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool as RealBool, Ordering::SeqCst};

use trueline::rng::Rng;
use trueline_explore::std::cell::UnsafeCell;
use trueline_explore::std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use trueline_explore::std::sync::atomic::{AtomicU64, Ordering, fence};
use trueline_explore::std::sync::{Arc, Mutex, RwLock};
use trueline_explore::std::thread;

/// What each thread does; the first is the one that starts the others, and may join them.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Step>>,
    /// The block is that of an `Arc`, and [`Step::Drop`] gives up the handle of a thread; else that
    /// step, which there is once, frees it.
    pub(crate) shared: bool,
    /// Which threads have a handle of the `Arc`; others use the block all the same.
    pub(crate) owners: Vec<bool>,
    /// The block is freed without a call of its destructor.
    undropped: bool,
}

/// Locations 0 and 1 are outside of the block, 2 is inside.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Load(usize, Ordering),
    /// A load that ends the thread where nothing was stored before.
    Guard(usize, Ordering),
    Store(usize, Ordering),
    Add(usize, Ordering),
    Fence(Ordering),
    Use(Use),
    Section(Lock, Vec<Step>),
    Join(usize),
    Drop,
}

/// A use of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
    GetRead,
    GetWrite,
    TryLock,
    ReadLock,
    /// Of the handles of the `Arc`.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Outside of the block.
    Outer,
    Inner,
    /// The one that can be held by several readers; inside, too.
    Shared,
}

pub(crate) fn is_in_block(location: usize) -> bool {
    location == 2
}

pub(crate) fn acquires(order: Ordering) -> bool {
    order == Acquire || order == AcqRel
}

pub(crate) fn releases(order: Ordering) -> bool {
    order == Release || order == AcqRel
}

/// A program of at most three threads, most of which synchronise in one way or another.
pub(crate) fn random(rng: &mut Rng) -> Program {
    let count = 2 + rng.below(2) as usize;
    let shared = rng.below(4) == 0;
    let mut threads: Vec<Vec<Step>> = (0..count)
        .map(|_| {
            let length = 1 + rng.below(if count == 2 { 4 } else { 2 });
            (0..length).map(|_| step(rng, shared, false)).collect()
        })
        .collect();
    if rng.below(2) == 0 {
        hand_over(rng, shared, &mut threads);
    }
    if rng.below(3) == 0 {
        let at = rng.below(threads[0].len() as u64 + 1) as usize;
        threads[0].insert(at, Step::Join(1 + rng.below(count as u64 - 1) as usize));
    }
    let mut owners: Vec<bool> = (0..count).map(|_| rng.below(3) > 0).collect();
    owners[rng.below(count as u64) as usize] = true;
    let droppers = if shared { rng.below(count as u64 + 1) as usize } else { 1 };
    let first = rng.below(count as u64) as usize;
    for dropper in 0..droppers {
        let thread = (first + dropper) % count;
        if shared && !owners[thread] {
            continue;
        }
        let steps = &mut threads[thread];
        // Mostly at the end, so that threads do not use what they have given up themselves.
        let at =
            if rng.below(8) == 0 { rng.below(steps.len() as u64 + 1) } else { steps.len() as u64 };
        steps.insert(at as usize, Step::Drop);
    }
    Program { threads, shared, owners, undropped: !shared && rng.below(4) == 0 }
}

/// One thread says that it has used the block, and another looks for that before it goes on.
fn hand_over(rng: &mut Rng, shared: bool, threads: &mut [Vec<Step>]) {
    let giver = rng.below(threads.len() as u64) as usize;
    let taker = (giver + 1) % threads.len();
    let flag = rng.below(2) as usize;
    let locked = |rng: &mut Rng, step: Step| match rng.below(3) {
        0 => Step::Section(*rng.choose(&[Lock::Outer, Lock::Inner]), vec![step]),
        _ => step,
    };
    let (store, load) = (*rng.choose(&[Relaxed, Release]), *rng.choose(&[Relaxed, Acquire]));
    let given = locked(rng, Step::Store(flag, store));
    let uses = [Use::Read, Use::GetWrite, Use::TryLock, Use::ReadLock, Use::Count];
    threads[giver].truncate(2);
    threads[giver].push(Step::Use(*rng.choose(&uses[..if shared { 5 } else { 4 }])));
    threads[giver].push(given);
    let taken = locked(rng, Step::Guard(flag, load));
    threads[taker].insert(0, taken);
}

fn step(rng: &mut Rng, shared: bool, inside: bool) -> Step {
    let location = rng.below(3) as usize;
    match rng.below(if inside { 10 } else { 12 }) {
        0 => Step::Load(location, *rng.choose(&[Relaxed, Acquire])),
        1 => Step::Guard(location % 2, *rng.choose(&[Relaxed, Acquire])),
        2 => Step::Store(location, *rng.choose(&[Relaxed, Release])),
        3 => Step::Add(location, *rng.choose(&[Relaxed, Acquire, Release, AcqRel])),
        4 => Step::Fence(*rng.choose(&[Acquire, Release, AcqRel])),
        5..=7 => Step::Use(*rng.choose(&[Use::Read, Use::Write, Use::GetRead, Use::GetWrite])),
        8 | 9 if inside => Step::Use(Use::Read),
        8 => Step::Use(*rng.choose(&[Use::TryLock, Use::ReadLock])),
        9 if shared => Step::Use(Use::Count),
        _ => {
            let lock = *rng.choose(&[Lock::Outer, Lock::Inner, Lock::Shared]);
            Step::Section(lock, vec![step(rng, shared, true)])
        }
    }
}

struct Block {
    cell: UnsafeCell<u64>,
    atomic: AtomicU64,
    inner: Mutex<()>,
    shared: RwLock<()>,
}

// SAFETY: not at all; that is what is tested.
unsafe impl Sync for Block {}

/// Where the block is.
#[derive(Clone, Copy)]
struct Address(*const Block);

// SAFETY: not at all; that is what is tested.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

struct Running<'a> {
    program: &'a Program,
    block: Address,
    flags: [AtomicU64; 2],
    outer: Mutex<()>,
    freed: RealBool,
}

/// Runs a program, in an exploration.
pub(crate) fn run(program: &Program) {
    let block = Block {
        cell: UnsafeCell::new(0),
        atomic: AtomicU64::new(0),
        inner: Mutex::new(()),
        shared: RwLock::new(()),
    };
    let mut handles: Vec<Option<Arc<Block>>> = vec![None; program.threads.len()];
    let block = if program.shared {
        let first = Arc::new(block);
        let block = Address(Arc::as_ptr(&first));
        for (handle, owns) in handles.iter_mut().zip(&program.owners) {
            *handle = owns.then(|| first.clone());
        }
        block
    } else {
        Address(Box::into_raw(Box::new(block)))
    };
    let flags = [AtomicU64::new(0), AtomicU64::new(0)];
    let freed = RealBool::new(false);
    let running = &Running { program, block, flags, outer: Mutex::new(()), freed };
    thread::scope(|scope| {
        let mut joins: Vec<Option<thread::ScopedJoinHandle<'_, ()>>> = vec![None];
        let mut handles = handles.into_iter();
        let mut own = handles.next().expect("there is a first thread");
        for (steps, mut handle) in program.threads[1..].iter().zip(handles) {
            joins.push(Some(scope.spawn(move || {
                running.steps(steps, &mut handle, &mut []);
                drop(handle);
            })));
        }
        running.steps(&program.threads[0], &mut own, &mut joins);
        drop(own);
    });
    if !program.shared && !running.freed.load(SeqCst) {
        running.free();
    }
}

impl Running<'_> {
    fn free(&self) {
        self.freed.store(true, SeqCst);
        let block = self.block.0.cast_mut();
        // SAFETY: it comes from a box, and is freed once; whether it is used meanwhile or later is
        // what is tested. The locks inside own nothing.
        unsafe {
            if self.program.undropped {
                dealloc(block.cast(), Layout::new::<Block>());
            } else {
                drop(Box::from_raw(block));
            }
        }
    }

    fn location(&self, location: usize) -> &AtomicU64 {
        // SAFETY: the memory of freed blocks stays readable, and the use is reported.
        self.flags.get(location).unwrap_or_else(|| unsafe { &(*self.block.0).atomic })
    }

    /// Whether the thread goes on.
    fn steps(
        &self,
        steps: &[Step],
        handle: &mut Option<Arc<Block>>,
        joins: &mut [Option<thread::ScopedJoinHandle<'_, ()>>],
    ) -> bool {
        steps.iter().all(|step| {
            match step {
                Step::Load(location, order) => drop(self.location(*location).load(*order)),
                Step::Guard(location, order) => return self.location(*location).load(*order) != 0,
                Step::Store(location, order) => self.location(*location).store(1, *order),
                Step::Add(location, order) => drop(self.location(*location).fetch_add(1, *order)),
                Step::Fence(order) => fence(*order),
                Step::Use(which) => self.uses(*which),
                Step::Section(lock, inner) => {
                    // SAFETY: as above.
                    let block = unsafe { &*self.block.0 };
                    let _mutex = match lock {
                        Lock::Outer => Some(self.outer.lock().unwrap()),
                        Lock::Inner => Some(block.inner.lock().unwrap()),
                        Lock::Shared => None,
                    };
                    let _shared = (*lock == Lock::Shared).then(|| block.shared.write().unwrap());
                    return self.steps(inner, handle, joins);
                }
                Step::Join(thread) => {
                    if let Some(join) = joins[*thread].take() {
                        join.join().unwrap();
                    }
                }
                Step::Drop if self.program.shared => drop(handle.take()),
                Step::Drop => self.free(),
            }
            true
        })
    }

    fn uses(&self, which: Use) {
        // SAFETY: as above.
        let block = unsafe { &*self.block.0 };
        // SAFETY: no other thread runs meanwhile; whether it may use the cell is what is tested.
        unsafe {
            match which {
                Use::Read => drop(block.cell.with(|value| value.read())),
                Use::Write => block.cell.with_mut(|value| *value += 1),
                Use::GetRead => drop(block.cell.get().read()),
                Use::GetWrite => *block.cell.get() += 1,
                Use::TryLock => drop(block.inner.try_lock()),
                Use::ReadLock => drop(block.shared.read()),
                Use::Count => {
                    let _ = Arc::strong_count(&ManuallyDrop::new(Arc::from_raw(self.block.0)));
                }
            }
        }
    }
}
