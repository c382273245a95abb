
// The states of a small model as a drawing: a row for each number of steps from the first state, states in an
// order that lets few lines cross, the run of the report marked. Beside it is what holds in the selected state.

function stateGraph(G, trace) {
  const WIDE = 40, HIGH = 22, ACROSS = 54, DOWN = 64, n = G.states.length;
  const out = G.states.map(() => []), into = G.states.map(() => []);
  G.moves.forEach(([from, to], k) => { out[from].push(k); into[to].push(k); });
  const onPath = new Set(G.path);
  // The state after each step of the run.
  const run = [0, ...G.path.map(k => G.moves[k][1])];
  const { x, y, width, height } = place();

  /// Rows by depth; in each, states come near those that they are joined with.
  function place() {
    const rows = [];
    G.states.forEach((state, s) => (rows[state.depth] ||= []).push(s));
    const at = new Array(n).fill(0);
    const number = row => row.forEach((s, k) => at[s] = k);
    rows.forEach(number);
    const joined = (s, depth) => [...into[s].map(k => G.moves[k][0]), ...out[s].map(k => G.moves[k][1])].filter(other => G.states[other].depth === depth);
    const mean = (s, depth, value) => {
      const others = joined(s, depth);
      return others.length ? others.reduce((sum, other) => sum + value[other], 0) / others.length : value[s];
    };
    for (let round = 0; round < 12; round++) {
      const isDown = round % 2 === 0;
      for (const row of isDown ? rows.slice(1) : rows.slice(0, -1).reverse()) {
        const beside = G.states[row[0]].depth + (isDown ? -1 : 1), wanted = new Map(row.map(s => [s, mean(s, beside, at)]));
        row.sort((a, b) => wanted.get(a) - wanted.get(b) || at[a] - at[b]);
        number(row);
      }
    }
    // Places: each near the middle of its neighbours, none closer to the next than a box needs.
    const x = new Array(n);
    for (const row of rows) row.forEach((s, k) => x[s] = (k - (row.length - 1) / 2) * ACROSS);
    for (let round = 0; round < 16; round++) {
      for (const row of rows) {
        const depth = G.states[row[0]].depth;
        const wanted = row.map(s => (mean(s, depth - 1, x) + mean(s, depth + 1, x)) / 2);
        const left = [...wanted], right = [...wanted];
        for (let k = 1; k < row.length; k++) left[k] = Math.max(left[k], left[k - 1] + ACROSS);
        for (let k = row.length - 2; k >= 0; k--) right[k] = Math.min(right[k], right[k + 1] - ACROSS);
        row.forEach((s, k) => x[s] = (left[k] + right[k]) / 2);
      }
    }
    const least = x.reduce((a, b) => Math.min(a, b), 0), most = x.reduce((a, b) => Math.max(a, b), 0);
    return { x: x.map(value => value - least + ACROSS), y: G.states.map(state => 24 + state.depth * DOWN), width: most - least + 2 * ACROSS, height: 48 + (rows.length - 1) * DOWN };
  }

  const STYLE = `text { font: 11px monospace; text-anchor: middle; fill: var(--ink); }
    .state rect { fill: var(--box); stroke: var(--box-edge); stroke-width: 1.2; }
    .state.run rect { fill: var(--story); stroke: var(--story-edge); }
    .state.wrong rect { fill: var(--clash); stroke: var(--clash-edge); } .state.wrong .inner { fill: none; }
    .state.now rect { stroke: var(--select); stroke-width: 3; }
    .move { fill: none; stroke: var(--box-edge); stroke-width: 1.2; } .move.run { stroke: var(--clash-edge); stroke-width: 3; }
    .head { fill: var(--box-edge); } .head.run { fill: var(--clash-edge); } .move.near { stroke: var(--select); stroke-width: 2.2; }`;
  const root = shape("svg", { id: "graph", width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application",
    "aria-label": "State graph. Down and up follow a step forward and back, left and right go to the next state of the row, Home to the first state. What holds in the state is beside it." });
  root.append(shape("style", {}, STYLE.replace(/(^|})\s*/g, "$1 #graph ")));
  const DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 4"];
  const lines = [];
  // Several steps of a process from one state to another are one line.
  const drawn = new Map();
  G.moves.forEach(([from, to, lane], k) => {
    const name = `${from} ${to} ${lane}`;
    if (drawn.has(name) && !onPath.has(k)) { lines[k] = lines[drawn.get(name)]; return; }
    drawn.set(name, k);
    const isRun = onPath.has(k), [line, head] = curve(x[from], y[from], x[to], y[to], from, to, lane);
    lines[k] = shape("path", { class: isRun ? "move run" : "move", d: line, "stroke-dasharray": isRun ? "" : DASHES[lane % DASHES.length] });
    root.append(lines[k], shape("path", { class: isRun ? "head run" : "head", d: head }));
  });
  /// A line and its point. Lines of different processes between the same states lie side by side.
  function curve(ax, ay, bx, by, from, to, lane) {
    const side = (lane - (G.lanes.length - 1) / 2) * Math.min(8, 24 / G.lanes.length), half = HIGH / 2;
    if (from === to) {
      const a = ax + WIDE / 2, far = a + 16 + 4 * lane;
      return [`M${a} ${ay - 5}C${far} ${ay - 16} ${far} ${ay + 16} ${a} ${ay + 5}`, `M${a} ${ay + 5}l9 -2l-4 7z`];
    }
    if (by > ay) {
      const p = ax + side, q = bx + side, end = by - half;
      return [`M${p} ${ay + half}C${p} ${ay + half + 18} ${q} ${end - 22} ${q} ${end - 6}`, `M${q} ${end}l-4 -8h8z`];
    }
    // Back, or within a row: round the right side.
    const a = ax + WIDE / 2, b = bx + WIDE / 2, far = Math.max(a, b) + 26 + 6 * lane;
    return [`M${a} ${ay + side / 2}C${far} ${ay} ${far} ${by} ${b + 7} ${by + side / 2}`, `M${b} ${by + side / 2}l9 -4v8z`];
  }
  const boxes = G.states.map((state, s) => {
    const kind = state.wrong ? "wrong" : run.length > 1 && run.includes(s) ? "run" : "";
    const box = shape("g", { class: `state ${kind}`, "data-state": s, transform: `translate(${x[s]} ${y[s]})` },
      shape("rect", { x: -WIDE / 2, y: -HIGH / 2, width: WIDE, height: HIGH, rx: state.wrong ? 0 : 8 }));
    if (state.wrong) box.append(shape("rect", { class: "inner", x: 3 - WIDE / 2, y: 3 - HIGH / 2, width: WIDE - 6, height: HIGH - 6 }));
    box.append(shape("text", { y: 4 }, String(s)), shape("title", {}, short(state.wrong || state.shared.map(pair => pair.join("=")).join(" "), 400)));
    box.addEventListener("click", () => select(s));
    root.append(box);
    return box;
  });

  const facing = make("div", { class: "beside", id: "graph-state" });
  const frame = make("div", { class: "scroll tall" }, root);
  let now = -1, scale = 1;
  function select(s, isQuiet) {
    if (!G.states[s]) return;
    for (const line of root.querySelectorAll(".near")) line.classList.remove("near");
    if (now >= 0) boxes[now].classList.remove("now");
    now = s;
    boxes[s].classList.add("now");
    for (const k of [...out[s], ...into[s]]) lines[k].classList.add("near");
    describe(s);
    const left = x[s] * scale - frame.clientWidth / 2, top = y[s] * scale - frame.clientHeight / 2;
    frame.scrollTo({ left, top, behavior: calm ? "auto" : "smooth" });
    if (!isQuiet) link("state", s);
  }
  /// What holds in a state, and the steps that lead on and back.
  function describe(s) {
    const state = G.states[s];
    const values = pairs => pairs.map(([name, value]) => [name, value]);
    const steps = (moves, end, arrow) => make("ul", {}, moves.slice(0, 200).map(k => make("li", {},
      make("button", { "data-to": G.moves[k][end], onclick: () => select(G.moves[k][end]) }, `${arrow} ${G.moves[k][end]}`),
      make("span", { class: `mono ${onPath.has(k) ? "bad" : ""}` }, ` ${G.lanes[G.moves[k][2]]} ${short(G.moves[k][3], 200)}`))));
    facing.replaceChildren(make("b", {}, `State ${s}`), make("span", { class: "soft" }, `, ${state.depth} ${state.depth === 1 ? "step" : "steps"} from the first`),
      state.wrong ? make("p", { class: "bad" }, short(state.wrong)) : "", facts(values(state.shared)),
      ...state.processes.map(([place, own], p) => make("div", {}, make("b", {}, G.lanes[p]), ` ${short(place, 200)}`, own.length ? facts(values(own)) : "")),
      state.specification.length ? make("p", {}, make("b", {}, "The specification may be in "), make("span", { class: "mono" }, short(state.specification.join(" or "), 2000))) : "",
      out[s].length ? make("p", {}, make("b", {}, "Steps from here")) : make("p", { class: "soft" }, "No step leaves this state."), steps(out[s], 1, "→"),
      into[s].length ? make("p", {}, make("b", {}, "Steps to here")) : "", steps(into[s], 0, "←"));
  }
  function zoomTo(next) {
    scale = clamp(next, 0.1, 2);
    root.setAttribute("width", width * scale); root.setAttribute("height", height * scale);
  }
  const fitting = () => Math.min(1, (frame.clientWidth - 4) / width);
  root.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const best = (moves, end) => { const k = moves.find(move => onPath.has(move)) ?? moves[0]; return k === undefined ? now : G.moves[k][end]; };
    const row = () => G.states.map((_, s) => s).filter(s => G.states[s].depth === G.states[now].depth).sort((a, b) => x[a] - x[b]);
    const beside = by => { const states = row(); return states[clamp(states.indexOf(now) + by, 0, states.length - 1)]; };
    const forward = () => best(out[now].filter(k => G.moves[k][1] !== now), 1);
    const back = () => best(into[now].filter(k => G.states[G.moves[k][0]].depth < G.states[now].depth), 0);
    const action = { ArrowDown: forward, ArrowUp: back, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => 0, End: () => run[run.length - 1] }[event.key];
    if (!action) return;
    select(action());
    event.preventDefault(); event.stopPropagation();
  });
  const usedLanes = [...new Set(G.moves.map(move => move[2]))].sort((a, b) => a - b);
  const sample = lane => make("span", {}, shape("svg", { width: 34, height: 10, class: "sample", "aria-hidden": "true" },
    shape("path", { d: "M0 5h34", "stroke-dasharray": DASHES[lane % DASHES.length] })), G.lanes[lane]);
  page.append(make("h2", {}, "State graph"),
    make("p", { class: "soft legend" }, `${grouped(n)} states, ${grouped(G.moves.length)} steps, without reductions. `, usedLanes.map(sample),
      run.length > 1 ? make("span", {}, make("i", { class: "key story" }), "state of the run, whose steps are thick") : null,
      G.states.some(state => state.wrong) ? make("span", {}, make("i", { class: "key clash" }), "something is wrong (square, double edge)") : null),
    make("div", { class: "bar" }, make("button", { id: "graph-in", "aria-label": "larger", onclick: () => zoomTo(scale * 1.25) }, "+"),
      make("button", { id: "graph-out", "aria-label": "smaller", onclick: () => zoomTo(scale / 1.25) }, "−"),
      make("button", { id: "graph-fit", onclick: () => zoomTo(fitting()) }, "whole graph"),
      make("button", { id: "graph-save", onclick: () => saveGraph() }, "save as SVG")),
    make("div", { class: "columns", id: "graph-columns" }, frame, facing));
  /// The drawing with its colours as they are.
  function saveGraph() {
    const copy = root.cloneNode(true), style = getComputedStyle(document.documentElement);
    copy.setAttribute("xmlns", SVG);
    const sheet = copy.querySelector("style");
    sheet.textContent = sheet.textContent.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    saveDrawing(copy, "states.svg");
  }
  if (trace) trace.onMove(at => { if (run[at] !== undefined && run.length > 1) select(run[at], true); });
  select(0, true);
  return { select, at: () => now };
}
