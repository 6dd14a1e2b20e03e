"use strict";
/* The block map: what lies where on the disk, day by day. `src/map.rs` says how its data are written, and
   `fsage_metrics::block_map` what the bits of a cell mean. */
(() => {
  const root = document.getElementById("block-map");
  const sources = document.querySelectorAll(".block-map-data");
  if (!root || sources.length === 0) return;
  const byId = (id) => document.getElementById(id);
  const note = byId("map-note");
  const dark = () => window.fsage.theme() === "dark";

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
  const days = (n) => (n === 0 ? "that day" : n === 1 ? "1 day ago" : `${n} days ago`);
  const whole = (n) => n.toLocaleString("en-US");
  const shareOf = (step) => (step === 0 ? 0 : step === 15 ? 1 : (step - 0.5) / 14);
  const SIZES = ["up to 16 KiB", "up to 64 KiB", "up to 256 KiB", "up to 1 MiB", "up to 16 MiB", "over 16 MiB"];
  const AGES = ["that day", "1 day", "2–3 days", "4–7 days", "8–15 days", "16–31 days", "32–63 days", "64–127 days", "128 days and more"];
  const CONTIGUITY = ["none", "under 20 %", "20–40 %", "40–60 %", "60–80 %", "80–99 %", "all"];
  const SIZE_BYTES = [16384, 65536, 262144, 1048576, 16777216];
  const METADATA = 100;
  const FREE = 101;

  /* The bits of a cell. */
  const used = (bits) => bits & 15;
  const metadata = (bits) => bits >> 4 & 15;
  const sizeClass = (bits) => bits >> 8 & 7;
  const contiguity = (bits) => bits >> 11 & 7;
  const ageClass = (age) => Math.min(AGES.length - 1, age === 0 ? 0 : 32 - Math.clz32(age));

  /* What a color means, by scale: names, and which of them a cell has. */
  const SCALES = {
    size: { title: "files", names: SIZES, of: (bits) => sizeClass(bits) - 1 },
    age: { title: "last changed", names: AGES, of: (bits, age) => (sizeClass(bits) === 0 ? -1 : ageClass(age)) },
    contiguity: { title: "contiguous", names: CONTIGUITY, of: (bits) => contiguity(bits) - 1 },
    use: { title: "in use", names: ["space in use"], of: (bits) => (sizeClass(bits) === 0 ? -1 : 0) },
  };

  /* ---- data ---- */

  const inflate = async (text) => {
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  /* Cells of all days, and of each the number of the frame in which it last changed. */
  const readFrames = (map, data) => {
    const n = map.cells;
    let before = new Uint16Array(n);
    let sinceBefore = new Uint16Array(n);
    return map.days.map((day, at) => {
      const cells = new Uint16Array(n);
      const since = new Uint16Array(n);
      const low = at * 2 * n;
      for (let i = 0; i < n; i++) {
        const bits = (data[low + i] | data[low + n + i] << 8) ^ (before[i] & 0x3fff);
        cells[i] = bits;
        since[i] = bits & 0x4000 ? at : sinceBefore[i];
      }
      before = cells;
      sinceBefore = since;
      return { day, cells, since };
    });
  };

  /* The last day: files, extents in the order of their addresses, and runs of free space, in bytes. */
  const readLast = (last, data) => {
    let at = 0;
    const varint = () => {
      let n = 0;
      let scale = 1;
      for (;;) {
        const byte = data[at++];
        n += (byte & 127) * scale;
        if (byte < 128) return n;
        scale *= 128;
      }
    };
    const signed = () => {
      const n = varint();
      return n % 2 === 1 ? -(n + 1) / 2 : n / 2;
    };
    const unit = last.unit_bytes;
    const free = [];
    let end = 0;
    for (let n = varint(); n > 0; n--) {
      const start = end + varint();
      end = start + varint();
      free.push(start * unit, end * unit);
    }
    const files = [];
    const extents = [];
    const text = new TextDecoder();
    end = 0;
    for (let n = varint(); n > 0; n--) {
      const file = { ino: varint(), size: varint(), kind: varint(), path: "", pieces: 0 };
      const length = varint();
      file.path = text.decode(data.subarray(at, at + length));
      at += length;
      let endBefore = -1;
      for (let pieces = varint(); pieces > 0; pieces--) {
        const start = end + signed();
        end = start + varint();
        const pointers = varint() % 2 === 1;
        const first = endBefore < 0;
        const follows = start === endBefore;
        if (!pointers) {
          if (!follows) file.pieces++;
          endBefore = end;
        }
        extents.push({ start: start * unit, end: end * unit, file: files.length, pointers, first, follows });
      }
      files.push(file);
    }
    extents.sort((a, b) => a.start - b.start);
    return { files, extents, free };
  };

  const maps = [...sources].map((source) => ({ ...JSON.parse(source.textContent), ready: null }));

  const load = (map) => {
    map.ready ??= (async () => {
      map.read = readFrames(map, await inflate(map.frames));
      map.detail = map.last ? readLast(map.last, await inflate(map.last.data)) : null;
    })();
    return map.ready;
  };

  const nameOf = (map) => window.fsage.data?.targets?.[map.target] ?? `Target ${map.target + 1}`;

  /* The frame that shows a day: the last one up to it. */
  const frameOf = (map, day) => {
    let found = map.read[0];
    for (const frame of map.read) if (frame.day <= day) found = frame;
    return found;
  };

  /* ---- what is shown of a disk ---- */

  const groupOf = (map, address) =>
    (map.groups_per_band === 0 ? -1 : Math.floor(address / (map.band_bytes / map.groups_per_band)));

  /* Units of the map between two addresses: cells, or on the last day as few blocks each as there is room for. */
  const unitsOf = (map, frame, view, room) => {
    const perBand = (bytesEach) => Math.ceil(map.band_bytes / bytesEach);
    const isLast = frame === map.read[map.read.length - 1];
    let size = map.cell_bytes;
    if (isLast && map.detail) {
      const blocks = Math.ceil((view.to - view.from) / map.block_bytes / room);
      size = Math.min(size, Math.max(1, blocks) * map.block_bytes);
    }
    const first = Math.floor(view.from / map.band_bytes);
    const inOne = view.to <= (first + 1) * map.band_bytes;
    const count = inOne ? Math.ceil((view.to - view.from) / size)
      : (Math.floor(view.to / map.band_bytes) - first) * perBand(size)
        + Math.ceil((view.to % map.band_bytes) / size);
    const units = { size, count, view, first, perBand: inOne ? count : perBand(size) };
    units.start = (i) => (inOne ? view.from + i * size
      : (first + Math.floor(i / units.perBand)) * map.band_bytes + (i % units.perBand) * size);
    units.end = (i) => {
      const start = units.start(i);
      const band = (Math.floor(start / map.band_bytes) + 1) * map.band_bytes;
      return Math.min(start + size, band, view.to);
    };
    units.at = (address) => {
      if (address < view.from || address >= view.to) return -1;
      if (inOne) return Math.floor((address - view.from) / size);
      const band = Math.floor(address / map.band_bytes);
      return (band - first) * units.perBand + Math.floor((address % map.band_bytes) / size);
    };
    const cellAt = (address) => {
      const band = Math.floor(address / map.band_bytes);
      return band * map.cells_per_band + Math.floor((address % map.band_bytes) / map.cell_bytes);
    };
    const full = size < map.cell_bytes;
    units.bits = full ? blocksOf(map, units, view) : new Uint16Array(count);
    units.age = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const cell = cellAt(units.start(i));
      if (!full) units.bits[i] = frame.cells[cell];
      units.age[i] = frame.day - map.read[frame.since[cell]].day;
    }
    units.full = full;
    return units;
  };

  /* The bits of units smaller than a cell, from the files of the last day. What is neither free nor of a file that the
     page knows is metadata, unless files were left out: then it may be of one of them. */
  const blocksOf = (map, units, view) => {
    const { files, extents, free } = map.detail;
    const n = units.count;
    const freeBytes = new Float64Array(n);
    const byClass = new Float64Array(n * 6);
    const scored = new Uint32Array(n);
    const broken = new Uint32Array(n);
    const each = (start, end, visit) => {
      let from = Math.max(start, view.from);
      const to = Math.min(end, view.to);
      if (from >= to) return;
      for (let i = units.at(from); from < to; i++) {
        const next = Math.min(units.end(i), to);
        visit(i, from, next);
        from = next;
      }
    };
    for (let i = 0; i < free.length; i += 2) {
      each(free[i], free[i + 1], (unit, from, to) => { freeBytes[unit] += to - from; });
    }
    for (const extent of extents) {
      const file = files[extent.file];
      if (extent.pointers || file.kind > 1) continue;
      let size = 0;
      while (size < 5 && file.size > SIZE_BYTES[size]) size++;
      const begun = (address) => Math.ceil((address - extent.start) / map.block_bytes);
      each(extent.start, extent.end, (unit, from, to) => {
        byClass[unit * 6 + size] += to - from;
        scored[unit] += begun(to) - begun(from);
        if (from === extent.start) {
          if (extent.first) scored[unit]--;
          else if (!extent.follows) broken[unit]++;
        }
      });
    }
    const some = map.last.files < map.last.files_in_all;
    const known = map.last.free_known;
    const step = (part, all, steps) => (part <= 0 ? 0 : part >= all ? steps + 1 : 1 + Math.floor(part / all * steps));
    const bits = new Uint16Array(n);
    for (let i = 0; i < n; i++) {
      const length = units.end(i) - units.start(i);
      let data = 0;
      let size = 0;
      let most = 0;
      for (let k = 0; k < 6; k++) {
        const here = byClass[i * 6 + k];
        data += here;
        if (here > most) { most = here; size = k + 1; }
      }
      data = Math.min(data, length);
      const inUse = known ? Math.max(0, length - freeBytes[i]) : data;
      const rest = some && size === 0 ? 0 : Math.max(0, inUse - data);
      const near = scored[i] === 0 ? 0 : 1 + step(scored[i] - broken[i], scored[i], 5);
      bits[i] = step(inUse, length, 14) | step(rest, length, 14) << 4 | size << 8 | near << 11;
    }
    return bits;
  };

  /* Where units lie on a canvas: as large as they fit, whole bands in a line or a band over whole lines. */
  const arrange = (units, width, height, gap) => {
    const bands = Math.ceil(units.count / units.perBand);
    const fit = (side) => {
      const columns = Math.max(1, Math.floor(width / side));
      if (units.perBand > columns) {
        const lines = Math.ceil(units.perBand / columns);
        const perLine = Math.ceil(units.perBand / lines);
        const last = units.count - (bands - 1) * units.perBand;
        const all = (bands - 1) * lines + Math.ceil(last / perLine);
        return { side, lines, perLine, inLine: 1, height: all * side + (bands - 1) * gap };
      }
      const inLine = Math.max(1, Math.floor((width + gap) / (units.perBand * side + gap)));
      return { side, lines: 1, perLine: units.perBand, inLine, height: Math.ceil(bands / inLine) * (side + gap) - gap };
    };
    let plan = fit(1);
    for (let side = 2; side <= 48; side++) {
      const larger = fit(side);
      if (larger.height > height || side > width) break;
      plan = larger;
    }
    plan.gap = gap;
    plan.place = (i) => {
      const band = Math.floor(i / units.perBand);
      const within = i % units.perBand;
      if (plan.inLine > 1 || plan.lines === 1) {
        const bandWidth = units.perBand * plan.side + gap;
        return [(band % plan.inLine) * bandWidth + within * plan.side, Math.floor(band / plan.inLine) * (plan.side + gap)];
      }
      const line = Math.floor(within / plan.perLine);
      return [(within % plan.perLine) * plan.side, (band * plan.lines + line) * plan.side + band * gap];
    };
    plan.hit = (x, y) => {
      if (x < 0 || y < 0) return -1;
      let band;
      let within;
      if (plan.inLine > 1 || plan.lines === 1) {
        const bandWidth = units.perBand * plan.side + gap;
        const across = Math.floor(x / bandWidth);
        const column = Math.floor((x - across * bandWidth) / plan.side);
        if (across >= plan.inLine || column >= units.perBand) return -1;
        band = Math.floor(y / (plan.side + gap)) * plan.inLine + across;
        within = column;
      } else {
        const bandHeight = plan.lines * plan.side + gap;
        band = Math.floor(y / bandHeight);
        const line = Math.min(plan.lines - 1, Math.floor((y - band * bandHeight) / plan.side));
        const column = Math.floor(x / plan.side);
        if (column >= plan.perLine) return -1;
        within = line * plan.perLine + column;
        if (within >= units.perBand) return -1;
      }
      const i = band * units.perBand + within;
      return i < units.count ? i : -1;
    };
    return plan;
  };

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
      return Array.from({ length: 16 }, (_, u) => pack(mix(free, tone, u === 0 ? 0 : least + (1 - least) * shareOf(u))));
    });
    const gray = (name) => pack(alone(METADATA) ? color(name) : faded(color(name)));
    palette = { hex: steps.map((rgb) => `rgb(${rgb.join(" ")})`), shades, free: pack(free),
      metadata: gray("metadata"), hatch: gray("hatch") };
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
      this.box.setAttribute("aria-label", `Block map of ${nameOf(map)}. Arrows move from cell to cell, Enter and plus zoom in, `
        + "Escape and minus zoom out, Space plays the days.");
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
      const tallest = Math.floor(Math.min(Math.max(cssWidth * 0.62, 260), 620) * scale);
      this.scale = scale;
      this.frame = frameOf(this.map, state.day);
      const key = `${this.frame.day} ${this.view.from} ${this.view.to} ${width} ${tallest}`;
      if (key !== this.key) {
        this.key = key;
        const room = Math.floor(width * tallest / Math.max(4, 4 * scale));
        this.units = unitsOf(this.map, this.frame, this.view, room);
        this.plan = arrange(this.units, width, tallest, Math.max(2, Math.round(2 * scale)));
        if (this.cursor >= this.units.count) this.cursor = -1;
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
      const side = plan.side;
      const edge = side >= 6 ? 1 : 0;
      const fill = side - edge;
      const count = new Float64Array(FREE + 2);
      for (let i = 0; i < units.count; i++) {
        const bits = units.bits[i];
        const slot = slotOf(bits, units.age[i]);
        count[slot]++;
        const hatched = slot === METADATA;
        const color = hatched ? palette.metadata : slot >= FREE
          ? slot === FREE ? palette.free : palette.shades[palette.shades.length - 1][used(bits)]
          : palette.shades[slot][used(bits)];
        const [x, y] = plan.place(i);
        for (let row = y; row < y + fill; row++) {
          const start = row * width + x;
          pixels.fill(color, start, start + fill);
          if (hatched) {
            for (let k = (x + row) & 3 ? 4 - ((x + row) & 3) : 0; k < fill; k += 4) pixels[start + k] = palette.hatch;
          }
        }
      }
      this.count = count;
      context.putImageData(this.image, 0, 0);
      this.mark();
      this.describe();
    }

    /* The frame around the cell of the cursor: all that a move of it draws. */
    mark() {
      const context = this.marks.getContext("2d");
      context.clearRect(0, 0, this.marks.width, this.marks.height);
      if (this.cursor < 0) return;
      const outline = (i, pen) => {
        const [x, y] = this.plan.place(i);
        const side = this.plan.side;
        context.lineWidth = pen;
        context.strokeRect(x - pen / 2, y - pen / 2, side + pen, side + pen);
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
      const label = map.labels[at] && map.labels[at] !== String(this.frame.day) ? ` (${map.labels[at]})` : "";
      if (map.utilization[at] !== null) parts.push(`${percent(map.utilization[at])} used`);
      if (map.layout_score[at] !== null) parts.push(`layout score ${map.layout_score[at].toFixed(3)}`);
      let text = `day ${this.frame.day}${label}: ${parts.join(", ")}`;
      if (this.view.to - this.view.from < map.size_bytes) {
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

    /* What lies in a unit, line by line. */
    tell(i) {
      const { map, units } = this;
      const bits = units.bits[i];
      const from = units.start(i);
      const group = groupOf(map, from);
      const lines = [`${bytes(from)} to ${bytes(units.end(i))}${group < 0 ? "" : `, ${map.group} ${whole(group)}`}`];
      const rest = map.logs ? "dead blocks or metadata" : "metadata";
      lines.push(used(bits) === 0 ? "free" : `${percent(shareOf(used(bits)))} in use`
        + (metadata(bits) > 0 ? `, ${percent(shareOf(metadata(bits)))} ${rest}` : ""));
      if (sizeClass(bits) > 0) {
        lines.push(`mostly files of ${SIZES[sizeClass(bits) - 1]}`);
        lines.push(`last changed ${days(units.age[i])}`);
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
        from = start + Math.floor((Math.min(Math.max(from, start), end - span) - start) / map.cell_bytes) * map.cell_bytes;
        to = from + span;
      }
      from = Math.max(0, from);
      this.show({ from, to: Math.min(to, map.size_bytes) });
    }

    show(view) {
      const address = this.cursor < 0 ? -1 : this.units.start(this.cursor);
      this.view = view;
      this.cursor = -1;
      this.draw();
      if (address >= 0) this.cursor = this.units.at(address);
      this.mark();
      legend();
      byId("map-whole").disabled = state.panes.every((p) => p.view.to - p.view.from >= p.map.size_bytes);
    }

    listen() {
      const at = (event) => {
        const box = this.box.getBoundingClientRect();
        return this.plan ? this.plan.hit((event.clientX - box.left) * this.scale, (event.clientY - box.top) * this.scale) : -1;
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
        const isWhole = this.view.to - this.view.from >= this.map.size_bytes;
        if (i < 0 || (event.deltaY > 0 && isWhole) || !(event.ctrlKey || document.activeElement === this.box)) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1.5 : 1 / 1.5, this.units.start(i));
      }, { passive: false });
      this.box.addEventListener("keydown", (event) => this.key_(event));
    }

    key_(event) {
      if (event.altKey || event.ctrlKey || event.metaKey || !this.units) return;
      const now = Math.max(0, this.cursor);
      const down = (lines) => {
        const [x, y] = this.plan.place(now);
        const step = this.plan.side;
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
    items.push([METADATA, logs ? "dead or metadata" : "metadata", null], [FREE, "free", window.fsage.color("--map-free")]);
    if (sum(FREE + 1) > 0) items.splice(-2, 0, [FREE + 1, "first blocks only", palette.hex[palette.hex.length - 1]]);
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
      share.textContent = percent(sum(slot) / all);
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
    slider.setAttribute("aria-valuetext", `day ${state.day}`);
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
      said.push(`of ${whole(map.last.files_in_all)} files of the last day the ${whole(map.last.files)} largest and most `
        + "fragmented fit into this page; zoomed in, the others are in use and of no file");
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
