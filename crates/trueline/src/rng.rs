//! A small random number generator: the same numbers for a seed on every platform and in every
//! version.
//!
//! SplitMix64 (Steele, Lea and Flood 2014). Not for secrets.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(n)) >> 64) as u64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.number() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Returns true with this probability, in percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A random index of this many items; there must be at least one.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// One of the items, which must not be empty.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}

/// The seeds of a randomised test, one for each of its cases: see [`seeds`].
#[derive(Debug)]
pub struct Seeds {
    next: u64,
    end: u64,
    started: u64,
    told: bool,
}

/// This many seeds from 0 on. `TRUELINE_CASES` sets another number, `TRUELINE_FROM` another first
/// seed.
///
/// Every randomised test of the project takes its seeds from here and creates a generator for each,
/// so that a failure is reproduced by its seed alone, and others are tried by setting the first
/// seed. If that is set, the number of cases is printed at the end.
pub fn seeds(cases: u64) -> Seeds {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (first, cases) = (number("TRUELINE_FROM"), number("TRUELINE_CASES").unwrap_or(cases));
    let next = first.unwrap_or(0);
    Seeds { next, end: next.saturating_add(cases), started: next, told: first.is_none() }
}

impl Seeds {
    /// How many there are in all.
    pub fn cases(&self) -> u64 {
        self.end - self.started
    }

    /// Divides the number of seeds, for tests with slow cases.
    pub fn one_in(mut self, many: u64) -> Seeds {
        self.end = self.started + self.cases().div_ceil(many);
        self
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next < self.end {
            self.next += 1;
            return Some(self.next - 1);
        }
        if !self.told {
            self.told = true;
            println!("\ncases: {}", self.cases());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let mut rng = Rng::new(1234567);
        let numbers: Vec<u64> = (0..3).map(|_| rng.number()).collect();
        // From the reference implementation of SplitMix64.
        assert_eq!(numbers, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        assert!((0..1000).all(|_| rng.below(3) < 3));
        assert!(!rng.chance(0.0) && rng.chance(1.0));
    }
}
