//! Which operations of written specifications never change the state, so that an explanation may
//! leave them out. What cannot be excluded by looking at the statements counts as a change.

use super::spec_run::{Method, Step, Tree};

/// Whether the steps can change one of the first so many variables, which are the state.
pub(super) fn changes(steps: &[Step], state: usize) -> bool {
    steps.iter().any(|step| match step {
        Step::Set(place, tree) => {
            let index = place.path.iter().any(|tree| tree_changes(tree, state));
            place.slot < state || index || tree_changes(tree, state)
        }
        Step::Eval(tree) | Step::Await(tree) => tree_changes(tree, state),
        Step::If(tree, yes, no) => {
            tree_changes(tree, state) || changes(yes, state) || changes(no, state)
        }
        Step::While(tree, body, _) => tree_changes(tree, state) || changes(body, state),
        Step::Either(branches) => branches.iter().any(|branch| changes(branch, state)),
        Step::Return(tree) => tree.as_ref().is_some_and(|tree| tree_changes(tree, state)),
        Step::Break | Step::Continue => false,
    })
}

fn tree_changes(tree: &Tree, state: usize) -> bool {
    let any = |trees: &[Tree]| trees.iter().any(|tree| tree_changes(tree, state));
    match tree {
        Tree::Const(_) | Tree::Me => false,
        Tree::Read(place) => any(&place.path),
        Tree::Not(a) | Tree::Negate(a) | Tree::Within(a, _) => tree_changes(a, state),
        Tree::Binary(_, a, b) | Tree::Min(a, b) | Tree::Max(a, b) | Tree::Choose(a, b) => {
            tree_changes(a, state) || tree_changes(b, state)
        }
        Tree::If(a, b, c) => [a, b, c].into_iter().any(|tree| tree_changes(tree, state)),
        Tree::List(items) => any(items),
        Tree::Method(method, place, args) => {
            let reads = matches!(
                method,
                Method::Back
                    | Method::Front
                    | Method::Len
                    | Method::IsEmpty
                    | Method::Contains
                    | Method::Get
            );
            !reads && place.slot < state || any(&place.path) || any(args)
        }
    }
}
