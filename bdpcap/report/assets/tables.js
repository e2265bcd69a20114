"use strict";
// Sorts tables by a click on a heading, shows those rows of a large table that hold what is typed, and opens rows.
for (const table of document.querySelectorAll("table.sortable")) {
  const rows = [...table.querySelectorAll("tbody tr:not(.about)")];
  const atOnce = Number(table.dataset.atOnce ?? Infinity);
  // The row below a row, with what there is about it.
  const abouts = new Map(rows.map((row) => [row, row.nextElementSibling]).filter(([, next]) => next?.className === "about"));
  const body = table.tBodies[0];
  let order = rows;
  let words = [];
  let all = rows.length <= atOnce;
  const said = document.createElement("span");
  const more = document.createElement("button");
  const input = document.createElement("input");

  const show = () => {
    const found = order.filter((row) => words.every((word) => row.textContent.toLowerCase().includes(word)));
    const shown = new Set(all || words.length ? found : found.slice(0, atOnce));
    for (const row of order) {
      const about = abouts.get(row);
      row.hidden = !shown.has(row);
      body.append(row);
      if (about) {
        about.hidden = row.hidden || !about.querySelector("details").open;
        body.append(about);
      }
    }
    said.textContent = words.length ? `${found.length} of ${rows.length} ${table.dataset.noun}` : "";
    more.hidden = all || words.length > 0;
  };

  const key = (row, column) => {
    const { value } = row.cells[column].dataset;
    return value === undefined ? undefined : Number(value);
  };
  const compare = (column, numeric) => (one, other) => {
    if (!numeric) return one.cells[column].textContent.localeCompare(other.cells[column].textContent, "en", { numeric: true });
    return key(other, column) - key(one, column);
  };
  const sort = (heading, column) => {
    const known = rows.filter((row) => key(row, column) !== undefined);
    const numeric = known.length > 0;
    const before = heading.getAttribute("aria-sort");
    // Numbers begin with the largest, words with A; what is not known stays below.
    const first = numeric ? "descending" : "ascending";
    const now = before === first ? (numeric ? "ascending" : "descending") : first;
    const sorted = (numeric ? known : [...rows]).sort(compare(column, numeric));
    if (now !== first) sorted.reverse();
    order = numeric ? [...sorted, ...rows.filter((row) => key(row, column) === undefined)] : sorted;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", now);
    show();
  };
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(heading, column));
    heading.append(button);
  });

  for (const [row, about] of abouts) {
    const details = about.querySelector("details");
    const button = document.createElement("button");
    button.append(...row.cells[0].childNodes);
    button.setAttribute("aria-expanded", false);
    button.setAttribute("aria-label", `${button.textContent}: more about ${about.dataset.name}`);
    button.addEventListener("click", () => (details.open = !details.open));
    row.cells[0].append(button);
    // A link into a row opens it, too.
    details.addEventListener("toggle", () => {
      if (details.open && row.hidden) {
        all = true;
        words = [];
        input.value = "";
        show();
      }
      button.setAttribute("aria-expanded", details.open);
      about.hidden = !details.open;
    });
  }

  if (table.dataset.noun) {
    const line = document.createElement("p");
    const label = document.createElement("label");
    line.className = "filter";
    input.type = "search";
    input.placeholder = table.dataset.words;
    label.append(`Show ${table.dataset.noun} with `, input);
    said.setAttribute("role", "status");
    line.append(label, said);
    table.parentElement.before(line);
    input.addEventListener("input", () => {
      words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      show();
    });
    more.textContent = `Show ${(rows.length - atOnce).toLocaleString("en")} more ${table.dataset.noun}`;
    more.addEventListener("click", () => {
      all = true;
      show();
    });
    table.parentElement.after(more);
    for (const rest of [...table.tBodies].slice(1)) rest.remove();
    table.parentElement.classList.remove("tall");
    show();
  }
}

// The browser opens what is folded around the target of a link, but a hidden row has to be shown first.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = target?.closest(".about details");
  if (!details) return;
  details.closest("tr").hidden = false;
  details.open = true;
  // The event of its opening comes after this.
  requestAnimationFrame(() => setTimeout(() => target.scrollIntoView({ block: "center" })));
};
addEventListener("hashchange", reveal);
addEventListener("click", ({ target }) => target.closest("a[href^='#']") && setTimeout(reveal));
reveal();
