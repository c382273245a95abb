//! The layout of a state: as a frame of numbers, and packed into words.
//!
//! A *frame* has one `i32` per slot: shared cells, then heap nodes, then one block per process
//! (location, number of calls, own variables, locals). Locals of different operations share slots,
//! since a process performs one operation at a time. A *packed* state uses for each slot only the
//! bits that its range needs, in whole 32-bit words.
//!
//! Invariant: a frame between two steps is *normalised*: slots without meaning (dead locals,
//! unreachable nodes) hold their initial value, so that equal states are equal words.

use crate::program::{Kind, NodeId, Program, Reclaim, Variable};

/// The words of a packed state; frames are plain slices.
pub(crate) type Frame = Vec<i32>;

/// Which slots of a process's block hold ids or pointers.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    /// Slot, node type.
    pub(crate) pointers: Vec<(usize, NodeId)>,
    /// Slots.
    pub(crate) pids: Vec<usize>,
}

/// A pool of nodes in the frame.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    /// The slot of node 1's first field.
    pub(crate) base: usize,
    /// Slots per node: the fields, and one bit 'allocated' if nodes are freed explicitly.
    pub(crate) stride: usize,
    pub(crate) fields: usize,
    pub(crate) capacity: usize,
    pub(crate) freed: bool,
    /// Using a node that was freed is an error.
    pub(crate) guarded: bool,
    pub(crate) first: Vec<i32>,
    pub(crate) references: References,
}

impl Pool {
    /// The slot of a field of node `node` (from 1).
    pub(crate) fn slot(&self, node: i32, field: usize) -> usize {
        self.base + (node as usize - 1) * self.stride + field
    }
}

/// A shared array with dimensions indexed by process.
#[derive(Clone, Debug)]
pub(crate) struct ByProcess {
    pub(crate) base: usize,
    pub(crate) dims: Vec<(usize, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Bits {
    word: u32,
    shift: u32,
    mask: u64,
    lo: i32,
}

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) processes: usize,
    pub(crate) slots: usize,
    /// Slots of shared cells and heap nodes, whose accesses are recorded.
    pub(crate) public: usize,
    pub(crate) shared: Vec<usize>,
    pub(crate) pools: Vec<Pool>,
    /// The first process's block.
    pub(crate) blocks: usize,
    pub(crate) stride: usize,
    /// Offsets in a block.
    pub(crate) own: Vec<usize>,
    pub(crate) locals: usize,
    pub(crate) shared_references: References,
    pub(crate) own_references: References,
    /// By operation: locals, offsets in a block.
    pub(crate) local_references: Vec<References>,
    pub(crate) by_process: Vec<ByProcess>,
    /// The ranges of symmetric processes.
    pub(crate) symmetric: Vec<(usize, usize)>,
    /// A normalised empty frame: first values everywhere.
    pub(crate) first: Frame,
    bits: Vec<Bits>,
    pub(crate) words: usize,
}

/// Offset in a block: 0 for idle, else one more than the location.
pub(crate) const PC: usize = 0;
/// Offset in a block: the number of operations called, if it is limited.
pub(crate) const MADE: usize = 1;

impl Layout {
    pub(crate) fn new(program: &Program) -> Layout {
        let processes = program.processes();
        let mut ranges: Vec<(i32, i32)> = Vec::new();
        let mut first: Frame = Vec::new();
        let mut shared = Vec::new();
        let mut shared_references = References::default();
        let mut by_process = Vec::new();
        for variable in &program.shared {
            shared.push(first.len());
            note(variable, first.len(), &mut shared_references);
            if variable.dims.iter().any(|d| d.by_process) {
                let dims = variable.dims.iter().map(|d| (d.len, d.by_process)).collect();
                by_process.push(ByProcess { base: first.len(), dims });
            }
            push(variable, &mut first, &mut ranges);
        }
        let mut pools = Vec::new();
        for node in &program.nodes {
            let freed = node.reclaim != Reclaim::Collected;
            let base = first.len();
            let mut references = References::default();
            for (offset, field) in node.fields.iter().enumerate() {
                note(field, offset, &mut references);
            }
            for _ in 0..node.capacity {
                for field in &node.fields {
                    push(field, &mut first, &mut ranges);
                }
                if freed {
                    first.push(0);
                    ranges.push((0, 1));
                }
            }
            pools.push(Pool {
                base,
                stride: node.fields.len() + usize::from(freed),
                fields: node.fields.len(),
                capacity: node.capacity,
                freed,
                guarded: node.reclaim == Reclaim::Freed,
                first: node.fields.iter().map(|f| f.first(0)).collect(),
                references,
            });
        }
        let public = first.len();
        let blocks = first.len();
        let made = program.roles.iter().filter_map(|r| r.limit).max().unwrap_or(0);
        let mut block: Frame = vec![0, 0];
        let mut block_ranges = vec![(0, program.locations.len() as i32), (0, made as i32)];
        let mut own = Vec::new();
        let mut own_references = References::default();
        for variable in &program.own {
            own.push(block.len());
            note(variable, block.len(), &mut own_references);
            push(variable, &mut block, &mut block_ranges);
        }
        let locals = block.len();
        let mut local_references = Vec::new();
        for operation in &program.operations {
            let mut references = References::default();
            let mut offset = locals;
            for variable in &operation.locals {
                note(variable, offset, &mut references);
                for _ in 0..variable.cells() {
                    if offset == block.len() {
                        block.push(0);
                        block_ranges.push((0, 0));
                    }
                    let range = &mut block_ranges[offset];
                    *range = (range.0.min(variable.ty.lo), range.1.max(variable.ty.hi));
                    offset += 1;
                }
            }
            local_references.push(references);
        }
        let stride = block.len();
        for _ in 0..processes {
            first.extend_from_slice(&block);
            ranges.extend_from_slice(&block_ranges);
        }
        let mut symmetric = Vec::new();
        let mut from = 0;
        for role in &program.roles {
            if role.symmetric && role.processes > 1 {
                symmetric.push((from, from + role.processes));
            }
            from += role.processes;
        }
        let mut bits = Vec::new();
        let mut at = 0u32;
        for &(lo, hi) in &ranges {
            let width = 64 - ((i64::from(hi) - i64::from(lo)) as u64).leading_zeros();
            // A slot may straddle two words: it is read from 64 bits that begin at its word.
            bits.push(Bits { word: at / 32, shift: at % 32, mask: (1u64 << width) - 1, lo });
            at += width;
        }
        Layout {
            processes,
            slots: first.len(),
            public,
            shared,
            pools,
            blocks,
            stride,
            own,
            locals,
            shared_references,
            own_references,
            local_references,
            by_process,
            symmetric,
            first,
            bits,
            words: (at as usize).div_ceil(32).max(1),
        }
    }

    /// The slot where a process's block begins.
    pub(crate) fn block(&self, process: usize) -> usize {
        self.blocks + process * self.stride
    }

    /// Packs a normalised frame.
    pub(crate) fn pack(&self, frame: &[i32], words: &mut [u32]) {
        words.fill(0);
        for (value, bits) in frame.iter().zip(&self.bits) {
            // A slot with one value takes no space, and there may be no word after the last bit.
            if bits.mask == 0 {
                continue;
            }
            let raw = (i64::from(*value) - i64::from(bits.lo)) as u64;
            debug_assert!(raw <= bits.mask, "a value outside of its slot");
            let raw = raw << bits.shift;
            let at = bits.word as usize;
            words[at] |= raw as u32;
            if raw >> 32 != 0 {
                words[at + 1] |= (raw >> 32) as u32;
            }
        }
    }

    /// The inverse of [`Layout::pack`].
    pub(crate) fn unpack(&self, words: &[u32], frame: &mut [i32]) {
        for (slot, bits) in frame.iter_mut().zip(&self.bits) {
            let at = bits.word as usize;
            let low = u64::from(words.get(at).copied().unwrap_or(0));
            let high = u64::from(words.get(at + 1).copied().unwrap_or(0)) << 32;
            *slot = ((((low | high) >> bits.shift) & bits.mask) as i64 + i64::from(bits.lo)) as i32;
        }
    }
}

fn push(variable: &Variable, first: &mut Frame, ranges: &mut Vec<(i32, i32)>) {
    for cell in 0..variable.cells() {
        first.push(variable.first(cell));
        ranges.push((variable.ty.lo, variable.ty.hi));
    }
}

fn note(variable: &Variable, base: usize, references: &mut References) {
    let slots = base..base + variable.cells();
    match variable.ty.kind {
        Kind::Pointer(node) => references.pointers.extend(slots.map(|s| (s, node))),
        Kind::Pid => references.pids.extend(slots),
        _ => {}
    }
}
