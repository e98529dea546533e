# What must be installed, and installing it: the table is packages.tsv.
# shellcheck shell=bash

# packages_for WHEN..: names of the packages needed then.
packages_for()
{
    local name when _
    while read -r name when _; do
        [[ -z $name || $name == \#* ]] && continue
        [[ " $* " == *" $when "* ]] && printf '%s\n' "$name"
    done <"$top/tools/setup/packages.tsv"
}

# Those of the named packages that are not installed.
packages_missing()
{
    local installed name
    installed=$(dpkg-query -W -f '${Status}\t${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^install ok installed\t//p')
    for name in "$@"; do
        grep -qxF -- "$name" <<<"$installed" || printf '%s\n' "$name"
    done
}

# apt ARG..: shows the steps that take time, keeps all it says in apt.log.
apt()
{
    local log=$top/build/logs/apt.log status
    mkdir -p "${log%/*}" || return
    DEBIAN_FRONTEND=noninteractive apt-get -y -q \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null 2>&1 |
        tee -a "$log" |
        grep --line-buffered -E '^(Fetched|Setting up|Err:|E: |W: |Waiting)'
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || tail -n 15 "$log" >&2
    return "$status"
}

# The lists may be absent or too old to fetch from: only then are they renewed.
apt_install()
{
    if apt-get install --no-install-recommends --print-uris -qq "$@" \
        >/dev/null 2>&1; then
        apt install --no-install-recommends "$@" && return
    fi
    apt update && apt install --no-install-recommends "$@"
}

# need_packages WHEN..: returns with all of them installed, or gives up.
need_packages()
{
    local wanted missing remedy
    mapfile -t wanted < <(packages_for "$@")
    mapfile -t missing < <(packages_missing "${wanted[@]}")
    say "packages: ${#wanted[@]} needed, ${#missing[@]} missing"
    [ ${#missing[@]} -gt 0 ] || return 0
    remedy="apt-get install ${missing[*]}"
    [ "$install" = yes ] ||
        give_up "missing packages (as root: $remedy)"
    command -v apt-get >/dev/null ||
        give_up "no apt-get here; missing Debian packages: ${missing[*]}"
    [ "$(id -u)" = 0 ] ||
        give_up "not root; missing packages (as root: $remedy)"
    say "installing: ${missing[*]} (all of it in build/logs/apt.log)"
    apt_install "${missing[@]}" || give_up "could not install: ${missing[*]}"
    mapfile -t missing < <(packages_missing "${wanted[@]}")
    [ ${#missing[@]} -eq 0 ] || give_up "still missing: ${missing[*]}"
}
