//! The visited set: exact, a few words per state.
//!
//! States are records of 32-bit words (the packed frame, then the number of the specification set),
//! appended to a list in the order in which they were found. The search is breadth first, so the
//! list is also the queue. A table of 32-bit entries finds them: each entry is the number of a
//! state, with as many bits of its hash as are left over, so that a wrong candidate is nearly
//! always rejected without reading the list. To grow, the table is freed and refilled from the
//! list, so that there are never two tables. Cost: the words, and 5 to 10 bytes per state.
//!
//! With antichains, entries are found by the frame alone. If one of two sets for the same frame
//! includes the other, only the smaller one stays. An evicted state stays in the list, marked dead,
//! and is not counted.

/// States a piece of the list.
const PIECE: usize = 1 << 9;

/// A hash of words; the table uses its low bits, shards its high bits.
pub(crate) fn hash(words: &[u32]) -> u64 {
    let mut state = 0x243F_6A88_85A3_08D3u64;
    for &word in words {
        let product = u128::from(state ^ u64::from(word)) * 0x9E37_79B9_7F4A_7C15;
        state = (product as u64) ^ ((product >> 64) as u64);
    }
    let product = u128::from(state) * 0xA409_3822_299F_31D1;
    (product as u64) ^ ((product >> 64) as u64)
}

/// Equality of a few words: faster than a call to compare memory.
fn same(a: &[u32], b: &[u32]) -> bool {
    a.iter().zip(b).all(|(x, y)| x == y)
}

/// One part of the visited set. Frames belong to shards by their hash.
pub(crate) struct Shard {
    /// Words per record; the last one is the set.
    width: usize,
    antichain: bool,
    pieces: Vec<Vec<u32>>,
    len: usize,
    table: Vec<u32>,
    /// The table's size is a power of two: this one.
    bits: u32,
    /// Entries in the table, dead ones included.
    entries: usize,
    dead: Vec<u64>,
    dead_count: usize,
}

impl Shard {
    pub(crate) fn new(width: usize, antichain: bool) -> Shard {
        let bits = 4;
        Shard {
            width,
            antichain,
            pieces: Vec::new(),
            len: 0,
            table: vec![0; 1 << bits],
            bits,
            entries: 0,
            dead: Vec::new(),
            dead_count: 0,
        }
    }

    /// States found so far, dead ones included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// States that count.
    pub(crate) fn live(&self) -> usize {
        self.len - self.dead_count
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.pieces.len() * PIECE * self.width * 4 + self.table.len() * 4 + self.dead.len() * 8)
            as u64
    }

    pub(crate) fn get(&self, id: usize) -> &[u32] {
        let at = id % PIECE * self.width;
        &self.pieces[id / PIECE][at..at + self.width]
    }

    /// Whether the state was evicted by one with a smaller set.
    pub(crate) fn is_dead(&self, id: usize) -> bool {
        self.dead.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 != 0)
    }

    fn kill(&mut self, id: usize) {
        if self.dead.len() <= id / 64 {
            self.dead.resize(id / 64 + 1, 0);
        }
        self.dead[id / 64] |= 1 << (id % 64);
        self.dead_count += 1;
    }

    /// Fills an empty shard with records, of which some are dead.
    pub(crate) fn restore(&mut self, records: &[u32], dead: Vec<u64>) {
        for record in records.chunks_exact(self.width) {
            self.push(record);
        }
        self.dead_count = dead.iter().map(|w| w.count_ones() as usize).sum();
        self.dead = dead;
        while self.len * 5 >= (1usize << self.bits) * 4 {
            self.bits += 1;
        }
        self.fill();
    }

    /// Marks of dead states, 64 per word.
    pub(crate) fn dead(&self) -> &[u64] {
        &self.dead
    }

    fn push(&mut self, record: &[u32]) -> usize {
        if self.len.is_multiple_of(PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE * self.width));
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.extend_from_slice(record);
        }
        self.len += 1;
        self.len - 1
    }

    fn key<'a>(&self, record: &'a [u32]) -> &'a [u32] {
        if self.antichain { &record[..self.width - 1] } else { record }
    }

    /// An entry: the state's number and one, with bits of the hash above.
    fn entry(&self, id: usize, hash: u64) -> u32 {
        (id as u32 + 1) | self.tag(hash)
    }

    fn tag(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !(u32::MAX >> (32 - self.bits))
    }

    /// Adds a record; returns false if it was already there. Records are compared in full.
    pub(crate) fn insert(&mut self, record: &[u32]) -> bool {
        let before = self.len;
        self.find_or_insert(record);
        self.len > before
    }

    /// The number of a record, which is added if it is new.
    pub(crate) fn find_or_insert(&mut self, record: &[u32]) -> usize {
        debug_assert!(!self.antichain);
        self.grow_if_full();
        let hash = hash(record);
        let mask = self.table.len() - 1;
        let numbers = (1u32 << self.bits) - 1;
        let tag = self.tag(hash);
        let mut at = hash as usize & mask;
        loop {
            let entry = self.table[at];
            if entry == 0 {
                break;
            }
            let id = (entry & numbers).wrapping_sub(1) as usize;
            if entry & !numbers == tag && same(self.get(id), record) {
                return id;
            }
            at = (at + 1) & mask;
        }
        let id = self.push(record);
        self.table[at] = self.entry(id, hash);
        self.entries += 1;
        id
    }

    /// Adds a record unless the table has a subset of its set for the same frame; evicts the
    /// supersets.
    pub(crate) fn insert_minimal(
        &mut self,
        record: &[u32],
        mut included: impl FnMut(u32, u32) -> bool,
    ) -> bool {
        debug_assert!(self.antichain);
        self.grow_if_full();
        let key = self.key(record);
        let set = record[self.width - 1];
        let hash = hash(key);
        let mask = self.table.len() - 1;
        let numbers = (1u32 << self.bits) - 1;
        let tag = self.tag(hash);
        let mut at = hash as usize & mask;
        let mut evicted: Vec<usize> = Vec::new();
        loop {
            let entry = self.table[at];
            if entry == 0 {
                break;
            }
            let id = (entry & numbers).wrapping_sub(1) as usize;
            if entry & !numbers == tag && !self.is_dead(id) {
                let other = self.get(id);
                if same(self.key(other), key) {
                    let other = other[self.width - 1];
                    if included(other, set) {
                        debug_assert!(
                            evicted.is_empty(),
                            "an antichain holds no two that include each other"
                        );
                        return false;
                    }
                    if included(set, other) {
                        evicted.push(id);
                    }
                }
            }
            at = (at + 1) & mask;
        }
        for id in evicted {
            self.kill(id);
        }
        let id = self.push(record);
        self.table[at] = self.entry(id, hash);
        self.entries += 1;
        true
    }

    /// At most four fifths of the places may be taken, and every number must fit.
    fn grow_if_full(&mut self) {
        if self.entries * 5 < self.table.len() * 4 && self.len + 1 < self.table.len() {
            return;
        }
        self.bits += 1;
        self.fill();
    }

    /// Makes the table from the list.
    fn fill(&mut self) {
        self.table = Vec::new();
        self.table = vec![0; 1 << self.bits];
        self.entries = 0;
        let mask = self.table.len() - 1;
        for id in 0..self.len {
            if self.is_dead(id) {
                continue;
            }
            let hash = hash(self.key(self.get(id)));
            let mut at = hash as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = self.entry(id, hash);
            self.entries += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use trueline::rng::Rng;

    use super::*;

    #[test]
    fn holds_what_a_plain_set_holds() {
        let mut rng = Rng::new(5);
        let mut shard = Shard::new(3, false);
        let mut plain = BTreeSet::new();
        for _ in 0..200_000 {
            let record = [rng.below(50) as u32, rng.below(50) as u32, rng.below(40) as u32];
            assert_eq!(shard.insert(&record), plain.insert(record));
        }
        assert_eq!(shard.live(), plain.len());
        assert!((0..shard.len()).all(|id| plain.contains(shard.get(id))));
    }

    #[test]
    fn keeps_minimal_sets_only() {
        // Sets are bits here: inclusion is that of bits.
        let included = |a: u32, b: u32| a & !b == 0;
        let mut rng = Rng::new(6);
        let mut shard = Shard::new(2, true);
        let mut seen: BTreeSet<[u32; 2]> = BTreeSet::new();
        for _ in 0..20_000 {
            let record = [rng.below(200) as u32, rng.below(256) as u32];
            shard.insert_minimal(&record, included);
            seen.insert(record);
        }
        let minimal = seen.iter().filter(|[frame, set]| {
            !seen.iter().any(|[f, s]| f == frame && s != set && included(*s, *set))
        });
        let minimal: BTreeSet<[u32; 2]> = minimal.copied().collect();
        let kept: BTreeSet<[u32; 2]> = (0..shard.len())
            .filter(|&id| !shard.is_dead(id))
            .map(|id| [shard.get(id)[0], shard.get(id)[1]])
            .collect();
        assert_eq!(kept, minimal);
        assert_eq!(shard.live(), minimal.len());
    }
}
