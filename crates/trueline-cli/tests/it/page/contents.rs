//! What is on a page, without a browser where the data of the page are enough: orders only where
//! they are true.

use serde_json::Value as Json;

use super::browser::Browser;
use crate::common::{Folder, example};

/// The report as it stands in the page that this command makes.
#[track_caller]
pub(super) fn data(f: &Folder, command: &str) -> Json {
    let run = f.run(&format!("{command} --html page.html"));
    assert!(run.code < 2, "{run:?}");
    let page = std::fs::read_to_string(f.path().join("page.html")).unwrap();
    let start = "<script id=\"data\" type=\"application/json\">";
    let (_, rest) = page.split_once(start).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Calls that return at once: process, method, arguments, result.
fn history(spec: &str, calls: &[(u32, &str, &str, &str)]) -> String {
    let mut text = format!("{{\"schema\":\"trueline-history/1\",\"spec\":\"{spec}\"}}\n");
    for (process, call, args, result) in calls {
        text += &format!("{{\"process\":{process},\"call\":\"{call}\",\"args\":[{args}]}}\n");
        text += &format!("{{\"process\":{process},\"return\":{result}}}\n");
    }
    text
}

#[test]
fn a_quasi_linearizable_history_shows_no_orders_of_the_strict_object() {
    let f = Folder::new().with("h.jsonl", example("queue-violation.jsonl"));
    assert!(!data(&f, "check h.jsonl")["timeline"]["order"].is_null(), "a strict check has orders");
    for factor in ["deq=1", "deq=?", "deq=0"] {
        let page = data(&f, &format!("check h.jsonl --quasi {factor}"));
        assert!(page["timeline"]["order"].is_null(), "{factor}: {}", page["timeline"]["order"]);
        assert!(!page.to_string().contains("is not legal"), "{factor}");
    }
}

#[test]
fn an_owner_mutex_shows_no_orders_without_its_owners() {
    let calls = [(0, "acquire", "", "null"), (1, "release", "", "null")];
    let f = Folder::new()
        .with("owned.jsonl", history("owner-mutex", &calls))
        .with("plain.jsonl", history("mutex", &[calls[0], calls[0]]));
    let page = data(&f, "check owned.jsonl");
    assert_eq!(page["role"], "bad");
    assert!(page["timeline"]["order"].is_null(), "{}", page["timeline"]["order"]);
    assert!(!data(&f, "check plain.jsonl")["timeline"]["order"].is_null(), "a mutex has orders");
}

#[test]
fn a_counter_with_two_meanings_shows_no_orders_in_one_of_them() {
    let calls = [(0, "inc", "", "0"), (1, "inc", "", "0")];
    let f = Folder::new().with("h.jsonl", history("counter", &calls));
    let page = data(&f, "check h.jsonl");
    assert_eq!(page["role"], "bad");
    assert!(page["timeline"]["order"].is_null(), "{}", page["timeline"]["order"]);
    let page = data(&f, "check h.jsonl --spec counter:results=before");
    assert!(!page["timeline"]["order"].is_null(), "one meaning has orders");
}

#[test]
fn orders_of_a_long_history_begin_where_its_past_leaves_the_object() {
    let f = Folder::new();
    let generated = f.run("generate --spec queue --operations 3000 --violation");
    std::fs::write(f.path().join("h.jsonl"), generated.stdout).unwrap();
    let order = &data(&f, "check h.jsonl")["timeline"]["order"];
    let note = order["note"].as_str().unwrap();
    assert!(note.contains("up to the first return that cannot be explained"), "{note}");
    let before = order["before"].as_str().unwrap();
    assert!(before.contains("earlier operations come first"), "{before}");
    // The order ends where the next return has no place.
    let why = order["next"].to_string();
    assert!(why.contains("is not legal in the state ["), "{why}");
}

#[test]
fn other_keys_play_no_part_in_orders() {
    let calls = [
        (0, "put", "\"a\", \"1\"", "null"),
        (0, "put", "\"b\", \"2\"", "null"),
        (0, "get", "\"b\"", "\"2\""),
        (0, "get", "\"a\"", "\"2\""),
    ];
    let f = Folder::new().with("h.jsonl", history("kv", &calls));
    let page = data(&f, "check h.jsonl");
    assert_eq!(page["timeline"]["order"]["op"], serde_json::json!([0]));
}

#[test]
fn a_state_is_told_as_what_differs_from_the_one_before() {
    let f = Folder::new().with("h.jsonl", example("queue-violation.jsonl"));
    let order = &data(&f, "check h.jsonl")["timeline"]["order"];
    assert_eq!(order["initial"], "empty");
    // empty, [1], [1 2], [2], [2 3]
    let told = serde_json::json!([[0, 0, "[1]"], [2, 1, " 2"], [1, 2, ""], [2, 1, " 3"]]);
    assert_eq!(order["state"], told);
}

#[test]
fn both_orders_of_a_quasi_linearizable_history_are_shown() {
    let f = Folder::new().with("h.jsonl", example("queue-violation.jsonl"));
    assert_eq!(f.run("check h.jsonl --quasi deq=1 --html h.html").code, 0);
    let Some(mut browser) = Browser::start(f.path()) else { return };
    browser.open(&f.path().join("h.html"), "");
    let moved = "[...document.querySelectorAll('#moved text.far')].map(text => text.textContent).join('; ')";
    assert_eq!(browser.eval(moved), "deq() -> 3  (1 place); deq() -> 2  (1 place)");
    browser.enter("#search", "deq() -> 3");
    assert!(browser.text("#details").contains("It is out of order by 1 place."));
    browser.assert_quiet();
}

#[test]
fn the_cells_and_scans_of_a_snapshot_are_shown() {
    let f = Folder::new().with("h.actions", example("histories/snapshot-violation-01.actions"));
    assert_eq!(f.run("check h.actions --html h.html").code, 1);
    let Some(mut browser) = Browser::start(f.path()) else { return };
    browser.open(&f.path().join("h.html"), "");
    let cells = "[...document.querySelectorAll('#cells tbody tr')].map(row =>
        [...row.cells].slice(2).map(cell => cell.textContent).join(',')).join(' ')";
    assert_eq!(browser.eval(cells), "\u{2190} 1, ,\u{2190} 2 1,0 0,2");
    let changed = "document.querySelectorAll('#cells td.changed').length";
    assert_eq!(browser.eval(changed), 2);
    browser.click("#cells tbody tr:last-child");
    assert!(browser.text("#details").contains("scan() -> [0 2]"));
    browser.assert_quiet();
}

#[test]
fn a_part_of_a_long_history_is_shown_with_a_strip_of_all() {
    let f = Folder::new();
    let generated = f.run("generate --spec register --operations 30000 --violation");
    std::fs::write(f.path().join("h.jsonl"), generated.stdout).unwrap();
    assert_eq!(f.run("check h.jsonl --html h.html --quiet").code, 1);
    let Some(mut browser) = Browser::start(f.path()) else { return };
    browser.open(&f.path().join("h.html"), "");
    assert!(browser.text("#window").contains(" of 30,000 operations"));
    assert_eq!(browser.eval("document.querySelectorAll('svg.whole .window').length"), 1);
    assert!(browser.eval(super::CLASHING).as_u64().unwrap() > 100, "the violation is in the view");
    browser.assert_quiet();
}
