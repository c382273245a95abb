//! No input makes a reader panic, and no cut of the input into chunks changes what is read.
//!
//! `TRUELINE_CASES` sets the number of cases a reader.

use std::io::{self, Read};

use trueline::History;
use trueline::formats::{Format, Keys, ReadOptions, detect, read, write};
use trueline::rng::{self, Rng};

/// Returns at most this many bytes at once.
struct Cut<'a>(&'a [u8], usize);

impl Read for Cut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

/// Valid inputs that mutations start from.
fn seeds(format: Format) -> Vec<&'static str> {
    let mut seeds = vec![format.example()];
    seeds.extend_from_slice(match format {
        Format::JsonLines => &[
            "{\"schema\":\"trueline-history/1\",\"spec\":\"queue:init=[1]\"}\r\n{\"process\":\"a\\u00e4\",\"object\":\"q\",\"key\":[1,\"x\"],\"call\":\"cas\",\"args\":[1,-2.5e3,null,[true,\"\\ud83d\\ude00\"]],\"time\":{\"a\":[1]}}\n\n{\"process\":\"a\\u00e4\",\"unknown\":true}\n{\"process\":1,\"call\":\"deq\"}\n{\"process\":1,\"fail\":true}",
            "{\"process\":0,\"call\":\"enq\",\"args\":[5],\"return\":null,\"start\":1,\"end\":4}\n{\"process\":1,\"call\":\"deq\",\"start\":2}\n{\"process\":2,\"call\":\"deq\",\"return\":5,\"start\":3,\"end\":3}\n",
        ][..],
        Format::Edn => &[
            "[{:process 0, :type :invoke, :f :cas, :value [1 [2 3]]}\n {:type :info :process :nemesis, :f :start, :value {:a #{1 2}}} ; note\n {:process 0 :type :fail :f :cas :value [1 [2 3]] :error \"x\\\"y\" :time 1.5}\n #_ {:x 1} #op{:process 1N :type :invoke :f :read :value [1 nil]}\n {:process 1, :type :ok :f :read :value [1 \\a]}]",
            "{:process 3, :type :invoke, :f :add, :value \"\u{e4}\\u00e4\"}\n{:index 7 :process 3, :type :info, :f :add}\n({:process 1}",
        ][..],
        Format::EdnKv => &[
            "({:process 9, :type :invoke, :f :append, :key \"0\", :value \"x 9 0 y\"} {:process 9, :type :ok, :f :append, :key \"0\", :value \"x 9 0 y\"} {:process 9, :type :invoke, :f :get, :key \"0\"} {:process 9, :type :ok, :f :get, :key \"0\", :value \"\"})",
        ][..],
        Format::JepsenLog => &[
            "some log text\nINFO  jepsen.util - :nemesis\t:info\t:start\tnil\nINFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:info\t:read\t:timed-out\nINFO  jepsen.util - 1   :invoke :cas    [1 2]\r\n",
        ][..],
        Format::Calls => &[
            "# a note\n\n  [1] call push(a)\n[2] call pop()\n    [2] return empty\n[3] call push \"x y\"\n[1] return\n[3] return [1 2]\n",
        ][..],
        Format::Limo => &[
            "[0] call push(?<0,0>)\n[0] return\n[0] call pop(?<0,0>)\n[1] call push 1\n[0] return\n[0] call pop\n[0] call pop\n",
        ][..],
        Format::Intervals => &["# set\nremove 1 0 1 2\ncontains 1 0 4 6\ninsert 1 1 5 7\n", "# pqueue\npeek -1 2 4\npush_front 3 1 1\n"][..],
        Format::IntervalsPid => &["# rmw\n0 1 10 READ_MODIFY_WRITE 0 2\n1 3 5 INCR 1\n2 0 4 CONTAINS 2 0\n2 4 9 PEEK -1\n"][..],
        Format::SnapshotActions => &["startScan!4;startUpdate!0,0;endScan!4,0,0;\nstartUpdate!2,-1 ; endUpdate!0,0"][..],
        Format::WingGong => &["/* a\n comment */ Q Enq(5) A\nQ Deq() B * and more\nQ Empty() B\n\"my q\" Cas(1, \"a,b\") [1 2]\nQ Ok(7) A\n"][..],
        other => panic!("{other} has no seeds"),
    });
    seeds
}

/// Words of a format, in any order.
fn soup(format: Format, random: &mut Rng) -> Vec<u8> {
    let words: &[&str] = match format {
        Format::JsonLines => &[
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\n",
            "\"process\":",
            "\"call\":",
            "\"args\":[",
            "\"return\":",
            "\"fail\":true",
            "\"unknown\":true",
            "\"start\":",
            "\"end\":",
            "\"key\":",
            "\"object\":",
            "\"time\":",
            "\"schema\":",
            "\"trueline-history/1\"",
            "0",
            "1",
            "-5",
            "1e9",
            "99999999999999999999",
            "null",
            "true",
            "\"a\"",
            "\"\\u00",
            "\"",
            "{\"process\":0,\"call\":\"enq\"}\n",
            "{\"process\":0,\"return\":1}\n",
        ],
        Format::Edn | Format::EdnKv => &[
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            "#",
            "#_",
            "#{",
            "#tag",
            ";",
            "\n",
            ",",
            " ",
            ":process",
            ":process 0",
            ":type",
            ":type :invoke",
            ":type :ok",
            ":type :info",
            ":type :fail",
            ":f :read",
            ":f :cas",
            ":f :txn",
            ":value",
            ":key 1",
            "nil",
            "1",
            "[1 2]",
            "[1 [2 3]]",
            "\"a\"",
            "\"",
            "\\",
            "\\a",
            "\u{e4}",
            ":nemesis",
            "1.5",
            "99999999999999999999N",
            "{:process 0 :type :invoke :f :read :key 1}",
            "{:process 0 :type :ok :f :read :key 1 :value [1 2]}",
            "{:process 1 :type :invoke :f :write :key 1 :value [1 2]}",
            "{:process 1 :type :ok :f :write :key 2 :value 3}",
        ],
        Format::JepsenLog => &[
            "INFO ",
            "jepsen.util - ",
            "\n",
            "\t",
            " ",
            "0",
            "1",
            ":nemesis",
            ":invoke",
            ":ok",
            ":info",
            ":fail",
            ":read",
            ":cas",
            "[1 2]",
            "nil",
            ":timed-out",
            "\"",
            "[",
            "0\t:invoke\t:read\tnil\n",
            "0\t:ok\t:read\t1\n",
        ],
        Format::Calls | Format::Limo => &[
            "[",
            "]",
            "1",
            "2",
            "[1]",
            "[2]",
            " ",
            "call",
            "return",
            "push",
            "pop",
            "(",
            ")",
            "?<1,0>",
            "empty",
            "\n",
            "#",
            "# @object atomic-queue\n",
            "[1] call push(1)\n",
            "[1] return\n",
            "[2] call pop\n",
            "[2] return 1\n",
            "\"",
        ],
        Format::Intervals | Format::IntervalsPid => &[
            "# queue\n",
            "# set\n",
            "push",
            "POP",
            "INSERT",
            "contains",
            "READ_MODIFY_WRITE",
            "INCR",
            "1",
            "0",
            "-1",
            "7",
            " ",
            " ",
            "\n",
            "push 1 1 2\n",
            "0 1 5 ENQ 10\n",
            "9223372036854775807",
            "peek_back",
        ],
        Format::SnapshotActions => &[
            "startUpdate",
            "endUpdate",
            "startScan",
            "endScan",
            "!",
            ",",
            ";",
            "0",
            "1",
            "-1",
            "\n",
            " ",
            "startScan!1;",
            "endScan!1,0,0;",
            "startUpdate!0,0;",
            "endUpdate!0,0;",
        ],
        Format::WingGong => &[
            "Q",
            "A",
            "B",
            " ",
            "Enq",
            "Deq",
            "Ok",
            "Empty",
            "Full",
            "(",
            ")",
            "()",
            "5",
            ",",
            "/*",
            "*/",
            "*",
            "\"",
            "\n",
            "[",
            "Q Enq(5) A\n",
            "Q Ok() A\n",
            "Q Deq() B\n",
            "Q Ok(5) B\n",
        ],
        other => panic!("{other} has no words"),
    };
    let count = random.index(30);
    let mut soup = Vec::new();
    for _ in 0..count {
        soup.extend_from_slice(random.choose(words).as_bytes());
        if random.index(3) == 0 {
            soup.push(b' ');
        }
    }
    soup
}

fn mutate(input: &mut Vec<u8>, random: &mut Rng) {
    for _ in 0..=random.index(4) {
        let length = input.len();
        let at = random.index(length);
        match random.index(7) {
            0 if length > 0 => input[at] ^= 1 << random.index(8),
            1 if length > 0 => input[at] = random.number() as u8,
            2 => input.truncate(at),
            3 => {
                let from = random.index(length);
                let piece = input[from..(from + random.index(40)).min(length)].to_vec();
                input.splice(at..at, piece);
            }
            4 => {
                let end = (at + random.index(8)).min(length);
                input.drain(at..end);
            }
            5 => {
                // A line twice.
                let lines: Vec<&[u8]> = input.split_inclusive(|&b| b == b'\n').collect();
                if !lines.is_empty() {
                    let line = lines[random.index(lines.len())].to_vec();
                    let before = &lines[..random.index(lines.len() + 1)];
                    let to: usize = before.iter().map(|line| line.len()).sum();
                    input.splice(to..to, line);
                }
            }
            _ => {
                let junk = [
                    &b"\""[..],
                    b"\\",
                    b"{",
                    b"}",
                    b"[",
                    b"]",
                    b"(",
                    b"\r\n",
                    b"\xff",
                    b"\xc3",
                    b"\xef\xbb\xbf",
                    b"\0",
                    b"*",
                    b";",
                    b"#",
                    b"-",
                    b"9999999999",
                ];
                let piece = random.choose(&junk).to_vec();
                input.splice(at..at, piece);
            }
        }
    }
}

fn input(format: Format, random: &mut Rng) -> Vec<u8> {
    match random.index(8) {
        0 => (0..random.index(60)).map(|_| random.number() as u8).collect(),
        1 | 2 => soup(format, random),
        _ => {
            let seeds = seeds(format);
            let mut input = seeds[random.index(seeds.len())].as_bytes().to_vec();
            if random.index(4) == 0 {
                input.extend_from_slice(seeds[random.index(seeds.len())].as_bytes());
            }
            mutate(&mut input, random);
            input
        }
    }
}

/// Everything that a history holds, or the error.
fn outcome(result: Result<(History, Format), trueline::history::Error>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok((history, format)) => {
            format!("{format} {:?} {history:?}", history.spec())
        }
    }
}

fn fuzz(format: Format) {
    let mut good = 0;
    let seeds = rng::seeds(2_000);
    let cases = seeds.cases();
    for case in seeds {
        let mut random = Rng::new(case);
        let input = input(format, &mut random);
        let keys = [Keys::Auto, Keys::Yes, Keys::No][random.index(3)];
        let options = ReadOptions { format: Some(format), keys };
        let whole = read(&input[..], &options);
        let shown = || String::from_utf8_lossy(&input);
        if let Ok((history, _)) = &whole {
            good += 1;
            for &to in Format::ALL {
                let _ = write(history, to, &mut Vec::new());
            }
        }
        if let Err(error) = &whole {
            assert!(!error.message().is_empty());
        }
        let whole = outcome(whole);
        let step = 1 + random.index(5);
        for step in [1, step] {
            let cut = outcome(read(Cut(&input, step), &options));
            assert_eq!(cut, whole, "case {case}, chunks of {step}: {:?}", shown());
        }
        let _ = detect(&input);
        let _ = read(&input[..], &ReadOptions::default());
    }
    assert!(good > cases / 100, "only {good} inputs were histories");
}

#[test]
fn json_lines() {
    fuzz(Format::JsonLines);
}

#[test]
fn edn() {
    fuzz(Format::Edn);
}

#[test]
fn edn_kv() {
    fuzz(Format::EdnKv);
}

#[test]
fn jepsen_log() {
    fuzz(Format::JepsenLog);
}

#[test]
fn calls() {
    fuzz(Format::Calls);
}

#[test]
fn limo() {
    fuzz(Format::Limo);
}

#[test]
fn intervals() {
    fuzz(Format::Intervals);
}

#[test]
fn intervals_pid() {
    fuzz(Format::IntervalsPid);
}

#[test]
fn snapshot_actions() {
    fuzz(Format::SnapshotActions);
}

#[test]
fn wing_gong() {
    fuzz(Format::WingGong);
}
