// What every part of the page uses: elements, texts, colours, and the report itself. Nothing on the page
// decides anything: it draws what trueline found. Text of the report reaches the document through text
// nodes or a canvas alone, never as markup.

const D = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

/// An element. Attributes that begin with `on` are listeners; children may be nested lists.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null) element.append(child);
  }
  return element;
}

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

// Characters that do not show, or change the direction of those around them.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const spelled = c => "\\u{" + c.codePointAt(0).toString(16) + "}";

/// A text of the report as it is shown: cut where it is long, with what does not show spelled out.
function short(text, most = 2000) {
  return (text.length > most ? text.slice(0, most) + "…" : text).replace(HIDDEN, spelled);
}

/// The same for a text of several lines.
const lines = (text, most = 20000) => text.slice(0, most).split("\n").map(line => short(line, most)).join("\n");

/// Running text, in which calls stand between backticks.
const quoted = text => short(text).split("`").map((piece, k) => k % 2 ? make("code", {}, piece) : piece);

/// Names and values below each other.
const facts = pairs => make("dl", {}, pairs.map(([name, value]) =>
  [make("dt", {}, name), make("dd", {}, short(String(value), 4000))]));

/// Attributes of a row that can be chosen by mouse and keyboard.
const choosable = action => ({
  tabindex: 0, onclick: action, onkeydown: event => { if (event.key === "Enter") action(); },
});

/// What the address of the page names: `#op=41`.
const linked = name => {
  const found = new RegExp(`^#${name}=(\\d+)$`).exec(location.hash);
  return found ? Number(found[1]) : -1;
};
const link = (name, number) => history.replaceState(null, "", `#${name}=${number}`);

// Colours, for the canvas as for the rest of the page. Paper is light.
const COLORS = ["paper", "ink", "soft", "line", "panel", "box", "box-edge", "clash", "clash-edge", "story", "story-edge", "select", "point"];
const colors = {};
const recolored = [];
function palette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of COLORS) colors[name] = style.getPropertyValue(`--${name}`).trim();
}
palette();
function recolor(isPaper) {
  document.documentElement.classList.toggle("paper", isPaper);
  palette();
  for (const listener of recolored) listener();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => recolor(false));
addEventListener("beforeprint", () => recolor(true));
addEventListener("afterprint", () => recolor(false));

const SVG = "http://www.w3.org/2000/svg";
/// An element of a drawing.
function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
