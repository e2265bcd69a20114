"use strict";
// Sorts tables by a click on a heading, and shows those rows of a large table that hold what is typed.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...table.querySelectorAll("tbody tr")];
  const atOnce = Number(table.dataset.atOnce ?? Infinity);
  let order = rows;
  let words = [];
  let all = rows.length <= atOnce;
  const said = document.createElement("span");
  const more = document.createElement("button");

  const show = () => {
    const found = order.filter((row) => words.every((word) => row.textContent.toLowerCase().includes(word)));
    const shown = new Set(all || words.length ? found : found.slice(0, atOnce));
    for (const row of order) {
      row.hidden = !shown.has(row);
      body.append(row);
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

  if (table.dataset.noun) {
    const line = document.createElement("p");
    const input = document.createElement("input");
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
