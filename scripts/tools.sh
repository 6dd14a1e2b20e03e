#!/usr/bin/env bash
# Installs the tools that check this repository into target/tools, unless the machine has them.
#
# usage: scripts/tools.sh cargo-deny|cargo-fuzz|typos|mdbook|browser...
#
# Quick and silent when nothing is missing. The versions below are the ones that the checks were written with; a
# newer one on the PATH is used as it is. Put target/tools/bin on the PATH to run them. `browser` is a Python environment,
# target/tools/browser, with what drives a browser that the machine has; it brings none.
set -eu
cd "$(dirname "$0")/.."
. scripts/shell.sh

cargo_deny_version=0.20.2
cargo_fuzz_version=0.13.2
typos_version=1.52.0
mdbook_version=0.5.4
browser_packages="pytest==9.2.0 playwright==1.65.2 axe-playwright-python==0.1.8"

tools=$PWD/target/tools
PATH="$tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

# has TOOL VERSION: whether the PATH has TOOL, VERSION or newer.
has() {
    local printed
    printed=$("$1" --version 2>/dev/null </dev/null) || return 1
    printed=${printed##* }
    at_least "${printed#v}" "$2"
}

# cargo_install_package PACKAGE VERSION [FLAG...]: without optimization and what a debugger wants, for these run for a
# second or two, and so build in a third of the time.
cargo_install_package() {
    local package=$1@$2
    say "tools: cargo install $1 $2 (about 2 minutes on 2 cores)"
    shift 2
    CARGO_TARGET_DIR=$tools/build CARGO_PROFILE_DEV_DEBUG=false \
        cargo install --quiet --locked --debug --force --root "$tools" "$@" "$package" >&2 ||
        stop "tools: $package could not be installed. Type this to see why:" \
            "    cargo install --locked $* $package"
    rm -rf "$tools/build"
}

install_cargo_tool() { has "$1" "$2" || cargo_install_package "$@"; }

python_with_venv() {
    have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null
}

# python_environment FOLDER PACKAGE...: packages in an environment of their own; fails where that cannot be.
python_environment() {
    local folder=$1
    shift
    if ! python_with_venv && can_install_debian; then install_debian python3 python3-venv; fi
    python_with_venv || return 1
    say "tools: pip install $*"
    mkdir -p "$tools"
    python3 -m venv "$folder" >&2 && "$folder/bin/pip" install --quiet "$@" >&2 </dev/null
}

install_typos() {
    if has typos $typos_version; then return; fi
    if python_environment "$tools/python" "typos==$typos_version"; then
        mkdir -p "$tools/bin"
        ln -sf "$tools/python/bin/typos" "$tools/bin/typos"
        return
    fi
    cargo_install_package typos-cli $typos_version
}

# The list in the environment is written last, and tells one that is whole and of these versions.
install_browser() {
    local list=$tools/browser/packages
    if [ "$(cat "$list" 2>/dev/null)" = "$browser_packages" ]; then return; fi
    # shellcheck disable=SC2086 # one word a package
    python_environment "$tools/browser" $browser_packages ||
        stop "tools: no Python environment with $browser_packages could be made"
    printf '%s\n' "$browser_packages" >"$list"
}

for tool in "$@"; do
    case $tool in
        cargo-deny) install_cargo_tool cargo-deny $cargo_deny_version ;;
        cargo-fuzz) install_cargo_tool cargo-fuzz $cargo_fuzz_version ;;
        typos) install_typos ;;
        # Only what builds a site: neither its server nor its watch over files.
        mdbook) install_cargo_tool mdbook $mdbook_version --no-default-features --features search ;;
        browser) install_browser ;;
        *) stop "scripts/tools.sh: unknown tool '$tool' (cargo-deny, cargo-fuzz, typos, mdbook, browser)" ;;
    esac
done
