// Everything here adds to a page that can be read without it.
"use strict";
(() => {
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const said = document.getElementById("said");

  // Sorting: the heads of a table become buttons. Rows without a value stay at the end.
  const value = (row, place) => {
    const cell = row.cells[place];
    const text = cell ? (cell.dataset.value ?? cell.textContent.trim()) : "";
    if (text === "" || text === "—" || cell.colSpan > 1) return null;
    const number = Number(text.replace(/[,%]/g, ""));
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const sort = (table, head) => {
    const first = head.dataset.first ?? "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of all("thead th", table)) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, head.cellIndex), row]);
    rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
    said.textContent = `Sorted by ${head.textContent.trim()}, ${order}`;
  };
  for (const table of all("table[data-sortable]")) {
    for (const head of all("thead th", table)) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  // Filters: a row is shown if every control of the form lets it through.
  for (const form of all("form[data-for]")) {
    const rows = [...document.getElementById(form.dataset.for).tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const controls = all("select, input", form);
    const apply = () => {
      rows.forEach((row, place) => {
        row.hidden = !controls.every(({ name, type, value: wanted }) => {
          if (type === "search") return texts[place].includes(wanted.trim().toLowerCase());
          return wanted === "" || row.dataset[name].split(" ").includes(wanted);
        });
      });
      const shown = rows.filter((row) => !row.hidden).length;
      form.querySelector(".count").textContent = `${shown} of ${rows.length} rows shown`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
  }
})();
