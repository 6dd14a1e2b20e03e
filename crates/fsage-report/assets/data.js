"use strict";
/* The data of the page: columns as `src/payload.rs` writes them, and what is downloaded of them. */
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

  const rowCount = (columns) => columns[0]?.values.length ?? 0;

  /* Rows as objects. */
  const rowsOf = (part) => {
    const columns = columnsOf(part);
    return Array.from({ length: rowCount(columns) }, (_, i) =>
      Object.fromEntries(columns.map((column) => [column.name, column.values[i]])));
  };

  Object.assign(window.fsage, { data, columnsOf, rowsOf, rowCount });
})();
