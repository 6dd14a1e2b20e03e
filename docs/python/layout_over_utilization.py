"""Layout score over utilization, 50 to 95 %, for four targets: a sweep, its means with intervals, and a picture."""

import pathlib
import sys

import fsage
from matplotlib.figure import Figure

EXPERIMENT = """
name = "layout-over-utilization"
summary = "How far does the layout decay as file systems fill up?"
seeds = { from = 1, to = 3, step = 1 }
targets = ["ffs:preset=g502", "ffs:preset=g502,policy=realloc", "ext3:size=502M", "ext4:size=502M"]

[matrix]
utilization = { from = 50, to = 95, step = 5 }

[[workload]]
preset = "mixed-growth"
days = 60
capacity = "502M"
utilization = "{utilization}"
"""

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "utilization")
    folder.mkdir(exist_ok=True)
    file = folder / "experiment.toml"
    file.write_text(EXPERIMENT)
    swept = fsage.sweep(file, folder / "results", progress=True)
    means = swept.means.to_pandas().query("metric == 'layout_score'")
    axes = (figure := Figure(figsize=(7, 4))).subplots()
    for target, of in means.groupby("target", sort=False):
        utilization = of["parameter_utilization"]  # days have a metric that is called as the parameter is
        axes.plot(utilization, of["mean"], marker="o", markersize=3, label=target)
        axes.fill_between(utilization, of["low"], of["high"], alpha=0.2)
    axes.set(xlabel="utilization at the end, percent", ylabel="layout score at the end", ylim=(None, 1))
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(folder / "layout-over-utilization.svg", metadata={"Date": None}, bbox_inches="tight")
