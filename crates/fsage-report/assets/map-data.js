"use strict";
/* The data of block maps: reading them, cutting a view into units, and where these lie on a canvas. `src/map.rs` says
   how they are written, and `fsage_metrics::block_map` what the bits of a cell mean. */
(() => {
  const SIZE_BYTES = [16384, 65536, 262144, 1048576, 16777216];

  /* The bits of a cell. */
  const used = (bits) => bits & 15;
  const metadata = (bits) => bits >> 4 & 15;
  const sizeClass = (bits) => bits >> 8 & 7;
  const contiguity = (bits) => bits >> 11 & 7;
  const shareOf = (step) => (step === 0 ? 0 : step === 15 ? 1 : (step - 0.5) / 14);

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

  const load = (map) => {
    map.ready ??= (async () => {
      map.read = readFrames(map, await inflate(map.frames));
      map.detail = map.last ? readLast(map.last, await inflate(map.last.data)) : null;
    })();
    return map.ready;
  };

  /* The frame that shows a day: the last one up to it. */
  const frameOf = (map, day) => {
    let found = map.read[0];
    for (const frame of map.read) if (frame.day <= day) found = frame;
    return found;
  };

  const groupOf = (map, address) =>
    (map.groups_per_band === 0 ? -1 : Math.floor(address / (map.band_bytes / map.groups_per_band)));

  /* Units of the map between two addresses: cells, or on the last day as few blocks each as there is room for. */
  const unitsOf = (map, frame, view, room) => {
    const perBand = (bytesEach) => Math.ceil(map.band_bytes / bytesEach);
    const isLast = frame === map.read[map.read.length - 1];
    let size = map.cell_bytes;
    // The whole disk is in cells on every day, so that the last one looks like those before it.
    if (isLast && map.detail && view.to - view.from < map.size_bytes) {
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

  /* Where units lie on a canvas: as large as they fit, whole bands in a line or a band over whole lines. A unit is
     half to three times as high as wide. */
  const arrange = (units, width, height, gap) => {
    const bands = Math.ceil(units.count / units.perBand);
    const fit = (wide) => {
      const columns = Math.max(1, Math.floor(width / wide));
      if (units.perBand > columns) {
        const lines = Math.ceil(units.perBand / columns);
        const perLine = Math.ceil(units.perBand / lines);
        const last = units.count - (bands - 1) * units.perBand;
        const all = (bands - 1) * lines + Math.ceil(last / perLine);
        return { wide, lines, perLine, inLine: 1, gaps: bands - 1, all };
      }
      const inLine = Math.max(1, Math.floor((width + gap) / (units.perBand * wide + gap)));
      const all = Math.ceil(bands / inLine);
      return { wide, lines: 1, perLine: units.perBand, inLine, gaps: all - 1, all };
    };
    let plan = null;
    for (let wide = 1; wide <= 48 && wide <= width; wide++) {
      const trial = fit(wide);
      trial.high = Math.min(wide * 3, Math.floor((height - trial.gaps * gap) / trial.all));
      const fits = trial.high >= Math.max(1, wide / 2);
      if (fits && (plan === null || wide * trial.high >= plan.wide * plan.high)) plan = trial;
    }
    // A map of many groups on a small screen is higher than asked for.
    plan ??= { ...fit(1), high: 1 };
    plan.gap = gap;
    plan.height = plan.all * plan.high + plan.gaps * gap;
    const bandWidth = units.perBand * plan.wide + gap;
    const bandHeight = plan.lines * plan.high + gap;
    /* Sets x and y: no object a unit. */
    plan.place = (i) => {
      const band = Math.floor(i / units.perBand);
      const within = i % units.perBand;
      const line = Math.floor(within / plan.perLine);
      plan.x = (band % plan.inLine) * bandWidth + (within % plan.perLine) * plan.wide;
      plan.y = Math.floor(band / plan.inLine) * bandHeight + line * plan.high;
    };
    plan.hit = (x, y) => {
      if (x < 0 || y < 0) return -1;
      const down = Math.floor(y / bandHeight);
      const line = Math.min(plan.lines - 1, Math.floor((y - down * bandHeight) / plan.high));
      const across = plan.inLine === 1 ? 0 : Math.floor(x / bandWidth);
      const column = Math.floor((x - across * bandWidth) / plan.wide);
      const within = line * plan.perLine + column;
      if (across >= plan.inLine || column >= plan.perLine || within >= units.perBand) return -1;
      const i = (down * plan.inLine + across) * units.perBand + within;
      return i < units.count ? i : -1;
    };
    return plan;
  };

  window.fsage.disk = { used, metadata, sizeClass, contiguity, shareOf, load, frameOf, groupOf, unitsOf, arrange };
})();
