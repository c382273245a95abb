
// Steps of explored code or of a model, with a cursor.

function steps(S, number) {
  const isModel = S.layout === "model", last = S.steps.length;
  const slider = make("input", { type: "range", min: 0, max: last, value: 0, id: `step-slider-${number}`, "aria-label": "step", oninput: () => go(Number(slider.value)) });
  const where = make("span", { class: "soft", role: "status", id: `step-where-${number}` });
  page.append(make("h2", {}, short(S.title || "Steps")), make("div", { class: "bar" },
    make("button", { id: `step-back-${number}`, "aria-label": "one step back", onclick: () => go(at - 1) }, "◀"), slider,
    make("button", { id: `step-on-${number}`, "aria-label": "one step on", onclick: () => go(at + 1) }, "▶"), where,
    make("span", { class: "soft" }, number ? "" : "[ and ] step"),
    S.race ? make("span", { class: "bad" }, `data race: steps ${S.race[0] + 1} and ${S.race[1] + 1}`) : null));
  const isUsed = lane => isModel || S.steps.some(step => step.lane === lane);
  const lanes = S.lanes.map((name, lane) => [name, lane]).filter(([, lane]) => isUsed(lane));
  const body = make("tbody"), rowOf = [];
  fold();

  /// Rounds that repeat at once are folded: the first is shown, then how often.
  function fold() {
    const keys = S.steps.map(step => JSON.stringify([step.lane, step.call, step.did, step.returned, step.line]));
    const same = (k, length, round) => keys.slice(k, k + length).join() === keys.slice(k + round * length, k + (round + 1) * length).join();
    for (let k = 0; k < last;) {
      let times = 1, length = 0;
      for (let tried = 1; tried <= Math.min(12, (last - k) / 2) && times < 3; tried++) {
        times = 1; length = tried;
        while (k + (times + 1) * length <= last && same(k, length, times)) times++;
      }
      if (times < 3) { rowOf[k] = row(k); k++; continue; }
      for (let j = k; j < k + length; j++) rowOf[j] = row(j);
      const note = make("tr", {}, make("td", {}), make("td", { colspan: lanes.length + 1, class: "soft" }, `these ${length === 1 ? "step" : `${length} steps`} ${times} times in all`));
      body.append(note);
      for (let j = k + length; j < k + times * length; j++) rowOf[j] = note;
      k += times * length;
    }
  }
  function row(k) {
    const step = S.steps[k];
    const strong = text => text ? make("div", {}, make("b", {}, short(text, 500))) : null;
    const texts = [strong(step.call), step.did.map(text => make("div", { class: "mono" }, short(text, 500))), strong(step.returned && !step.returned.includes("->") ? `${step.returned} returns` : step.returned)];
    const file = step.file ? `${short(step.file, 300)}:${step.line}` : "";
    // The name of the file is enough; its folders are in the title.
    const place = isModel ? short(step.changed, 300) : file.split("/").pop();
    const tr = make("tr", choosable(() => go(k + 1)), make("td", { class: "soft" }, (S.cycle === k ? "↻ " : "") + (k + 1)),
      lanes.map(([, lane]) => make("td", {}, lane === step.lane ? texts : [])), make("td", { class: "soft mono place", title: isModel ? undefined : file }, place));
    if (S.cycle === k) tr.title = "from here on for ever";
    body.append(tr);
    return tr;
  }

  let at = 0;
  const memory = make("dl"), states = make("div");
  const arrows = shape("svg", { class: "arrows", id: `arrows-${number}`, "aria-hidden": "true" });
  page.append(make("div", { class: "columns" },
    make("div", { class: "scroll" }, arrows, make("table", { id: `steps-${number}`, class: "steps" },
      make("thead", {}, make("tr", {}, make("th", {}, ""), lanes.map(([name]) => make("th", {}, short(name, 60))), make("th", {}, isModel ? "changed" : "source"))), body)),
    make("div", { class: "beside", id: `step-state-${number}` }, make("b", {}, "Shared memory"), memory, isModel ? make("b", {}, "The specification may be in") : null, states)));
  const moved = [];
  /// An arrow from one step to another: from the side of its cell, or between the lanes.
  function arrow(from, to, kind, text) {
    const a = rowOf[from], b = rowOf[to];
    if (a === b) return;
    const table = a.closest("table"), origin = table.getBoundingClientRect();
    const cell = (row, step) => (row.cells[1 + lanes.findIndex(([, lane]) => lane === S.steps[step].lane)] || row.cells[1]).getBoundingClientRect();
    const p = cell(a, from), q = cell(b, to), isRight = q.left > p.left;
    // From the text of one step to that of the other; round the left where both are in one lane.
    const isSame = q.left === p.left, texts = row => Math.max(...[...row.querySelectorAll("td > div")].map(div => div.getBoundingClientRect().right));
    const ax = (isRight ? texts(a) + 4 : p.left - 2) - origin.left, bx = (isRight || isSame ? q.left - 2 : texts(b) + 4) - origin.left;
    const ay = p.top + p.height / 2 - origin.top, by = q.top + q.height / 2 - origin.top;
    const out = isRight ? 1 : -1, into = isRight || isSame ? 1 : -1, far = isSame ? 16 : 40;
    const start = kind === "race" ? ax + out * 8 : ax;
    arrows.append(shape("path", { class: `arrow ${kind}`, d: `M${start} ${ay}C${start + out * far} ${ay} ${bx - into * (far + 8)} ${by} ${bx - into * 8} ${by}` }));
    arrows.append(shape("path", { class: `point ${kind}`, d: `M${bx} ${by}l${-into * 9} -4v8z` }));
    if (kind === "race") arrows.append(shape("path", { class: `point ${kind}`, d: `M${ax} ${ay}l${out * 9} -4v8z` }));
    arrows.append(shape("text", { class: kind, x: (ax + bx) / 2, y: (ay + by) / 2 - 5, "text-anchor": "middle" }, text));
  }
  function drawArrows() {
    const table = document.getElementById(`steps-${number}`);
    arrows.setAttribute("width", table.offsetWidth); arrows.setAttribute("height", table.offsetHeight);
    arrows.replaceChildren();
    if (S.race) arrow(S.race[0], S.race[1], "race", "data race");
    const step = S.steps[at - 1];
    const isRace = from => S.race && S.race[0] === from && S.race[1] === at - 1;
    for (const from of (step && step.from) || []) if (!isRace(from)) arrow(from, at - 1, "from", "reads");
  }
  /// Shows what holds after so many steps.
  function go(k) {
    at = clamp(k, 0, last);
    slider.value = at;
    const step = S.steps[at - 1], tr = rowOf[at - 1];
    for (const other of body.querySelectorAll("tr.now")) other.classList.remove("now");
    where.textContent = step ? `step ${at} of ${last}` : `before the first of ${last} steps`;
    if (tr) {
      tr.classList.add("now");
      const frame = tr.closest(".scroll");
      frame.scrollTo({ top: tr.offsetTop - frame.clientHeight / 2, behavior: calm ? "auto" : "smooth" });
    }
    const values = new Map(), changed = new Set(((step && step.memory) || []).map(([name]) => name));
    for (const { memory } of S.steps.slice(0, at)) for (const [name, value] of memory || []) values.set(name, value);
    const entries = [...values].map(([name, value]) => [make("dt", { class: "mono" }, short(name, 60)), make("dd", { class: changed.has(name) ? "mono bad" : "mono" }, short(value, 200))]);
    memory.replaceChildren(...(entries.length ? entries.flat() : [make("dd", { class: "soft wide" }, "nothing was written yet")]));
    if (isModel) {
      let text = S.initially.join(" or ");
      for (const { states } of S.steps.slice(0, at)) if (states) text = states;
      states.replaceChildren(make("p", { class: "mono" }, short(text, 2000)));
    }
    drawArrows();
    for (const listener of moved) listener(at);
  }
  go(0);
  new ResizeObserver(drawArrows).observe(document.getElementById(`steps-${number}`));
  return { go, step: by => go(at + by), onMove: listener => moved.push(listener) };
}
