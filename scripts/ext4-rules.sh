#!/usr/bin/env bash
# Changes the rules of the ext4 model, one at a time, in a copy of the tree; each change must make a vector differ.
#
# usage: scripts/ext4-rules.sh [RULE...]
#        scripts/ext4-rules.sh --applies
#
# scripts/ext4-rules.patch puts all changes into the copy, each behind a switch; docs/spec/ext4.md, section 2, lists
# them. Where it does not apply any more, it has to follow the code: `--applies` looks for that alone.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

root=$PWD
patch=$root/scripts/ext4-rules.patch
tree=$root/target/ext4-rules/tree
log=$root/target/ext4-rules/log
rm -rf "$tree"
mkdir -p "$tree"
git ls-files -z | xargs -0 cp --parents -t "$tree"
git apply --directory=target/ext4-rules/tree "$patch" 2>/dev/null ||
    stop "ext4-rules: the patch does not apply: the code has changed, and the patch has to follow"
if [ "${1-}" = --applies ]; then exit; fi

vectors() {
    # shellcheck disable=SC2086 # CARGO_FLAGS are several words
    (cd "$tree" && CARGO_TARGET_DIR=../target cargo test ${CARGO_FLAGS-} --package fsage-models --test suite "$@") \
        >"$log" 2>&1
}
vectors ext4_vectors || { tail -n 40 "$log"; stop "ext4-rules: no rule was changed, and yet the vectors fail"; }
rules=("$@")
if [ ${#rules[@]} -eq 0 ]; then mapfile -t rules < <(sed -n 's/^+.*changed("\([^"]*\)").*/\1/p' "$patch"); fi
unnoticed=()
for rule in "${rules[@]}"; do
    if FSAGE_CHANGED_RULE=$rule vectors ext4_vectors; then
        unnoticed+=("$rule")
        say "unnoticed  $rule"
    else
        failed=$(sed -n 's/^test result: FAILED.* \([0-9]*\) failed.*/\1/p' "$log")
        if [ -z "$failed" ]; then tail -n 40 "$log" && stop "ext4-rules: $rule: the vectors did not run"; fi
        say "noticed    $rule: $failed of the vectors differ"
    fi
done
if [ ${#unnoticed[@]} -gt 0 ]; then stop "ext4-rules: no vector noticed ${unnoticed[*]}"; fi
say "ext4-rules: all ${#rules[@]} changes were noticed"
