//! Random small models, for tests that compare engines.
//!
//! A model has two small shared variables, perhaps an owner, and two operations of a few random
//! statements. Its specification is the same operations, each executed atomically. So whether the
//! object is linearizable depends on how its steps interleave, and many are not. [`varied`] models
//! also have loops of local steps and of choices, nested loops, retry loops, locks that are taken
//! in any order and kept, nodes that are freed, some of them too early, guards on local state,
//! assertions, and arrays and records whose parts are read and written in one statement. The same
//! seed gives the same text.

mod calls;
mod opaque;

use std::fmt::Write;

use trueline::rng::Rng;

pub use calls::calls;
pub use opaque::opaque;

/// The text of a random model.
pub fn model(seed: u64) -> String {
    write(seed, false)
}

/// The text of a random model with loops, locks and nodes.
pub fn varied(seed: u64) -> String {
    write(seed, true)
}

fn write(seed: u64, varied: bool) -> String {
    let mut dice = Rng::new(seed);
    let processes = if dice.below(4) == 0 { 3 } else { 2 };
    let operations = if processes == 2 && dice.below(4) == 0 { 2 } else { 1 };
    let mut shape = Shape {
        owner: dice.below(3) == 0,
        waits: dice.below(5) == 0,
        chooses: dice.below(4) == 0,
        loops: false,
        locks: false,
        nodes: false,
        parts: false,
        guards: false,
        faults: false,
    };
    if varied {
        shape.loops = dice.below(2) == 0;
        shape.locks = dice.below(3) == 0;
        shape.nodes = dice.below(3) == 0;
        shape.parts = dice.below(3) == 0;
        shape.guards = dice.below(4) == 0;
        shape.faults = dice.below(8) == 0;
    }
    let collected = shape.nodes && dice.below(4) == 0;
    let apart = varied && dice.below(6) == 0;
    let only = shape.guards && dice.below(3) == 0;
    let bodies: Vec<Vec<Statement>> = (0..2)
        .map(|_| {
            let length = if operations == 2 || processes == 3 { 2 } else { 3 };
            let mut body: Vec<Statement> =
                (0..1 + dice.below(length)).map(|_| statement(&mut dice, &shape, 1)).collect();
            // An operation that sees nothing is explained by every order.
            let at = dice.below(body.len() as u64 + 1) as usize;
            body.insert(at, Statement::Read("r", pick(&mut dice, &["x", "y"])));
            body
        })
        .collect();
    let (arrays, record) = match shape.parts {
        true => (", A: [0..2; 2] = [1; 2]", ", q: P"),
        false => ("", ""),
    };
    let halves = if shape.parts { ", u: 0..2, v: 0..2" } else { "" };
    let mut out = String::from("object Random\n\n");
    let owner = if shape.owner { ", o: pid" } else { "" };
    let locks = if shape.locks { ", l: lock, m: lock" } else { "" };
    if shape.nodes {
        out.push_str("node N { v: 0..2 }\n");
    }
    if shape.parts {
        out.push_str("record P { a: 0..2; b: 0..2 }\n");
    }
    let nodes = if shape.nodes { ", p: N" } else { "" };
    let _ = writeln!(out, "shared x: 0..2, y: 0..2{owner}{locks}{nodes}{arrays}\n");
    for (name, body) in ["f", "g"].iter().zip(&bodies) {
        let argument = if *name == "f" { "" } else { "a: 0..1" };
        let node = if shape.nodes { ", n: N" } else { "" };
        let locals = format!("r: 0..2, s: 0..2{node}{record}");
        let _ = writeln!(out, "op {name}({argument}) -> 0..2 {{\n  local {locals}");
        if only && *name == "g" {
            out.push_str("  await a == 1\n");
        }
        let mut text = String::new();
        body.iter().for_each(|s| write_statement(&mut text, s, 1, *name == "g", false));
        // With garbage collection, a node is dropped instead of freed.
        out.push_str(&if collected { text.replace("free(n)", "n = null") } else { text });
        out.push_str("  return r\n}\n\n");
    }
    // The value in the node, plus one; 0 if there is no node.
    let held = if shape.nodes { ", q: 0..3" } else { "" };
    let _ = writeln!(out, "spec {{\n  state x: 0..2, y: 0..2{owner}{held}{arrays}");
    for (name, body) in ["f", "g"].iter().zip(&bodies) {
        let argument = if *name == "f" { "" } else { "a" };
        let _ = writeln!(out, "  {name}({argument}) {{\n    local r: 0..2, s: 0..2{halves}");
        body.iter().for_each(|s| write_statement(&mut out, s, 2, *name == "g", true));
        out.push_str("    return r\n  }\n");
    }
    let heap = match (shape.nodes, dice.below(4)) {
        (false, _) => "",
        (true, _) if collected => "; heap 9 gc",
        (true, 0) => "; heap 9 recycle",
        (true, _) => "; heap 9 reuse",
    };
    let apart = if apart { " asymmetric" } else { "" };
    let _ = writeln!(out, "}}\n\nclient {{ procs {processes}{apart}; ops {operations}{heap} }}");
    out
}

#[derive(Clone, Copy)]
struct Shape {
    owner: bool,
    waits: bool,
    chooses: bool,
    loops: bool,
    locks: bool,
    nodes: bool,
    /// An array, and a record of the operation's.
    parts: bool,
    /// Guards on local state.
    guards: bool,
    /// Assertions, cells and nodes that are not there.
    faults: bool,
}

enum Statement {
    Read(&'static str, &'static str),
    Write(&'static str, Operand),
    Local(&'static str, Operand),
    Cas(&'static str, &'static str, Operand),
    Swap(&'static str, &'static str),
    Own,
    IfOwn(Vec<Statement>),
    Atomic(Vec<Statement>),
    If(&'static str, u64, Vec<Statement>, Vec<Statement>),
    Either(Vec<Statement>, Vec<Statement>),
    Wait(&'static str, u64),
    /// Counts a local up.
    Count(&'static str),
    /// Goes round until it chooses to stop; in one step if true.
    Wander(&'static str, bool),
    /// Reads again in each round but one.
    Reread(&'static str, &'static str),
    /// A `cas` that is tried until it succeeds.
    Retry(&'static str, &'static str, Operand),
    Locked(&'static str, Vec<Statement>),
    Push(Operand),
    Peek(&'static str),
    Take(&'static str),
    /// Frees the node and leaves it where it is.
    FreeTooEarly,
    /// Reads the node after it has freed it.
    ReadTooLate(&'static str),
    /// Chooses in a loop whether to go round another one.
    WanderWithin(&'static str),
    /// Takes a lock and keeps it, also behind the end of the operation.
    Keep(&'static str),
    /// The old value of a cell takes the place of the cell's number.
    Follow(&'static str),
    /// Writes to a cell whose index the same statement changes.
    Entangle(&'static str),
    /// Exchanges the parts of a record.
    Exchange(&'static str),
    /// Declares an array in a loop, which is a new one in every round.
    Redeclare(&'static str),
    /// Increments a local, and waits in each round for a condition on local state.
    CountGuarded(&'static str, &'static str, u64),
    /// Waits for a condition on local state and, if given, a shared variable.
    Guard(&'static str, u64, Option<&'static str>),
    /// Asserts a condition that may be false.
    Assert(&'static str, u64),
    /// Reads a cell that may be out of bounds.
    Beyond(&'static str),
}

enum Operand {
    Number(u64),
    Local(&'static str),
    Next(&'static str),
    Argument(u64),
}

fn pick(dice: &mut Rng, names: &[&'static str]) -> &'static str {
    names[dice.index(names.len())]
}

fn operand(dice: &mut Rng) -> Operand {
    match dice.below(4) {
        0 => Operand::Number(dice.below(3)),
        1 => Operand::Local(pick(dice, &["r", "s"])),
        2 => Operand::Argument(dice.below(3)),
        _ => Operand::Next(pick(dice, &["r", "s"])),
    }
}

fn statement(dice: &mut Rng, shape: &Shape, depth: u32) -> Statement {
    let (shared, locals) = (["x", "y"], ["r", "s"]);
    let block = |dice: &mut Rng| -> Vec<Statement> {
        (0..1 + dice.below(2)).map(|_| statement(dice, shape, depth.saturating_sub(1))).collect()
    };
    // Inside `atomic` a loop is a `while` without `break`.
    let straight = Shape { loops: false, ..*shape };
    let atomic = |dice: &mut Rng| -> Vec<Statement> {
        (0..1 + dice.below(2))
            .map(|_| statement(dice, &straight, depth.saturating_sub(1)))
            .collect()
    };
    if shape.loops && dice.below(4) == 0 {
        return match dice.below(5) {
            0 => Statement::Count(pick(dice, &locals)),
            1 => Statement::Wander(pick(dice, &locals), false),
            2 => Statement::Wander(pick(dice, &locals), true),
            3 => Statement::Reread(pick(dice, &locals), pick(dice, &shared)),
            _ => Statement::Retry(pick(dice, &shared), pick(dice, &locals), operand(dice)),
        };
    }
    if shape.loops && depth > 0 && dice.below(12) == 0 {
        return Statement::WanderWithin(pick(dice, &locals));
    }
    if shape.parts && dice.below(4) == 0 {
        return match dice.below(if shape.faults { 6 } else { 4 }) {
            0 => Statement::Follow(pick(dice, &locals)),
            1 => Statement::Entangle(pick(dice, &locals)),
            2 => Statement::Exchange(pick(dice, &locals)),
            // A `for` cannot stand inside `atomic`.
            3 if shape.loops => Statement::Redeclare(pick(dice, &locals)),
            3 => Statement::Follow(pick(dice, &locals)),
            _ => Statement::Beyond(pick(dice, &locals)),
        };
    }
    if shape.guards && shape.loops && depth > 0 && dice.below(8) == 0 {
        return Statement::CountGuarded(pick(dice, &locals), pick(dice, &locals), dice.below(3));
    }
    if shape.guards && depth > 0 && dice.below(5) == 0 {
        let shared = [None, Some(pick(dice, &shared))];
        return Statement::Guard(pick(dice, &locals), dice.below(3), shared[dice.index(2)]);
    }
    if shape.faults && dice.below(6) == 0 {
        return Statement::Assert(pick(dice, &shared), dice.below(3));
    }
    if shape.locks && depth > 0 && dice.below(24) == 0 {
        return Statement::Keep(pick(dice, &["l", "m"]));
    }
    if shape.locks && depth > 0 && dice.below(3) == 0 {
        return Statement::Locked(pick(dice, &["l", "m"]), block(dice));
    }
    if shape.nodes && dice.below(3) == 0 {
        return match dice.below(8) {
            7 => Statement::ReadTooLate(pick(dice, &locals)),
            0 | 1 => Statement::Push(operand(dice)),
            2 | 3 => Statement::Peek(pick(dice, &locals)),
            4 | 5 => Statement::Take(pick(dice, &locals)),
            _ => Statement::FreeTooEarly,
        };
    }
    match dice.below(if depth > 0 { 14 } else { 7 }) {
        0 | 1 => Statement::Read(pick(dice, &locals), pick(dice, &shared)),
        2 | 3 => Statement::Write(pick(dice, &shared), operand(dice)),
        4 => Statement::Local(pick(dice, &locals), operand(dice)),
        5 => Statement::Cas(pick(dice, &shared), pick(dice, &locals), operand(dice)),
        6 if shape.owner => Statement::Own,
        6 => Statement::Swap(pick(dice, &locals), pick(dice, &shared)),
        7 | 8 => Statement::Atomic(atomic(dice)),
        9 | 10 => Statement::If(pick(dice, &locals), dice.below(3), block(dice), block(dice)),
        11 if shape.chooses => Statement::Either(block(dice), block(dice)),
        12 if shape.waits => Statement::Wait(pick(dice, &shared), dice.below(3)),
        13 if shape.owner => Statement::IfOwn(block(dice)),
        _ => Statement::Read(pick(dice, &locals), pick(dice, &shared)),
    }
}

fn show(operand: &Operand, argument: bool) -> String {
    match operand {
        Operand::Number(number) => number.to_string(),
        Operand::Local(name) => name.to_string(),
        Operand::Next(name) => format!("({name} + 1) % 3"),
        Operand::Argument(_) if argument => "a + 1".to_string(),
        Operand::Argument(number) => number.to_string(),
    }
}

/// Writes a statement as in the object, or as in the specification, which has neither `cas` nor
/// `atomic`.
fn write_statement(out: &mut String, statement: &Statement, depth: usize, arg: bool, spec: bool) {
    let margin = "  ".repeat(depth);
    let mut line = |text: String| {
        let _ = writeln!(out, "{margin}{text}");
    };
    match statement {
        Statement::Read(local, shared) => line(format!("{local} = {shared}")),
        Statement::Write(shared, value) => line(format!("{shared} = {}", show(value, arg))),
        Statement::Local(local, value) => line(format!("{local} = {}", show(value, arg))),
        Statement::Cas(shared, local, value) => {
            let value = show(value, arg);
            line(match spec {
                true => format!("if {shared} == {local} {{ {shared} = {value}; r = 1 }}"),
                false => format!("if cas({shared}, {local}, {value}) {{ r = 1 }}"),
            });
        }
        Statement::Swap(local, shared) => line(match spec {
            true => {
                format!("if true {{ local t: 0..2 = {shared}; {shared} = {local}; {local} = t }}")
            }
            false => format!("{local} = swap({shared}, {local})"),
        }),
        Statement::Count(local) => line(format!("while {local} < 2 {{ {local} = {local} + 1 }}")),
        Statement::Wander(local, atomic) => {
            let next = format!("{local} = ({local} + 1) % 3");
            line(match (spec, atomic) {
                (_, true) => {
                    let body = format!(
                        "while {local} < 2 {{ either {{ {local} = 2 }} or {{ y = (y + 1) % 3 }} }}"
                    );
                    let word = if spec { "if true" } else { "atomic" };
                    format!("{word} {{ {body} }}")
                }
                (true, false) => {
                    format!("while true {{ either {{ break }} or {{ {next} }} }}")
                }
                (false, false) => format!("loop {{ either {{ break }} or {{ {next} }} }}"),
            });
        }
        Statement::Reread(local, shared) => line(match spec {
            true => format!("{local} = {shared}"),
            false => format!("for i in 0..2 {{ if i != 1 {{ {local} = {shared} }} }}"),
        }),
        Statement::Retry(shared, local, value) => {
            let value = show(value, arg);
            line(match spec {
                true => {
                    format!(
                        "if {shared} != {local} {{ {local} = {shared} }}\n{margin}{shared} = {value}"
                    )
                }
                false => {
                    format!(
                        "loop {{ if cas({shared}, {local}, {value}) {{ break }} {local} = {shared} }}"
                    )
                }
            });
        }
        Statement::Locked(lock, block) => {
            line(if spec { "if true {".to_string() } else { format!("lock({lock})") });
            block.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let end = if spec { "}".to_string() } else { format!("unlock({lock})") };
            let _ = writeln!(out, "{margin}{end}");
        }
        Statement::Push(value) => {
            let value = show(value, arg);
            line(match spec {
                true => format!("q = {value} + 1"),
                false => format!("n = new N{{v: {value}}}\n{margin}p = n"),
            });
        }
        Statement::Peek(local) => line(match spec {
            true => format!("if q > 0 {{ {local} = q - 1 }}"),
            false => format!("n = p\n{margin}if n != null {{ {local} = n.v }}"),
        }),
        Statement::Take(local) => line(match spec {
            true => format!("if q > 0 {{ {local} = q - 1; q = 0 }}"),
            false => {
                format!("n = swap(p, null)\n{margin}if n != null {{ {local} = n.v; free(n) }}")
            }
        }),
        Statement::ReadTooLate(local) => line(match spec {
            true => format!("if q > 0 {{ {local} = q - 1; q = 0 }}"),
            false => {
                let text = "n = swap(p, null)\n";
                format!(
                    "{text}{margin}if n != null {{ free(n)\n{margin}  if n != null {{ {local} = n.v }} }}"
                )
            }
        }),
        Statement::FreeTooEarly => line(match spec {
            true => "if true { local t: 0..2 = x; x = t }".to_string(),
            false => format!("n = p\n{margin}if n != null {{ free(n) }}"),
        }),
        Statement::WanderWithin(local) => {
            let word = if spec { "while true" } else { "loop" };
            let inner = format!("either {{ break }} or {{ {local} = ({local} + 1) % 3 }}");
            line(format!("{word} {{ either {{ break }} or {{ {word} {{ {inner} }} }} }}"));
        }
        Statement::Keep(_) if spec => line("r = r % 3".to_string()),
        Statement::Keep(lock) => line(format!("lock({lock})")),
        Statement::Follow(local) => line(match spec {
            true => format!(
                "if true {{ local t: 0..2 = A[{local} % 2]; A[{local} % 2] = 2; {local} = t }}"
            ),
            false => format!("{local} = swap(A[{local} % 2], 2)"),
        }),
        Statement::Entangle(local) => line(match spec {
            true => {
                let old = "local i: 0..1 = x % 2; local t: 0..2 = x";
                format!("if true {{ {old}; x = {local}; A[i] = (t + 1) % 3 }}")
            }
            false => format!("A[x % 2] = (swap(x, {local}) + 1) % 3"),
        }),
        Statement::Exchange(local) => line(match spec {
            true => format!("if true {{ local t: 0..2 = u; u = (v + 1) % 3; v = t; {local} = v }}"),
            false => format!("q = P{{a: (q.b + 1) % 3, b: q.a}}\n{margin}{local} = q.b"),
        }),
        Statement::Redeclare(local) => line(match spec {
            true => format!("{local} = {local} % 3"),
            false => {
                let add = format!("{local} = ({local} + z[1]) % 3");
                format!("for i in 0..1 {{ local z: [0..2; 2]; {add}; z[1] = 1 }}")
            }
        }),
        Statement::CountGuarded(local, other, value) => {
            line(format!("while {local} < 2 {{ {local} = {local} + 1; await {other} != {value} }}"))
        }
        Statement::Guard(local, value, None) => line(format!("await {local} != {value}")),
        Statement::Guard(local, value, Some(shared)) => {
            line(format!("await {local} != {value} || {shared} == {value}"));
        }
        Statement::Assert(..) if spec => line("r = r % 3".to_string()),
        Statement::Assert(shared, value) => line(format!("assert {shared} != {value}")),
        Statement::Beyond(local) => line(format!("{local} = A[{local}]")),
        Statement::Own => line("o = me".to_string()),
        Statement::Wait(shared, value) => line(format!("await {shared} != {value}")),
        Statement::Atomic(block) => {
            if !spec {
                line("atomic {".to_string());
            } else {
                line("if true {".to_string());
            }
            block.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let _ = writeln!(out, "{margin}}}");
        }
        Statement::IfOwn(block) => {
            line("if o == me {".to_string());
            block.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let _ = writeln!(out, "{margin}}}");
        }
        Statement::If(local, value, yes, no) => {
            line(format!("if {local} == {value} {{"));
            yes.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let _ = writeln!(out, "{margin}}} else {{");
            no.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let _ = writeln!(out, "{margin}}}");
        }
        Statement::Either(one, two) => {
            line("either {".to_string());
            one.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let _ = writeln!(out, "{margin}}} or {{");
            two.iter().for_each(|s| write_statement(out, s, depth + 1, arg, spec));
            let _ = writeln!(out, "{margin}}}");
        }
    }
}
