
// The operations in lanes: drawn on a canvas, only what is on the screen. Below them is a strip of all that
// the page has.

const STRIP = 40;
const kindOf = mark => mark === 2 ? "clash" : mark === 1 ? "story" : "box";

function timeline(T) {
  const L = layoutOf(T);
  const { n, labels, x0, x1, points } = L;
  const changed = [], chosen = [];
  let selected = -1, zoom = 1, left = 0, scrolled = 0, w = 800, h = 200, ratio = 1, cursor = -1;
  const widest = T.lanes.reduce((most, name) => Math.max(most, L.textWidth(short(name, 22))), 0);
  const nameWidth = clamp(widest + 18, 50, 190);

  const lanes = make("canvas", {
    id: "lanes", tabindex: 0, role: "img",
    "aria-label": "Operations in lanes. Arrow keys move the view, plus and minus zoom, n and p select. The table below has the same operations.",
  });
  const overview = make("canvas", { id: "overview", "aria-hidden": "true" });
  const tip = make("div", { id: "tip", hidden: true });
  const box = make("div", { id: "details", role: "status" }, make("span", { class: "soft" }, "Select an operation: click it, or press n and p."));

  const room = () => w - nameWidth;
  const toScreen = x => nameWidth + (x - left) * zoom;
  const top = lane => TOP + L.row[lane] * LANE - scrolled;
  const height = () => TOP + L.rows.length * LANE + 10;
  function bound() {
    zoom = clamp(zoom, Math.min(1, room() / L.total), 4);
    // The picture is moved by whole pixels.
    const snapped = x => Math.round(x * ratio) / ratio;
    left = snapped(clamp(left, 0, Math.max(0, L.total - room() / zoom)) * zoom) / zoom;
    scrolled = snapped(clamp(scrolled, 0, Math.max(0, height() - h)));
  }
  function size() {
    ratio = devicePixelRatio || 1;
    w = lanes.parentElement.clientWidth;
    h = clamp(height(), 90, Math.max(240, innerHeight * 0.55));
    for (const [canvas, tall] of [[lanes, h], [overview, STRIP]]) {
      canvas.width = w * ratio; canvas.height = tall * ratio; canvas.style.height = `${tall}px`;
    }
    strip = null;
    overview.hidden = L.total <= room();
  }

  // Drawing.
  const picture = pictureOf(T, L);
  const seen = () => ({ left, zoom, scrolled, w, h, ratio, name: nameWidth, room: room() });
  let isWaiting = false;
  function draw() {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => drawNow(false));
  }
  function drawNow(isWhole) {
    isWaiting = false;
    bound();
    if (paint(lanes.getContext("2d"), isWhole)) draw(); else prepare();
    paintOverview(overview.getContext("2d"));
  }
  /// Paints what comes next while nothing else is to be done.
  let isPreparing = false;
  function prepare() {
    if (isPreparing || !window.requestIdleCallback || !picture.lacks(seen())) return;
    isPreparing = true;
    requestIdleCallback(() => { isPreparing = false; if (picture.ahead(seen())) prepare(); });
  }
  /// The rows on the screen.
  const rowsShown = () => L.rows.slice(Math.max(0, Math.floor((scrolled - TOP) / LANE)), Math.ceil((scrolled + h) / LANE));
  /// True if a part is missing that another frame has to paint.
  function paint(c, isWhole) {
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = colors.paper; c.fillRect(0, 0, lanes.width, lanes.height);
    const isPart = picture.paint(c, seen(), isWhole), shown = rowsShown();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = FONT; c.textBaseline = "middle";
    for (const lane of shown) paintFirst(c, lane);
    if (selected >= 0 && L.isVisible(selected)) paintSelected(c);
    paintPoints(c);
    paintCursor(c);
    paintSigns(c);
    c.fillStyle = colors.paper; c.fillRect(0, 0, nameWidth - 4, h); c.fillRect(nameWidth - 4, 0, w, TOP - 12);
    c.fillStyle = colors.soft;
    for (const lane of shown) c.fillText(short(T.lanes[lane], 22), 8, top(lane) + LANE / 2);
    return isPart;
  }
  /// The label of an operation that began further left stays in view.
  function paintFirst(c, lane) {
    const i = L.byLane[lane][L.firstFrom(lane, left)];
    if (i === undefined || x0[i] >= left || i === selected) return;
    const b = toScreen(x1[i]);
    if (b - nameWidth > 17) picture.bar(c, i, toScreen(x0[i]), b, top(lane) + 5, nameWidth, w, false);
  }
  /// From far away, a sign stands above what the sentence names.
  const named = T.mark.map((mark, i) => mark === 2 ? i : -1).filter(i => i >= 0).slice(0, 500);
  function paintSigns(c) {
    c.fillStyle = colors["clash-edge"];
    for (const i of named) {
      if ((x1[i] - x0[i]) * zoom >= 12 || !L.isVisible(i)) continue;
      const x = toScreen((x0[i] + x1[i]) / 2), y = top(T.lane[i]) + 4;
      c.beginPath(); c.moveTo(x - 6, y - 8); c.lineTo(x + 6, y - 8); c.lineTo(x, y); c.fill();
    }
  }
  function paintSelected(c) {
    const y = top(T.lane[selected]) + 5, a = toScreen(x0[selected]), b = toScreen(x1[selected]);
    if (b < nameWidth - 4 || a > w) return;
    if (b - a >= NARROW) picture.bar(c, selected, a, b, y, Math.max(a, nameWidth), w, true);
    else { c.fillStyle = colors.select; c.fillRect(a, y, Math.max(b - a, 2), LANE - 10); }
  }
  /// Points grow along their order. One behind the box of its operation is on the line that goes on from it.
  function paintPoints(c) {
    const right = left + room() / zoom;
    // From far away they would hide everything else.
    if (zoom < 0.25) return;
    paintOrder(c, right);
    c.fillStyle = colors.point;
    for (const i of L.order) {
      const place = points.get(i), lane = T.lane[i];
      if (place > right) break;
      if (place < left || !L.isVisible(i)) continue;
      const x = toScreen(place), y = top(lane) + (place > x1[i] ? LANE - 4 : 5);
      c.beginPath(); c.moveTo(x, y - 5); c.lineTo(x + 4, y - 1); c.lineTo(x, y + 3); c.lineTo(x - 4, y - 1); c.fill();
    }
  }
  /// A thin line leads from each point to the next, so that the order can be followed.
  function paintOrder(c, right) {
    c.strokeStyle = colors.point; c.lineWidth = 1; c.globalAlpha = 0.45;
    c.beginPath();
    let isBegun = false, last = null;
    for (const i of L.order) {
      if (!L.isVisible(i)) continue;
      const place = points.get(i), x = toScreen(place), y = top(T.lane[i]) + (place > x1[i] ? LANE - 4 : 5);
      if (place >= left) {
        if (!isBegun) { c.moveTo(last ? last[0] : x, last ? last[1] : y); isBegun = true; }
        c.lineTo(x, y);
      }
      last = [x, y];
      if (place > right) break;
    }
    c.stroke(); c.globalAlpha = 1;
  }
  function paintCursor(c) {
    if (cursor < 0) return;
    const x = toScreen(cursor);
    c.strokeStyle = colors.point; c.setLineDash([3, 3]); c.lineWidth = 1.5;
    c.beginPath(); c.moveTo(x, TOP - 8); c.lineTo(x, h); c.stroke(); c.setLineDash([]);
  }
  // The strip changes with the layout alone; panning moves the frame.
  let strip = null;
  function stripOf() {
    const canvas = document.createElement("canvas");
    canvas.width = w * ratio; canvas.height = STRIP * ratio;
    const c = canvas.getContext("2d"), tall = (STRIP - 8) / Math.max(L.rows.length, 1);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.panel; c.fillRect(0, 0, w, STRIP);
    const drawn = new Float64Array(L.rows.length).fill(-1);
    for (const marked of [false, true]) for (const i of L.byStart) {
      if (Boolean(T.mark[i]) !== marked) continue;
      const row = L.row[T.lane[i]], a = x0[i] / L.total * w, b = Math.max(a + 1, x1[i] / L.total * w);
      if (!marked && b < drawn[row] + 0.5) continue;
      drawn[row] = b;
      c.fillStyle = colors[`${kindOf(T.mark[i])}-edge`];
      c.fillRect(a, 4 + row * tall, Math.max(b - a - 0.5, 1), Math.max(tall - 1, 1));
      if (marked) c.fillRect((a + b) / 2 - 1, 0, 2, STRIP);
    }
    return canvas;
  }
  function paintOverview(c) {
    if (!strip) strip = stripOf();
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(strip, 0, 0);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.strokeStyle = colors.select; c.lineWidth = 2;
    const share = Math.min(1, room() / zoom / L.total);
    c.strokeRect(left / L.total * w + 1, 1, Math.max(4, share * w - 2), STRIP - 2);
  }

  // Moving the view.
  function scale(factor, at) {
    const middle = at === undefined ? left + room() / zoom / 2 : at, before = (middle - left) * zoom;
    zoom *= factor; bound(); left = middle - before / zoom; draw();
  }
  /// Shows everything; a short history is not drawn larger than it is easy to read.
  function whole() { zoom = Math.min(room() / L.total, 2); left = 0; draw(); }
  function show(i) {
    if (!L.isVisible(i)) { L.hidden.delete(T.lane[i]); filter(-1); }
    left = (x0[i] + Math.min(x1[i], x0[i] + L.width[i])) / 2 - room() / zoom / 2;
    if (top(T.lane[i]) < TOP || top(T.lane[i]) > h - LANE) scrolled += top(T.lane[i]) - h / 2;
    draw();
  }
  /// Shows the operations of the explanation: all of them where labels can still be read, else those named.
  function story() {
    const marked = L.byStart.filter(i => T.mark[i]);
    const named = marked.filter(i => T.mark[i] === 2);
    for (const [shown, largest] of [[marked, 2], [named, 2], [named.slice(-1), 1]]) {
      if (!shown.length) continue;
      const a = Math.min(...shown.slice(0, 1000).map(i => x0[i])), b = Math.max(...shown.slice(-1000).map(i => x1[i]));
      zoom = Math.min(room() / (b - a + 60), largest);
      left = (a + b) / 2 - room() / zoom / 2;
      if (zoom > 0.4) break;
    }
    if (zoom < 0.4) zoom = 0.4;
    const first = named[0] ?? marked[0];
    if (first !== undefined && (top(T.lane[first]) < 0 || top(T.lane[first]) > h - LANE)) scrolled += top(T.lane[first]) - h / 2;
    draw();
  }
  /// Lays out again after lanes were hidden or moved, or another object was chosen.
  function relayout() {
    L.run();
    picture.clear();
    size();
    for (const listener of changed) listener();
    draw();
  }
  function filter(part) {
    L.part = part;
    if (parts) parts.value = part;
    relayout();
  }

  // Selecting.
  function select(i, move = true) {
    if (i < 0 || i >= n) return;
    selected = i;
    box.replaceChildren(facts(known(i)));
    link("op", T.index[i]);
    for (const listener of chosen) listener(i);
    if (move) show(i); else draw();
  }
  /// What is known of an operation.
  function known(i) {
    const list = [["operation", T.label[i]], [T.kind || "process", T.lanes[T.lane[i]]]];
    if (T.parts.length > 1) list.push(["object or key", T.parts[T.part[i]]]);
    if (T.line[i]) list.push(["called in line", T.line[i]]);
    list.push(["events", T.end[i] < 0 ? `call ${T.call[i]}, no return` : `call ${T.call[i]}, return ${T.end[i]}`]);
    if (T.mark[i]) list.push(["explanation", T.mark[i] === 2 ? `the ${isSaid ? "sentence" : "verdict"} is about it` : "needed for the violation"]);
    return list;
  }
  function neighbour(step) {
    const k = L.byStart.indexOf(selected);
    if (k < 0) return L.byStart[step > 0 ? 0 : L.byStart.length - 1];
    return L.byStart[clamp(k + step, 0, L.byStart.length - 1)];
  }
  let matches = [], matchAt = -1;
  function find(text, isNext) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) { matches = []; found.textContent = ""; return; }
    if (!isNext || !matches.length) {
      const fits = i => T.label[i].toLowerCase().includes(wanted) || T.lanes[T.lane[i]].toLowerCase() === wanted;
      matches = T.label.map((_, i) => i).filter(fits);
      matchAt = -1;
    }
    if (matches.length) { matchAt = (matchAt + 1) % matches.length; select(matches[matchAt]); }
    found.textContent = matches.length ? `${matchAt + 1} of ${matches.length} (Enter: next)` : "nothing found";
  }

  // Mouse and touch.
  let drag = null;
  const at = event => { const r = lanes.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  function hit(x, y) {
    const lane = L.rows[Math.floor((y + scrolled - TOP) / LANE)], place = left + (x - nameWidth) / zoom;
    if (lane === undefined || x < nameWidth) return -1;
    const i = L.byLane[lane][L.firstFrom(lane, place)];
    return i !== undefined && x0[i] <= place + 2 / zoom ? i : -1;
  }
  function hover(event) {
    const [x, y] = at(event), i = hit(x, y);
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.textContent = [short(T.label[i], 300), `${T.kind || "process"} ${short(T.lanes[T.lane[i]], 60)}`, T.line[i] ? `line ${T.line[i]}` : ""].filter(Boolean).join("\n");
    tip.style.left = `${Math.min(x + 14, w - 220)}px`; tip.style.top = `${y + 18}px`;
  }
  lanes.addEventListener("pointerdown", event => {
    drag = { x: event.clientX, y: event.clientY, left, scrolled, moved: false };
    tip.hidden = true;
    lanes.setPointerCapture(event.pointerId);
  });
  lanes.addEventListener("pointermove", event => {
    if (!drag) { hover(event); return; }
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
    if (drag.moved) { left = drag.left - dx / zoom; scrolled = drag.scrolled - dy; draw(); }
  });
  lanes.addEventListener("pointerleave", () => { tip.hidden = true; });
  lanes.addEventListener("pointercancel", () => { drag = null; });
  lanes.addEventListener("pointerup", event => {
    if (drag && !drag.moved) select(hit(...at(event)), false);
    drag = null;
  });
  lanes.addEventListener("wheel", event => {
    if (event.ctrlKey || event.metaKey) scale(Math.exp(-event.deltaY / 200), left + (at(event)[0] - nameWidth) / zoom);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { left += (event.deltaX || event.deltaY) / zoom; draw(); }
    else if (height() > h) { scrolled += event.deltaY; draw(); }
    else return;
    event.preventDefault();
  }, { passive: false });
  const jump = event => {
    left = (event.clientX - overview.getBoundingClientRect().left) / w * L.total - room() / zoom / 2;
    draw();
  };
  overview.addEventListener("pointerdown", event => { overview.setPointerCapture(event.pointerId); jump(event); });
  overview.addEventListener("pointermove", event => { if (event.buttons) jump(event); });

  // Keys.
  const pan = (dx, dy) => { left += dx * room() / zoom / 4; scrolled += dy * LANE; draw(); };
  const everywhere = {
    "/": () => search.focus(), "+": () => scale(1.5), "=": () => scale(1.5), "-": () => scale(1 / 1.5), "0": whole,
    e: story, n: () => select(neighbour(1)), p: () => select(neighbour(-1)),
  };
  const onLanes = {
    ArrowLeft: () => pan(-1, 0), ArrowRight: () => pan(1, 0), ArrowUp: () => pan(0, -1), ArrowDown: () => pan(0, 1),
    PageUp: () => pan(-4, 0), PageDown: () => pan(4, 0),
    Home: () => { left = 0; draw(); }, End: () => { left = L.total; draw(); },
  };
  addEventListener("keydown", event => {
    const focus = document.activeElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(focus.tagName)) return;
    const action = everywhere[event.key] || (focus === lanes && onLanes[event.key]);
    if (action) { action(); event.preventDefault(); }
  });

  // The controls around the drawing.
  const search = make("input", {
    id: "search", type: "search", placeholder: "search: text, process, value ( / )", size: 34, "aria-label": "search operations",
    oninput: () => find(search.value, false),
    onkeydown: event => {
      if (event.key === "Enter") { find(search.value, true); event.preventDefault(); }
      if (event.key === "Escape") lanes.focus();
    },
  });
  const found = make("span", { id: "found", class: "soft", role: "status" });
  const parts = T.parts.length < 2 ? null : make("select", { id: "part", "aria-label": "object or key", onchange: () => filter(Number(parts.value)) },
    make("option", { value: -1 }, "all objects and keys"),
    T.parts.map((name, i) => make("option", { value: i }, short(name, 60))));
  page.append(make("h2", {}, "Operations"), make("div", { class: "bar" }, search, found, parts,
    make("button", { onclick: () => scale(1.5), title: "zoom in ( + )" }, "+"),
    make("button", { onclick: () => scale(1 / 1.5), title: "zoom out ( - )" }, "−"),
    make("button", { id: "whole", onclick: whole, title: "( 0 )" }, T.note ? "all that is shown" : "whole history"),
    T.mark.some(m => m) ? make("button", { id: "jump", onclick: story, title: "( e )" }, "go to the violation") : null,
    make("button", { id: "save", onclick: () => saveDrawing(drawing()) }, "save as SVG")));
  page.append(legendOf(T));
  if (T.overview) page.append(wholeStrip(T));
  else if (T.note) page.append(make("p", { class: "doubt", id: "window" }, T.note));
  page.append(make("div", { class: "frame" }, lanes, overview, tip), box);
  if (T.lanes.length > 1) page.append(laneList(T, L, relayout, () => matches, listener => changed.push(listener)));

  /// The current view as a drawing that other programs read.
  function drawing() {
    const root = shape("svg", { xmlns: SVG, width: w, height: h, viewBox: `0 0 ${w} ${h}`, "font-family": "monospace", "font-size": 12 });
    root.append(shape("rect", { width: w, height: h, fill: colors.paper }));
    const right = left + room() / zoom;
    for (const lane of rowsShown()) {
      const y = top(lane) + 5, tall = LANE - 10, own = L.byLane[lane];
      root.append(shape("text", { x: 8, y: y + 16, fill: colors.soft }, short(T.lanes[lane], 22)));
      for (let k = L.firstFrom(lane, left); k < own.length && x0[own[k]] <= right; k++) {
        const i = own[k], a = Math.max(toScreen(x0[i]), nameWidth), b = Math.min(toScreen(x1[i]), w), kind = kindOf(T.mark[i]);
        const edge = { fill: colors[kind], stroke: colors[`${kind}-edge`], "stroke-width": kind === "clash" ? 3 : 1.3 };
        if (T.end[i] < 0) edge["stroke-dasharray"] = "5 3";
        root.append(shape("rect", { x: a, y, width: Math.max(b - a, 1), height: tall, ...edge }));
        const fits = Math.floor((b - a - 10) / L.charWidth);
        if (fits > 0) root.append(shape("text", { x: a + 7, y: y + 16, fill: colors.ink }, labels[i].slice(0, fits)));
        const place = points.get(i);
        if (place !== undefined) root.append(shape("circle", { cx: toScreen(place), cy: y, r: 3.5, fill: colors.point }));
      }
    }
    return root;
  }

  // Where not all lanes fit, those of the explanation come first.
  if (T.lanes.length > 16) {
    const told = new Set(T.lane.filter((_, i) => T.mark[i]));
    L.lanes.sort((a, b) => told.has(b) - told.has(a) || a - b);
  }
  L.run();
  size();
  recolored.push(() => { strip = null; picture.clear(); drawNow(true); });
  new ResizeObserver(() => { size(); draw(); }).observe(lanes.parentElement);
  return {
    T, L, select, show, frame: lanes.parentElement,
    /// Whether all that the sentence names is in view.
    showsNamed: () => bound() || named.every(i => L.isVisible(i) && x0[i] >= left && Math.min(x1[i], x0[i] + L.width[i]) <= left + room() / zoom
      && top(T.lane[i]) >= TOP - 1 && top(T.lane[i]) <= h - LANE), draw, story, whole, relayout, drawing,
    /// Calls this with each operation that is selected, or when what is visible has changed.
    onSelect: listener => chosen.push(listener), onChange: listener => changed.push(listener),
    /// Marks the place of an operation in an order.
    point: i => { cursor = i < 0 ? -1 : points.get(i) ?? -1; draw(); },
    selected: () => selected,
    state: () => ({ selected, zoom, left, scrolled, visible: L.byStart.length, rows: L.rows.length, isWhole: picture.isWhole ? 1 : 0 }),
  };
}

/// Whether a sentence names operations; else the verdict itself does.
const isSaid = D.sections.some(section => section.kind === "sentence");

/// What the boxes mean.
function legendOf(T) {
  const entry = (kind, text) => make("span", {}, make("i", { class: `key ${kind}` }), text);
  return make("p", { class: "soft legend" }, entry("", "operation, from call to return"),
    T.mark.includes(1) ? entry("story", "part of the explanation") : null,
    T.mark.includes(2) ? entry("clash", `${isSaid ? "named by the sentence" : "what the verdict is about"} (double edge)`) : null,
    T.end.includes(-1) ? entry("pending", "no return: may take effect at any later time, or never") : null,
    T.order ? entry("point", "takes effect") : null,
    make("span", {}, "time goes from left to right and is not to scale"));
}

/// A strip of the whole history where the page shows a part of it.
function wholeStrip(T) {
  const [calls, [from, to], marks] = T.overview, wide = calls.length, tall = 28;
  const most = Math.max(1, ...calls);
  const root = shape("svg", { class: "whole", viewBox: `0 0 ${wide} ${tall}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const path = calls.map((count, x) => `M${x} ${tall}h1v${-tall * 0.7 * count / most}h-1z`).join("");
  root.append(shape("path", { class: "density", d: path }));
  root.append(shape("rect", { class: "window", x: from * wide, y: 1, width: Math.max(2, (to - from) * wide), height: tall - 2 }));
  for (const mark of marks) root.append(shape("rect", { class: "mark", x: mark * wide - 1, y: 0, width: 2, height: tall }));
  return make("div", {}, make("p", { class: "doubt", id: "window" }, T.note, " The strip is the whole history, with the part shown framed."), root);
}

/// Lanes can be hidden and moved.
function laneList(T, L, relayout, matches, onChange) {
  const list = make("div", { class: "lane-list" }), MOST = 500;
  const name = make("input", { type: "search", id: "lane-filter", placeholder: "name of a lane", "aria-label": "lanes whose name contains", oninput: fill });
  const only = lanes => { L.hidden.clear(); for (const lane of L.lanes) if (!lanes.has(lane)) L.hidden.add(lane); fill(); relayout(); };
  function fill() {
    const wanted = name.value.trim().toLowerCase();
    const fitting = L.lanes.filter(lane => T.lanes[lane].toLowerCase().includes(wanted));
    list.replaceChildren(...fitting.slice(0, MOST).map(entry), fitting.length > MOST ? make("span", { class: "soft" }, `and ${grouped(fitting.length - MOST)} more`) : "");
  }
  function entry(lane) {
    const toggle = event => { if (event.target.checked) L.hidden.delete(lane); else L.hidden.add(lane); relayout(); };
    const up = () => {
      const k = L.lanes.indexOf(lane);
      if (k > 0) { L.lanes.splice(k, 1); L.lanes.splice(k - 1, 0, lane); fill(); relayout(); }
      // The list is new: whoever moves a lane by keys wants to move it further.
      list.querySelector(`button[data-lane="${lane}"]`)?.focus();
    };
    return make("span", {}, make("label", {}, make("input", { type: "checkbox", "data-lane": lane, checked: !L.hidden.has(lane), onchange: toggle }), short(T.lanes[lane], 40)),
      make("button", { title: "move up", "data-lane": lane, "aria-label": `move ${short(T.lanes[lane], 40)} up`, onclick: up }, "↑"));
  }
  onChange(() => {
    for (const input of list.querySelectorAll("input")) input.checked = !L.hidden.has(Number(input.dataset.lane));
  });
  const chooser = make("details", { id: "chooser", ontoggle: () => { if (chooser.open) fill(); } }, make("summary", {}, "lanes: hide and reorder"),
    make("div", { class: "bar" }, name,
      make("button", { id: "all-lanes", onclick: () => only(new Set(L.lanes)) }, "all"),
      make("button", { id: "no-lanes", onclick: () => only(new Set()) }, "none"),
      make("button", { id: "lanes-of-explanation", disabled: !T.mark.some(m => m), onclick: () => only(new Set(T.lane.filter((_, i) => T.mark[i]))) }, "those of the explanation"),
      make("button", { id: "lanes-found", onclick: () => { if (matches().length) only(new Set(matches().map(i => T.lane[i]))); } }, "those that the search found")),
    list);
  return chooser;
}

function saveDrawing(root, name = "history.svg") {
  const text = new XMLSerializer().serializeToString(root);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  make("a", { download: name, href: address }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
