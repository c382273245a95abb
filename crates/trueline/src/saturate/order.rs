//! A strict partial order that is kept transitively closed, as bits.
//!
//! Nodes are slots: freed ones are reused. Row `x` of `after` contains the nodes after `x`, row `x`
//! of `before` those before it. **Invariant:** `after` is transitively closed and irreflexive,
//! `before` is its converse.
//!
//! Cost: a new edge costs as many row unions as there are nodes before and after it; every pair of
//! the order is found once, and passed on to the rules.

/// An order of slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Words per row.
    width: usize,
    after: Vec<u64>,
    before: Vec<u64>,
    live: Vec<u64>,
    free: Vec<u32>,
    len: usize,
    /// Pairs that were found and not yet processed.
    pub(crate) news: Vec<(u32, u32)>,
}

/// The edge would close a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cycle;

impl Order {
    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Words in a set of nodes.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// A new node without edges.
    pub(crate) fn add(&mut self) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.widen();
            self.free.pop().unwrap_or_default()
        });
        self.live[slot as usize / 64] |= 1 << (slot % 64);
        self.len += 1;
        slot
    }

    /// Twice as many slots, at least 64.
    fn widen(&mut self) {
        let (old, new) = (self.width, (self.width * 2).max(1));
        for rows in [&mut self.after, &mut self.before] {
            let mut wider = vec![0; new * new * 64];
            for slot in 0..old * 64 {
                wider[slot * new..slot * new + old]
                    .copy_from_slice(&rows[slot * old..(slot + 1) * old]);
            }
            *rows = wider;
        }
        self.live.resize(new, 0);
        // The lowest slots are used first.
        self.free.extend((old as u32 * 64..new as u32 * 64).rev());
        self.width = new;
    }

    /// Removes a node. The nodes before it stay ordered before those after it.
    pub(crate) fn drop(&mut self, x: u32) {
        let (word, bit) = (x as usize / 64, 1u64 << (x % 64));
        let (width, x) = (self.width, x as usize);
        for i in 0..width {
            for y in bits(self.before[x * width + i], i) {
                self.after[y * width + word] &= !bit;
            }
            for y in bits(self.after[x * width + i], i) {
                self.before[y * width + word] &= !bit;
            }
        }
        self.after[x * width..(x + 1) * width].fill(0);
        self.before[x * width..(x + 1) * width].fill(0);
        self.live[word] &= !bit;
        self.free.push(x as u32);
        self.len -= 1;
    }

    /// Whether `x` is before `y`.
    #[inline]
    pub(crate) fn precedes(&self, x: u32, y: u32) -> bool {
        self.after[x as usize * self.width + y as usize / 64] >> (y % 64) & 1 != 0
    }

    /// The nodes behind `x`.
    pub(crate) fn after(&self, x: u32) -> &[u64] {
        &self.after[x as usize * self.width..(x as usize + 1) * self.width]
    }

    /// The nodes in front of `x`.
    pub(crate) fn before(&self, x: u32) -> &[u64] {
        &self.before[x as usize * self.width..(x as usize + 1) * self.width]
    }

    /// Orders `x` before `y`, and everything before `x` before everything after `y`. Returns
    /// whether the edge is new.
    pub(crate) fn edge(&mut self, x: u32, y: u32) -> Result<bool, Cycle> {
        if x == y || self.precedes(y, x) {
            return Err(Cycle);
        }
        if self.precedes(x, y) {
            return Ok(false);
        }
        let width = self.width;
        let (xs, ys) = (x as usize * width, y as usize * width);
        for i in 0..width {
            let mut front = self.before[xs + i];
            if i == x as usize / 64 {
                front |= 1 << (x % 64);
            }
            // Whatever is in front of `y` already is in front of all that is behind it, too.
            for p in bits(front & !self.before[ys + i], i) {
                for j in 0..width {
                    let mut behind = self.after[ys + j];
                    if j == y as usize / 64 {
                        behind |= 1 << (y % 64);
                    }
                    let new = behind & !self.after[p * width + j];
                    self.after[p * width + j] |= new;
                    for s in bits(new, j) {
                        self.before[s * width + p / 64] |= 1 << (p % 64);
                        self.news.push((p as u32, s as u32));
                    }
                }
            }
        }
        Ok(true)
    }

    /// Orders a node without edges after all of these, which must be closed: every predecessor of a
    /// member is a member.
    pub(crate) fn put_behind(&mut self, front: &[u64], y: u32) {
        let width = self.width;
        let (word, bit) = (y as usize / 64, 1u64 << (y % 64));
        for (i, &some) in front.iter().enumerate() {
            self.before[y as usize * width + i] |= some;
            for p in bits(some, i) {
                self.after[p * width + word] |= bit;
            }
        }
    }

    /// Makes every pair of `x` news again: the rules see it with other eyes.
    pub(crate) fn renew(&mut self, x: u32) {
        let start = x as usize * self.width;
        for i in 0..self.width {
            for y in bits(self.after[start + i], i) {
                self.news.push((x, y as u32));
            }
            for y in bits(self.before[start + i], i) {
                self.news.push((y as u32, x));
            }
        }
    }
}

/// The members of word `i` of a set.
pub(crate) fn bits(mut word: u64, i: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            i * 64 + bit
        })
    })
}

/// The members of a set.
pub(crate) fn members(set: &[u64]) -> impl Iterator<Item = u32> {
    set.iter().enumerate().flat_map(|(i, &word)| bits(word, i).map(|b| b as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn stays_closed_while_nodes_come_and_go() {
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let mut order = Order::default();
            let mut nodes: Vec<u32> = (0..70).map(|_| order.add()).collect();
            // A plain relation, closed by brute force.
            let mut plain = vec![[false; 256]; 256];
            for _ in 0..60 {
                let x = nodes[rng.below(nodes.len() as u64) as usize];
                let y = nodes[rng.below(nodes.len() as u64) as usize];
                let cycle = x == y || plain[y as usize][x as usize];
                assert_eq!(order.edge(x, y).is_err(), cycle);
                if !cycle {
                    let pairs: Vec<(u32, u32)> = nodes
                        .iter()
                        .flat_map(|&p| nodes.iter().map(move |&q| (p, q)))
                        .filter(|&(p, q)| p == x || plain[p as usize][x as usize] && p != q)
                        .filter(|&(_, q)| q == y || plain[y as usize][q as usize])
                        .collect();
                    for (p, q) in pairs {
                        plain[p as usize][q as usize] = true;
                    }
                }
                if rng.below(8) == 0 {
                    let gone = nodes.swap_remove(rng.below(nodes.len() as u64) as usize);
                    order.drop(gone);
                    plain[gone as usize].fill(false);
                    plain.iter_mut().for_each(|row| row[gone as usize] = false);
                    nodes.push(order.add());
                }
            }
            for &x in &nodes {
                let behind: Vec<u32> = members(order.after(x)).collect();
                let expected: Vec<u32> =
                    (0..256).filter(|&y| plain[x as usize][y as usize]).collect();
                assert_eq!(behind, expected);
                for &y in &nodes {
                    let is_before = order.before(y)[x as usize / 64] >> (x % 64) & 1 != 0;
                    assert_eq!(is_before, order.precedes(x, y));
                }
            }
        }
    }
}
