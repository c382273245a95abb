
// The operations of the explanation alone, where the lanes cannot show all of them at once: those in between
// take no room.

function clash(T, view) {
  const MOST = 40;
  let ops = T.mark.map((mark, i) => mark ? i : -1).filter(i => i >= 0);
  if (ops.length > MOST) ops = ops.filter(i => T.mark[i] === 2).slice(0, MOST);
  const used = [...new Set(ops.map(i => T.lane[i]))].sort((a, b) => a - b);
  const pick = column => ops.map(i => column[i]);
  const L = layoutOf({ lanes: used.map(lane => T.lanes[lane]), lane: ops.map(i => used.indexOf(T.lane[i])), call: pick(T.call), end: pick(T.end), label: pick(T.label), part: pick(T.part) });
  L.run();
  const names = Math.max(...used.map(lane => L.textWidth(short(T.lanes[lane], 22)))) + 18;
  const width = names + L.total + 20, height = used.length * LANE + 6;
  const root = shape("svg", { id: "clash", viewBox: `0 0 ${width} ${height}`, width, height });
  used.forEach((lane, row) => {
    const y = row * LANE + LANE / 2;
    root.append(shape("path", { class: "lane", d: `M${names} ${y}H${width}` }), shape("text", { class: "soft", x: 8, y: y + 4 }, short(T.lanes[lane], 22)));
  });
  ops.forEach((i, k) => {
    const a = names + L.x0[k], b = names + L.x1[k], y = used.indexOf(T.lane[i]) * LANE + 5, high = LANE - 10, kind = kindOf(T.mark[i]);
    const box = shape("g", { class: `op ${kind}`, tabindex: 0, role: "button", "data-op": i }, shape("title", {}, short(T.label[i], 400)));
    if (T.end[i] < 0) box.append(shape("path", { class: "open", d: `M${b} ${y}H${a}v${high}H${width}` }));
    else box.append(shape("rect", { x: a, y, width: b - a, height: high }));
    if (kind === "clash") box.append(shape("rect", { x: a + 3, y: y + 3, width: b - a - 6, height: high - 6 }));
    box.append(shape("text", { x: a + 7, y: y + 16 }, L.labels[k]));
    box.addEventListener("click", () => view.select(i));
    box.addEventListener("keydown", event => { if (event.key === "Enter") view.select(i); });
    root.append(box);
  });
  return make("div", { id: "clashing" }, make("p", { class: "soft" }, ops.length === T.mark.filter(m => m).length
    ? "The operations of the explanation, without those in between (click to find one below):"
    : `The first ${ops.length} operations that the sentence names, without those in between:`), make("div", { class: "scroll" }, root));
}
