//! Steps with arrows, and the state graph of a model.

use super::browser::Browser;
use super::contents::data;
use crate::common::Folder;

#[test]
fn an_arrow_joins_both_accesses_of_a_data_race() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    assert_eq!(f.run("simulate treiber-stack-relaxed --html race.html").code, 1);
    browser.open(&f.path().join("race.html"), "");
    let race = "window.trueline.data.sections.find(s => s.kind === 'steps')";
    let did = browser.eval(&format!("{race}.race.map(k => {race}.steps[k].did[0])"));
    assert_eq!(did, serde_json::json!(["plain write @2", "plain read @2"]));
    assert!(browser.text(".bar .bad").starts_with("data race: steps 2 and 5"));
    assert_eq!(browser.eval("document.querySelectorAll('#arrows-0 .arrow.race').length"), 1);
    // Its ends are beside the rows of the two steps.
    let ends = "(() => {
        const arrow = document.querySelector('#arrows-0 .arrow.race').getBoundingClientRect();
        const rows = [...document.querySelectorAll('#steps-0 tbody tr')].map(row => row.getBoundingClientRect());
        const within = (y, row) => y > row.top - 2 && y < row.bottom + 2;
        return within(arrow.top, rows[1]) && within(arrow.bottom, rows[4]);
    })()";
    assert_eq!(browser.eval(ends), true);
    assert!(browser.eval(super::CLASHING).as_u64().unwrap() > 500, "both operations are marked");
    browser.assert_quiet();
}

#[test]
fn an_arrow_leads_from_the_store_to_the_step_that_reads_it() {
    let f = Folder::new();
    let page = data(&f, "simulate herlihy-wing-queue-rereads");
    let steps = page["sections"].as_array().unwrap().iter().find(|s| s["kind"] == "steps").unwrap();
    let from: Vec<String> = steps["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| format!("{} {}", step["did"][0].as_str().unwrap(), step["from"]))
        .collect();
    // Thread 2 reads what thread 1 wrote, also through a swap; no thread reads from itself.
    assert_eq!(from[0], "fetch_add @1: 0 -> 1 []");
    assert_eq!(from[1], "load @1 = 1 [0]");
    assert_eq!(from[6], "store @2: 0x8000000000000000 -> 1 []");
    assert_eq!(from[9], "load @1 = 2 [7]");
    assert_eq!(from[10], "swap @3: 2 -> 0x8000000000000000 [8]");
    let model = data(&f, "verify counter --set bug=1");
    let steps =
        model["sections"].as_array().unwrap().iter().find(|s| s["kind"] == "steps").unwrap();
    let from: Vec<_> =
        steps["steps"].as_array().unwrap().iter().map(|s| s["from"].clone()).collect();
    assert_eq!(serde_json::json!(from), serde_json::json!([[], [], [], [2]]));

    let Some(mut browser) = Browser::start(f.path()) else { return };
    assert_eq!(f.run("verify counter --set bug=1 --html model.html").code, 1);
    browser.open(&f.path().join("model.html"), "#step=3");
    let arrows = "document.querySelectorAll('#arrows-0 .arrow.from').length";
    assert_eq!(browser.eval(arrows), 0);
    browser.press("]");
    assert_eq!(browser.eval(arrows), 1);
    browser.assert_quiet();
}

#[test]
fn the_state_graph_shows_states_and_the_run() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    let run = f.run("verify counter --set bug=1 --html model.html --graph page");
    assert_eq!(run.code, 1, "{run:?}");
    browser.open(&f.path().join("model.html"), "");
    let count = |what: &str| format!("document.querySelectorAll('#graph {what}').length");
    // As many as the search without reductions finds, and the state that nothing explains.
    assert_eq!(browser.eval(&count(".state")), 20);
    assert_eq!(browser.eval(&count(".move.run")), 4);
    assert_eq!(browser.eval(&count(".state.wrong")), 1);
    assert!(browser.text("#graph-state").starts_with("State 0, 0 steps from the first"));
    // A click selects, the address names the state, a step leads on.
    browser.eval(
        "document.querySelector('#graph [data-state=\"6\"]').dispatchEvent(new Event('click'))",
    );
    assert!(browser.text("#graph-state").starts_with("State 6, 2 steps from the first"));
    assert!(browser.text("#graph-state").contains("top0"), "the variables of the processes");
    assert_eq!(browser.eval("location.hash"), "#state=6");
    browser.click("#graph-state button[data-to='13']");
    assert!(browser.text("#graph-state").starts_with("State 13"));
    // Keys follow the run to its end; the cursor of the steps moves the graph as well.
    browser.eval("document.getElementById('graph').focus()");
    browser.press("Home");
    for _ in 0..4 {
        browser.press("ArrowDown");
    }
    assert!(browser.text("#graph-state").contains("nothing explains the last step"));
    browser.press("ArrowUp");
    assert!(browser.text("#graph-state").starts_with("State 13"));
    browser.press("ArrowRight");
    assert!(browser.text("#graph-state").starts_with("State 14"));
    browser.press("[");
    browser.press("]");
    assert!(browser.text("#graph-state").starts_with("State 1, 1 step from"));
    browser.open(&f.path().join("model.html"), "#state=19");
    assert!(browser.text("#graph-state").starts_with("State 19"));
    let drawing = browser.eval(
        "(async () => {
            let saved = null;
            URL.createObjectURL = blob => { saved = blob; return 'data:,'; };
            HTMLAnchorElement.prototype.click = () => {};
            document.getElementById('graph-save').click();
            return saved.text();
        })()",
    );
    let drawing = drawing.as_str().unwrap();
    assert!(drawing.starts_with("<svg") && !drawing.contains("var(--"), "{drawing}");
    browser.assert_quiet();
}

#[test]
fn the_largest_state_graph_of_a_page_is_drawn() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    let run = f.run("verify ticket-lock --set procs=3 --html model.html --graph page");
    assert_eq!(run.code, 0, "{run:?}");
    browser.open(&f.path().join("model.html"), "");
    let states = browser.eval("window.trueline.data.graph.states.length").as_u64().unwrap();
    assert!((300..=1_000).contains(&states), "{states}");
    assert_eq!(browser.eval("document.querySelectorAll('#graph .state').length"), states);
    // No two states of a row overlap.
    let least = "(() => {
        const places = [...document.querySelectorAll('#graph .state')].map(s => s.getAttribute('transform').match(/-?[\\d.]+/g).map(Number));
        places.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
        return Math.min(...places.slice(1).map((p, k) => p[1] === places[k][1] ? p[0] - places[k][0] : 1000));
    })()";
    assert!(browser.eval(least).as_f64().unwrap() > 40.0);
    browser.assert_quiet();
}
