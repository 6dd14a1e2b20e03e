"use strict";
/* The block map: what lies where on the disk, day by day. */
(() => {
  const { used, metadata, sizeClass, contiguity, shareOf } = window.fsage.disk;
  const { load, frameOf, groupOf, unitsOf, arrange } = window.fsage.disk;
  const root = document.getElementById("block-map");
  const sources = document.querySelectorAll(".block-map-data");
  if (!root || sources.length === 0) return;
  const byId = (id) => document.getElementById(id);
  const note = byId("map-note");

  /* Numbers in words. */
  const percent = (share) => {
    const p = share * 100;
    return `${p > 0 && p < 1 ? "< 1" : p < 100 && p > 99 ? "> 99" : Math.round(p)} %`;
  };
  const bytes = (n) => {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
    return `${n >= 100 || Number.isInteger(n) ? Math.round(n) : n.toFixed(n < 10 ? 2 : 1)} ${units[unit]}`;
  };
  const whole = (n) => n.toLocaleString("en-US");
  /* Days are kept from 0 and shown from 1, as in the charts. */
  const dayName = (day) => String(day + 1);
  const SIZES = ["up to 16 KiB", "up to 64 KiB", "up to 256 KiB", "up to 1 MiB", "up to 16 MiB", "over 16 MiB"];
  const AGES = ["since the day shown before", "1 day", "2–3 days", "4–7 days", "8–15 days", "16–31 days",
    "32–63 days", "64–127 days", "128 days and more"];
  const CONTIGUITY = ["none", "under 20 %", "20–40 %", "40–60 %", "60–80 %", "80–99 %", "all"];
  const METADATA = 100;
  const FREE = 101;

  const ageClass = (age) => Math.min(AGES.length - 1, age === 0 ? 0 : 32 - Math.clz32(age));

  /* What a color means, by scale: names, and which of them a cell has. */
  const SCALES = {
    size: { title: "files", names: SIZES, of: (bits) => sizeClass(bits) - 1 },
    age: { title: "last changed", names: AGES, of: (bits, age) => (sizeClass(bits) === 0 ? -1 : ageClass(age)) },
    contiguity: { title: "contiguous", names: CONTIGUITY, of: (bits) => contiguity(bits) - 1 },
    use: { title: "in use", names: ["space in use"], of: (bits) => (sizeClass(bits) === 0 ? -1 : 0) },
  };

  const maps = [...sources].map((source) => ({ ...JSON.parse(source.textContent), ready: null }));

  const nameOf = (map) => window.fsage.data?.targets?.[map.target] ?? `Target ${map.target + 1}`;

  /* ---- colors ---- */

  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const pack = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));

  /* Packed colors: [scale step][used], metadata and its hatching, free. */
  let palette = null;
  const makePalette = () => {
    const color = (name) => parse(window.fsage.color(`--map-${name}`));
    const free = color("free");
    const faded = (rgb) => mix(free, rgb, 0.18);
    const steps = window.fsage.color(`--map-${state.color}`).split(/\s+/).map(parse);
    const alone = (slot) => state.only === null || state.only === slot;
    const shades = steps.map((rgb, slot) => {
      const tone = alone(slot) ? rgb : faded(rgb);
      const least = state.color === "use" ? 0.06 : 0.35;
      const strength = (step) => (step === 0 ? 0 : least + (1 - least) * shareOf(step));
      return Array.from({ length: 16 }, (_, step) => pack(mix(free, tone, strength(step))));
    });
    const gray = (name) => pack(alone(METADATA) ? color(name) : faded(color(name)));
    palette = { hex: steps.map((rgb) => `rgb(${rgb.join(" ")})`), shades, free: pack(free),
      metadata: gray("metadata"), hatch: gray("hatch"),
      first: pack(alone(FREE + 1) ? color("first") : faded(color("first"))) };
  };

  /* ---- state ---- */

  const state = { color: "size", only: null, day: 0, playing: false, panes: [], days: [0] };
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");

  const slotOf = (bits, age) => {
    const slot = SCALES[state.color].of(bits, age);
    if (slot >= 0) return slot;
    if (sizeClass(bits) > 0) return FREE + 1;
    return metadata(bits) > 0 ? METADATA : FREE;
  };

  class Pane {
    constructor(map) {
      this.map = map;
      const copy = byId("map-pane").content.cloneNode(true);
      this.figure = copy.querySelector("figure");
      this.caption = copy.querySelector("strong");
      this.summary = copy.querySelector(".map-summary");
      this.box = copy.querySelector(".map-view");
      this.cells = copy.querySelector(".map-cells");
      this.marks = copy.querySelector(".map-marks");
      this.tip = copy.querySelector(".map-tip");
      this.said = copy.querySelector(".map-cell");
      this.caption.textContent = `${nameOf(map)}:`;
      this.box.setAttribute("aria-label", `Block map of ${nameOf(map)}. Arrows move from cell to cell, `
        + "Enter and plus zoom in, Escape and minus zoom out, Space plays the days.");
      this.view = { from: 0, to: map.size_bytes };
      this.cursor = -1;
      this.listen();
      byId("map-panes").append(copy);
      new ResizeObserver(() => this.draw()).observe(this.box);
    }

    /* Draws the whole map: as pixels, line by line. */
    draw() {
      const cssWidth = this.box.clientWidth;
      if (cssWidth === 0) return;
      const scale = window.devicePixelRatio || 1;
      const width = Math.max(1, Math.floor(cssWidth * scale));
      const tallest = Math.floor(Math.min(Math.max(cssWidth * 0.75, 320), 620) * scale);
      this.scale = scale;
      this.frame = frameOf(this.map, state.day);
      const key = `${this.frame.day} ${this.view.from} ${this.view.to} ${width} ${tallest}`;
      if (key !== this.key) {
        this.key = key;
        const address = this.cursor < 0 ? -1 : this.units.start(this.cursor);
        const room = Math.floor(width * tallest / (9 * scale * scale));
        this.units = unitsOf(this.map, this.frame, this.view, room);
        this.plan = arrange(this.units, width, tallest, Math.max(2, Math.round(2 * scale)));
        this.cursor = address < 0 ? -1 : this.units.at(address);
      }
      const { units, plan, cells } = this;
      const height = Math.max(1, plan.height);
      if (cells.width !== width || cells.height !== height) {
        for (const canvas of [cells, this.marks]) {
          canvas.width = width;
          canvas.height = height;
          canvas.style.height = `${height / scale}px`;
        }
        this.image = null;
      }
      const context = cells.getContext("2d");
      this.image ??= context.createImageData(width, height);
      const pixels = new Uint32Array(this.image.data.buffer);
      pixels.fill(0);
      const edge = plan.wide >= 6 ? 1 : 0;
      const fill = plan.wide - edge;
      const rows = plan.high - edge;
      const count = new Float64Array(FREE + 2);
      for (let i = 0; i < units.count; i++) {
        const bits = units.bits[i];
        const slot = slotOf(bits, units.age[i]);
        count[slot]++;
        const hatched = slot === METADATA;
        const color = hatched ? palette.metadata : slot >= FREE
          ? slot === FREE ? palette.free : palette.first
          : palette.shades[slot][used(bits)];
        plan.place(i);
        const { x, y } = plan;
        for (let row = y; row < y + rows; row++) {
          const start = row * width + x;
          for (let at = start; at < start + fill; at++) pixels[at] = color;
          if (hatched) {
            for (let k = -(x + row) & 3; k < fill; k += 4) pixels[start + k] = palette.hatch;
          }
        }
      }
      this.count = count;
      context.putImageData(this.image, 0, 0);
      this.mark();
      this.describe();
      // What is said of a cell is said of the day that is shown.
      const lines = this.cursor < 0 ? [] : this.tell(this.cursor);
      if (this.cursor < 0) this.tip.hidden = true;
      else if (!this.tip.hidden) this.tip.textContent = lines.join("\n");
      if (this.said.textContent !== "") this.said.textContent = state.playing ? "" : lines.join("; ");
    }

    /* The frame around the cell of the cursor: all that a move of it draws. */
    mark() {
      const context = this.marks.getContext("2d");
      context.clearRect(0, 0, this.marks.width, this.marks.height);
      if (this.cursor < 0) return;
      const outline = (i, pen) => {
        this.plan.place(i);
        const { x, y, wide, high } = this.plan;
        context.lineWidth = pen;
        context.strokeRect(x - pen / 2, y - pen / 2, wide + pen, high + pen);
      };
      context.strokeStyle = window.fsage.color("--map-mark");
      const file = this.fileAt(this.cursor);
      if (file !== null) {
        for (const extent of this.map.detail.extents) {
          if (extent.file !== file) continue;
          const first = this.units.at(Math.max(extent.start, this.view.from));
          const last = this.units.at(Math.min(extent.end, this.view.to) - 1);
          if (first < 0 || extent.end <= this.view.from) continue;
          for (let i = first; i <= last && i < first + 4096; i++) outline(i, Math.max(1, this.scale));
        }
      }
      outline(this.cursor, Math.max(2, 2 * this.scale));
    }

    describe() {
      const map = this.map;
      const at = map.read.indexOf(this.frame);
      const parts = [];
      const day = dayName(this.frame.day);
      const named = map.labels[at] || "";
      const label = ["", day, String(this.frame.day)].includes(named) ? "" : ` (${named})`;
      if (map.utilization[at] !== null) parts.push(`${percent(map.utilization[at])} of the data space used`);
      if (map.layout_score[at] !== null) parts.push(`layout score ${map.layout_score[at].toFixed(3)}`);
      let text = `day ${day}${label}: ${parts.join(", ")}`;
      if (!this.isWhole()) {
        text += `; ${bytes(this.view.from)} to ${bytes(this.view.to)}`;
      }
      this.summary.textContent = `${text}; a cell is ${bytes(this.units.size)}`;
    }

    /* The file of a unit of the last day in full: that of the extent with most of it. */
    fileAt(i) {
      if (!this.units.full) return null;
      const from = this.units.start(i);
      const to = this.units.end(i);
      const extents = this.map.detail.extents;
      let low = 0;
      let high = extents.length;
      while (low < high) {
        const mid = low + high >> 1;
        if (extents[mid].start < to) low = mid + 1;
        else high = mid;
      }
      let best = null;
      let most = 0;
      for (let k = low - 1; k >= 0 && k > low - 64; k--) {
        const here = Math.min(extents[k].end, to) - Math.max(extents[k].start, from);
        if (here > most) { most = here; best = extents[k].file; }
      }
      return best;
    }

    /* When a unit last changed: on a day that is shown, or since the one before it. */
    changed(age) {
      const to = this.frame.day - age;
      const at = this.map.days.indexOf(to);
      const from = at > 0 ? this.map.days[at - 1] + 1 : to;
      const when = from < to ? `on one of the days ${dayName(from)} to ${dayName(to)}` : `on day ${dayName(to)}`;
      return `last changed ${when}`;
    }

    /* What lies in a unit, line by line. */
    tell(i) {
      const { map, units } = this;
      const bits = units.bits[i];
      const from = units.start(i);
      const group = groupOf(map, from);
      const first = Math.floor(from / map.block_bytes);
      const last = Math.ceil(units.end(i) / map.block_bytes) - 1;
      const blocks = first === last ? `block ${whole(first)}` : `blocks ${whole(first)} to ${whole(last)}`;
      const lines = [`${blocks}, at ${bytes(from)}${group < 0 ? "" : `, ${map.group} ${whole(group)}`}`];
      const rest = map.logs ? "dead blocks or metadata" : "metadata";
      lines.push(used(bits) === 0 ? "free" : `${percent(shareOf(used(bits)))} in use`
        + (metadata(bits) > 0 ? `, ${percent(shareOf(metadata(bits)))} ${rest}` : ""));
      if (sizeClass(bits) > 0) {
        lines.push(`mostly files of ${SIZES[sizeClass(bits) - 1]}`);
        lines.push(this.changed(units.age[i]));
      }
      if (contiguity(bits) > 0) lines.push(`follow their predecessor: ${CONTIGUITY[contiguity(bits) - 1]}`);
      const number = this.fileAt(i);
      if (number !== null) {
        const file = map.detail.files[number];
        const kind = ["file", "link", "directory", "special file"][file.kind] ?? "file";
        lines.push(`${kind}${file.path === "" ? "" : ` ${file.path}`}, inode ${file.ino}, ${bytes(file.size)} in `
          + `${file.pieces} ${file.pieces === 1 ? "piece" : "pieces"}`);
      }
      return lines;
    }

    moveTo(i, loud) {
      if (i < 0 || i >= this.units.count) return;
      if (i !== this.cursor) {
        this.cursor = i;
        this.mark();
      }
      const lines = this.tell(i);
      if (loud) this.said.textContent = lines.join("; ");
      return lines;
    }

    zoom(factor, address) {
      const { map, view } = this;
      const least = this.units.full || (map.detail && this.frame === map.read[map.read.length - 1])
        ? 64 * map.block_bytes : 64 * map.cell_bytes;
      const length = Math.min(map.size_bytes, Math.max(least, (view.to - view.from) / factor));
      const band = map.band_bytes;
      let from = address - (address - view.from) * (length / (view.to - view.from));
      let to = from + length;
      if (length > band) {
        from = Math.floor(from / band) * band;
        to = Math.min(map.size_bytes, Math.max(from + band, Math.round(to / band) * band));
      } else {
        // Within a band its own limits hold.
        const start = Math.floor(address / band) * band;
        const end = Math.min(start + band, map.size_bytes);
        const span = Math.min(Math.ceil(length / map.cell_bytes) * map.cell_bytes, end - start);
        const within = Math.min(Math.max(from, start), end - span) - start;
        from = start + Math.floor(within / map.cell_bytes) * map.cell_bytes;
        to = from + span;
      }
      from = Math.max(0, from);
      this.show({ from, to: Math.min(to, map.size_bytes) });
    }

    isWhole() {
      return this.view.to - this.view.from >= this.map.size_bytes;
    }

    show(view) {
      this.view = view;
      this.draw();
      legend();
      byId("map-whole").disabled = state.panes.every((pane) => pane.isWhole());
    }

    listen() {
      const at = (event) => {
        const box = this.box.getBoundingClientRect();
        const [x, y] = [event.clientX - box.left, event.clientY - box.top];
        return this.plan ? this.plan.hit(x * this.scale, y * this.scale) : -1;
      };
      const point = (event) => {
        const i = at(event);
        this.tip.hidden = i < 0;
        if (i < 0) return;
        this.tip.textContent = this.moveTo(i, event.type === "pointerdown").join("\n");
        const box = this.box.getBoundingClientRect();
        const x = event.clientX - box.left;
        const y = event.clientY - box.top;
        const right = x + 16 + this.tip.offsetWidth > box.width;
        this.tip.style.left = `${Math.max(0, right ? x - 16 - this.tip.offsetWidth : x + 16)}px`;
        this.tip.style.top = `${Math.max(0, Math.min(y + 12, box.height - this.tip.offsetHeight))}px`;
      };
      this.box.addEventListener("pointermove", point);
      this.box.addEventListener("pointerdown", point);
      this.box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
      this.box.addEventListener("dblclick", (event) => {
        const i = at(event);
        if (i >= 0) this.zoom(4, this.units.start(i));
      });
      this.box.addEventListener("wheel", (event) => {
        const i = at(event);
        // Without a key the wheel moves the page where there is nothing more to see.
        const isWhole = this.isWhole();
        if (i < 0 || (event.deltaY > 0 && isWhole) || !(event.ctrlKey || document.activeElement === this.box)) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1.5 : 1 / 1.5, this.units.start(i));
      }, { passive: false });
      this.box.addEventListener("keydown", (event) => this.press(event));
    }

    press(event) {
      if (event.altKey || event.ctrlKey || event.metaKey || !this.units) return;
      const now = Math.max(0, this.cursor);
      const down = (lines) => {
        this.plan.place(now);
        const { x, y, high: step } = this.plan;
        for (const extra of [0, this.plan.gap]) {
          const i = this.plan.hit(x + 1, y + lines * (step + extra) + (lines < 0 ? 0 : 1));
          if (i >= 0 && i !== now) return i;
        }
        return now;
      };
      const address = this.units.start(now);
      const actions = {
        ArrowRight: () => this.moveTo(now + (this.cursor < 0 ? 0 : 1), true),
        ArrowLeft: () => this.moveTo(now - 1, true),
        ArrowDown: () => this.moveTo(down(1), true),
        ArrowUp: () => this.moveTo(down(-1), true),
        Home: () => this.moveTo(0, true),
        End: () => this.moveTo(this.units.count - 1, true),
        Enter: () => this.zoom(4, address),
        "+": () => this.zoom(2, address),
        "-": () => this.zoom(1 / 2, address),
        Escape: () => this.show({ from: 0, to: this.map.size_bytes }),
        " ": () => play(!state.playing),
      };
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    }
  }

  /* ---- the bars ---- */

  const legend = () => {
    const list = byId("map-legend");
    const sum = (slot) => state.panes.reduce((n, pane) => n + (pane.count?.[slot] ?? 0), 0);
    const all = state.panes.reduce((n, pane) => n + (pane.units?.count ?? 0), 0) || 1;
    const scale = SCALES[state.color];
    const logs = state.panes.some((pane) => pane.map.logs);
    const items = scale.names.map((name, slot) => [slot, name, palette.hex[slot]]);
    items.push([METADATA, logs ? "dead or metadata" : "metadata", null]);
    items.push([FREE, "nothing: all free", window.fsage.color("--map-free")]);
    if (sum(FREE + 1) > 0) items.splice(-2, 0, [FREE + 1, "first blocks only", window.fsage.color("--map-first")]);
    if (list.children.length !== items.length || list.dataset.color !== state.color) {
      list.dataset.color = state.color;
      list.replaceChildren(...items.map(([slot]) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        button.type = "button";
        button.append(...["map-swatch", "name", "share"].map((name) => {
          const part = document.createElement("span");
          part.className = name;
          return part;
        }));
        button.addEventListener("click", () => {
          state.only = state.only === slot ? null : slot;
          redraw();
        });
        item.append(button);
        return item;
      }));
    }
    items.forEach(([slot, name, color], at) => {
      const button = list.children[at].firstChild;
      const [swatch, text, share] = button.children;
      swatch.classList.toggle("hatched", color === null);
      if (color !== null) swatch.style.background = color;
      text.textContent = name;
      share.textContent = `${percent(sum(slot) / all)} of cells`;
      button.setAttribute("aria-pressed", String(state.only === slot));
    });
  };

  const redraw = () => {
    makePalette();
    for (const pane of state.panes) pane.draw();
    legend();
  };

  const slider = byId("map-day");
  const setDay = (at) => {
    const index = Math.max(0, Math.min(state.days.length - 1, at));
    state.day = state.days[index];
    slider.value = String(index);
    slider.setAttribute("aria-valuetext", `day ${dayName(state.day)}`);
    for (const pane of state.panes) pane.draw();
    legend();
  };

  const play = (on) => {
    const button = byId("map-play");
    state.playing = on;
    button.textContent = on ? "Pause" : "Play";
    button.setAttribute("aria-pressed", String(on));
    for (const pane of state.panes) pane.summary.setAttribute("aria-live", on ? "off" : "polite");
    if (!on) return;
    if (Number(slider.value) >= state.days.length - 1) setDay(0);
    let last = performance.now();
    const step = (now) => {
      if (!state.playing) return;
      const each = reduced.matches ? 1000 : 1000 / Number(byId("map-speed").value);
      if (now - last >= each) {
        last = now;
        setDay(Number(slider.value) + 1);
        if (Number(slider.value) >= state.days.length - 1) play(false);
      }
      if (state.playing) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  };

  /* Shows one map, or two beside each other. */
  const choose = async () => {
    const chosen = [byId("map-target").value, byId("map-beside").value].filter((value) => value !== "");
    const shown = [...new Set(chosen)].map((value) => maps[Number(value)]);
    await Promise.all(shown.map(load));
    byId("map-panes").replaceChildren();
    state.panes = shown.map((map) => new Pane(map));
    const known = new Set(shown.flatMap((map) => map.days));
    const before = state.days;
    const atEnd = state.day === before[before.length - 1];
    state.days = [...known].sort((a, b) => a - b);
    slider.max = String(state.days.length - 1);
    const at = atEnd ? state.days.length - 1 : state.days.findLastIndex((day) => day <= state.day);
    byId("map-whole").disabled = true;
    note.textContent = shown.map(remarks).filter((text) => text !== "").join(" ");
    makePalette();
    setDay(at);
  };

  /* What was left out. */
  const remarks = (map) => {
    const said = [];
    if (map.kept > map.days.length) said.push(`${map.days.length} of ${map.kept} kept days fit into this page`);
    if (!map.last) said.push("the last day is shown in cells only");
    else if (map.last.files < map.last.files_in_all) {
      said.push(`of ${whole(map.last.files_in_all)} files of the last day the ${whole(map.last.files)} largest `
        + "and most fragmented fit into this page; zoomed in, the others are in use and of no file");
    }
    return said.length === 0 ? "" : `${nameOf(map)}: ${said.join("; ")}.`;
  };

  const option = (value, text) => {
    const item = document.createElement("option");
    item.value = value;
    item.textContent = text;
    return item;
  };
  maps.forEach((map, at) => byId("map-target").append(option(String(at), nameOf(map))));
  byId("map-beside").append(option("", "nothing"), ...maps.map((map, at) => option(String(at), nameOf(map))));
  if (maps.length > 1 && innerWidth > 800) byId("map-beside").value = "1";
  byId("map-beside").parentElement.hidden = maps.length < 2;
  byId("map-target").addEventListener("change", choose);
  byId("map-beside").addEventListener("change", choose);
  byId("map-color").addEventListener("change", (event) => {
    state.color = event.target.value;
    state.only = null;
    redraw();
  });
  byId("map-whole").addEventListener("click", () => {
    for (const pane of state.panes) pane.show({ from: 0, to: pane.map.size_bytes });
  });
  byId("map-play").addEventListener("click", () => play(!state.playing));
  slider.addEventListener("input", () => { play(false); setDay(Number(slider.value)); });
  slider.addEventListener("keydown", (event) => {
    if (event.key === " ") { event.preventDefault(); play(!state.playing); }
  });
  window.fsage.onTheme(redraw);
  root.hidden = false;
  if (typeof DecompressionStream === "undefined") {
    note.textContent = "This browser is too old to read the block map: it has no DecompressionStream.";
    return;
  }
  /* The data of the first maps are read when somebody comes near: the page opens faster. */
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    choose().catch((error) => { note.textContent = `The block map cannot be read: ${error.message}`; });
  }, { rootMargin: "600px" });
  near.observe(root);
  addEventListener("beforeprint", () => { if (state.panes.length > 0) redraw(); });
})();
