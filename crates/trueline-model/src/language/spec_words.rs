//! Values of specifications as words, as text, and with processes renamed.

use super::spec_run::Data;
use super::types::{Ty, Types};
use crate::program::renamed;

/// Values as words: numbers as they are, containers with their length in front.
pub(super) fn encode(data: &Data, out: &mut Vec<i32>) {
    match data {
        Data::Int(number) => out.push(*number),
        // Only specifications for histories have it, and their states are not words.
        Data::Any(_) => {}
        Data::List(items) => {
            out.push(items.len() as i32);
            items.iter().for_each(|item| encode(item, out));
        }
        Data::Set(items) => {
            out.push(items.len() as i32);
            items.iter().for_each(|item| encode(item, out));
        }
        Data::Map(items) => {
            out.push(items.len() as i32);
            for (key, value) in items {
                encode(key, out);
                encode(value, out);
            }
        }
    }
}

pub(super) fn decode(types: &Types, ty: &Ty, words: &mut &[i32]) -> Data {
    let mut take = || {
        let first = words.first().copied().unwrap_or(0);
        *words = words.get(1..).unwrap_or(&[]);
        first
    };
    match ty {
        Ty::Seq(of) | Ty::Array { of, .. } => {
            let len = take();
            Data::List((0..len).map(|_| decode(types, of, words)).collect())
        }
        Ty::Set(of) => {
            let len = take();
            Data::Set((0..len).map(|_| decode(types, of, words)).collect())
        }
        Ty::Map(key, value) => {
            let len = take();
            let pair =
                |words: &mut &[i32]| (decode(types, key, words), decode(types, value, words));
            Data::Map((0..len).map(|_| pair(words)).collect())
        }
        Ty::Record(record) => {
            take();
            let fields = &types.records[*record].fields;
            Data::List(fields.iter().map(|(_, ty)| decode(types, ty, words)).collect())
        }
        _ => Data::Int(take()),
    }
}

pub(super) fn show(types: &Types, ty: &Ty, data: &Data) -> String {
    let list =
        |items: Vec<String>, open: &str, close: &str| format!("{open}{}{close}", items.join(" "));
    match (ty, data) {
        (Ty::Record(record), Data::List(items)) => {
            let fields = &types.records[*record].fields;
            let parts = fields
                .iter()
                .zip(items)
                .map(|((name, ty), item)| format!("{name}: {}", show(types, ty, item)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        (Ty::Seq(of) | Ty::Array { of, .. }, Data::List(items)) => {
            list(items.iter().map(|item| show(types, of, item)).collect(), "[", "]")
        }
        (Ty::Set(of), Data::Set(items)) => {
            list(items.iter().map(|item| show(types, of, item)).collect(), "{", "}")
        }
        (Ty::Map(key, value), Data::Map(items)) => {
            let pairs = items
                .iter()
                .map(|(k, v)| format!("{}: {}", show(types, key, k), show(types, value, v)));
            list(pairs.collect(), "{", "}")
        }
        (_, Data::Int(number)) => types.scalar_shown(ty, *number),
        (_, Data::Any(value)) => value.to_string(),
        _ => String::new(),
    }
}

pub(super) fn rename(types: &Types, ty: &Ty, data: Data, to: &[u8]) -> Data {
    match (ty, data) {
        (Ty::Pid, Data::Int(process)) => {
            let renamed = usize::try_from(process).ok().and_then(|p| to.get(p));
            Data::Int(renamed.map_or(process, |p| i32::from(*p)))
        }
        (Ty::Data(at), Data::Int(value)) => {
            Data::Int(renamed(types.processes + types.data[*at].first, value, to))
        }
        (Ty::Optional(of), data) => rename(types, of, data, to),
        (Ty::Array { of, by_process: true, .. }, Data::List(items)) => {
            let mut out = items.clone();
            for (process, item) in items.into_iter().enumerate() {
                out[usize::from(to[process])] = rename(types, of, item, to);
            }
            Data::List(out)
        }
        (Ty::Seq(of) | Ty::Array { of, .. }, Data::List(items)) => {
            Data::List(items.into_iter().map(|item| rename(types, of, item, to)).collect())
        }
        (Ty::Record(record), Data::List(items)) => {
            let fields = &types.records[*record].fields;
            let parts = fields.iter().zip(items);
            Data::List(parts.map(|((_, ty), item)| rename(types, ty, item, to)).collect())
        }
        (Ty::Set(of), Data::Set(items)) => {
            Data::Set(items.into_iter().map(|item| rename(types, of, item, to)).collect())
        }
        (Ty::Map(key, value), Data::Map(items)) => Data::Map(
            (items.into_iter())
                .map(|(k, v)| (rename(types, key, k, to), rename(types, value, v, to)))
                .collect(),
        ),
        (_, data) => data,
    }
}

pub(super) fn encode_all(data: &[Data]) -> Box<[i32]> {
    let mut out = Vec::new();
    data.iter().for_each(|d| encode(d, &mut out));
    out.into()
}

/// A result as the program represents it: one word per scalar.
pub(super) fn flatten(types: &Types, ty: &Ty, data: &Data) -> Vec<i32> {
    match (ty, data) {
        (Ty::Record(record), Data::List(items)) => {
            let fields = &types.records[*record].fields;
            fields.iter().zip(items).flat_map(|((_, ty), item)| flatten(types, ty, item)).collect()
        }
        (_, Data::Int(number)) => vec![*number],
        _ => Vec::new(),
    }
}
