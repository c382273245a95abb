//! Debian's `chromium`, headless, driven over its DevTools pipe.

use std::io::{BufReader, BufWriter, prelude::*};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

/// A browser with one page.
pub(super) struct Browser {
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
    pub(super) fn start(folder: &Path) -> Option<Browser> {
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
    pub(super) fn call(&mut self, method: &str, params: Json) -> Json {
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
    pub(super) fn open(&mut self, path: &Path, fragment: &str) {
        // A fragment alone would not load the page again.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        let url = format!("file://{}{fragment}", path.display());
        self.call("Page.navigate", json!({"url": url}));
        self.eval(
            "new Promise(done => { const ready = () => window.trueline ? done(true) : setTimeout(ready, 20); ready(); })",
        );
    }

    /// The value of an expression on the page, after the next frame was drawn.
    pub(super) fn eval(&mut self, expression: &str) -> Json {
        let frame = "await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));";
        let expression = format!(
            "(async () => {{ const value = await ({expression}); {frame} return value; }})()"
        );
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(super) fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({}).textContent", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("no text in {selector}")).to_string()
    }

    pub(super) fn click(&mut self, selector: &str) {
        self.eval(&format!("document.querySelector({}).click()", json!(selector)));
    }

    /// Types into an input, or moves a slider.
    pub(super) fn enter(&mut self, selector: &str, value: &str) {
        let (selector, value) = (json!(selector), json!(value));
        self.eval(&format!(
            "(() => {{ const input = document.querySelector({selector}); input.value = {value};
                input.dispatchEvent(new Event('input')); input.dispatchEvent(new Event('change')); }})()"
        ));
    }

    /// Presses a key.
    pub(super) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}));
        }
        self.eval("0");
    }

    /// Pretends that the reader has set this: `prefers-color-scheme` to `dark`.
    pub(super) fn prefer(&mut self, name: &str, value: &str) {
        let features = json!([{"name": name, "value": value}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
        // The page hears of it in one frame and draws in a later one.
        for _ in 0..4 {
            self.eval("0");
        }
    }

    /// A fact about the drawing: `selected`, `zoom`, `left`, `visible`, `rows`.
    pub(super) fn view(&mut self, fact: &str) -> f64 {
        self.eval(&format!("window.trueline.view.state().{fact}")).as_f64().unwrap()
    }

    /// Nothing was fetched, and the console is empty.
    #[track_caller]
    pub(super) fn assert_quiet(&mut self) {
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
