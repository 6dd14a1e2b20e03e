#!/usr/bin/env bash
# Makes sure that this machine can build fsage. Quick and silent when nothing is missing.
#
# usage: scripts/setup.sh [lint] [fuzz] [realfs] [browser] [dist]
#
# Always: a C compiler with its headers (some Rust packages contain C), git, a cargo that is new enough, and Vega, which
# npm fetches. Without Vega fsage is built all the same, with charts that are static.
# With `lint`: rustfmt and clippy too. With `fuzz`: a C++ compiler too. With `realfs`: what makes and checks ext4, XFS and
# btrfs, where loop devices can be used; without it tests of real file systems are skipped, so it is no error. With
# `browser`: Chromium, and what drives it; without these, tests of pages in a browser are skipped. With `dist`: musl, for
# a static program; without it, glibc is linked.
# Debian packages are installed where root or a password-free sudo allows it. Whatever cannot be done here is
# said in one line to type; the exit status is then 1.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
want_lint=no
want_fuzz=no
want_realfs=no
want_browser=no
want_dist=no
for argument in "$@"; do
    case $argument in
        lint) want_lint=yes ;;
        fuzz) want_fuzz=yes ;;
        realfs) want_realfs=yes ;;
        browser) want_browser=yes ;;
        dist) want_dist=yes ;;
        *) stop "scripts/setup.sh: unknown argument '$argument' (lint, fuzz, realfs, browser, dist)" ;;
    esac
done

c_compiler_works() {
    printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | cc -x c -fsyntax-only - 2>/dev/null
}

install_debian_packages() {
    local missing=()
    c_compiler_works || missing+=(gcc libc6-dev)
    have git || missing+=(git)
    if [ "$want_fuzz" = yes ] && ! have c++; then missing+=(g++); fi
    if [ ${#missing[@]} -gt 0 ]; then install_debian "${missing[@]}"; fi
}

# Charts of a report are drawn by Vega, which the program embeds; without it they are pictures.
fetch_vega() {
    if scripts/vega.sh --is-there; then return; fi
    have npm || { can_install_debian && (install_debian npm); } || true
    if scripts/vega.sh; then return; fi
    [ "${CI:-}" != true ] || stop "setup: without Vega the interactive charts cannot be tested"
    say "setup: charts of reports will be static pictures"
}

# Only root can use loop devices, so for others there is nothing to install.
install_file_system_tools() {
    local missing=()
    PATH="$PATH:/usr/sbin:/sbin"
    [ "$(id -u)" = 0 ] && [ -e /dev/loop-control ] && have apt-get || return 0
    have mkfs.ext4 || missing+=(e2fsprogs)
    have mkfs.xfs || missing+=(xfsprogs)
    have mkfs.btrfs || missing+=(btrfs-progs)
    have setpriv && have mount || missing+=(util-linux mount)
    if [ ${#missing[@]} -gt 0 ]; then
        (install_debian "${missing[@]}") || say "setup: tests that need ${missing[*]} will be skipped"
    fi
}

install_browser() {
    if ! have chromium && ! have chromium-browser && ! have google-chrome && can_install_debian; then
        (install_debian chromium) || true
    fi
    scripts/tools.sh browser || say "setup: tests of pages in a browser will be skipped"
}

install_musl() {
    local target
    target=$(uname -m)-unknown-linux-musl
    if ! have musl-gcc && can_install_debian; then (install_debian musl-tools) || true; fi
    if have rustup && ! rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        say "setup: rustup target add $target"
        rustup target add "$target" >&2 || true
    fi
}

# The stable toolchain with rustfmt and clippy, which rust-toolchain.toml asks for.
install_toolchain() {
    say "setup: rustup toolchain install stable"
    rustup toolchain install stable --profile minimal --component rustfmt --component clippy >&2 ||
        stop "setup: no Rust toolchain could be installed. Type:" \
            "    rustup toolchain install stable --component rustfmt --component clippy"
}

stop_without_rust() {
    local before=
    if ! have curl; then
        if can_install_debian; then
            install_debian curl ca-certificates
        else
            before="sudo apt-get install -y curl && "
        fi
    fi
    stop "setup: fsage needs Rust $rust_wanted or newer; $1. Type:" \
        "    ${before}curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y" \
        "and then the same make command again."
}

install_cargo() {
    if ! can_install_debian; then stop_without_rust "there is no cargo on this machine"; fi
    update_debian_lists
    if debian_offers rustup; then
        install_debian rustup
        install_toolchain
    elif at_least "$(debian_version cargo)" "$rust_wanted"; then
        install_debian cargo
    else
        stop_without_rust "there is no cargo on this machine, and Debian's own is too old"
    fi
}

# Whether rustup has to fetch the toolchain first, which `cargo` would do in silence or refuse to do.
has_no_toolchain() {
    have rustup && [ -z "${RUSTUP_TOOLCHAIN:-}" ] && ! rustup toolchain list 2>/dev/null | grep -q '^stable'
}

check_cargo_version() {
    if has_no_toolchain; then install_toolchain; fi
    version=$(cargo --version 2>/dev/null) || version=
    version=${version#cargo }
    version=${version%% *}
    if at_least "$version" "$rust_wanted"; then return; fi
    if have rustup; then
        stop "setup: fsage needs Rust $rust_wanted or newer, and this is ${version:-none}. Type:" \
            "    rustup update stable"
    fi
    stop_without_rust "the cargo of this machine is ${version:-broken}"
}

check_components() {
    if cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; then return; fi
    if have rustup; then
        say "setup: rustup component add rustfmt clippy"
        rustup component add rustfmt clippy >&2 && return
        stop "setup: rustfmt or clippy is missing. Type:" "    rustup component add rustfmt clippy"
    fi
    install_debian rustfmt rust-clippy
}

rust_wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
install_debian_packages
have cargo || install_cargo
check_cargo_version
fetch_vega
if [ "$want_lint" = yes ]; then check_components; fi
if [ "$want_realfs" = yes ]; then install_file_system_tools; fi
if [ "$want_browser" = yes ]; then install_browser; fi
if [ "$want_dist" = yes ]; then install_musl; fi
