
// Tables: all operations; what moved in a quasi linearizable history; the cells of a snapshot object.

function operationsTable(view) {
  const T = view.T, ROWS = 100;
  const COLUMNS = [
    ["call", i => T.call[i]],
    ["return", i => T.end[i] < 0 ? Infinity : T.end[i]],
    [T.kind || "process", i => T.lanes[T.lane[i]]],
    ["operation", i => T.label[i]],
    ["line", i => T.line[i]],
  ];
  let sortBy = 0, isUp = true, first = 0, sorted = [];
  const body = make("tbody"), paging = make("div", { class: "bar" });
  const heads = COLUMNS.map(([name], k) => make("th", {}, make("button", { onclick: () => { isUp = sortBy === k ? !isUp : true; sortBy = k; first = 0; sort(); } }, name)));
  page.append(make("h2", {}, T.note ? "The operations shown" : "All operations"), paging,
    make("div", { class: "scroll" }, make("table", { id: "table" }, make("thead", {}, make("tr", {}, heads)), body)));
  function sort() {
    const of = COLUMNS[sortBy][1];
    const compare = (a, b) => { const x = of(a), y = of(b); return (x < y ? -1 : x > y ? 1 : a - b) * (isUp ? 1 : -1); };
    sorted = view.L.byStart.slice().sort(compare);
    heads.forEach((head, k) => head.setAttribute("aria-sort", k !== sortBy ? "none" : isUp ? "ascending" : "descending"));
    rowsFrom(first);
  }
  function rowOf(i) {
    const mark = T.mark[i] === 2 ? "═ " : T.mark[i] ? "─ " : "";
    return make("tr", { "data-op": i, class: i === view.selected() ? "selected" : undefined, ...choosable(() => view.select(i)) },
      make("td", {}, String(T.call[i])), make("td", {}, T.end[i] < 0 ? "–" : String(T.end[i])),
      make("td", {}, short(T.lanes[T.lane[i]], 60)), make("td", { class: "mono" }, mark + short(T.label[i], 200)),
      make("td", {}, T.line[i] ? String(T.line[i]) : ""));
  }
  function rowsFrom(k) {
    first = clamp(k, 0, Math.max(0, sorted.length - 1));
    first -= first % ROWS;
    body.replaceChildren(...sorted.slice(first, first + ROWS).map(rowOf));
    paging.replaceChildren(...(sorted.length <= ROWS ? [] : [
      make("button", { onclick: () => rowsFrom(first - ROWS) }, "earlier"),
      make("button", { onclick: () => rowsFrom(first + ROWS) }, "later"),
      make("span", { class: "soft" }, `rows ${grouped(first + 1)} to ${grouped(Math.min(first + ROWS, sorted.length))} of ${grouped(sorted.length)}`),
    ]));
  }
  view.onSelect(() => {
    const k = sorted.indexOf(view.selected());
    if (k >= 0 && (k < first || k >= first + ROWS)) rowsFrom(k);
    for (const tr of body.children) tr.classList.toggle("selected", Number(tr.dataset.op) === view.selected());
  });
  view.onChange(sort);
  sort();
}

/// Two orders side by side, with lines from each operation to its place in the other.
function movedView(M, view) {
  const T = view.T, ROW = 22, WIDE = 300, BETWEEN = 160;
  const places = new Map(M.legal.map((i, row) => [i, row]));
  const rows = Math.max(M.taken.length, M.legal.length);
  const root = shape("svg", { id: "moved", width: 2 * WIDE + BETWEEN, height: rows * ROW + 8, role: "img", "aria-label": "Both orders; the table of operations has the same." });
  const y = row => row * ROW + ROW / 2 + 4;
  const text = (i, x, row, anchor, far) => {
    const label = short(T.label[i], 28) + (far ? `  (${far} ${far === 1 ? "place" : "places"})` : "");
    const element = shape("text", { x, y: y(row) + 4, "text-anchor": anchor, class: far ? "far" : "", tabindex: 0 }, label);
    element.addEventListener("click", () => view.select(i));
    element.addEventListener("keydown", event => { if (event.key === "Enter") view.select(i); });
    return element;
  };
  const far = new Map(M.taken);
  M.taken.forEach(([i, moved], row) => {
    root.append(text(i, WIDE - 8, row, "end", moved));
    if (!places.has(i)) return;
    const line = { x1: WIDE, y1: y(row), x2: WIDE + BETWEEN, y2: y(places.get(i)), class: moved ? "far" : "" };
    root.append(shape("line", line));
  });
  M.legal.forEach((i, row) => root.append(text(i, WIDE + BETWEEN + 8, row, "start", 0)));
  view.onSelect(i => {
    const moved = far.get(i);
    if (moved !== undefined) document.getElementById("details").append(make("p", {}, moved ? `It is out of order by ${moved} ${moved === 1 ? "place" : "places"}.` : "It is in its place."));
  });
  page.append(make("h2", {}, "What is out of order"), make("p", { class: "soft" }, M.note), make("div", { class: "scroll tall" }, root));
}

/// What updates write and scans show, cell by cell. A value that the scan above does not show is marked.
function cellsView(C, view) {
  const T = view.T;
  let before = new Array(C.cells).fill(null);
  const rows = C.rows.map(([i, values]) => {
    const isScan = values.every(value => value !== null);
    const cell = (value, k) => {
      const isNew = isScan && before[k] !== null && before[k] !== value;
      return make("td", { class: `mono ${isNew ? "changed" : ""}` }, value === null ? "" : (isScan ? "" : "← ") + short(value, 40));
    };
    const row = make("tr", { "data-op": i, class: T.mark[i] === 2 ? "named" : undefined, ...choosable(() => view.select(i)) },
      make("td", { class: "mono" }, (T.mark[i] === 2 ? "═ " : "") + short(T.label[i], 60)), make("td", {}, short(T.lanes[T.lane[i]], 30)), values.map(cell));
    if (isScan) before = values;
    return row;
  });
  page.append(make("h2", {}, "Cells and scans"), make("p", { class: "soft" }, C.note, " ← is a write; a shaded value differs from the scan above."),
    make("div", { class: "scroll" }, make("table", { id: "cells" },
      make("thead", {}, make("tr", {}, make("th", {}, "operation"), make("th", {}, "process"), Array.from({ length: C.cells }, (_, k) => make("th", {}, `cell ${k}`)))),
      make("tbody", {}, rows))));
}
