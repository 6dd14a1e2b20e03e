# Means over seeds, with half of their 95 % intervals, of the tables `days` and `results` of an experiment, one behind the other
# with a line `==` between, for scripts/ext4-xfs-study.sh. A row for each target and metric: the life, how many percent of the
# partition the files take when they take the most (`live` MiB), the target without its size, the metric, how many seeds, mean,
# half interval, least and most, and in how many seeds the value is less, the same and more than that of the first target of
# that size.
#
# usage: awk -F, -v life=NAME -v live=MIB -f scripts/ext4-xfs-study.awk

function bytes(text) {
    if (text ~ /K$/) return text * 1024
    if (text ~ /M$/) return text * 1048576
    if (text ~ /G$/) return text * 1073741824
    return text + 0
}
function size_of(target) { sub(/.*size=/, "", target); sub(/;.*/, "", target); return target }
function note(target, seed, metric, value) {
    if (!(target in known)) { known[target] = 1; targets[++target_count] = target }
    if (!(metric in asked)) { asked[metric] = 1; metrics[++metric_count] = metric }
    if (!((target, metric, seed) in got)) seeds[target, metric] = seeds[target, metric] " " seed
    got[target, metric, seed] = value
}
BEGIN {
    split("0 12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", student, " ")
    wanted = " layout_score control_layout_score layout_ratio pieces_per_file one_piece_share free_runs free_bytes"
    wanted = wanted " placeable_64k placeable_1m inode_room beyond_end_bytes next_file_bytes adjacency files "
}
/^==$/ { is_results = 1; header = 0; next }
!header { delete col; for (at = 1; at <= NF; at++) col[$at] = at; header = 1; next }
{ target = $col["target"]; seed = $col["seed"]; cell = target SUBSEP seed; whole = bytes(size_of(target)) }
!is_results {
    full = 100 * (1 - $col["free_bytes"] / whole)
    if (full > most[cell]) most[cell] = full
    skipped[cell] += $col["skipped"]
    operations[cell] += $col["operations"]
    last_day[cell] = $col["day"]
    note(target, seed, "full_at_most_%", most[cell])
    note(target, seed, "skipped", skipped[cell])
    note(target, seed, "operations", operations[cell])
    # Whatever is in use and neither data nor behind the end of a file.
    metadata = whole - $col["free_bytes"] - $col["live_bytes"] - $col["beyond_end_bytes"]
    note(target, seed, "metadata_MB", metadata / 1048576)
    next
}
index(wanted, " " $col["metric"] " ") {
    value = $col["value"]
    metric = $col["metric"]
    if (metric ~ /_bytes$/) { value /= 1048576; sub(/bytes$/, "MB", metric) }
    note(target, seed, metric, value)
}
END {
    for (t = 1; t <= target_count; t++) {
        target = targets[t]
        size = size_of(target)
        first = ""
        for (u = 1; u <= target_count && first == ""; u++) if (size_of(targets[u]) == size) first = targets[u]
        for (m = 1; m <= metric_count; m++) {
            metric = metrics[m]
            n = split(seeds[target, metric], all, " ")
            if (n == 0) continue
            sum = squares = less = same = more = 0
            for (s = 1; s <= n; s++) {
                value = got[target, metric, all[s]]
                sum += value
                if (s == 1 || value < low) low = value
                if (s == 1 || value > high) high = value
                other = got[first, metric, all[s]]
                if (value < other) less++
                else if (value > other) more++
                else same++
            }
            mean = sum / n
            for (s = 1; s <= n; s++) squares += (got[target, metric, all[s]] - mean) ^ 2
            half = n > 1 ? student[n] * sqrt(squares / (n - 1) / n) : 0
            short = target
            sub(/size=[^;]*;?/, "", short)
            gsub(/;/, ",", short)
            sub(/[,:]+$/, "", short)
            printf "%s %.0f %s %s %d %.5g %.3g %.5g %.5g %d/%d/%d\n", life, 100 * live * 1048576 / bytes(size), short, metric,
                n, mean, half, low, high, less, same, more
        }
    }
}
