//! Random models that keep, copy and compare values of a `data` type.
//!
//! `data V(2)` may be replaced by `type V = 1..2`, which changes nothing but what the values are:
//! every variable is optional, so that its first value is `none` in both.

use std::fmt::Write;

use trueline::rng::Rng;

/// The text of a random model with a `data` type.
pub fn opaque(seed: u64) -> String {
    let mut dice = Rng::new(seed);
    let three = dice.below(3) == 0;
    let (processes, operations) = if three { (3, 1) } else { (2, 1 + dice.below(2)) };
    let values = 2 + dice.below(2);
    let mut writer = Writer {
        cells: dice.below(2) == 0,
        hazards: dice.below(2) == 0,
        owner: dice.below(3) == 0,
        nodes: dice.below(3) == 0,
        kept: dice.below(3) == 0,
        names: 0,
        dice: Rng::new(seed ^ 0x5eed),
    };
    let length = if three || operations == 2 { 2 } else { 3 };
    let bodies: Vec<(String, String)> =
        ["v", "s"].into_iter().map(|given| writer.operation(given, length)).collect();
    let Writer { cells, hazards, owner, nodes, kept, .. } = writer;
    let given = |condition: bool, text: &'static str| if condition { text } else { "" };
    let array = given(cells, ", A: [V?; 2]");
    let hazard = given(hazards, ", H: [V?; pid]");
    let owners = given(owner, ", o: pid");
    let mut out = format!("object Opaque\n\ndata V({values})\n");
    out.push_str(given(nodes, "node N { v: V?; next: N }\n"));
    let _ = writeln!(out, "shared x: V?, y: V?{array}{hazard}{owners}{}", given(nodes, ", p: N"));
    out.push_str(given(kept, "local kept: V?\n"));
    let signatures = ["f(v: V)", "g()"];
    for (signature, (body, _)) in signatures.iter().zip(&bodies) {
        let locals = given(nodes, ", n: N");
        let _ = writeln!(out, "\nop {signature} -> V? {{\n  local r: V?, s: V?{locals}");
        let _ = writeln!(out, "{body}  return r\n}}");
    }
    let held = given(nodes, ", q: V?, full: bool");
    let own = given(kept, ", kept: [V?; pid]");
    let _ = writeln!(out, "\nspec {{\n  state x: V?, y: V?{array}{hazard}{owners}{held}{own}");
    for (signature, (_, body)) in ["f(v)", "g()"].iter().zip(&bodies) {
        let _ = writeln!(out, "  {signature} {{\n  local r: V?, s: V?\n{body}  return r\n  }}");
    }
    let heap = given(nodes, "; heap 7 gc");
    let _ = writeln!(out, "}}\n\nclient {{ procs {processes}; ops {operations}{heap} }}");
    out
}

struct Writer {
    dice: Rng,
    /// An array; one indexed by processes; a shared id; nodes; a variable of each process.
    cells: bool,
    hazards: bool,
    owner: bool,
    nodes: bool,
    kept: bool,
    /// How many variables were given names.
    names: u32,
}

impl Writer {
    /// The body of an operation, and the same for the specification. `given` is a value that it
    /// knows.
    fn operation(&mut self, given: &'static str, length: u64) -> (String, String) {
        let (mut body, mut spec) = (String::new(), String::new());
        let mut add = |(one, two): (String, String)| {
            let _ = writeln!(body, "  {one}");
            let _ = writeln!(spec, "  {two}");
        };
        for _ in 0..1 + self.dice.below(length) {
            add(self.statement(given, 1));
        }
        // An operation that sees nothing is explained by every order.
        let shared = self.one_of(&["x", "y"]);
        add(same(format!("r = {shared}")));
        if self.dice.below(2) == 0 {
            add(self.statement(given, 0));
        }
        (body, spec)
    }

    fn one_of(&mut self, names: &[&'static str]) -> &'static str {
        names[self.dice.index(names.len())]
    }

    fn statement(&mut self, given: &'static str, depth: u32) -> (String, String) {
        let shared = self.one_of(&["x", "y"]);
        let local = self.one_of(&["r", "s"]);
        let value = self.one_of(&[given, given, "r", "s", "none"]);
        self.names += 1;
        let number = self.names;
        match self.dice.below(if depth > 0 { 13 } else { 9 }) {
            0 => same(format!("{local} = {shared}")),
            1 | 2 => same(format!("{shared} = {value}")),
            3 => (
                format!("if cas({shared}, {local}, {value}) {{ s = {value} }}"),
                format!("if {shared} == {local} {{ {shared} = {value}; s = {value} }}"),
            ),
            4 => (
                format!("{local} = swap({shared}, {local})"),
                format!("if true {{ local t: V? = {shared}; {shared} = {local}; {local} = t }}"),
            ),
            5 if self.cells => {
                let cell = self.dice.below(2);
                match self.dice.below(2) {
                    0 => same(format!("A[{cell}] = {value}")),
                    _ => same(format!("{local} = A[{cell}]")),
                }
            }
            6 if self.hazards => match (self.owner, self.dice.below(3)) {
                (true, 0) => (
                    format!(
                        "local w{number}: pid = o; if w{number} != null {{ {local} = H[w{number}] }}"
                    ),
                    format!("if o != null {{ {local} = H[o] }}"),
                ),
                (_, 1) => same(format!("{local} = H[me]")),
                _ => same(format!("H[me] = {value}")),
            },
            7 if self.owner => same("o = me".to_string()),
            7 if self.kept => match self.dice.below(2) {
                0 => (format!("kept = {value}"), format!("kept[me] = {value}")),
                _ => (format!("{local} = kept"), format!("{local} = kept[me]")),
            },
            8 if self.nodes => match self.dice.below(2) {
                0 => (
                    format!("n = new N{{v: {value}, next: null}}; p = n"),
                    format!("q = {value}; full = true"),
                ),
                _ => (
                    format!("n = p; if n != null {{ {local} = n.v }}"),
                    format!("if full {{ {local} = q }}"),
                ),
            },
            9 => {
                let (body, spec) = self.block(given, depth);
                (format!("atomic {{ {body} }}"), format!("if true {{ {spec} }}"))
            }
            10 | 11 => {
                let (yes, no) = (self.block(given, depth), self.block(given, depth));
                let sign = self.one_of(&["==", "!="]);
                let test = format!("if {local} {sign} {value}");
                let one = format!("{test} {{ {} }} else {{ {} }}", yes.0, no.0);
                (one, format!("{test} {{ {} }} else {{ {} }}", yes.1, no.1))
            }
            12 => {
                let (one, two) = (self.block(given, depth), self.block(given, depth));
                let text = format!("either {{ {} }} or {{ {} }}", one.0, two.0);
                (text, format!("either {{ {} }} or {{ {} }}", one.1, two.1))
            }
            _ => same(format!("{local} = {shared}")),
        }
    }

    fn block(&mut self, given: &'static str, depth: u32) -> (String, String) {
        self.statement(given, depth - 1)
    }
}

/// What the object and the specification write alike.
fn same(text: String) -> (String, String) {
    (text.clone(), text)
}
