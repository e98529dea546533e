/* The report for people: a line or more a check, one line in the end. What
 * could not be examined has its reason in another check, and no line. */
#include "tools/doctor/report.h"

#include <errno.h>
#include <string.h>

enum { MGDS_COLUMNS = 80, MGDS_ID_WIDTH = 12, MGDS_STATE_WIDTH = 8 };

enum { MGDS_INDENT = MGDS_STATE_WIDTH + 2 + MGDS_ID_WIDTH + 2 };

int mgds_report_status(const struct mgds_report *report)
{
    int status = MGDS_EXIT_OK;

    for (size_t i = 0; i < mgds_check_count; i++) {
        enum mgds_state state = report->finding[i].state;

        if (state == MGDS_BROKEN)
            return MGDS_EXIT_BROKEN;
        if (state == MGDS_FALLBACK)
            status = MGDS_EXIT_FALLBACK;
    }
    return status;
}

const char *mgds_report_meaning(int status)
{
    static const char *const meaning[] = {[MGDS_EXIT_OK] = "all well",
                                          [MGDS_EXIT_FALLBACK] =
                                              "works with a named fallback",
                                          [MGDS_EXIT_BROKEN] = "broken"};

    return meaning[status];
}

/* Words of text between the indent and the right margin, all lines but the
 * first so much further in; a word that is too long for a line gets one. */
static void print_wrapped(FILE *out, const char *text, size_t more)
{
    size_t indent = MGDS_INDENT + more;
    size_t column = MGDS_INDENT;
    const char *separator = "";

    while (*text) {
        size_t length = strcspn(text, " ");

        if (column + 1 + length > MGDS_COLUMNS && column > indent) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            separator = "";
        }
        fprintf(out, "%s%.*s", separator, (int)length, text);
        column += length + strlen(separator);
        separator = " ";
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

static void print_detail(FILE *out, const char *detail)
{
    while (*detail) {
        size_t length = strcspn(detail, "\n");

        fprintf(out, "%*s| %.*s\n", MGDS_INDENT, "", (int)length, detail);
        detail += length + (detail[length] == '\n');
    }
}

/* A paragraph each. */
static void print_rows(FILE *out, const char *rows)
{
    char line[4096];

    while (*rows) {
        size_t length = strcspn(rows, "\n");

        snprintf(line, sizeof(line), "%.*s", (int)length, rows);
        fprintf(out, "%*s", MGDS_INDENT, "");
        print_wrapped(out, line, 2);
        rows += length + (rows[length] == '\n');
    }
}

static void print_finding(FILE *out, const struct mgds_check *check,
                          const struct mgds_finding *finding)
{
    char remedy[sizeof(finding->remedy) + 16];

    fprintf(out, "%-*s  %-*s  ", MGDS_STATE_WIDTH,
            mgds_state_name[finding->state], MGDS_ID_WIDTH, check->id);
    print_wrapped(out, finding->text, 0);
    if (finding->rows)
        print_rows(out, finding->rows);
    if (finding->detail)
        print_detail(out, finding->detail);
    if (!finding->remedy[0] ||
        (finding->rows && strstr(finding->rows, finding->remedy)))
        return;
    snprintf(remedy, sizeof(remedy), "-> %s", finding->remedy);
    fprintf(out, "%*s", MGDS_INDENT, "");
    print_wrapped(out, remedy, 3);
}

static void print_summary(FILE *out, const struct mgds_report *report)
{
    int status = mgds_report_status(report);
    const char *separator = ": ";

    fprintf(out, "%s", mgds_report_meaning(status));
    for (size_t i = 0; i < mgds_check_count; i++) {
        enum mgds_state state = report->finding[i].state;

        if ((status == MGDS_EXIT_BROKEN && state != MGDS_BROKEN) ||
            (state != MGDS_BROKEN && state != MGDS_FALLBACK))
            continue;
        fprintf(out, "%s%s", separator, mgds_checks[i].id);
        separator = ", ";
    }
    fputc('\n', out);
}

int mgds_report_text(const struct mgds_report *report, FILE *out)
{
    for (size_t i = 0; i < mgds_check_count; i++)
        if (report->finding[i].state != MGDS_UNKNOWN)
            print_finding(out, &mgds_checks[i], &report->finding[i]);
    print_summary(out, report);
    return fflush(out) == 0 ? 0 : -errno;
}
