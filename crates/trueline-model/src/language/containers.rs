//! The containers of written specifications: the ways to their parts, and their methods.

use super::spec_run::{Data, Method};

/// A container with more items than this is as good as endless.
pub(super) const LONGEST: usize = 1 << 20;

/// The part of a value that a path leads to. Assigning to a new key of a map makes it.
pub(super) fn part<'d>(data: &'d mut Data, path: &[Data], assign: bool) -> Option<&'d mut Data> {
    let Some((step, rest)) = path.split_first() else { return Some(data) };
    match data {
        Data::List(items) => {
            let Data::Int(index) = step else { return None };
            part(items.get_mut(usize::try_from(*index).ok()?)?, rest, assign)
        }
        Data::Map(items) => {
            if assign && rest.is_empty() {
                return Some(items.entry(step.clone()).or_insert(Data::Int(0)));
            }
            part(items.get_mut(step)?, rest, assign)
        }
        Data::Int(_) | Data::Any(_) | Data::Set(_) => None,
    }
}

/// Whether the method may add an item to a container that is as large as one may be.
pub(super) fn is_full(method: Method, target: &Data) -> bool {
    let adds = matches!(method, Method::PushBack | Method::PushFront | Method::Insert);
    adds && match target {
        Data::List(items) => items.len() >= LONGEST,
        Data::Set(items) => items.len() >= LONGEST,
        Data::Map(items) => items.len() >= LONGEST,
        Data::Int(_) | Data::Any(_) => false,
    }
}

pub(super) fn too_long(container: &Data) -> String {
    let what = match container {
        Data::Set(_) => "set",
        Data::Map(_) => "map",
        _ => "sequence",
    };
    format!("a {what} has more than {LONGEST} items")
}

pub(super) fn call(method: Method, target: &mut Data, mut args: Vec<Data>) -> Option<Data> {
    let nothing = Data::List(Vec::new());
    let truth = |b: bool| Some(Data::Int(i32::from(b)));
    let len = match target {
        Data::List(items) => items.len(),
        Data::Set(items) => items.len(),
        Data::Map(items) => items.len(),
        Data::Int(_) | Data::Any(_) => return None,
    };
    match method {
        Method::Len => return Some(Data::Int(len as i32)),
        Method::IsEmpty => return truth(len == 0),
        _ => {}
    }
    let first = if args.is_empty() { nothing.clone() } else { args.remove(0) };
    match (target, method) {
        (Data::List(items), Method::PushBack) => {
            items.push(first);
            Some(nothing)
        }
        (Data::List(items), Method::PushFront) => {
            items.insert(0, first);
            Some(nothing)
        }
        (Data::List(items), Method::PopBack) => items.pop(),
        (Data::List(items), Method::PopFront) => {
            if items.is_empty() {
                None
            } else {
                Some(items.remove(0))
            }
        }
        (Data::List(items), Method::Back) => items.last().cloned(),
        (Data::List(items), Method::Front) => items.first().cloned(),
        (Data::List(items), Method::Contains) => truth(items.contains(&first)),
        (Data::List(items), Method::Remove) => match items.iter().position(|i| *i == first) {
            Some(at) => {
                items.remove(at);
                truth(true)
            }
            None => truth(false),
        },
        (Data::Set(items), Method::Insert) => truth(items.insert(first)),
        (Data::Set(items), Method::Remove) => truth(items.remove(&first)),
        (Data::Set(items), Method::Contains) => truth(items.contains(&first)),
        (Data::Map(items), Method::Insert) => {
            items.insert(first, args.pop()?);
            Some(nothing)
        }
        (Data::Map(items), Method::Remove) => truth(items.remove(&first).is_some()),
        (Data::Map(items), Method::Contains) => truth(items.contains_key(&first)),
        (Data::Map(items), Method::Get) => items.get(&first).cloned(),
        _ => None,
    }
}
