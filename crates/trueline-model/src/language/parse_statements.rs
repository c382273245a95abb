//! The parser's part for statements.

use super::ast::{Block, Expr, ExprKind, Stmt, StmtKind};
use super::diagnostic::{Diagnostic, Span, nearest};
use super::lexer::TokenKind;
use super::parser::{KEYWORDS, Parsed, Parser};

impl Parser {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let records = std::mem::replace(&mut self.records, true);
        let result = self.nested(|parser| {
            parser.expect_sign("{", "to open a block")?;
            let mut block = Vec::new();
            while !parser.take_sign("}") {
                if parser.peek().kind == TokenKind::End {
                    return Err(parser.unexpected("`}` to close the block"));
                }
                if !parser.take_sign(";") {
                    parser.statement(&mut block)?;
                }
            }
            Ok(block)
        });
        self.records = records;
        result
    }

    fn condition(&mut self) -> Parsed<Expr> {
        let records = std::mem::replace(&mut self.records, false);
        let condition = self.expr();
        self.records = records;
        condition
    }

    fn if_rest(&mut self) -> Parsed<(Expr, Block, Block)> {
        let condition = self.condition()?;
        let then = self.block()?;
        let mut otherwise = Vec::new();
        if self.take_word("else") {
            let at = self.span();
            if self.take_word("if") {
                let (c, t, e) = self.nested(Parser::if_rest)?;
                let span = at.to(self.last_span());
                otherwise.push(Stmt { kind: StmtKind::If(c, t, e), span });
            } else {
                otherwise = self.block()?;
            }
        }
        Ok((condition, then, otherwise))
    }

    /// Most statements are one; `return v @lin` is two.
    fn statement(&mut self, into: &mut Block) -> Parsed<()> {
        let at = self.span();
        let word = match &self.peek().kind {
            TokenKind::Word(word) => word.clone(),
            _ => String::new(),
        };
        let kind = match word.as_str() {
            "local" => {
                self.advance();
                let mut variables = Vec::new();
                self.variables(&mut variables)?;
                StmtKind::Local(variables)
            }
            "if" => {
                self.advance();
                let (condition, then, otherwise) = self.if_rest()?;
                StmtKind::If(condition, then, otherwise)
            }
            "atomic" => {
                self.advance();
                let here = self.span();
                if self.take_word("if") {
                    let (condition, then, otherwise) = self.if_rest()?;
                    let kind = StmtKind::If(condition, then, otherwise);
                    let span = here.to(self.last_span());
                    StmtKind::Atomic(vec![Stmt { kind, span }])
                } else {
                    StmtKind::Atomic(self.block()?)
                }
            }
            "while" => {
                self.advance();
                StmtKind::While(self.condition()?, self.block()?)
            }
            "loop" => {
                self.advance();
                StmtKind::Loop(self.block()?)
            }
            "for" => {
                self.advance();
                let name = self.name("the loop's variable")?;
                self.expect_word("in", "and the range: `for i in 0..3`")?;
                if self.take_word("pid") {
                    let ordered = self.take_word("ordered");
                    let kind = StmtKind::ForEach { name, ordered, body: self.block()? };
                    into.push(Stmt { kind, span: at.to(self.last_span()) });
                    return Ok(());
                }
                let records = std::mem::replace(&mut self.records, false);
                let low = self.sum()?;
                self.expect_sign("..", "and the last value")?;
                let high = self.sum()?;
                self.records = records;
                StmtKind::For(name, low, high, self.block()?)
            }
            "break" | "continue" | "skip" => {
                self.advance();
                match word.as_str() {
                    "break" => StmtKind::Break,
                    "continue" => StmtKind::Continue,
                    _ => StmtKind::Skip,
                }
            }
            "return" => {
                self.advance();
                let ends = self.peek().starts_line
                    || ["}", ";", "@"].iter().any(|sign| self.is_sign(sign));
                let value = if ends { None } else { Some(self.expr()?) };
                if let Some(span) = self.lin_mark(true)? {
                    into.push(Stmt { kind: StmtKind::Lin, span });
                }
                into.push(Stmt { kind: StmtKind::Return(value), span: at.to(self.last_span()) });
                return Ok(());
            }
            "await" | "assert" => {
                self.advance();
                let condition = self.expr()?;
                match word.as_str() {
                    "await" => StmtKind::Await(condition),
                    _ => StmtKind::Assert(condition),
                }
            }
            "lock" | "unlock" | "free" => {
                self.advance();
                self.expect_sign("(", &format!("after `{word}`"))?;
                let what = self.expr()?;
                self.expect_sign(")", &format!("after the argument of `{word}`"))?;
                match word.as_str() {
                    "lock" => StmtKind::Lock(what),
                    "unlock" => StmtKind::Unlock(what),
                    _ => StmtKind::Free(what),
                }
            }
            "either" => {
                self.advance();
                let mut branches = vec![self.block()?];
                while self.take_word("or") {
                    branches.push(self.block()?);
                }
                StmtKind::Either(branches)
            }
            "when" => {
                self.advance();
                let (condition, then, otherwise) = self.if_rest()?;
                StmtKind::When(condition, then, otherwise)
            }
            _ if self.is_sign("@") => {
                self.lin_mark(false)?;
                StmtKind::Lin
            }
            _ => return self.assignment_or_call(at, into),
        };
        into.push(Stmt { kind, span: at.to(self.last_span()) });
        Ok(())
    }

    fn assignment_or_call(&mut self, at: Span, into: &mut Block) -> Parsed<()> {
        let first = self.span();
        // Two words in a row are never a statement: the first is a misspelt keyword.
        if let (TokenKind::Word(word), TokenKind::Word(_) | TokenKind::Sign("{")) =
            (&self.peek().kind, self.peek_second())
        {
            let second_on_line = !self.tokens[self.at + 1].starts_line;
            let near = nearest(word, KEYWORDS);
            if second_on_line && let Some(near) = near {
                let message = format!("`{word}` begins no statement");
                return Err(Diagnostic::new(first, message).help(format!("did you mean `{near}`?")));
            }
        }
        let target = self.expr().map_err(|error| {
            let at_start = error.span() == first;
            if at_start { self.unexpected_statement(error) } else { error }
        })?;
        let kind = if self.take_sign("=") {
            StmtKind::Assign(target, self.expr()?)
        } else if self.is_sign("+=") || self.is_sign("-=") {
            let help = "write `fetch_add(x, 1)` for one access, `x = x + 1` for a read and a write";
            return Err(Diagnostic::new(self.span(), "there is no such assignment").help(help));
        } else if matches!(
            target.kind,
            ExprKind::Call(..) | ExprKind::Method(..) | ExprKind::Lin(_) | ExprKind::New(..)
        ) {
            StmtKind::Expr(target)
        } else {
            return Err(match self.is_sign("==") {
                _ if matches!(target.kind, ExprKind::Binary(..)) => {
                    Diagnostic::new(target.span, "this value is not used")
                        .help("an assignment is written with one `=`")
                }
                _ => self.unexpected("`=` and a value"),
            });
        };
        into.push(Stmt { kind, span: at.to(self.last_span()) });
        if let Some(span) = self.lin_mark(true)? {
            into.push(Stmt { kind: StmtKind::Lin, span });
        }
        Ok(())
    }

    fn unexpected_statement(&self, error: Diagnostic) -> Diagnostic {
        match self.tokens.iter().find(|token| token.span == error.span()) {
            Some(token) if error.message().starts_with("expected an expression") => {
                let found = token.kind.shown();
                Diagnostic::new(error.span(), format!("expected a statement, found {found}"))
            }
            _ => error,
        }
    }

    /// `@lin`; as a suffix it stands on the same line.
    pub(super) fn lin_mark(&mut self, suffix: bool) -> Parsed<Option<Span>> {
        if !self.is_sign("@") || (suffix && self.peek().starts_line) {
            return Ok(None);
        }
        let at = self.advance().span;
        let end = self.expect_word("lin", "after `@`")?;
        Ok(Some(at.to(end)))
    }
}
