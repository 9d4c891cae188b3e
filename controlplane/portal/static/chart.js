/* Draws the charts of a page with uPlot. Their figures are in the page; without this script the table beside has them. */
"use strict";
(() => {
  const HEIGHT = 200;
  const drawn = new Map();

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    return { text: of("--soft", "#555"), grid: of("--line", "#ddd"), bad: of("--bad", "#b00020"),
      lines: [of("--link", "#0b57b7"), of("--soft", "#536074"), of("--warn", "#8a5a00")] };
  };
  /* A time of the page's zone: the server has printed the oldest and newest beside; here hours and minutes do. */
  const short = (value) => Math.abs(value) >= 1e6 ? `${+(value / 1e6).toFixed(1)} M` : Math.abs(value) >= 1e4 ? `${+(value / 1e3).toFixed(1)} k` : `${+value.toFixed(1)}`;

  /* Times as the page has them: of a day of 24 hours, under them the date where that is another one. */
  const day = "\n{YYYY}-{MM}-{DD}";
  const times = [
    [86400 * 28, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
    [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
    [60, "{HH}:{mm}", day, null, day, null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", day, null, day, null, null, null, 1],
    [0.001, "{HH}:{mm}:{ss}.{fff}", day, null, day, null, null, null, 1],
  ];

  const draw = (figure) => {
    const data = JSON.parse(figure.dataset.chart);
    const paint = colours();
    const zone = figure.dataset.zone;
    const axis = { stroke: paint.text, grid: { stroke: paint.grid, width: 1 }, ticks: { stroke: paint.grid, width: 1 } };
    const marked = (u) => {
      for (const mark of data.marks) {
        const x = Math.round(u.valToPos(mark, "x", true));
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
        u.ctx.save();
        u.ctx.strokeStyle = paint.bad;
        u.ctx.setLineDash([6, 4]);
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
        u.ctx.restore();
      }
    };
    const options = {
      width: Math.max(240, figure.clientWidth),
      height: HEIGHT,
      padding: [null, 40, null, null],  // half a date, where the last tick has one
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
      scales: { x: { range: (_, least, most) => [least, Math.max(most, ...data.marks)] },
        y: { range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.05 : 1] } },
      axes: [{ ...axis, space: 96, values: times }, { ...axis, size: 64, values: (_, ticks) => ticks.map(short) }],
      series: [{ value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" }, ...data.lines.map((line, n) => ({ label: line.name, stroke: paint.lines[n % 3], width: 2,
        dash: n ? [5, 4] : undefined, spanGaps: false, points: { show: data.times.length < 40 },
        value: (_, value, __, at) => at == null ? "--" : value == null ? "not known" : `${short(value)} ${data.unit}` }))],
      hooks: { draw: [marked] },
    };
    return new uPlot(options, [data.times, ...data.lines.map((line) => line.values)], figure.querySelector(".plot"));
  };
  const all = () => {
    for (const [figure, chart] of drawn) if (!figure.isConnected) { chart.destroy(); drawn.delete(figure); }
    for (const figure of document.querySelectorAll("figure[data-chart]")) if (!drawn.has(figure)) drawn.set(figure, draw(figure));
  };
  let waiting = 0;
  window.addEventListener("resize", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      for (const [figure, chart] of drawn) chart.setSize({ width: Math.max(240, figure.clientWidth), height: HEIGHT });
    }, 150);
  });
  const redraw = () => { for (const chart of drawn.values()) chart.destroy(); drawn.clear(); all(); };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("htmx:afterSettle", all);
  document.addEventListener("DOMContentLoaded", all);
})();
