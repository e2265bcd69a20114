"use strict";
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
