// Everything here adds to a page that can be read without it.
"use strict";
(() => {
  const root = document.documentElement;
  const said = document.getElementById("said");
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

  // Theme: what the system says, until the button is pressed; remembered where that is possible.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("counterbalance-theme", value);
      return localStorage.getItem("counterbalance-theme");
    } catch {
      return null;
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const showTheme = () => button.setAttribute("aria-checked", String(isDark()));
  const known = remembered();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered(root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  button.hidden = false;
  showTheme();

  // Sorting: the heads of a table become buttons. Rows without a value stay at the end.
  const value = (row, place) => {
    let column = 0;
    const cell = [...row.cells].find((each) => (column += each.colSpan) > place);
    if (!cell || cell.colSpan > 1) return null;
    const text = cell.dataset.value ?? cell.textContent.trim();
    if (text === "" || text === "—") return null;
    const number = Number(text);
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const sort = (table, head) => {
    const place = head.cellIndex;
    const first = head.dataset.first ?? "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of all("thead th", table)) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row, place), row]);
    rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    body.append(...rows.map(([, row]) => row));
    said.textContent = `Sorted by ${head.textContent.trim()}, ${order}`;
  };
  for (const table of all("table[data-sortable]")) {
    for (const head of all("thead th", table)) {
      const inner = document.createElement("button");
      inner.type = "button";
      inner.append(...head.childNodes);
      inner.addEventListener("click", () => sort(table, head));
      head.append(inner);
    }
  }

  // Filters: an item is shown if every control that it has an answer to lets it through.
  for (const form of all("form.filters")) {
    const scope = document.getElementById(form.dataset.for);
    const items = all("[data-item]", scope);
    const counted = items.filter((item) => item.dataset.item !== "");
    const texts = new Map();
    const text = (item) => {
      if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
      return texts.get(item);
    };
    const passes = (item, control) => {
      const wanted = control.value.trim();
      if (wanted === "") return true;
      if (control.type === "search") return item.dataset.item === "" || text(item).includes(wanted.toLowerCase());
      const own = item.dataset[control.name];
      return own === undefined || own.split(" ").includes(wanted);
    };
    const controls = all("select, input", form);
    const apply = () => {
      for (const item of items) item.hidden = !controls.every((control) => passes(item, control));
      const shown = counted.filter((item) => !item.hidden).length;
      const count = form.querySelector(".count");
      count.textContent = `${shown} of ${counted.length} ${form.dataset.what} shown`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
  }

  // Navigation: the section that is being read is marked.
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const visible = new Set();
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) visible[entry.isIntersecting ? "add" : "delete"](entry.target.id);
      const current = [...links.keys()].find((name) => visible.has(name));
      for (const [name, link] of links) {
        if (name === current) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-20% 0px -60% 0px" },
  );
  for (const name of links.keys()) watcher.observe(document.getElementById(name));
})();
