#!/usr/bin/env bash
# Makes the runs of docs/studies/flash.md again: workloads on file systems, each read aged and unaged on disks and on flash.
#
# usage: scripts/flash-study.sh FOLDER [FSAGE]
#
# FOLDER gets the workloads, the runs, and a text of every benchmark, FOLDER/WORKLOAD.DEVICE.txt. FSAGE is the program,
# fsage without it. What is there already is not made again.
set -eu
folder=${1:?usage: scripts/flash-study.sh FOLDER [FSAGE]}
fsage=${2:-fsage}
file_systems="ext4:size=540M ffs:size=540M,policy=realloc lfs:size=700M"
disks="st32430n st340016a"
flash="nvme_mlc_p1 nvme_tlc sata_tlc ufs31 emmc51 nvme_a"

mkdir -p "$folder"
cd "$folder"

# NAME ARGUMENTS...: a workload.
workload() {
    name=$1
    shift
    [ -e "$name.parquet" ] || "$fsage" -q generate profile "$@" -o "$name.parquet"
}
workload home home-1996 --days 30
workload mail mail-spool --capacity 500M --days 30
workload build build-cache --capacity 500M --days 20
workload images container-images --capacity 500M --days 20

for name in home mail build images; do
    if [ ! -e "$name" ]; then
        on=()
        for file_system in $file_systems; do
            on+=(--on "$file_system")
        done
        "$fsage" -q age "$name.parquet" "${on[@]}" -o "$name"
    fi
    for device in $disks $flash; do
        text="$name.$device.txt"
        [ -e "$text" ] && continue
        "$fsage" -q bench "$name" --device "$device" --suite hot-files --repetitions 1 --force > "$text.new"
        mv "$text.new" "$text"
    done
done
