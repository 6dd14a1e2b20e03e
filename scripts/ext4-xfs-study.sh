#!/usr/bin/env bash
# Makes the runs of docs/studies/ext4-xfs.md again: five lives on ext4 and XFS, on the models with ten seeds and four sizes, on the
# kernel's own with fewer, with the defaults of mkfs changed one at a time, read on a disk and on flash, and with inodes at the end.
#
# usage: scripts/ext4-xfs-study.sh [--quick] FOLDER [FSAGE]
#
# FOLDER gets an experiment for each part and workload, and the tables of the page as text: FOLDER/models.txt, variants.txt,
# read.txt, kernels.txt, inodes.txt; where cargo is there its pictures too, FOLDER/pictures. FSAGE is the program, fsage without
# it. What is there already is not made again: the same command goes on after an interrupt. The kernel's file systems take root,
# and are left out without. --quick: two seeds, two sizes, a tenth of the days, to see that it runs. PARTS="models
# variants" in the environment makes these parts alone, FILLS="75 91" these sizes, SEEDS="[1, 2]" these seeds of models,
# LIVES="mail|home" these lives, DEVICES="nvme_a" these devices. Needs jq.
set -eu
quick=
if [ "${1:-}" = --quick ]; then
    quick=yes
    shift
fi
folder=${1:?usage: scripts/ext4-xfs-study.sh [--quick] FOLDER [FSAGE]}
fsage=${2:-fsage}
case $fsage in
*/*) fsage=$(realpath "$fsage") ;;
esac
repository=$(dirname "$(dirname "$(realpath "$0")")")
mkdir -p "$folder"
cd "$folder"

# name, preset, days, and how much of the capacity the files take when they take the most, in thousandths.
lives="mail mail-spool 20 780
home home-1996 30 870
database database-files 20 850
images container-images 10 850
build build-cache 10 900"
lives=$(grep -E "^(${LIVES:-.*}) " <<< "$lives")
# Files take so many percent of the partition when they take the most. What ext4 and XFS need besides comes on top.
fills=${FILLS:-55 75 85 91}
seeds=${SEEDS:-"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"} some="[1, 2, 3, 4, 5]" few="[1, 2, 3]" two="[1, 2]"
capacity_mb=2048 kernel_mb=700 kernel_days=8 shorter=1
if [ -n "$quick" ]; then
    fills="75 91" seeds="[1, 2]" some="[1, 2]" few="[1, 2]" two="[1]"
    capacity_mb=512 kernel_mb=400 kernel_days=2 shorter=10
fi

# PEAK FILL CAPACITY_MB: the partition, in MiB.
size() { echo "$(($3 * $1 / 10 / $2))M"; }

# NAME, and the file on standard input: an experiment.
experiment() {
    cat > "$1.toml"
    echo "== $1" >&2
    "$fsage" --quiet run "$1.toml" -o "$1" > "$1.log" || echo "$1: some cells failed; see $1.log" >&2
}

# EXP TABLE: a table of an experiment, without commas in its cells.
csv() {
    "$fsage" results "$1" --csv "$2" | awk '{
        line = ""
        quoted = 0
        for (at = 1; at <= length($0); at++) {
            letter = substr($0, at, 1)
            if (letter == "\"") quoted = !quoted
            else line = line (quoted && letter == "," ? ";" : letter)
        }
        print line
    }'
}

# LIFE LIVE_MIB EXPERIMENT: what it measured, over all seeds.
summary() {
    { csv "$3" days && echo "==" && csv "$3" results; } |
        awk -F, -v life="$1" -v live="$2" -f "$repository/scripts/ext4-xfs-study.awk"
}

part_models() {
    rm -f models.txt.new
    while read -r name preset days peak; do
        sizes=
        for fill in $fills; do
            sizes="$sizes\"$(size "$peak" "$fill" "$capacity_mb")\", "
        done
        experiment "models-$name" << END
summary = "$name on ext4 and XFS, from half full to full"
seeds = $seeds
targets = ["ext4:size={size},regime=default", "xfs:size={size},regime=default"]
[matrix]
size = [${sizes%, }]
[[workload]]
name = "$name"
preset = "$preset"
days = $((days / shorter))
capacity = "${capacity_mb}M"
[age]
map = false
[report]
write = false
END
        summary "$name" $((capacity_mb * peak / 1000)) "models-$name" >> models.txt.new
    done <<< "$lives"
    mv models.txt.new models.txt
}

# What single choices of mkfs, of the allocator and of the clock change, at one size.
part_variants() {
    rm -f variants.txt.new
    while read -r name preset days peak; do
        size=$(size "$peak" 85 "$capacity_mb")
        experiment "variants-$name" << END
summary = "$name with other choices than the defaults"
seeds = $some
targets = [
    "ext4:size=$size,regime=default",
    "ext4:size=$size,regime=default,flex=1",
    "ext4:size=$size,regime=default,stream_req=0",
    "ext4:size=$size,regime=default,bytes_per_inode=64K,journal=16M",
    "xfs:size=$size,regime=default",
    "xfs:size=$size,regime=default,features=plain",
    "xfs:size=$size,regime=default,features=rmapbt",
    "xfs:size=$size,regime=default,agcount=1",
    "xfs:size=$size,regime=default,agcount=16",
]
[[workload]]
name = "$name"
preset = "$preset"
days = $((days / shorter))
capacity = "${capacity_mb}M"
[age]
map = false
control = false
[report]
write = false
END
        summary "$name" $((capacity_mb * peak / 1000)) "variants-$name" >> variants.txt.new
    done <<< "$lives"
    mv variants.txt.new variants.txt
}

# Reading what changed in the last 30 days, aged and unaged.
part_read() {
    rm -f read.txt.new
    for device in ${DEVICES:-st4000nm0033:scale=800 nvme_mlc_p1 nvme_a}; do
        while read -r name preset days peak; do
            size=$(size "$peak" 85 "$capacity_mb")
            exp="read-$name-${device%%:*}"
            experiment "$exp" << END
summary = "$name read from $device"
seeds = $few
targets = ["ext4:size=$size,regime=default", "xfs:size=$size,regime=default"]
[[workload]]
name = "$name"
preset = "$preset"
days = $((days / shorter))
capacity = "${capacity_mb}M"
[age]
map = false
[bench]
suites = ["hot-files"]
repetitions = 1
device = "$device"
[report]
write = false
END
            csv "$exp" means | awk -F, -v device="${device%%:*}" '
                NR == 1 { for (at = 1; at <= NF; at++) col[$at] = at; next }
                $col["metric"] ~ /^hot-files\.read\./ {
                    printf "%s %s %s %s %s %.3f %.3f %.3f\n", $col["workload"], device, $col["target"], $col["metric"],
                        $col["cells"], $col["mean"], $col["low"], $col["high"]
                }' >> read.txt.new
        done <<< "$lives"
    done
    mv read.txt.new read.txt
}

# Shorter lives on the kernel's file systems, and the models at the pace of such a replay.
part_kernels() {
    if [ "$(id -u)" != 0 ]; then
        echo "kernels: left out, they take root" >&2
        return
    fi
    rm -f kernels.txt.new
    while read -r name preset _ peak; do
        size=$(size "$peak" 75 "$kernel_mb")
        experiment "kernels-$name" << END
summary = "$name on the models and on the kernel"
seeds = $two
targets = [
    "ext4:size=$size,regime=default,rate=2000",
    "loop:ext4,size=$size",
    "xfs:size=$size,regime=default,rate=2000",
    "loop:xfs,size=$size",
]
[[workload]]
name = "$name"
preset = "$preset"
days = $kernel_days
capacity = "${kernel_mb}M"
[age]
map = false
control = false
[report]
write = false
END
        summary "$name" $((kernel_mb * peak / 1000)) "kernels-$name" >> kernels.txt.new
    done <<< "$lives"
    mv kernels.txt.new kernels.txt
}

# After each life inodes without blocks, as many as its free space has room for if all of it became inodes, over ten days. With and
# without sparse inodes. Of each its last day and these ten.
part_inodes() {
    {
        printf 'life seed target day used_%% inode_room longest_free_blocks placeable_64k placeable_1m layout_score '
        printf 'refused_inodes refused_space\n'
        while read -r name preset days peak; do
            size=$(size "$peak" 91 "$capacity_mb")
            for seed in 1 2 3; do
                [ -n "$quick" ] && [ "$seed" -gt 1 ] && continue
                life="inodes-$name-$seed"
                if [ ! -e "$life.json" ]; then
                    echo "== $life" >&2
                    "$fsage" --quiet generate profile "$preset" --seed "$seed" --days $((days / shorter)) \
                        --capacity "${capacity_mb}M" -o "$life.parquet" --force > /dev/null
                    "$fsage" --quiet age "$life.parquet" --on "xfs:size=$size,regime=default" --no-control --no-map \
                        -o "$life-before" --force > /dev/null
                    free=$("$fsage" measure "$life-before" --json | jq '[.. | .free_bytes? | numbers] | last')
                    "$fsage" --quiet convert "$life.parquet" "$life.ops" --force
                    awk -v links=$((free / 512)) -v base=1000000000 '
                        { print }
                        END {
                            for (k = 1; k <= 100; k++) printf "mkdir %d 0 \"layer-%d\"\n", base + k, k
                            for (n = 1; n <= links; n++) {
                                printf "symlink %d %d 24\n", base + n, base + 1 + n % 100
                                if (n % int(links / 10) == 0) printf "day inodes-%d\n", ++day
                            }
                        }' "$life.ops" > "$life-more.ops"
                    "$fsage" --quiet age "$life-more.ops" --on "xfs:size=$size,regime=default,features=plain" \
                        --on "xfs:size=$size,regime=default" --no-control --no-map -o "$life" --force > /dev/null
                    "$fsage" measure "$life" --json > "$life.json.new"
                    rm -f "$life.ops" "$life-more.ops" "$life.parquet"
                    rm -rf "$life-before"
                    mv "$life.json.new" "$life.json"
                fi
                jq -r --arg life "$name" --arg seed "$seed" --argjson size $((${size%M} << 20)) '
                    .targets[] | (.target | sub("size=[^,]*,"; "")) as $target | .days[-11:] | . as $days
                    | range(length) | . as $at | $days[$at]
                    | [$life, $seed, $target, $at, (1000 * (1 - .free_bytes / $size) | round / 10), .inode_room,
                       .largest_free_run_bytes / 4096, .placeable_64k, .placeable_1m, (10000 * .layout_score | round / 10000), .no_inode, .no_space]
                    | @tsv' "$life.json"
            done
        done <<< "$lives"
    } > inodes.txt.new
    mv inodes.txt.new inodes.txt
}

for part in ${PARTS:-models variants inodes kernels read}; do
    "part_$part"
done

if command -v cargo > /dev/null && [ -e models.txt ]; then
    here=$PWD
    (cd "$repository" && cargo run --quiet --package fsage-report --example ext4_xfs_study -- "$here/models.txt" "$here/pictures")
fi
