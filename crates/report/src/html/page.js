"use strict";
// Headings sort their tables, and a printed page has its tables open. The page says all that it has without this.
for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 3 || table.querySelector("tr.group, tr.sum")) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    const key = row => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (typeof x === typeof y) return typeof x === "number" ? x - y : x.localeCompare(y);
      return typeof x === "number" ? -1 : 1;
    };
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort((a, b) => down ? order(b, a) : order(a, b));
      table.tBodies[0].append(...rows);
    });
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(one => { one.open = true; }));
