/* Settings explained: messages, docs/env.md and `mpix-gds-doctor --env`, all
 * from the table. Writes only where it is told to. */
#include "shim/base/config.h"

#include <inttypes.h>
#include <string.h>

#include "shim/base/text.h"

static void add_names(struct mgds_text *out, const char *const *names)
{
    for (unsigned i = 0; names[i]; ++i)
        mgds_text_add(out, "%s%s", i > 0 ? ", " : "", names[i]);
}

void mgds_config_row_accepts(const struct mgds_config_row *row, char *text,
                             size_t size)
{
    struct mgds_text out;
    mgds_text_init(&out, text, size);
    switch (row->kind) {
    case MGDS_CONFIG_BOOL:
        mgds_text_add(&out, "yes or no");
        break;
    case MGDS_CONFIG_UINT:
        mgds_text_add(&out, "a whole number from %" PRIu64 " to %" PRIu64,
                      row->min, row->max);
        break;
    case MGDS_CONFIG_SECONDS:
        mgds_text_add(
            &out, "seconds from %" PRIu64 " to %" PRIu64 ", such as 10 or 0.5",
            row->min, row->max);
        break;
    case MGDS_CONFIG_SIGNAL:
        mgds_text_add(&out, "none, the name of a signal, such as SIGUSR2, or "
                            "the number of one that can be caught");
        break;
    case MGDS_CONFIG_STRING:
        mgds_text_add(&out, "a text of ");
        if (row->min > 1) /* no text at all is no value either */
            mgds_text_add(&out, "%" PRIu64 " to ", row->min);
        else
            mgds_text_add(&out, "at most ");
        mgds_text_add(&out, "%" PRIu64 " bytes", row->max);
        break;
    case MGDS_CONFIG_ONE_OF:
        mgds_text_add(&out, "one of ");
        add_names(&out, row->names);
        break;
    case MGDS_CONFIG_SET_OF:
        mgds_text_add(&out, "a list of ");
        add_names(&out, row->names);
        break;
    }
}

static void add_set(struct mgds_text *out, const char *const *names,
                    unsigned set)
{
    const char *comma = "";
    for (unsigned i = 0; names[i]; ++i) {
        if (set & 1u << i) {
            mgds_text_add(out, "%s%s", comma, names[i]);
            comma = ",";
        }
    }
}

/* The value in cfg, spelled as a user would set it. */
static void add_value(struct mgds_text *out, const struct mgds_config_row *row,
                      const void *cfg)
{
    const void *field = (const char *)cfg + row->offset;
    switch (row->kind) {
    case MGDS_CONFIG_BOOL:
        mgds_text_add(out, "%s", *(const bool *)field ? "yes" : "no");
        break;
    case MGDS_CONFIG_UINT:
        mgds_text_add(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case MGDS_CONFIG_SECONDS:
        mgds_text_add(out, "%g", *(const double *)field);
        break;
    case MGDS_CONFIG_SIGNAL:
        mgds_text_add(out, *(const int *)field ? "%d" : "none",
                      *(const int *)field);
        break;
    case MGDS_CONFIG_STRING:
        mgds_text_add(out, "%s", *(char *const *)field);
        break;
    case MGDS_CONFIG_ONE_OF:
        mgds_text_add(out, "%s", row->names[*(const unsigned *)field]);
        break;
    case MGDS_CONFIG_SET_OF:
        add_set(out, row->names, *(const unsigned *)field);
        break;
    }
}

void mgds_config_table_markdown(const struct mgds_config_table *table,
                                FILE *out)
{
    fprintf(out, "| variable | takes | default | meaning |\n"
                 "| --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < table->count; ++i) {
        const struct mgds_config_row *row = &table->rows[i];
        char accepts[256];
        mgds_config_row_accepts(row, accepts, sizeof(accepts));
        const char *quote = row->text[0] != '\0' ? "`" : "";
        fprintf(out, "| `%s%s` | %s | %s%s%s | %s |\n", table->prefix,
                row->suffix, accepts, quote, row->text, quote, row->doc);
    }
}

static int widest_suffix(const struct mgds_config_table *table)
{
    int widest = 0;
    for (unsigned i = 0; i < table->count; ++i) {
        int width = (int)strlen(table->rows[i].suffix);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Bytes of one line of text that starts at doc: whole words, at most width. */
static int line_length(const char *doc, int width)
{
    int length = (int)strlen(doc);
    if (length <= width)
        return length;
    for (length = width; length > 0 && doc[length] != ' '; --length)
        ;
    return length > 0 ? length : width;
}

static void print_wrapped(FILE *out, int indent, const char *doc)
{
    while (*doc != '\0') {
        int length = line_length(doc, 78 - indent);
        fprintf(out, "%*s%.*s\n", indent, "", length, doc);
        doc += length;
        doc += strspn(doc, " ");
    }
}

void mgds_config_table_text(const struct mgds_config_table *table,
                            const void *cfg, FILE *out)
{
    int width = widest_suffix(table);
    for (unsigned i = 0; i < table->count; ++i) {
        const struct mgds_config_row *row = &table->rows[i];
        char value[4200];
        char accepts[256];
        struct mgds_text text;
        mgds_text_init(&text, value, sizeof(value));
        add_value(&text, row, cfg);
        mgds_config_row_accepts(row, accepts, sizeof(accepts));
        fprintf(out, "%s%-*s  %s%s\n", table->prefix, width, row->suffix,
                value[0] != '\0' ? value : "(empty)",
                strcmp(value, row->text) == 0 ? "" : "  (changed)");
        print_wrapped(out, 4, row->doc);
        fprintf(out, "    takes %s, default %s\n", accepts,
                row->text[0] != '\0' ? row->text : "(empty)");
    }
}
