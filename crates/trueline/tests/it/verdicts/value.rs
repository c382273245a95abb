//! The oracle's own values: what a text means, without any code of trueline's.
//!
//! Numbers are whole thousandths, so that their order is that of `i128`; each is written in one of
//! several ways.

use trueline::rng::Rng;

/// A value. The derived order is the documented one: nil, truth values, numbers by size, texts,
/// lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum V {
    Nil,
    Bool(bool),
    /// In thousandths.
    Num(i128),
    Text(String),
    List(Vec<V>),
}

impl V {
    pub(crate) fn int(n: i64) -> V {
        V::Num(i128::from(n) * 1000)
    }

    pub(crate) fn text(text: &str) -> V {
        V::Text(text.to_string())
    }

    /// The whole number that it is.
    pub(crate) fn whole(&self) -> Option<i128> {
        match self {
            V::Num(n) if n % 1000 == 0 => Some(n / 1000),
            _ => None,
        }
    }
}

/// Numbers and what looks like them, with both ends of 64 bits and what is beyond; truth values,
/// and lists of them all.
pub(crate) fn pool() -> Vec<V> {
    let whole = |n: i128| V::Num(n * 1000);
    vec![
        whole(-(1 << 64)),
        whole(i128::from(i64::MIN) - 1),
        whole(i128::from(i64::MIN)),
        V::Num(-10_500),
        V::Num(-9_500),
        whole(-2),
        whole(-1),
        V::Num(-250),
        whole(0),
        V::Num(1),
        V::Num(500),
        whole(1),
        V::Num(1_500),
        whole(2),
        whole(9),
        V::Num(9_500),
        whole(10),
        V::Num(10_500),
        whole(100),
        whole(i128::from(i64::MAX)),
        V::Num(i128::from(i64::MAX) * 1000 + 500),
        whole(1 << 63),
        whole((1 << 64) - 1),
        whole(1 << 70),
        V::text("1.5"),
        V::text("10"),
        V::text("a"),
        V::text("nil"),
        V::text("empty"),
        V::text("a b"),
        V::text(""),
        V::text(":k"),
        V::text("x,(y)*\"\\"),
        V::Bool(false),
        V::Bool(true),
        V::List(vec![]),
        V::List(vec![whole(1)]),
        V::List(vec![whole(1), V::Num(1_500)]),
        V::List(vec![V::text("1"), V::List(vec![V::Nil])]),
    ]
}

/// A number as one may write it: `9.5`, `9.50`, `95e-1`.
fn spell_number(n: i128, fancy: bool, random: &mut Rng) -> String {
    let sign = if n < 0 { "-" } else { "" };
    let (whole, rest) = (n.unsigned_abs() / 1000, n.unsigned_abs() % 1000);
    let fraction = format!("{rest:03}");
    let fraction = fraction.trim_end_matches('0');
    match (random.below(6), rest) {
        (0, 0) if fancy => format!("{sign}{whole}.0"),
        (0, _) if fancy => format!("{sign}{whole}.{fraction}0"),
        (1, _) if fancy => format!("{sign}{}e-3", n.unsigned_abs()),
        (_, 0) => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    }
}

/// How a format writes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Json,
    Edn,
    /// `calls` and Wing and Gong's notation.
    Word,
}

pub(crate) fn spell(value: &V, style: Style, random: &mut Rng) -> String {
    match value {
        V::Nil if style == Style::Json => "null".into(),
        V::Nil => "nil".into(),
        V::Bool(b) => b.to_string(),
        V::Num(n) => {
            let number = spell_number(*n, true, random);
            match random.below(8) {
                0 if style == Style::Edn && !number.contains(['.', 'e']) => number + "N",
                0 if style == Style::Edn => number + "M",
                _ => number,
            }
        }
        V::Text(text) => format!("{text:?}"),
        V::List(items) => {
            let items: Vec<String> = items.iter().map(|v| spell(v, style, random)).collect();
            format!("[{}]", items.join(if style == Style::Json { "," } else { " " }))
        }
    }
}

/// A value as a parameter of a specification: one spelling will do.
pub(crate) fn parameter(value: &V) -> String {
    match value {
        V::Nil => "nil".into(),
        V::Bool(b) => b.to_string(),
        V::Num(n) => spell_number(*n, false, &mut Rng::new(0)),
        V::Text(text) => format!("{text:?}"),
        V::List(items) => {
            let items: Vec<String> = items.iter().map(parameter).collect();
            format!("[{}]", items.join(" "))
        }
    }
}
