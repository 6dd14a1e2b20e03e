#!/bin/sh
# An XFS that is full at half of its space: the runs of docs/studies/xfs-full.md, on the model and, as root, on the kernel.
#
#   scripts/xfs-full.sh [-o FOLDER]
#
# FSAGE names the program [default: target/release/fsage]. Takes about two minutes.
set -eu
cd "$(dirname "$0")/.."
fsage=$(realpath "${FSAGE:-target/release/fsage}")
folder=$(mktemp -d)
kept=
if [ "${1:-}" = -o ]; then
    kept=yes
    mkdir -p "$2"
    folder=$(realpath "$2")
fi
[ -n "$kept" ] || trap 'rm -rf "$folder"' EXIT

# life NAME GIB FILES LEAST MOST: files of LEAST to MOST blocks that stay and files that go, in turns, over ten days; those that go
# are deleted; then 200,000 symbolic links a GiB come, inodes that have no blocks.
life() {
    awk -v size="$(($2 * 1073741824))" -v files="$3" -v least="$4" -v most="$5" -v links="$(($2 * 200000))" \
        -v dirs="$(($2 * 40))" '
        BEGIN {
            print "#! fsage-ops 1"
            printf "#! capacity %d\n", size
            srand(1)
            for (k = 1; k <= dirs; k++) printf "@1 mkdir %d 0 \"layer-%d\"\n", k, k
            t = 2
            for (n = 1; n <= files; n++) {
                blocks = least + int(rand() * (most - least + 1))
                printf "@%d create %d %d %d\n", t, n, 1 + int((n - 1) * dirs / files), 4096 * blocks
                if (n % int(files / 10) == 0) { printf "@%d day %d\n", t, day++; t += 86400 }
            }
            for (n = 1; n <= files; n += 2) printf "@%d delete %d\n", t, n
            printf "@%d day %d\n", t, day++; t += 86400
            for (n = 1; n <= links; n++) {
                printf "@%d symlink %d %d 24\n", t, files + n, 1 + n % dirs
                if (n % int(links / 10) == 0) { printf "@%d day %d\n", t, day++; t += 86400 }
            }
        }' >"$folder/$1.ops"
}

old='mkfs="-m finobt=0,reflink=0 -i sparse=0"'
run() {
    name=$1
    shift
    echo "== $name"
    "$fsage" --quiet age "$folder/$name.ops" "$@" -o "$folder/$name" --force --no-control
}

life seven 1 33704 7 7
life few 1 94371 2 3
life room 1 30000 7 7
life node 20 674080 7 7
for name in seven few; do
    set -- --on xfs:size=1G,features=plain --on xfs:size=1G --on xfs:size=1G,features=rmapbt
    if [ "$(id -u)" = 0 ]; then
        set -- "$@" --on "loop:xfs,size=1G,$old,regime=strict" --on loop:xfs,size=1G,regime=strict
    else
        echo "$name: not on the kernel, which takes root"
    fi
    run "$name" "$@"
done
run room --on xfs:size=1G,features=plain --on xfs:size=1G
run node --on xfs:size=20G,features=plain --on xfs:size=20G
