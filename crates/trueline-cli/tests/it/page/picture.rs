//! The lanes are drawn from tiles that are kept: what is on the screen is what painting everything
//! anew gives.

use std::fs;

use super::browser::Browser;
use crate::common::Folder;

/// The pixels of the lanes as a number.
const PIXELS: &str = "(() => {
    const c = document.getElementById('lanes');
    let n = 7;
    for (const x of c.getContext('2d').getImageData(0, 0, c.width, c.height).data) n = (Math.imul(n, 31) + x) | 0;
    return n;
})()";

impl Browser {
    /// Waits until every tile is painted.
    fn settle(&mut self) {
        for _ in 0..100 {
            if self.view("isWhole") == 1.0 {
                self.eval("0");
                return;
            }
        }
        panic!("the picture never becomes whole");
    }

    /// The picture on the screen and the one that is painted at once are the same.
    #[track_caller]
    fn assert_same_at_once(&mut self, what: &str) {
        self.settle();
        let kept = self.eval(PIXELS);
        // For print, everything is painted anew; paper is light, as the page is.
        self.eval("dispatchEvent(new Event('beforeprint'))");
        assert_eq!(kept, self.eval(PIXELS), "{what}");
        self.eval("dispatchEvent(new Event('afterprint'))");
    }
}

#[test]
fn what_tiles_show_is_what_painting_at_once_shows() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    let many = f.run("generate --spec queue --operations 3000 --processes 40 --violation").stdout;
    let open = "{\"process\":0,\"call\":\"write\",\"args\":[1]}\n\
        {\"process\":1,\"call\":\"read\"}\n{\"process\":1,\"return\":1}\n"
        .to_string();
    let more = |i: u32| {
        format!(
            "{{\"process\":1,\"call\":\"write\",\"args\":[{i}]}}\n{{\"process\":1,\"return\":null}}\n"
        )
    };
    let open = open + &(2..300).map(more).collect::<String>();
    for (name, history, spec) in [("many", many, "queue"), ("open", open, "register")] {
        fs::write(f.path().join("h.jsonl"), history).unwrap();
        let run = f.run(&format!("check h.jsonl --spec {spec} --html {name}.html"));
        assert!(run.code < 2, "{run:?}");
        browser.open(&f.path().join(format!("{name}.html")), "");
        browser.assert_same_at_once("as it opens");
        browser.eval("document.getElementById('lanes').focus()");
        for keys in ["End", "ArrowLeft ArrowLeft", "0", "+ + +", "ArrowRight ArrowDown", "- n"] {
            for key in keys.split(' ') {
                browser.press(key);
            }
            browser.assert_same_at_once(&format!("{name}: {keys}"));
        }
        browser.assert_quiet();
    }
}

#[test]
fn a_frame_paints_a_part_of_what_is_missing() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    let history = f.run("generate --spec queue --operations 10000 --processes 60").stdout;
    fs::write(f.path().join("h.jsonl"), history).unwrap();
    assert_eq!(f.run("check h.jsonl --html h.html").code, 0);
    browser.open(&f.path().join("h.html"), "");
    browser.settle();
    // The first frame after the zoom has changed does not paint everything.
    let first = "(async () => {
        const button = document.querySelector('button[title^=\"zoom in\"]');
        button.click();
        await new Promise(done => requestAnimationFrame(done));
        return window.trueline.view.state().isWhole;
    })()";
    assert_eq!(browser.eval(first), 0);
    browser.settle();
    browser.assert_quiet();
}

#[test]
fn a_sign_stands_above_what_the_sentence_names_where_boxes_are_narrow() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    let history = f.run("generate --spec queue --operations 5000 --violation").stdout;
    fs::write(f.path().join("h.jsonl"), history).unwrap();
    assert_eq!(f.run("check h.jsonl --html h.html").code, 1);
    browser.open(&f.path().join("h.html"), "");
    browser.press("0");
    browser.settle();
    let edges = super::CLASHING.replace("'--clash'", "'--clash-edge'");
    assert!(browser.eval(&edges).as_u64().unwrap() > 20, "the violation is seen from far away");
    browser.assert_quiet();
}

#[test]
fn operations_that_clash_are_shown_together_where_the_lanes_cannot_show_them() {
    let f = Folder::new();
    let Some(mut browser) = Browser::start(f.path()) else { return };
    // 400 writes lie between the write and the read that has lost it, so that not both are in view.
    let call = |process, method: &str, args: String, result: &str| {
        format!(
            "{{\"process\":{process},\"call\":\"{method}\",\"args\":[{args}]}}\n\
             {{\"process\":{process},\"return\":{result}}}\n"
        )
    };
    let mut history = call(0, "add", "7".into(), "true");
    history.extend((100..500).map(|i| call(1, "add", i.to_string(), "true")));
    history += &call(2, "contains", "7".into(), "false");
    fs::write(f.path().join("h.jsonl"), history).unwrap();
    assert_eq!(f.run("check h.jsonl --spec set --html h.html").code, 1);
    browser.open(&f.path().join("h.html"), "");
    let labels =
        "[...document.querySelectorAll('#clash .op > text')].map(t => t.textContent).join(', ')";
    assert_eq!(browser.eval(labels), "add(7) -> true, contains(7) -> false");
    // What returned before the other was called is left of it.
    let places =
        "[...document.querySelectorAll('#clash .op rect')].map(r => r.getBoundingClientRect())";
    assert_eq!(browser.eval(&format!("{places}[0].right < {places}[2].left")), true);
    browser.eval("document.querySelector('#clash .op').dispatchEvent(new Event('click'))");
    assert_eq!(browser.eval("location.hash"), "#op=0");
    browser.assert_quiet();
    // Where all are in view there is no such drawing.
    let f = Folder::new().with("bad.jsonl", crate::common::example("queue-violation.jsonl"));
    assert_eq!(f.run("check bad.jsonl --html bad.html").code, 1);
    browser.open(&f.path().join("bad.html"), "");
    assert_eq!(browser.eval("document.getElementById('clash') === null"), true);
}
