//! The example that the README points to does what it says: it asserts its own verdicts.

#[path = "../../examples/user_spec.rs"]
mod user_spec;

#[test]
fn a_specification_of_ones_own() {
    user_spec::main();
}
