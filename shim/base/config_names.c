/* Names of settings that are not quite those of a table; see config_names.h. */
#include "shim/base/config_names.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

/* A piece of a name. */
struct span {
    const char *at;
    size_t length;
};

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Letters to insert, drop or change to make one word the other. */
static unsigned edit_distance(struct span a, const char *b)
{
    unsigned row[MGDS_CONFIG_NAME_BYTES];
    size_t length = strlen(b);
    for (unsigned j = 0; j <= length; ++j)
        row[j] = j;
    for (size_t i = 0; i < a.length; ++i) {
        unsigned corner = row[0]++;
        for (size_t j = 0; j < length; ++j) {
            int same = toupper((unsigned char)a.at[i]) == b[j];
            unsigned above = row[j + 1];
            row[j + 1] = min3(above + 1, row[j] + 1, corner + (same ? 0 : 1));
            corner = above;
        }
    }
    return row[length];
}

/* Letters that two names may differ by, and one be meant by the other. */
static bool is_near(unsigned distance, size_t length)
{
    return distance <= 2 || (size_t)3 * distance <= length;
}

/* The one that may have been meant, or NULL. */
static const struct mgds_config_row *
nearest_row(const struct mgds_config_table *table, struct span suffix)
{
    const struct mgds_config_row *nearest = &table->rows[0];
    unsigned least = UINT_MAX;
    for (unsigned i = 0; i < table->count; ++i) {
        unsigned distance = edit_distance(suffix, table->rows[i].suffix);
        if (distance < least) {
            least = distance;
            nearest = &table->rows[i];
        }
    }
    return suffix.length > 0 && is_near(least, strlen(nearest->suffix))
               ? nearest
               : NULL;
}

/* The one whose suffix this name has behind a beginning that is not quite the
 * table's, or NULL. */
static const struct mgds_config_row *
row_behind_typo(const struct mgds_config_table *table, struct span name)
{
    for (unsigned i = 0; i < table->count; ++i) {
        const char *suffix = table->rows[i].suffix;
        size_t length = strlen(suffix);
        if (name.length <= length ||
            memcmp(name.at + name.length - length, suffix, length) != 0)
            continue;
        struct span beginning = {name.at, name.length - length};
        if (edit_distance(beginning, table->prefix) <= 2)
            return &table->rows[i];
    }
    return NULL;
}

static bool has_suffix(const struct mgds_config_table *table,
                       struct span suffix)
{
    for (unsigned i = 0; i < table->count; ++i) {
        const char *known = table->rows[i].suffix;
        if (strlen(known) == suffix.length &&
            memcmp(known, suffix.at, suffix.length) == 0)
            return true;
    }
    const char *const *beginning = table->reserved;
    for (; beginning && *beginning; ++beginning) {
        if (strncmp(suffix.at, *beginning, strlen(*beginning)) == 0)
            return true;
    }
    return false;
}

bool mgds_config_is_ours(const struct mgds_config_table *table,
                         const char *name, size_t length)
{
    size_t prefix = strlen(table->prefix);

    return length >= prefix && memcmp(name, table->prefix, prefix) == 0;
}

static struct span suffix_of(const struct mgds_config_table *table,
                             const char *name, size_t length)
{
    size_t prefix = strlen(table->prefix);

    return (struct span){name + prefix, length - prefix};
}

bool mgds_config_is_known(const struct mgds_config_table *table,
                          const char *name, size_t length)
{
    return has_suffix(table, suffix_of(table, name, length));
}

const struct mgds_config_row *
mgds_config_meant(const struct mgds_config_table *table, const char *name,
                  size_t length)
{
    if (mgds_config_is_ours(table, name, length))
        return nearest_row(table, suffix_of(table, name, length));
    return row_behind_typo(table, (struct span){name, length});
}
