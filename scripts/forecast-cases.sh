#!/bin/sh
# Counts how often `fsage forecast` holds: the last third of each past is held out, and every limit that it got worse in
# is a case. Pasts: presets with several seeds, the history of this repository, and workloads that are named.
#
#   scripts/forecast-cases.sh [-o FOLDER] [WORKLOAD...]
#
# FSAGE is the program (target/release/fsage), LIVES how many lives (39), TARGETS what is lived on ("ext4 xfs"), PRESETS
# which presets, each with seeds, as in "mail-spool:1,2". Needs python3, as the tests of the Python package do.
set -eu
cd "$(dirname "$0")/.."
fsage=${FSAGE:-target/release/fsage}
lives=${LIVES:-39}
targets=${TARGETS:-ext4 xfs}
presets=${PRESETS:-mail-spool:1,2,3 mixed-growth:1,2,3 home-1997:1,2 build-cache:1 news-spool:1 container-images:1}
folder=
if [ "${1:-}" = -o ]; then
    folder=$2
    shift 2
fi
work=${folder:-$(mktemp -d)}
[ -n "$folder" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"

# NAME and PAST of every case, a line each.
: >"$work/pasts"
for preset in $presets; do
    name=${preset%%:*}
    for seed in $(echo "${preset#*:}" | tr ',' ' '); do
        past=$work/$name-$seed.parquet
        [ -e "$past" ] || "$fsage" -q generate profile "$name" --seed "$seed" -o "$past" >/dev/null
        echo "$name-$seed $past" >>"$work/pasts"
    done
done
if [ -d .git ]; then
    [ -e "$work/fsage.parquet" ] || "$fsage" -q generate git . --view day -o "$work/fsage.parquet" >/dev/null
    echo "fsage $work/fsage.parquet" >>"$work/pasts"
fi
for past; do
    echo "$(basename "$past" | sed 's/\..*//') $past" >>"$work/pasts"
done

while read -r name past; do
    for target in $targets; do
        json=$work/$name-$(echo "$target" | tr ':=,' '---').json
        "$fsage" -q forecast "$past" --on "$target" --hold-out 1/3 --lives "$lives" --json >"$json" </dev/null ||
            rm -f "$json"
    done
done <"$work/pasts"

python3 - "$work" <<'PY'
import glob, json, os, sys

cases = held = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    for case in found["held_out"]:
        answer = case["answer"]
        if case["holds"] is not None:
            cases += 1
            held += case["holds"]
        late = lambda day: f"> {found['horizon_days']}" if day is None else str(day)
        verdict = {True: "holds", False: "FAILS", None: "none "}[case["holds"]]
        print(
            f"{verdict}  {os.path.basename(path)[:-5]:28} {answer['limit']['name']:7} "
            f"true {late(case['true_day']):>5}  median {late(answer['median_day']):>5}  "
            f"90 % {late(answer['low_day'])} to {late(answer['high_day'])}"
        )
print(f"the true day lies in the 90 % interval in {held} of {cases} cases")
PY
