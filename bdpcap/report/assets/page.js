"use strict";
// Draws the figures that the page carries as they come into view, and zooms those of a flow together.
(() => {
  document.documentElement.classList.add("drawing");
  const { config, flows } = JSON.parse(document.getElementById("figures").textContent);
  const drawn = [];
  const ranges = flows.map(() => null); // of the time axis; null is the flow's whole life

  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const [ink, panel, soft, accent] = ["--ink", "--panel", "--soft", "--accent"].map((name) => style.getPropertyValue(name).trim());
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      "font.color": ink,
      "hoverlabel.bgcolor": panel,
      "hoverlabel.font.color": ink,
      "modebar.color": soft,
      "modebar.activecolor": accent,
    };
  };
  const lives = flows.map(({ window }) => [...window.layout.xaxis.range]);
  const shown = (flow) => ranges[flow] ?? lives[flow];

  const zoom = (flow, range) => {
    ranges[flow] = range;
    const target = shown(flow);
    for (const plot of drawn.filter((other) => Number(other.dataset.flow) === flow)) {
      const [low, high] = plot.layout.xaxis.range;
      if (low !== target[0] || high !== target[1]) Plotly.relayout(plot, { "xaxis.range": [...target] });
    }
  };

  const draw = (plot) => {
    const flow = Number(plot.dataset.flow);
    const { data, layout } = flows[flow][plot.dataset.kind];
    Plotly.newPlot(plot, data, layout, config).then(() => {
      drawn.push(plot);
      Plotly.relayout(plot, { ...theme(), "xaxis.range": [...shown(flow)] });
      plot.on("plotly_relayout", (change) => {
        if (Object.keys(change).some((key) => key.startsWith("xaxis"))) zoom(flow, [...plot.layout.xaxis.range]);
      });
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
      const flow = Number(plot.dataset.flow);
      zoom(flow, keys[event.key](...shown(flow)));
      event.preventDefault();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((plot) => Plotly.relayout(plot, theme())));
})();
