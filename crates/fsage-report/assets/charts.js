/* Charts: Vega-Lite from the page's data, in the colors of the theme. */
(() => {
  const { data, rowsOf, color } = window.fsage;
  const charts = {};

  /* The specification with every CSS variable replaced by its color. */
  const painted = (part) => {
    if (typeof part === "string") return part.startsWith("--") ? color(part) : part;
    if (Array.isArray(part)) return part.map(painted);
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, painted(value)]));
  };

  const draw = async (id, place) => {
    const chart = data.charts[id];
    const rows = rowsOf(chart);
    const spec = {
      ...painted(chart.spec),
      datasets: { rows, marked: [], pointed: [], published: rows.filter((row) => row.source === "published") },
      width: "container",
      background: null,
    };
    const result = await vegaEmbed(place, spec, { ast: true, actions: false, mode: "vega-lite", renderer: "svg" });
    charts[id] = { view: result.view };
  };

  for (const figure of document.querySelectorAll("figure.chart")) {
    draw(figure.id, figure.querySelector(".plot"));
  }
  Object.assign(window.fsage, { charts });
})();
