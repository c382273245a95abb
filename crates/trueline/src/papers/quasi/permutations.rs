//! Algorithm 2 of the paper, corrected: all permutations of a sequence in which no element moves by
//! more than K.
//!
//! As in the paper, a stack of states is backtracked from its end. Each state contains the enabled
//! events with their *lateness* (how many steps after their own place they would come), and the
//! events that were tried. An event is enabled K steps before its place; one whose lateness is K
//! must be selected. Three lines differ from the printed algorithm, which does not terminate: tried
//! events are added to `done` (line 36), an event is inherited unless it was *selected* (line 59),
//! and its lateness grows (line 60). The second restriction of section V-A must say 'the first
//! k+1'.
//!
//! Every run ends in a permutation: a state always has an enabled event, and places are distinct,
//! so at most one event must be selected.

/// Runs through the permutations of `0..n`; the first is the sequence itself.
pub struct Permutations {
    states: Vec<State>,
    factor: i64,
    started: bool,
}

#[derive(Clone, Debug, Default)]
struct State {
    select: u32,
    done: Vec<u32>,
    /// Events and their lateness.
    enabled: Vec<(u32, i64)>,
    /// Those that no earlier state enables.
    newly_enabled: Vec<(u32, i64)>,
}

impl Permutations {
    /// The permutations of `0..n` with displacements up to `factor`.
    pub fn new(n: usize, factor: u32) -> Permutations {
        let factor = i64::from(factor);
        let mut states = vec![State::default(); n];
        for event in 0..n {
            states[event].select = event as u32;
            states[event].done.push(event as u32);
            let (mut at, mut lateness) = (event, 0);
            loop {
                states[at].enabled.push((event as u32, lateness));
                if lateness == -factor || at == 0 {
                    states[at].newly_enabled.push((event as u32, lateness));
                    break;
                }
                lateness -= 1;
                at -= 1;
            }
        }
        Permutations { states, factor, started: false }
    }

    /// The event that the state selects next, if one is left to try.
    fn pick(&self, state: &State) -> Option<u32> {
        let untried = |event: &u32| !state.done.contains(event);
        match state.enabled.iter().find(|e| e.1 == self.factor) {
            Some((must, _)) => Some(*must).filter(untried),
            None => state.enabled.iter().map(|e| e.0).find(untried),
        }
    }

    fn current(&self) -> Vec<u32> {
        self.states.iter().map(|s| s.select).collect()
    }
}

impl Iterator for Permutations {
    type Item = Vec<u32>;

    fn next(&mut self) -> Option<Vec<u32>> {
        if !std::mem::replace(&mut self.started, true) {
            return Some(self.current());
        }
        let last = (0..self.states.len()).rev().find(|&s| self.pick(&self.states[s]).is_some())?;
        for state in &mut self.states[last + 1..] {
            state.done.clear();
            state.enabled.clear();
        }
        for at in last..self.states.len() {
            let event = self.pick(&self.states[at])?;
            self.states[at].select = event;
            self.states[at].done.push(event);
            if at + 1 < self.states.len() {
                let inherited = self.states[at].enabled.iter().filter(|e| e.0 != event);
                let mut enabled: Vec<(u32, i64)> = inherited.map(|e| (e.0, e.1 + 1)).collect();
                enabled.extend(&self.states[at + 1].newly_enabled);
                self.states[at + 1].enabled = enabled;
            }
        }
        Some(self.current())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_7() {
        let all: Vec<Vec<u32>> = Permutations::new(3, 1).collect();
        assert_eq!(all, [[0, 1, 2], [0, 2, 1], [1, 0, 2]]);
    }
}
