/* Charts: Vega-Lite from the page's data, in the colors of the theme, drawn when they come near. */
(() => {
  const { data, rowsOf, color, onTheme, setTheme, theme, numberText } = window.fsage;
  /* By id: what is drawn, { figure, view, rows, curves }. */
  const charts = {};
  /* Places of the targets that are chosen in the legends; none is all. */
  const chosen = new Set();
  /* With more rows than this a canvas is faster than elements. */
  const MANY_ROWS = 20_000;
  /* Points of all curves of a chart that are drawn, and of one curve at least: there are no more columns of pixels. */
  const MANY_POINTS = 5_000;
  const ENOUGH_POINTS = 200;
  /* Symbols of a curve, and the length up to which each of its points has one. */
  const SYMBOLS = 7;
  const FEW_POINTS = 16;

  const metaOf = (id) => data.charts[id].spec.usermeta;

  /* ---- The specification ---- */

  /* With every CSS variable replaced by its color. */
  const painted = (part) => {
    if (typeof part === "string") return part.startsWith("--") ? color(part) : part;
    if (Array.isArray(part)) return part.map(painted);
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, painted(value)]));
  };

  const configOf = (width, legend) => painted({
    aria: false,
    font: getComputedStyle(document.body).fontFamily,
    background: null,
    view: { stroke: null },
    legend: { disable: !legend, labelColor: "--ink", orient: "bottom", direction: "horizontal", columns: 4, labelLimit: 260 },
    title: { color: "--ink", anchor: "start", fontSize: 15 },
    axis: {
      labelColor: "--ink-soft", titleColor: "--ink-soft", gridColor: "--line", domainColor: "--line-strong",
      tickColor: "--line-strong", labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, labelPadding: 6,
    },
    axisX: { titlePadding: 8, tickSize: 4 },
    axisY: { domain: false, ticks: false, labelLimit: width < 520 ? 110 : 220 },
    axisYQuantitative: {
      titleAngle: 0, titleAlign: "left", titleAnchor: "end", titleX: 0, titleY: -12, titleBaseline: "bottom", tickCount: 6,
    },
    axisXQuantitative: { tickCount: width < 520 ? 5 : 10 },
    line: { strokeWidth: 2, strokeJoin: "round", strokeCap: "round" },
    point: { size: 46 },
    bar: { discreteBandSize: 15 },
  });

  const specOf = (id, width, legend) => {
    const { rows, marked, published } = charts[id];
    return {
      ...painted(data.charts[id].spec),
      datasets: { rows, marked, published, pointed: [] },
      width,
      autosize: { type: "fit-x", contains: "padding" },
      padding: 4,
    };
  };

  /* ---- Curves ---- */

  /* Curves with all of their rows, and with those that are known, by x. On a logarithmic axis there is no 0. */
  const curvesOf = (meta, rows) => {
    const curves = new Map(meta.series.map((series) => [series.name, { ...series, all: [], rows: [] }]));
    const isKnown = (value, scale) => value !== null && (scale !== "log" || value > 0);
    for (const row of rows) {
      if (!isKnown(row[meta.x], meta.x_scale)) continue;
      const curve = curves.get(row.series);
      const isPoint = isKnown(row[meta.y], meta.y_scale);
      curve?.all.push(isPoint ? row : { ...row, [meta.y]: null });
      if (isPoint) curve?.rows.push(row);
    }
    return [...curves.values()].filter((curve) => curve.rows.length > 0);
  };

  /* At most so many rows of a curve: of each stretch the ends, the smallest, the largest, and where it is broken. */
  const thinned = (rows, y, most) => {
    if (rows.length <= most) return rows;
    const stretches = Math.floor(most / 5);
    const kept = new Set();
    for (let i = 0; i < stretches; i++) {
      const from = Math.floor(i * rows.length / stretches);
      const to = Math.floor((i + 1) * rows.length / stretches);
      let [low, high, gap] = [null, null, null];
      for (let at = from; at < to; at++) {
        const value = rows[at][y];
        if (value === null) gap ??= at;
        else {
          if (low === null || value < rows[low][y]) low = at;
          if (high === null || value > rows[high][y]) high = at;
        }
      }
      for (const at of [from, low, high, gap, to - 1]) if (at !== null) kept.add(at);
    }
    return [...kept].sort((a, b) => a - b).map((at) => rows[at]);
  };

  /* A few points of each curve, not below each other, that carry its symbol. */
  const markedOf = (curves) => curves.flatMap(({ rows }, place) => {
    if (rows.length <= FEW_POINTS) return rows;
    const shift = (place % 5 + 0.5) / 5;
    return Array.from({ length: SYMBOLS }, (_, i) => rows[Math.floor((i + shift) * rows.length / SYMBOLS)]);
  });

  /* The row whose x is next to `x`. */
  const nearest = (rows, field, x, distance) => {
    let low = 0;
    let high = rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle][field] < x) low = middle + 1;
      else high = middle;
    }
    const before = rows[Math.max(0, low - 1)];
    return distance(before[field]) <= distance(rows[low][field]) ? before : rows[low];
  };

  /* ---- The tooltip ---- */

  const tooltip = document.getElementById("tooltip");

  const swatch = (paint, { symbol, dash, line = true, opacity = 1, hollow = false } = {}) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const add = (name, attributes) => {
      const part = svg.appendChild(document.createElementNS(space, name));
      for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
    };
    const wide = symbol ? 24 : 12;
    for (const [key, value] of Object.entries({ width: wide, height: 12, viewBox: `0 0 ${wide} 12`, "aria-hidden": true })) {
      svg.setAttribute(key, value);
    }
    svg.style.color = `var(${paint})`;
    if (!symbol) {
      add("rect", { x: 1, y: 1, width: 10, height: 10, rx: 2, fill: "currentColor", "fill-opacity": opacity, stroke: "currentColor" });
      return svg;
    }
    if (line) {
      add("path", { d: "M0,6H24", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": dash ? "5 4" : "none" });
    }
    add("path", {
      d: symbol, transform: "translate(12 6) scale(4)", fill: hollow ? "none" : "currentColor",
      ...(hollow ? { stroke: "currentColor", "stroke-width": 0.5 } : {}),
    });
    return svg;
  };

  /* A head, and lines of a swatch, a name and a value. */
  const fill = (head, lines) => {
    const title = document.createElement("p");
    title.textContent = head;
    const parts = lines.map(({ sign, name, value }) => {
      const line = document.createElement("div");
      const [left, right] = [document.createElement("span"), document.createElement("span")];
      left.textContent = name;
      right.textContent = value;
      line.append(...(sign ? [sign] : []), left, right);
      return line;
    });
    tooltip.replaceChildren(title, ...parts);
    tooltip.hidden = false;
  };

  const moveTooltip = (x, y) => {
    const { width, height } = tooltip.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    tooltip.style.left = `${Math.max(4, left)}px`;
    tooltip.style.top = `${Math.max(4, Math.min(y - height / 2, innerHeight - height - 4))}px`;
  };

  const hideTooltip = () => { tooltip.hidden = true; };

  const interval = (row, format) => row.low === null || row.low === undefined || row.low === row.high
    ? "" : ` (${numberText(row.low, format)} to ${numberText(row.high, format)})`;

  /* What the mark of a bar stands for. */
  const describe = (id, row) => {
    const meta = metaOf(id);
    if (meta.kind === "bars") {
      const paint = meta.colors[meta.targets.indexOf(row.target)];
      const value = numberText(row[meta.value], meta.format) + interval(row, meta.format);
      fill(row.group, [{ sign: swatch(paint), name: `${row.target}, ${row.state}`, value }]);
    } else {
      const whole = charts[id].rows.filter((other) => other.bar === row.bar);
      const sum = whole.reduce((sum, other) => sum + (other[meta.value] ?? 0), 0);
      fill(row.bar, whole.map((part) => ({
        sign: swatch(meta.colors[meta.parts.indexOf(part.part)]),
        name: part.part,
        value: `${numberText(part[meta.value], meta.format)} (${numberText(part[meta.value] / sum, "percent")})`,
      })));
    }
  };

  const tooltipHandler = (id) => (_handler, event, item) => {
    const row = item?.datum;
    if (!row || metaOf(id).kind === "lines") return;
    if (event.type === "pointerout" || event.type === "mouseout" || row[metaOf(id).value] === undefined) return hideTooltip();
    describe(id, row);
    moveTooltip(event.clientX, event.clientY);
  };

  /* ---- The pointer over curves ---- */

  /* Shows all values at the x that is next to a place on the screen; says where that is. */
  const pointAt = (id, clientX) => {
    const { figure, view, xs } = charts[id];
    const scale = view.scale("x");
    const box = figure.querySelector(".plot svg, .plot canvas").getBoundingClientRect();
    const origin = box.left + view.origin()[0] + view.padding().left;
    const distance = (x) => Math.abs(scale(x) - (clientX - origin));
    const x = nearest(xs, "x", scale.invert(clientX - origin), distance).x;
    show(id, x);
    return origin + scale(x);
  };

  const show = (id, x) => {
    const { view, curves, published } = charts[id];
    const meta = metaOf(id);
    charts[id].at = x;
    const points = curves.map((curve) => {
      const row = nearest(curve.rows, meta.x, x, (other) => Math.abs(other - x));
      return { curve, row, there: row[meta.x] === x };
    });
    /* A control is a level from the first day to the last, and of none of them. */
    const isLevel = ({ rows }) => rows.length === 2 && rows[0][meta.y] === rows[1][meta.y];
    points.sort((a, b) => b.row[meta.y] - a.row[meta.y]);
    const lines = points.map(({ curve, row, there }) => ({
      sign: swatch(curve.color, curve),
      name: there || isLevel(curve) ? curve.name : `${curve.name} (${meta.x} ${numberText(row[meta.x], meta.x_format)})`,
      value: numberText(row[meta.y], meta.y_format) + interval(row, meta.y_format),
    }));
    for (const row of published.filter((row) => row[meta.x] === x)) {
      lines.push({ name: `${row.series}, published`, value: numberText(row[meta.y], meta.y_format) });
    }
    fill(`${meta.x} ${numberText(x, meta.x_format)}`, lines);
    const pointed = points.filter((point) => point.there).map((point) => point.row);
    view.data("pointed", pointed).runAsync();
  };

  const unpoint = (id) => {
    hideTooltip();
    if (charts[id].at === undefined) return;
    charts[id].at = undefined;
    charts[id].view.data("pointed", []).runAsync();
  };

  const keyStep = (key, at, last) => ({
    ArrowLeft: at - 1, ArrowRight: at + 1, PageDown: at - 10, PageUp: at + 10, Home: 0, End: last,
  })[key];

  const listen = (id, plot) => {
    const move = (event) => moveTooltip(pointAt(id, event.clientX), event.clientY);
    plot.addEventListener("pointermove", move);
    plot.addEventListener("pointerdown", move);
    plot.addEventListener("pointerleave", () => unpoint(id));
    plot.addEventListener("blur", () => unpoint(id));
    plot.addEventListener("keydown", (event) => {
      const { xs, view, at } = charts[id];
      if (event.key === "Escape") return unpoint(id);
      const now = at === undefined ? -1 : xs.findIndex((known) => known.x === at);
      const next = keyStep(event.key, now, xs.length - 1);
      if (next === undefined) return;
      event.preventDefault();
      show(id, xs[Math.max(0, Math.min(next, xs.length - 1))].x);
      const box = plot.getBoundingClientRect();
      moveTooltip(box.left + view.origin()[0] + view.scale("x")(charts[id].at), (box.top + box.bottom) / 2);
    });
    plot.tabIndex = 0;
    plot.setAttribute("aria-label", `${plot.getAttribute("aria-label")} Arrow keys read the values.`);
  };

  /* ---- The legend ---- */

  /* Names of what belongs to the chosen targets, as the specification wants them. */
  const chosenIn = (id) => {
    const meta = metaOf(id);
    if (meta.kind === "lines") return meta.series.filter((s) => chosen.has(s.target)).map((s) => s.name);
    if (meta.kind === "bars") return meta.targets.filter((name) => chosen.has(data.targets.indexOf(name)));
    return [];
  };

  const choose = (target) => {
    if (!chosen.delete(target)) chosen.add(target);
    for (const button of document.querySelectorAll(".legend button")) {
      button.setAttribute("aria-pressed", chosen.has(Number(button.dataset.target)));
    }
    for (const [id, { view }] of Object.entries(charts)) {
      if (view && metaOf(id).kind !== "stacks") view.signal("chosen", chosenIn(id)).runAsync();
    }
  };

  const button = (target, sign, name) => {
    const out = document.createElement("button");
    out.type = "button";
    out.dataset.target = target;
    out.setAttribute("aria-pressed", chosen.has(target));
    out.title = "Bring out in all charts";
    out.append(sign, name);
    out.addEventListener("click", () => choose(target));
    return out;
  };

  const note = (sign, name) => {
    const out = document.createElement("span");
    out.append(sign, name);
    return out;
  };

  const DIAMOND = "M0,-1L1,0L0,1L-1,0Z";
  const legendOf = (id) => {
    const meta = metaOf(id);
    if (meta.kind === "lines") {
      return [
        ...charts[id].curves.map((curve) => button(curve.target, swatch(curve.color, curve), curve.name)),
        ...(meta.intervals ? [note(swatch("--line-strong", { opacity: 0.25 }), "band: interval")] : []),
        ...(meta.published ? [note(swatch("--ink", { symbol: DIAMOND, line: false, hollow: true }), "published")] : []),
      ];
    }
    if (meta.kind === "bars") {
      return [
        ...meta.targets.map((name, i) => button(data.targets.indexOf(name), swatch(meta.colors[i]), name)),
        ...(meta.states.length > 1
          ? meta.states.map((name, i) => note(swatch("--ink", { opacity: meta.shades[i] }), name)) : []),
      ];
    }
    return meta.parts.map((name, i) => note(swatch(meta.colors[i]), name));
  };

  /* ---- Drawing ---- */

  const prepare = (figure) => {
    const id = figure.id;
    const meta = metaOf(id);
    const rows = rowsOf(data.charts[id]);
    const lines = meta.kind === "lines";
    const most = Math.max(ENOUGH_POINTS, MANY_POINTS / (meta.series?.length ?? 1));
    const measured = meta.published ? rows.filter((row) => row.source !== "published") : rows;
    const curves = lines ? curvesOf(meta, measured) : [];
    const xs = new Set(curves.flatMap((curve) => curve.rows.map((row) => row[meta.x])));
    charts[id] = {
      figure, curves,
      rows: lines ? curves.flatMap((curve) => thinned(curve.all, meta.y, most)) : rows,
      published: meta.published ? rows.filter((row) => row.source === "published") : [],
      marked: markedOf(curves),
      xs: [...xs].sort((a, b) => a - b).map((x) => ({ x })),
    };
    const known = lines ? curves.length : rows.filter((row) => row[meta.value] !== null).length;
    const plot = figure.querySelector(".plot");
    if (known === 0) {
      const sentence = document.createElement("p");
      sentence.className = "empty";
      sentence.textContent = "No data.";
      plot.replaceWith(sentence);
      return;
    }
    figure.querySelector(".legend").replaceChildren(...legendOf(id));
    plot.style.minHeight = `${data.charts[id].spec.height + 60}px`;
    near.observe(plot);
    waiting.push(id);
  };

  const embed = (id, place, width, legend) => vegaEmbed(place, specOf(id, width, legend), {
    ast: true, actions: false, mode: "vega-lite", defaultStyle: false, hover: false, config: configOf(width, legend),
    renderer: charts[id].rows.length > MANY_ROWS ? "canvas" : "svg", tooltip: tooltipHandler(id),
  });

  /* Draws a chart, again where it was. Until it is drawn, what was there stays: at first its picture. */
  const draw = async (id) => {
    const chart = charts[id];
    const plot = chart.figure.querySelector(".plot");
    const isFirst = !chart.started;
    chart.started = true;
    const place = document.createElement("div");
    const result = await embed(id, place, plot.clientWidth, false);
    plot.replaceChildren(place);
    chart.finalize?.();
    chart.finalize = result.finalize;
    chart.view = result.view;
    // The label of the place says what it is: its parts say nothing more.
    plot.querySelector("svg, canvas")?.setAttribute("aria-hidden", "true");
    chart.width = plot.clientWidth;
    /* The plot is an image with a text; what Vega says of every mark is no more than noise beside it. */
    plot.querySelector("svg")?.setAttribute("aria-hidden", "true");
    plot.style.minHeight = "";
    if (chosen.size && metaOf(id).kind !== "stacks") chart.view.signal("chosen", chosenIn(id)).runAsync();
    if (!isFirst) return;
    if (metaOf(id).kind === "lines") listen(id, plot);
    else plot.addEventListener("pointerleave", hideTooltip);
    sizes.observe(plot);
  };

  const waiting = [];
  const drawOnce = (id) => charts[id].started ? undefined : draw(id);
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) drawOnce(target.closest("figure").id);
    }
  }, { rootMargin: "500px" });

  /* Narrow and wide charts have other axes, so a new width draws anew. */
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const id = target.closest("figure").id;
      if (target.clientWidth > 0 && target.clientWidth !== charts[id].width) {
        charts[id].width = target.clientWidth;
        draw(id);
      }
    }
  });

  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
  const drawWaiting = async () => {
    const id = waiting.shift();
    if (id === undefined) return;
    await drawOnce(id);
    idle(drawWaiting);
  };

  for (const figure of document.querySelectorAll("figure.chart")) prepare(figure);
  idle(drawWaiting);
  onTheme(() => {
    for (const id of Object.keys(charts)) if (charts[id].started) draw(id);
  });

  /* Paper is white, and has all charts. */
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    if (theme() === "dark") setTheme("light");
    for (const id of waiting) drawOnce(id);
  });
  addEventListener("afterprint", () => {
    if (theme() !== (before ?? theme())) setTheme(before);
  });

  /* The chart as an image, with its title and legend: a data URL or text. */
  const imageOf = async (id, type) => {
    const place = document.createElement("div");
    const spec = { ...specOf(id, 900, true), title: data.charts[id].title, background: color("--surface"), padding: 16 };
    const result = await vegaEmbed(place, spec, {
      ast: true, actions: false, mode: "vega-lite", defaultStyle: false, config: configOf(900, true), renderer: "svg",
    });
    const image = type === "svg" ? await result.view.toSVG() : await result.view.toImageURL("png", 2);
    result.finalize();
    return image;
  };

  Object.assign(window.fsage, { charts, chosen, choose, imageOf });
})();
