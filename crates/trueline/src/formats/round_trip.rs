//! Written histories read back unchanged, and what cannot be written is reported.

use super::tests::show;
use super::*;
use crate::history::{Args, Builder, Call, Part, Position};
use crate::rng::Rng;
use crate::value::Value;

fn random_value(random: &mut Rng, depth: u32) -> Value {
    const TEXTS: [&str; 12] = [
        "a",
        "",
        "a b",
        ":key",
        "nil",
        "12",
        "q\"\\\n\t\u{1}",
        "empty",
        "\u{e4}\u{1f600}",
        "x,y",
        "(*)",
        "/* */",
    ];
    match random.below(if depth < 2 { 6 } else { 5 }) {
        0 => Value::Nil,
        1 => Value::Bool(random.below(2) == 0),
        2 => Value::Int(random.below(10) as i64 - 5),
        3 => Value::Int([i64::MIN, i64::MAX, 1 << 40][random.below(3) as usize]),
        4 => Value::text(TEXTS[random.below(12) as usize]),
        _ => Value::list(
            (0..random.below(4)).map(|_| random_value(random, depth + 1)).collect::<Vec<_>>(),
        ),
    }
}

/// The features that [`random_history`] may use.
struct Means {
    methods: &'static [&'static str],
    args: u64,
    objects: bool,
    keys: bool,
    call_again: bool,
    spec: bool,
}

fn random_history(random: &mut Rng, means: &Means) -> History {
    let mut b = Builder::new();
    let at = Position { line: 1, column: 1 };
    let mut retired = [false; 4];
    for _ in 0..1 + random.below(30) {
        let p = random.below(4);
        let name = if p == 3 { Value::text("n 1") } else { Value::Int(p as i64 - 1) };
        if retired[p as usize] {
            continue;
        }
        let process = b.process(&name);
        if b.open_operation(process).is_some() {
            if random.below(6) == 0 {
                b.unknown(process, at).unwrap();
                retired[p as usize] = !means.call_again;
            } else {
                let result = random_value(random, 0);
                b.returns(process, result, at).unwrap();
            }
            continue;
        }
        let mut optional = |on: bool| if on { random_value(random, 1) } else { Value::Nil };
        let part = Part { object: optional(means.objects), key: optional(means.keys) };
        let part = if matches!(part.object, Value::List(_)) { Part::default() } else { part };
        let part = b.part(part);
        let method = b.method(means.methods[random.below(means.methods.len() as u64) as usize]);
        let args: Vec<Value> =
            (0..random.below(means.args + 1)).map(|_| random_value(random, 0)).collect();
        b.call(process, part, Call { method, args: Args::from(args) }, at).unwrap();
    }
    if means.spec && random.below(2) == 0 {
        b.set_spec("queue:init=[1 \"x\"]");
    }
    b.finish()
}

/// Writes random histories and reads them back; those that the format cannot express are errors.
/// Returns the number of histories that were compared.
fn round_trips(format: Format, means: &Means, same: impl Fn(&History, &History)) -> usize {
    let mut random = Rng::new(0x2545_f491_4f6c_dd1d);
    let mut written = 0;
    for _ in 0..3_000 {
        let history = random_history(&mut random, means);
        let mut bytes = Vec::new();
        match write(&history, format, &mut bytes) {
            Err(error) => assert!(error.to_string().contains("cannot express"), "{error}"),
            Ok(()) if history.is_empty() => {}
            Ok(()) => {
                written += 1;
                let keys = if history.parts().iter().any(|p| !p.key.is_nil()) {
                    Keys::Yes
                } else {
                    Keys::No
                };
                let options = ReadOptions { format: Some(format), keys };
                match read(&bytes[..], &options) {
                    Ok((back, _)) => same(&history, &back),
                    Err(error) => panic!("{error} in\n{}", String::from_utf8_lossy(&bytes)),
                }
            }
        }
    }
    written
}

#[test]
fn json_lines_round_trip() {
    let means = Means {
        methods: &["enq", "deq", "a \"b\"\n", ""],
        args: 3,
        objects: true,
        keys: true,
        call_again: true,
        spec: true,
    };
    let written = round_trips(Format::JsonLines, &means, |before, after| {
        assert_eq!(show(before), show(after));
        assert_eq!(before.processes(), after.processes());
        assert_eq!(before.methods(), after.methods());
        assert_eq!(before.parts(), after.parts());
    });
    assert!(written > 2_900, "{written}");
}

#[test]
fn edn_round_trip() {
    for (methods, args, keys) in [
        (&["write", "add"][..], 1, true),
        (&["read", "deq", "acquire"], 0, true),
        (&["write", "read", "cas"], 2, false),
    ] {
        let means = Means { methods, args, objects: false, keys, call_again: true, spec: false };
        let written =
            round_trips(Format::Edn, &means, |before, after| assert_eq!(show(before), show(after)));
        assert!(written > 50, "{written}");
    }
}

#[test]
fn wing_gong_round_trip() {
    let means = Means {
        methods: &["enq", "deq", "compare_and_set"],
        args: 3,
        objects: true,
        keys: false,
        call_again: false,
        spec: false,
    };
    let written = round_trips(Format::WingGong, &means, |before, after| {
        // An object without a name gets one.
        let named: Vec<String> = show(before)
            .lines()
            .zip(before.operations())
            .map(|(line, o)| match before.parts()[o.part as usize].object {
                Value::Nil => {
                    let process = before.processes()[o.process as usize].to_string();
                    format!("{process} object x{}", &line[process.len()..])
                }
                _ => line.to_string(),
            })
            .collect();
        assert_eq!(named.join("\n"), show(after).trim_end());
    });
    assert!(written > 1_000, "{written}");
}

/// Several histories behind blank lines read back as each of them does alone.
#[test]
fn wing_gong_histories_behind_each_other_round_trip() {
    let means = Means {
        methods: &["enq", "deq"],
        args: 1,
        objects: true,
        keys: false,
        call_again: false,
        spec: false,
    };
    let options = ReadOptions { format: Some(Format::WingGong), ..ReadOptions::default() };
    let (mut several, mut random) = (0, Rng::new(19));
    for _ in 0..500 {
        let (mut texts, mut alone) = (Vec::new(), Vec::new());
        for _ in 0..random.below(5) {
            let history = random_history(&mut random, &means);
            let mut bytes = Vec::new();
            if !history.is_empty() && write(&history, Format::WingGong, &mut bytes).is_ok() {
                alone.push(show(&read(&bytes[..], &options).unwrap().0));
                texts.push(String::from_utf8(bytes).unwrap());
            }
        }
        let separator = ["\n", "\n\n", "\n/* next */\n", "/* end */\n \n"][random.index(4)];
        let joined = texts.join(separator);
        match read_all(joined.as_bytes(), &options) {
            Err(_) => assert!(texts.is_empty(), "{joined}"),
            Ok((all, _)) => {
                assert_eq!(all.iter().map(show).collect::<Vec<_>>(), alone, "{joined}");
                several += usize::from(alone.len() > 1);
            }
        }
    }
    assert!(several > 100, "{several}");
}

#[test]
fn calls_round_trip() {
    let means = Means {
        methods: &["push", "pop()"],
        args: 1,
        objects: false,
        keys: false,
        call_again: true,
        spec: true,
    };
    round_trips(Format::Calls, &means, |_, _| {});
    let means = Means { methods: &["push", "pop"], ..means };
    let written = round_trips(Format::Calls, &means, |before, after| {
        // Everything but the processes.
        let bare = |history: &History| -> Vec<String> {
            let all = history.operations().iter().enumerate();
            all.map(|(i, o)| format!("{} {}..{}", history.show(i as u32), o.call, o.returned))
                .collect()
        };
        assert_eq!(bare(before), bare(after));
        assert_eq!(before.spec(), after.spec());
    });
    assert!(written > 2_900, "{written}");
}

#[test]
fn what_cannot_be_written_is_said() {
    let (history, _) = read(
        "{\"process\":0,\"object\":\"q\",\"call\":\"Enq\",\"args\":[1,2]}".as_bytes(),
        &ReadOptions::default(),
    )
    .unwrap();
    let error = |format| write(&history, format, &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(
        error(Format::Edn),
        "the format edn cannot express a Enq with the arguments (1, 2) (json-lines can)"
    );
    assert_eq!(
        error(Format::Calls),
        "the format calls cannot express the names of objects or independent keys (json-lines can)"
    );
    assert_eq!(
        error(Format::WingGong),
        "the format wing-gong cannot express a method named \"Enq\" (json-lines can)"
    );
    assert_eq!(
        error(Format::Limo),
        "the format limo cannot express histories that it did not record: it is only read (json-lines can)"
    );
    for &format in Format::ALL {
        assert_eq!(
            format.writable(),
            matches!(format, Format::JsonLines | Format::Edn | Format::WingGong | Format::Calls)
        );
    }
}

#[test]
fn a_failing_writer_is_told_apart() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no space"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (history, _) = read(Format::Edn.example().as_bytes(), &ReadOptions::default()).unwrap();
    let error = write(&history, Format::Edn, &mut Full).unwrap_err();
    assert_eq!(error.to_string(), "writing failed");
    assert_eq!(error.io_error().unwrap().to_string(), "no space");
}
