//! Runs every console block of the README and of `docs` in a shell, in a folder that holds the
//! project's `examples` and `models`, and compares the output with the page, except for times.
//!
//! A line that begins with `$ ` is a command; it goes on while a here document is open. What
//! follows, up to the next command or the end of the block, is what it prints, errors too. Blocks
//! of a page share the folder, so that one can use what an earlier one wrote. With `UPDATE_EXPECT`
//! set the pages are written anew.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Folder;

const BLOCK: &str = "```console\n";

#[test]
fn the_pages_show_what_the_binary_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    pages_under(&root.join("docs"), &mut pages);
    let (mut commands, mut differences) = (0, String::new());
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        if !text.contains(BLOCK) {
            continue;
        }
        let folder = folder_with(&root, &["examples", "examples/specifications", "models"]);
        let mut written = String::new();
        for (i, part) in text.split(BLOCK).enumerate() {
            if i == 0 {
                written += part;
                continue;
            }
            let (block, rest) = part.split_once("```").expect("a block has an end");
            written += BLOCK;
            for (command, shown) in steps(block) {
                commands += 1;
                let mut printed = type_in(&folder, &command);
                if !printed.is_empty() && !printed.ends_with('\n') {
                    printed.push('\n');
                }
                let same = masked(&printed) == masked(&shown);
                if !same {
                    let name = page.file_name().unwrap().to_string_lossy().into_owned();
                    differences +=
                        &format!("{name}: $ {command}\n--- shown\n{shown}--- printed\n{printed}\n");
                }
                // A page that is written anew keeps its times where nothing else has changed.
                written += &format!("$ {command}\n{}", if same { &shown } else { &printed });
            }
            written += &format!("```{rest}");
        }
        if env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&page, written).unwrap();
        }
    }
    assert!(commands > 10, "only {commands} commands were found");
    if env::var_os("UPDATE_EXPECT").is_none() {
        assert!(differences.is_empty(), "{differences}");
    }
}

fn pages_under(folder: &Path, pages: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            pages_under(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// A folder with the files of these folders of the project; crates in them are left out.
fn folder_with(root: &Path, names: &[&str]) -> Folder {
    let mut folder = Folder::new();
    for name in names {
        for entry in fs::read_dir(root.join(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let file = path.file_name().unwrap().to_string_lossy().into_owned();
                folder = folder.with(&format!("{name}/{file}"), fs::read(&path).unwrap());
            }
        }
    }
    folder
}

/// The commands of a block, each with what it is shown to print.
fn steps(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut open: Option<String> = None;
    for line in block.lines() {
        if let Some(end) = &open {
            let (command, _) = steps.last_mut().expect("a document belongs to a command");
            *command += &format!("\n{line}");
            if line == end {
                open = None;
            }
        } else if let Some(command) = line.strip_prefix("$ ") {
            let document = command.split_once("<<'").and_then(|(_, end)| end.split_once('\''));
            open = document.map(|(end, _)| end.to_string());
            steps.push((command.to_string(), String::new()));
        } else {
            let (_, shown) = steps.last_mut().expect("a block begins with a command");
            *shown += &format!("{line}\n");
        }
    }
    steps
}

/// What a shell prints for a command, errors after the rest.
fn type_in(folder: &Folder, command: &str) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_trueline")).parent().unwrap().to_path_buf();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([binaries].into_iter().chain(env::split_paths(&path))).unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// Lines, with times and sizes in memory blotted out, and the states of quasi linearizability:
/// factors are tried at the same time, and how far the ones got that another made needless depends
/// on the machine.
fn masked(text: &str) -> Vec<String> {
    const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "min", "kB", "MB", "GB", "B"];
    let number =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines()
        .map(|line| {
            let mut words: Vec<String> = line.split(' ').map(str::to_string).collect();
            for i in 1..words.len() {
                let unit = words[i].trim_end_matches([',', ';', '.', ')']).to_string();
                if UNITS.contains(&unit.as_str()) && number(&words[i - 1]) {
                    words[i - 1] = "SOME".into();
                    words[i] = words[i].replacen(&unit, "TIME", 1);
                }
                if unit == "states" && line.contains(", quasi-") {
                    words[i - 1] = "SOME".into();
                }
            }
            words.join(" ")
        })
        .collect()
}

/// The map and the guides for developers name files and items by hand.
#[test]
fn the_guides_for_developers_name_what_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let mut paths = Vec::new();
    for folder in ["crates", "docs", "models", "examples", "xtask", "licenses"] {
        paths_under(&root.join(folder), &mut paths);
    }
    paths.push("README.md".into());
    paths.push("CONTRIBUTING.md".into());
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/first-day.md"] {
        let mut found = 0;
        for name in read(page).split('`').skip(1).step_by(2) {
            let is_path =
                name.ends_with('/') || [".rs", ".js", ".md"].iter().any(|e| name.ends_with(e));
            let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
            if !is_path || !is_plain || name == "flag.rs" || name.starts_with("..") {
                continue;
            }
            found += 1;
            let end = format!("/{}", name.trim_end_matches('/'));
            assert!(paths.iter().any(|path| format!("/{path}").ends_with(&end)), "{page}: {name}");
        }
        assert!(found > 4, "{page}: only {found} files");
    }
    // What the first day builds on.
    let page = read("docs/first-day.md");
    for (named, file, text) in [
        ("`SnziOp`", "crates/trueline/src/spec/snzi.rs", "pub enum SnziOp"),
        ("`order_insensitive`", "crates/trueline/src/spec/snzi.rs", "fn order_insensitive"),
        ("`vocabulary`", "crates/trueline/src/spec/snzi.rs", "fn vocabulary"),
        ("`sample`", "crates/trueline/src/spec/snzi.rs", "fn sample"),
        ("`BUILTIN`", "crates/trueline/src/spec/names.rs", "(snzi::SNZI, |p| Ok(Opaque::new(snzi("),
        (
            "laws(flag(), flag::FLAG, strict);",
            "crates/trueline/src/spec/laws.rs",
            "snzi::SNZI, strict);",
        ),
        (
            "visitor.visit(\"flag\"",
            "crates/trueline/tests/it/oracle/every_spec.rs",
            "visitor.visit(\"snzi\"",
        ),
        (
            "`same_total`",
            "crates/trueline/src/check/sentences/level.rs",
            "fn same_total(scene: &Scene",
        ),
        ("`drafts`", "crates/trueline/src/check/sentences/level.rs", "fn drafts(scene: &Scene)"),
        (
            "`level` of",
            "crates/trueline/tests/it/sentences/levels.rs",
            "fn level(&self, text: &str)",
        ),
    ] {
        assert!(page.contains(named), "the page does not name {named}");
        assert!(page.contains(file), "the page does not name {file}");
        assert!(read(file).contains(text), "{file} has no {text}");
    }
}

fn paths_under(folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == "target") {
            continue;
        }
        paths.push(path.to_string_lossy().replace('\\', "/"));
        if path.is_dir() {
            paths_under(&path, paths);
        }
    }
}
