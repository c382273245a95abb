//! Whether calls and returns may stay invisible because every mark gives its result.
//!
//! [`Points::Labelled`] makes only the marks visible. An operation that returned without a mark, or
//! passed two, would never be compared with the specification of the called operation. So this mode
//! is used only if the text of the program excludes that: every path from the call to a return
//! passes exactly one mark, and the arguments do not change before it. Otherwise marks are checked
//! between visible calls and returns ([`Points::Marked`]), where no order explains a return without
//! a mark or a second mark.
//!
//! A forward analysis computes how many marks the paths to a location pass: a set of 'none', 'one'
//! and 'more'. Cost: a few walks over the program. Conditions are ignored, so that the answer errs
//! on the side of visible calls.

use crate::program::{OpId, Place, Points, Program, Stmt};

/// How marks are to be trusted in this program.
pub(crate) fn trusted(program: &Program) -> Points {
    let exact =
        (0..program.operations.len()).all(|operation| marks_exactly_once(program, operation));
    match program.points {
        Points::Labelled if !exact => Points::Marked,
        points => points,
    }
}

/// How many marks were passed: a set of these.
type Passed = u8;
const NONE: Passed = 1;
const ONE: Passed = 2;
const MORE: Passed = 4;

fn marks_exactly_once(program: &Program, operation: OpId) -> bool {
    let called = &program.operations[operation];
    let mut ways = Ways {
        parameters: called.parameters,
        at: vec![0; program.locations.len()],
        returned: 0,
        arguments_change: false,
    };
    ways.all(&called.entry, NONE);
    loop {
        let before = ways.at.clone();
        for (location, &passed) in before.iter().enumerate().filter(|(_, passed)| **passed != 0) {
            ways.all(&program.locations[location].body, passed);
        }
        if ways.at == before {
            break;
        }
    }
    // Locals that are not live at a location are cleared there.
    let forgets = |location: usize| {
        let live = &program.locations[location].live;
        (0..called.parameters).any(|argument| !live.contains(&argument))
    };
    let keeps = (0..ways.at.len()).all(|l| ways.at[l] & NONE == 0 || !forgets(l));
    ways.returned & !ONE == 0 && keeps && !ways.arguments_change
}

struct Ways {
    parameters: usize,
    /// By location: the marks passed on the paths to it; 0 if it is unreachable.
    at: Vec<Passed>,
    returned: Passed,
    /// An argument may be changed before the mark.
    arguments_change: bool,
}

impl Ways {
    /// The marks passed after the statements; 0 if their end is unreachable.
    fn all(&mut self, body: &[Stmt], passed: Passed) -> Passed {
        body.iter()
            .fold(passed, |passed, stmt| if passed == 0 { 0 } else { self.one(stmt, passed) })
    }

    fn one(&mut self, stmt: &Stmt, passed: Passed) -> Passed {
        match stmt {
            Stmt::Set(place, _) | Stmt::Pick(place, ..) | Stmt::New(place, ..) => {
                let argument = matches!(place, Place::Local(id, _) if *id < self.parameters);
                self.arguments_change |= argument && passed & NONE != 0;
                passed
            }
            Stmt::If(_, yes, no) => self.all(yes, passed) | self.all(no, passed),
            Stmt::While(_, body) => {
                let mut all = passed;
                loop {
                    let more = all | self.all(body, all);
                    if more == all {
                        return all;
                    }
                    all = more;
                }
            }
            Stmt::Choose(branches) => branches.iter().fold(0, |all, b| all | self.all(b, passed)),
            Stmt::Lin(_) => match passed {
                NONE => ONE,
                passed if passed & NONE == 0 => MORE,
                _ => ONE | MORE,
            },
            Stmt::Goto(location) => {
                self.at[*location] |= passed;
                0
            }
            Stmt::Return(_) => {
                self.returned |= passed;
                0
            }
            Stmt::Free(..) | Stmt::Await(_) | Stmt::Assert(..) => passed,
        }
    }
}
