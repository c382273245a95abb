//! The arena: one address range, with a part for each thread and blocks by size class.

use super::fault::{MemoryFault, MemoryFaultKind, Site};
use super::{Reuse, regions};
use crate::engine::sum_of_bytes;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Blocks start and end at multiples of this many bytes.
const GRANULE: usize = 16;
/// Address space of an arena; untouched pages take no memory.
pub(super) const RESERVED: usize = 1 << 30;
/// Each thread has two parts, the second for byte buffers. Threads beyond half this number share
/// the last parts.
const PARTS: usize = 256;
const FRESH: u8 = 0xA5;
const POISON: u8 = 0xDF;
/// Bytes of a freed block that are poisoned and checked later; larger blocks are poisoned only at
/// their start.
const POISONED: usize = 4096;
/// Byte buffers of abandoned executions that are kept, see `finish`.
const KEPT_BYTES: usize = 1 << 20;

/// A block, by its index in the order of allocation of fresh blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockId(pub(crate) u32);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Live,
    Freed,
}

struct Block {
    /// Index of the first granule in the arena.
    granule: u32,
    granules: u32,
    size: usize,
    align: usize,
    state: State,
    /// A shadow operation has touched it since it was allocated.
    touched: bool,
    allocated: Site,
    freed: Option<Site>,
}

/// A block that outlived its execution: a buffer of the standard library, or a value that user code
/// keeps in a static.
#[derive(Clone, Copy)]
struct Kept {
    granule: u32,
    granules: u32,
}

/// What happens to a freed block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It may be handed out again, if the arena reuses blocks.
    Reusable,
    /// It stays apart until the execution ends.
    Quarantine,
}

pub(crate) struct Arena {
    base: *mut u8,
    reserved: usize,
    /// For each granule, 1 + the index of its block. Entries at and after a part's `next` are
    /// stale.
    owner: *mut u32,
    blocks: Vec<Block>,
    /// For each part the next granule that was not handed out in this execution.
    next: Vec<u32>,
    /// How many parts there are up to the last that was used in this execution.
    used_parts: usize,
    free: Vec<Vec<u32>>,
    kept: Vec<Kept>,
    kept_bytes: usize,
    pub(crate) reuse: Reuse,
}

// SAFETY: one thread at a time uses an arena, since either the pool or one exploration owns it.
// Nothing else refers to the memory behind its pointers.
unsafe impl Send for Arena {}

// The boxes keep an arena's address, because the allocator holds a raw pointer to it while an
// exploration runs.
#[allow(clippy::vec_box)]
///
/// Arenas with surviving blocks come first and are used last, because the workers of an exploration
/// must find the same addresses free.
static POOL: Mutex<Vec<Box<Arena>>> = Mutex::new(Vec::new());

/// Up to this many arenas with surviving blocks are left unused: a process has room for 256 (see
/// [`regions`]). Beyond that they are used again, and workers with different arenas may report a
/// deterministic program as nondeterministic.
const MOST_KEPT: usize = 200;

impl Arena {
    /// An unused arena, the one released last first. `None` if no address space is left.
    pub(crate) fn acquire(reuse: Reuse) -> Option<Box<Arena>> {
        let pooled = {
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            let many = pool.len() > MOST_KEPT;
            pool.pop_if(|arena| many || arena.kept.is_empty())
        };
        let mut arena = match pooled {
            Some(arena) => arena,
            None => Box::new(Self::reserve()?),
        };
        arena.reuse = reuse;
        Some(arena)
    }

    /// Gives an arena back. Blocks that are still live keep their addresses.
    pub(crate) fn release(self: Box<Self>) {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let place = if self.kept.is_empty() { pool.len() } else { 0 };
        pool.insert(place, self);
    }

    fn reserve() -> Option<Self> {
        let layout = Layout::from_size_align(RESERVED, 4096).ok()?;
        let owners = Layout::array::<u32>(RESERVED / GRANULE).ok()?;
        // SAFETY: neither layout has size 0. Both ranges come from the system untouched, so none of
        // their pages is resident yet, and neither is ever released.
        let (base, owner) = unsafe { (System.alloc(layout), System.alloc_zeroed(owners)) };
        if base.is_null() || owner.is_null() {
            return None;
        }
        if !regions::register(base.addr(), base.addr() + RESERVED) {
            return None;
        }
        Some(Self {
            base,
            reserved: RESERVED,
            owner: owner.cast(),
            blocks: Vec::new(),
            next: (0..PARTS).map(|part| part_start(part) as u32).collect(),
            used_parts: 0,
            free: Vec::new(),
            kept: Vec::new(),
            kept_bytes: 0,
            reuse: Reuse::default(),
        })
    }

    pub(crate) fn base(&self) -> usize {
        self.base.addr()
    }

    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base.addr()) < self.reserved
    }

    /// The block of a layout's size class that was freed last.
    pub(crate) fn reuse(&mut self, layout: Layout, site: Site) -> Option<*mut u8> {
        if layout.align() > GRANULE {
            return None;
        }
        let id = self.free.get_mut(size_class(layout).index)?.pop()?;
        let block = &mut self.blocks[id as usize];
        block.state = State::Live;
        block.touched = false;
        block.size = layout.size();
        block.align = layout.align();
        block.allocated = site;
        block.freed = None;
        let start = block.granule;
        Some(self.fill(start, layout.size(), FRESH))
    }

    /// A fresh block for a thread; `None` if its part is used up.
    pub(crate) fn allocate(&mut self, layout: Layout, site: Site) -> Option<*mut u8> {
        let class = size_class(layout);
        let part = 2 * (site.thread as usize).min(PARTS / 2 - 1) + usize::from(is_buffer(layout));
        let end = part_start(part + 1);
        let step = layout.align().div_ceil(GRANULE);
        let mut start = (self.next[part] as usize).next_multiple_of(step);
        while let Some(kept) = self.kept_within(start, start + class.granules) {
            start = (kept.granule as usize + kept.granules as usize).next_multiple_of(step);
        }
        if start + class.granules > end {
            return None;
        }
        // Granules that alignment or surviving blocks leave out belong to no block.
        self.own(self.next[part] as usize, start, 0);
        self.next[part] = (start + class.granules) as u32;
        self.used_parts = self.used_parts.max(part + 1);
        let id = self.blocks.len() as u32;
        self.own(start, start + class.granules, id + 1);
        self.blocks.push(Block {
            granule: start as u32,
            granules: class.granules as u32,
            size: layout.size(),
            align: layout.align(),
            state: State::Live,
            touched: false,
            allocated: site,
            freed: None,
        });
        Some(self.fill(start as u32, layout.size(), FRESH))
    }

    /// The number of a layout's size class: the location of its list of free blocks.
    pub(crate) fn class_of(layout: Layout) -> usize {
        size_class(layout).index
    }

    /// Frees a block. On a fault, nothing changes.
    pub(crate) fn free(
        &mut self,
        address: usize,
        site: Site,
        afterwards: Afterwards,
    ) -> Result<(), MemoryFault> {
        let id = self.check_free(address, site)?;
        let block = &mut self.blocks[id.0 as usize];
        block.state = State::Freed;
        block.freed = Some(site);
        let (granule, granules, size, align) =
            (block.granule, block.granules, block.size, block.align);
        self.fill(granule, size.min(POISONED), POISON);
        if self.reuse == Reuse::Lifo && afterwards == Afterwards::Reusable && align <= GRANULE {
            let index = class_index(granules as usize);
            if self.free.len() <= index {
                self.free.resize_with(index + 1, Vec::new);
            }
            self.free[index].push(id.0);
        }
        Ok(())
    }

    /// The block that `free` would free.
    pub(crate) fn check_free(&self, address: usize, site: Site) -> Result<BlockId, MemoryFault> {
        let Some(id) = self.block_at(address).filter(|id| self.start(*id) == address) else {
            return Err(MemoryFault {
                kind: MemoryFaultKind::InvalidFree,
                size: 0,
                allocated: None,
                freed: None,
                at: Some(site),
                count: 1,
            });
        };
        match self.blocks[id.0 as usize].state {
            State::Live => Ok(id),
            State::Freed => Err(self.fault(id, MemoryFaultKind::DoubleFree, Some(site))),
        }
    }

    /// Frees a block that the execution itself did not free: no fault, no event, no reuse. Blocks
    /// of earlier executions are forgotten.
    pub(crate) fn free_quietly(&mut self, address: usize) {
        if let Some(id) = self.block_at(address).filter(|id| self.start(*id) == address) {
            self.blocks[id.0 as usize].state = State::Freed;
            self.blocks[id.0 as usize].freed = None;
        } else if let Some(granule) = self.granule_of(address) {
            self.kept.retain(|kept| kept.granule != granule as u32);
        }
    }

    /// Whether a shadow operation has touched the block at an address.
    pub(crate) fn is_touched(&self, address: usize) -> bool {
        self.block_at(address).is_some_and(|id| self.blocks[id.0 as usize].touched)
    }

    /// Whether the block at an address was freed.
    pub(crate) fn is_freed(&self, address: usize) -> bool {
        let block = self.block_at(address).map(|id| &self.blocks[id.0 as usize]);
        block.is_some_and(|block| block.state == State::Freed)
    }

    /// Whether a block of an earlier execution that lives on starts at the address.
    pub(crate) fn is_kept(&self, address: usize) -> bool {
        let granule = self.granule_of(address).map(|granule| granule as u32);
        self.kept.iter().any(|kept| Some(kept.granule) == granule)
    }

    /// The block that contains an address, if it is one of this execution: a free writes its
    /// location.
    #[inline]
    pub(crate) fn block_at(&self, address: usize) -> Option<BlockId> {
        let granule = self.granule_of(address)?;
        if granule >= self.next[granule / part_size()] as usize {
            return None;
        }
        // SAFETY: `granule` is below the number of granules of the arena, which is the length of
        // `owner`.
        let owner = unsafe { *self.owner.add(granule) };
        owner.checked_sub(1).map(BlockId)
    }

    /// Records a shadow access. Returns whether it is valid; if not, [`Arena::check_access`] gives
    /// the fault.
    #[inline]
    pub(crate) fn touch(&mut self, address: usize) -> bool {
        let Some(id) = self.block_at(address) else { return true };
        let block = &mut self.blocks[id.0 as usize];
        block.touched = true;
        block.state == State::Live
    }

    /// Checks a shadow access: the block must not have been freed.
    #[cold]
    pub(crate) fn check_access(
        &mut self,
        address: usize,
        site: Site,
    ) -> Result<Option<BlockId>, MemoryFault> {
        let Some(id) = self.block_at(address) else { return Ok(None) };
        let block = &mut self.blocks[id.0 as usize];
        block.touched = true;
        match block.state {
            State::Live => Ok(Some(id)),
            State::Freed => Err(self.fault(id, MemoryFaultKind::UseAfterFree, Some(site))),
        }
    }

    /// The addresses of a block.
    pub(crate) fn range(&self, id: BlockId) -> std::ops::Range<usize> {
        let start = self.start(id);
        start..start + self.blocks[id.0 as usize].granules as usize * GRANULE
    }

    pub(crate) fn fault(
        &self,
        id: BlockId,
        kind: MemoryFaultKind,
        at: Option<Site>,
    ) -> MemoryFault {
        let block = &self.blocks[id.0 as usize];
        MemoryFault {
            kind,
            size: block.size,
            allocated: Some(block.allocated),
            freed: block.freed,
            at,
            count: 1,
        }
    }

    /// The faults at the end of an execution that ran to its end: freed blocks that were written,
    /// blocks that leaked.
    pub(crate) fn final_faults(&self, leaks: bool) -> Option<MemoryFault> {
        let written = self.blocks.iter().position(|block| {
            block.state == State::Freed && block.freed.is_some() && !self.is_poisoned(block)
        });
        if let Some(index) = written {
            return Some(self.fault(BlockId(index as u32), MemoryFaultKind::WriteAfterFree, None));
        }
        let mut left = (0..self.blocks.len()).filter(|&i| self.blocks[i].state == State::Live);
        let first = left.next().filter(|_| leaks)?;
        let mut fault = self.fault(BlockId(first as u32), MemoryFaultKind::Leak, None);
        fault.count += left.count();
        Some(fault)
    }

    /// The sum over all live blocks to which user code may have written.
    pub(crate) fn sum(&self) -> u64 {
        let live = self.blocks.iter().filter(|block| block.state == State::Live);
        let sums = live.map(|block| {
            // SAFETY: the block lies in the arena, which only this OS thread uses now.
            unsafe { sum_of_bytes(self.base.add(block.granule as usize * GRANULE), block.size) }
        });
        sums.fold(0, u64::wrapping_add)
    }

    /// Ends an execution: all addresses may be used again, except those of surviving blocks.
    ///
    /// If the execution ran to its end, a remaining block may be reachable from outside: from a
    /// static, or as a buffer of the standard library that grew while user code ran. It keeps its
    /// address for good. An abandoned execution leaves everything that its stacks owned, which is
    /// garbage. Only byte buffers are kept then, up to a limit, because one of them may be the
    /// output that the test harness captures.
    pub(crate) fn finish(&mut self, complete: bool) {
        for block in &self.blocks {
            let bytes = block.granules as usize * GRANULE;
            let keep = block.state == State::Live
                && (complete
                    || (block.align == 1
                        && block.size >= 8
                        && self.kept_bytes + bytes <= KEPT_BYTES));
            if keep {
                self.kept_bytes += if complete { 0 } else { bytes };
                self.kept.push(Kept { granule: block.granule, granules: block.granules });
            }
        }
        self.blocks.clear();
        self.free.iter_mut().for_each(Vec::clear);
        let used = std::mem::take(&mut self.used_parts);
        for (part, next) in self.next[..used].iter_mut().enumerate() {
            *next = part_start(part) as u32;
        }
    }

    fn start(&self, id: BlockId) -> usize {
        self.base.addr() + self.blocks[id.0 as usize].granule as usize * GRANULE
    }

    #[inline]
    fn granule_of(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base.addr());
        (offset < self.reserved).then_some(offset / GRANULE)
    }

    fn kept_within(&self, start: usize, end: usize) -> Option<Kept> {
        self.kept.iter().copied().find(|kept| {
            (kept.granule as usize) < end && start < (kept.granule + kept.granules) as usize
        })
    }

    fn own(&mut self, start: usize, end: usize, owner: u32) {
        for granule in start..end {
            // SAFETY: callers pass granules of the arena, see `block_at`.
            unsafe { *self.owner.add(granule) = owner };
        }
    }

    fn fill(&mut self, granule: u32, bytes: usize, with: u8) -> *mut u8 {
        // SAFETY: the block that starts at `granule` is at least `bytes` long, and it is either
        // unowned or being freed.
        unsafe {
            let start = self.base.add(granule as usize * GRANULE);
            ptr::write_bytes(start, with, bytes);
            start
        }
    }

    fn is_poisoned(&self, block: &Block) -> bool {
        // SAFETY: the bytes are inside the arena and were written when the block was freed.
        let bytes = unsafe {
            let start = self.base.add(block.granule as usize * GRANULE);
            std::slice::from_raw_parts(start, block.size.min(POISONED))
        };
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().all(|&word| word == [POISON; 8]) && rest.iter().all(|&byte| byte == POISON)
    }
}

/// Whether a block is a buffer of bytes. One of them may be the output that the test harness
/// captures, which stays when its execution ends and grows under a lock of std's. So byte buffers
/// have parts of their own, make no events and are not reused. A single `AtomicBool` or `AtomicU8`
/// is smaller.
pub(super) fn is_buffer(layout: Layout) -> bool {
    layout.align() == 1 && layout.size() >= 8
}

struct SizeClass {
    granules: usize,
    index: usize,
}

/// Multiples of 16 up to 128 bytes, then four classes from each power of two to the next.
fn size_class(layout: Layout) -> SizeClass {
    let wanted = layout.size().div_ceil(GRANULE).max(1);
    let granules = if wanted <= 8 {
        wanted
    } else {
        let step = (wanted.next_power_of_two() / 8).max(1);
        wanted.next_multiple_of(step)
    };
    SizeClass { granules, index: class_index(granules) }
}

/// The inverse of the rounding in `size_class`: each class has one number.
fn class_index(granules: usize) -> usize {
    if granules <= 8 {
        return granules;
    }
    let power = granules.next_power_of_two();
    let step = power / 8;
    8 + (power.trailing_zeros() as usize - 4) * 4 + (granules - power / 2) / step
}

fn part_size() -> usize {
    RESERVED / GRANULE / PARTS
}

fn part_start(part: usize) -> usize {
    part * part_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Site = Site { thread: 0, after: None };

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    fn arena(reuse: Reuse) -> Arena {
        let mut arena = Arena::reserve().unwrap();
        arena.reuse = reuse;
        arena
    }

    #[test]
    fn classes_are_numbered_without_gaps_or_clashes() {
        let mut last = size_class(layout(1));
        for size in 2..100_000 {
            let class = size_class(layout(size));
            assert!(class.granules * GRANULE >= size);
            let grew = class.granules != last.granules;
            assert_eq!(class.index, last.index + usize::from(grew), "size {size}");
            last = class;
        }
    }

    #[test]
    fn addresses_depend_on_the_own_thread_only_and_repeat() {
        let mut arena = arena(Reuse::Quarantine);
        let other = Site { thread: 1, after: None };
        let a = arena.allocate(layout(24), HERE).unwrap();
        let b = arena.allocate(layout(24), other).unwrap();
        for p in [a, b] {
            arena.free(p.addr(), HERE, Afterwards::Reusable).unwrap();
        }
        arena.finish(true);
        assert_eq!(arena.allocate(layout(24), other).unwrap(), b);
        assert_eq!(arena.allocate(layout(24), HERE).unwrap(), a);
    }

    #[test]
    fn the_last_freed_is_the_first_reused() {
        let mut arena = arena(Reuse::Lifo);
        let a = arena.allocate(layout(24), HERE).unwrap();
        let b = arena.allocate(layout(24), HERE).unwrap();
        arena.free(a.addr(), HERE, Afterwards::Reusable).unwrap();
        arena.free(b.addr(), HERE, Afterwards::Reusable).unwrap();
        assert_eq!(arena.reuse(layout(100), HERE), None);
        assert_eq!(arena.reuse(layout(30), HERE), Some(b));
        assert_eq!(arena.reuse(layout(17), HERE), Some(a));
        assert_eq!(arena.reuse(layout(17), HERE), None);
    }

    #[test]
    fn faults_are_told_apart() {
        let mut arena = arena(Reuse::Quarantine);
        let a = arena.allocate(layout(40), HERE).unwrap().addr();
        let kind = |fault: MemoryFault| fault.kind;
        assert!(arena.check_access(a + 39, HERE).unwrap().is_some());
        assert_eq!(arena.check_access(a + 4096, HERE), Ok(None));
        assert_eq!(
            arena.free(a + 16, HERE, Afterwards::Reusable).map_err(kind),
            Err(MemoryFaultKind::InvalidFree)
        );
        assert_eq!(arena.final_faults(true).map(kind), Some(MemoryFaultKind::Leak));
        arena.free(a, HERE, Afterwards::Reusable).unwrap();
        assert_eq!(arena.final_faults(true), None);
        assert_eq!(
            arena.free(a, HERE, Afterwards::Reusable).map_err(kind),
            Err(MemoryFaultKind::DoubleFree)
        );
        assert_eq!(arena.check_access(a, HERE).map_err(kind), Err(MemoryFaultKind::UseAfterFree));
        // SAFETY: the address is inside the arena, which is mapped for good.
        unsafe { *arena.base.add(a - arena.base.addr()) = 7 };
        assert_eq!(arena.final_faults(true).map(kind), Some(MemoryFaultKind::WriteAfterFree));
    }

    #[test]
    fn what_outlives_its_execution_keeps_its_address() {
        let mut arena = arena(Reuse::Quarantine);
        let kept = arena.allocate(layout(64), HERE).unwrap();
        arena.finish(true);
        let next = arena.allocate(layout(64), HERE).unwrap();
        assert_eq!(next.addr(), kept.addr() + 64);
        arena.finish(false);
        arena.free_quietly(kept.addr());
        assert_eq!(arena.allocate(layout(64), HERE).unwrap(), kept);
    }

    #[test]
    fn large_alignments_are_honoured() {
        let mut arena = arena(Reuse::Lifo);
        let wide = Layout::from_size_align(100, 4096).unwrap();
        arena.allocate(layout(8), HERE).unwrap();
        let p = arena.allocate(wide, HERE).unwrap();
        assert_eq!(p.addr() % 4096, 0);
        arena.free(p.addr(), HERE, Afterwards::Reusable).unwrap();
        assert_eq!(arena.reuse(wide, HERE), None);
    }
}
