//! Procedures, and loops over all processes.

use super::steps::{Entry, Loop};
use super::value::Value;
use super::walk::{Flow, Rules, Walk, Walked, fault};
use crate::language::ast::{Block, Expr};
use crate::language::types::Ty;

impl Walk<'_> {
    /// Walks a procedure. Its variables come behind those of the caller, which it does not see. What
    /// it returns is written down, as the caller forgets how it came about.
    pub(super) fn procedure(&mut self, name: &str, args: &[Expr], at: u32) -> Walked<Value> {
        let Rules { ast, types, .. } = self.rules;
        let Some(op) = ast.procedures.iter().find(|p| p.name.text == name) else {
            return fault(format!("no function is called {name}"));
        };
        let mut given = Vec::new();
        for (field, arg) in op.args.iter().zip(args) {
            let Ok(ty) = types.resolve(&field.of) else { return fault("no type") };
            let value = self.value(arg)?;
            self.admit(&ty, &value, &field.name.text)?;
            given.push((field.name.text.clone(), ty, value));
        }
        let visible = std::mem::replace(&mut self.visible, self.scope.len());
        let (mark, site) = (self.mark, self.site);
        self.suspended.push((mark, self.at));
        // Loops are others in another call.
        self.site = site.wrapping_mul(1_000_003).wrapping_add(u64::from(at) + 1);
        self.begins = false;
        self.scope.extend(given);
        let flow = self.block(&op.body)?;
        self.scope.truncate(self.visible);
        self.visible = visible;
        self.site = site;
        self.suspended.pop();
        self.mark = mark;
        let Some(result) = &op.result else { return Ok(Value::Nothing) };
        let value = match flow {
            Flow::Return(value) => value,
            _ => return fault(format!("{name} returns nothing")),
        };
        let Ok(ty) = types.resolve(result) else { return fault("no type") };
        self.admit(&ty, &value, name)?;
        match self.log.get(self.at) {
            Some(Entry::Gave(_)) => {}
            Some(Entry::Paused(_)) => return fault("a loop is where a result was"),
            None => self.log.push(Entry::Gave(value.clone())),
        }
        self.at += 1;
        self.heads = 0;
        Ok(value)
    }

    /// Visits each process once: in the order of their numbers, or in any.
    pub(super) fn each_process(
        &mut self,
        name: &str,
        ordered: bool,
        body: &Block,
        loops: &Loop,
    ) -> Walked<Flow> {
        let mut left: Vec<usize> = (0..self.rules.types.processes).collect();
        let outside = self.scope.len();
        let list =
            |left: &[usize]| Value::List(left.iter().map(|process| Value::Pid(*process)).collect());
        self.scope.push((format!("{}..", name), Ty::Pid, list(&left)));
        self.scope.push((name.to_string(), Ty::Pid, Value::Nothing));
        let mut rounds = 0;
        let flow = loop {
            self.head(loops, &mut rounds)?;
            if left.is_empty() {
                break Flow::Next;
            }
            let number = match ordered {
                true => 0,
                false => {
                    let count = left.len();
                    let number = |walk: &mut Self| Ok(Value::Int(walk.choice(count) as i64));
                    let Value::Int(number) = self.once(false, false, number)? else {
                        return fault("no process");
                    };
                    number as usize
                }
            };
            self.scope[outside + 1].2 = Value::Pid(left.remove(number));
            self.scope[outside].2 = list(&left);
            match self.block(body)? {
                Flow::Break => break Flow::Next,
                Flow::Next | Flow::Continue => {}
                flow @ Flow::Return(_) => break flow,
            }
        };
        self.scope.truncate(outside);
        Ok(flow)
    }
}
