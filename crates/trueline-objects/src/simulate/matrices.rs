//! Generated programs: all of a given size, or a random sample.
//!
//! A matrix has a row for each process, of operations from an alphabet. Processes are
//! interchangeable, so rows are in ascending order: of n rows for p processes C(n + p - 1, p)
//! matrices remain. A `*` stands for a distinct number at each place. For data-independent
//! containers, programs with distinct values are sufficient: Wolper, Expressing interesting
//! properties of programs in propositional temporal logic. POPL 1986.

use trueline::rng::Rng;

use super::program::{Argument, Call, Program};

/// Whether a process may call these methods, in this order.
pub(crate) type Rule = fn(&[&str]) -> Result<(), String>;

/// All programs with this many processes and operations each, up to renaming of processes; empty if
/// [`number`] says that there are too many. They are generated one at a time, since all of them
/// together may need too much memory.
pub(crate) fn all(
    alphabet: &[Call],
    rule: Option<Rule>,
    processes: usize,
    length: usize,
) -> Matrices {
    let rows = rows(alphabet, rule, length).unwrap_or_default();
    let next = (!rows.is_empty()).then(|| vec![0; processes]);
    Matrices { rows, next }
}

/// Programs whose processes are rows of a list, in ascending order.
pub(crate) struct Matrices {
    rows: Vec<Vec<Call>>,
    /// The rows of the next program; `None` at the end.
    next: Option<Vec<usize>>,
}

impl Iterator for Matrices {
    type Item = Program;

    fn next(&mut self) -> Option<Program> {
        let chosen = self.next.as_mut()?;
        let program = chosen.iter().map(|&row| self.rows[row].clone()).collect();
        match chosen.iter().rposition(|&row| row + 1 < self.rows.len()) {
            Some(last) => {
                let row = chosen[last] + 1;
                chosen[last..].fill(row);
            }
            None => self.next = None,
        }
        Some(with_fresh_numbers(program))
    }
}

/// All programs with this many operations in all, whatever the number of processes, up to renaming
/// of processes. Longer processes come first; there are about `2^total * alphabet^total` of them.
pub(crate) fn of_total(alphabet: &[Call], rule: Option<Rule>, total: usize) -> Vec<Program> {
    let mut programs = Vec::new();
    let mut begun: Vec<Vec<Call>> = Vec::new();
    complete(alphabet, rule, total, (total, 0), &mut begun, &mut programs);
    programs
}

/// Adds processes with this many operations in all, none of which comes before the last one in the
/// order: a process is no longer than the one before it, and if as long, its row has no lower
/// number.
fn complete(
    alphabet: &[Call],
    rule: Option<Rule>,
    left: usize,
    (longest, least): (usize, usize),
    begun: &mut Vec<Vec<Call>>,
    programs: &mut Vec<Program>,
) {
    if left == 0 {
        return programs.push(with_fresh_numbers(begun.clone()));
    }
    for length in (1..=longest.min(left)).rev() {
        let rows = rows(alphabet, rule, length).unwrap_or_default();
        let first = if length == longest { least } else { 0 };
        for (number, row) in rows.into_iter().enumerate().skip(first) {
            begun.push(row);
            complete(alphabet, rule, left - length, (length, number), begun, programs);
            begun.pop();
        }
    }
}

/// How many programs [`all`] yields.
pub(crate) fn number(
    alphabet: &[Call],
    rule: Option<Rule>,
    processes: usize,
    length: usize,
) -> u128 {
    let Some(rows) = rows(alphabet, rule, length) else { return u128::MAX };
    let rows = rows.len() as u128;
    // C(rows + processes - 1, processes), as a product in which every division is exact.
    let mut number: u128 = 1;
    for i in 0..processes as u128 {
        let Some(product) = number.checked_mul(rows + i) else { return u128::MAX };
        number = product / (i + 1);
    }
    number
}

/// More rows than this are not enumerated.
const MANY: usize = 1 << 12;

/// A random program, each of whose processes obeys the rules. The second rule is about whole
/// processes: those that cannot be completed within this length are shorter.
pub(crate) fn random(
    alphabet: &[Call],
    rules: [Option<Rule>; 2],
    processes: usize,
    length: usize,
    rng: &mut Rng,
) -> Program {
    let process = |_| {
        let mut row: Vec<Call> = Vec::new();
        for _ in 0..TRIES {
            row.clear();
            for _ in 0..length * TRIES {
                row.push(rng.choose(alphabet).clone());
                if !is_allowed(&row, rules[0]) {
                    row.pop();
                }
                if row.len() == length {
                    break;
                }
            }
            if is_allowed(&row, rules[1]) {
                return row;
            }
        }
        while !is_allowed(&row, rules[1]) {
            row.pop();
        }
        row
    };
    let mut program: Program = (0..processes).map(process).collect();
    program.retain(|row| !row.is_empty());
    with_fresh_numbers(program)
}

/// How often a process is drawn anew when it breaks a rule.
const TRIES: usize = 100;

/// Every sequence of this many operations that the rule allows; `None` if there are too many.
fn rows(alphabet: &[Call], rule: Option<Rule>, length: usize) -> Option<Vec<Vec<Call>>> {
    let mut rows = vec![Vec::new()];
    for _ in 0..length {
        let mut longer = Vec::new();
        for row in &rows {
            for call in alphabet {
                let mut row: Vec<Call> = row.clone();
                row.push(call.clone());
                if is_allowed(&row, rule) {
                    longer.push(row);
                }
            }
        }
        rows = longer;
        if rows.len() > MANY {
            return None;
        }
    }
    Some(rows)
}

fn is_allowed(row: &[Call], rule: Option<Rule>) -> bool {
    rule.is_none_or(|rule| {
        let methods: Vec<&str> = row.iter().map(|call| call.method.as_str()).collect();
        rule(&methods).is_ok()
    })
}

/// The program with 1, 2, 3 in place of the `*`.
fn with_fresh_numbers(mut program: Program) -> Program {
    let mut next = 1;
    for call in program.iter_mut().flatten() {
        for arg in &mut call.args {
            if *arg == Argument::Fresh {
                *arg = Argument::Number(next);
                next += 1;
            }
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use super::super::program::{Case, calls};
    use super::*;

    fn show(programs: Vec<Program>) -> Vec<String> {
        let case = |program| Case { program, ..Case::default() }.to_string();
        programs.into_iter().map(case).collect()
    }

    #[test]
    fn matrices_are_enumerated_up_to_the_names_of_processes() {
        let alphabet = calls("enq(*) deq()").unwrap();
        assert_eq!(
            show(all(&alphabet, None, 2, 1).collect()),
            ["enq(1) | enq(2)", "enq(1) | deq()", "deq() | deq()"]
        );
        // Rows: 4 of two operations, 8 of three.
        assert_eq!(all(&alphabet, None, 3, 2).count(), 20);
        assert_eq!(all(&alphabet, None, 2, 3).count(), 36);
        assert_eq!(
            [(3, 2), (2, 3), (2, 100)].map(|(p, n)| number(&alphabet, None, p, n)),
            [20, 36, u128::MAX]
        );
        let no_deq_first: Rule = |row| if row[0] == "deq" { Err(String::new()) } else { Ok(()) };
        assert_eq!(all(&alphabet, Some(no_deq_first), 2, 2).count(), 3);
    }

    #[test]
    fn programs_of_a_number_of_operations_are_enumerated_up_to_the_names_of_processes() {
        let alphabet = calls("enq(*) deq()").unwrap();
        assert_eq!(
            show(of_total(&alphabet, None, 2)),
            [
                "enq(1) enq(2)",
                "enq(1) deq()",
                "deq() enq(1)",
                "deq() deq()",
                "enq(1) | enq(2)",
                "enq(1) | deq()",
                "deq() | deq()"
            ]
        );
        // Of three: 8 of one process, 4 * 2 of two, 4 multisets of three.
        assert_eq!(of_total(&alphabet, None, 3).len(), 20);
    }

    #[test]
    fn random_programs_depend_on_the_seed_alone() {
        let alphabet = calls("enq(*) deq()").unwrap();
        let make = |seed| show(vec![random(&alphabet, [None; 2], 3, 4, &mut Rng::new(seed))]);
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
        let even: Rule = |row| if row.len() % 2 == 0 { Ok(()) } else { Err(String::new()) };
        let program = random(&alphabet, [None, Some(even)], 2, 3, &mut Rng::new(1));
        assert_eq!(program.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    }
}
