//! A tree of maxima over an array of numbers: updates one, finds the largest of a prefix and its
//! place.
//!
//! Sixteen children per node, so that a node is one cache line and a million numbers take five
//! levels.

const WIDTH: usize = 16;

/// An array of numbers, at first 0, which stands for 'nothing here'.
pub(super) struct MaxTree {
    /// The array itself, then the maxima of its blocks of [`WIDTH`], and so on up to a single
    /// block.
    levels: Vec<Vec<u32>>,
}

impl MaxTree {
    /// An array of `len` times 0.
    pub(super) fn new(len: usize) -> MaxTree {
        MaxTree::from(vec![0; len])
    }

    /// Replaces one number.
    pub(super) fn set(&mut self, mut index: usize, key: u32) {
        self.levels[0][index] = key;
        for level in 1..self.levels.len() {
            let block = index & !(WIDTH - 1);
            let below = &self.levels[level - 1];
            let max = max_of(&below[block..(block + WIDTH).min(below.len())]);
            index /= WIDTH;
            if self.levels[level][index] == max {
                return;
            }
            self.levels[level][index] = max;
        }
    }

    /// The largest of the first `end` numbers and one of its places; `None` if all are 0.
    pub(super) fn max_before(&self, end: usize) -> Option<(u32, usize)> {
        let (mut end, mut best, mut found) = (end, 0, (0, 0));
        for (level, keys) in self.levels.iter().enumerate() {
            let block = if level + 1 == self.levels.len() { 0 } else { end & !(WIDTH - 1) };
            let max = max_of(&keys[block..end]);
            if max > best {
                (best, found) = (max, (level, block));
            }
            end = block / WIDTH;
        }
        if best == 0 {
            return None;
        }
        let (mut level, mut block) = found;
        loop {
            let keys = &self.levels[level];
            let end = (block + WIDTH).min(keys.len());
            let at = keys[block..end].iter().position(|&k| k == best);
            let index = block + at.expect("a maximum stands somewhere below");
            if level == 0 {
                return Some((best, index));
            }
            (level, block) = (level - 1, index * WIDTH);
        }
    }

    /// The first place from `start` on whose number is not 0, or the length of the array.
    pub(super) fn next(&self, start: usize) -> usize {
        let (mut level, mut index) = (0, start);
        // Climb while the rest of the block is zero, then descend to the first number that is not.
        loop {
            let keys = &self.levels[level];
            let end = ((index | (WIDTH - 1)) + 1).min(keys.len());
            let rest = keys.get(index..end).unwrap_or(&[]);
            if let Some(at) = rest.iter().position(|&k| k != 0) {
                index += at;
                break;
            }
            level += 1;
            if level == self.levels.len() {
                return self.levels[0].len();
            }
            index = index / WIDTH + 1;
        }
        while level > 0 {
            level -= 1;
            index *= WIDTH;
            let at = self.levels[level][index..].iter().position(|&k| k != 0);
            index += at.expect("a maximum stands somewhere below");
        }
        index
    }
}

impl From<Vec<u32>> for MaxTree {
    fn from(keys: Vec<u32>) -> MaxTree {
        let mut levels = vec![keys];
        while levels[levels.len() - 1].len() > WIDTH {
            let below = &levels[levels.len() - 1];
            levels.push(below.chunks(WIDTH).map(max_of).collect());
        }
        MaxTree { levels }
    }
}

fn max_of(keys: &[u32]) -> u32 {
    keys.iter().fold(0, |a, &b| a.max(b))
}
