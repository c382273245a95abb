#!/usr/bin/env python3
"""Opens pages in chromium and prints how large they are, how soon they show something, and what a frame costs.

Usage: page.py PAGE... [--frames N]

For each page: its size; the time from the start of the navigation to the first paint and to the end of
the page's own script; the processor time of the main thread until then; and milliseconds of script +
layout + paint of a frame, from a trace taken through the DevTools protocol: while the lanes are dragged
from side to side where the page opens, with everything in view and at a zoom between these, and while
they are zoomed. The trace counts what the main thread does; rasterising and compositing happen
elsewhere. Other processes delay the wall, not the time that the thread has a processor. A page of
another tool is dragged where it opens.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time


class Browser:
    """A headless chromium, driven over its DevTools pipe."""

    def __init__(self, folder):
        to_browser, self.to = os.pipe()
        self.frm, from_browser = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--window-size=1200,900", "--remote-debugging-pipe",
                   f"--user-data-dir={folder}"]

        def place():
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)
        self.child = subprocess.Popen(command, preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.buffer:
            self.buffer += os.read(self.frm, 1 << 20)
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def wait(self, method):
        while True:
            for k, event in enumerate(self.events):
                if event["method"] == method:
                    del self.events[:k + 1]
                    return event
            self.read()

    def eval(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def trace(self, work):
        self.events.clear()
        self.call("Tracing.start", transferMode="ReportEvents", traceConfig={
            "includedCategories": ["devtools.timeline", "toplevel", "disabled-by-default-devtools.timeline", "loading", "blink.user_timing"]})
        work()
        self.call("Tracing.end")
        while not any(event["method"] == "Tracing.tracingComplete" for event in self.events):
            self.read()
        return [e for event in self.events if event["method"] == "Tracing.dataCollected" for e in event["params"]["value"]]

    def close(self):
        self.child.kill()
        self.child.wait()


def drag(browser, frames):
    """Drags the drawing to and fro, a step a frame."""
    y = browser.eval("(() => { const e = document.getElementById('lanes') || document.querySelector('svg') || document.body;"
                     "  e.scrollIntoView(); const r = e.getBoundingClientRect(); return r.top + Math.min(r.height, 200) / 2; })()")
    mouse = lambda kind, x: browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
    mouse("mousePressed", 900)
    for frame in range(frames):
        phase = frame % 120
        mouse("mouseMoved", 900 - 5 * (phase if phase < 60 else 120 - phase))
        time.sleep(1 / 60)
    mouse("mouseReleased", 900)


def wheel(browser, frames):
    """Zooms out and in, a step a frame."""
    x, y = browser.eval("(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return [r.left + r.width / 2, r.top + 60]; })()")
    for frame in range(frames):
        delta = 30 if frame % 120 < 60 else -30
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta, modifiers=2)
        time.sleep(1 / 60)


def press(browser, *keys):
    for key in keys:
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key)
    time.sleep(0.5)


# What the main thread does for a frame; each of these contains those that it calls.
COSTS = {"FunctionCall", "FireAnimationFrame", "EvaluateScript", "EventDispatch", "UpdateLayoutTree", "Layout", "PrePaint", "Paint", "Layerize", "Commit", "HitTest", "MinorGC", "MajorGC"}


def frame_costs(events, clock):
    """Milliseconds of script, layout and paint from the start of each animation frame to the next. `clock` is
    "dur" for the wall, "tdur" for the time that the thread had a processor."""
    spans = [(e["ts"], e["dur"], e.get(clock, 0), (e["pid"], e["tid"])) for e in events if e.get("ph") == "X" and e["name"] in COSTS]
    threads = {}
    for _, duration, _, thread in spans:
        threads[thread] = threads.get(thread, 0) + duration
    main = max(threads, key=threads.get)
    spans = sorted(s for s in spans if s[3] == main)
    starts = sorted(e["ts"] for e in events if e["name"] == "AnimationFrame" and e["ph"] == "b" and (e["pid"], e["tid"]) == main)
    costs, end = [0.0] * (len(starts) + 1), 0
    turn = 0
    for start, duration, cost, _ in spans:
        while turn < len(starts) and start >= starts[turn]:
            turn += 1
        if start >= end:  # not inside one that is counted already
            costs[turn] += cost / 1000
            end = start + duration
    return sorted(costs[1:-1])


def work_until_drawn(events):
    """Milliseconds for which the thread that ran the page's script had a processor."""
    spans = [e for e in events if e.get("ph") == "X"]
    mains = {(e["pid"], e["tid"]) for e in spans if e["name"] == "EvaluateScript"}
    times = {main: sum(e.get("tdur", 0) for e in spans if (e["pid"], e["tid"]) == main and e["name"] == "ThreadControllerImpl::RunTask") for main in mains}
    return max(times.values(), default=float("nan")) / 1000


def measure(browser, page, frames):
    browser.call("Page.navigate", url="about:blank")
    url = "file://" + os.path.abspath(page)

    def load():
        browser.call("Page.navigate", url=url)
        browser.wait("Page.loadEventFired")
        browser.eval("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
    load()  # once, so that the disk and the browser are warm
    browser.call("Page.navigate", url="about:blank")
    events = browser.trace(load)
    for _ in range(40):
        if browser.eval("performance.getEntriesByType('paint').length"):
            break
        time.sleep(0.05)
    painted = browser.eval("(performance.getEntriesByName('first-contentful-paint')[0] || performance.getEntriesByName('first-paint')[0] || {startTime: -1}).startTime")
    loaded = browser.eval("performance.timing.loadEventEnd - performance.timing.navigationStart")
    print(f"{os.path.basename(page)}: {os.path.getsize(page) / 1e6:.2f} MB, first paint {painted:.0f} ms, loaded {loaded:.0f} ms; "
          f"processor time of the main thread until it is drawn: {work_until_drawn(events):.0f} ms", flush=True)

    def tell(name, work):
        events = browser.trace(lambda: work(browser, frames))
        text = f"  {name:24}"
        for clock, label in (("tdur", "processor"), ("dur", "wall")):
            costs = frame_costs(events, clock)
            at = lambda share: costs[min(len(costs) - 1, int(len(costs) * share))] if costs else float("nan")
            text += f" {label}: median {at(0.5):.1f}, 99 % {at(0.99):.1f}, most {at(1):.1f};"
        print(f"{text} {len(costs)} frames", flush=True)
    tell("dragged as it opens", drag)
    if browser.eval("Boolean(window.trueline && window.trueline.view)"):
        press(browser, "0")
        tell("dragged, all in view", drag)
        while browser.eval("window.trueline.view.state().zoom") < 0.15:
            press(browser, "+")
        tell("dragged, boxes of 10 px", drag)
        press(browser, "0", "+", "+", "+")
        tell("zoomed out and in", wheel)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    parser.add_argument("--frames", type=int, default=240)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        for page in arguments.pages:
            measure(browser, page, arguments.frames)
        browser.close()


if __name__ == "__main__":
    main()
