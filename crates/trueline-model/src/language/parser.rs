//! Tokens into a syntax tree, by recursive descent with one token of look-ahead.
//!
//! Stops at the first error: what follows a misread construct is noise. Semicolons between
//! statements are optional, because no statement begins like the continuation of an expression.
//! Nesting is bounded, so that no text can exhaust the stack.

use super::ast::{
    Ast, Client, Event, Expr, ExprKind, Field, Heap, Name, Op, Ops, Parameter, Property, Role,
    RoleOp, SpecDecl, TypeDecl, VarDecl,
};
use super::diagnostic::{Diagnostic, Span, did_you_mean, nearest};
use super::lexer::{Token, TokenKind, tokens};

/// Words that cannot be names.
pub(crate) const KEYWORDS: [&str; 51] = [
    "object",
    "type",
    "enum",
    "record",
    "node",
    "data",
    "shared",
    "local",
    "init",
    "op",
    "procedure",
    "spec",
    "state",
    "client",
    "role",
    "property",
    "bool",
    "pid",
    "lock",
    "seq",
    "set",
    "map",
    "if",
    "else",
    "while",
    "loop",
    "for",
    "in",
    "break",
    "continue",
    "return",
    "atomic",
    "await",
    "unlock",
    "free",
    "skip",
    "assert",
    "either",
    "or",
    "when",
    "new",
    "null",
    "none",
    "me",
    "true",
    "false",
    "always",
    "implies",
    "eventually",
    "int",
    "nat",
];

const ITEMS: [&str; 14] = [
    "type",
    "enum",
    "record",
    "node",
    "data",
    "shared",
    "local",
    "init",
    "op",
    "procedure",
    "spec",
    "client",
    "property",
    "object",
];

/// Deeper nesting than this is an error.
const DEEPEST: u32 = 100;

pub(crate) type Parsed<T> = Result<T, Diagnostic>;

pub(crate) fn parse(source: &str) -> Parsed<Ast> {
    Parser::new(source)?.model()
}

pub(super) struct Parser {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    depth: u32,
    /// False in a condition, where `{` opens the block and not a record.
    pub(super) records: bool,
}

impl Parser {
    pub(super) fn new(source: &str) -> Parsed<Parser> {
        Ok(Parser { tokens: tokens(source)?, at: 0, depth: 0, records: true })
    }

    // ---- tokens

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    pub(super) fn peek_second(&self) -> &TokenKind {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    pub(super) fn span(&self) -> Span {
        self.peek().span
    }

    /// The span of the token before this one.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, TokenKind::Word(w) if w == word)
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek().kind, TokenKind::Sign(s) if s == sign)
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_sign(&mut self, sign: &'static str, context: &str) -> Parsed<Span> {
        if self.is_sign(sign) {
            return Ok(self.advance().span);
        }
        Err(self.unexpected(&format!("`{sign}` {context}")))
    }

    pub(super) fn expect_word(&mut self, word: &'static str, context: &str) -> Parsed<Span> {
        if self.is_word(word) {
            return Ok(self.advance().span);
        }
        Err(self.unexpected(&format!("`{word}` {context}")).maybe_help(self.slip([word])))
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Diagnostic {
        let found = self.peek().kind.shown();
        Diagnostic::new(self.span(), format!("expected {wanted}, found {found}"))
    }

    /// 'did you mean `return`?' for the word at hand.
    pub(super) fn slip<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
        match &self.peek().kind {
            TokenKind::Word(word) => did_you_mean(word, words),
            _ => None,
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        match &self.peek().kind {
            TokenKind::Word(word) if !KEYWORDS.contains(&word.as_str()) => {
                let text = word.clone();
                Ok(Name { text, span: self.advance().span })
            }
            TokenKind::Word(word) => {
                let message = format!("expected {what}, but `{word}` is a keyword");
                let help = format!("another name, such as `{word}_`, will do");
                Err(Diagnostic::new(self.span(), message).help(help))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Runs a part of the parser one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Parsed<T>) -> Parsed<T> {
        self.deeper()?;
        let result = parse(self);
        self.shallower(1);
        result
    }

    pub(super) fn deeper(&mut self) -> Parsed<()> {
        if self.depth >= DEEPEST {
            let message = format!("this is nested more than {DEEPEST} levels deep");
            return Err(Diagnostic::new(self.span(), message).help("split it into smaller parts"));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn shallower(&mut self, levels: u32) {
        self.depth -= levels;
    }

    // ---- declarations

    pub(super) fn model(&mut self) -> Parsed<Ast> {
        self.expect_word("object", "at the start of a model: `object Name(parameters)`")?;
        let name = self.name("the object's name")?;
        let mut ast = Ast {
            name,
            parameters: Vec::new(),
            types: Vec::new(),
            shared: Vec::new(),
            locals: Vec::new(),
            init: Vec::new(),
            procedures: Vec::new(),
            ops: Vec::new(),
            spec: SpecDecl::Written { state: Vec::new(), ops: Vec::new(), span: Span::default() },
            client: Client {
                span: Span::default(),
                roles: Vec::new(),
                ops: Ops::Each(Expr { kind: ExprKind::Int(1), span: Span::default() }),
                heap: None,
            },
            properties: Vec::new(),
        };
        if self.take_sign("(") {
            while !self.take_sign(")") {
                ast.parameters.push(self.parameter()?);
                self.separator(")")?;
            }
        }
        let (mut spec, mut client) = (None, None);
        while self.peek().kind != TokenKind::End {
            let at = self.span();
            if self.take_sign(";") {
            } else if let Some(ty) = self.type_declaration()? {
                ast.types.push(ty);
            } else if self.take_word("shared") {
                self.variables(&mut ast.shared)?;
            } else if self.take_word("local") {
                self.variables(&mut ast.locals)?;
            } else if self.take_word("init") {
                ast.init.extend(self.block()?);
            } else if self.take_word("op") {
                ast.ops.push(self.op(at)?);
            } else if self.take_word("procedure") {
                ast.procedures.push(self.op(at)?);
            } else if self.take_word("spec") {
                once(&mut spec, self.spec(at)?, at, "specification")?;
            } else if self.take_word("client") {
                once(&mut client, self.client(at)?, at, "client")?;
            } else if self.take_word("property") {
                ast.properties.push(self.property()?);
            } else {
                let wanted = "a declaration (`shared`, `op`, `spec`, `client`, ...)";
                return Err(self.unexpected(wanted).maybe_help(self.slip(ITEMS)));
            }
        }
        let end = self.span();
        let missing = |what: &str, help: &str| {
            Diagnostic::new(end, format!("the model has no {what}")).help(help)
        };
        if ast.ops.is_empty() {
            return Err(missing("operation", "add one: `op read() -> 0..3 { return X }`"));
        }
        ast.spec = spec.ok_or_else(|| {
            missing("specification", "write `spec { ... }`, or name one: `spec queue`")
        })?;
        ast.client =
            client.ok_or_else(|| missing("client", "add one: `client { procs 2; ops 1 }`"))?;
        Ok(ast)
    }

    pub(super) fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.name("a parameter's name")?;
        if !self.is_sign(":") {
            let help = format!("give its range and default: `{}: 1..8 = 3`", name.text);
            return Err(self.unexpected("`:` and the parameter's range").help(help));
        }
        self.advance();
        let low = self.sum()?;
        self.expect_sign("..", "and the largest value of the parameter")?;
        let high = self.sum()?;
        let default = match self.take_sign("=") {
            true => self.sum()?,
            false => low.clone(),
        };
        Ok(Parameter { name, low, high, default })
    }

    /// A comma, unless the list ends here.
    pub(super) fn separator(&mut self, close: &'static str) -> Parsed<()> {
        if self.is_sign(close) || self.take_sign(",") {
            return Ok(());
        }
        Err(self.unexpected(&format!("`,` or `{close}`")))
    }

    fn fields(&mut self) -> Parsed<(Name, Vec<Field>)> {
        let name = self.name("the type's name")?;
        self.expect_sign("{", "and the fields")?;
        let mut fields = Vec::new();
        while !self.take_sign("}") {
            let name = self.name("a field's name")?;
            self.expect_sign(":", "and the field's type")?;
            fields.push(Field { name, of: self.ty()? });
            while self.take_sign(";") || self.take_sign(",") {}
        }
        Ok((name, fields))
    }

    pub(super) fn variables(&mut self, into: &mut Vec<VarDecl>) -> Parsed<()> {
        loop {
            let name = self.name("a variable's name")?;
            if !self.is_sign(":") {
                let help = format!("say what it may hold: `{}: 0..3`", name.text);
                return Err(self.unexpected("`:` and the variable's type").help(help));
            }
            self.advance();
            let of = self.ty()?;
            let init = if self.take_sign("=") { Some(self.expr()?) } else { None };
            into.push(VarDecl { name, of, init });
            if !self.take_sign(",") {
                return Ok(());
            }
        }
    }

    pub(super) fn op(&mut self, at: Span) -> Parsed<Op> {
        let name = self.name("the operation's name")?;
        self.expect_sign("(", "and the operation's arguments")?;
        let mut args = Vec::new();
        while !self.take_sign(")") {
            let name = self.name("an argument's name")?;
            if !self.is_sign(":") {
                let help = format!("say which values it takes: `{}: 1..3`", name.text);
                return Err(self.unexpected("`:` and the argument's type").help(help));
            }
            self.advance();
            args.push(Field { name, of: self.ty()? });
            self.separator(")")?;
        }
        let result = if self.take_sign("->") { Some(self.ty()?) } else { None };
        let span = at.to(self.last_span());
        Ok(Op { name, args, result, body: self.block()?, span })
    }

    /// A type declaration, if there is one here.
    pub(super) fn type_declaration(&mut self) -> Parsed<Option<TypeDecl>> {
        Ok(Some(if self.take_word("type") {
            let name = self.name("the type's name")?;
            self.expect_sign("=", "and the type")?;
            TypeDecl::Alias { name, of: self.ty()? }
        } else if self.take_word("enum") {
            let name = self.name("the type's name")?;
            self.expect_sign("{", "and the cases")?;
            let mut cases = Vec::new();
            while !self.take_sign("}") {
                cases.push(self.name("a case")?);
                self.separator("}")?;
            }
            TypeDecl::Enum { name, cases }
        } else if self.take_word("record") {
            let (name, fields) = self.fields()?;
            TypeDecl::Record { name, fields }
        } else if self.take_word("node") {
            let (name, fields) = self.fields()?;
            TypeDecl::Node { name, fields }
        } else if self.take_word("data") {
            let name = self.name("the type's name")?;
            if !self.is_sign("(") {
                let help = format!("say how many values there are: `data {}(2)`", name.text);
                return Err(self.unexpected("`(` and the number of values").help(help));
            }
            self.advance();
            let count = self.sum()?;
            self.expect_sign(")", "after the number of values")?;
            TypeDecl::Data { name, count }
        } else {
            return Ok(None);
        }))
    }

    fn client(&mut self, at: Span) -> Parsed<Client> {
        let braced = self.take_sign("{");
        let mut client = Client {
            span: at,
            roles: Vec::new(),
            ops: Ops::Each(Expr { kind: ExprKind::Int(1), span: at }),
            heap: None,
        };
        loop {
            while self.take_sign(";") || self.take_sign(",") {}
            if self.take_word("procs") {
                let count = self.sum()?;
                let symmetric = !self.take_word("asymmetric");
                if symmetric {
                    self.take_word("symmetric");
                }
                client.roles.push(Role { name: None, count, ops: Vec::new(), symmetric });
            } else if self.take_word("role") {
                client.roles.push(self.role()?);
            } else if self.take_word("ops") {
                client.ops = match self.take_word("unbounded") {
                    true => Ops::Unbounded,
                    false => Ops::Each(self.sum()?),
                };
            } else if self.take_word("heap") {
                let size = self.sum()?;
                let recycle = self.take_word("recycle");
                let reuse = recycle || self.take_word("reuse");
                if !reuse {
                    let others = "or `reuse` or `recycle` after the size of the heap";
                    self.expect_word("gc", others)?;
                }
                client.heap = Some(Heap { size, reuse, recycle });
            } else if braced && !self.take_sign("}") {
                let wanted = "`procs`, `role`, `ops`, `heap` or `}`";
                let slip = self.slip(["procs", "role", "ops", "heap"]);
                return Err(self.unexpected(wanted).maybe_help(slip));
            } else {
                break;
            }
        }
        if client.roles.is_empty() {
            let message = "the client has no processes";
            return Err(Diagnostic::new(at, message).help("add `procs 2`"));
        }
        Ok(client)
    }

    /// `role reader procs - 1 { read() }`
    fn role(&mut self) -> Parsed<Role> {
        let name = Some(self.name("the role's name")?);
        let records = std::mem::replace(&mut self.records, false);
        let count = self.sum();
        self.records = records;
        let count = count?;
        let symmetric = !self.take_word("asymmetric");
        self.expect_sign("{", "and the operations of the role")?;
        let mut ops = Vec::new();
        while !self.take_sign("}") {
            let op = self.name("an operation's name")?;
            let mut args = Vec::new();
            if self.take_sign("(") {
                while !self.take_sign(")") {
                    args.push(if self.take_sign("_") { None } else { Some(self.expr()?) });
                    self.separator(")")?;
                }
            }
            ops.push(RoleOp { op, args });
            while self.take_sign(",") || self.take_sign(";") {}
        }
        if let (Some(name), true) = (&name, ops.is_empty()) {
            let message = format!("the role `{}` calls nothing", name.text);
            return Err(Diagnostic::new(name.span, message).help(
                "name its operations, or write `procs` for processes that may call everything",
            ));
        }
        Ok(Role { name, count, ops, symmetric })
    }

    fn property(&mut self) -> Parsed<Property> {
        let name = self.name("`deadlock_free`, `lock_free` or the property's name")?;
        if !self.is_sign(":") {
            return match name.text.as_str() {
                "deadlock_free" => Ok(Property::DeadlockFree),
                "lock_free" => Ok(Property::LockFree),
                _ => {
                    let message = format!("no property is called `{}`", name.text);
                    let near = nearest(&name.text, ["deadlock_free", "lock_free"]);
                    let help = near.map_or_else(
                        || "write `name: always (call op implies eventually return op)`".into(),
                        |near| format!("did you mean `{near}`?"),
                    );
                    Err(Diagnostic::new(name.span, message).help(help))
                }
            };
        }
        self.advance();
        self.expect_word("always", "(p implies eventually q)")?;
        self.expect_sign("(", "after `always`")?;
        let from = self.event()?;
        self.expect_word("implies", "eventually ...")?;
        self.expect_word("eventually", "and what must happen")?;
        let to = self.event()?;
        self.expect_sign(")", "at the end of the property")?;
        let weakly_fair = self.take_word("under");
        if weakly_fair {
            self.expect_word("weak", "fairness")?;
            self.expect_word("fairness", "after `weak`")?;
        }
        Ok(Property::Response { name, from, to, weakly_fair })
    }

    fn event(&mut self) -> Parsed<Event> {
        if self.take_word("call") {
            return Ok(Event::Call(self.name("an operation's name")?));
        }
        if self.take_word("return") {
            return Ok(Event::Return(self.name("an operation's name")?));
        }
        Ok(Event::Holds(self.expr()?))
    }
}

fn once<T>(slot: &mut Option<T>, value: T, at: Span, what: &str) -> Parsed<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Diagnostic::new(at, format!("the model has a second {what}"))),
    }
}
