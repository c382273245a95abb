//! Formulas about the atoms of a solver, simplified as they are built.

use batsat::Lit;

/// A formula about atoms.
#[derive(Clone, Debug)]
pub(super) enum Node {
    True,
    False,
    Literal(Lit),
    And(Vec<Node>),
    Or(Vec<Node>),
}

impl From<bool> for Node {
    fn from(holds: bool) -> Node {
        if holds { Node::True } else { Node::False }
    }
}

impl Node {
    /// The negation of an atom.
    pub(super) fn negated(self) -> Node {
        match self {
            Node::True => Node::False,
            Node::False => Node::True,
            Node::Literal(literal) => Node::Literal(!literal),
            Node::And(nodes) => any(nodes.into_iter().map(Node::negated).collect()),
            Node::Or(nodes) => all(nodes.into_iter().map(Node::negated).collect()),
        }
    }
}

pub(super) fn all(nodes: Vec<Node>) -> Node {
    join(nodes, true)
}

pub(super) fn any(nodes: Vec<Node>) -> Node {
    join(nodes, false)
}

/// A conjunction or disjunction, without neutral elements.
fn join(nodes: Vec<Node>, is_and: bool) -> Node {
    let mut left = Vec::with_capacity(nodes.len());
    for node in nodes {
        match (node, is_and) {
            (Node::True, true) | (Node::False, false) => {}
            (Node::False, true) => return Node::False,
            (Node::True, false) => return Node::True,
            (node, _) => left.push(node),
        }
    }
    match left.pop() {
        None => is_and.into(),
        Some(only) if left.is_empty() => only,
        Some(last) => {
            left.push(last);
            if is_and { Node::And(left) } else { Node::Or(left) }
        }
    }
}
