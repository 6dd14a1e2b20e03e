#!/usr/bin/env bash
# What days of aging cost: measures the rows of `fsage age` in DESIGN.md, section 14.
#
# usage: scripts/figures.sh [hundred|days|large|news|real|lfs|cffs]...
#
# Makes each workload with `fsage generate`, and ages it with every metric of every day, control and map. Beside this
# stand the same operations without days: on `null`, which is the replay alone, and on the same target. Prints processor
# time in seconds, operations a second of it, the ratio to the replay alone, and memory. `large` and `news` are 26 and
# 19 million operations, and take minutes; `real` needs root. `lfs` and `cffs` are the same life at 1, 4 and 40 times the size,
# 0.2 to 8 million operations, without days. FSAGE names another program than that of this tree.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

[ -x /usr/bin/time ] || stop "figures: GNU time is missing (Debian's package: time)"
if [ -z "${FSAGE:-}" ]; then
    # shellcheck disable=SC2086 # CARGO_FLAGS are several words
    cargo build ${CARGO_FLAGS:-} --release --package fsage
    FSAGE=$PWD/target/release/fsage
fi
mkdir -p target/figures
cd target/figures

# home TIMES DAYS OPERATIONS: the home directories of `home-1996`, so many of them, over so many days.
home() {
    "$FSAGE" generate profile --show home-1996 | awk -v times="$1" -v days="$2" -v operations="$3" '
        /^\[home\.published\]/ { exit }
        /^days =/ { $3 = days }
        /^bytes_written =/ { $3 = sprintf("%.0f", $3 * operations / 800000) }
        /^operations =/ { $3 = operations }
        /^(data_space_kb|groups|initial_files|final_files|users) =/ { $3 *= times }
        /^(bursts|deletes|changes|large_turnover)_a_day =/ { $3 *= times }
        { print }'
}

toml() {
    case $1 in
    hundred | real) home 1 100 200000 ;;
    large) home 80 120 25600000 ;;
    days)
        "$FSAGE" generate profile --show mixed-growth |
            sed 's/^days = .*/days = 6000/; s/^operations_per_day = .*/operations_per_day = 9/
                 s/^capacity_bytes = .*/capacity_bytes = "60M"/'
        ;;
    news)
        "$FSAGE" generate profile --show news-spool |
            sed 's/^days = .*/days = 60/; s/^capacity_bytes = .*/capacity_bytes = "2G"/'
        ;;
    esac
}

# cost WHAT OPERATIONS REFERENCE ARGUMENTS...: runs `fsage age`, and prints a row; `seconds` is then what it took.
cost() {
    local what=$1 operations=$2 reference=$3
    shift 3
    rm -rf run
    /usr/bin/time --quiet --format '%U %S %M' --output cost "$FSAGE" age --quiet "$@" --output run >/dev/null
    seconds=$(awk '{ print $1 + $2 }' cost)
    awk -v what="$what" -v operations="$operations" -v reference="${reference:-$seconds}" '{
        seconds = $1 + $2
        printf "  %-32s %8.2f s %10.0f operations/s %7.2f %8.0f MB\n", what, seconds, operations / seconds,
            seconds / reference, $3 / 1000 }' cost
}

# make_workloads: workload.parquet of workload.toml, bare.parquet without its days, and how many `operations` they have.
make_workloads() {
    "$FSAGE" generate --quiet profile workload.toml --force --output workload.parquet >/dev/null
    "$FSAGE" convert --quiet workload.parquet - | grep -vE '^(@[0-9.]+ )?day ' |
        "$FSAGE" convert --quiet --force - bare.parquet >/dev/null
    operations=$("$FSAGE" inspect --json bare.parquet | grep -m 1 -o '"operations": *[0-9]*' | grep -o '[0-9]*$')
}

for name in ${*:-hundred days large news}; do
    case $name in
    hundred | days) on=ffs:size=502M ;;
    large) on=ffs:size=40G ;;
    news) on=ffs:size=2G ;;
    real) on=loop:ext4,size=600M ;;
    lfs | cffs)
        for times in 1 4 40; do
            home $times 100 $((times * 200000)) >workload.toml
            make_workloads
            cost "$name, $operations operations" "$operations" "" bare.parquet --on $name:size=$((times * 640))M \
                --no-control --no-map
        done
        continue
        ;;
    *) stop "figures: $name: expected hundred, days, large, news, real, lfs or cffs" ;;
    esac
    toml "$name" >workload.toml
    make_workloads
    echo "$name: $operations operations, $on"
    cost "null, no days" "$operations" "" bare.parquet --on null
    replay=$seconds
    cost "no days, no control, no map" "$operations" "$replay" bare.parquet --on "$on" --no-control --no-map
    cost "every day, control and map" "$operations" "$replay" workload.parquet --on "$on"
done
