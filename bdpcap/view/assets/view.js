"use strict";
// Asks for another time, after a drag or by a key; the answer is the figure of that time.
(() => {
  const moves = {
    ArrowLeft: (low, high) => [low - (high - low) / 4, high - (high - low) / 4],
    ArrowRight: (low, high) => [low + (high - low) / 4, high + (high - low) / 4],
    "+": (low, high) => [low + (high - low) / 4, high - (high - low) / 4],
    "-": (low, high) => [low - (high - low) / 2, high + (high - low) / 2],
  };
  const others = "input, textarea, button, a, [role=listbox], [role=combobox], [role=dialog]";
  document.addEventListener("keydown", (event) => {
    const key = event.key === "=" ? "+" : event.key;
    const all = key === "0" || key === "Home";
    const plot = document.querySelector("#figure .js-plotly-plot");
    if (!plot?.layout || !(all || key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest(others)) return;
    const change = all ? { "xaxis.autorange": true } : { "xaxis.range": moves[key](...plot.layout.xaxis.range) };
    dash_clientside.set_props("asked", { data: change });
    event.preventDefault();
  });

  // Dash hides the place of its list that has focus from screen readers: its button takes focus instead.
  const listed = new MutationObserver(() => {
    const [hidden, button] = document.querySelectorAll(".dash-dropdown-focus-target, button#flow");
    if (!button) return;
    hidden.tabIndex = -1;
    button.tabIndex = 0;
    listed.disconnect();
  });
  listed.observe(document, { childList: true, subtree: true });

  // Plotly reports other changes, too: of its size, or of the sequence numbers alone.
  const asked = (change) =>
    Object.keys(change ?? {}).some((name) => name.startsWith("xaxis.")) ? change : dash_clientside.no_update;
  window.dash_clientside = { ...window.dash_clientside, view: { asked } };
})();
