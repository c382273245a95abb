//! `trueline verify` and `trueline models` as people see them.

mod common;

use common::Folder;
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

             P0                         P1                         shared
             specification: 0
          1  16: push()               |                          |
             specification: 0 or 1
          2                           | 16: push()               |
             specification: 0 or 1 or 2
          3  28: top == H || bug == 1 |                          |
             -> 1                     |                          | H=1
             specification: 1 or 2
          4                           | 28: top == H || bug == 1 |
                                      | -> 1                     |
             specification: nothing explains this

          4 steps, as short as there is one
          again: trueline verify --set bug=1 counter"#]]
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
spec { f() { } }
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
    assert_eq!(object["reason"], "deadlock-free fails");
    assert!(object.get("not_checked").is_none());
}

#[test]
fn a_declared_property_that_was_not_checked_is_told() {
    let f = Folder::new().with("stuck.tl", STUCK);
    let run = f.run("verify stuck.tl");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("not checked: deadlock_free (--progress"), "{}", run.stdout);
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
    assert!(all.stdout.contains(": every simple history is one of"), "{}", all.stdout);
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
    let endless = "verified: endless.tl (1 process, operations without end): ";
    assert!(run.stdout.contains(some) && run.stdout.contains(endless), "{}", run.stdout);
    let run = f.run("verify counter --set procs=3");
    assert!(run.stdout.contains("\n  3 processes, "), "{}", run.stdout);
}
