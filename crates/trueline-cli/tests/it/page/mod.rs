//! The page in a real browser.
//!
//! Without chromium these tests say that they were skipped; with `CI` set a skip is a failure.

mod browser;
mod contents;
mod hostile;
mod picture;
mod steps;

use serde_json::json;

use crate::common::{Folder, example};
use browser::Browser;

/// How many pixels of the lanes have the colour of an operation that the sentence names.
const CLASHING: &str = "(() => {
    const c = document.getElementById('lanes'), data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const [r, g, b] = getComputedStyle(document.documentElement).getPropertyValue('--clash').trim().slice(1).match(/../g).map(x => parseInt(x, 16));
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) n++;
    return n;
})()";

#[test]
fn the_page_of_each_way_in_can_be_used() {
    let f = Folder::new()
        .with("bad.jsonl", example("queue-violation.jsonl"))
        .with("good.jsonl", example("queue-ok.jsonl"));
    let Some(mut browser) = Browser::start(f.path()) else { return };
    for (command, code) in [
        ("check bad.jsonl --html bad.html", 1),
        ("check good.jsonl --html good.html", 0),
        ("simulate herlihy-wing-queue-rereads --html code.html", 1),
        ("verify counter --set bug=1 --html model.html", 1),
        ("monitor --spec queue bad.jsonl --html stream.html", 1),
    ] {
        let run = f.run(command);
        assert_eq!(run.code, code, "{command}: {run:?}");
        let page = command.rsplit(' ').next().unwrap();
        assert_eq!(run.stdout.lines().last(), Some(&*format!("  page: {page}")), "{}", run.stdout);
    }

    // A violation: the sentence, the marked operations, search, a link, the longest order, the
    // table.
    browser.open(&f.path().join("bad.html"), "");
    assert!(browser.text("#verdict").starts_with("violation: bad.jsonl: 4 of 6 operations"));
    assert!(browser.text(".sentence").starts_with("deq() -> 3 overtook 2"));
    assert!(browser.eval(CLASHING).as_u64().unwrap() > 500, "the clash is drawn");
    browser.enter("#search", "enq(1)");
    assert_eq!(browser.text("#found"), "1 of 1 (Enter: next)");
    assert!(browser.text("#details").contains("enq(1)"));
    assert_eq!(browser.eval("location.hash"), "#op=0");
    assert!(browser.text("#next").contains("deq() -> 3 is not legal in the state [2 3]"));
    assert_eq!(browser.text("#state"), "[1]", "the state after the operation that is selected");
    assert!(
        browser
            .text("#details")
            .ends_with("state beforeemptyafter[1]It is in the longest order found.")
    );
    browser.click("#table tbody tr:nth-child(5)");
    assert!(browser.text("#details").contains("deq() -> 3"));
    browser.open(&f.path().join("bad.html"), "#op=5");
    assert!(browser.text("#details").contains("deq() -> 2"));
    let before = browser.view("zoom");
    browser.press("+");
    assert!(browser.view("zoom") > before);
    browser.assert_quiet();

    // A linearizable history: the slider walks through the witness.
    browser.open(&f.path().join("good.html"), "");
    assert!(browser.text("#verdict").starts_with("linearizable"));
    assert_eq!(browser.text("#state"), "empty");
    browser.enter("#slider", "2");
    assert_eq!(browser.text("#state"), "[2 1]");
    assert!(browser.text("#where").starts_with("2 of 4: enq(1)"));
    browser.assert_quiet();

    // Explored code and a model: the cursor steps through the trace.
    browser.open(&f.path().join("code.html"), "");
    browser.click("#step-on-0");
    browser.click("#step-on-0");
    assert_eq!(browser.text("#step-where-0"), "step 2 of 11");
    assert!(browser.text("#steps-0 tr.now").contains("herlihy_wing_queue.rs:"));
    browser.assert_quiet();
    browser.open(&f.path().join("model.html"), "");
    browser.click("#step-on-0");
    assert!(browser.text("#step-where-0").starts_with("step 1 of "));
    browser.click("#step-back-0");
    assert!(browser.text("#step-where-0").starts_with("before the first"));
    for _ in 0..4 {
        browser.press("]");
    }
    assert!(browser.text("#step-where-0").starts_with("step 4 of 4"));
    assert!(browser.text("#step-state-0").contains("H1"), "shared memory beside the cursor");
    assert!(browser.text("#table").contains("push() -> 1"), "the operations of the model");
    browser.open(&f.path().join("model.html"), "#step=3");
    assert!(browser.text("#step-where-0").starts_with("step 3 of 4"));
    browser.assert_quiet();
    browser.open(&f.path().join("stream.html"), "");
    assert!(browser.text(".sentence").contains("overtook"));
    browser.assert_quiet();
}

#[test]
fn lanes_are_hidden_and_moved_and_objects_are_chosen() {
    let f = Folder::new()
        .with("bad.jsonl", example("queue-violation.jsonl"))
        .with("keys.jsonl", example("keys-violation.jsonl"));
    let Some(mut browser) = Browser::start(f.path()) else { return };
    assert_eq!(f.run("check bad.jsonl --html bad.html").code, 1);
    assert_eq!(f.run("check keys.jsonl --html keys.html").code, 1);
    browser.open(&f.path().join("bad.html"), "");
    browser.click("#chooser summary");
    assert_eq!(browser.text(".lane-list label"), "alice");
    browser.click(".lane-list input");
    assert_eq!((browser.view("rows"), browser.view("visible")), (2.0, 3.0));
    assert!(!browser.text("#table").contains("alice"), "the table follows");
    // What is selected is shown again.
    browser.enter("#search", "enq(3)");
    assert_eq!(browser.view("rows"), 3.0);
    browser.click("#lanes-found");
    assert_eq!(browser.view("rows"), 1.0);
    browser.click("#all-lanes");
    browser.click(".lane-list span:nth-child(3) button");
    assert_eq!(browser.text(".lane-list span:nth-child(2) label"), "carol");
    browser.enter("#lane-filter", "bo");
    assert_eq!(browser.text(".lane-list"), "bob\u{2191}");
    browser.assert_quiet();

    browser.open(&f.path().join("keys.html"), "");
    let all = browser.view("visible");
    let of_first = "window.trueline.data.timeline.part.filter(part => part === 0).length";
    let of_first = browser.eval(of_first).as_f64().unwrap();
    browser.enter("#part", "0");
    assert_eq!(browser.view("visible"), of_first);
    assert!(of_first < all);
    browser.assert_quiet();
}

#[test]
fn everything_can_be_done_with_keys() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    let history = f.run("generate --spec queue --operations 300 --processes 30 --violation").stdout;
    std::fs::write(f.path().join("h.jsonl"), history).unwrap();
    assert_eq!(f.run("check h.jsonl --html h.html").code, 1);
    browser.open(&f.path().join("h.html"), "");
    browser.press("n");
    assert_eq!(browser.view("selected"), 0.0);
    browser.press("n");
    assert_eq!(browser.view("selected"), 1.0);
    browser.press("p");
    assert_eq!(browser.eval("location.hash"), "#op=0");
    browser.press("e");
    assert!(browser.view("left") > 0.0, "the violation is in the middle");
    browser.press("0");
    assert_eq!(browser.view("left"), 0.0);
    browser.press("+");
    browser.eval("document.getElementById('lanes').focus()");
    browser.press("End");
    let end = browser.view("left");
    browser.press("ArrowLeft");
    assert!(browser.view("left") < end);
    browser.press("Home");
    assert_eq!(browser.view("left"), 0.0);
    browser.press("PageDown");
    assert!(browser.view("left") > 0.0);
    browser.press("ArrowUp");
    let above = browser.view("scrolled");
    browser.press("ArrowDown");
    assert!(browser.view("scrolled") > above);
    browser.press("[");
    assert!(browser.text("#where").contains(" of "));
    browser.press("?");
    assert_eq!(browser.eval("document.getElementById('keys').open"), true);
    browser.press("/");
    assert_eq!(browser.eval("document.activeElement.id"), "search");
    browser.press("Escape");
    assert_eq!(browser.eval("document.activeElement.id"), "lanes");
    let unreachable =
        "[...document.querySelectorAll('button, input, select, summary, #table tr[data-op]')]
        .filter(element => element.tabIndex < 0).length";
    assert_eq!(browser.eval(unreachable), 0);
    browser.assert_quiet();
}

#[test]
fn dark_print_still_and_as_a_drawing() {
    let f = Folder::new().with("bad.jsonl", example("queue-violation.jsonl"));
    let Some(mut browser) = Browser::start(f.path()) else { return };
    assert_eq!(f.run("check bad.jsonl --html bad.html").code, 1);
    assert_eq!(f.run("simulate herlihy-wing-queue-rereads --html code.html").code, 1);
    let corner = "(() => { const c = document.getElementById('lanes');
        return c.getContext('2d').getImageData(2, 2, 1, 1).data[0]; })()";
    browser.open(&f.path().join("bad.html"), "");
    assert_eq!(browser.eval(corner), 255);
    browser.prefer("prefers-color-scheme", "dark");
    assert_eq!(browser.eval(corner), 0x15, "the drawing follows");
    assert!(browser.eval(CLASHING).as_u64().unwrap() > 500);
    // Paper is light.
    browser.eval("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.eval(corner), 255);
    browser.eval("dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.eval(corner), 0x15);
    let pdf = browser.call("Page.printToPDF", json!({}));
    assert!(pdf["data"].as_str().unwrap().len() > 10_000);
    let drawing = browser.eval(
        "(async () => {
            let saved = null;
            URL.createObjectURL = blob => { saved = blob; return 'data:,'; };
            HTMLAnchorElement.prototype.click = () => {};
            document.getElementById('save').click();
            return saved.text();
        })()",
    );
    let drawing = drawing.as_str().unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains(">deq() -&gt; 3</text>"), "{drawing}");
    browser.assert_quiet();

    // Steps come into view at once where motion is not wanted.
    browser.prefer("prefers-reduced-motion", "reduce");
    let low = json!({"width": 1200, "height": 300, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", low);
    browser.open(&f.path().join("code.html"), "");
    let scrolled =
        "(() => { const slider = document.getElementById('step-slider-0'); slider.value = 11;
        slider.dispatchEvent(new Event('input'));
        return document.getElementById('steps-0').closest('.scroll').scrollTop; })()";
    assert!(browser.eval(scrolled).as_f64().unwrap() > 0.0);
    browser.assert_quiet();
}

#[test]
fn several_reports_make_a_folder_with_an_index() {
    let f = Folder::new()
        .with("a.jsonl", "{\"process\":0,\"call\":\"read\"}\n{\"process\":0,\"return\":7}\n")
        .with("b.jsonl", "{\"process\":0,\"call\":\"read\"}\n{\"process\":0,\"return\":null}\n");
    let run = f.run("check --spec register a.jsonl b.jsonl --html pages");
    assert_eq!(run.code, 1, "{run:?}");
    for page in ["index.html", "1.html", "2.html"] {
        assert!(f.path().join("pages").join(page).exists(), "{page}");
    }
    let Some(mut browser) = Browser::start(f.path()) else { return };
    browser.open(&f.path().join("pages/index.html"), "");
    assert_eq!(browser.text("#index tr:first-child td"), "violation");
    browser.enter("#search", "b.jsonl");
    assert_eq!(browser.text("#found"), "1 of 2 rows");
    browser.assert_quiet();
    let run = f.run("check --spec register a.jsonl --html nowhere/a.html");
    assert!(run.code == 2 && run.stderr.contains("--html: nowhere/a.html"), "{run:?}");
}

#[test]
fn the_pages_of_a_corpus_are_linked_from_a_table() {
    let f = Folder::new()
        .with("bad.jsonl", example("queue-violation.jsonl"))
        .with("good.jsonl", example("queue-ok.jsonl"))
        .with(
            "M.tsv",
            "path\tformat\tspec\tindependent_keys\toperations\tverdict\tprovenance\n\
             bad.jsonl\tjson-lines\tqueue\tno\t6\tviolation\tstated\n\
             good.jsonl\tjson-lines\tqueue\tno\t5\tviolation\tstated\n\
             none.jsonl\tjson-lines\tqueue\tno\t5\tviolation\tstated\n",
        );
    let run = f.run("corpus M.tsv --html pages");
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(run.stdout.lines().last(), Some("  page: pages/index.html"));
    let Some(mut browser) = Browser::start(f.path()) else { return };
    browser.open(&f.path().join("pages/index.html"), "");
    let rows = "[...document.querySelectorAll('#index tr')].map(row =>
        [...row.cells].filter((_, k) => k !== 2).map(cell => cell.textContent).join(', ')).join('\\n')";
    assert_eq!(
        browser.eval(rows),
        "violation, bad.jsonl, passed: expected violation\n\
         linearizable, good.jsonl, failed: expected violation\n\
         failed, none.jsonl, failed: expected violation"
    );
    let link = browser.eval("document.querySelector('#index a').getAttribute('href')");
    assert_eq!(link, "1.html");
    browser.open(&f.path().join("pages/1.html"), "");
    assert!(browser.text(".sentence").starts_with("deq() -> 3 overtook 2"));
    browser.assert_quiet();
}
