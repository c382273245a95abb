//! One case for each rule and each pitfall of the formats, and one for each kind of error.

mod edn_and_logs;

use super::*;

/// One line per operation: `process method(args) -> result @call..return`, with object and key if
/// there are any.
pub(super) fn show(history: &History) -> String {
    let mut shown = String::new();
    for (i, o) in history.operations().iter().enumerate() {
        let part = &history.parts()[o.part as usize];
        let mut place = String::new();
        for (name, value) in [("object", &part.object), ("key", &part.key)] {
            if !value.is_nil() {
                place += &format!("{name} {value} ");
            }
        }
        let until = if o.is_pending() { "-".to_string() } else { o.returned.to_string() };
        let process = &history.processes()[o.process as usize];
        shown += &format!("{process} {place}{} @{}..{until}\n", history.show(i as u32), o.call);
    }
    if let Some(spec) = history.spec() {
        shown += &format!("spec {spec}\n");
    }
    shown
}

fn outcome(input: &[u8], options: &ReadOptions) -> String {
    match read(input, options) {
        Ok((history, _)) => show(&history),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(format: Format, input: &str, expect: &str) {
    let options = ReadOptions { format: Some(format), keys: Keys::Auto };
    let expect: String = expect.trim().lines().map(|line| format!("{}\n", line.trim())).collect();
    let got = outcome(input.as_bytes(), &options);
    assert_eq!(got.trim(), expect.trim());
    // Windows line ends and a byte order mark change nothing but columns behind them.
    let windows = format!("\u{feff}{}", input.replace('\n', "\r\n"));
    assert_eq!(outcome(windows.as_bytes(), &options).trim(), expect.trim());
}

#[test]
fn calls_number_operations() {
    check(
        Format::Calls,
        "# @object atomic-stack\n# a note\n[1] call push(a)\n  [2] call pop()\n[1] return\n[7] call pop\n  [2] return empty\n\
         [9] call push(?<1,0>)\n[7] return a",
        "0 push(a) @0..2\n1 pop() @1..4\n0 pop() -> a @3..6\n1 push(\"?<1,0>\") -> ? @5..-\nspec stack",
    );
}

#[test]
fn calls_errors() {
    let check = |input: &str, expect: &str| check(Format::Calls, input, expect);
    check("# only a note\n", "no operations: expected a line such as `[1] call push(a)`");
    check("[1] return 5", "1:1: operation 1 returns without a call: expected a call first");
    check(
        "[1] call a\n[1] return\n[1] return",
        "3:1: found a second return of operation 1: expected none after line 2",
    );
    check(
        "[1] call a\n[1] return\n[1] call a",
        "3:1: found a second call of operation 1: expected a new number (if the numbers are threads, the format is limo)",
    );
    check("[x] call a", "1:2: found `x] call a`: expected a number in the brackets");
    check("[1] jump a", "1:5: found `jump a`: expected `call` or `return` behind the number");
    check("[1] call push(a", "1:14: found `(a`: expected a closing parenthesis at the end");
    check("[1] call", "1:9: found the end: expected the name of a method behind `call`");
    check(
        "push(a)",
        "1:1: found `push(a)`: expected `[number] call method(argument)` or `[number] return result`",
    );
}

#[test]
fn limo_numbers_threads() {
    check(
        Format::Limo,
        "# @object atomic-queue\n[1] call enq 1\n[1] return\n[1] call deq(?<0,0>)\n[2] call pop(5)\n[1] return\n[2] return 6\n[1] call deq\n\
         [1] call deq\n[1] return empty",
        "1 enq(1) @0..1\n1 deq() -> \"?<0,0>\" @2..4\n2 pop() -> 6 @3..5\n1 deq() -> ? @6..-\n1 deq() @7..8\nspec queue",
    );
    check(
        Format::Limo,
        "[1] return",
        "1:1: process 1 returns without an open call: expected a call first",
    );
    // The remove of a set has the value as an argument.
    check(
        Format::Limo,
        "# @object atomic-set\n[1] call remove(5)\n[1] return true",
        "1 remove(5) -> true @0..1\nspec set",
    );
}

#[test]
fn intervals_touch_and_overlap() {
    check(
        Format::Intervals,
        "# pqueue\ninsert 5 1 3\npeek -1 3 4\npoll 5 5 6",
        "0 insert(5) @0..2\n1 peek() @1..3\n0 poll() -> 5 @4..5\nspec priority-queue",
    );
    check(
        Format::Intervals,
        "# set\nremove 1 0 1 2\ncontains 1 1 3 4\n",
        "0 remove(1) -> false @0..1\n0 contains(1) -> true @2..3\nspec set",
    );
    check(Format::Intervals, "# deque\nPush_Front 1 1 1\n", "0 push_front(1) @0..1\nspec deque");
}

#[test]
fn intervals_errors() {
    let check = |input: &str, expect: &str| check(Format::Intervals, input, expect);
    check("# queue\n", "no operations: expected a line such as `push 1 1 2`");
    check(
        "push 1 2",
        "1:1: found `push 1 2`: expected `method value start end`, or one more value",
    );
    check("push x 1 2", "1:6: found `x`: expected a number");
    check("push 1 1 99999999999999999999", "1:10: found `99999999999999999999`: expected a number");
    check("push 1 5 2", "1:1: the operation ends at 2, before it starts at 5");
    check("insert 1 7 1 2", "1:1: found `insert 1 7 1 2`: expected 0 or 1 as the result");
    check(
        "jump 1 1 2",
        "1:1: found `jump 1 1 2`: expected a method such as push, pop, enq, deq, insert, poll or peek",
    );
}

#[test]
fn intervals_with_processes() {
    check(
        Format::IntervalsPid,
        "# queue\n0 1 4 ENQ 30\n1 2 5 DEQ 30\n0 4 7 DEQ -1\n",
        "0 enq(30) @0..2\n1 deq() -> 30 @1..4\n0 deq() @3..5\nspec queue",
    );
    check(
        Format::IntervalsPid,
        "# rmw\n0 1 10 READ_MODIFY_WRITE 0 2\n1 3 5 INCR 1\n2 3 5 CONTAINS 4 0\n",
        "0 rmw(0, 2) @0..5\n1 incr() -> true @1..3\n2 contains(4) -> false @2..4\nspec rmw",
    );
    check(
        Format::IntervalsPid,
        "0 1 5 ENQ 1\n0 3 7 ENQ 2",
        "2:1: process 0 starts an operation while its operation in line 1 is still running",
    );
    check(Format::IntervalsPid, "x 1 5 ENQ 1", "1:1: found `x`: expected a number");
}

#[test]
fn snapshot_actions() {
    check(
        Format::SnapshotActions,
        "startUpdate!4,0;startScan!7;endUpdate!4,0;endScan!7,0,1;startScan!4",
        "4 update(4, 0) @0..2\n7 scan() -> [0 1] @1..3\n4 scan() -> ? @4..-\nspec snapshot",
    );
    check(
        Format::SnapshotActions,
        "startScan!7;endUpdate!7,0",
        "1:13: found `endUpdate!7,0`: expected the end of what the process started",
    );
    check(
        Format::SnapshotActions,
        "endScan!7,0,0",
        "1:1: process 7 returns without an open call: expected a call first",
    );
    check(Format::SnapshotActions, "startScan!a", "1:11: found `a`: expected a number");
    check(
        Format::SnapshotActions,
        "jump!1",
        "1:1: found `jump!1`: expected startUpdate!process,value, endUpdate!process,value, startScan!process or \
         endScan!process,value,...",
    );
}

#[test]
fn wing_gong_notation() {
    check(
        Format::WingGong,
        "/* two\nlines */\nQ Enq(5) P1 * and starts enqueueing\nQ Deq() B /* here */\nQ Ok() P1\nQ Ok(5) B\nR Cas(1, \"a b\") B\n\
         R Failed() B\nQ Deq() B\nQ Empty() B\nQ Enq(6) P1\nQ Full() P1",
        "P1 object Q enq(5) @0..2\nB object Q deq() -> 5 @1..3\nB object R cas(1, \"a b\") -> Failed @4..5\nB object Q deq() @6..7\n\
         P1 object Q enq(6) -> false @8..9",
    );
    check(
        Format::WingGong,
        "Q Ok() A",
        "1:1: process A returns without an open call: expected a call first",
    );
    check(
        Format::WingGong,
        "Q Enq(1) A\nQ Enq(2) A",
        "2:1: process A calls enq while its call of enq in line 1 is still open: expected its return first",
    );
    check(
        Format::WingGong,
        "Q Enq(1) A\nR Ok() A",
        "2:1: found an event on R: expected the return from Q, which the process called",
    );
    check(Format::WingGong, "Q Enq(5", "1:6: found `(5`: expected a closing parenthesis");
    check(Format::WingGong, "Q Enq(5)", "1:9: found the end: expected the name of a process");
    check(
        Format::WingGong,
        "Q Enq(5) A B",
        "1:12: found `B`: expected the end of the line or a comment",
    );
    check(
        Format::WingGong,
        "Q Enq(5) A\n /* no end",
        "2:2: found a comment without an end: expected `*/`",
    );
    check(Format::WingGong, "* nothing", "no operations: expected a line such as `Q Enq(5) A`");
}

/// Consecutive histories were read as one, with operations that seemed to follow each other.
#[test]
fn a_blank_line_separates_histories_of_wing_and_gong() {
    let all = |input: &str| {
        let options = ReadOptions { format: Some(Format::WingGong), ..ReadOptions::default() };
        let histories = read_all(input.as_bytes(), &options).map(|(histories, _)| histories);
        histories.map(|all| all.iter().map(History::len).collect::<Vec<_>>())
    };
    let one = "Q Enq(1) A\nQ Ok() A\n";
    for (input, lengths) in [
        (format!("\n\n{one}\n"), vec![1]),
        (format!("{one}{one}"), vec![2]),
        (format!("{one}\n{one}"), vec![1, 1]),
        (format!("/* a */\n{one}/* b */\n \t\r\n\n/* c */\n\n{one}{one}\n"), vec![1, 2]),
        // Comments are not blank lines, nor are blank lines within them.
        (format!("{one}/* a */\n/* b\n\n*/\n* c\n{one}"), vec![2]),
        // An open operation there stays pending, and its process is free again.
        (format!("Q Enq(1) A\n\n{one}"), vec![1, 1]),
    ] {
        assert_eq!(all(&input), Ok(lengths), "{input:?}");
    }
    assert!(all("\n\n/* nothing */\n").is_err());
    check(
        Format::WingGong,
        "Q Enq(1) A\nQ Ok() A\n\nQ Deq() A\nQ Ok() A",
        "4:1: found a second history behind a blank line: expected one; `trueline check` takes several",
    );
    // In any other format blank lines mean nothing.
    let lines = format!("{}\n\n{}", Format::Calls.example(), "[3] call pop\n[3] return a\n");
    let options = ReadOptions { format: Some(Format::Calls), ..ReadOptions::default() };
    assert_eq!(read_all(lines.as_bytes(), &options).unwrap().0.len(), 1);
}

#[test]
fn json_lines_of_events() {
    check(
        Format::JsonLines,
        "{\"schema\":\"trueline-history/1\",\"spec\":\"queue:init=[1]\"}\n\
         {\"process\":0,\"call\":\"enq\",\"args\":[5],\"time\":12}\n{ \"process\" : \"p\\n1\", \"call\":\"deq\", \"object\":\"q\", \"key\":[1,2] }\n\
         \n{\"return\":null,\"process\":0,\"note\":{\"a\":[1.5,{}]}}\n{\"process\":\"p\\n1\",\"unknown\":true}\n{\"process\":0,\"call\":\"deq\"}\n\
         {\"process\":0,\"fail\":true}\n{\"process\":0,\"call\":\"cas\",\"args\":[1.50,99999999999999999999,[],true,\"\\ud83d\\ude00\"]}",
        "0 enq(5) @0..2\n\"p\\n1\" object q key [1 2] deq() -> ? @1..-\n0 cas(1.5, 99999999999999999999, [], true, \"\u{1f600}\") -> ? @3..-\n\
         spec queue:init=[1]",
    );
}

/// Lines without blanks take a fast path, which must give the same result as the general path,
/// including errors.
#[test]
fn plain_json_lines_are_read_as_others_are() {
    let numbers = [
        "0",
        "7",
        "00",
        "01",
        "-1",
        "1.5",
        "1e3",
        "999999999999999999",
        "1000000000000000000",
        "9223372036854775807",
        "9223372036854775808",
        "null",
        "true",
        "false",
        "\"a\"",
        "[1]",
        "",
    ];
    let mut lines = Vec::new();
    for n in numbers {
        lines.push(format!("{{\"process\":{n},\"call\":\"deq\"}}"));
        lines.push(format!("{{\"process\":1,\"call\":\"enq\",\"args\":[{n}]}}"));
        lines.push(format!("{{\"process\":1,\"return\":{n}}}"));
        lines.push(format!("{{\"process\":{n},\"call\":\"d\\u0065q\"}}x"));
    }
    let before = "{\"process\":1,\"call\":\"deq\"}\n";
    let options = ReadOptions { format: Some(Format::JsonLines), keys: Keys::Auto };
    for line in &lines {
        for before in ["", before] {
            let plain = outcome(format!("{before}{line}\n").as_bytes(), &options);
            // A blank at the end of the line keeps all columns and forces the general path.
            let general = outcome(format!("{before}{line} \n").as_bytes(), &options);
            let of = |text: &str| text.replace(" `: ", "`: ");
            assert_eq!(of(&plain), of(&general), "{line}");
        }
    }
}

#[test]
fn json_lines_of_intervals() {
    check(
        Format::JsonLines,
        "{\"process\":0,\"call\":\"enq\",\"args\":[5],\"return\":null,\"start\":1,\"end\":4}\n{\"process\":1,\"call\":\"deq\",\"return\":5,\"start\":4,\"end\":6}\n\
         {\"process\":2,\"call\":\"deq\",\"start\":2}\n{\"process\":2,\"call\":\"deq\",\"start\":9,\"end\":10,\"fail\":true}",
        "0 enq(5) @0..3\n2 deq() -> ? @1..-\n1 deq() -> 5 @2..4",
    );
    check(
        Format::JsonLines,
        "{\"call\":\"a\",\"return\":null,\"start\":1,\"end\":4}\n{\"call\":\"b\",\"return\":null,\"start\":2,\"end\":3}",
        "0 a() @0..3\n1 b() @1..2",
    );
}

#[test]
fn json_lines_errors() {
    let check = |input: &str, expect: &str| check(Format::JsonLines, input, expect);
    let none =
        "no operations: expected a line such as {\"process\":0,\"call\":\"enq\",\"args\":[5]}";
    check("", none);
    check("{\"schema\":\"trueline-history/1\"}", none);
    check(
        "{\"schema\":\"other/2\"}",
        "1:1: found the schema `other/2`: expected trueline-history/1",
    );
    check(
        "{\"spec\":\"queue\"}",
        "1:1: found `{\"spec\":\"queue\"}`: expected \"schema\" beside \"spec\", in the first line",
    );
    check(
        "{\"proces\":0}",
        "1:2: found the field `proces`: expected process, call, args, return, fail, unknown, object, key, start, end, time, index or note",
    );
    check(
        "{\"process\":0,\"process\":1}",
        "1:14: found \"process\" twice: expected it once in a line",
    );
    check(
        "{\"process\":0,\"return\":{\"a\":1}}",
        "1:23: found `{\"a\":1}}`: expected a number, a text, a list, true, false or null (objects are no values)",
    );
    check("{\"process\":[0]}", "1:12: found `[0]}`: expected the number or name of a process");
    check(
        "{\"process\":99999999999999999999}",
        "1:12: found `99999999999999999999}`: expected the number or name of a process",
    );
    check("{\"process\":1.5}", "1:12: found `1.5}`: expected the number or name of a process");
    check("{\"process\":0,\"call\":5}", "1:21: found `5}`: expected the name of a method");
    check(
        "{\"process\":0,\"call\":\"a\",\"args\":5}",
        "1:32: found `5}`: expected a list of arguments",
    );
    check("{\"process\":0,\"fail\":false}", "1:21: found `false}`: expected true");
    check(
        "{\"call\":\"a\",\"start\":1.5}",
        "1:21: found `1.5}`: expected a whole number of 64 bits",
    );
    check("{\"process\":0", "1:13: found the end of the line: expected `,` or `}`");
    check("{\"process\":0,\"call\":\"a}", "1:21: found `\"a}`: expected a closing quote");
    check(
        "{\"process\":01}",
        "1:12: found `01}`: expected a number, a text, a list, true, false or null",
    );
    check("{\"process\":0} x", "1:15: found `x`: expected the end of the line");
    check(
        "{\"process\":0}",
        "1:1: found `{\"process\":0}`: expected \"call\", \"return\", \"fail\" or \"unknown\"",
    );
    check("{\"call\":\"a\"}", "1:1: found `{\"call\":\"a\"}`: expected \"process\"");
    check(
        "{\"process\":0,\"return\":1}",
        "1:1: process 0 returns without an open call: expected a call first",
    );
    check(
        "{\"process\":0,\"call\":\"a\"}\n{\"process\":1,\"call\":\"a\",\"start\":1}",
        "2:1: found `{\"process\":1,\"call\":\"a\",\"start\":1}`: expected a line without \"start\", as the lines before have none",
    );
    check(
        "{\"call\":\"a\",\"start\":1}\n{\"process\":1,\"call\":\"a\"}",
        "2:1: found `{\"process\":1,\"call\":\"a\"}`: expected a line with \"start\" and \"end\", as the lines before have them",
    );
    check(
        "{\"call\":\"a\",\"start\":1,\"end\":2}",
        "1:1: found `{\"call\":\"a\",\"start\":1,\"end\":2}`: expected \"return\" beside \"end\"",
    );
    check(
        "{\"process\":0,\"return\":\"\\x\"}",
        "1:24: found `\\x\"}`: expected an escape such as \\n, \\\" or \\u00e4",
    );
}

#[test]
fn invalid_utf8_is_an_error_in_every_format() {
    for &format in Format::ALL {
        let mut input = format.example().as_bytes().to_vec();
        let column = format.example().lines().last().unwrap().len() / 2;
        let at = input.len() - 1 - column;
        input[at] = 0xff;
        let options = ReadOptions { format: Some(format), keys: Keys::Auto };
        let error = read(&input[..], &options).unwrap_err();
        assert!(error.message().starts_with("found the byte 0xff"), "{format}: {error}");
        let line = input[..at].iter().filter(|&&b| b == b'\n').count() as u32 + 1;
        assert_eq!(error.position().map(|p| p.line), Some(line), "{format}: {error}");
    }
}

#[test]
fn deep_nesting_is_an_error_in_every_format_with_lists() {
    let deep = "[".repeat(100_000);
    for (format, input) in [
        (Format::Edn, format!("{{:process 0, :type :invoke, :f :write, :value {deep}")),
        (Format::Edn, format!("{{:process 0, :error {deep}")),
        (Format::JepsenLog, format!("0\t:invoke\t:write\t{deep}")),
        (Format::JsonLines, format!("{{\"process\":0,\"return\":{deep}")),
        (Format::JsonLines, format!("{{\"process\":0,\"args\":{deep}")),
        (Format::JsonLines, format!("{{\"process\":0,\"note\":{deep}")),
    ] {
        let options = ReadOptions { format: Some(format), keys: Keys::Auto };
        let error = read(input.as_bytes(), &options).unwrap_err();
        assert!(
            error.message().ends_with("expected at most 64 levels of nesting"),
            "{format}: {error}"
        );
        assert!(error.position().is_some());
    }
}

#[test]
fn a_line_without_an_end_is_an_error() {
    struct Endless;
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(b'[');
            Ok(buffer.len())
        }
    }
    for &format in Format::ALL {
        let options = ReadOptions { format: Some(format), keys: Keys::Auto };
        let error = read(Endless, &options).unwrap_err();
        assert!(error.position().is_some(), "{format}: {error}");
    }
    let options = ReadOptions { format: Some(Format::Edn), keys: Keys::Auto };
    let input = b"{:error \"".chain(std::io::repeat(b'x'));
    assert_eq!(
        read(input, &options).unwrap_err().to_string(),
        "1:1: found a form longer than 64 MiB: expected its end"
    );
}
