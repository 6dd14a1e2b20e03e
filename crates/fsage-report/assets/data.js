"use strict";
/* The data of the page: columns as `src/payload.rs` writes them, what is downloaded of them, and numbers as text. */
window.fsage = {};
(() => {
  const data = JSON.parse(document.getElementById("fsage-data").textContent);

  /* (value, count, value, count) to values. */
  const unrun = (runs) => {
    const out = [];
    for (let i = 0; i < runs.length; i += 2) {
      for (let n = runs[i + 1]; n > 0; n--) out.push(runs[i]);
    }
    return out;
  };

  /* Differences in units of the last decimal to values. */
  const sums = (steps, decimals) => {
    const scale = 10 ** decimals;
    let units = 0;
    return steps.map((step) => (step === null ? null : (units += step) / scale));
  };

  const decode = (column) => {
    const steps = column.steps ?? (column.step_runs && unrun(column.step_runs));
    return steps ? sums(steps, column.decimals) : (column.values ?? unrun(column.runs));
  };

  /* The columns of a chart or a table, decoded once: [{ name, values }]. */
  const columnsOf = (part) => {
    part.decoded ??= part.columns.map((column) => ({ name: column.name, values: decode(column) }));
    return part.decoded;
  };

  const rowCount = (part) => columnsOf(part)[0]?.values.length ?? 0;

  /* Rows as objects. */
  const rowsOf = (part) => Array.from({ length: rowCount(part) }, (_, i) =>
    Object.fromEntries(columnsOf(part).map((column) => [column.name, column.values[i]])));

  const csvCell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csvOf = (part) => {
    const columns = columnsOf(part);
    const lines = [columns.map((column) => csvCell(column.name))];
    for (let i = 0; i < rowCount(part); i++) lines.push(columns.map((column) => csvCell(column.values[i])));
    return lines.map((line) => line.join(",") + "\r\n").join("");
  };

  const download = (url, name) => {
    const link = document.createElement("a");
    Object.assign(link, { href: url, download: name });
    link.click();
  };
  const downloadText = (text, type, name) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    download(url, name);
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };

  const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
  /* A number as `Format` in `src/charts.rs` says. */
  const numberText = (value, format) => {
    if (value === null || value === undefined) return "\u2013";
    if (format === "percent") return `${short.format(value * 100)} %`;
    if (Number.isInteger(value) && (format !== "bytes" || Math.abs(value) < 1024)) return value.toLocaleString("en-US");
    if (format !== "bytes" || Math.abs(value) < 1024) return short.format(value);
    const power = Math.min(4, Math.floor(Math.log2(Math.abs(value)) / 10));
    return short.format(value / 1024 ** power) + "KMGT"[power - 1];
  };

  Object.assign(window.fsage, { data, columnsOf, rowsOf, rowCount, csvOf, download, downloadText, numberText });
})();
