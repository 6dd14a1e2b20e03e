#!/usr/bin/env bash
# Puts fsage with its completions and manual pages below a folder, or takes away what was put there.
#
# usage: scripts/install.sh PREFIX [PROGRAM]
#        scripts/install.sh --remove PREFIX
#
# PROGRAM is target/release/fsage unless it is given. PREFIX/share/fsage/installed lists what was put where; only
# what stands in it is removed.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

remove=no
if [ "${1:-}" = --remove ]; then
    remove=yes
    shift
fi
prefix=${1:-}
program=${2:-target/release/fsage}
[ -n "$prefix" ] || stop "install: where to? Type:" "    make install PREFIX=FOLDER"
list=share/fsage/installed

# Removes what an installation left, and folders that are empty then.
remove_installed() {
    local name
    while IFS= read -r name; do
        rm -f "$prefix/$name"
        rmdir -p --ignore-fail-on-non-empty "$(dirname "$prefix/$name")" 2>/dev/null || true
    done <"$prefix/$list"
    rm -f "$prefix/$list"
    rmdir -p --ignore-fail-on-non-empty "$(dirname "$prefix/$list")" 2>/dev/null || true
}

if [ "$remove" = yes ]; then
    [ -e "$prefix/$list" ] || stop "install: $prefix/$list is not there, so nothing of fsage is known to be installed"
    remove_installed
    say "fsage is removed from $prefix."
    exit 0
fi

[ -x "$program" ] || stop "install: $program is missing. Type:" "    make build"
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
install -D -m 755 "$program" "$new/bin/fsage"
put() { install -D -m 644 /dev/stdin "$new/$1"; }
"$program" completions bash | put share/bash-completion/completions/fsage
"$program" completions zsh | put share/zsh/site-functions/_fsage
"$program" completions fish | put share/fish/vendor_completions.d/fsage.fish
"$program" man --output "$new/share/man/man1"

# Pages of verbs that this version no longer has go with the old version.
if [ -e "$prefix/$list" ]; then remove_installed; fi
(cd "$new" && find . -type f -printf '%P\n' | sort) >"$new.list"
trap 'rm -rf "$new" "$new.list"' EXIT
while IFS= read -r name; do
    mode=644
    if [ "$name" = bin/fsage ]; then mode=755; fi
    install -D -m $mode "$new/$name" "$prefix/$name"
done <"$new.list"
install -D -m 644 "$new.list" "$prefix/$list"
say "fsage is in $prefix/bin, its completions and manual pages in $prefix/share."
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) say "Your PATH lacks $prefix/bin. Type:" "    export PATH=$prefix/bin:\$PATH" ;;
esac
