//! The parser's part for types and expressions, loosest binding first: `? :`, `||`, `&&`,
//! comparisons, `++`, `+ -`, `* / %`, unary, postfix.

use super::ast::{BinaryOp, Expr, ExprKind, Name, Type, TypeKind};
use super::diagnostic::{Diagnostic, Span};
use super::lexer::TokenKind;
use super::parser::{KEYWORDS, Parsed, Parser};

impl Parser {
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        let at = self.span();
        // After the type of a result a block begins, not a record.
        let records = std::mem::replace(&mut self.records, false);
        let kind = self.nested(Parser::bare_type);
        self.records = records;
        let kind = kind?;
        let mut ty = Type { kind, span: at.to(self.last_span()) };
        if self.take_sign("?") {
            let span = at.to(self.last_span());
            ty = Type { kind: TypeKind::Optional(Box::new(ty)), span };
        }
        if self.is_sign("?") {
            return Err(Diagnostic::new(self.span(), "this is optional already").help("drop it"));
        }
        Ok(ty)
    }

    fn bare_type(&mut self) -> Parsed<TypeKind> {
        for word in ["int", "nat"] {
            if self.is_word(word) {
                let message = format!("`{word}` is an unbounded domain");
                let help = "every variable holds one of finitely many values: \
                            give a range, such as `0..3`";
                return Err(Diagnostic::new(self.span(), message).help(help));
            }
        }
        if self.take_word("bool") {
            return Ok(TypeKind::Bool);
        }
        if self.take_word("pid") {
            return Ok(TypeKind::Pid);
        }
        if self.take_word("lock") {
            return Ok(TypeKind::Lock);
        }
        if self.take_sign("[") {
            let of = self.ty()?;
            self.expect_sign(";", "and the array's length")?;
            let kind = match self.take_word("pid") {
                true => TypeKind::PerProcess(Box::new(of)),
                false => TypeKind::Array(Box::new(of), Box::new(self.sum()?)),
            };
            self.expect_sign("]", "after the array's length")?;
            return Ok(kind);
        }
        for word in ["seq", "set"] {
            if self.take_word(word) {
                self.expect_sign("<", "and the type of the items")?;
                let of = Box::new(self.ty()?);
                self.expect_sign(">", "after the type of the items")?;
                return Ok(if word == "seq" { TypeKind::Seq(of) } else { TypeKind::Set(of) });
            }
        }
        if self.take_word("map") {
            self.expect_sign("<", "and the type of the keys")?;
            let key = Box::new(self.ty()?);
            self.expect_sign(",", "and the type of the values")?;
            let value = Box::new(self.ty()?);
            self.expect_sign(">", "after the type of the values")?;
            return Ok(TypeKind::Map(key, value));
        }
        let low = self.sum()?;
        if self.take_sign("..") {
            return Ok(TypeKind::Range(Box::new(low), Box::new(self.sum()?)));
        }
        match low.kind {
            ExprKind::Name(name) => Ok(TypeKind::Named(name)),
            _ => Err(Diagnostic::new(low.span, "this is not a type")
                .help("a range has two ends: `0..3`")),
        }
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|parser| {
            let condition = parser.or()?;
            if !parser.is_sign("?") {
                return Ok(condition);
            }
            parser.advance();
            let yes = parser.expr()?;
            parser.expect_sign(":", "and the value otherwise")?;
            let no = parser.expr()?;
            let span = condition.span.to(no.span);
            let kind = ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no));
            Ok(Expr { kind, span })
        })
    }

    fn left_associative(
        &mut self,
        operators: &[(&str, BinaryOp)],
        operand: fn(&mut Parser) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let mut left = operand(self)?;
        // The tree of a chain is as deep as the chain is long.
        let mut links = 0;
        while let Some((_, op)) = operators.iter().find(|(sign, _)| self.is_sign(sign)) {
            links += 1;
            self.deeper()?;
            self.advance();
            let right = operand(self)?;
            left = binary(*op, left, right);
        }
        self.shallower(links);
        Ok(left)
    }

    fn or(&mut self) -> Parsed<Expr> {
        self.left_associative(&[("||", BinaryOp::Or)], Parser::and)
    }

    fn and(&mut self) -> Parsed<Expr> {
        self.left_associative(&[("&&", BinaryOp::And)], Parser::comparison)
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        const SIGNS: [(&str, BinaryOp); 6] = [
            ("==", BinaryOp::Equal),
            ("!=", BinaryOp::Different),
            ("<=", BinaryOp::LessEqual),
            (">=", BinaryOp::GreaterEqual),
            ("<", BinaryOp::Less),
            (">", BinaryOp::Greater),
        ];
        let left = self.concatenation()?;
        let found = SIGNS.iter().find(|(sign, _)| self.is_sign(sign));
        let op = match found {
            Some((_, op)) => *op,
            None if self.is_word("in") => BinaryOp::In,
            None => return Ok(left),
        };
        self.advance();
        let right = self.concatenation()?;
        if SIGNS.iter().any(|(sign, _)| self.is_sign(sign)) {
            let message = "comparisons cannot be chained";
            return Err(Diagnostic::new(self.span(), message).help("join two with `&&`"));
        }
        Ok(binary(op, left, right))
    }

    fn concatenation(&mut self) -> Parsed<Expr> {
        self.left_associative(&[("++", BinaryOp::Concat)], Parser::sum)
    }

    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        self.left_associative(&[("+", BinaryOp::Add), ("-", BinaryOp::Sub)], Parser::product)
    }

    fn product(&mut self) -> Parsed<Expr> {
        let operators = [("*", BinaryOp::Mul), ("/", BinaryOp::Div), ("%", BinaryOp::Rem)];
        self.left_associative(&operators, Parser::unary)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let at = self.span();
        for sign in ["!", "-"] {
            if self.take_sign(sign) {
                let operand = Box::new(self.nested(Parser::unary)?);
                let span = at.to(operand.span);
                let kind = match sign {
                    "!" => ExprKind::Not(operand),
                    _ => ExprKind::Negate(operand),
                };
                return Ok(Expr { kind, span });
            }
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        let mut links = 0;
        loop {
            let at = expr.span;
            let kind = if self.take_sign(".") {
                let name = match &self.peek().kind {
                    TokenKind::Word(text) => {
                        let text = text.clone();
                        Name { text, span: self.advance().span }
                    }
                    _ => return Err(self.unexpected("a field's name after `.`")),
                };
                if self.is_sign("(") {
                    ExprKind::Method(Box::new(expr), name, self.arguments()?)
                } else {
                    ExprKind::Field(Box::new(expr), name)
                }
            } else if self.is_sign("[") && !self.peek().starts_line {
                self.advance();
                let index = self.expr()?;
                self.expect_sign("]", "after the index")?;
                ExprKind::Index(Box::new(expr), Box::new(index))
            } else {
                self.shallower(links);
                return Ok(expr);
            };
            links += 1;
            self.deeper()?;
            expr = Expr { kind, span: at.to(self.last_span()) };
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect_sign("(", "and the arguments")?;
        let records = std::mem::replace(&mut self.records, true);
        let mut arguments = Vec::new();
        while !self.take_sign(")") {
            arguments.push(self.expr()?);
            self.separator(")")?;
        }
        self.records = records;
        Ok(arguments)
    }

    fn field_values(&mut self) -> Parsed<Vec<(Name, Expr)>> {
        self.expect_sign("{", "and the fields")?;
        let records = std::mem::replace(&mut self.records, true);
        let mut fields = Vec::new();
        while !self.take_sign("}") {
            let name = self.name("a field's name")?;
            self.expect_sign(":", "and the field's value")?;
            fields.push((name, self.expr()?));
            self.separator("}")?;
        }
        self.records = records;
        Ok(fields)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let at = self.span();
        let kind = match self.peek().kind.clone() {
            TokenKind::Number(number) => {
                self.advance();
                ExprKind::Int(number)
            }
            TokenKind::Sign("(") => {
                self.advance();
                let records = std::mem::replace(&mut self.records, true);
                let inner = self.expr()?;
                self.records = records;
                self.expect_sign(")", "to close the parenthesis")?;
                inner.kind
            }
            TokenKind::Sign("[") => {
                self.advance();
                self.list()?
            }
            TokenKind::Word(word) => match constant(&word) {
                Some(kind) => {
                    self.advance();
                    kind
                }
                None if word == "new" => {
                    self.advance();
                    let name = self.name("the node's type")?;
                    ExprKind::New(name, self.field_values()?)
                }
                None if KEYWORDS.contains(&word.as_str()) => {
                    return Err(self.unexpected("an expression"));
                }
                None => return self.named(at, word),
            },
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { kind, span: at.to(self.last_span()) })
    }

    fn named(&mut self, at: Span, text: String) -> Parsed<Expr> {
        self.advance();
        let name = Name { text, span: at };
        if self.is_sign("(") && !self.peek().starts_line {
            // Only an operation with a boolean result can be a conditional linearization point.
            let conditional = matches!(name.text.as_str(), "cas" | "sc");
            let kind = ExprKind::Call(name, self.arguments()?);
            let call = Expr { kind, span: at.to(self.last_span()) };
            if conditional && self.lin_mark(true)?.is_some() {
                let span = at.to(self.last_span());
                return Ok(Expr { kind: ExprKind::Lin(Box::new(call)), span });
            }
            return Ok(call);
        }
        let kind = if self.records && self.is_sign("{") && !self.peek().starts_line {
            ExprKind::Record(name, self.field_values()?)
        } else {
            ExprKind::Name(name.text)
        };
        Ok(Expr { kind, span: at.to(self.last_span()) })
    }

    /// After `[`.
    fn list(&mut self) -> Parsed<ExprKind> {
        let records = std::mem::replace(&mut self.records, true);
        let mut items = Vec::new();
        while !self.take_sign("]") {
            items.push(self.expr()?);
            if items.len() == 1 && self.take_sign(";") {
                let count = self.sum()?;
                self.expect_sign("]", "after the number of items")?;
                self.records = records;
                let item = items.remove(0);
                return Ok(ExprKind::Repeat(Box::new(item), Box::new(count)));
            }
            self.separator("]")?;
        }
        self.records = records;
        Ok(ExprKind::List(items))
    }
}

fn constant(word: &str) -> Option<ExprKind> {
    Some(match word {
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        "null" => ExprKind::Null,
        "none" => ExprKind::None,
        "me" => ExprKind::Me,
        _ => return None,
    })
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
