"use strict";
// Draws the figures that the page carries, one after another, and zooms those of a flow together.
(() => {
  document.documentElement.classList.add("drawing");
  const { config, flows } = JSON.parse(document.getElementById("figures").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const drawn = [];

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
  const repaint = (extra) => drawn.forEach((plot) => Plotly.relayout(plot, { ...theme(), ...extra }));

  const zoomTogether = (plot) => {
    plot.on("plotly_relayout", (change) => {
      const keys = ["xaxis.range[0]", "xaxis.range[1]", "xaxis.range", "xaxis.autorange"];
      const moved = Object.fromEntries(keys.filter((key) => key in change).map((key) => [key, change[key]]));
      if (!Object.keys(moved).length || plot.dataset.led) return;
      const others = drawn.filter((other) => other !== plot && other.dataset.flow === plot.dataset.flow);
      for (const other of others) {
        other.dataset.led = "1";
        Plotly.relayout(other, moved).then(() => delete other.dataset.led);
      }
    });
  };

  const drawNext = () => {
    const plot = plots.shift();
    if (!plot) {
      document.documentElement.dataset.drawn = drawn.length;
      return;
    }
    const figure = flows[plot.dataset.flow][plot.dataset.kind];
    Plotly.newPlot(plot, figure.data, figure.layout, config).then(() => {
  document.documentElement.classList.add("drawing");
      drawn.push(plot);
      Plotly.relayout(plot, theme());
      zoomTogether(plot);
      setTimeout(drawNext);
    });
  };
  drawNext();

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint({}));
  addEventListener("beforeprint", () => repaint({ "font.color": "#000", width: 680 }));
  addEventListener("afterprint", () => repaint({ width: null }));
})();
