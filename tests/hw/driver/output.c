/* What the user sees: lines on stdout, and the same as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

static const char *const words[] = {"lost", "ok", "FAIL", "skip"};

static void print_lines(const char *lines)
{
    const char *end;

    for (; lines && (end = strchr(lines, '\n')); lines = end + 1)
        printf("     %.*s\n", (int)(end - lines), lines);
}

void mgds_result_print(const struct mgds_result *result, bool quiet)
{
    bool unsure = result->row->flags & UNSURE;

    if (quiet && result->outcome != FAILED)
        return;
    printf("%-4s %s (%.0f ms", words[result->outcome], result->row->name,
           result->ms);
    if (result->setup_ms >= 1e3)
        printf(" + %.0f s set-up", result->setup_ms / 1e3);
    printf(")%s", unsure && result->outcome == FAILED ? " unsure" : "");
    if (result->outcome == SKIPPED)
        printf(": %.*s", (int)strcspn(result->reason, "\n"), result->reason);
    printf("\n");
    print_lines(result->failures);
    print_lines(result->notes);
    fflush(stdout);
}

static json_t *lines_json(const char *lines)
{
    json_t *array = json_array();
    const char *end;

    for (; lines && (end = strchr(lines, '\n')); lines = end + 1)
        json_array_append_new(array,
                              json_stringn(lines, (size_t)(end - lines)));
    return array;
}

static json_t *facts_json(const struct mgds_machine *machine)
{
    json_t *facts = json_object();
    char copy[sizeof(machine->facts)], *save = NULL;

    memcpy(copy, machine->facts, sizeof(copy));
    for (char *line = strtok_r(copy, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *colon = strstr(line, ": ");

        if (!colon)
            continue;
        *colon = '\0';
        json_object_set_new(facts, line, json_string(colon + 2));
    }
    return facts;
}

static json_t *case_json(const struct mgds_result *result)
{
    return json_pack(
        "{s:s, s:s, s:f, s:f, s:b, s:o, s:o, s:o}", "name", result->row->name,
        "result", words[result->outcome], "ms", result->ms, "setup ms",
        result->setup_ms, "unsure", (result->row->flags & UNSURE) != 0,
        "failures", lines_json(result->failures), "notes",
        lines_json(result->notes), "reason", lines_json(result->reason));
}

int mgds_results_write(const char *file, const struct mgds_machine *machine,
                       const struct mgds_result *results, int count)
{
    json_t *root = json_object(), *cases = json_array();
    int rc;

    json_object_set_new(root, "machine", facts_json(machine));
    for (int i = 0; i < count; i++)
        json_array_append_new(cases, case_json(&results[i]));
    json_object_set_new(root, "cases", cases);
    rc = json_dump_file(root, file, JSON_INDENT(1));
    json_decref(root);
    if (rc)
        fprintf(stderr, "driver-list: cannot write %s\n", file);
    return rc;
}
