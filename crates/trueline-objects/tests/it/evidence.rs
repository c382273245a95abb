//! The quick form of `cargo xtask evidence`: every object clean, every mutant found, within smaller
//! bounds.

#[path = "../../examples/evidence/gather.rs"]
mod gather;
#[path = "../../examples/evidence/plan.rs"]
mod plan;
#[path = "../../examples/evidence/table.rs"]
mod table;

use std::time::Duration;

#[test]
fn every_object_is_clean_and_every_mutant_is_found() {
    let mut evidence = gather::all(true, &[], &|line| println!("{line}"));
    assert_eq!(gather::wrong(&evidence), [""; 0]);
    let page = table::document(&evidence, true, Duration::ZERO);
    assert!(page.contains("every object clean"), "{page}");
    for object in &evidence {
        // Three faults at least stand beside each object that ships.
        let name = object.entry.name;
        assert!(object.mutants.len() >= 3 || !object.entry.ships(), "{name}");
        assert!(page.contains(&format!("### `{name}`\n")), "{page}");
    }
    // A mutant that nothing was found in, and an object that fails, are told.
    evidence[0].mutants[0].found = None;
    evidence[0].explored[0].holds = false;
    assert_eq!(gather::wrong(&evidence).len(), 2);
    assert!(table::document(&evidence, true, Duration::ZERO).contains("**not clean**"));
}
