//! Bad input: exit code 2 and one line that names file, line, column, what was found and what was
//! expected.

use crate::common::{Folder, example};
use expect_test::{Expect, expect};

const HEAD: &str = "{\"schema\":\"trueline-history/1\",\"spec\":\"queue\"}\n";

/// Checks a file called `h` with this content.
#[track_caller]
fn complains(content: impl AsRef<[u8]>, flags: &str, expect: Expect) {
    Folder::new().with("h", content).run(&format!("check h {flags}")).complains(expect);
}

#[test]
fn unknown_format() {
    complains(
        "It was a dark and stormy night.\n",
        "--spec queue",
        expect![[r#"
        h: found no format that fits: expected one of json-lines, edn, edn-kv, jepsen-log, calls, limo, intervals, intervals-pid, snapshot-actions, wing-gong
    "#]],
    );
}

#[test]
fn truncated_file() {
    let text =
        format!("{HEAD}{{\"process\":0,\"call\":\"enq\",\"args\":[1]}}\n{{\"process\":0,\"ret");
    complains(
        text,
        "",
        expect![[r#"
        h:3:14: found `"ret`: expected a closing quote
    "#]],
    );
    complains(
        "{:process 0, :type :invoke, :f :write, :value [1",
        "--spec register",
        expect![[r#"
        h:1:49: found the end of the input: expected a value or `]`
    "#]],
    );
}

#[test]
fn invalid_utf8() {
    let mut text = HEAD.as_bytes().to_vec();
    text.extend(b"{\"process\":0,\"call\":\"e\xff\"}\n");
    complains(
        text,
        "",
        expect![[r#"
        h:2:23: found the byte 0xff, which is not UTF-8: expected text
    "#]],
    );
}

#[test]
fn a_return_without_a_call() {
    complains(
        format!("{HEAD}{{\"process\":3,\"return\":1}}\n"),
        "",
        expect![[r#"
        h:2:1: process 3 returns without an open call: expected a call first
    "#]],
    );
}

#[test]
fn two_calls_of_one_process() {
    let call = "{\"process\":0,\"call\":\"deq\"}\n";
    complains(
        format!("{HEAD}{call}{call}"),
        "",
        expect![[r#"
        h:3:1: process 0 calls deq while its call of deq in line 2 is still open: expected its return first
    "#]],
    );
}

#[test]
fn a_value_where_a_number_is_needed() {
    let text =
        "{\"process\":0,\"call\":\"add\",\"args\":[\"many\"]}\n{\"process\":0,\"return\":null}\n";
    complains(
        text,
        "--spec counter",
        expect![[r#"
        h:1:1: add: expected a number, found a text: many, for the specification counter
    "#]],
    );
    complains(
        "# queue\n0 1 x ENQ 10\n",
        "--spec queue --format intervals-pid",
        expect![[r#"
        h:2:5: found `x`: expected a number
    "#]],
    );
}

#[test]
fn nesting_100_000_deep() {
    let deep = "[".repeat(100_000);
    complains(
        format!("{HEAD}{{\"process\":0,\"call\":\"enq\",\"args\":{deep}"),
        "",
        expect![[r#"
        h:2:97: found `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…`: expected at most 64 levels of nesting
    "#]],
    );
    let text = format!("{{:process 0, :type :invoke, :f :write, :value {deep}");
    complains(
        text,
        "--spec register",
        expect![[r#"
        h:1:110: found `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…`: expected at most 64 levels of nesting
    "#]],
    );
}

#[test]
fn empty_file() {
    complains(
        "",
        "--spec queue",
        expect![[r#"
        h: no operations: expected a history
    "#]],
    );
    complains(
        "\n\n",
        "--spec queue",
        expect![[r#"
        h: no operations: expected a history
    "#]],
    );
}

#[test]
fn directory_and_missing_file_do_not_keep_others_from_being_checked() {
    let f = Folder::new().with("d/h", example("queue-ok.jsonl"));
    f.run("check -q d none d/h").shows(expect![[r#"
        linearizable: d/h: 5 operations fit an order that queue allows
        ! d: this is a directory: expected a file
        ! none: there is no such file
        exit code 2
    "#]]);
}

#[test]
fn a_spec_that_the_methods_do_not_fit() {
    let text = example("queue-ok.jsonl");
    complains(
        text,
        "--spec register",
        expect![[r#"
        h:2:1: unknown method enq: expected read() -> value, write(value), cas(old, new) -> bool, for the specification register
    "#]],
    );
}

#[test]
fn no_spec_at_all() {
    let text = example("register-ok.edn");
    complains(
        text,
        "",
        expect![[r#"
        h: the file names no specification: expected --spec NAME; its methods fit register, cas-register, rmw; 'trueline specs' lists all
    "#]],
    );
    complains(
        text_with_methods("frob"),
        "",
        expect![[r#"
            h: the file names no specification: expected --spec NAME; no built-in specification has its methods (frob); see --rename; 'trueline specs' lists all
        "#]],
    );
}

fn text_with_methods(method: &str) -> String {
    format!("{{\"process\":0,\"call\":\"{method}\"}}\n")
}

#[test]
fn a_file_that_names_a_spec_nobody_knows() {
    complains(
        HEAD.replace("queue", "quue") + "{\"process\":0,\"call\":\"deq\"}\n",
        "",
        expect![[r#"
            h: the specification that the file names is invalid: no specification is called "quue": did you mean queue?
        "#]],
    );
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let f = Folder::new().with("a\u{1b}[2Jb", "");
    let run = f.run("check --spec queue a\u{1b}[2Jb");
    assert!(run.code == 2 && !run.stderr.contains('\u{1b}'), "{run:?}");
}

#[test]
fn wrong_flags() {
    let f = Folder::new();
    for args in [
        "",
        "check",
        "check --spec quue h",
        "check --format nope h",
        "check --timeout 10x h",
        "check --rename a h",
        "check --algorithm nope h",
        "check --options r h",
        "check --algorithm saturate --options c h",
        "check --algorithm symbolic --options x h",
        "check --width 3 h",
        "specs nope",
        "formats nope",
        "man nope",
        "convert h --to limo",
        "corpus none.tsv",
    ] {
        let run = f.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args}: {run:?}");
        assert!(!run.stderr.is_empty(), "{args}");
    }
}
