# Packages of PyPI in a virtual environment of the tree's own.
# shellcheck shell=bash

venv=$top/.venv

# wheels_are LIST: .venv has what the list says now.
wheels_are() { cmp -s "$1" "$venv/${1##*/}"; }

# wheels_fetch LIST [COMMAND]: fetches them, and remembers that when COMMAND has
# done what they need besides; 0 if they are there afterwards.
wheels_fetch()
{
    local list=$1 python=/usr/bin/python3
    shift
    [ -x "$python" ] || python=python3
    if [ ! -x "$venv/bin/pip" ]; then
        "$python" -m venv "$venv" </dev/null || return
    fi
    timeout 900 "$venv/bin/pip" install --no-input --no-cache-dir \
        --disable-pip-version-check --progress-bar off --timeout 15 \
        --retries 2 -r "$list" </dev/null || return
    "${@:-true}" || return
    cp "$list" "$venv/${list##*/}"
}
