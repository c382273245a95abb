//! The register of many words and its mutants.

use super::{ANY_NUMBERS, Entry, Standing, explored_only, mutant};
use crate::mutants::wide_register::{Fault, HastyRegister, Register as Mutant};
use crate::shadowed;

pub(super) const ENTRIES: &[Entry] = &[
    WIDE_REGISTER,
    mutant(
        WIDE_REGISTER,
        "wide-register-word-by-word",
        "words are written and read one after the other",
        "write(1) | read()",
        || Box::new(Mutant::new(Fault::WordByWord)),
    ),
    mutant(
        WIDE_REGISTER,
        "wide-register-looks-once",
        "a sequence lock whose read does not check whether there was a write meanwhile",
        "write(1) | read()",
        || Box::new(Mutant::new(Fault::DoesNotLookAgain)),
    ),
    mutant(
        WIDE_REGISTER,
        "wide-register-writers-meet",
        "a sequence lock whose writers do not exclude each other",
        "write(1) | write(2) | read()",
        || Box::new(Mutant::new(Fault::WritersMeet)),
    ),
    explored_only(mutant(
        WIDE_REGISTER,
        "wide-register-hasty",
        "frees a value as soon as it is replaced: a use of freed memory",
        "write(1) | read()",
        || Box::new(HastyRegister::new()),
    )),
];

const WIDE_REGISTER: Entry = Entry {
    name: "wide-register",
    summary: "a register of two words that are read and written atomically",
    standing: Standing::Correct,
    spec: "register:init=0",
    note: "",
    alphabet: "write(*) read()",
    domain: ANY_NUMBERS,
    source: "Lamport, On interprocess communication, 1986; McKenney, Slingwine, Read-copy update, 1998",
    progress: "wait-free",
    letter: "R",
    waiting: &[],
    rule: None,
    stress_rule: None,
    shadowed: || Box::new(shadowed::WideRegister::new([0i64; 2])),
    production: Some(|| Box::new(crate::WideRegister::new([0i64; 2]))),
};
