//! The layout of a state: as a frame of numbers, and packed into words.
//!
//! A *frame* has one `i32` per slot: shared cells, then heap nodes, then one block per process
//! (location, number of calls, own variables, locals). Locals of different operations share slots,
//! since a process performs one operation at a time. A *packed* state uses for each slot only the
//! bits that its range needs, in whole 32-bit words.
//!
//! Invariant: a frame between two steps is *normalised*: slots without meaning (dead locals,
//! unreachable nodes) hold their initial value, so that equal states are equal words.

use smallvec::SmallVec;

use crate::program::{Kind, NodeId, Program, Reclaim, Variable};

use super::heap::performed;

/// The words of a packed state; frames are plain slices.
pub(crate) type Frame = Vec<i32>;

/// Which slots of a process's block hold ids or pointers.
#[derive(Clone, Debug, Default)]
pub(crate) struct References {
    /// Slot, node type.
    pub(crate) pointers: Vec<(usize, NodeId)>,
    /// Slots.
    pub(crate) pids: Vec<usize>,
    /// Slot, and the number of the first value of its data type.
    pub(crate) data: Vec<(usize, usize)>,
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

/// An array with dimensions indexed by process.
#[derive(Clone, Debug)]
pub(crate) struct ByProcess {
    pub(crate) base: usize,
    pub(crate) dims: Vec<(usize, bool)>,
}

impl ByProcess {
    fn new(variable: &Variable, base: usize) -> Option<ByProcess> {
        let dims: Vec<_> = variable.dims.iter().map(|d| (d.len, d.by_process)).collect();
        dims.iter().any(|d| d.1).then_some(ByProcess { base, dims })
    }

    pub(crate) fn cells(&self) -> usize {
        self.dims.iter().map(|d| d.0).product()
    }

    /// Whether the slot, or the offset in a block, is one of its cells.
    pub(crate) fn holds(&self, slot: usize) -> bool {
        (self.base..self.base + self.cells()).contains(&slot)
    }

    /// The cell with these indices after processes were renamed.
    pub(crate) fn target(&self, indices: &[usize], to: &[u8]) -> usize {
        indices.iter().zip(&self.dims).fold(0, |target, (&index, &(len, by_process))| {
            target * len + if by_process { usize::from(to[index]) } else { index }
        })
    }

    /// Says which cell the slot is, by the colours of processes.
    pub(crate) fn words(&self, slot: usize, colours: &[u64]) -> SmallVec<[u64; 8]> {
        let mut rest = slot - self.base;
        let mut words = SmallVec::from_iter([11, self.base as u64]);
        for &(len, by_process) in self.dims.iter().rev() {
            let index = rest % len;
            rest /= len;
            words.push(if by_process { colours[index] } else { index as u64 });
        }
        words
    }
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
    /// The same of a process's own variables, and by operation of locals; bases are offsets in a
    /// block.
    pub(crate) own_by_process: Vec<ByProcess>,
    pub(crate) local_by_process: Vec<Vec<ByProcess>>,
    /// The ranges of symmetric processes.
    pub(crate) symmetric: Vec<(usize, usize)>,
    /// Data types whose values may be exchanged: where their names begin and end, the names of
    /// processes counted.
    pub(crate) data: Vec<(usize, usize)>,
    /// How many processes and data values there are together.
    pub(crate) names: usize,
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
            by_process.extend(ByProcess::new(variable, first.len()));
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
        let mut own_by_process = Vec::new();
        for variable in &program.own {
            own.push(block.len());
            own_by_process.extend(ByProcess::new(variable, block.len()));
            note(variable, block.len(), &mut own_references);
            push(variable, &mut block, &mut block_ranges);
        }
        let locals = block.len();
        let mut local_references = Vec::new();
        let mut local_by_process = Vec::new();
        for operation in &program.operations {
            let mut references = References::default();
            let mut arrays = Vec::new();
            let mut offset = locals;
            for variable in &operation.locals {
                arrays.extend(ByProcess::new(variable, offset));
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
            local_by_process.push(arrays);
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
        let data = data_types(program);
        let names = data.last().map_or(processes, |last| last.1);
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
            own_by_process,
            local_by_process,
            symmetric,
            data,
            names,
            first,
            bits,
            words: (at as usize).div_ceil(32).max(1),
        }
    }

    /// The slot where a process's block begins.
    pub(crate) fn block(&self, process: usize) -> usize {
        self.blocks + process * self.stride
    }

    /// What a process's block refers to, and its arrays that are indexed by processes: of its own
    /// variables, then of its locals.
    pub(crate) fn private<'l>(
        &'l self,
        of: &[usize],
        frame: &[i32],
        process: usize,
    ) -> impl Iterator<Item = (&'l References, &'l [ByProcess])> + use<'l> {
        let local = performed(self, of, frame, process)
            .map(|o| (&self.local_references[o], &self.local_by_process[o][..]));
        [Some((&self.own_references, &self.own_by_process[..])), local].into_iter().flatten()
    }

    /// Where the frame holds data values, in the order in which they are named: the slot, and the
    /// number of the first value of its type.
    pub(crate) fn data_slots(&self, of: &[usize], frame: &[i32], out: &mut Vec<(usize, usize)>) {
        out.clear();
        out.extend_from_slice(&self.shared_references.data);
        for pool in self.pools.iter().filter(|pool| !pool.references.data.is_empty()) {
            for node in 1..=pool.capacity as i32 {
                let fields = pool.references.data.iter();
                out.extend(fields.map(|&(field, first)| (pool.slot(node, field), first)));
            }
        }
        for process in 0..self.processes {
            let block = self.block(process);
            for (references, _) in self.private(of, frame, process) {
                let data = references.data.iter();
                out.extend(data.map(|&(offset, first)| (block + offset, first)));
            }
        }
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

/// The data types of which every role calls with all values or with none: their values are alike.
/// Where calls were taken away from a role, values are not exchanged.
fn data_types(program: &Program) -> Vec<(usize, usize)> {
    let processes = program.processes();
    let operations = program.operations.iter();
    let mut types: Vec<(usize, usize)> = operations
        .flat_map(|o| o.locals.iter().map(|v| &v.ty).chain(&o.results))
        .chain(program.shared.iter().chain(&program.own).map(|v| &v.ty))
        .chain(program.nodes.iter().flat_map(|n| &n.fields).map(|v| &v.ty))
        .filter_map(|ty| match ty.kind {
            Kind::Data { first } => Some((processes + first, processes + first + ty.hi as usize)),
            _ => None,
        })
        .collect();
    types.sort_unstable();
    types.dedup();
    let exchanged = |a: usize, b: usize| -> Vec<u8> {
        let swap = |n: usize| {
            if n == a {
                b
            } else if n == b {
                a
            } else {
                n
            }
        };
        (0..types.last().map_or(0, |last| last.1)).map(|n| swap(n) as u8).collect()
    };
    let closed = types.iter().all(|&(from, end)| {
        (from + 1..end).all(|value| {
            let to = exchanged(value - 1, value);
            program.roles.iter().all(|role| {
                role.calls.iter().all(|call| {
                    let call = program.calls[*call].renamed(program, &to);
                    role.calls.iter().any(|other| program.calls[*other] == call)
                })
            })
        })
    });
    if closed { types } else { Vec::new() }
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
        Kind::Data { first } => references.data.extend(slots.map(|s| (s, first))),
        _ => {}
    }
}
