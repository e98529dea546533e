/* The report for programs; tools/doctor.schema.json describes it. */
#include "tools/doctor/report.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Our texts may hold bytes of others, which need not be UTF-8; JSON must be. */
static json_t *text_of(const char *text)
{
    char plain[4096];
    size_t length = 0;
    json_t *json = json_string(text);

    if (json)
        return json;
    for (; text[length] && length < sizeof(plain) - 1; length++)
        plain[length] =
            (char)((unsigned char)text[length] < 0x80 ? text[length] : '?');
    plain[length] = '\0';
    return json_string(plain);
}

static json_t *list_rows(const char *rows)
{
    json_t *list = json_array();
    char line[4096];

    while (rows && *rows) {
        size_t length = strcspn(rows, "\n");

        snprintf(line, sizeof(line), "%.*s", (int)length, rows);
        json_array_append_new(list, text_of(line));
        rows += length + (rows[length] == '\n');
    }
    return list;
}

static json_t *list_checks(const struct mgds_report *report)
{
    json_t *list = json_array();

    for (size_t i = 0; i < mgds_check_count; i++) {
        const struct mgds_finding *finding = &report->finding[i];

        json_array_append_new(
            list,
            json_pack("{s:s s:s s:s s:o s:o s:o s:o}", "id", mgds_checks[i].id,
                      "title", mgds_checks[i].title, "state",
                      mgds_state_name[finding->state], "text",
                      text_of(finding->text), "rows", list_rows(finding->rows),
                      "remedy", text_of(finding->remedy), "detail",
                      text_of(finding->detail ? finding->detail : "")));
    }
    return list;
}

static json_t *describe_pair(const struct mgds_pair *pair)
{
    return json_pack("{s:i s:i s:b s:s s:I s:s s:s s:s}", "from", pair->from,
                     "to", pair->to, "same_host", (int)pair->same_host, "use",
                     pair->enqueued ? "enqueued" : "ordinary", "bytes",
                     pair->bytes, "transport", pair->transport, "reason",
                     pair->reason, "remedy", pair->remedy);
}

static json_t *list_pairs(const struct mgds_pairs *pairs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < pairs->count; i++)
        json_array_append_new(list, describe_pair(&pairs->pair[i]));
    return list;
}

static json_t *describe_machine(void)
{
    struct utsname name = {0};

    uname(&name); /* cannot fail for a buffer of ours */
    return json_pack("{s:o s:s s:s s:s s:I}", "host", text_of(name.nodename),
                     "system", name.sysname, "release", name.release, "machine",
                     name.machine, "cores",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static json_t *describe_command(const struct mgds_report *report)
{
    json_t *words = json_array();

    for (int i = 0; i < report->argc; i++)
        json_array_append_new(words, text_of(report->argv[i]));
    return words;
}

static json_t *describe_date(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;

    if (!gmtime_r(&now, &utc))
        return json_string("1970-01-01T00:00:00Z");
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* The ranks as the probe reported them; the schema has their format too. */
static json_t *list_ranks(const struct mgds_facts *facts)
{
    return facts->root ? json_incref(facts->root) : json_array();
}

int mgds_report_json(const struct mgds_report *report, FILE *out)
{
    int status = mgds_report_status(report);
    const struct mgds_exam *exam = report->exam;
    json_t *root = json_pack(
        "{s:s s:s s:s s:o s:o s:o s:o s:i s:s s:o s:o s:o}", "schema",
        "mpix-gds-doctor/2", "name", "mpix-gds-doctor", "version", MGDS_VERSION,
        "command", describe_command(report), "date", describe_date(), "machine",
        describe_machine(), "launch", text_of(exam->launch.command), "status",
        status, "summary", mgds_report_meaning(status), "checks",
        list_checks(report), "ranks", list_ranks(&exam->facts), "pairs",
        list_pairs(&exam->pairs));
    int rc = 0;

    if (!root)
        return -ENOMEM;
    if (json_dumpf(root, out, JSON_INDENT(2)) < 0 || fputc('\n', out) < 0 ||
        fflush(out) != 0)
        rc = -EIO;
    json_decref(root);
    return rc;
}
