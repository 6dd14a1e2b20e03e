# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run.

say() { printf '%s\n' "$@" >&2; }

stop() {
    say "$@"
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# at_least HAVE WANTED: whether the version HAVE (`1.95.0`, `0.66.0+ds1-1`) is WANTED or newer. An empty one is not.
at_least() {
    local have_part want_part i
    local IFS=.
    # shellcheck disable=SC2206 # split at the dots
    local have_parts=(${1%%[!0-9.]*}) want_parts=($2)
    [ ${#have_parts[@]} -gt 0 ] || return 1
    for i in 0 1 2; do
        have_part=${have_parts[i]:-0}
        want_part=${want_parts[i]:-0}
        if [ "$have_part" -gt "$want_part" ]; then return 0; fi
        if [ "$have_part" -lt "$want_part" ]; then return 1; fi
    done
}

# Runs a command as root; fails where that takes a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_install_debian() { have apt-get && as_root true 2>/dev/null; }

# The package lists of a new machine may be empty or old: they are fetched once, before the first use.
debian_lists_are_new=no
update_debian_lists() {
    if [ $debian_lists_are_new = yes ]; then return; fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || true
    debian_lists_are_new=yes
}

# Version that Debian offers of a package, without its epoch; nothing where it offers none.
debian_version() {
    LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \(.*:\)\{0,1\}\([0-9].*\)$/\2/p'
}

debian_offers() { [ -n "$(debian_version "$1")" ]; }

# install_debian PACKAGE...: installs them, or says what to type.
install_debian() {
    if ! have apt-get; then
        stop "setup: missing on this machine: $* (these are Debian's names of the packages)." \
            "Install them with the package manager of this system, and then type the same make command again."
    fi
    if ! can_install_debian; then
        stop "setup: missing on this machine: $*. Type:" \
            "    sudo apt-get update && sudo apt-get install -y $*" \
            "and then the same make command again."
    fi
    say "setup: apt-get install $*"
    update_debian_lists
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 </dev/null ||
        stop "setup: apt-get could not install $*. Type this to see why:" \
            "    sudo apt-get install $*"
}
