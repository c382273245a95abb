//! The modelling language: text in, [`Program`] out, and errors that point at the text.
//!
//! `docs/model-language.md` is its reference. A model passes through [`lexer`], [`parser`] (with
//! [`parse_statements`] and [`expressions`]) and [`ast`]. Then, with the parameters set,
//! [`compile`] resolves [`types`], checks operations ([`typing`]), turns them into graphs
//! ([`body`], [`places`], [`functions`], [`statements`], [`procedures`]), cuts the graphs into steps
//! ([`flow`]), and compiles the specification ([`specification`], [`spec_run`], [`builtin`],
//! [`snapshot_spec`]). A specification for histories stops before the operations: [`history_spec`].

pub(crate) mod ast;
mod body;
mod builtin;
mod client;
mod compile;
mod containers;
mod diagnostic;
mod expressions;
mod flow;
mod functions;
mod history_spec;
mod lexer;
mod observers;
mod order;
mod parse_specification;
mod parse_statements;
mod parser;
mod parts;
mod places;
mod procedures;
mod ranges;
mod snapshot_spec;
mod spec_run;
mod spec_words;
mod specification;
mod statements;
pub(crate) mod types;
mod typing;

use std::fmt;

pub use diagnostic::{Diagnostic, Span};
pub use history_spec::Specification;

use crate::program::Program;

/// What counts as a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Semantics {
    /// One shared access per step; local computation is free, and dead locals are cleared.
    #[default]
    Default,
    /// The cost of steps of the model checker PAT: one step per statement and test; variables that
    /// the object declares with `local` keep their last value.
    #[cfg(feature = "papers")]
    Pat,
}

impl Semantics {
    /// Whether steps cost what they cost in PAT: never without the feature `papers`.
    pub(crate) fn is_pat(self) -> bool {
        match self {
            Semantics::Default => false,
            #[cfg(feature = "papers")]
            Semantics::Pat => true,
        }
    }
}

/// A model that was read. Its parameters can be set; then it is compiled.
#[derive(Clone, Debug)]
pub struct Model {
    source: String,
    ast: ast::Ast,
    parameters: Vec<ParameterInfo>,
}

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Its name.
    pub name: String,
    /// The least value.
    pub least: i32,
    /// The greatest value.
    pub greatest: i32,
    /// The value that it has now.
    pub value: i32,
}

/// The expected verdict in the header of a model: `//! expect procs=2 bug=1: violation`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The parameters under which it holds.
    pub settings: Vec<(String, i32)>,
    /// True if linearization points are used.
    pub points: bool,
    /// True if it is about simple histories of a snapshot object.
    pub simple: bool,
    /// `verified`, `violation`, `deadlock`, ...
    pub verdict: String,
}

impl Model {
    /// Reads a model and compiles it once with the default values of its parameters, to find errors
    /// early.
    pub fn parse(source: &str) -> Result<Model, Diagnostic> {
        let ast = parser::parse(source)?;
        let parameters = read_parameters(&ast.parameters)?;
        let model = Model { source: source.to_string(), ast, parameters };
        model.compile(Semantics::Default, false)?;
        Ok(model)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.ast.name.text
    }

    /// Its parameters with their values.
    pub fn parameters(&self) -> &[ParameterInfo] {
        &self.parameters
    }

    /// Sets a parameter. An error lists the known parameters.
    pub fn set(&mut self, name: &str, value: i32) -> Result<(), SettingError> {
        set_parameter(&mut self.parameters, &self.ast.name.text, name, value)
    }

    /// The program that the model stands for, with the parameters as they are set.
    pub fn compile(&self, semantics: Semantics, points: bool) -> Result<Program, Diagnostic> {
        let constants = self.constants();
        compile::compile(&self.ast, &self.source, constants, semantics, points)
    }

    /// Whether the model asks for this progress property: `deadlock_free`, `lock_free`.
    pub fn asks_for(&self, property: &str) -> bool {
        self.ast.properties.iter().any(|p| match p {
            ast::Property::DeadlockFree => property == "deadlock_free",
            ast::Property::LockFree => property == "lock_free",
            ast::Property::Response { name, .. } => property == name.text,
        })
    }

    /// The progress properties that the model declares, by name.
    pub fn properties(&self) -> Vec<String> {
        let name = |property: &ast::Property| match property {
            ast::Property::DeadlockFree => "deadlock_free".to_string(),
            ast::Property::LockFree => "lock_free".to_string(),
            ast::Property::Response { name, .. } => name.text.clone(),
        };
        self.ast.properties.iter().map(name).collect()
    }

    /// Whether the model has code that depends on `points`, so that it runs differently if its
    /// marked points are trusted.
    pub fn has_code_for_points(&self) -> bool {
        let code = |line: &'_ str| line.split("//").next().unwrap_or_default().to_string();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        self.source().lines().any(|line| code(line).split(|c| !is_word(c)).any(|w| w == "points"))
    }

    /// Whether the response property of this name assumes weak fairness.
    pub fn weakly_fair(&self, property: &str) -> bool {
        self.ast.properties.iter().any(|p| match p {
            ast::Property::Response { name, weakly_fair, .. } => {
                name.text == property && *weakly_fair
            }
            _ => false,
        })
    }

    /// The expected verdicts in its header.
    pub fn expectations(&self) -> Vec<Expectation> {
        self.source.lines().filter_map(expectation).collect()
    }

    /// The text that it was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn ast(&self) -> &ast::Ast {
        &self.ast
    }

    /// The types of the model as they are in this program.
    pub(crate) fn types(&self, program: &Program) -> Result<types::Types, Diagnostic> {
        let mut types = types::Types {
            constants: self.constants(),
            points: program.points != crate::program::Points::None,
            processes: program.processes(),
            heap: program.nodes.first().map_or(0, |node| node.capacity),
            ..types::Types::default()
        };
        types.declare(&self.ast.types)?;
        Ok(types)
    }

    fn constants(&self) -> Vec<(String, i32)> {
        self.parameters.iter().map(|p| (p.name.clone(), p.value)).collect()
    }
}

/// A parameter that cannot be set so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError(String);

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingError {}

/// The parameters that are declared, with their default values.
fn read_parameters(declared: &[ast::Parameter]) -> Result<Vec<ParameterInfo>, Diagnostic> {
    let mut types = types::Types::default();
    let mut parameters: Vec<ParameterInfo> = Vec::new();
    for parameter in declared {
        let name = &parameter.name;
        if parameters.iter().any(|p| p.name == name.text) || name.text == "points" {
            let message = format!("`{}` is declared already", name.text);
            return Err(Diagnostic::new(name.span, message).help("choose another name"));
        }
        let (least, greatest) = (types.number(&parameter.low)?, types.number(&parameter.high)?);
        let value = types.number(&parameter.default)?;
        if !(least..=greatest).contains(&value) {
            let message = format!("{value} is not one of {least}..{greatest}");
            return Err(Diagnostic::new(parameter.default.span, message));
        }
        types.constants.push((name.text.clone(), value));
        parameters.push(ParameterInfo { name: name.text.clone(), least, greatest, value });
    }
    Ok(parameters)
}

/// Sets one of the parameters of `whose`.
fn set_parameter(
    parameters: &mut [ParameterInfo],
    whose: &str,
    name: &str,
    value: i32,
) -> Result<(), SettingError> {
    let known: Vec<String> = parameters.iter().map(|p| p.name.clone()).collect();
    let Some(parameter) = parameters.iter_mut().find(|p| p.name == name) else {
        let help = diagnostic::did_you_mean(name, known.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| match known.is_empty() {
            true => "it has none".to_string(),
            false => format!("it has {}", known.join(", ")),
        });
        return Err(SettingError(format!("{whose} has no parameter {name:?}: {help}")));
    };
    if !(parameter.least..=parameter.greatest).contains(&value) {
        let (least, greatest) = (parameter.least, parameter.greatest);
        return Err(SettingError(format!("{name} must be {least} to {greatest}, not {value}")));
    }
    parameter.value = value;
    Ok(())
}

fn expectation(line: &str) -> Option<Expectation> {
    let rest = line.trim_start_matches(lexer::MARK).trim().strip_prefix("//! expect")?;
    let (settings, verdict) = rest.split_once(':')?;
    let mut out = Expectation {
        settings: Vec::new(),
        points: false,
        simple: false,
        verdict: verdict.trim().to_string(),
    };
    for word in settings.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) => out.settings.push((name.to_string(), value.parse().ok()?)),
            None if word == "points" => out.points = true,
            None if word == "simple" => out.simple = true,
            None => return None,
        }
    }
    Some(out)
}
