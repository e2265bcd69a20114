"use strict";
// Dash's polyfill puts slower functions in place of these, which plotly calls for every point that it draws.
(() => {
  const owners = [[window, "parseInt"], [Number, "parseInt"], [String.prototype, "trim"]];
  const natives = owners.map(([owner, name]) => [owner, name, owner[name]]);
  document.addEventListener("DOMContentLoaded", () => {
    for (const [owner, name, native] of natives) owner[name] = native;
  });
})();
