"use strict";
// The index of several reports. Text reaches the document through textContent alone.
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const cell = (row, text, link) => {
  const td = row.insertCell();
  if (!link) { td.textContent = text; return; }
  const a = document.createElement("a");
  a.href = link; a.textContent = text; td.append(a);
};
document.title = D.title;
const title = document.createElement("h1");
title.textContent = D.title;
const table = document.createElement("table");
const body = table.createTBody();
for (const [subject, words, summary, file] of D.rows) {
  const row = body.insertRow();
  cell(row, words); cell(row, subject, encodeURIComponent(file)); cell(row, summary);
}
page.append(title, table);
})();
