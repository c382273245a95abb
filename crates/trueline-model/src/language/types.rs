//! Types, with parameters already substituted, and their layout in a
//! [`Program`](crate::program::Program).
//!
//! Every scalar is a number. `none` of `lo..hi?` is `lo - 1`, of a boolean or an enumeration -1;
//! null is 0 and no process is -1. A record is laid out as one variable per field
//! ([`Types::leaves`]), an array as a dimension.

use super::ast::{self, BinaryOp, Expr, ExprKind, TypeDecl, TypeKind};
use super::diagnostic::{Diagnostic, Span, did_you_mean};
use super::parser::Parsed;
use crate::program::{self, MOST_NAMES};

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    Int {
        lo: i32,
        hi: i32,
    },
    Bool,
    Pid,
    Node(usize),
    Enum(usize),
    /// One of the interchangeable values of a `data` type. A variable that was not given one holds
    /// `none`; what is passed and returned is never `none`, but where the type is optional.
    Data(usize),
    /// Of a number, a truth value or an enumeration: references and ids have null.
    Optional(Box<Ty>),
    Record(usize),
    Array {
        of: Box<Ty>,
        len: usize,
        by_process: bool,
    },
    Lock,
    Unit,
    /// The type of the literals `null` and `none`.
    Nothing,
    Seq(Box<Ty>),
    Set(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    /// Any value of a history, only in specifications for histories: it can be stored and compared.
    Any,
}

/// A record's or a node's fields.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, Ty)>,
    /// How many scalars it has.
    pub(crate) cells: usize,
}

/// A type of values that can only be copied and compared.
#[derive(Clone, Debug)]
pub(crate) struct DataType {
    pub(crate) name: String,
    pub(crate) count: usize,
    /// How many values the `data` types before it have.
    pub(crate) first: usize,
}

/// One scalar variable, or array of scalars, of a type's layout.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// `.tag`, to be put behind the variable's name.
    pub(crate) path: String,
    pub(crate) ty: Ty,
    pub(crate) dims: Vec<program::Dim>,
}

/// Everything that names a type or a constant, and the values of the parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    /// Parameters and their values, in the order of declaration; `points` is the last.
    pub(crate) constants: Vec<(String, i32)>,
    pub(crate) points: bool,
    /// A specification for histories: its operations take recorded values, and domains are never
    /// enumerated.
    pub(crate) histories: bool,
    pub(crate) processes: usize,
    pub(crate) heap: usize,
    pub(crate) records: Vec<Struct>,
    pub(crate) nodes: Vec<Struct>,
    pub(crate) enums: Vec<(String, Vec<String>)>,
    pub(crate) data: Vec<DataType>,
    pub(crate) aliases: Vec<(String, Ty)>,
}

/// Arrays and ranges larger than this are surely a slip.
const LARGEST: i64 = 1 << 20;

fn check_size(cells: usize, span: Span) -> Parsed<()> {
    if cells <= 4096 {
        return Ok(());
    }
    Err(Diagnostic::new(span, "this type has more than 4096 cells").help("make it smaller"))
}

impl Types {
    /// Declares the types of a model. The parameters must be set before.
    pub(crate) fn declare(&mut self, types: &[TypeDecl]) -> Parsed<()> {
        let mut seen: Vec<&str> = Vec::new();
        for decl in types {
            let name = decl.name();
            if seen.contains(&name.text.as_str()) {
                let message = format!("a second type is called `{}`", name.text);
                return Err(Diagnostic::new(name.span, message).help("rename one of them"));
            }
            seen.push(&name.text);
            // Nodes refer to each other, so their names are known before their fields are read.
            match decl {
                TypeDecl::Node { name, .. } => {
                    let name = name.text.clone();
                    self.nodes.push(Struct { name, fields: Vec::new(), cells: 1 });
                }
                TypeDecl::Enum { name, cases } => {
                    let cases = cases.iter().map(|c| c.text.clone()).collect();
                    self.enums.push((name.text.clone(), cases));
                }
                TypeDecl::Data { name, count } => {
                    let span = count.span;
                    let (count, first) = (self.number(count)?, self.data_values());
                    if !(1..=MOST_NAMES as i32).contains(&count)
                        || first + count as usize + self.processes > MOST_NAMES
                    {
                        let message = format!("`{}` has too many or too few values", name.text);
                        let help = format!(
                            "at most {MOST_NAMES} processes and values of `data` types can be checked"
                        );
                        return Err(Diagnostic::new(span, message).help(help));
                    }
                    let name = name.text.clone();
                    self.data.push(DataType { name, count: count as usize, first });
                }
                _ => {}
            }
        }
        for decl in types {
            match decl {
                TypeDecl::Alias { name, of } => {
                    let ty = self.resolve(of)?;
                    self.aliases.push((name.text.clone(), ty));
                }
                TypeDecl::Record { name, fields } => {
                    let fields = self.fields(fields)?;
                    let cells = fields.iter().map(|(_, ty)| self.cells(ty)).sum();
                    check_size(cells, name.span)?;
                    self.records.push(Struct { name: name.text.clone(), fields, cells });
                }
                _ => {}
            }
        }
        for decl in types {
            if let TypeDecl::Node { name, fields } = decl {
                let of = self.fields(fields)?;
                if let Some(at) = of.iter().position(|(_, ty)| self.has_array_of_processes(ty)) {
                    let message = "a node cannot contain an array that is indexed by processes";
                    let help = "keep the array in a shared variable";
                    return Err(Diagnostic::new(fields[at].of.span, message).help(help));
                }
                check_size(of.iter().map(|(_, ty)| self.cells(ty)).sum(), name.span)?;
                if let Some(node) = self.nodes.iter_mut().find(|n| n.name == name.text) {
                    node.fields = of;
                }
            }
        }
        Ok(())
    }

    /// How many values all `data` types have together.
    pub(crate) fn data_values(&self) -> usize {
        self.data.iter().map(|data| data.count).sum()
    }

    /// Whether a value of this type is, or may hold, one of a `data` type.
    pub(crate) fn has_data(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Data(_) => true,
            Ty::Optional(of) | Ty::Array { of, .. } | Ty::Seq(of) | Ty::Set(of) => {
                self.has_data(of)
            }
            Ty::Map(key, value) => self.has_data(key) || self.has_data(value),
            Ty::Record(record) => {
                self.records[*record].fields.iter().any(|(_, ty)| self.has_data(ty))
            }
            _ => false,
        }
    }

    fn fields(&self, fields: &[ast::Field]) -> Parsed<Vec<(String, Ty)>> {
        let mut out: Vec<(String, Ty)> = Vec::new();
        for field in fields {
            if out.iter().any(|(name, _)| *name == field.name.text) {
                let message = format!("a second field is called `{}`", field.name.text);
                return Err(Diagnostic::new(field.name.span, message));
            }
            out.push((field.name.text.clone(), self.resolve(&field.of)?));
        }
        Ok(out)
    }

    /// How many scalars a value of the type has.
    fn cells(&self, ty: &Ty) -> usize {
        match ty {
            Ty::Record(record) => self.records[*record].cells,
            Ty::Array { of, len, .. } => self.cells(of).saturating_mul(*len),
            _ => 1,
        }
    }

    fn has_array_of_processes(&self, ty: &Ty) -> bool {
        self.leaves(ty).iter().any(|leaf| leaf.dims.iter().any(|dim| dim.by_process))
    }

    /// The leaves of a node's fields: the number of the first cell of each, and its dimensions.
    pub(crate) fn node_cells(&self, node: usize) -> Vec<(usize, Vec<usize>)> {
        let mut out: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut first = 0;
        for leaf in self.nodes[node].fields.iter().flat_map(|(_, ty)| self.leaves(ty)) {
            let dims: Vec<usize> = leaf.dims.iter().map(|dim| dim.len).collect();
            let cells: usize = dims.iter().product();
            out.push((first, dims));
            first += cells;
        }
        out
    }

    /// The type that was written.
    pub(crate) fn resolve(&self, ty: &ast::Type) -> Parsed<Ty> {
        let ty = match &ty.kind {
            TypeKind::Bool => Ty::Bool,
            TypeKind::Pid => Ty::Pid,
            TypeKind::Lock => Ty::Lock,
            TypeKind::Range(low, high) => {
                let (lo, hi) = (self.number(low)?, self.number(high)?);
                if lo > hi {
                    let message = format!("the range {lo}..{hi} is empty");
                    let help = format!("a range begins with its least value: `{hi}..{lo}`");
                    return Err(Diagnostic::new(ty.span, message).help(help));
                }
                let far = |n: i32| !(-1_000_000_000..=1_000_000_000).contains(&n);
                let is_large = i64::from(hi) - i64::from(lo) >= LARGEST && !self.histories;
                if is_large || far(lo) || far(hi) {
                    let message = match self.histories {
                        true => "a range is within -1000000000..1000000000",
                        false => "this domain has more than a million values",
                    };
                    return Err(Diagnostic::new(ty.span, message).help("a small range will do"));
                }
                Ty::Int { lo, hi }
            }
            TypeKind::Named(name) => self.named(name, ty.span)?,
            TypeKind::Optional(of) => match self.resolve(of)? {
                of @ (Ty::Int { .. } | Ty::Bool | Ty::Enum(_) | Ty::Data(_)) => {
                    Ty::Optional(Box::new(of))
                }
                of @ (Ty::Pid | Ty::Node(_) | Ty::Optional(_) | Ty::Any) => of,
                _ => {
                    let message = "only numbers, truth values and enumerations can be optional";
                    return Err(Diagnostic::new(of.span, message));
                }
            },
            TypeKind::Array(of, len) => {
                let count = self.number(len)?;
                if !(1..=4096).contains(&count) {
                    let message = format!("an array cannot have {count} cells");
                    return Err(Diagnostic::new(len.span, message).help("1 to 4096 will do"));
                }
                let of = Box::new(self.resolve(of)?);
                check_size(self.cells(&of).saturating_mul(count as usize), ty.span)?;
                Ty::Array { of, len: count as usize, by_process: false }
            }
            TypeKind::PerProcess(of) => {
                let of = Box::new(self.resolve(of)?);
                check_size(self.cells(&of).saturating_mul(self.processes), ty.span)?;
                Ty::Array { of, len: self.processes, by_process: true }
            }
            TypeKind::Seq(of) => Ty::Seq(Box::new(self.resolve(of)?)),
            TypeKind::Set(of) => Ty::Set(Box::new(self.resolve(of)?)),
            TypeKind::Map(key, value) => {
                Ty::Map(Box::new(self.resolve(key)?), Box::new(self.resolve(value)?))
            }
        };
        Ok(ty)
    }

    fn named(&self, name: &str, span: Span) -> Parsed<Ty> {
        if let Some((_, ty)) = self.aliases.iter().find(|(alias, _)| alias == name) {
            return Ok(ty.clone());
        }
        if let Some(node) = self.nodes.iter().position(|n| n.name == name) {
            return Ok(Ty::Node(node));
        }
        if let Some(record) = self.records.iter().position(|r| r.name == name) {
            return Ok(Ty::Record(record));
        }
        if let Some(enumeration) = self.enums.iter().position(|(e, _)| e == name) {
            return Ok(Ty::Enum(enumeration));
        }
        if let Some(data) = self.data.iter().position(|d| d.name == name) {
            // A history has values of which nothing is known: they are like these.
            return Ok(if self.histories { Ty::Any } else { Ty::Data(data) });
        }
        if name == "any" && self.histories {
            return Ok(Ty::Any);
        }
        let known = (self.aliases.iter().map(|(name, _)| name.as_str()))
            .chain(self.nodes.iter().chain(&self.records).map(|s| s.name.as_str()))
            .chain(self.enums.iter().map(|(name, _)| name.as_str()))
            .chain(self.data.iter().map(|data| data.name.as_str()))
            .chain(["bool", "pid", "lock", "seq", "set", "map"]);
        let mut error = Diagnostic::new(span, format!("no type is called `{name}`"))
            .maybe_help(did_you_mean(name, known));
        if name == "any" {
            error = error
                .help("only a specification for histories has it: a model needs a range, `0..3`");
        } else if self.constants.iter().any(|(constant, _)| constant == name) {
            error = error.help(format!("a range has two ends: `0..{name}`"));
        }
        Err(error)
    }

    /// The scalars of a type.
    pub(crate) fn leaves(&self, ty: &Ty) -> Vec<Leaf> {
        match ty {
            Ty::Record(record) => {
                let mut out = Vec::new();
                for (name, ty) in &self.records[*record].fields {
                    out.extend(
                        self.leaves(ty)
                            .into_iter()
                            .map(|leaf| Leaf { path: format!(".{name}{}", leaf.path), ..leaf }),
                    );
                }
                out
            }
            Ty::Array { of, len, by_process } => {
                let mut out = self.leaves(of);
                for leaf in &mut out {
                    leaf.dims.insert(0, program::Dim { len: *len, by_process: *by_process });
                }
                out
            }
            Ty::Unit => Vec::new(),
            _ => vec![Leaf { path: String::new(), ty: ty.clone(), dims: Vec::new() }],
        }
    }

    /// Whether a value of this type names a process, or is of the heap.
    pub(crate) fn is_of_a_run(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Pid | Ty::Node(_) | Ty::Lock | Ty::Array { by_process: true, .. } => true,
            Ty::Optional(of) | Ty::Array { of, .. } | Ty::Seq(of) | Ty::Set(of) => {
                self.is_of_a_run(of)
            }
            Ty::Map(key, value) => self.is_of_a_run(key) || self.is_of_a_run(value),
            Ty::Record(record) => {
                self.records[*record].fields.iter().any(|(_, ty)| self.is_of_a_run(ty))
            }
            _ => false,
        }
    }

    /// Whether a value of this type may be a number.
    pub(crate) fn has_numbers(ty: &Ty) -> bool {
        match ty {
            Ty::Int { .. } => true,
            Ty::Optional(of) => Types::has_numbers(of),
            _ => false,
        }
    }

    /// The number of `none` or `null`.
    pub(crate) fn nothing(&self, ty: &Ty) -> Option<i32> {
        match ty {
            Ty::Optional(of) => Some(match **of {
                Ty::Int { lo, .. } => lo - 1,
                Ty::Data(_) => 0,
                _ => -1,
            }),
            Ty::Data(_) => Some(0),
            Ty::Pid | Ty::Lock => Some(-1),
            Ty::Node(_) => Some(0),
            _ => None,
        }
    }

    /// A scalar as the program knows it.
    pub(crate) fn scalar(&self, ty: &Ty) -> program::Type {
        let names = |enumeration: usize| self.enums[enumeration].1.clone();
        match ty {
            Ty::Int { lo, hi } => program::Type::int(*lo, *hi),
            Ty::Pid | Ty::Lock => program::Type::pid(self.processes),
            Ty::Node(node) => program::Type::pointer(*node, self.heap),
            Ty::Enum(enumeration) => program::Type {
                lo: 0,
                hi: names(*enumeration).len() as i32 - 1,
                kind: program::Kind::Names(names(*enumeration)),
                none: None,
            },
            Ty::Data(data) => {
                let DataType { count, first, .. } = self.data[*data];
                program::Type {
                    lo: 0,
                    hi: count as i32,
                    kind: program::Kind::Data { first },
                    none: Some(0),
                }
            }
            Ty::Optional(of) if matches!(**of, Ty::Data(_)) => self.scalar(of),
            Ty::Optional(of) => {
                let mut scalar = self.scalar(of);
                if let program::Kind::Names(names) = &mut scalar.kind {
                    names.insert(0, "none".to_string());
                }
                scalar.lo -= 1;
                scalar.none = Some(scalar.lo);
                scalar
            }
            _ => program::Type::bool(),
        }
    }

    /// A scalar as it is passed to an operation, or returned.
    pub(crate) fn passed(&self, ty: &Ty) -> program::Type {
        match ty {
            Ty::Data(_) => program::Type { lo: 1, none: None, ..self.scalar(ty) },
            _ => self.scalar(ty),
        }
    }

    /// The value of a variable without an initial value: nothing, false, 0 or else the least.
    pub(crate) fn first(&self, ty: &Ty) -> i32 {
        match ty {
            Ty::Int { lo, hi } => 0.clamp(*lo, *hi),
            _ => self.nothing(ty).unwrap_or(0),
        }
    }

    /// A scalar as text.
    pub(crate) fn scalar_shown(&self, ty: &Ty, value: i32) -> String {
        self.scalar(ty).show(value)
    }

    /// The type in the syntax of the language.
    pub(crate) fn show(&self, ty: &Ty) -> String {
        match ty {
            Ty::Int { lo, hi } if lo == hi => format!("the number {lo}"),
            Ty::Int { lo, hi } => format!("{lo}..{hi}"),
            Ty::Bool => "bool".into(),
            Ty::Pid => "pid".into(),
            Ty::Lock => "lock".into(),
            Ty::Node(node) => self.nodes[*node].name.clone(),
            Ty::Enum(enumeration) => self.enums[*enumeration].0.clone(),
            Ty::Data(data) => self.data[*data].name.clone(),
            Ty::Record(record) => self.records[*record].name.clone(),
            Ty::Optional(of) => format!("{}?", self.show(of)),
            Ty::Array { of, by_process: true, .. } => format!("[{}; pid]", self.show(of)),
            Ty::Array { of, len, .. } => format!("[{}; {len}]", self.show(of)),
            Ty::Unit => "nothing".into(),
            Ty::Nothing => "none".into(),
            Ty::Any => "any".into(),
            Ty::Seq(of) => format!("seq<{}>", self.show(of)),
            Ty::Set(of) => format!("set<{}>", self.show(of)),
            Ty::Map(key, value) => format!("map<{}, {}>", self.show(key), self.show(value)),
        }
    }

    /// Whether a value of one type may be used where the other is expected. Overlapping ranges are
    /// allowed: a value outside is detected when the model runs.
    pub(crate) fn fits(&self, value: &Ty, target: &Ty) -> bool {
        match (value, target) {
            (Ty::Int { lo, hi }, Ty::Int { lo: least, hi: most }) => hi >= least && lo <= most,
            (Ty::Optional(a), Ty::Optional(b)) => {
                a == b || self.nothing(value) == self.nothing(target) && self.fits(a, b)
            }
            (value, Ty::Optional(of)) => *value == Ty::Nothing || self.fits(value, of),
            (Ty::Optional(of), Ty::Data(_)) => **of == *target,
            // The number of `none` must not be one of the target's, so that a wrong use is found.
            (Ty::Optional(of), target) => {
                self.fits(of, target)
                    && self.nothing(value).is_some_and(|n| !self.scalar(target).contains(n))
            }
            (Ty::Nothing, target) => {
                matches!(target, Ty::Pid | Ty::Node(_) | Ty::Lock | Ty::Any | Ty::Data(_))
            }
            (
                Ty::Array { of: a, len: m, by_process: p },
                Ty::Array { of: b, len: n, by_process: q },
            ) => m == n && p == q && self.parts_fit(a, b),
            // The empty list is of this type.
            (Ty::Seq(a), Ty::Seq(_) | Ty::Set(_) | Ty::Map(..)) if **a == Ty::Nothing => true,
            (Ty::Seq(a), Ty::Seq(b)) | (Ty::Set(a), Ty::Set(b)) => self.parts_fit(a, b),
            (Ty::Map(a, c), Ty::Map(b, d)) => self.parts_fit(a, b) && self.parts_fit(c, d),
            _ => value == target,
        }
    }

    /// The same for parts of values, which are not looked at one by one when the model is run.
    pub(crate) fn parts_fit(&self, value: &Ty, target: &Ty) -> bool {
        self.fits(value, target) && self.taken_for_none(value, target).is_none()
    }

    /// The number, of those that the value may be, that stands for `none` in the target: the value
    /// must be held against it when the model is run.
    pub(crate) fn taken_for_none(&self, value: &Ty, target: &Ty) -> Option<i32> {
        match (value, target) {
            (Ty::Int { lo, hi }, Ty::Optional(_)) => {
                self.nothing(target).filter(|none| (lo..=hi).contains(&none))
            }
            _ => None,
        }
    }

    /// Whether two values can be compared.
    pub(crate) fn comparable(&self, a: &Ty, b: &Ty) -> bool {
        match (a, b) {
            (Ty::Int { .. }, Ty::Int { .. }) => true,
            // Here the number of `none` must not be one of the other's values, for otherwise `none`
            // would equal a number.
            (Ty::Optional(of), other @ Ty::Int { .. })
            | (other @ Ty::Int { .. }, Ty::Optional(of)) => {
                let optional = Ty::Optional(of.clone());
                matches!(**of, Ty::Int { .. })
                    && self.nothing(&optional).is_some_and(|n| !self.scalar(other).contains(n))
            }
            _ => self.fits(a, b) || self.fits(b, a),
        }
    }

    /// A number that is known before the model runs.
    pub(crate) fn number(&self, expr: &Expr) -> Parsed<i32> {
        let wide = self.constant(expr)?;
        i32::try_from(wide).map_err(|_| Diagnostic::new(expr.span, "this number is too large"))
    }

    /// A truth value that is known before the model runs.
    pub(crate) fn truth(&self, expr: &Expr) -> Parsed<bool> {
        Ok(self.constant(expr)? != 0)
    }

    /// The value of an expression of parameters; true is 1.
    fn constant(&self, expr: &Expr) -> Parsed<i64> {
        let value = match &expr.kind {
            ExprKind::Int(number) => *number,
            ExprKind::Bool(truth) => i64::from(*truth),
            ExprKind::Name(name) if name == "points" => i64::from(self.points),
            ExprKind::Name(name) => match self.constants.iter().find(|(c, _)| c == name) {
                Some((_, value)) => i64::from(*value),
                None => {
                    let known = self.constants.iter().map(|(name, _)| name.as_str());
                    let message = format!("no parameter is called `{name}`");
                    let help = did_you_mean(name, known);
                    return Err(Diagnostic::new(expr.span, message).maybe_help(help));
                }
            },
            ExprKind::Negate(of) => -self.constant(of)?,
            ExprKind::Not(of) => i64::from(self.constant(of)? == 0),
            ExprKind::Conditional(c, yes, no) => {
                self.constant(if self.constant(c)? != 0 { yes } else { no })?
            }
            ExprKind::Call(name, args) if args.len() == 2 && name.text == "min" => {
                self.constant(&args[0])?.min(self.constant(&args[1])?)
            }
            ExprKind::Call(name, args) if args.len() == 2 && name.text == "max" => {
                self.constant(&args[0])?.max(self.constant(&args[1])?)
            }
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.constant(left)?, self.constant(right)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a.saturating_mul(b),
                    BinaryOp::Div | BinaryOp::Rem if b == 0 => {
                        return Err(Diagnostic::new(right.span, "division by zero"));
                    }
                    BinaryOp::Div => a.div_euclid(b),
                    BinaryOp::Rem => a.rem_euclid(b),
                    BinaryOp::Equal => i64::from(a == b),
                    BinaryOp::Different => i64::from(a != b),
                    BinaryOp::Less => i64::from(a < b),
                    BinaryOp::LessEqual => i64::from(a <= b),
                    BinaryOp::Greater => i64::from(a > b),
                    BinaryOp::GreaterEqual => i64::from(a >= b),
                    BinaryOp::And => i64::from(a != 0 && b != 0),
                    BinaryOp::Or => i64::from(a != 0 || b != 0),
                    BinaryOp::Concat | BinaryOp::In => {
                        return Err(Diagnostic::new(expr.span, "this is not a number"));
                    }
                }
            }
            _ => {
                let message = "this must be known before the model runs";
                return Err(Diagnostic::new(expr.span, message)
                    .help("use numbers and the parameters of the object"));
            }
        };
        Ok(value.clamp(-(1 << 40), 1 << 40))
    }
}
