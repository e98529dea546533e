# Running the tests of one build and keeping the score of all stages.
# shellcheck shell=bash

# labels_for LEVEL: the label pattern of ctest (cmake/tests.cmake names them).
labels_for()
{
    case $1 in
    quick) printf '^quick$\n' ;;
    all) printf '^(quick|all)$\n' ;;
    long) printf '^(quick|all|long)$\n' ;;
    esac
}

# run_tests FOLDER LABELS ARG..: JUnit and log in the folder's logs/, and how
# far it is on the way.
run_tests()
{
    local folder=$1 labels=$2
    shift 2
    rm -f "$folder/logs/junit.xml"
    mkdir -p "$folder/logs"
    ctest --test-dir "$folder" -L "$labels" -N "$@" >"$folder/logs/tests.txt"
    # shellcheck disable=SC2034 # read by run_logged
    local viewer=(python3 "$top/tools/setup/progress.py" "${stage_name%: tests}"
        "$folder/logs/tests.txt"
        "$folder/Testing/Temporary/CTestCostData.txt")
    run_logged "$folder/logs/test.log" \
        ctest --test-dir "$folder" -L "$labels" -j "$jobs" \
        --output-on-failure --no-tests=error \
        --test-output-size-passed 65536 --test-output-truncation middle \
        --output-junit "$folder/logs/junit.xml" "$@"
}

# A stage is a line: what, its status, seconds, JUnit file if it ran tests.
score_open()
{
    score=$1/logs/score.tsv
    : >"$score" || give_up "cannot write $score"
}

# stage NAME JUNIT COMMAND..: runs it, writes the line; the command's status.
# Behind the deadline (--minutes) nothing is run, and the status is "late".
stage()
{
    local name=$1 junit=$2 begin=$SECONDS status=0
    shift 2
    stage_name=$name
    headline "$name"
    if is_late; then
        printf '%s\tlate\t0\t\n' "$name" >>"$score"
        return "$FAILED"
    fi
    "$@" || status=$?
    printf '%s\t%s\t%s\t%s\n' "$name" "$status" $((SECONDS - begin)) \
        "$junit" >>"$score"
    say "-- $name took $(since "$begin")"
    return "$status"
}

is_late()
{
    [ -n "${MGDS_DEADLINE-}" ] && [ "$EPOCHSECONDS" -ge "$MGDS_DEADLINE" ]
}

# Prints the table; the exit status of the whole.
score_close()
{
    headline "results"
    python3 "$top/tools/setup/report.py" "$score"
}
