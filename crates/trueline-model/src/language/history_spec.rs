//! Specifications for histories: what `--spec FILE.tl` reads.
//!
//! A file holds either a specification alone, whose operations declare the types of their values,
//! or a whole model, of which the specification and the types of its operations are used.
//! [`Specification::named`] makes a [`Named`] of it, which decides histories by the general search.
//!
//! Values of a history are decoded by the type that the operation declares ([`Reader`]). A value
//! outside of its type is an error of the history. If an operation could not be executed because a
//! number left its range, or because of an endless loop, a violation may be due to that. It is then
//! reported as an error of the specification ([`Builtin::take_doubt`]).

use std::sync::Arc;

use trueline::Value;
use trueline::spec::{self, Builtin, Named, Spec};

use super::Model;
use super::ast::{SpecDecl, SpecFile};
use super::diagnostic::Diagnostic;
use super::parse_specification::{self, Specified};
use super::parser::Parsed;
use super::spec_run::{Data, Written};
use super::spec_words::show;
use super::specification::{self, Signature, of_a_run};
use super::types::{Ty, Types};
use super::{ParameterInfo, SettingError, compile, read_parameters, set_parameter};

/// A specification in the modelling language. Its parameters can be set; then it is made a
/// [`Named`].
///
/// ```
/// use trueline::{Algorithm, Budget, formats};
/// use trueline_model::Specification;
///
/// let counter = "spec { state n: 0..1000 = 0  inc() -> 0..1000 { n = n + 1; return n } }";
/// let counter = Specification::parse(counter).unwrap().named("counter.tl").unwrap();
/// let text = r#"{"process":0,"call":"inc","args":[]}
/// {"process":0,"return":2}"#;
/// let (history, _) = formats::read(text.as_bytes(), &formats::ReadOptions::default()).unwrap();
/// let outcome = counter.check(&history, Algorithm::Auto, &Budget::unlimited()).unwrap();
/// assert!(outcome.verdict.is_violation());
/// ```
#[derive(Clone, Debug)]
pub struct Specification {
    source: String,
    specified: Specified,
    parameters: Vec<ParameterInfo>,
}

impl Specification {
    /// Reads a file and compiles it once with the default values of its parameters, to find errors
    /// early.
    pub fn parse(source: &str) -> Result<Specification, Diagnostic> {
        let specified = parse_specification::parse(source)?;
        let declared = match &specified {
            Specified::Model(ast) => &ast.parameters,
            Specified::Alone(file) => &file.parameters,
        };
        let parameters = read_parameters(declared)?;
        let read = Specification { source: source.to_string(), specified, parameters };
        read.compile()?;
        // Errors elsewhere in a model are reported, too.
        if let Specified::Model(_) = &read.specified {
            Model::parse(source)?;
        }
        Ok(read)
    }

    /// Its parameters with their values.
    pub fn parameters(&self) -> &[ParameterInfo] {
        &self.parameters
    }

    /// Sets a parameter. An error lists the known parameters.
    pub fn set(&mut self, name: &str, value: i32) -> Result<(), SettingError> {
        set_parameter(&mut self.parameters, "the specification", name, value)
    }

    /// The specification for histories, under this name.
    pub fn named(&self, text: impl Into<String>) -> Result<Named, Diagnostic> {
        Ok(Named::new(text, self.compile()?).searched())
    }

    fn compile(&self) -> Parsed<Modelled> {
        let constants = self.parameters.iter().map(|p| (p.name.clone(), p.value)).collect();
        let mut types = Types { constants, histories: true, ..Types::default() };
        let source = self.source.as_str();
        let (written, signatures) = match &self.specified {
            Specified::Alone(file) => {
                types.declare(&file.types)?;
                let signatures = signatures(&types, file)?;
                let SpecFile { state, ops, span, .. } = file;
                let written =
                    specification::compile(&types, state, ops, *span, &signatures, source)?;
                (written, signatures)
            }
            Specified::Model(ast) => {
                compile::declare_types(&mut types, ast)?;
                let signatures = compile::signatures(&types, ast)?;
                for (op, signature) in ast.ops.iter().zip(&signatures) {
                    let mut all = signature.args.iter().chain([&signature.result]);
                    if all.any(|ty| types.is_of_a_run(ty)) {
                        return Err(of_a_run(op.span));
                    }
                }
                let (state, ops, span) = match &ast.spec {
                    SpecDecl::Written { state, ops, span } => (state, ops, *span),
                    SpecDecl::Named { name, .. } => {
                        let message = format!(
                            "the model has no specification of its own but the built-in `{}`",
                            name.text
                        );
                        let help = format!("check histories against it: `--spec {}`", name.text);
                        return Err(Diagnostic::new(name.span, message).help(help));
                    }
                };
                let written =
                    specification::compile(&types, state, ops, span, &signatures, source)?;
                (written, signatures)
            }
        };
        Ok(Modelled(Arc::new(Compiled { written, signatures })))
    }
}

/// The operations of a file that holds only a specification.
fn signatures(types: &Types, file: &SpecFile) -> Parsed<Vec<Signature>> {
    let mut all: Vec<Signature> = Vec::new();
    for op in &file.ops {
        if all.iter().any(|other| spec::same(&other.name, &op.name.text)) {
            let message = format!("a second operation is called `{}`", op.name.text);
            let help = "names are equal up to case, `-` and `_`";
            return Err(Diagnostic::new(op.name.span, message).help(help));
        }
        let resolve = |ty| {
            let of = types.resolve(ty)?;
            if types.is_of_a_run(&of) { Err(of_a_run(ty.span)) } else { Ok(of) }
        };
        let args = op.types.iter().map(resolve).collect::<Parsed<_>>()?;
        let result = op.result.as_ref().map_or(Ok(Ty::Unit), resolve)?;
        all.push(Signature { name: op.name.text.clone(), args, result });
    }
    if all.is_empty() {
        let help = "add one: `read() -> any { return value }`";
        return Err(Diagnostic::new(file.span, "the specification has no operation").help(help));
    }
    Ok(all)
}

struct Compiled {
    written: Written,
    signatures: Vec<Signature>,
}

/// A specification that was written, over the values of histories.
#[derive(Clone)]
struct Modelled(Arc<Compiled>);

/// A call: which operation, with which arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallOf {
    operation: usize,
    args: Vec<Data>,
}

impl Modelled {
    fn types(&self) -> &Types {
        &self.0.written.types
    }

    fn signature(&self, op: &CallOf) -> &Signature {
        &self.0.signatures[op.operation]
    }

    /// `deq() -> any`
    fn described(&self, signature: &Signature) -> String {
        let shown = |ty: &Ty| self.types().show(ty);
        let args: Vec<String> = signature.args.iter().map(shown).collect();
        let result = match &signature.result {
            Ty::Unit => String::new(),
            ty => format!(" -> {}", shown(ty)),
        };
        format!("{}({}){result}", signature.name, args.join(", "))
    }

    fn find(&self, method: &str) -> Result<usize, String> {
        let signatures = &self.0.signatures;
        signatures.iter().position(|known| spec::same(&known.name, method)).ok_or_else(|| {
            let known: Vec<String> = signatures.iter().map(|s| self.described(s)).collect();
            format!("unknown method {method}: expected {}", known.join(", "))
        })
    }

    /// The possible results of the operation here, each with the next state.
    fn outcomes(&self, state: &[Data], op: &CallOf) -> Vec<(Value, Vec<Data>)> {
        let result = &self.signature(op).result;
        let outcomes = self.0.written.outcomes(state, 0, op.operation, op.args.iter().cloned());
        let told = |data: Option<Data>| data.map_or(Value::Nil, |data| self.write(result, &data));
        outcomes.into_iter().map(|(data, next)| (told(data), next)).collect()
    }

    /// A value of a history, as one of this type.
    fn read(&self, ty: &Ty, value: &Value) -> Result<Data, String> {
        let types = self.types();
        let none = || Err(format!("expected {}, found {}", types.show(ty), spec::found(value)));
        let items = |of: &Ty, items: &[Value]| {
            items.iter().map(|item| self.read(of, item)).collect::<Result<Vec<Data>, String>>()
        };
        match (ty, value) {
            (Ty::Any, value) => Ok(Data::Any(value.clone())),
            (Ty::Optional(_), Value::Nil) => Ok(Data::Int(types.nothing(ty).unwrap_or_default())),
            (Ty::Optional(of), value) => self.read(of, value).or_else(|_| none()),
            (Ty::Int { lo, hi }, Value::Int(number)) => match i32::try_from(*number) {
                Ok(number) if (*lo..=*hi).contains(&number) => Ok(Data::Int(number)),
                _ => Err(format!("{number} is not one of {}", types.show(ty))),
            },
            (Ty::Bool, value) => match value.as_bool() {
                Some(truth) => Ok(Data::Int(i32::from(truth))),
                None => none(),
            },
            (Ty::Enum(enumeration), Value::Text(text)) => {
                let cases = &types.enums[*enumeration].1;
                match cases.iter().position(|case| *case == **text) {
                    Some(case) => Ok(Data::Int(case as i32)),
                    None => Err(format!("{text} is not one of {}", cases.join(", "))),
                }
            }
            (Ty::Seq(of), Value::List(list)) => Ok(Data::List(items(of, list)?)),
            (Ty::Array { of, len, .. }, Value::List(list)) if list.len() == *len => {
                Ok(Data::List(items(of, list)?))
            }
            (Ty::Set(of), Value::List(list)) => {
                Ok(Data::Set(items(of, list)?.into_iter().collect()))
            }
            (Ty::Map(key, of), Value::List(list)) => {
                let pair = |item: &Value| match item.as_list() {
                    Some([k, v]) => Ok((self.read(key, k)?, self.read(of, v)?)),
                    _ => Err(format!("expected a pair, found {}", spec::found(item))),
                };
                Ok(Data::Map(list.iter().map(pair).collect::<Result<_, _>>()?))
            }
            (Ty::Record(record), Value::List(list)) => {
                let fields = &types.records[*record].fields;
                if fields.len() != list.len() {
                    return none();
                }
                let parts = fields.iter().zip(list.iter());
                let parts: Result<_, String> =
                    parts.map(|((_, ty), item)| self.read(ty, item)).collect();
                Ok(Data::List(parts?))
            }
            _ => none(),
        }
    }

    /// The inverse of [`Modelled::read`].
    fn write(&self, ty: &Ty, data: &Data) -> Value {
        let types = self.types();
        match (ty, data) {
            (_, Data::Any(value)) => value.clone(),
            (_, Data::Int(number)) if types.nothing(ty) == Some(*number) => Value::Nil,
            (Ty::Optional(of), data) => self.write(of, data),
            (Ty::Bool, Data::Int(number)) => Value::Bool(*number != 0),
            (Ty::Enum(_), Data::Int(number)) => Value::text(types.scalar_shown(ty, *number)),
            (_, Data::Int(number)) => Value::Int((*number).into()),
            (Ty::Record(record), Data::List(items)) => {
                let fields = &types.records[*record].fields;
                Value::list(fields.iter().zip(items).map(|((_, ty), item)| self.write(ty, item)))
            }
            (Ty::Seq(of) | Ty::Array { of, .. }, Data::List(items)) => {
                Value::list(items.iter().map(|item| self.write(of, item)))
            }
            (Ty::Set(of), Data::Set(items)) => {
                Value::list(items.iter().map(|item| self.write(of, item)))
            }
            (Ty::Map(key, of), Data::Map(items)) => Value::list(
                items.iter().map(|(k, v)| Value::list([self.write(key, k), self.write(of, v)])),
            ),
            (_, data) => Value::text(show(types, ty, data)),
        }
    }

    /// Some value of the type, for a generated history.
    fn sampled(&self, ty: &Ty, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> Data {
        let types = self.types();
        match ty {
            Ty::Any => Data::Any(Value::Int(fresh)),
            Ty::Int { lo, hi } => {
                let values = (i64::from(*hi) - i64::from(*lo) + 1) as u64;
                Data::Int((i64::from(*lo) + pick(values) as i64) as i32)
            }
            Ty::Bool => Data::Int(pick(2) as i32),
            Ty::Enum(enumeration) => {
                Data::Int(pick(types.enums[*enumeration].1.len() as u64) as i32)
            }
            Ty::Optional(of) => self.sampled(of, pick, fresh),
            ty => super::spec_run::first_value(types, ty),
        }
    }
}

impl Spec for Modelled {
    type State = Vec<Data>;
    type Op = CallOf;
    type Ret = Value;

    fn initial(&self) -> Vec<Data> {
        self.0.written.first()
    }

    fn step(&self, state: &Vec<Data>, op: &CallOf, ret: Option<&Value>, next: &mut Vec<Vec<Data>>) {
        for (result, after) in self.outcomes(state, op) {
            if ret.is_none_or(|ret| *ret == result) && !next.contains(&after) {
                next.push(after);
            }
        }
    }

    fn show(&self, op: &CallOf, ret: Option<&Value>) -> String {
        let (method, args) = self.encode(op);
        let args: Vec<String> = args.iter().map(Value::to_string).collect();
        let call = format!("{method}({})", args.join(", "));
        match (ret, &self.signature(op).result) {
            (None, _) => format!("{call} -> ?"),
            (Some(_), Ty::Unit) => call,
            (Some(ret), _) => format!("{call} -> {ret}"),
        }
    }

    fn show_state(&self, state: &Vec<Data>) -> String {
        self.0.written.shown(state)
    }
}

impl Builtin for Modelled {
    fn decode(
        &self,
        method: &str,
        args: &[Value],
        result: Option<&Value>,
    ) -> Result<(CallOf, Option<Value>), String> {
        let operation = self.find(method)?;
        let signature = &self.0.signatures[operation];
        let args = spec::arguments(method, args, signature.args.len())?;
        let read = |(ty, value)| self.read(ty, value);
        let args: Result<Vec<Data>, String> = signature.args.iter().zip(args).map(read).collect();
        let in_method = |error: String| format!("{method}: {error}");
        let op = CallOf { operation, args: args.map_err(in_method)? };
        let result = match (result, &signature.result) {
            (None, _) => None,
            (Some(value), Ty::Unit) => Some(spec::nothing(value).map_err(in_method)?),
            (Some(value), ty) => {
                let data = self.read(ty, value).map_err(|why| {
                    // If results are generated instead of decoded, this error is never shown.
                    in_method(format!("the result is not one that it declares: {why}"))
                })?;
                Some(self.write(ty, &data))
            }
        };
        Ok((op, result))
    }

    fn encode(&self, op: &CallOf) -> (&str, Vec<Value>) {
        let signature = self.signature(op);
        let args = signature.args.iter().zip(&op.args).map(|(ty, data)| self.write(ty, data));
        (&signature.name, args.collect())
    }

    fn take_doubt(&self) -> Option<String> {
        self.0.written.take_doubt()
    }

    fn results(&self, state: &Vec<Data>, op: &CallOf) -> Vec<Value> {
        let mut results: Vec<Value> = Vec::new();
        for (result, _) in self.outcomes(state, op) {
            if !results.contains(&result) {
                results.push(result);
            }
        }
        results
    }

    fn sample(&self, _state: &Vec<Data>, pick: &mut dyn FnMut(u64) -> u64, fresh: i64) -> CallOf {
        let operation = pick(self.0.signatures.len() as u64) as usize;
        let args = self.0.signatures[operation].args.iter();
        CallOf { operation, args: args.map(|ty| self.sampled(ty, pick, fresh)).collect() }
    }
}
