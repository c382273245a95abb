//! Whether everything that is linked may be: each dependency has a licence that asks for no more
//! than to be named.
//!
//! Read from `cargo tree`, which knows all of them, those of other platforms and of tests included.

use std::collections::BTreeSet;
use std::process::Command;

/// Licences that do not reach beyond the code that has them.
const ALLOWED: [&str; 9] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Prints what is not allowed; true if nothing is.
pub(crate) fn check() -> bool {
    println!("> licences of all dependencies");
    let tree = Command::new("cargo")
        .args([
            "tree",
            "--workspace",
            "--all-features",
            "--target",
            "all",
            "--edges",
            "normal,build,dev",
        ])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{l}\t{p}"])
        .output();
    let Some(tree) = tree.ok().filter(|tree| tree.status.success()) else {
        println!("  cargo tree failed");
        return false;
    };
    let text = String::from_utf8_lossy(&tree.stdout);
    let packages: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let refused: Vec<&str> = packages.iter().copied().filter(|line| !is_allowed(line)).collect();
    refused.iter().for_each(|line| println!("  not allowed: {line}"));
    println!("  {} packages", packages.len());
    refused.is_empty() && !packages.is_empty()
}

/// Whether a line of the tree begins with a licence, or a choice of licences, that is allowed.
fn is_allowed(line: &str) -> bool {
    let licence = line.split('\t').next().unwrap_or_default();
    let alternatives = |all: &str| {
        let all = all.trim_matches(['(', ')']).replace('/', " OR ");
        all.split(" OR ").any(|one| ALLOWED.contains(&one.trim()))
    };
    licence.split(" AND ").all(alternatives)
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn one_of_several_is_enough_and_all_of_some_are_needed() {
        assert!(is_allowed("MIT OR Apache-2.0\tone v1.0.0"));
        assert!(is_allowed("GPL-3.0/MIT\ttwo v1.0.0"));
        assert!(is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0\tthree v1.0.0"));
        assert!(!is_allowed("MIT AND GPL-3.0\tfour v1.0.0"));
        assert!(!is_allowed("\tfive v1.0.0 has none"));
    }
}
