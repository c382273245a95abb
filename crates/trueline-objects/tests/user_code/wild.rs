//! Values whose comparisons, clones and destructors do what they like, as far as safe code can:
//! lie, panic, and call the object that holds them. They notice if they are used after they were
//! dropped, and count themselves.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

/// Memory that was freed is overwritten and not used again for a long time, so that a use after it
/// is seen by what is read there. Under the address sanitizer, which sees more, memory is freed.
struct Overwriting;

const SANITIZED: bool = option_env!("TRUELINE_SANITIZE").is_some();
const MOST_KEPT: usize = 1 << 28;
static KEPT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: what it hands out is the system's, and it frees less.
unsafe impl GlobalAlloc for Overwriting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if SANITIZED || KEPT.fetch_add(layout.size(), Relaxed) > MOST_KEPT {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(pointer, layout) };
        }
        // SAFETY: the memory is of this size, and nobody uses it any more.
        unsafe { pointer.write_bytes(0xdd, layout.size()) };
    }
}

#[global_allocator]
static ALLOCATOR: Overwriting = Overwriting;

/// Uses of values that had been dropped.
static FAULTS: AtomicUsize = AtomicUsize::new(0);
const THERE: u64 = 0x5eed_1e55_f00d_cafe;

/// What the user's code of this thread does, with these chances in 256.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manners {
    pub(crate) lies: u8,
    pub(crate) panics_comparing: u8,
    pub(crate) panics_cloning: u8,
    pub(crate) panics_dropping: u8,
    pub(crate) calls_back: u8,
}

thread_local! {
    static MANNERS: Cell<Manners> = Cell::default();
    static DICE: Cell<u64> = const { Cell::new(1) };
    static OBJECT: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A pseudo-random number of this thread's (xorshift).
pub(crate) fn dice() -> u64 {
    let next = |mut x: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    // A thread that is ending has none left.
    DICE.try_with(|dice| {
        dice.set(next(dice.get()));
        dice.get()
    })
    .unwrap_or(255)
}

pub(crate) fn seed_dice(seed: u64) {
    DICE.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
}

pub(crate) fn behave(manners: Manners) {
    MANNERS.set(manners);
}

fn by_chance(chance: u8) -> bool {
    chance > 0 && dice() % 256 < u64::from(chance)
}

/// Runs a function whose user's code may call the object back by another one.
pub(crate) fn with_object<'a>(call: impl Fn() + 'a, run: impl FnOnce()) {
    let call: Rc<dyn Fn() + 'a> = Rc::new(call);
    // SAFETY: it is taken away below, before anything that it borrows goes.
    let call: Rc<dyn Fn()> = unsafe { std::mem::transmute(call) };
    let former = OBJECT.replace(Some(call));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    OBJECT.replace(former);
    if let Err(panic) = result {
        panic::resume_unwind(panic);
    }
}

/// Runs something that may panic on purpose; tells whether it did.
pub(crate) fn may_panic(run: impl FnOnce()) -> bool {
    panic::catch_unwind(AssertUnwindSafe(run)).is_err()
}

/// No message of a panic that is meant to be.
pub(crate) fn quiet() {
    panic::set_hook(Box::new(|info| {
        let is_meant = info.payload().downcast_ref::<&str>() == Some(&MEANT);
        if !is_meant {
            eprintln!("{info}");
        }
    }));
}

const MEANT: &str = "the user's code panics";

fn act(panics: u8) {
    if std::thread::panicking() {
        return;
    }
    let manners = MANNERS.try_with(Cell::get).unwrap_or_default();
    if by_chance(manners.calls_back) && DEPTH.get() < 2 {
        let object = OBJECT.try_with(|object| object.borrow().clone()).ok().flatten();
        if let Some(object) = object {
            DEPTH.set(DEPTH.get() + 1);
            let result = panic::catch_unwind(AssertUnwindSafe(|| object()));
            DEPTH.set(DEPTH.get() - 1);
            if let Err(panic) = result {
                panic::resume_unwind(panic);
            }
        }
    }
    if by_chance(panics) {
        panic::panic_any(MEANT);
    }
}

/// How many values there are.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<AtomicIsize>);

impl Ledger {
    pub(crate) fn alive(&self) -> isize {
        self.0.load(SeqCst)
    }

    pub(crate) fn value(&self, key: u64) -> Wild {
        self.0.fetch_add(1, SeqCst);
        Wild { there: Cell::new(THERE), key, ledger: self.clone() }
    }

    /// Nothing is left, and nothing was used after it was dropped.
    #[track_caller]
    pub(crate) fn assert_settled(&self, what: &str) {
        assert_eq!(FAULTS.load(SeqCst), 0, "{what}: a value was used after it was dropped");
        assert_eq!(self.alive(), 0, "{what}: values are left, or were dropped twice");
    }
}

/// A value with bad manners.
pub(crate) struct Wild {
    there: Cell<u64>,
    pub(crate) key: u64,
    ledger: Ledger,
}

// SAFETY: `there` is written when the value is dropped, which nobody else has then.
unsafe impl Sync for Wild {}

impl Wild {
    fn look(&self) -> bool {
        // SAFETY: the address is that of a value; where it was dropped and its memory freed, that
        // is what is looked for.
        let there = unsafe { self.there.as_ptr().read_volatile() } == THERE;
        if !there {
            FAULTS.fetch_add(1, SeqCst);
        }
        there
    }
}

impl Ord for Wild {
    fn cmp(&self, other: &Wild) -> Ordering {
        if !(self.look() && other.look()) {
            return Ordering::Equal;
        }
        let manners = MANNERS.try_with(Cell::get).unwrap_or_default();
        act(manners.panics_comparing);
        if by_chance(manners.lies) {
            return [Ordering::Less, Ordering::Equal, Ordering::Greater][dice() as usize % 3];
        }
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Wild {
    fn partial_cmp(&self, other: &Wild) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Wild {
    fn eq(&self, other: &Wild) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Wild {}

impl Clone for Wild {
    fn clone(&self) -> Wild {
        self.look();
        act(MANNERS.try_with(Cell::get).unwrap_or_default().panics_cloning);
        self.ledger.value(self.key)
    }
}

impl Drop for Wild {
    fn drop(&mut self) {
        if !self.look() {
            return;
        }
        self.there.set(0);
        self.ledger.0.fetch_sub(1, SeqCst);
        act(MANNERS.try_with(Cell::get).unwrap_or_default().panics_dropping);
    }
}
