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
