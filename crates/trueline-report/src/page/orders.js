
// Orders: the witness of a linearizable history, or the longest order that was found, with the state after each
// operation.

function orders(O, view) {
  const T = view.T;
  const state = make("pre", { id: "state" });
  const where = make("span", { id: "where", class: "soft", role: "status" });
  const slider = make("input", { id: "slider", type: "range", min: 0, max: 0, value: 0, "aria-label": "position in the order", oninput: () => go(Number(slider.value)) });
  let path = [], at = 0;

  page.append(make("h2", {}, O.complete ? "An order that explains the history" : "How far an order goes"),
    make("p", { class: "soft" }, O.note, O.before ? ` ${O.before}` : ""));
  page.append(make("div", { class: "bar" },
    make("button", { id: "order-back", "aria-label": "one operation back", onclick: () => go(at - 1) }, "◀"), slider,
    make("button", { id: "order-on", "aria-label": "one operation on", onclick: () => go(at + 1) }, "▶"), where),
    make("div", { class: "soft" }, "state of the object"), state);
  if (O.ends.length) {
    page.append(make("p", {}, "Other orders of as many operations end in: ", O.ends.map((end, k) => [k ? ", " : "", make("code", {}, short(end, 300))])));
  }
  if (O.next.length) {
    page.append(make("p", {}, "After the longest order:"), make("table", { id: "next" }, make("tbody", {}, O.next.map(([i, why]) =>
      make("tr", choosable(() => view.select(i)), make("td", { class: "mono" }, short(T.label[i], 200)), make("td", {}, short(why, 600)))))));
  }

  /// The operations up to a node of the tree, each with the state after it. Nodes have what differs from the state
  /// before: how many characters stay at the start and at the end, and what is between them.
  function pathTo(node) {
    const nodes = [];
    for (let k = node; k >= 0; k = O.parent[k]) nodes.unshift(k);
    let before = [...O.initial];
    return nodes.map(k => {
      const [start, end, between] = O.state[k];
      before = [...before.slice(0, start), ...between, ...(end ? before.slice(-end) : [])];
      return { op: O.op[k], state: before.join("") };
    });
  }
  function use(node) {
    path = pathTo(node);
    slider.max = path.length;
    view.L.place(path.map(step => step.op));
  }
  /// Shows the state after so many operations of the order.
  function put(k) {
    at = clamp(k, 0, path.length);
    slider.value = at;
    const step = path[at - 1];
    state.textContent = lines(step ? step.state : O.initial);
    where.textContent = step ? `${at} of ${path.length}: ${short(T.label[step.op], 80)}` : `before the first of ${path.length}`;
    view.point(step ? step.op : -1);
    return step;
  }
  function go(k) {
    const step = put(k);
    if (step) view.show(step.op);
  }
  // The longest order through the operation that was selected.
  view.onSelect(i => {
    const node = O.best[i], box = document.getElementById("details");
    const why = O.next.find(([op]) => op === i);
    if (why) box.append(make("p", {}, short(why[1], 600)));
    if (node < 0) return;
    use(node);
    const k = path.findIndex(step => step.op === i);
    put(k + 1);
    box.append(facts([["state before", k ? path[k - 1].state : O.initial], ["after", path[k].state]]));
    if (!O.complete) {
      box.append(make("p", { class: "soft" }, node === O.main ? "It is in the longest order found."
        : `Drawn now: the longest order found that contains it (${path.length} operations).`));
    }
  });
  view.onChange(() => view.L.place(path.map(step => step.op)));
  view.L.reserve(pathTo(O.main).map(step => step.op));
  view.L.run();
  use(O.main);
  // A violation begins where no operation can come next.
  put(O.complete ? 0 : path.length);
}
