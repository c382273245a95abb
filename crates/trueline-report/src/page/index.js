"use strict";
// The index of several reports. Text reaches the document through text nodes alone.
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
// Characters that do not show, or change the direction of those around them.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const short = text => text.slice(0, 1000).replace(HIDDEN, c => "\\u{" + c.codePointAt(0).toString(16) + "}");
const role = words => /^(linearizable|quasi linearizable|verified|holds|passed)/.test(words) ? "good" : /violation|^not|^failed/.test(words) ? "bad" : "doubt";

document.title = short(D.title);
const counts = new Map();
for (const [words] of D.rows) counts.set(words, (counts.get(words) || 0) + 1);
const found = make("span", { id: "found", class: "soft", role: "status" });
const search = make("input", { id: "search", type: "search", placeholder: "show rows that contain ( / )", size: 34, "aria-label": "show rows that contain" });
const rows = D.rows.map(([words, subject, summary, note, file]) => {
  const name = file === null ? short(subject) : make("a", { href: encodeURIComponent(file) }, short(subject));
  const cells = [make("td", { class: role(words) }, short(words)), make("td", {}, name), make("td", {}, short(summary))];
  if (D.rows.some(row => row[3])) cells.push(make("td", { class: note.startsWith("failed") ? "bad" : "soft" }, short(note)));
  return make("tr", {}, ...cells);
});
const texts = rows.map(row => row.textContent.toLowerCase());
const body = make("tbody", {});
function fill() {
  const wanted = search.value.trim().toLowerCase();
  const fitting = rows.filter((_, k) => texts[k].includes(wanted));
  body.replaceChildren(...fitting);
  found.textContent = `${fitting.length} of ${rows.length} rows`;
}
search.addEventListener("input", fill);
addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== search) { search.focus(); event.preventDefault(); }
});
page.replaceChildren(make("h1", {}, short(D.title)),
  make("p", { class: "soft" }, [...counts].map(([words, count]) => `${count} ${short(words)}`).join(", ")),
  make("div", { class: "bar" }, search, found), make("table", { id: "index" }, body));
fill();
window.trueline = { data: D };
})();
