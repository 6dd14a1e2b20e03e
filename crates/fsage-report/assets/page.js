/* Buttons of the page: copies, data behind charts and tables, the contents. */
(() => {
  const { data, charts, columnsOf, rowsOf, rowCount, csvOf, download, downloadText, imageOf } = window.fsage;
  /* Rows of a table that is shown; the download has all. */
  const MAX_ROWS = 200;

  const element = (name, attributes = {}, ...children) => {
    const out = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
    out.append(...children);
    return out;
  };
  const addButton = (place, text, title, action) => {
    const button = element("button", { type: "button", class: "button", title }, text);
    button.addEventListener("click", () => action(button));
    place.append(button);
    return button;
  };

  /* ---- Copy ---- */

  /* The clipboard is not there for every page that is a file: then the text is selected, to be copied by hand. */
  const copy = async (button, source) => {
    const say = (text) => {
      button.textContent = text;
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    };
    try {
      await navigator.clipboard.writeText(source.textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(source);
      say("Press Ctrl+C");
    }
  };
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button, button.previousElementSibling));
  }

  /* ---- Data ---- */

  const cellText = (value) => value === null ? "\u2013" : typeof value === "number" ? value.toLocaleString("en-US", {
    maximumSignificantDigits: Number.isInteger(value) ? 21 : 6,
  }) : value;

  const tableOf = (part, label) => {
    const columns = columnsOf(part);
    const isNumber = ({ values }) => values.some((value) => typeof value === "number");
    const head = element("tr", {}, ...columns.map((column) =>
      element("th", isNumber(column) ? { scope: "col", class: "number" } : { scope: "col" }, column.name)));
    const body = element("tbody");
    const count = rowCount(part);
    for (let i = 0; i < Math.min(count, MAX_ROWS); i++) {
      body.append(element("tr", {}, ...columns.map(({ values }) =>
        element("td", typeof values[i] === "number" ? { class: "number" } : {}, cellText(values[i])))));
    }
    const scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
      element("table", {}, element("thead", {}, head), body));
    const rest = count > MAX_ROWS ? [element("p", { class: "rest" },
      `The first ${MAX_ROWS} of ${count.toLocaleString("en-US")} rows. CSV and JSON have all of them.`)] : [];
    return element("div", { class: "data" }, scroll, ...rest);
  };

  const toggleData = (figure, part) => (button) => {
    const shown = figure.querySelector(".data");
    if (shown) shown.hidden = !shown.hidden;
    else figure.append(tableOf(part, `Data of ${part.title}`));
    button.setAttribute("aria-expanded", !figure.querySelector(".data").hidden);
  };

  const saveTools = (tools, id, part) => {
    addButton(tools, "CSV", "Download the data as CSV", () => downloadText(csvOf(part), "text/csv", `${id}.csv`));
    addButton(tools, "JSON", "Download the data as JSON", () =>
      downloadText(JSON.stringify(rowsOf(part), null, 1), "application/json", `${id}.json`));
  };

  for (const figure of document.querySelectorAll("figure.exhibit")) {
    const tools = figure.querySelector(".tools");
    const id = figure.id;
    const part = data.charts[id] ?? data.tables[id];
    if (rowCount(part) === 0) continue;
    if (!charts[id]) {
      saveTools(tools, id, part);
      continue;
    }
    addButton(tools, "Data", "Show the data as a table", toggleData(figure, part)).setAttribute("aria-expanded", false);
    saveTools(tools, id, part);
    if (!figure.querySelector(".plot")) continue;
    addButton(tools, "SVG", "Download the chart as SVG", async () =>
      downloadText(await imageOf(id, "svg"), "image/svg+xml", `${id}.svg`));
    addButton(tools, "PNG", "Download the chart as PNG", async () => download(await imageOf(id, "png"), `${id}.png`));
  }

  /* Paper has no line to press. */
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll(".folded")) folded.open = true;
  });

  /* ---- Contents ---- */

  const contents = document.querySelector(".contents details");
  const wide = matchMedia("(min-width: 64rem)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();

  const links = [...contents.querySelectorAll("a")];
  const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
  for (const link of links) {
    link.addEventListener("click", () => { if (!wide.matches) contents.open = false; });
  }
  /* The section that one reads: the last one that begins above the upper third. */
  const follow = () => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const above = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 3);
    const current = atEnd ? sections.at(-1) : above.at(-1) ?? sections[0];
    links.forEach((link, i) => {
      if (sections[i] === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  let due = false;
  addEventListener("scroll", () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      follow();
    });
  }, { passive: true });
  follow();
})();
