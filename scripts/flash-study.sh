#!/usr/bin/env bash
# Makes the runs of docs/studies/flash.md again: workloads on file systems, each read aged and unaged on disks and on flash,
# losses on flash split into causes, what rewriting files mends, and what moving those in pieces alone does.
#
# usage: scripts/flash-study.sh FOLDER [FSAGE]
#
# FOLDER gets the workloads, the runs with their pages, the JSON of every benchmark, FOLDER/RUN.DEVICE.json, its tables as text,
# FOLDER/tables.txt and FOLDER/moved.txt, and where cargo is there the pictures of the page, FOLDER/pictures. FSAGE is the
# program, fsage without it. What is there already is not made again.
set -eu
folder=${1:?usage: scripts/flash-study.sh FOLDER [FSAGE]}
fsage=${2:-fsage}
case $fsage in
*/*) fsage=$(realpath "$fsage") ;;
esac
file_systems="ext4:size=540M ffs:size=540M,policy=realloc lfs:size=700M"
# The disk of today is so much smaller here that a file system takes half of it, and the arm as long over each share.
disks="st32430n st4000nm0033:scale=4000"
flash="nvme_mlc_p1 nvme_tlc nvme_a sata_tlc ufs31 emmc51"
repository=$(dirname "$(dirname "$(realpath "$0")")")

mkdir -p "$folder"
cd "$folder"

# NAME ARGUMENTS...: a workload.
workload() {
    name=$1
    shift
    [ -e "$name.parquet" ] || "$fsage" -q generate profile "$@" -o "$name.parquet"
}
workload home home-1996 --days 30
workload months home-1996
workload mail mail-spool --capacity 500M --days 30
workload build build-cache --capacity 500M --days 20
workload images container-images --capacity 500M --days 20

# NAME: the workload `home`, and then every file that is left, directory by directory, written over in place (`overwritten`),
# or cut and written anew (`rewritten`).
mended() {
    [ -e "$1.ops" ] && return
    [ -e home.ops ] || "$fsage" -q convert home.parquet home.ops
    awk -v how="$1" -f "$repository/scripts/flash-study.awk" home.ops > "$1.ops.new"
    mv "$1.ops.new" "$1.ops"
}
mended overwritten
mended rewritten

# RUN WORKLOAD DEVICES [NAME]: ages on all file systems, and measures on each device; NAME stands for RUN in the tables.
study() {
    if [ ! -e "$1/run.json" ]; then
        on=()
        for file_system in $file_systems; do
            on+=(--on "$file_system")
        done
        "$fsage" -q age "$2" "${on[@]}" -o "$1"
    fi
    for device in $3; do
        json="${4:-$1}.$device.json"
        [ -e "$json" ] && continue
        causes=--causes
        case " $disks " in
        *" $device "*) causes= ;;
        esac
        # shellcheck disable=SC2086 # no option where there is none
        "$fsage" -q bench "$1" --device "$device" --suite hot-files --repetitions 1 $causes --force --json > "$json.new"
        mv "$json.new" "$json"
    done
    "$fsage" -q report "$1" -o "$1.html"
}
for name in home mail build images months; do
    study "$name" "$name.parquet" "$disks $flash"
done
# The other choice of what a die keeps, a device hardly larger than the file system, and a map that does not fit in memory.
varied="nvme_mlc_p1:page_register=false nvme_a:page_register=true nvme_mlc_p1:size=740M emmc51:mapping_cache_segments=16"
for name in home mail; do
    study "$name" "$name.parquet" "$varied" "$name-varied"
done
for name in overwritten rewritten; do
    study "$name" "$name.ops" "$disks nvme_mlc_p1 ufs31"
done

# DEVICE: what moving files in pieces alone mends: each is written anew where the file system's own allocator puts it, and the
# copy kept where it is in fewer pieces.
moved() {
    [ -e "moved.$1.json" ] && return
    on=()
    for file_system in $file_systems; do
        on+=(--on "$file_system")
    done
    "$fsage" -q compare mail.parquet "${on[@]}" --device "$1" --suite hot-files --repetitions 1 --after defrag:file --no-map \
        --force --json -o "moved-$1" > "moved.$1.json.new"
    mv "moved.$1.json.new" "moved.$1.json"
}
for device in $disks nvme_mlc_p1 ufs31; do
    moved "$device"
done

# What the study prints: a line a run, device and file system.
{
    printf 'run device target aged_MB_s control_MB_s ratio score_aged score_control balance use wa loss_%% gc_%% collisions_%% '
    printf 'sharing_%% commands_%% splitting_%% rest_%%\n'
    for json in *.json; do
        case $json in
        moved.*) continue ;;
        esac
        base=${json%.json}
        jq -r --arg run "${base%%.*}" --arg device "${base#*.}" '
            def r2: . * 100 | round / 100;
            .suites[].targets[] | . as $t | .phases[] | select(.phase == "read")
            | [$run, $device, ($t.target | split(":")[0]),
               (.states.aged.mb_per_s.median | r2), (.states.control.mb_per_s.median | r2),
               (.states.aged.mb_per_s.median / .states.control.mb_per_s.median | r2),
               (.states.aged.layout_score * 1000 | round / 1000),
               (.states.control.layout_score * 1000 | round / 1000),
               ($t.flash.aged.die_balance // "-" | if type == "number" then r2 else . end),
               ($t.flash.aged.page_use // "-" | if type == "number" then r2 else . end),
               ($t.flash.aged.write_amplification // "-" | if type == "number" then r2 else . end)]
              + ([($t.losses // [])[] | select(.phase == "read")
                  | .control_ns as $c
                  | ((.aged_ns - .control_ns) / $c * 1000 | round / 10),
                    (.causes_ns | to_entries[].value / $c * 1000 | round / 10)])
            | @tsv' "$json"
    done
} > tables.txt.new
mv tables.txt.new tables.txt
{
    printf 'device target score_before score_after tried moved written_MB before_MB_s after_MB_s ratio low high\n'
    for device in $disks nvme_mlc_p1 ufs31; do
        jq -r --arg device "$device" '
            def r3: . * 1000 | round / 1000;
            .after[] | (.target | split(":")[0]) as $target | .stages[0] as $before | .stages[1] as $after
            | [.stages[].speeds[] | select(.phase == "read")] as $read
            | [$device, $target, ($before.layout_score | r3), ($after.layout_score | r3), $after.cost.tried_files,
               $after.cost.moved_files, ($after.cost.written_bytes / 1e6 | r3), ($read[0].speed | r3), ($read[1].speed | r3),
               ($read[1].by_before.ratio | r3), ($read[1].by_before.interval[] | r3)]
            | @tsv' "moved.$device.json"
    done
} > moved.txt.new
mv moved.txt.new moved.txt

if command -v cargo > /dev/null; then
    here=$PWD
    (cd "$repository" && cargo run --quiet --package fsage-report --example flash_study -- "$here/tables.txt" "$here/pictures")
fi
