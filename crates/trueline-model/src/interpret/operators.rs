//! Operators, built-in functions and methods, on structured values.

use super::value::Value;
use super::walk::{Place, Root, Stop, Walk, Walked, cells, fault, same};
use crate::language::ast::{BinaryOp, Expr};

impl Walk<'_> {
    pub(super) fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Walked<Value> {
        match op {
            BinaryOp::And => {
                return Ok(Value::Bool(self.truth(left)? && self.truth(right)?));
            }
            BinaryOp::Or => return Ok(Value::Bool(self.truth(left)? || self.truth(right)?)),
            _ => {}
        }
        let (a, b) = (self.value(left)?, self.value(right)?);
        let number = |n: Option<i64>| match n {
            Some(n) => Ok(Value::Int(n)),
            None => fault("division by zero"),
        };
        Ok(match (op, a, b) {
            (BinaryOp::Equal, a, b) => Value::Bool(same(&a, &b)),
            (BinaryOp::Different, a, b) => Value::Bool(!same(&a, &b)),
            (BinaryOp::Add, Value::Int(a), Value::Int(b)) => Value::Int(a + b),
            (BinaryOp::Sub, Value::Int(a), Value::Int(b)) => Value::Int(a - b),
            (BinaryOp::Mul, Value::Int(a), Value::Int(b)) => Value::Int(a * b),
            (BinaryOp::Div, Value::Int(a), Value::Int(b)) => number(a.checked_div_euclid(b))?,
            (BinaryOp::Rem, Value::Int(a), Value::Int(b)) => number(a.checked_rem_euclid(b))?,
            (BinaryOp::Less, Value::Int(a), Value::Int(b)) => Value::Bool(a < b),
            (BinaryOp::LessEqual, Value::Int(a), Value::Int(b)) => Value::Bool(a <= b),
            (BinaryOp::Greater, Value::Int(a), Value::Int(b)) => Value::Bool(a > b),
            (BinaryOp::GreaterEqual, Value::Int(a), Value::Int(b)) => Value::Bool(a >= b),
            (BinaryOp::Concat, Value::List(mut a), Value::List(b)) => {
                a.extend(b);
                Value::List(a)
            }
            (BinaryOp::In, a, Value::List(items)) => Value::Bool(items.contains(&a)),
            (BinaryOp::In, a, Value::Set(items)) => Value::Bool(items.contains(&a)),
            (BinaryOp::In, a, Value::Map(items)) => Value::Bool(items.contains_key(&a)),
            (_, a, b) => return fault(format!("no operation on {a:?} and {b:?}")),
        })
    }

    pub(super) fn call(&mut self, name: &str, args: &[Expr], at: u32) -> Walked<Value> {
        match name {
            "min" => Ok(Value::Int(self.number(&args[0])?.min(self.number(&args[1])?))),
            "max" => Ok(Value::Int(self.number(&args[0])?.max(self.number(&args[1])?))),
            "number" => match self.value(&args[0])? {
                Value::Pid(process) => Ok(Value::Int(process as i64)),
                _ => Ok(Value::Int(-1)),
            },
            "choose" => {
                let (low, high) = (self.number(&args[0])?, self.number(&args[1])?);
                if low > high {
                    return match self.sequential {
                        true => Err(Stop::Blocked),
                        false => fault(format!("there is no number from {low} to {high}")),
                    };
                }
                let arity = (high - low + 1) as usize;
                if self.sequential {
                    return Ok(Value::Int(low + self.choice(arity) as i64));
                }
                self.once(false, false, |walk| Ok(Value::Int(low + walk.choice(arity) as i64)))
            }
            "cas" => {
                let place = self.place(&args[0])?;
                let old = self.value(&args[1])?;
                let new = self.value(&args[2])?;
                self.access(|walk| {
                    walk.require_live(&place)?;
                    let found = walk.see(&place)?.clone();
                    let equal = same(&found, &old);
                    walk.note("cas", &place, &found);
                    walk.mark_success(equal);
                    if equal {
                        walk.put(&place, new)?;
                    }
                    Ok(Value::Bool(equal))
                })
            }
            "swap" | "fetch_add" => {
                let place = self.place(&args[0])?;
                let operand = self.value(&args[1])?;
                self.access(|walk| {
                    walk.require_live(&place)?;
                    let old = walk.see(&place)?.clone();
                    let kind = if name == "swap" { "swap" } else { "fetch_add" };
                    walk.note(kind, &place, &old);
                    let new = match (name, &old, operand) {
                        ("fetch_add", Value::Int(old), Value::Int(by)) => Value::Int(old + by),
                        (_, _, operand) => operand,
                    };
                    walk.put(&place, new)?;
                    Ok(old)
                })
            }
            "ll" | "sc" | "vl" => {
                let place = self.place(&args[0])?;
                let Root::Shared(at) = place.root else { return fault("not a shared variable") };
                let link = (self.world.shared[at].0.clone(), cells(&place.path), self.process);
                let new = if name == "sc" { Some(self.value(&args[1])?) } else { None };
                self.access(|walk| {
                    let linked = walk.world.links.contains(&link);
                    let found = walk.see(&place)?.clone();
                    let kind = ["ll", "sc", "vl"].into_iter().find(|kind| *kind == name);
                    walk.note(kind.unwrap_or("reads"), &place, &found);
                    if name != "ll" {
                        walk.mark_success(linked);
                    }
                    match (name, new) {
                        ("ll", _) => {
                            if !linked {
                                walk.world.links.push(link);
                            }
                            walk.see(&place).cloned()
                        }
                        ("sc", Some(new)) if linked => {
                            walk.put(&place, new)?;
                            Ok(Value::Bool(true))
                        }
                        ("sc", _) => Ok(Value::Bool(false)),
                        _ => Ok(Value::Bool(linked)),
                    }
                })
            }
            _ => self.procedure(name, args, at),
        }
    }

    /// Containers of specifications.
    pub(super) fn method(
        &mut self,
        place: &Place,
        name: &str,
        mut args: Vec<Value>,
    ) -> Walked<Value> {
        let mut value = self.see(place)?.clone();
        let arg = if args.is_empty() { Value::Nothing } else { args.remove(0) };
        let result = match (&mut value, name) {
            (Value::List(items), "push_back") => {
                items.push(arg);
                Value::Nothing
            }
            (Value::List(items), "push_front") => {
                items.insert(0, arg);
                Value::Nothing
            }
            (Value::List(items), "pop_back") => items.pop().ok_or(Stop::Blocked)?,
            (Value::List(items), "pop_front") => {
                if items.is_empty() {
                    return Err(Stop::Blocked);
                }
                items.remove(0)
            }
            (Value::List(items), "front") => items.first().cloned().ok_or(Stop::Blocked)?,
            (Value::List(items), "back") => items.last().cloned().ok_or(Stop::Blocked)?,
            (Value::List(items), "len") => Value::Int(items.len() as i64),
            (Value::List(items), "is_empty") => Value::Bool(items.is_empty()),
            (Value::List(items), "contains") => Value::Bool(items.contains(&arg)),
            (Value::List(items), "remove") => {
                let at = items.iter().position(|item| *item == arg);
                if let Some(at) = at {
                    items.remove(at);
                }
                Value::Bool(at.is_some())
            }
            (Value::Set(items), "insert") => Value::Bool(items.insert(arg)),
            (Value::Set(items), "remove") => Value::Bool(items.remove(&arg)),
            (Value::Set(items), "contains") => Value::Bool(items.contains(&arg)),
            (Value::Set(items), "len") => Value::Int(items.len() as i64),
            (Value::Set(items), "is_empty") => Value::Bool(items.is_empty()),
            (Value::Map(items), "insert") => {
                items.insert(arg, args.pop().unwrap_or(Value::Nothing));
                Value::Nothing
            }
            (Value::Map(items), "remove") => Value::Bool(items.remove(&arg).is_some()),
            (Value::Map(items), "contains") => Value::Bool(items.contains_key(&arg)),
            (Value::Map(items), "get") => items.get(&arg).cloned().ok_or(Stop::Blocked)?,
            (Value::Map(items), "len") => Value::Int(items.len() as i64),
            (Value::Map(items), "is_empty") => Value::Bool(items.is_empty()),
            _ => return fault(format!("no method is called {name}")),
        };
        self.put(place, value)?;
        Ok(result)
    }
}
