
// The picture of the lanes, kept in tiles. Panning copies tiles; what is missing is painted a few tiles a
// frame, and ahead of time where the browser is idle. While the zoom changes, the last picture that was whole
// is stretched until its successor is there. So a frame costs about the same, however many operations are on
// the screen.

const ROWS = 8, TILE = 256;
/// A frame paints tiles until they held so many operations, one tile at least.
const LOAD = 400;
/// So many tiles are kept.
const KEPT = 96;
/// Operations narrower than this have no edge.
const NARROW = 4;

function pictureOf(T, L) {
  const { labels, x0, x1 } = L;
  // The tiles of one zoom by name; `stale` are those of the last picture that was whole.
  let tiles = new Map(), stale = null, zoom = 0, ratio = 0, wide = 0, tall = 0;
  const unused = [];
  const blank = () => Object.assign(document.createElement("canvas"), { width: wide, height: tall });

  /// A box from `a` to `b` with its label, which begins at `start`. What is far off is cut, as lengths of
  /// millions of pixels are not drawn well.
  function bar(c, i, a, b, y, start, right, isSelected) {
    const kind = kindOf(T.mark[i]), high = LANE - 10, from = start + 7, space = b - from;
    a = Math.max(a, -40); b = Math.min(b, right + 40);
    c.fillStyle = colors[kind]; c.fillRect(a, y, b - a, high);
    c.strokeStyle = isSelected ? colors.select : colors[`${kind}-edge`];
    c.lineWidth = isSelected ? 3 : 1.3;
    if (T.end[i] < 0) {
      c.setLineDash([5, 3]); c.beginPath();
      c.moveTo(b, y); c.lineTo(a, y); c.lineTo(a, y + high); c.lineTo(b, y + high);
      c.stroke(); c.setLineDash([]);
    } else c.strokeRect(a, y, b - a, high);
    if (kind === "clash" && b - a > 8) { c.lineWidth = 1.3; c.strokeRect(a + 3, y + 3, Math.max(b - a - 6, 1), high - 6); }
    if (space < 10) return;
    c.fillStyle = colors.ink;
    const isWide = L.width[i] - 12 > space;
    if (isWide) { c.save(); c.beginPath(); c.rect(a, y, b - a, high); c.clip(); }
    c.fillText(labels[i], from, y + high / 2 + 0.5);
    if (isWide) c.restore();
  }

  // Boxes that are too narrow for an edge: a pixel is the darker, the more of it they cover.
  let density = null, strip = null, pixels = null;
  function cover(a, b) {
    a = Math.max(a, 0); b = Math.min(b, wide);
    for (let x = Math.floor(a); x < b; x++) density[x] += Math.min(b, x + 1) - Math.max(a, x);
  }
  function paintDensity(c, y) {
    const [r, g, b] = rgb(colors["box-edge"]);
    for (let x = 0; x < wide; x++) {
      const share = density[x] && clamp(density[x], 0.3, 1);
      pixels.data.set([r, g, b, share * 255], 4 * x);
    }
    strip.getContext("2d").putImageData(pixels, 0, 0);
    c.drawImage(strip, 0, 0, wide, 1, 0, y, wide / ratio, LANE - 10);
  }

  /// Paints a tile; says how many operations it took.
  function paint(c, column, group) {
    const begin = column * wide / ratio, end = begin + wide / ratio;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.paper; c.fillRect(0, 0, wide, tall);
    c.font = FONT; c.textBaseline = "middle"; c.imageSmoothingEnabled = false;
    const rows = L.rows.slice(group * ROWS, (group + 1) * ROWS);
    c.strokeStyle = colors.line; c.lineWidth = 1; c.beginPath();
    rows.forEach((_, row) => { const y = row * LANE + LANE / 2; c.moveTo(0, y); c.lineTo(wide, y); });
    c.stroke();
    let load = 0;
    rows.forEach((lane, row) => {
      const y = row * LANE + 5, own = L.byLane[lane], late = [];
      const open = L.openFrom[lane] * zoom;
      if (open < end) openLine(c, open - begin, y + LANE - 10);
      let isDense = false, k = L.firstFrom(lane, (begin - 4) / zoom);
      for (; k < own.length && x0[own[k]] * zoom <= end + 4; k++) {
        const i = own[k], a = x0[i] * zoom - begin, b = x1[i] * zoom - begin;
        load++;
        if (b - a >= NARROW) bar(c, i, a, b, y, a, wide, false);
        else if (T.mark[i]) late.push(i);
        else {
          if (!isDense) { density.fill(0); isDense = true; }
          cover(a * ratio, Math.max(b * ratio, a * ratio + 1));
        }
      }
      if (isDense) paintDensity(c, y);
      // What the explanation names is never hidden by others.
      let drawn = -1;
      for (const i of late) {
        const a = x0[i] * zoom - begin, b = Math.max(x1[i] * zoom - begin, a + 1);
        if (b < drawn + 0.5) continue;
        c.fillStyle = colors[`${kindOf(T.mark[i])}-edge`]; c.fillRect(a, y, b - a, LANE - 10);
        drawn = b;
      }
    });
    return load;
  }
  /// An operation without a return goes on to the end.
  function openLine(c, x, y) {
    c.strokeStyle = colors["box-edge"]; c.lineWidth = 1.3; c.setLineDash([5, 3]);
    const from = x < 0 ? x % 8 : x;
    c.beginPath(); c.moveTo(from, y); c.lineTo(wide, y); c.stroke(); c.setLineDash([]);
  }

  function tile(column, group) {
    const canvas = unused.pop() || blank();
    const load = paint(canvas.getContext("2d"), column, group);
    tiles.set(`${column} ${group}`, canvas);
    return load;
  }
  /// Columns and groups of rows that a view shows, those in the middle first.
  function shown(view) {
    const first = Math.floor(view.left * zoom * ratio / wide), last = Math.floor((view.left * zoom + view.room) * ratio / wide);
    const above = Math.max(0, Math.floor((view.scrolled - TOP) / (ROWS * LANE)));
    const below = Math.min(Math.ceil(L.rows.length / ROWS), Math.ceil((view.scrolled + view.h - TOP) / (ROWS * LANE)));
    const all = [];
    for (let column = first; column <= last; column++) for (let group = above; group < below; group++) all.push([column, group]);
    const middle = (first + last) / 2;
    return all.sort((a, b) => Math.abs(a[0] - middle) - Math.abs(b[0] - middle));
  }
  /// Forgets tiles that are far from what is shown.
  function tidy(needed) {
    if (tiles.size <= KEPT) return;
    const [column] = needed[0] || [0];
    const far = [...tiles.keys()].sort((a, b) => Math.abs(parseInt(b) - column) - Math.abs(parseInt(a) - column));
    for (const name of far.slice(0, tiles.size - KEPT / 2)) { unused.push(tiles.get(name)); tiles.delete(name); }
    unused.length = Math.min(unused.length, KEPT);
  }
  /// Copies a picture to the screen. Tiles begin at whole pixels.
  function copy(c, view, from, scale) {
    const left = Math.round((view.name - view.left * zoom) * ratio), high = Math.round((TOP - view.scrolled) * ratio);
    for (const [name, canvas] of from) {
      const [column, group] = name.split(" ").map(Number);
      const x = left + column * wide * scale, y = high + Math.round(group * ROWS * LANE * ratio);
      if (x > view.w * ratio || x + wide * scale < 0 || y > view.h * ratio || y + tall < 0) continue;
      if (scale === 1) c.drawImage(canvas, x, y);
      else c.drawImage(canvas, x, y, wide * scale, tall);
    }
  }

  const P = {
    bar,
    /// Forgets everything: lanes, places or colours are others.
    clear: () => { unused.push(...tiles.values()); tiles = new Map(); stale = null; },
    /// Paints what a view shows, everything at once where this is asked for. True if tiles are missing.
    paint(c, view, isWhole) {
      if (view.ratio !== ratio) {
        ratio = view.ratio; wide = Math.round(TILE * ratio); tall = Math.round(ROWS * LANE * ratio);
        tiles = new Map(); stale = null; unused.length = 0;
        density = new Float32Array(wide); strip = Object.assign(blank(), { height: 1 }); pixels = new ImageData(wide, 1);
      }
      if (view.zoom !== zoom) {
        // Of a picture that never became whole nothing is kept.
        if (P.isWhole) { if (stale) unused.push(...stale.tiles.values()); stale = { zoom, tiles }; } else unused.push(...tiles.values());
        tiles = new Map(); zoom = view.zoom;
      }
      const needed = shown(view), missing = needed.filter(place => !tiles.has(place.join(" ")));
      let load = 0;
      while (missing.length && (isWhole || load < LOAD)) load += 1 + tile(...missing.shift());
      P.isWhole = !missing.length;
      c.setTransform(1, 0, 0, 1, 0, 0);
      c.imageSmoothingEnabled = false;
      if (P.isWhole) {
        if (stale) { unused.push(...stale.tiles.values()); stale = null; }
        tidy(needed);
      } else if (stale) copy(c, view, stale.tiles, zoom / stale.zoom);
      copy(c, view, tiles, 1);
      return !P.isWhole;
    },
    /// The name of a tile beside those shown that is missing.
    lacks(view) {
      if (!P.isWhole || view.zoom !== zoom) return null;
      const needed = shown(view), columns = needed.map(([column]) => column);
      const sides = [Math.max(...columns) + 1, Math.min(...columns) - 1].filter(column => column >= 0 && column * wide <= L.total * zoom * ratio);
      for (const column of sides) for (const [, group] of needed) {
        if (!tiles.has(`${column} ${group}`)) return [column, group];
      }
      return null;
    },
    /// Paints that tile, where there is one.
    ahead(view) {
      const next = P.lacks(view);
      if (next) tile(...next);
      return next !== null;
    },
    isWhole: false,
  };
  return P;
}

/// The parts of a colour such as `#22364f`.
function rgb(color) {
  const digits = color.slice(1), each = digits.length === 3 ? [...digits].map(c => c + c) : digits.match(/../g);
  return each.map(part => parseInt(part, 16));
}
