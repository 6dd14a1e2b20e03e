/* Charts that are pictures: nothing to draw, but an image to download. */
(() => {
  const { data } = window.fsage;
  const charts = {};
  for (const figure of document.querySelectorAll("figure.chart")) charts[figure.id] = { figure };

  /* What the style says of a part, for a picture that stands alone. */
  const STYLES = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
    "vector-effect", "font-family", "font-size",
  ];
  const alone = (svg) => {
    const copy = svg.cloneNode(true);
    const parts = copy.querySelectorAll("*");
    svg.querySelectorAll("*").forEach((part, i) => {
      const style = getComputedStyle(part);
      parts[i].removeAttribute("class");
      parts[i].setAttribute("style", STYLES.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; "));
    });
    const { width, height } = svg.viewBox.baseVal;
    for (const [key, value] of Object.entries({ width, height })) copy.setAttribute(key, value);
    copy.style.background = getComputedStyle(document.documentElement).getPropertyValue("--surface");
    return copy;
  };

  /* A row a name of the legend, below the chart. */
  const ROW = 20;
  const withLegend = (copy, figure) => {
    const signs = figure.querySelectorAll(".legend > span");
    const { width, height } = copy.viewBox.baseVal;
    signs.forEach((entry, i) => {
      const sign = alone(entry.querySelector("svg"));
      const y = height + i * ROW;
      sign.setAttribute("x", 4);
      sign.setAttribute("y", y);
      const name = document.createElementNS("http://www.w3.org/2000/svg", "text");
      for (const [key, value] of Object.entries({ x: 36, y: y + 10, "font-size": 12, "font-family": "sans-serif" })) {
        name.setAttribute(key, value);
      }
      name.style.fill = getComputedStyle(entry).color;
      name.textContent = entry.textContent;
      copy.append(sign, name);
    });
    const whole = height + signs.length * ROW;
    copy.setAttribute("viewBox", `-8 -8 ${width + 16} ${whole + 16}`);
    copy.setAttribute("height", whole);
  };

  const svgOf = (id) => {
    const { figure } = charts[id];
    const copy = alone(figure.querySelector(".plot svg"));
    withLegend(copy, figure);
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = data.charts[id].title;
    copy.prepend(title);
    return new XMLSerializer().serializeToString(copy);
  };

  /* The chart as an image, with its legend: a data URL or text. */
  const imageOf = async (id, type) => {
    const svg = svgOf(id);
    if (type === "svg") return svg;
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  };

  Object.assign(window.fsage, { charts, imageOf });
})();
