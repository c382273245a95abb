//! The page in a real browser: Debian's `chromium`, headless, driven over its DevTools pipe.
//!
//! Without chromium the test says that it was skipped; with `CI` set a skip is a failure.

use std::io::{BufReader, BufWriter, prelude::*};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

use crate::common::{Folder, example};

/// A browser with one page.
struct Browser {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// What the console said, and errors of scripts.
    console: Vec<String>,
}

impl Browser {
    /// `None` where there is no browser.
    fn start(folder: &Path) -> Option<Browser> {
        let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        });
        let Some(name) = found else {
            let missing = "skipped: no chromium; 'apt-get install chromium' installs it";
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            eprintln!("{missing}");
            return None;
        };
        // The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        let script = format!(
            "exec {name} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
             --disable-background-networking --disable-component-update --disable-sync \
             --disable-dev-shm-usage --window-size=1200,900 --remote-debugging-pipe \
             --user-data-dir=profile 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = BufWriter::new(child.stdin.take().unwrap());
        let from = BufReader::new(child.stdout.take().unwrap());
        let (session, next, console) = (String::new(), 0, Vec::new());
        let mut browser = Browser { child, to, from, session, next, console };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().unwrap().to_string();
        browser.call("Runtime.enable", json!({}));
        browser.call("Page.enable", json!({}));
        Some(browser)
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, params: Json) -> Json {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(b"\0").unwrap();
        self.to.flush().unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn read(&mut self) -> Json {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        bytes.pop().expect("the browser has ended");
        let message: Json = serde_json::from_slice(&bytes).unwrap();
        let told = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown"];
        if message["method"].as_str().is_some_and(|method| told.contains(&method)) {
            self.console.push(message["params"].to_string());
        }
        message
    }

    /// Opens a page and waits until it is loaded.
    fn open(&mut self, path: &Path, fragment: &str) {
        // A fragment alone would not load the page again.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        let url = format!("file://{}{fragment}", path.display());
        self.call("Page.navigate", json!({"url": url}));
        self.eval(
            "new Promise(done => { const ready = () => window.trueline ? done(true) : setTimeout(ready, 20); ready(); })",
        );
    }

    /// The value of an expression on the page, after the next frame was drawn.
    fn eval(&mut self, expression: &str) -> Json {
        let frame = "await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));";
        let expression = format!(
            "(async () => {{ const value = await ({expression}); {frame} return value; }})()"
        );
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({}).textContent", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("no text in {selector}")).to_string()
    }

    fn click(&mut self, selector: &str) {
        self.eval(&format!("document.querySelector({}).click()", json!(selector)));
    }

    /// Nothing was fetched, and the console is empty.
    #[track_caller]
    fn assert_quiet(&mut self) {
        let fetched = self.eval("performance.getEntriesByType('resource').length");
        assert_eq!(fetched, 0, "the page fetches something");
        assert!(self.console.is_empty(), "{:?}", self.console);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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

    // A violation: the sentence, the marked operations, search, a link, the longest order, the table.
    browser.open(&f.path().join("bad.html"), "");
    assert!(browser.text("#verdict").starts_with("violation: bad.jsonl: 4 of 6 operations"));
    assert!(browser.text(".sentence").starts_with("deq() -> 3 overtook 2"));
    assert!(browser.eval(CLASHING).as_u64().unwrap() > 500, "the clash is drawn");
    browser.eval("(() => { const s = document.getElementById('search'); s.value = 'enq(1)'; s.dispatchEvent(new Event('input')); })()");
    assert_eq!(browser.text("#found"), "1 of 1 (Enter: next)");
    assert!(browser.text("#details").contains("enq(1)"));
    assert_eq!(browser.eval("location.hash"), "#op=0");
    assert!(browser.text("#next").contains("deq() -> 3 is not legal: the object is [2 3]"));
    browser.click("#table tbody tr:nth-child(5)");
    assert!(browser.text("#details").contains("deq() -> 3"));
    browser.open(&f.path().join("bad.html"), "#op=5");
    assert!(browser.text("#details").contains("deq() -> 2"));
    let before = browser.eval("window.trueline.view.state().zoom").as_f64().unwrap();
    let key = |kind: &str| json!({"type": kind, "key": "+", "text": "+"});
    browser.call("Input.dispatchKeyEvent", key("keyDown"));
    browser.call("Input.dispatchKeyEvent", key("keyUp"));
    assert!(browser.eval("window.trueline.view.state().zoom").as_f64().unwrap() > before);
    browser.assert_quiet();

    // A linearizable history: the slider walks through the witness.
    browser.open(&f.path().join("good.html"), "");
    assert!(browser.text("#verdict").starts_with("linearizable"));
    assert_eq!(browser.text("#state"), "empty");
    browser.eval("(() => { const s = document.getElementById('slider'); s.value = 1; s.dispatchEvent(new Event('input')); })()");
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
    browser.assert_quiet();
    browser.open(&f.path().join("stream.html"), "");
    assert!(browser.text(".sentence").contains("overtook"));
    browser.assert_quiet();
}

#[test]
fn strings_of_the_history_never_become_markup() {
    let nasty = "</script><img src=x onerror=alert(1)><!--\\u2028\\u202e";
    let history = format!(
        "{{\"process\":\"{nasty}\",\"call\":\"write\",\"args\":[\"{nasty}\"]}}\n\
         {{\"process\":\"{nasty}\",\"return\":null}}\n\
         {{\"process\":\"{nasty}\",\"call\":\"read\"}}\n\
         {{\"process\":\"{nasty}\",\"return\":\"{}\"}}\n",
        "x".repeat(1_000_000)
    );
    let f = Folder::new().with("h.jsonl", history);
    let run = f.run("check h.jsonl --spec register --html h.html");
    assert_eq!(run.code, 1, "{run:?}");
    let page = std::fs::read_to_string(f.path().join("h.html")).unwrap();
    assert_eq!(page.matches("</script>").count(), 2, "the two elements of the page itself");
    let Some(mut browser) = Browser::start(f.path()) else { return };
    browser.open(&f.path().join("h.html"), "");
    assert_eq!(browser.eval("document.images.length"), 0);
    assert!(browser.text("#table").contains("</script>"));
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
    let run = f.run("check --spec register a.jsonl --html nowhere/a.html");
    assert!(run.code == 2 && run.stderr.contains("--html: nowhere/a.html"), "{run:?}");
}
