/* The caller's own settings: reported, and kept from what is examined. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/config.h"
#include "tools/doctor/exam.h"

extern char **environ;

/* What a network needs, the examination needs, too. An entry without a value is
 * nobody's: getenv does not find it, nor unsetenv. */
static bool is_ours(const char *entry)
{
    const char *prefix = mgds_config_table.prefix;

    return strncmp(entry, prefix, strlen(prefix)) == 0 && strchr(entry, '=') &&
           strncmp(entry, "MPIX_GDS_UCX_", 13) != 0;
}

static const char *first(void)
{
    for (char **entry = environ; entry && *entry; entry++)
        if (is_ours(*entry))
            return *entry;
    return NULL;
}

/* Returns how many there were. */
static int take_away(struct mgds_finding *finding)
{
    const char *entry;
    char *name;
    int count = 0;

    for (; (entry = first()) != NULL; count++) {
        mgds_finding_add(finding, "%s%.200s", count > 0 ? ", " : " ", entry);
        name = strndup(entry, strcspn(entry, "="));
        if (!name)
            return -ENOMEM;
        unsetenv(name); /* of a good name: cannot fail */
        free(name);
    }
    return count;
}

static void add_row(void *arg, const char *line)
{
    fprintf(arg, "%s\n", line);
}

/* The lines about what is wrong: how many, or -ENOMEM. */
static int find_faults(struct mgds_finding *finding)
{
    size_t size;
    FILE *out = open_memstream(&finding->rows, &size);
    int faults;

    if (!out)
        return -ENOMEM;
    faults = mgds_config_table_check(&mgds_config_table, add_row, out);
    return fclose(out) == 0 ? faults : -ENOMEM;
}

int mgds_settings_put_aside(struct mgds_exam *exam)
{
    struct mgds_finding *finding = &exam->settings;
    bool fatal = mgds_config_bad("REQUIRE");
    int faults = find_faults(finding), set;

    mgds_finding_set(finding, MGDS_OK, "your environment sets");
    set = faults < 0 ? faults : take_away(finding);
    if (set < 0)
        return set;
    if (set == 0)
        mgds_finding_set(finding, MGDS_OK, "no MPIX_GDS_* is set");
    else
        mgds_finding_add(finding, "; what follows is without %s",
                         set == 1 ? "it" : "them");
    if (faults > 0) {
        finding->state = fatal ? MGDS_BROKEN : MGDS_FALLBACK;
        mgds_finding_remedy(finding,
                            "correct %s; mpix-gds-doctor --env shows all "
                            "settings%s",
                            faults == 1 ? "it" : "them",
                            fatal ? "; with a bad MPIX_GDS_REQUIRE every job "
                                    "ends in MPI_Init"
                                  : "");
    }
    return 0;
}
