/* Names in the environment beside those of a table of settings: which are the
 * table's, and which may have been meant. A name is a text of so many bytes. */
#ifndef MGDS_BASE_CONFIG_NAMES_H
#define MGDS_BASE_CONFIG_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/config.h"

enum { MGDS_CONFIG_NAME_BYTES = 96 }; /* of a whole name of a setting */

/* Does it begin with the table's prefix? */
bool mgds_config_is_ours(const struct mgds_config_table *table,
                         const char *name, size_t length);

/* Of one that does: is it a setting, or reserved? */
bool mgds_config_is_known(const struct mgds_config_table *table,
                          const char *name, size_t length);

/* The setting that an unknown name may mean, by its suffix, or by all of it if
 * the prefix is not quite right; NULL: none is near. */
const struct mgds_config_row *
mgds_config_meant(const struct mgds_config_table *table, const char *name,
                  size_t length);

#endif
