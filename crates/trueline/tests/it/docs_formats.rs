//! The page about formats tells the truth: its blocks are histories in the formats that they are
//! labelled with.

use std::path::Path;

use trueline::formats::{Format, ReadOptions, read};

#[test]
fn blocks_of_the_page_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut seen = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let (label, input) = block.split_once('\n').unwrap();
        let format: Format =
            if label == "jsonl" { Format::JsonLines } else { label.parse().unwrap() };
        match read(input.as_bytes(), &ReadOptions::default()) {
            Ok((history, detected)) => {
                assert_eq!(detected, format, "{input}");
                assert!(!history.is_empty());
            }
            Err(error) => panic!("{error} in\n{input}"),
        }
        seen.push(format);
    }
    for format in Format::ALL {
        assert!(seen.contains(format), "{format} has no example");
        assert!(page.contains(&format!("\n## {format}\n")), "{format} has no section");
    }
}
