//! What the values of written specifications are held against: see [`super::specification`].
//!
//! Ranges may be put where ranges are expected that they only overlap, so a value can be outside of
//! the type of the place that it goes to. Where the types alone do not exclude that, the compiler
//! leaves a [`Shape`] at the place, against which the value is held when the operation is run.

use super::spec_run::Data;
use super::types::{Ty, Types};

/// The numbers that the parts of a value may be.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A part that is no number, or whose type says all.
    Any,
    Number(i32, i32),
    /// All items of a sequence, a set or an array.
    Items(Box<Shape>),
    Fields(Vec<Shape>),
    Map(Box<Shape>, Box<Shape>),
}

impl Shape {
    pub(super) fn of(types: &Types, ty: &Ty) -> Shape {
        match ty {
            Ty::Seq(of) | Ty::Set(of) | Ty::Array { of, .. } => {
                Shape::Items(Box::new(Shape::of(types, of)))
            }
            Ty::Map(key, value) => {
                Shape::Map(Box::new(Shape::of(types, key)), Box::new(Shape::of(types, value)))
            }
            Ty::Record(record) => {
                let fields = types.records[*record].fields.iter();
                Shape::Fields(fields.map(|(_, ty)| Shape::of(types, ty)).collect())
            }
            ty => domain(types, ty).map_or(Shape::Any, |(lo, hi)| Shape::Number(lo, hi)),
        }
    }

    /// The first number of the value that it must not be, with what it must be.
    pub(super) fn outside(&self, data: &Data) -> Option<(i32, (i32, i32))> {
        match (self, data) {
            (Shape::Number(lo, hi), Data::Int(number)) if !(lo..=hi).contains(&number) => {
                Some((*number, (*lo, *hi)))
            }
            (Shape::Items(of), Data::List(items)) => items.iter().find_map(|i| of.outside(i)),
            (Shape::Items(of), Data::Set(items)) => items.iter().find_map(|i| of.outside(i)),
            (Shape::Fields(fields), Data::List(items)) => {
                fields.iter().zip(items).find_map(|(shape, item)| shape.outside(item))
            }
            (Shape::Map(key, value), Data::Map(items)) => {
                items.iter().find_map(|(k, v)| key.outside(k).or_else(|| value.outside(v)))
            }
            _ => None,
        }
    }
}

/// The numbers of a scalar type, the one of `none` among them.
pub(super) fn domain(types: &Types, ty: &Ty) -> Option<(i32, i32)> {
    match ty {
        Ty::Int { lo, hi } => Some((*lo, *hi)),
        Ty::Optional(_) | Ty::Pid | Ty::Bool | Ty::Enum(_) | Ty::Data(_) => {
            let scalar = types.scalar(ty);
            Some((scalar.lo, scalar.hi))
        }
        _ => None,
    }
}

/// Whether every value of one type is one of the other's.
pub(super) fn is_within(types: &Types, value: &Ty, target: &Ty) -> bool {
    match (value, target) {
        (Ty::Nothing, _) => true,
        (Ty::Seq(a), Ty::Seq(_) | Ty::Set(_) | Ty::Map(..)) if **a == Ty::Nothing => true,
        (Ty::Seq(a), Ty::Seq(b))
        | (Ty::Set(a), Ty::Set(b))
        | (Ty::Array { of: a, .. }, Ty::Array { of: b, .. }) => is_within(types, a, b),
        (Ty::Map(a, c), Ty::Map(b, d)) => is_within(types, a, b) && is_within(types, c, d),
        _ if value == target => true,
        _ => match (domain(types, value), domain(types, target)) {
            (Some((lo, hi)), Some((least, most))) => lo >= least && hi <= most,
            _ => false,
        },
    }
}
