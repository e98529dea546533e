# Shared by ./demo and ./check: words on the terminal, options, logged steps.
# Sourced with `top` (the source tree) set; never changes the directory.
# shellcheck shell=bash

# What the two commands return.
readonly PASSED=0 FAILED=1 NO_SETUP=2
export PASSED FAILED NO_SETUP

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Stops because the machine, not the project, is not ready.
give_up()
{
    warn "$*"
    exit "$NO_SETUP"
}

# The same tools give the same output whoever runs them, and nothing that is
# set for a user's own job leaks into ours.
clean_environment()
{
    export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
    unset LD_PRELOAD DESTDIR CDPATH
    local name
    for name in "${!MPIX_GDS_@}" "${!MPIX_SIM_@}"; do
        warn "ignoring $name, which is set in the environment"
        unset "$name"
    done
}

# parse_options OWN WORD..: options common to both commands, and those in OWN,
# which end up in $level without the dashes.
install=yes
carried=
level=quick
jobs=$(nproc)
unset MGDS_DEADLINE # of a ./check that runs this as a test
parse_options()
{
    local own=$1
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        --no-install) install=no ;;
        --build)
            [ $# -ge 2 ] || bad_option "--build needs a folder"
            carried=$2
            shift
            ;;
        --jobs)
            need_number "$@"
            jobs=$2
            shift
            ;;
        --minutes)
            [[ " $own " == *" $1 "* ]] || bad_option "unknown: $1"
            need_number "$@"
            # read by the tests, too (tests/lib/deadline.py)
            export MGDS_DEADLINE=$((EPOCHSECONDS + 60 * $2))
            shift
            ;;
        -h | --help)
            usage
            exit "$PASSED"
            ;;
        --version)
            version
            exit "$PASSED"
            ;;
        *)
            [[ " $own " == *" $1 "* ]] || bad_option "unknown: $1"
            # shellcheck disable=SC2034 # read by ./check
            level=${1#--}
            ;;
        esac
        shift
    done
    [ -z "$carried" ] || find_carried
}

version()
{
    say "${0##*/} (mpix-gds)" \
        "$(sed -n 's/^#define MPIX_GDS_VERSION_[MP][A-Z]* //p' \
            "$top/include/mpix_gds.h" | paste -sd .)"
}

# need_number OPTION WORD..: the word behind it is a number above 0.
need_number()
{
    [[ ${2-} =~ ^[1-9][0-9]*$ ]] || bad_option "$1 needs a number"
}

bad_option()
{
    warn "$*"
    usage >&2
    exit "$NO_SETUP"
}

find_carried()
{
    carried=$(cd "$carried" 2>/dev/null && pwd -P) ||
        give_up "--build: no such folder"
    [ -f "$carried/CMakeCache.txt" ] ||
        give_up "--build $carried: not a build of this project" \
            "(no CMakeCache.txt there)"
}

# LD_PRELOAD separates its entries by blanks and colons and knows no quoting:
# a library under such a path cannot be preloaded at all.
need_plain_path()
{
    [[ $1 != *[[:space:]:]* ]] ||
        give_up "there is a blank or a colon in the path $1, and LD_PRELOAD" \
            "cannot name a library there: move the tree"
}

# take_lock BUILD: one of the two commands at a time in one build tree.
take_lock()
{
    mkdir -p "$1/logs" || give_up "cannot write to $1"
    exec 9>"$1/logs/lock" || give_up "cannot write to $1/logs"
    flock -n 9 || give_up "another ./demo or ./check is at work in $1"
}

# run_logged LOG COMMAND..: keeps the output and shows it, by way of the command
# in $viewer; the command's status. A viewer that fails spoils nothing.
# Its input never comes and never ends: at the end of it mpiexec (Hydra) tells
# its proxy so, and dies of it (SIGPIPE) if a short job is over by then.
viewer=(cat)
run_logged()
{
    local log=$1
    shift
    mkdir -p "${log%/*}" || give_up "cannot make ${log%/*}"
    local input
    input=$(mktemp -u) && mkfifo -m 600 "$input" || give_up "cannot write to /tmp"
    exec 8<>"$input"
    rm -f "$input"
    { "$@" 2>&1 <&8 8>&- 9>&-; } | tee "$log" 8>&- 9>&- |
        { "${viewer[@]}" || cat; } 8>&- 9>&-
    local status=${PIPESTATUS[0]}
    exec 8>&-
    return "$status"
}

# minutes:seconds since the given value of SECONDS
since()
{
    local spent=$((SECONDS - $1))
    printf '%d:%02d' $((spent / 60)) $((spent % 60))
}

headline() { printf '\n== %s\n' "$*"; }

# MPICH's mpiexec, whatever the plain name means on this machine.
find_mpiexec()
{
    local name said
    for name in mpiexec.mpich mpiexec.hydra mpiexec; do
        said=$(timeout 20 "$name" --version 2>/dev/null </dev/null)
        if [[ $said == *HYDRA* ]]; then
            command -v "$name"
            return
        fi
    done
    return 1
}
