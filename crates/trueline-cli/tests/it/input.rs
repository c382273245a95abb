//! Input that is packed, slow or hidden.

use std::io::Read;
use std::process::Stdio;

use crate::common::{Folder, command};
use expect_test::expect;

const HISTORY: &str =
    "{\"process\":0,\"call\":\"write\",\"args\":[1]}\n{\"process\":0,\"return\":null}\n";

/// A zstd frame that holds the content as it is.
fn frame(content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length], &block[..3], content].concat()
}

#[test]
fn frames_of_zstd_that_are_to_be_skipped_are_skipped() {
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let (first, second) = HISTORY.as_bytes().split_at(20);
    let whole =
        [&skipped, &frame(first), &skipped, &frame(second), &skipped].map(|p| &p[..]).concat();
    let cut = &whole[..whole.len() - 1];
    let f = Folder::new().with("whole", &whole).with("cut", cut).with("head", &whole[..15]);
    assert_eq!(f.run("check -q whole --spec register").code, 0);
    f.run("check cut --spec register").complains(expect![[r#"
        cut:3:1: reading failed here: the zstd data ends too early
    "#]]);
    f.run("check head --spec register").complains(expect![[r#"
        head:1:1: reading failed here: the zstd data ends too early
    "#]]);
}

#[test]
fn a_silent_pipe_does_not_outlast_the_timeout() {
    let mut child = command("check -q - --spec register --timeout 200ms")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open for longer than the command: it ends by itself, or this test does not.
    let silent = child.stdin.take();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    drop(silent);
    assert!(said.starts_with("unknown: -: the time limit of 200 ms is reached"), "{said}");
}

#[test]
fn a_long_line_does_not_hide_from_the_memory_limit() {
    let line =
        format!("{{\"process\":0,\"call\":\"write\",\"args\":[[{}1]]}}\n", "1,".repeat(4_000_000));
    let f = Folder::new().with("h", line);
    assert_eq!(f.run("check -q h --spec register --memory 50M").code, 3);
}

#[test]
fn blanks_before_the_operations_are_not_taken_for_an_empty_file() {
    let text = format!("{}{HISTORY}", "\n".repeat(70_000));
    let f = Folder::new().with("h", text);
    f.run("check h --spec register").complains(expect![[r#"
        h: found only blanks and comments in the first 64 KiB: expected operations there, or the name of the format
    "#]]);
    assert_eq!(f.run("check h --spec register --format json-lines").code, 0);
}

#[test]
fn methods_can_swap_their_names() {
    let text = HISTORY.replace("write", "read")
        + "{\"process\":0,\"call\":\"write\"}\n{\"process\":0,\"return\":1}\n";
    let f = Folder::new().with("h", text);
    assert_eq!(f.run("check -q h --spec register --rename read=write,write=read").code, 0);
}
