"use strict";
// Draws the figures that the page carries as they come into view, and zooms those of a flow together.
(() => {
  document.documentElement.classList.add("drawing");
  const { config, flows } = JSON.parse(document.getElementById("figures").textContent);
  const drawn = [];
  const ranges = {}; // of the time axes, of those that are zoomed together; none is what the figure came with

  // A figure with an overview keeps a time of its own.
  const group = ({ dataset: { flow, kind } }) => (flows[flow][kind].layout.xaxis.rangeslider ? `${flow} ${kind}` : flow);
  const shown = (plot) => ranges[group(plot)] ?? flows[plot.dataset.flow][plot.dataset.kind].layout.xaxis.range;

  const zoom = (plot, range) => {
    ranges[group(plot)] = range;
    for (const other of drawn.filter((one) => group(one) === group(plot))) {
      const [low, high] = other.layout.xaxis.range;
      const target = shown(other);
      if (low !== target[0] || high !== target[1]) Plotly.relayout(other, { "xaxis.range": [...target] });
    }
  };

  const draw = (plot) => {
    const { data, layout: own } = flows[plot.dataset.flow][plot.dataset.kind];
    // The figure's own range stays as it is: what is drawn changes its copy.
    const layout = structuredClone(own);
    if (fitPhone(plot, layout)) layout.height = layout.xaxis.rangeslider ? 720 : 560;
    Plotly.newPlot(plot, data, layout, config).then(() => {
      drawn.push(plot);
      fitHead(plot);
      plot.on("plotly_relayout", (change) => {
        follow(plot, change);
        if (Object.keys(change).some((key) => key.startsWith("xaxis"))) zoom(plot, [...plot.layout.xaxis.range]);
      });
      Plotly.relayout(plot, { ...theme(), "xaxis.range": [...shown(plot)] });
      plot.dataset.drawn = "";
    });
  };

  const keys = {
    ArrowLeft: (low, high) => [low - (high - low) / 10, high - (high - low) / 10],
    ArrowRight: (low, high) => [low + (high - low) / 10, high + (high - low) / 10],
    "+": (low, high) => [low + (high - low) / 4, high - (high - low) / 4],
    "-": (low, high) => [low - (high - low) / 2, high + (high - low) / 2],
    0: () => null,
  };
  const view = new IntersectionObserver(
    (entries) => {
      for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
        view.unobserve(target);
        draw(target);
      }
    },
    { rootMargin: "400px" },
  );
  for (const plot of document.querySelectorAll(".plot")) {
    view.observe(plot);
    plot.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      zoom(plot, keys[event.key](...shown(plot)));
      event.preventDefault();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((plot) => Plotly.relayout(plot, theme())));
})();
