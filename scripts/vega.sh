#!/usr/bin/env bash
# Puts Vega, Vega-Lite and vega-embed, which draw the charts of a report, into target/vega, or into the folder that
# FSAGE_VEGA names. Where they are when the program is compiled, it embeds them. Quick and silent when they are there.
#
# usage: scripts/vega.sh [--is-there]
#
# With --is-there: fetches nothing, exit status 1 when they are missing. Versions and SHA-512 are pinned below. Called
# by scripts/setup.sh; any number of them at once do no harm.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

folder=${FSAGE_VEGA:-target/vega}
packages="\
vega 6.4.0 ac75c2ab62e911608b3235c1123ee1a1c63d1b4fe2e5319845ac861928f4e954c5e3e976206d99ee87992828d66d487fee14c4fe65616da38f07bdb0084961ea
vega-lite 6.4.3 77fee13e37f3e7ad14111690b9398680855f5c07b783684959e0be8a00de686a2151d12836b1cb5e047fc933814fcbd5fe522eb8a9f0fb4ff15966e5903c2431
vega-embed 7.3.0 c10f2ce46692ceaa0a82645f6d1a25801ae313608fed92875ea1fb3628f132a3e3a5d5b14ace039fcb6fa7d83482242f87670afb7a79eacc63596334c0d9e01b"

# The list of packages is put there last: where it is the same as ours, everything is there.
is_there() { [ "$(cat "$folder/packages" 2>/dev/null)" = "$packages" ]; }

if is_there; then exit 0; fi
if [ "${1:-}" = --is-there ]; then exit 1; fi
have npm || stop "vega: npm is missing, which fetches Vega for the charts of a report. Type:" \
    "    scripts/setup.sh"

mkdir -p "$folder"
new=$(mktemp -d -p "$folder")
trap 'rm -rf "$new"' EXIT

fetch() {
    local name=$1 version=$2 sum=$3
    local archive=$new/$name-$version.tgz
    npm pack --prefer-offline --ignore-scripts --pack-destination "$new" "$name@$version" >"$new/log" 2>&1 || {
        cat "$new/log" >&2
        stop "vega: npm could not fetch $name $version. Type this to see why:" \
            "    npm pack --dry-run $name@$version"
    }
    printf '%s  %s\n' "$sum" "$archive" | sha512sum --check --status ||
        stop "vega: what npm fetched as $name $version is not what it was: its SHA-512 differs from scripts/vega.sh"
    tar -xzf "$archive" -C "$new" package/LICENSE "package/build/$name.min.js"
    # Maps of the source are not embedded, so nothing may ask for them.
    sed -i '/^\/\/# sourceMappingURL=/d' "$new/package/build/$name.min.js"
    mv -f "$new/package/build/$name.min.js" "$folder/$name.min.js"
    mv -f "$new/package/LICENSE" "$folder/$name.LICENSE"
}

say "vega: npm pack vega vega-lite vega-embed"
while read -r name version sum; do
    fetch "$name" "$version" "$sum" </dev/null
done <<<"$packages"
printf '%s\n' "$packages" >"$new/packages"
mv -f "$new/packages" "$folder/packages"
# The build script of fsage-report waits for this where it found nothing before.
touch -c scripts/vega.sh || true
