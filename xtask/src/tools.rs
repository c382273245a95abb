//! Programs that tests start, and the Debian packages that have them. A slim container lacks some.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

/// A program that tests start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    program: &'static str,
    package: &'static str,
    /// The tests that are left out without it.
    pub(crate) tests: &'static [&'static str],
}

const TOOLS: [Tool; 3] = [
    Tool {
        program: "sed",
        package: "sed",
        tests: &["pages::the_pages_show_what_the_binary_prints"],
    },
    Tool {
        program: "chromium",
        package: "chromium",
        tests: &[
            "page::the_page_of_each_way_in_can_be_used",
            "page::lanes_are_hidden_and_moved_and_objects_are_chosen",
            "page::everything_can_be_done_with_keys",
            "page::dark_print_still_and_as_a_drawing",
            "page::several_reports_make_a_folder_with_an_index",
            "page::the_pages_of_a_corpus_are_linked_from_a_table",
            "page::contents::both_orders_of_a_quasi_linearizable_history_are_shown",
            "page::contents::the_cells_and_scans_of_a_snapshot_are_shown",
            "page::contents::a_part_of_a_long_history_is_shown_with_a_strip_of_all",
            "page::hostile::markup_stays_text",
            "page::hostile::characters_that_do_not_show_are_spelled_out",
            "page::hostile::values_of_a_megabyte_are_cut",
            "page::hostile::a_hundred_thousand_processes_are_shown_in_part",
        ],
    },
    Tool {
        program: "kill",
        package: "procps",
        tests: &[
            "monitor::a_file_that_grows_is_followed_until_an_interrupt",
            "verify::a_signal_ends_in_unknown_with_a_checkpoint",
        ],
    },
];

/// The tools that are missing. In CI, and as root, they are installed first.
pub(crate) fn missing(in_ci: bool) -> Vec<&'static Tool> {
    let path = env::var_os("PATH").unwrap_or_default();
    let missing = absent(&TOOLS, &path);
    if missing.is_empty() || !in_ci || !is_root() {
        return missing;
    }
    let [update, install] = commands(&missing);
    for command in [update, install] {
        println!("> {}", command.join(" "));
        // Whether it helped is seen below.
        let _ = Command::new(&command[0]).args(&command[1..]).status();
    }
    absent(&TOOLS, &path)
}

/// What was left out, and the command that installs what it needs.
pub(crate) fn tell_skipped(missing: &[&Tool]) {
    for tool in missing {
        println!("skipped, because there is no {}: {}", tool.program, tool.tests.join(", "));
    }
    if !missing.is_empty() {
        let [_, install] = commands(missing);
        println!("to run them too: {}", install.join(" "));
    }
}

fn absent<'a>(tools: &'a [Tool], path: &OsStr) -> Vec<&'a Tool> {
    let is_there =
        |program: &str| env::split_paths(path).any(|folder| folder.join(program).is_file());
    tools.iter().filter(|tool| !is_there(tool.program)).collect()
}

/// The commands that install the packages of these tools.
fn commands(tools: &[&Tool]) -> [Vec<String>; 2] {
    let install = ["apt-get", "install", "--yes", "--no-install-recommends"];
    let install = install.into_iter().chain(tools.iter().map(|tool| tool.package));
    [["apt-get", "update"].map(String::from).to_vec(), install.map(String::from).collect()]
}

/// Whether this process may install packages.
fn is_root() -> bool {
    let asked = Command::new("id").arg("-u").output();
    asked.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn what_is_on_the_path_is_there() {
        let nowhere = OsStr::new("");
        assert_eq!(absent(&TOOLS, nowhere).len(), TOOLS.len());
        // The folder of this file has no program, but a file to take for one.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let present = Tool { program: "tools.rs", package: "some", tests: &[] };
        assert_eq!(absent(&[present], folder.as_os_str()), [] as [&Tool; 0]);
    }

    #[test]
    fn one_command_installs_all() {
        let all: Vec<&Tool> = TOOLS.iter().collect();
        let [_, install] = commands(&all);
        assert_eq!(
            install.join(" "),
            "apt-get install --yes --no-install-recommends sed chromium procps"
        );
    }

    /// A test that has another name by now would not be left out.
    #[test]
    fn tests_that_need_a_tool_exist() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/trueline-cli/tests/it");
        for test in TOOLS.iter().flat_map(|tool| tool.tests) {
            let (module, name) = test.rsplit_once("::").expect("a test in a module");
            let module = folder.join(module.replace("::", "/"));
            let source = fs::read_to_string(module.with_extension("rs"))
                .or_else(|_| fs::read_to_string(module.join("mod.rs")))
                .unwrap();
            assert!(source.contains(&format!("fn {name}()")), "{test}");
        }
    }
}
