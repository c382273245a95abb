
// The page from top to bottom.

function headline() {
  document.title = short(`${D.words}: ${D.subject}`, 200);
  page.replaceChildren(make("h1", { id: "verdict" }, make("span", { class: D.role }, D.words),
    D.subject ? `: ${short(D.subject)}` : "", D.summary ? `: ${short(D.summary)}` : ""));
}

function command(label, text) {
  const code = make("code", {}, short(text, 20000));
  const copied = () => { button.textContent = "copied"; setTimeout(() => button.textContent = "copy", 1200); };
  const choose = () => getSelection().selectAllChildren(code);
  const button = make("button", { onclick: () => {
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(copied, choose); else choose();
  } }, "copy");
  return make("div", { class: "command" }, make("span", { class: "soft" }, label), code, button);
}

/// Everything that is said in words; the steps come later.
function sections() {
  const said = make("div", { id: "said" }), late = [];
  for (const section of D.sections) {
    if (section.kind === "sentence") {
      if (section.title) said.append(make("p", { class: "soft" }, short(section.title)));
      said.append(make("p", { class: "sentence" }, quoted(section.text)), ...section.more.map(line => make("p", {}, quoted(line))));
    } else if (section.kind === "text") {
      said.append(make("p", { class: section.role || undefined }, quoted(section.text)));
    } else if (section.kind === "quote") {
      late.push(make("details", { class: "quote" }, make("summary", {}, short(section.title)), make("pre", {}, lines(section.text))));
    }
  }
  page.append(said);
  if (D.reproduce) page.append(command("reproduce", D.reproduce));
  if (D.replay) page.append(command("replay", D.replay));
  page.append(...late);
}

/// The numbers of the run.
function run() {
  const simple = Object.entries(D.fields).filter(([, value]) => value !== null && typeof value !== "object" && value !== "");
  if (simple.length) page.append(make("h2", {}, "This run"), facts(simple));
}

const KEYS = [
  ["/", "search; Enter goes to the next match, Escape to the lanes"],
  ["n p", "select the next or the previous operation"],
  ["e", "go to the violation"],
  ["+ - 0", "zoom in, zoom out, show everything"],
  ["[ ]", "one step, or one operation of the order, back or on"],
  ["arrows, Page Up, Page Down, Home, End", "move the view, while the lanes have the focus"],
];
const GRAPH_KEYS = ["arrows, Home, End", "in the state graph: a step forward (down) or back (up), the next state of the row; the first state, the last of the run"];
function keys() {
  const known = D.graph ? [...KEYS, GRAPH_KEYS] : KEYS;
  const list = make("details", { id: "keys" }, make("summary", {}, "keys ( ? )"), facts(known));
  page.append(list);
  addEventListener("keydown", event => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") { list.open = !list.open; list.scrollIntoView({ block: "nearest" }); }
    const by = { "[": -1, "]": 1 }[event.key];
    if (!by) return;
    if (traces.length) traces[0].step(by);
    else { const button = document.getElementById(by < 0 ? "order-back" : "order-on"); if (button) button.click(); }
  });
}

function follow() {
  const T = D.timeline, op = view ? T.index.indexOf(linked("op")) : -1, step = linked("step");
  if (op >= 0) view.select(op);
  if (step >= 0 && traces.length) traces[0].go(step);
  if (states && linked("state") >= 0) states.select(linked("state"));
  return op >= 0;
}

headline();
sections();
const T = D.timeline;
const view = T && T.lane.length ? timeline(T) : null;
if (view && T.moved) movedView(T.moved, view);
if (view && T.cells) cellsView(T.cells, view);
if (view && T.order) orders(T.order, view);
const traces = D.sections.filter(section => section.kind === "steps").map(steps);
const states = D.graph ? stateGraph(D.graph, traces[0]) : null;
if (traces.length) traces[0].onMove(at => link("step", at));
if (view) operationsTable(view);
run();
keys();
if (view) {
  if (T.mark.some(m => m)) {
    view.story();
    if (!view.showsNamed()) view.frame.before(clash(T, view));
  } else view.whole();
  follow();
} else follow();
addEventListener("hashchange", follow);
window.trueline = { data: D, view, states };
