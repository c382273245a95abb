//! The expressions of a step, and the places to which it writes.

use crate::program::{Binary, Unary};

use super::code::{Cell, Code, FieldCell, Slot, Target, To};
use super::scratch::Scratch;
use super::step::{Machine, Stop, fault};
use super::verify::Fault;

impl Machine {
    pub(super) fn write(&self, target: &Target, value: i32, s: &mut Scratch) -> Result<(), Stop> {
        if value < target.lo || value > target.hi {
            return Err(outside(&target.name, value));
        }
        let slot = match &target.to {
            To::Slot(Slot::Private(offset)) => s.block + offset,
            To::Slot(Slot::Shared(slot)) => {
                self.writes(*slot, s);
                *slot
            }
            To::Cell(cell) => {
                let (slot, shared) = self.cell(cell, s)?;
                if shared {
                    self.writes(slot, s);
                }
                slot
            }
            To::Field(node, pointer, field) => {
                let slot = self.field(*node, pointer, *field, s)?;
                self.writes(slot, s);
                slot
            }
            To::FieldCell(cell) => {
                let slot = self.field_cell(cell, s)?;
                self.writes(slot, s);
                slot
            }
        };
        if s.made_in_setup.is_none() && self.constants.holds(slot) && s.frame[slot] != value {
            return Err(Stop::Changed(slot as u32));
        }
        s.frame[slot] = value;
        Ok(())
    }

    fn field(
        &self,
        node: usize,
        pointer: &Code,
        field: usize,
        s: &mut Scratch,
    ) -> Result<usize, Stop> {
        let pointer = self.eval(pointer, s)?;
        if pointer <= 0 {
            let node = &self.program.nodes[node];
            let field = &node.fields[field].name;
            return Err(fault(format!("{field} of null")));
        }
        let pool = &self.layout.pools[node];
        if pool.guarded {
            let allocated = pool.slot(pointer, pool.fields);
            s.note_read(allocated);
            if s.frame[allocated] == 0 {
                let name = &self.program.nodes[node].fields[field].name;
                return Err(fault(format!("{name} of a node that was freed")));
            }
        }
        Ok(pool.slot(pointer, field))
    }

    fn field_cell(&self, cell: &FieldCell, s: &mut Scratch) -> Result<usize, Stop> {
        let offset = self.offset(&cell.indices, s)?;
        self.field(cell.node, &cell.pointer, cell.first + offset, s)
    }

    /// The number of a cell.
    fn offset(&self, indices: &[(Code, usize)], s: &mut Scratch) -> Result<usize, Stop> {
        let mut offset = 0;
        for (index, length) in indices {
            let index = self.eval(index, s)?;
            if index < 0 || index as usize >= *length {
                let message = format!("index {index} in an array of {length}");
                return Err(fault(message));
            }
            offset = offset * length + index as usize;
        }
        Ok(offset)
    }

    fn cell(&self, cell: &Cell, s: &mut Scratch) -> Result<(usize, bool), Stop> {
        let offset = self.offset(&cell.indices, s)?;
        Ok(match cell.base {
            Slot::Private(base) => (s.block + base + offset, false),
            Slot::Shared(base) => (base + offset, true),
        })
    }

    pub(super) fn eval(&self, code: &Code, s: &mut Scratch) -> Result<i32, Stop> {
        Ok(match code {
            Code::Const(value) => *value,
            Code::Me => s.process as i32,
            Code::Slot(Slot::Private(offset)) => s.frame[s.block + offset],
            Code::Slot(Slot::Shared(slot)) => {
                self.reads(*slot, s);
                s.frame[*slot]
            }
            Code::Cell(cell) => {
                let (slot, shared) = self.cell(cell, s)?;
                if shared {
                    self.reads(slot, s);
                }
                s.frame[slot]
            }
            Code::Field(node, pointer, field) => {
                let slot = self.field(*node, pointer, *field, s)?;
                self.reads(slot, s);
                s.frame[slot]
            }
            Code::FieldCell(cell) => {
                let slot = self.field_cell(cell, s)?;
                self.reads(slot, s);
                s.frame[slot]
            }
            Code::Unary(Unary::Not, a) => i32::from(self.eval(a, s)? == 0),
            Code::Unary(Unary::Minus, a) => self.eval(a, s)?.wrapping_neg(),
            Code::Unary(Unary::Number(none), a) => match self.eval(a, s)? {
                number if number == *none => return Err(outside("an optional type", number)),
                number => number,
            },
            Code::Binary(Binary::And, a, b) => {
                i32::from(self.eval(a, s)? != 0 && self.eval(b, s)? != 0)
            }
            Code::Binary(Binary::Or, a, b) => {
                i32::from(self.eval(a, s)? != 0 || self.eval(b, s)? != 0)
            }
            Code::Binary(op, a, b) => {
                let (a, b) = (self.eval(a, s)?, self.eval(b, s)?);
                binary(*op, a, b)?
            }
            Code::If(test, yes, no) => {
                let branch = if self.eval(test, s)? != 0 { yes } else { no };
                self.eval(branch, s)?
            }
        })
    }
}

fn binary(op: Binary, a: i32, b: i32) -> Result<i32, Stop> {
    Ok(match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div | Binary::Rem if b == 0 => {
            return Err(fault("division by zero"));
        }
        Binary::Div => a.wrapping_div_euclid(b),
        Binary::Rem => a.wrapping_rem_euclid(b),
        Binary::Eq => i32::from(a == b),
        Binary::Ne => i32::from(a != b),
        Binary::Lt => i32::from(a < b),
        Binary::Le => i32::from(a <= b),
        Binary::Gt => i32::from(a > b),
        Binary::Ge => i32::from(a >= b),
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::And | Binary::Or => unreachable!("evaluated by need"),
    })
}

pub(super) fn outside(name: &str, value: i32) -> Stop {
    let message = format!("{value} is outside of the range of {name}");
    Stop::Fault(Box::new(Fault { message, leaves_range: true }))
}
