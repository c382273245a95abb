//! `trueline verify` and `trueline models` as people see them.

use crate::common::Folder;
use expect_test::expect;

#[test]
fn a_built_in_model_is_verified() {
    let f = Folder::new();
    let run = f.run("verify -q treiber");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.starts_with("verified: treiber (procs=2 values=2 ops=2 bug=0): "),
        "{}",
        run.stdout
    );
}

#[test]
fn a_counterexample_is_drawn_in_lanes() {
    let f = Folder::new();
    let run = f.run("verify counter --set bug=1 --ascii --width 100 --threads 1");
    assert_eq!(run.code, 1);
    // Everything but the line of counts, which tells the time.
    let stable: Vec<&str> = run.stdout.lines().filter(|l| !l.contains(" states, ")).collect();
    expect![[r#"
        violation: counter (procs=2 size=2 bug=1): no order of the operations explains the last step

             P0                          P1                          shared
             specification: 0
          1  16: push()                |                           |
             26: top = H               |                           |
             H is 0                    |                           |
             specification: 0 or 1
          2                            | 16: push()                |
                                       | 26: top = H               |
                                       | H is 0                    |
             specification: 0 or 1 or 2
          3  28: atomic if top == H || |                           |
             bug == 1 {                |                           |
             H is 0                    |                           |
             -> 1                      |                           | H=1
             specification: 1 or 2
          4                            | 28: atomic if top == H || |
                                       | bug == 1 {                |
                                       | H is 1                    |
                                       | H stays 1                 |
                                       | -> 1                      |
             specification: nothing explains -> 1; possible: -> 2

          4 steps (shortest possible)
          reproduce: trueline verify --set bug=1 counter"#]]
    .assert_eq(&stable.join("\n"));
}

#[test]
fn json_is_one_object() {
    let f = Folder::new();
    let run = f.run("verify counter --set bug=1 --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["schema"], "trueline/1");
    assert_eq!(object["verdict"], "violation");
    assert_eq!(object["explanation"]["shortest"], true);
    assert_eq!(object["explanation"]["steps"].as_array().unwrap().len(), 4);
    assert_eq!(run.code, 1);
}

#[test]
fn a_limit_ends_in_unknown() {
    let f = Folder::new();
    let run = f.run("verify counter --set procs=6 --set size=4 --semantics pat --reduction none --antichain off --timeout 200ms -q");
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(run.stdout.starts_with("unknown: "), "{}", run.stdout);
    assert!(run.stdout.contains("every run of up to"), "{}", run.stdout);
}

#[test]
fn errors_of_usage_and_input_end_with_two() {
    let f = Folder::new().with("broken.tl", "object Broken(\n");
    for command in [
        "verify broken.tl",
        "verify nowhere.tl",
        "verify counter --set nothing=1",
        "verify counter --set procs=99",
        "verify counter --set procs",
        "verify counter --resume nowhere.checkpoint",
        "verify afek-unbounded-snapshot --set procs=2 --histories simple --pair 0,9",
    ] {
        let run = f.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(!run.stderr.is_empty(), "{command}");
    }
}

#[test]
fn progress_is_checked_where_it_is_asked_for() {
    let f = Folder::new();
    let run = f.run("verify counter --progress");
    assert!(run.stdout.contains("deadlock-free: holds"), "{}", run.stdout);
}

#[test]
fn models_are_listed_and_shown() {
    let f = Folder::new();
    assert!(f.run("models").stdout.lines().any(|l| l.starts_with("ms-queue ")));
    assert!(f.run("models counter").stdout.contains("object Counter("));
    assert_eq!(f.run("models nothing").code, 2);
}

#[test]
fn a_checkpoint_that_cannot_be_used_is_an_error_of_the_input() {
    let f = Folder::new().with("foreign", "this is no checkpoint of any kind at all");
    for (command, why) in [
        ("verify counter --resume foreign", "not a checkpoint of trueline"),
        ("verify counter --checkpoint nowhere/kept", "no checkpoint can be written there"),
        ("verify counter --checkpoint .", "a folder"),
        ("verify counter treiber --checkpoint kept", "one model"),
    ] {
        let run = f.run(command);
        assert_eq!(run.code, 2, "{command}: {}", run.stdout);
        assert!(run.stderr.contains(why), "{command}: {}", run.stderr);
    }
}

#[test]
fn the_command_that_does_it_again_keeps_its_checkpoint() {
    let f = Folder::new();
    let run = f.run("verify counter --set procs=6 --set size=4 --semantics pat --reduction none --antichain off --timeout 200ms --checkpoint kept");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.contains("--checkpoint kept"), "{}", run.stdout);
    let run = f.run("verify counter --set procs=6 --set size=4 --semantics pat --reduction none --antichain off --timeout 200ms --resume kept --json");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.contains("--resume kept"), "{}", run.stdout);
}

const STUCK: &str = "\
object Stuck
shared N: 0..3
op f() { await N == 1 }
spec { f() { await false } }
client { procs 2; ops 1 }
property deadlock_free
";

#[test]
fn the_headline_names_the_property_that_fails() {
    let f = Folder::new().with("stuck.tl", STUCK);
    let run = f.run("verify stuck.tl --progress -q");
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains(": deadlock-free fails; "), "{}", run.stdout);
    let run = f.run("verify stuck.tl --progress --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["message"], "deadlock-free fails");
    assert!(object.get("not_checked").is_none());
}

#[test]
fn a_declared_property_that_was_not_checked_is_told() {
    let f = Folder::new().with("stuck.tl", STUCK);
    let run = f.run("verify stuck.tl");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("not checked: deadlock_free (use --progress"), "{}", run.stdout);
    let run = f.run("verify stuck.tl --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["not_checked"]["properties"][0], "deadlock_free");
    let run = f.run("verify counter");
    assert!(!run.stdout.contains("not checked"), "{}", run.stdout);
}

#[test]
fn a_verdict_on_some_histories_says_so() {
    let f = Folder::new();
    let all = f.run("verify afek-unbounded-snapshot --set procs=2 --histories simple -q");
    assert_eq!(all.code, 0, "{}{}", all.stdout, all.stderr);
    assert!(all.stdout.contains(": every simple history is linearizable"), "{}", all.stdout);
    let pair = f.run("verify afek-unbounded-snapshot --set procs=2 --histories simple --pair 0,1");
    let told = "every simple history in which only the processes 0 and 1 change their segments is";
    assert!(pair.stdout.contains(told), "{}", pair.stdout);
}

#[test]
fn a_client_of_literal_numbers_shows_its_bound() {
    let model = "object X\nop f() -> 0..1 { return 0 }\nspec { f() { return 0 } }\n";
    let f = Folder::new()
        .with("some.tl", format!("{model}client {{ procs 2; ops 3 }}\n"))
        .with("endless.tl", format!("{model}client {{ procs 1; ops unbounded }}\n"));
    let run = f.run("verify some.tl endless.tl -q");
    let some = "verified: some.tl (2 processes, 3 operations each): ";
    let endless = "verified: endless.tl (1 process, unbounded operations): ";
    assert!(run.stdout.contains(some) && run.stdout.contains(endless), "{}", run.stdout);
    let run = f.run("verify counter --set procs=3");
    assert!(run.stdout.contains("\n  3 processes, "), "{}", run.stdout);
}

const TWO_LOCKS: &str = "\
object Two
shared L: lock, M: lock
op f() { lock(L); lock(M); unlock(M); unlock(L) }
op g() { lock(M); lock(L); unlock(L); unlock(M) }
spec { f() { }
g() { } }
client { procs 2; ops 1 }
";

#[test]
fn a_deadlock_is_a_violation_without_being_asked_for() {
    let f = Folder::new().with("two.tl", TWO_LOCKS);
    let run = f.run("verify two.tl");
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains(": deadlock: no process can take a step"), "{}", run.stdout);
    for told in ["waits for ever in f, line 3: lock(M)", "waits for ever in g, line 4: lock(L)"] {
        assert!(run.stdout.contains(told), "{}", run.stdout);
    }
    let run = f.run("verify two.tl --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["verdict"], "violation");
    assert_eq!(object["deadlock"], "checked");
    assert_eq!(object["explanation"]["waiting"].as_array().unwrap().len(), 2);
    let run = f.run("verify afek-unbounded-snapshot --set procs=2 --histories simple");
    assert!(run.stdout.contains("not checked: deadlock"), "{}", run.stdout);
}

#[test]
fn a_property_that_holds_within_a_bound_says_so() {
    let push = "object P\nshared X: 0..9\nop inc() { local x: 0..9\nloop { x = X; if cas(X, x, (x + 1) % 9) { return } } }\n\
                spec { inc() { } }\nclient { procs 2; ops 1 }\n\
                property returns: always (call inc implies eventually return inc) under weak fairness\n";
    let f = Folder::new()
        .with("bounded.tl", push)
        .with("endless.tl", push.replace("ops 1", "ops unbounded"));
    let run = f.run("verify bounded.tl --progress");
    let told =
        "returns: holds for 2 processes, 1 operation each; it may fail with unbounded operations";
    assert!(run.code == 0 && run.stdout.contains(told), "{}", run.stdout);
    let run = f.run("verify endless.tl --progress");
    assert!(run.code == 1 && run.stdout.contains("returns: fails"), "{}", run.stdout);
}

#[test]
fn every_step_shows_its_line_what_it_read_and_what_changed() {
    let model = "\
object Stack
node Node { v: 1..2; next: Node }
shared Top: Node
op push(v: 1..2) {
  local n: Node = new Node{v: v}, t: Node
  loop {
    t = Top
    n.next = t
    skip; if cas(Top, t, n) { return }
  }
}
op pop() -> (1..2)? {
  local t: Node, n: Node
  t = Top
  if t == null { return none }
  n = t.next
  Top = n
  return t.v
}
spec stack
client { role pusher 1 { push(1) }; role popper 2 { pop }; ops 1; heap 3 gc }
";
    let f = Folder::new().with("stack.tl", model.replace("(1..2)?", "1..2?"));
    let run = f.run("verify stack.tl --ascii --width 120 --threads 1");
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    for told in [
        // Its own statement, of two on the line.
        "9: if cas(Top, t, n) {",
        "7: t = Top",
        "Top is null",
        "cas succeeds",
        "t=#1",
        "Top=#1",
        "nothing explains -> 1; possible: -> none",
    ] {
        assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
    }
    let run = f.run("verify stack.tl --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let steps = object["explanation"]["steps"].as_array().unwrap();
    let cas = steps.iter().find(|step| step["accesses"][0]["kind"] == "cas").unwrap();
    assert_eq!(cas["accesses"][0]["succeeded"], true);
    assert_eq!(cas["accesses"][0]["place"], "Top");
    assert_eq!(cas["line"], 9);
    assert_eq!(cas["changed"]["shared"]["Top"], "#1");
    assert_eq!(steps.last().unwrap()["possible"][0], "none");
}

/// The choices of a loop have no end: nothing but the limit ends this.
#[test]
fn a_limit_ends_what_does_not_look_at_it() {
    let picks: String =
        (0..9).map(|i| format!("local a{i}: 0..9\na{i} = choose(0, 9)\n")).collect();
    let model = format!(
        "object W\nshared X: 0..1\nop f() -> 0..1 {{ {picks} X = (a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8) % 2\nreturn X }}\n\
         spec {{ f() {{ return choose(0, 1) }} }}\nclient {{ procs 2; ops 1 }}\n"
    );
    let f = Folder::new().with("wide.tl", model);
    for flags in ["", "--reduction none", "--progress", "--checkpoint kept"] {
        let run = f.run(&format!("verify wide.tl --timeout 100ms -q {flags}"));
        assert_eq!(run.code, 3, "{flags}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("the time limit of 0.1 s is spent"), "{}", run.stdout);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_in_unknown_with_a_checkpoint() {
    use std::process::{Command, Stdio};
    for (signal, bit) in [("INT", 2), ("TERM", 15)] {
        let f = Folder::new();
        let child = crate::common::command(
            "verify afek-bounded-snapshot --set procs=12 --set ops=8 --checkpoint kept",
        )
        .current_dir(f.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        // From when on the signal is caught is what the system says, and until then nothing is
        // sent.
        let status = format!("/proc/{}/status", child.id());
        let caught = || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.is_some_and(|mask| mask >> (bit - 1) & 1 == 1)
        };
        while !caught() {
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(3), "{signal}: {stdout}");
        assert!(stdout.contains(": interrupted; "), "{signal}: {stdout}");
        assert!(f.path().join("kept").exists(), "{signal}");
        let run = f.run("verify afek-bounded-snapshot --set procs=12 --set ops=8 --resume kept --timeout 1ms -q");
        assert_eq!(run.code, 3, "{}", run.stderr);
    }
}

/// A planted violation is a history that could have been recorded: its scans show all segments,
/// each with one of its two values.
#[test]
fn a_violation_in_a_simple_history_is_a_scan_that_could_be_one() {
    let f = Folder::new();
    for seed in 0..20 {
        let command = "generate --spec snapshot:segments=4 --simple --violation -n 40 -p 4";
        let made = f.run(&format!("{command} --seed {seed}"));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let mut scans = 0;
        for line in made.stdout.lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            let arrays = event.as_object().unwrap().iter();
            for (name, value) in arrays.filter(|(name, _)| *name != "args") {
                if let Some(shown) = value.as_array() {
                    scans += 1;
                    let simple = |cell: &serde_json::Value| *cell == 0 || *cell == 1;
                    assert!(shown.len() == 4 && shown.iter().all(simple), "{name}: {line}");
                }
            }
        }
        assert!(scans > 0);
        let run = f.run_with("check --spec snapshot:segments=4 -q -", made.stdout.as_bytes());
        assert_eq!(run.code, 1, "seed {seed}: {}{}", run.stdout, run.stderr);
    }
    let run = f.run("generate --spec snapshot:segments=2 --simple --violation -n 40 -p 4");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("a segment for each process"), "{}", run.stderr);
}

#[test]
fn snapshot_actions_are_monitored_where_the_format_is_said() {
    let good = "startUpdate!0,1;endUpdate!0,1;startScan!1;endScan!1,1,0;\n";
    let f = Folder::new()
        .with("good", good)
        .with("bad", good.replace("endScan!1,1,0", "endScan!1,0,0"));
    for flags in ["", "--format snapshot-actions"] {
        assert_eq!(f.run(&format!("monitor {flags} good")).code, 0, "{flags}");
        assert_eq!(f.run(&format!("monitor {flags} bad")).code, 1, "{flags}");
    }
    let run = f.run_with("monitor --format snapshot-actions -", good.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = f.run("monitor --format snapshot-actions --follow good");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no --follow"), "{}", run.stderr);
}

#[test]
fn a_state_graph_is_written_for_graphviz() {
    let f = Folder::new();
    let run = f.run("verify counter --set bug=1 --graph graph.dot");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("  graph: graph.dot (20 states, 28 transitions)\n"), "{run:?}");
    let dot = std::fs::read_to_string(f.path().join("graph.dot")).unwrap();
    assert!(dot.starts_with("digraph \"counter\" {\n"), "{dot}");
    assert!(
        dot.contains("  s0 [label=\"s0\\lH=0\\lP0 idle\\lP1 idle\\lspecification: 0\\l\""),
        "{dot}"
    );
    assert!(
        dot.contains("\\lnothing explains the last step\\l\", peripheries=2, color=red];\n"),
        "{dot}"
    );
    assert_eq!(dot.matches("color=red, penwidth=3").count(), 4, "the counterexample is marked");
    assert_eq!(dot.matches(" -> s").count(), 28, "{dot}");
    let run = f.run("verify counter --set bug=1 --graph graph.dot --json");
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        json["graph"],
        serde_json::json!({"states": 20, "transitions": 28, "file": "graph.dot"})
    );
}

#[test]
fn a_state_graph_that_cannot_be_drawn_is_refused_before_the_search() {
    let f = Folder::new();
    for (command, why) in [
        (
            "verify treiber --html a.html --graph page",
            "more than 1,000 states, too many to draw on a page",
        ),
        (
            "verify treiber --set procs=3 --graph a.dot",
            "more than 10,000 states; make it smaller with --set",
        ),
        ("verify counter --graph page", "expected --html FILE"),
        ("verify counter treiber --graph a.dot", "--graph FILE is for one model"),
        (
            "verify jayanti-snapshot --histories simple --graph a.dot",
            "leave out --histories simple",
        ),
        ("verify counter --graph nowhere/a.dot", "--graph: nowhere/a.dot"),
    ] {
        let run = f.run(command);
        assert_eq!(run.code, 2, "{command}: {run:?}");
        assert!(run.stderr.contains(why), "{command}: {run:?}");
        assert!(!f.path().join("a.dot").exists() && !f.path().join("a.html").exists(), "{command}");
    }
}
