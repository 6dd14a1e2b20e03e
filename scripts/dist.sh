#!/usr/bin/env bash
# Makes an archive of fsage that runs on any Linux of this machine's kind: a static program, its completions, manual
# pages and licenses, and beside it the archive's SHA-256.
#
# usage: scripts/dist.sh
#
# The program is linked with musl where rustup has it and musl-gcc is there (scripts/setup.sh dist sees to both), else
# with the static glibc of this machine. It is then tried in a root that has nothing but it, which takes root or user
# namespaces. DIST_PROFILE is the profile of cargo (default: dist); CARGO_FLAGS are more flags.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

profile=${DIST_PROFILE:-dist}
machine=$(uname -m)
target=$machine-unknown-linux-musl
flags=
if ! have musl-gcc || ! { have rustup && rustup target list --installed | grep -qx "$target"; }; then
    say "dist: there is no musl-gcc, or no Rust for $target: the program is linked with the glibc of this machine"
    target=$machine-unknown-linux-gnu
    flags="-C target-feature=+crt-static"
fi

# shellcheck disable=SC2086 # CARGO_FLAGS are several words
RUSTFLAGS="${RUSTFLAGS:-} $flags" cargo build ${CARGO_FLAGS:-} --profile "$profile" --target "$target" --package fsage
program=${CARGO_TARGET_DIR:-target}/$target/$profile/fsage

version=$("$program" --version)
version=${version##* }
name=fsage-$version-$target
out=target/dist
mkdir -p $out
new=$(mktemp -d -p $out)
trap 'rm -rf "$new"' EXIT

# What is in the program has licenses, which go with it.
licenses() {
    local package version file
    cargo tree --package fsage --edges normal --target "$target" --prefix none --format '{p}' | sort -u |
        while read -r package version _; do
            for file in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$package-${version#v}"/{LICENSE,COPYING,NOTICE}*; do
                if [ -f "$file" ]; then printf '==== %s %s: %s\n\n' "$package" "$version" "${file##*/}" && cat "$file"; fi
            done
        done
}

say "dist: $name"
PATH="$PATH:$new/$name/bin" scripts/install.sh "$new/$name" "$program" 2>"$new/log" || stop "$(cat "$new/log")"
install -m 644 README.md CHANGELOG.md LICENSE LICENSE-APACHE LICENSE-MIT "$new/$name"
licenses >"$new/$name/LICENSES-OF-PACKAGES"
commit_time=$(git log -1 --format=%ct 2>/dev/null) || commit_time=0
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$commit_time" --directory "$new" "$name" |
    gzip -9n >"$new/$name.tar.gz"
(cd "$new" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")

# What is unpacked is tried, in a root that has nothing else: no library, no /proc, no /dev, no /tmp.
mkdir "$new/root"
tar --extract --gzip --file "$new/$name.tar.gz" --directory "$new/root" --strip-components=2 "$name/bin/fsage"
if [ "$(id -u)" = 0 ]; then
    in_root() { chroot "$new/root" /fsage "$@"; }
elif unshare --map-root-user true 2>/dev/null; then
    in_root() { unshare --map-root-user chroot "$new/root" /fsage "$@"; }
else
    say "dist: not tried in an empty root: that takes root, or user namespaces"
    in_root() { return 0; }
fi
try() { in_root "$@" >"$new/log" 2>&1 || stop "dist: in an empty root this fails: fsage $*" "$(cat "$new/log")"; }
try --version
try generate profile home-1996 --days 3 -o /w.parquet
try age /w.parquet --on ffs --on ffs:policy=realloc -o /run
try measure /run
try report /run -o /run.html

mv -f "$new/$name.tar.gz" "$new/$name.tar.gz.sha256" $out
say "dist: $out/$name.tar.gz"
