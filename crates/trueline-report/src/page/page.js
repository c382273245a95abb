"use strict";
// The page of one report. Nothing here decides anything: it draws what trueline found. All text of the
// report reaches the document through textContent or canvas, never as markup.
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== undefined && child !== null) element.append(child);
  return element;
}
// Calls stand between backticks.
const quoted = text => short(text).split("`").map((piece, k) => k % 2 ? make("code", {}, piece) : piece);
const short = (text, most = 2000) => text.length > most ? text.slice(0, most) + "…" : text;
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// The headline and how to reproduce it.
document.title = short(`${D.words}: ${D.subject}`, 200);
page.append(make("h1", { id: "verdict" },
  make("span", { class: D.role }, D.words), D.subject ? `: ${short(D.subject)}` : "", D.summary ? `: ${short(D.summary)}` : ""));
function command(label, text) {
  const button = make("button", { onclick: () => {
    const done = () => { button.textContent = "copied"; setTimeout(() => button.textContent = "copy", 1200); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
  } }, "copy");
  return make("div", { class: "command" }, make("span", { class: "soft" }, label), make("code", {}, text), button);
}

// The sections before the drawing: the sentence and what else is said in words.
const said = make("div", { id: "said" });
page.append(said);
let stepsAt = 0;
const traces = [];
for (const section of D.sections) {
  if (section.kind === "sentence") {
    if (section.title) said.append(make("p", { class: "soft" }, section.title));
    said.append(make("p", { class: "sentence" }, quoted(section.text)));
    for (const line of section.more) said.append(make("p", {}, quoted(line)));
  } else if (section.kind === "text") {
    said.append(make("p", { class: section.role || undefined }, quoted(section.text)));
  } else if (section.kind === "quote") {
    said.append(make("p", {}, section.title), make("pre", {}, section.text));
  } else if (section.kind === "steps") {
    traces.push(section);
  }
}
if (D.reproduce) page.append(command("reproduce", D.reproduce));
if (D.replay) page.append(command("replay", D.replay));

// The operations in lanes.
const T = D.timeline;
let view = null;
if (T && T.lane.length) view = timeline(T);
for (const trace of traces) steps(trace, stepsAt++);
details();

function timeline(T) {
  const n = T.lane.length;
  const LANE = 34, TOP = 24, FONT = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  const hidden = new Set();
  let order = T.lanes.map((_, i) => i);
  let selected = -1, zoom = 1, left = 0, matches = [], matchAt = -1, cursor = -1, part = -1;

  page.append(make("h2", {}, "Operations"));
  const search = make("input", { id: "search", type: "search", placeholder: "search: text, process, value ( / )", size: 34,
    "aria-label": "search operations", oninput: () => find(search.value, false), onkeydown: event => { if (event.key === "Enter") { find(search.value, true); event.preventDefault(); } } });
  const found = make("span", { id: "found", class: "soft", role: "status" });
  const parts = T.parts.length > 1 ? make("select", { id: "part", "aria-label": "object or key", onchange: () => { part = +parts.value; layout(); draw(); table(); } },
    make("option", { value: -1 }, "all objects and keys"), T.parts.map((name, i) => make("option", { value: i }, short(name, 60)))) : null;
  page.append(make("div", { class: "bar" }, search, found, parts,
    make("button", { onclick: () => scale(1.5), title: "zoom in ( + )" }, "+"),
    make("button", { onclick: () => scale(1 / 1.5), title: "zoom out ( - )" }, "−"),
    make("button", { onclick: whole }, "whole history"),
    T.mark.some(m => m) ? make("button", { id: "jump", onclick: story, title: "( e )" }, "go to the violation") : null,
    make("button", { onclick: svg }, "save as SVG")));
  const legend = make("p", { class: "soft legend" },
    make("span", {}, make("i", { class: "key" }), "operation, from call to return"),
    T.mark.includes(1) ? make("span", {}, make("i", { class: "key story" }), "part of the explanation") : null,
    T.mark.includes(2) ? make("span", {}, make("i", { class: "key clash" }), "named by the sentence (double edge)") : null,
    T.end.includes(-1) ? make("span", {}, make("i", { class: "key pending" }), "no return: may take effect at any later time, or never") : null,
    "time goes from left to right and is not to scale");
  page.append(legend);
  if (T.note) page.append(make("p", { class: "doubt", id: "window" }, T.note));
  const lanes = make("canvas", { id: "lanes", tabindex: 0, role: "img", "aria-label": "operations in lanes; arrow keys pan, + and - zoom, n and p select" });
  const overview = make("canvas", { id: "overview", "aria-hidden": "true" });
  page.append(make("div", { class: "frame" }, lanes, overview));
  const box = make("div", { id: "details", role: "status" }, make("span", { class: "soft" }, "Select an operation: click it, or press n and p."));
  page.append(box);
  const chooser = make("details", {}, make("summary", {}, "lanes: hide and reorder"));
  const list = make("div", { class: "lane-list" });
  chooser.append(list);
  if (T.lanes.length > 1) page.append(chooser);

  // Positions: one scan over the events places every call and return so that labels fit.
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = FONT;
  const charWidth = measure.measureText("m").width;
  const shown = T.label.map(label => short(label, 40));
  const width = shown.map(label => Math.max(14, [...label].length * charWidth + 12));
  const events = [];
  for (let i = 0; i < n; i++) { events.push([T.call[i], i, 0]); if (T.end[i] >= 0) events.push([T.end[i], i, 1]); }
  events.sort((a, b) => a[0] - b[0]);
  let x0 = new Float64Array(n), x1 = new Float64Array(n), total = 0, row = [], rows = 0, byStart = [];
  function visible(i) { return !hidden.has(T.lane[i]) && (part < 0 || T.part[i] === part); }
  function layout() {
    row = new Array(T.lanes.length).fill(-1); rows = 0;
    for (const lane of order) if (!hidden.has(lane)) row[lane] = rows++;
    const free = new Float64Array(T.lanes.length);
    let x = 6;
    for (const [, i, isEnd] of events) {
      if (!visible(i)) continue;
      x += 7;
      if (isEnd) { x = Math.max(x, x0[i] + width[i]); x1[i] = x; free[T.lane[i]] = x + 6; }
      else { x = Math.max(x, free[T.lane[i]]); x0[i] = x; if (T.end[i] < 0) free[T.lane[i]] = x + width[i] + 6; }
    }
    total = x + 20;
    for (let i = 0; i < n; i++) if (visible(i)) {
      if (T.end[i] < 0) x1[i] = total;
      total = Math.max(total, x0[i] + width[i] + 20);
    }
    byStart = [];
    for (let i = 0; i < n; i++) if (visible(i)) byStart.push(i);
    byStart.sort((a, b) => x0[a] - x0[b]);
  }

  const nameWidth = clamp(Math.max(...T.lanes.map(name => [...short(name, 22)].length)) * charWidth + 16, 50, 190);
  let w = 800, h = 200, ratio = 1, scrolled = 0;
  function size() {
    ratio = devicePixelRatio || 1;
    w = lanes.parentElement.clientWidth;
    h = clamp(TOP + Math.max(rows, 1) * LANE + 10, 90, Math.max(240, innerHeight * 0.55));
    for (const [canvas, height] of [[lanes, h], [overview, 34]]) {
      canvas.width = w * ratio; canvas.height = height * ratio; canvas.style.height = `${height}px`;
    }
  }
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let colors = {};
  function palette() {
    for (const name of ["paper", "ink", "soft", "line", "panel", "box", "box-edge", "clash", "clash-edge", "story", "story-edge", "select", "point"]) colors[name] = color(`--${name}`);
  }
  palette();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { palette(); draw(); });
  const room = () => w - nameWidth;
  const toScreen = x => nameWidth + (x - left) * zoom;
  function bound() {
    zoom = clamp(zoom, Math.min(1, room() / total), 4);
    left = clamp(left, 0, Math.max(0, total - room() / zoom));
    scrolled = clamp(scrolled, 0, Math.max(0, TOP + rows * LANE + 10 - h));
  }
  // The first operation, by start, that can be on the screen: ends grow with starts only within a lane, so
  // the longest operation bounds how far back to look.
  let pending = false;
  function draw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; paint(lanes.getContext("2d")); paintOverview(); });
  }
  const points = new Map();
  function paint(c) {
    bound();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.paper; c.fillRect(0, 0, w, h);
    c.font = FONT; c.textBaseline = "middle";
    c.save(); c.beginPath(); c.rect(0, TOP - 4, w, h); c.clip();
    for (let lane = 0; lane < T.lanes.length; lane++) if (row[lane] >= 0) {
      const y = TOP + row[lane] * LANE - scrolled + LANE / 2;
      if (y < -LANE || y > h + LANE) continue;
      c.strokeStyle = colors.line; c.lineWidth = 1; c.beginPath(); c.moveTo(nameWidth, y); c.lineTo(w, y); c.stroke();
    }
    c.save(); c.beginPath(); c.rect(nameWidth, 0, w, h); c.clip();
    const right = left + room() / zoom;
    for (const i of byStart) {
      if (x0[i] > right) break;
      if (x1[i] < left) continue;
      bar(c, i);
    }
    c.restore();
    for (let lane = 0; lane < T.lanes.length; lane++) if (row[lane] >= 0) {
      const y = TOP + row[lane] * LANE - scrolled + LANE / 2;
      if (y < -LANE || y > h + LANE) continue;
      c.fillStyle = colors.paper; c.fillRect(0, y - LANE / 2 + 1, nameWidth, LANE - 2);
      c.fillStyle = colors.soft; c.fillText(short(T.lanes[lane], 22), 8, y);
    }
    c.restore();
    if (cursor >= 0) placeCursor(c);
  }
  function bar(c, i) {
    const y = TOP + row[T.lane[i]] * LANE - scrolled + 5, height = LANE - 10;
    if (y < -LANE || y > h) return;
    const a = Math.max(toScreen(x0[i]), nameWidth - 4), b = Math.min(toScreen(x1[i]), w + 4);
    const kind = T.mark[i] === 2 ? "clash" : T.mark[i] === 1 ? "story" : "box";
    c.fillStyle = colors[kind]; c.fillRect(a, y, Math.max(b - a, 2), height);
    c.strokeStyle = i === selected ? colors.select : colors[`${kind}-edge`];
    c.lineWidth = i === selected ? 3 : 1.3;
    if (T.end[i] < 0) {
      c.setLineDash([5, 3]); c.beginPath(); c.moveTo(b, y); c.lineTo(a, y); c.lineTo(a, y + height); c.lineTo(b, y + height); c.stroke(); c.setLineDash([]);
    } else c.strokeRect(a, y, Math.max(b - a, 2), height);
    if (kind === "clash" && b - a > 8) { c.lineWidth = 1.3; c.strokeRect(a + 3, y + 3, Math.max(b - a - 6, 1), height - 6); }
    if (b - a > 16) {
      c.save(); c.beginPath(); c.rect(a, y, b - a, height); c.clip();
      c.fillStyle = colors.ink; c.fillText(shown[i], Math.max(a, nameWidth) + 6, y + height / 2 + 0.5); c.restore();
    }
    const place = points.get(i);
    if (place !== undefined) {
      const x = clamp(toScreen(place), a, b);
      c.fillStyle = colors.point; c.beginPath(); c.moveTo(x, y - 4); c.lineTo(x + 4, y); c.lineTo(x, y + 4); c.lineTo(x - 4, y); c.fill();
      c.fillRect(x - 0.75, y, 1.5, height);
    }
  }
  function placeCursor(c) {
    const i = current[cursor] && current[cursor].op;
    if (i === undefined || points.get(i) === undefined) return;
    const x = toScreen(points.get(i));
    if (x < nameWidth || x > w) return;
    c.strokeStyle = colors.point; c.setLineDash([3, 3]); c.lineWidth = 1.5;
    c.beginPath(); c.moveTo(x, TOP - 8); c.lineTo(x, h); c.stroke(); c.setLineDash([]);
  }
  function paintOverview() {
    const c = overview.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.panel; c.fillRect(0, 0, w, 34);
    const columns = Math.ceil(w), count = new Uint32Array(columns + 1);
    for (const i of byStart) count[clamp(Math.floor(x0[i] / total * w), 0, columns)]++;
    let most = 1;
    for (const k of count) most = Math.max(most, k);
    c.fillStyle = colors["box-edge"];
    for (let x = 0; x < columns; x++) if (count[x]) { const k = 4 + 22 * count[x] / most; c.fillRect(x, 32 - k, 1, k); }
    c.fillStyle = colors["clash-edge"];
    for (const i of byStart) if (T.mark[i]) c.fillRect(x0[i] / total * w - 1, 0, 3, 34);
    c.strokeStyle = colors.select; c.lineWidth = 2;
    c.strokeRect(left / total * w + 1, 1, Math.max(4, room() / zoom / total * w - 2), 32);
  }

  function scale(factor, at) {
    const middle = at === undefined ? left + room() / zoom / 2 : at;
    const before = (middle - left) * zoom;
    zoom *= factor; bound(); left = middle - before / zoom; draw();
  }
  function whole() { zoom = room() / total; left = 0; draw(); }
  function show(i) {
    if (!visible(i)) { hidden.delete(T.lane[i]); part = -1; if (parts) parts.value = -1; layout(); }
    const middle = (x0[i] + Math.min(x1[i], x0[i] + width[i])) / 2;
    left = middle - room() / zoom / 2;
    const y = TOP + row[T.lane[i]] * LANE;
    if (y - scrolled < TOP || y - scrolled > h - LANE) scrolled = y - h / 2;
    draw();
  }
  function story() {
    const marked = byStart.filter(i => T.mark[i]);
    if (!marked.length) return;
    const a = Math.min(...marked.map(i => x0[i])), b = Math.max(...marked.map(i => Math.min(x1[i], x0[i] + width[i])));
    zoom = clamp(room() / (b - a + 60), 0.05, 1); left = a - 30;
    select(marked.find(i => T.mark[i] === 2) ?? marked[0], false);
    draw();
  }
  function select(i, move = true) {
    selected = i;
    box.replaceChildren();
    const facts = [[T.kind || "process", T.lanes[T.lane[i]]], ["operation", short(T.label[i], 4000)]];
    if (T.parts.length > 1) facts.push(["object or key", T.parts[T.part[i]]]);
    if (T.line[i]) facts.push(["line of the call", T.line[i]]);
    facts.push(["events", T.end[i] < 0 ? `call ${T.call[i]}, no return` : `call ${T.call[i]}, return ${T.end[i]}`]);
    if (T.mark[i]) facts.push(["explanation", T.mark[i] === 2 ? "the sentence is about it" : "needed for the violation"]);
    const why = T.order && T.order.next.find(([op]) => op === i);
    if (why) facts.push(["cannot come next", why[1]]);
    box.append(make("dl", {}, facts.map(([name, value]) => [make("dt", {}, name), make("dd", { class: "mono" }, String(value))])));
    if (T.order && T.order.best) through(i);
    history.replaceState(null, "", `#op=${T.index[i]}`);
    if (move) show(i); else draw();
    mark();
  }
  function find(text, next) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) { matches = []; found.textContent = ""; draw(); return; }
    if (!next || !matches.length) {
      matches = [];
      for (let i = 0; i < n; i++) {
        if (T.label[i].toLowerCase().includes(wanted) || T.lanes[T.lane[i]].toLowerCase() === wanted) matches.push(i);
      }
      matchAt = -1;
    }
    if (matches.length) { matchAt = (matchAt + 1) % matches.length; select(matches[matchAt]); }
    found.textContent = matches.length ? `${matchAt + 1} of ${matches.length} (Enter: next)` : "nothing found";
  }

  // Pan and zoom by mouse, touch and keyboard.
  let drag = null;
  const at = event => { const r = lanes.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  const hit = (x, y) => {
    for (let k = byStart.length - 1; k >= 0; k--) {
      const i = byStart[k], top = TOP + row[T.lane[i]] * LANE - scrolled;
      if (y >= top && y <= top + LANE && x >= Math.max(nameWidth, toScreen(x0[i])) && x <= Math.max(toScreen(x1[i]), toScreen(x0[i]) + 4)) return i;
    }
    return -1;
  };
  lanes.addEventListener("pointerdown", event => { drag = { x: event.clientX, y: event.clientY, left, scrolled, moved: false }; lanes.setPointerCapture(event.pointerId); });
  lanes.addEventListener("pointermove", event => {
    if (!drag) return;
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
    if (drag.moved) { left = drag.left - dx / zoom; scrolled = drag.scrolled - dy; draw(); }
  });
  lanes.addEventListener("pointerup", event => {
    if (drag && !drag.moved) { const i = hit(...at(event)); if (i >= 0) select(i, false); }
    drag = null;
  });
  lanes.addEventListener("wheel", event => {
    if (event.ctrlKey || event.metaKey) scale(Math.exp(-event.deltaY / 200), left + (at(event)[0] - nameWidth) / zoom);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { left += (event.deltaX || event.deltaY) / zoom; draw(); }
    else if (TOP + rows * LANE + 10 > h) { scrolled += event.deltaY; draw(); }
    else return;
    event.preventDefault();
  }, { passive: false });
  const jump = event => { const r = overview.getBoundingClientRect(); left = (event.clientX - r.left) / w * total - room() / zoom / 2; draw(); };
  overview.addEventListener("pointerdown", event => { overview.setPointerCapture(event.pointerId); jump(event); });
  overview.addEventListener("pointermove", event => { if (event.buttons) jump(event); });
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    const pan = room() / zoom / 4;
    const keys = {
      "/": () => search.focus(), "+": () => scale(1.5), "=": () => scale(1.5), "-": () => scale(1 / 1.5), "0": whole, e: story,
      ArrowLeft: () => { left -= pan; draw(); }, ArrowRight: () => { left += pan; draw(); },
      Home: () => { left = 0; draw(); }, End: () => { left = total; draw(); },
      n: () => select(neighbour(1)), p: () => select(neighbour(-1)),
    };
    if (document.activeElement !== lanes && /^(Arrow|Home|End)/.test(event.key)) return;
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  function neighbour(step) {
    const k = byStart.indexOf(selected);
    return byStart[k < 0 ? (step > 0 ? 0 : byStart.length - 1) : clamp(k + step, 0, byStart.length - 1)];
  }

  // Lanes can be hidden and moved.
  function chooseLanes() {
    list.replaceChildren(...order.slice(0, 500).map((lane, k) => make("span", {},
      make("label", {}, make("input", { type: "checkbox", checked: !hidden.has(lane), onchange: event => {
        if (event.target.checked) hidden.delete(lane); else hidden.add(lane);
        layout(); size(); draw(); table();
      } }), short(T.lanes[lane], 40)),
      make("button", { title: "move up", onclick: () => { if (k) { [order[k - 1], order[k]] = [order[k], order[k - 1]]; chooseLanes(); layout(); draw(); } } }, "↑"))));
  }

  // Orders: a witness, or the longest partial order, with the state after each operation.
  let current = [], slider = null;
  const O = T.order;
  if (O) {
    page.append(make("h2", {}, O.complete ? "An order that explains the history" : "The longest order that was found"));
    page.append(make("p", { class: "soft" }, O.note));
    const state = make("pre", { id: "state" });
    slider = make("input", { id: "slider", type: "range", min: -1, max: 0, value: -1, "aria-label": "position in the order", oninput: () => go(+slider.value) });
    const where = make("span", { id: "where", class: "soft", role: "status" });
    page.append(make("div", { class: "bar" }, make("button", { onclick: () => go(cursor - 1) }, "◀"), slider, make("button", { onclick: () => go(cursor + 1) }, "▶"), where), state);
    if (O.next.length) {
      page.append(make("p", {}, "Why none of the remaining operations can come next:"));
      page.append(make("table", { id: "next" }, make("tbody", {}, O.next.map(([i, why]) => make("tr", { tabindex: 0, onclick: () => select(i), onkeydown: event => { if (event.key === "Enter") select(i); } },
        make("td", { class: "mono" }, short(T.label[i], 200)), make("td", {}, short(why, 400)))))));
    }
    use(O.main);
    function go(k) {
      cursor = clamp(k, -1, current.length - 1);
      slider.value = cursor;
      const step = current[cursor];
      state.textContent = short(step ? step.state : O.initial, 20000);
      where.textContent = step ? `${cursor + 1} of ${current.length}: ${short(T.label[step.op], 80)}` : `before the first of ${current.length}`;
      if (step) { selected = step.op; show(step.op); }
      draw();
    }
  }
  /// Follows the tree of orders from a node to its root.
  function use(node) {
    current = [];
    for (let k = node; k >= 0; k = O.parent[k]) current.unshift({ op: O.op[k], state: O.state[k] });
    slider.max = current.length - 1;
    points.clear();
    // A linearization point lies behind those of the operations before it, and within its operation.
    let x = 0;
    for (const step of current) { x = Math.max(x + 1, x0[step.op] + 2); points.set(step.op, x); }
    cursor = -1; slider.value = -1;
    document.getElementById("state").textContent = short(O.initial, 20000);
    draw();
  }
  function through(i) {
    const node = O.best[i];
    if (node === undefined || node < 0) return;
    use(node);
    const k = current.findIndex(step => step.op === i);
    const text = O.complete ? "" : node === O.main ? "It is in the longest order found." : `Drawn: the longest order found that contains it (${current.length} operations).`;
    if (text) box.append(make("p", { class: "soft" }, text));
    if (k >= 0) { cursor = k; slider.value = k; document.getElementById("state").textContent = short(current[k].state, 20000); }
  }

  // The table of all operations, a window of rows at a time.
  page.append(make("h2", {}, "All operations shown"));
  const COLUMNS = [["call", i => T.call[i]], ["return", i => T.end[i] < 0 ? Infinity : T.end[i]], [T.kind || "process", i => T.lanes[T.lane[i]]], ["operation", i => T.label[i]], ["line", i => T.line[i]]];
  let sortBy = 0, up = true, first = 0, sorted = [];
  const body = make("tbody");
  const paging = make("div", { class: "bar" });
  const ROWS = 100;
  page.append(paging, make("div", { class: "scroll" }, make("table", { id: "table" },
    make("thead", {}, make("tr", {}, COLUMNS.map(([name], k) => make("th", {}, make("button", { onclick: () => { up = sortBy === k ? !up : true; sortBy = k; first = 0; table(); } }, name))))), body)));
  function table() {
    const of = COLUMNS[sortBy][1];
    sorted = byStart.slice().sort((a, b) => { const x = of(a), y = of(b); return (x < y ? -1 : x > y ? 1 : a - b) * (up ? 1 : -1); });
    rowsFrom(first);
  }
  function rowsFrom(k) {
    first = clamp(k, 0, Math.max(0, sorted.length - 1));
    first -= first % ROWS;
    body.replaceChildren(...sorted.slice(first, first + ROWS).map(i => make("tr", { "data-op": i, tabindex: 0, class: i === selected ? "selected" : undefined, onclick: () => select(i), onkeydown: event => { if (event.key === "Enter") select(i); } },
      make("td", {}, String(T.call[i])), make("td", {}, T.end[i] < 0 ? "–" : String(T.end[i])), make("td", {}, short(T.lanes[T.lane[i]], 60)),
      make("td", { class: "mono" }, (T.mark[i] === 2 ? "═ " : T.mark[i] ? "─ " : "") + short(T.label[i], 200)), make("td", {}, T.line[i] ? String(T.line[i]) : ""))));
    paging.replaceChildren(...(sorted.length > ROWS ? [make("button", { onclick: () => rowsFrom(first - ROWS) }, "earlier"), make("button", { onclick: () => rowsFrom(first + ROWS) }, "later"),
      make("span", { class: "soft" }, `rows ${first + 1} to ${Math.min(first + ROWS, sorted.length)} of ${sorted.length}`)] : []));
  }
  function mark() {
    const k = sorted.indexOf(selected);
    if (k >= 0 && (k < first || k >= first + ROWS)) rowsFrom(k);
    for (const tr of body.children) tr.classList.toggle("selected", +tr.dataset.op === selected);
  }

  // The current view as a drawing that other programs read.
  function svg() {
    const NS = "http://www.w3.org/2000/svg";
    const root = document.createElementNS(NS, "svg");
    const add = (tag, attributes, text) => { const e = document.createElementNS(NS, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); if (text !== undefined) e.textContent = text; root.append(e); };
    root.setAttribute("xmlns", NS); root.setAttribute("width", w); root.setAttribute("height", h); root.setAttribute("font-family", "monospace"); root.setAttribute("font-size", 12);
    add("rect", { width: w, height: h, fill: colors.paper });
    const right = left + room() / zoom;
    for (const i of byStart) {
      if (x0[i] > right || x1[i] < left) continue;
      const y = TOP + row[T.lane[i]] * LANE - scrolled + 5, a = Math.max(toScreen(x0[i]), nameWidth), b = Math.min(toScreen(x1[i]), w);
      const kind = T.mark[i] === 2 ? "clash" : T.mark[i] === 1 ? "story" : "box";
      add("rect", { x: a, y, width: Math.max(b - a, 2), height: LANE - 10, fill: colors[kind], stroke: colors[`${kind}-edge`], "stroke-width": kind === "clash" ? 3 : 1.3, ...(T.end[i] < 0 ? { "stroke-dasharray": "5 3" } : {}) });
      if (b - a > 16) add("text", { x: a + 6, y: y + 16, fill: colors.ink }, shown[i].slice(0, Math.max(0, Math.floor((b - a - 8) / charWidth))));
    }
    for (let lane = 0; lane < T.lanes.length; lane++) if (row[lane] >= 0) add("text", { x: 8, y: TOP + row[lane] * LANE - scrolled + LANE / 2 + 4, fill: colors.soft }, short(T.lanes[lane], 22));
    const link = make("a", { download: "history.svg", href: URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(root)], { type: "image/svg+xml" })) });
    link.click();
  }

  layout(); size(); chooseLanes(); table();
  if (O) use(O.main);
  new ResizeObserver(() => { size(); draw(); }).observe(lanes.parentElement);
  function byLink() {
    const wanted = /^#op=(\d+)$/.exec(location.hash);
    const i = wanted ? T.index.indexOf(+wanted[1]) : -1;
    if (i >= 0) select(i);
    return i >= 0;
  }
  addEventListener("hashchange", byLink);
  if (!byLink()) { if (T.mark.some(m => m)) { story(); history.replaceState(null, "", location.pathname); } else draw(); }
  return { select, state: () => ({ selected, zoom, left, cursor, drawn: byStart.length }) };
}

// Steps of explored code or of a model, with a cursor.
function steps(S, number) {
  page.append(make("h2", {}, S.title || "Steps"));
  const isModel = S.layout === "model";
  let at = -1;
  const slider = make("input", { type: "range", min: -1, max: S.steps.length - 1, value: -1, id: `step-slider-${number}`, "aria-label": "step", oninput: () => go(+slider.value) });
  const where = make("span", { class: "soft", role: "status", id: `step-where-${number}` });
  page.append(make("div", { class: "bar" },
    make("button", { id: `step-back-${number}`, onclick: () => go(at - 1) }, "◀"), slider, make("button", { id: `step-on-${number}`, onclick: () => go(at + 1) }, "▶"), where));
  const used = S.lanes.map((_, lane) => isModel || S.steps.some(step => step.lane === lane));
  const lanes = S.lanes.map((name, lane) => [name, lane]).filter(([, lane]) => used[lane]);
  const body = make("tbody");
  // Rounds that repeat at once are folded.
  const key = step => JSON.stringify([step.lane, step.call, step.did, step.returned, step.line]);
  const keys = S.steps.map(key);
  const rowOf = [];
  for (let k = 0; k < S.steps.length;) {
    let folded = 0, round = 0;
    for (let length = 1; length <= Math.min(12, (keys.length - k) / 2) && !folded; length++) {
      let times = 1;
      while (keys.slice(k, k + length).join() === keys.slice(k + times * length, k + (times + 1) * length).join()) times++;
      if (times > 2) { folded = times; round = length; }
    }
    const first = folded ? round : 1;
    for (let j = 0; j < first; j++) rowOf[k + j] = row(k + j);
    if (folded) {
      const end = k + folded * round;
      const note = make("tr", {}, make("td", {}), make("td", { colspan: lanes.length + 1, class: "soft" }, `these ${round} ${round === 1 ? "step" : "steps"}, ${folded} times`));
      body.append(note);
      for (let j = k + round; j < end; j++) rowOf[j] = note;
      k = end;
    } else k++;
  }
  function row(k) {
    const step = S.steps[k];
    const texts = [step.call ? make("div", {}, make("b", {}, step.call)) : null, ...step.did.map(text => make("div", { class: "mono" }, short(text, 500))), step.returned ? make("div", {}, make("b", {}, step.returned)) : null];
    const place = isModel ? step.changed : step.file ? `${step.file}:${step.line}` : "";
    const tr = make("tr", { onclick: () => go(k) }, make("td", { class: "soft" }, (S.cycle === k ? "↻ " : "") + (k + 1)),
      lanes.map(([, lane]) => make("td", {}, lane === step.lane ? texts : [])), make("td", { class: "soft mono" }, place));
    body.append(tr);
    if (S.cycle === k) tr.title = "from here on for ever";
    return tr;
  }
  const memory = make("dl");
  const states = make("div");
  const table = make("table", { id: `steps-${number}` }, make("thead", {}, make("tr", {}, make("th", {}, ""), lanes.map(([name]) => make("th", {}, name)), make("th", {}, isModel ? "changed" : "source"))), body);
  page.append(make("div", { class: "columns" }, make("div", { class: "scroll" }, table),
    make("div", {}, make("b", {}, "Shared memory"), memory, isModel ? make("b", {}, "The specification may be in") : null, states)));
  function go(k) {
    at = clamp(k, -1, S.steps.length - 1);
    slider.value = at;
    for (const tr of body.children) tr.classList.remove("now");
    const step = S.steps[at];
    where.textContent = step ? `step ${at + 1} of ${S.steps.length}` : `before the first of ${S.steps.length} steps`;
    if (step && rowOf[at]) { rowOf[at].classList.add("now"); rowOf[at].scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" }); }
    const values = new Map();
    for (let j = 0; j <= at; j++) for (const [name, value] of S.steps[j].memory || []) values.set(name, value);
    const changed = new Set(((step && step.memory) || []).map(([name]) => name));
    memory.replaceChildren(...[...values].flatMap(([name, value]) => [make("dt", { class: "mono" }, name), make("dd", { class: changed.has(name) ? "mono bad" : "mono" }, short(value, 200))]));
    if (isModel) {
      let text = S.initially.join(" or ");
      for (let j = 0; j <= at; j++) if (S.steps[j].states) text = S.steps[j].states;
      states.replaceChildren(make("p", { class: "mono" }, short(text, 2000)));
    }
  }
  go(-1);
}

// The numbers of the run.
function details() {
  const simple = Object.entries(D.fields).filter(([, value]) => value !== null && typeof value !== "object" && value !== "");
  if (!simple.length) return;
  page.append(make("h2", {}, "This run"), make("dl", {}, simple.map(([name, value]) => [make("dt", {}, name), make("dd", {}, short(String(value), 300))])));
}
window.trueline = { data: D, view };
})();
