//! The part of the parser that reads specifications: `spec queue`, `spec { .. }` in a model, and
//! files that hold a specification alone.

use super::ast::{Ast, Name, Op, SpecDecl, SpecFile, SpecOp, VarDecl};
use super::diagnostic::{Diagnostic, Span};
use super::lexer::{Token, TokenKind};
use super::parser::{Parsed, Parser};

/// A file with a specification: a model that has one, or a file that holds nothing else.
pub(crate) fn parse(source: &str) -> Parsed<Specified> {
    let mut parser = Parser::new(source)?;
    Ok(match parser.is_word("object") {
        true => Specified::Model(Box::new(parser.model()?)),
        false => Specified::Alone(parser.spec_file()?),
    })
}

/// See [`parse`].
#[derive(Clone, Debug)]
pub(crate) enum Specified {
    Model(Box<Ast>),
    Alone(SpecFile),
}

impl Parser {
    pub(super) fn spec(&mut self, at: Span) -> Parsed<SpecDecl> {
        if !self.is_sign("{") {
            // The names of built-in specifications contain hyphens: `bounded-queue`.
            let mut name = match self.advance() {
                Token { kind: TokenKind::Word(text), span, .. } => Name { text, span },
                token => {
                    let message = format!(
                        "expected `{{` or a built-in specification's name, found {}",
                        token.kind.shown()
                    );
                    return Err(Diagnostic::new(token.span, message));
                }
            };
            while self.is_sign("-") && matches!(self.peek_second(), TokenKind::Word(_)) {
                self.advance();
                let Token { kind, span, .. } = self.advance();
                if let TokenKind::Word(word) = kind {
                    name.text = format!("{}-{word}", name.text);
                    name.span = name.span.to(span);
                }
            }
            let mut arguments = Vec::new();
            if self.take_sign("(") {
                while !self.take_sign(")") {
                    let key = match self.is_word("init") {
                        true => Name { text: "init".to_string(), span: self.advance().span },
                        false => self.name("a parameter of the specification")?,
                    };
                    self.expect_sign(":", "and its value")?;
                    arguments.push((key, self.expr()?));
                    self.separator(")")?;
                }
            }
            return Ok(SpecDecl::Named { name, arguments });
        }
        self.advance();
        let (state, ops) = self.spec_body(false)?;
        Ok(SpecDecl::Written { state, ops, span: at })
    }

    /// The state and the operations of a specification, after `{`. `typed`: it stands alone, so
    /// that operations declare the types of their arguments and results.
    fn spec_body(&mut self, typed: bool) -> Parsed<(Vec<VarDecl>, Vec<SpecOp>)> {
        let (mut state, mut ops) = (Vec::new(), Vec::new());
        while !self.take_sign("}") {
            if self.take_sign(";") {
                continue;
            }
            if self.take_word("state") {
                self.variables(&mut state)?;
                continue;
            }
            if typed {
                let at = self.span();
                let Op { name, args, result, body, .. } = self.op(at)?;
                let (args, types) = args.into_iter().map(|field| (field.name, field.of)).unzip();
                ops.push(SpecOp { name, args, types, result, body });
                continue;
            }
            let name = self.name("`state` or an operation's name")?;
            self.expect_sign("(", "and the operation's arguments")?;
            let mut args = Vec::new();
            while !self.take_sign(")") {
                args.push(self.name("an argument's name")?);
                if self.is_sign(":") {
                    let help = "the types of arguments are those of the operation";
                    return Err(self.unexpected("`,` or `)`").help(help));
                }
                self.separator(")")?;
            }
            let (types, result) = (Vec::new(), None);
            ops.push(SpecOp { name, args, types, result, body: self.block()? });
        }
        Ok((state, ops))
    }

    /// A file that holds a specification alone.
    fn spec_file(&mut self) -> Parsed<SpecFile> {
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        loop {
            let at = self.span();
            if self.take_sign(";") {
            } else if let Some(ty) = self.type_declaration()? {
                types.push(ty);
            } else if self.take_word("spec") {
                if matches!(self.peek().kind, TokenKind::Word(_)) {
                    self.name("the specification's name")?;
                }
                if self.take_sign("(") {
                    while !self.take_sign(")") {
                        parameters.push(self.parameter()?);
                        self.separator(")")?;
                    }
                }
                self.expect_sign("{", "and the specification")?;
                let (state, ops) = self.spec_body(true)?;
                while self.take_sign(";") {}
                if self.peek().kind != TokenKind::End {
                    return Err(self.unexpected("the end of the file"));
                }
                return Ok(SpecFile { parameters, types, state, ops, span: at });
            } else {
                let words = ["type", "enum", "record", "spec", "object"];
                let error = self.unexpected("`type`, `enum`, `record` or `spec`");
                return Err(error.maybe_help(self.slip(words)));
            }
        }
    }
}
