"use strict";
// What a figure needs of the page that it stands in; for all pages with figures.

// Colours of the page, as a change of a figure's layout.
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

// Fits a layout to a plot as narrow as on a phone, and returns whether it is: there the legend would cover the title, lines
// are longer than the figure, and numbers on an axis are wider than their place. The legend stands below all else.
const fitPhone = (plot, layout) => {
  if (plot.clientWidth >= 560) return false;
  for (const [name, axis] of Object.entries(layout)) {
    if (name.startsWith("xaxis") && axis.title?.text) [axis.title.text] = axis.title.text.split("<br>");
    if (/^[xy]axis/.test(name)) axis.automargin = true;
  }
  // A letter may be written as an entity.
  const broken = (line) => (line.match(/&\w+;|./gu) ?? []).map((letter, at) => (at && at % 44 === 0 ? `<br>${letter}` : letter)).join("");
  const { title } = layout;
  [title.text] = title.text.split(", ");
  title.font = { ...title.font, size: 13 };
  if (title.subtitle) title.subtitle.text = title.subtitle.text.split(/<br>|, |(?= → )/).map(broken).join("<br>");
  if (layout.legend?.y > 0) layout.legend = { ...layout.legend, yref: "container", y: 0, yanchor: "bottom" };
  layout.margin = { ...layout.margin, l: 56 };
  return true;
};

// Keeps as much room above a plot as its heading and its legend take at the width that it has.
const fitHead = (plot) => {
  const fit = () => {
    const height = (selector) => plot.querySelector(selector)?.getBoundingClientRect().height ?? 0;
    const legend = plot.layout.legend?.y > 0 ? height(".legend") : 0;
    const above = Math.round(12 + height(".g-gtitle") + legend);
    if (!(Math.abs(above - plot.layout.margin?.t) <= 1)) Plotly.relayout(plot, { "margin.t": above });
  };
  plot.on("plotly_afterplot", fit);
  fit();
};

// Fits the vertical axis of a time-sequence graph to the part of it that its time axis shows.
const follow = (plot, change) => {
  const changed = (axis) => Object.keys(change).some((key) => key.startsWith(axis));
  const traces = plot.calcdata.filter(([{ trace }]) => trace.yaxis === "y");
  if (!changed("xaxis") || changed("yaxis") || !traces.some(([{ trace }]) => trace.meta === "follow")) return;
  const [start, end] = plot.layout.xaxis.range;
  const heights = (points) => {
    const before = points[0].trace.line?.shape === "hv" ? points.filter(({ x }) => x < start).slice(-1) : [];
    return [...before, ...points.filter(({ x }) => x >= start && x <= end)].map(({ y }) => y).filter(Number.isFinite);
  };
  const ceiling = ([{ trace }]) => trace.meta === "ceiling";
  const used = traces.filter((points) => !ceiling(points)).flatMap(heights);
  if (!used.length) return;
  const most = (values, first) => values.reduce((a, b) => Math.max(a, b), first);
  const low = used.reduce((a, b) => Math.min(a, b));
  const high = most(used, low);
  const edge = most(traces.filter(ceiling).flatMap(heights), high);
  const top = edge - low <= 1.5 * (high - low) ? edge : high;
  const margin = 0.04 * (top - low) || 1;
  Plotly.relayout(plot, { "yaxis.range": [Math.max(0, low - margin), top + margin] });
};
