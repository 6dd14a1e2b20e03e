#!/bin/sh
# Do verdicts on real file systems hold? Compares two equal ext4 on loop devices TIMES times, which must not be called
# different, and two of which one reads a fifth slower, by a limit of the kernel, which must be found.
#
#   scripts/verdicts.sh equal|slowed [TIMES]
#
# Needs root, loop devices, jq, and for `slowed` the cgroup of version 1 that limits block devices. Prints a line a
# comparison, and how many claimed a difference. FSAGE names the program [default: target/release/fsage].
set -eu

what=${1:?equal or slowed}
times=${2:-20}
fsage=$(realpath "${FSAGE:-target/release/fsage}")
work=$(mktemp -d)
group=/sys/fs/cgroup/blkio/fsage-verdicts-$$
fast=60000000
slow=48000000
watcher=

finish() {
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    [ ! -d "$group" ] || rmdir "$group" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Limits each loop device as soon as it is there: those of target b are a fifth slower.
limit() {
    while sleep 0.02; do
        for file in /sys/block/loop*/loop/backing_file; do
            [ -r "$file" ] || continue
            of=$(cat "$file" 2>/dev/null) || continue
            case $of in
            "$work"/a/*) bytes=$fast ;;
            "$work"/b/*) bytes=$slow ;;
            *) continue ;;
            esac
            device=$(cat "${file%/loop/backing_file}/dev" 2>/dev/null) || continue
            echo "$device $bytes" >"$group/blkio.throttle.read_bps_device" 2>/dev/null || true
        done
    done
}

case $what in
equal) ;;
slowed)
    mkdir "$group"
    limit &
    watcher=$!
    ;;
*)
    echo "$0: $what: expected equal or slowed" >&2
    exit 2
    ;;
esac

cd "$work"
"$fsage" generate profile home-1996 --days 10 --capacity 100M --seed 3 -o w.parquet --quiet >/dev/null
claims=0
for round in $(seq "$times"); do
    mkdir -p a b
    (
        [ -z "$watcher" ] || sh -c 'echo $PPID' >"$group/cgroup.procs"
        exec "$fsage" compare w.parquet --on "loop:ext4,size=160M,image=$work/a/aged.img,control=$work/a/control.img" \
            --on "loop:ext4,size=160M,image=$work/b/aged.img,control=$work/b/control.img" \
            --suite hot-files,sequential --size 1M --minutes 1 --quiet --json -o run
    ) >out.json 2>err.txt || { cat err.txt >&2; exit 1; }
    said=$(jq -r '.verdict[] | select(startswith("Benchmark")) | select(contains(", read,")) |
        capture("; (?<claim>[^;]*)\\.$") | .claim' out.json)
    echo "$round: $(echo "$said" | sed "s|[^ ]*/a/[^ ]*|a|g; s|[^ ]*/b/[^ ]*|b|g" | tr '\n' ';')"
    case $said in *"times as fast as"*) claims=$((claims + 1)) ;; esac
    rm -rf run a b
done
echo "$what: a difference in $claims of $times comparisons"
