
// Where operations are drawn: one scan over the events, left to right, places every call, every return and
// every point of the main order, so that events keep their order and labels fit.

const LANE = 34, TOP = 24, GAP = 7, POINT = 7;
const FONT = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

function layoutOf(T) {
  const n = T.lane.length;
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = FONT;
  const charWidth = measure.measureText("m").width;
  const isPlain = /^[\x20-\x7e]*$/;
  const labels = T.label.map(label => short(label, 40));
  const textWidth = text => isPlain.test(text) ? text.length * charWidth : measure.measureText(text).width;
  const width = labels.map(label => Math.max(14, textWidth(label) + 12));
  const events = [];
  for (let i = 0; i < n; i++) {
    events.push([T.call[i], i, false]);
    if (T.end[i] >= 0) events.push([T.end[i], i, true]);
  }
  events.sort((a, b) => a[0] - b[0]);

  const L = {
    n, labels, width, charWidth, textWidth,
    x0: new Float64Array(n), x1: new Float64Array(n), next: new Float64Array(n),
    total: 0, lanes: T.lanes.map((_, lane) => lane), row: [], rows: [], byLane: [], byStart: [],
    hidden: new Set(), part: -1,
    points: new Map(), order: [], slots: new Uint32Array(n),
  };
  L.isVisible = i => !L.hidden.has(T.lane[i]) && (L.part < 0 || T.part[i] === L.part);

  /// The call after which each operation of an order takes effect: the latest of those up to it.
  function slotsOf(order) {
    let latest = -1;
    return order.map(i => {
      if (latest < 0 || T.call[i] > T.call[latest]) latest = i;
      return latest;
    });
  }
  /// Makes room for the points of this order.
  L.reserve = order => {
    L.slots.fill(0);
    for (const slot of slotsOf(order)) L.slots[slot]++;
  };
  /// Places the points of an order: each lies within its operation, and behind those before it.
  L.place = order => {
    L.points.clear();
    L.order = order;
    const slots = slotsOf(order), count = new Map(), seen = new Map();
    for (const slot of slots) count.set(slot, (count.get(slot) || 0) + 1);
    order.forEach((i, k) => {
      const slot = slots[k], turn = (seen.get(slot) || 0) + 1;
      seen.set(slot, turn);
      const room = L.next[slot] - L.x0[slot];
      L.points.set(i, L.x0[slot] + room * turn / (count.get(slot) + 1));
    });
  };
  L.run = () => {
    const free = new Float64Array(T.lanes.length);
    let x = 6, total = 0, before = -1;
    for (const [, i, isEnd] of events) {
      // What is hidden keeps its place in the order and takes no room.
      if (L.isVisible(i)) x = Math.max(x + GAP, isEnd ? L.x0[i] + L.width[i] : free[T.lane[i]]);
      if (before >= 0) L.next[before] = x;
      before = isEnd ? -1 : i;
      if (isEnd) L.x1[i] = x; else L.x0[i] = x;
      if (!L.isVisible(i)) continue;
      if (!isEnd) x += POINT * L.slots[i];
      // An operation without a return has a box for its label; a line goes on from it.
      if (T.end[i] < 0) L.x1[i] = L.x0[i] + L.width[i];
      if (isEnd || T.end[i] < 0) free[T.lane[i]] = L.x1[i] + 6;
      total = Math.max(total, L.x0[i] + L.width[i], L.x1[i]);
    }
    if (before >= 0) L.next[before] = x + 2 * GAP;
    L.total = total + 20;
    L.rows = L.lanes.filter(lane => !L.hidden.has(lane));
    L.row = new Array(T.lanes.length).fill(-1);
    L.rows.forEach((lane, row) => L.row[lane] = row);
    L.byStart = [];
    for (const [, i, isEnd] of events) if (!isEnd && L.isVisible(i)) L.byStart.push(i);
    L.byLane = T.lanes.map(() => []);
    for (const i of L.byStart) L.byLane[T.lane[i]].push(i);
    // From where on a lane has an operation without a return.
    L.openFrom = L.byLane.map(own => {
      const open = own.find(i => T.end[i] < 0);
      return open === undefined ? Infinity : L.x0[open];
    });
  };
  /// The first operation of a lane that ends behind this place.
  L.firstFrom = (lane, x) => {
    const own = L.byLane[lane];
    let low = 0, high = own.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (L.x1[own[middle]] < x) low = middle + 1; else high = middle;
    }
    return low;
  };
  return L;
}
