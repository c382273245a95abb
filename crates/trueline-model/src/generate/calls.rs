//! Random models with procedures, loops over all processes, choices with computed bounds, and an
//! array in a node.
//!
//! A specification has none of these but the choices: it says what a procedure does where it is
//! called. The cells of `H` only grow, so that the greatest of them, for which the loops look, is
//! one number in the specification.

use std::fmt::Write;

use trueline::rng::Rng;

/// The text of a random model with procedures.
pub fn calls(seed: u64) -> String {
    let mut dice = Rng::new(seed);
    let three = dice.below(4) == 0;
    let operations = if three || dice.below(3) > 0 { 1 } else { 2 };
    let processes = if three { 3 } else { 2 };
    let mut writer = Writer { dice, names: 0 };
    let one = writer.procedure("p", "p_", None);
    let two = writer.procedure("q", "q_", Some(&one));
    let bodies: Vec<(String, String)> = (0..2).map(|_| writer.operation(&one, &two)).collect();
    let mut out = String::from(
        "object Calls\n\nnode N { v: 0..2; a: [0..2; 2] }\nshared x: 0..2, y: 0..2, l: lock, H: [0..2; pid], P: N = new N{}\n",
    );
    out.push_str("local k: 0..2\n\n");
    out.push_str(&one.text);
    out.push_str(&two.text);
    for (signature, (body, _)) in ["f(v: 0..1)", "g()"].iter().zip(&bodies) {
        let given = if signature.starts_with('g') { "  local v: 0..1 = 1\n" } else { "" };
        let _ = writeln!(
            out,
            "op {signature} -> 0..2 {{\n{given}  local r: 0..2, s: 0..2\n{body}  return r\n}}\n"
        );
    }
    out.push_str("spec {\n  state x: 0..2, y: 0..2, top: 0..2, k: [0..2; pid], A: [0..2; 2]\n");
    for (signature, (_, body)) in ["f(v)", "g()"].iter().zip(&bodies) {
        let given = if signature.starts_with('g') { "  local v: 0..1 = 1\n" } else { "" };
        let _ = writeln!(
            out,
            "  {signature} {{\n{given}  local r: 0..2, s: 0..2\n{body}  return r\n  }}"
        );
    }
    let _ = writeln!(out, "}}\n\nclient {{ procs {processes}; ops {operations}; heap 2 gc }}");
    out
}

/// A procedure, and what the specification writes in its place: `$a` is the argument, `$r` takes
/// the result; its variables begin with a prefix of its own.
struct Written {
    text: String,
    inlined: String,
}

struct Writer {
    dice: Rng,
    names: u32,
}

impl Writer {
    /// `p(a) -> t`; the second one may call the first.
    fn procedure(&mut self, name: &str, prefix: &str, callee: Option<&Written>) -> Written {
        let mut body = String::new();
        let mut spec = format!("local {prefix}t: 0..2; local {prefix}a: 0..2 = $a\n");
        let mut rest = String::new();
        let mut add = |(one, two): (String, String), spec: &mut String| {
            let _ = writeln!(body, "  {one}");
            let two = renamed(&two, &[("t", &format!("{prefix}t")), ("a", &format!("{prefix}a"))]);
            let _ = writeln!(spec, "    {two}");
        };
        add(self.statement("t", "a"), &mut spec);
        let early = self.dice.below(2) == 0;
        if early {
            let value = self.dice.below(3);
            let one = format!("if t == {value} {{ return a }}");
            add((one, format!("if t == {value} {{ $r = a }} else {{")), &mut spec);
        }
        if let Some(callee) = callee.filter(|_| self.dice.below(2) == 0) {
            add(("t = p(t)".to_string(), callee.called(&format!("{prefix}t"), "t")), &mut rest);
        }
        for _ in 0..self.dice.below(2) {
            add(self.statement("t", "a"), &mut rest);
        }
        let _ = writeln!(rest, "    $r = {prefix}t{}", if early { "\n    }" } else { "" });
        Written {
            text: format!(
                "procedure {name}(a: 0..2) -> 0..2 {{\n  local t: 0..2\n{body}  return t\n}}\n\n"
            ),
            inlined: format!("if true {{ {spec}{rest} }}"),
        }
    }

    fn operation(&mut self, one: &Written, two: &Written) -> (String, String) {
        let (mut body, mut spec) = (String::new(), String::new());
        let mut add = |(a, b): (String, String)| {
            let _ = writeln!(body, "  {a}");
            let _ = writeln!(spec, "    {b}");
        };
        if self.dice.below(2) == 0 {
            add(self.statement("r", "v"));
        }
        for _ in 0..1 + self.dice.below(2) {
            let (name, called) = if self.dice.below(2) == 0 { ("p", one) } else { ("q", two) };
            let given = ["r", "s", "v"][self.dice.index(3)];
            self.names += 1;
            let number = self.names;
            add(match self.dice.below(4) {
                0 => (format!("{name}({given})"), called.called("s_", given)),
                1 => (
                    format!("local w{number}: 0..2 = {name}({given}); s = w{number}"),
                    called.called("s", given),
                ),
                2 => {
                    let (a, b) = (format!("r = {name}({given})"), called.called("r", given));
                    (format!("if s == 0 {{ {a} }}"), format!("if s == 0 {{ {b} }}"))
                }
                _ => (format!("r = {name}({given})"), called.called("r", given)),
            });
        }
        let shared = ["x", "y"][self.dice.index(2)];
        let local = ["r", "s"][self.dice.index(2)];
        add((format!("{local} = {shared}"), format!("{local} = {shared}")));
        let spec = spec.replace("s_ =", "s = s; local unused: 0..2 =");
        (body, spec)
    }

    fn statement(&mut self, local: &'static str, given: &'static str) -> (String, String) {
        let shared = ["x", "y"][self.dice.index(2)];
        let value = [given, local][self.dice.index(2)];
        let both = |text: String| (text.clone(), text);
        match self.dice.below(14) {
            11 => (format!("P.a[{local} % 2] = {value}"), format!("A[{local} % 2] = {value}")),
            12 => (format!("{local} = P.a[{value} % 2]"), format!("{local} = A[{value} % 2]")),
            13 => (
                format!("if cas(P.a[{value} % 2], {local}, {value}) {{ {local} = 2 }}"),
                format!("if A[{value} % 2] == {local} {{ A[{value} % 2] = {value}; {local} = 2 }}"),
            ),
            0 | 1 => both(format!("{local} = {shared}")),
            2 => both(format!("{shared} = {value}")),
            3 => (
                format!("if cas({shared}, {local}, {value}) {{ {local} = {value} }}"),
                format!("if {shared} == {local} {{ {shared} = {value}; {local} = {value} }}"),
            ),
            4 => {
                let text = format!("{shared} = ({shared} + 1) % 3");
                (format!("atomic {{ {text} }}"), text)
            }
            5 => both(format!("while {local} < 2 {{ {local} = {local} + 1 }}")),
            6 => both(format!("{local} = choose(0, {value})")),
            7 => (format!("k = {value}"), format!("k[me] = {value}")),
            8 => (format!("{local} = k"), format!("{local} = k[me]")),
            9 => (
                format!("if H[me] < {value} {{ H[me] = {value} }}"),
                format!("if top < {value} {{ top = {value} }}"),
            ),
            _ => {
                self.names += 1;
                let (p, h) = (format!("i{}", self.names), format!("h{}", self.names));
                (
                    format!(
                        "{local} = 0\n  for {p} in pid {{ local {h}: 0..2 = H[{p}]; {local} = max({local}, {h}) }}"
                    ),
                    format!("{local} = top"),
                )
            }
        }
    }
}

impl Written {
    fn called(&self, result: &str, given: &str) -> String {
        self.inlined.replace("$a", given).replace("$r", result)
    }
}

/// The text with these words in the place of others.
fn renamed(text: &str, names: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' || c == '$' {
            word.push(c);
            continue;
        }
        let new = names.iter().find(|(name, _)| *name == word).map_or(&*word, |(_, new)| new);
        out.push_str(new);
        out.push(c);
        word.clear();
    }
    out.trim_end().to_string()
}
