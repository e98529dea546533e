/* Which marks of a line are quiet; see line.h. Under the engine's lock. */
#ifndef MGDS_DOMAIN_QUIET_H
#define MGDS_DOMAIN_QUIET_H

#include "shim/gds/domain/line.h"

/* The stream's line, if there is one of which marks are quiet. */
struct mgds_line *mgds_line_find_quiet(const struct mgds_gstream *stream);

/* Whether the last mark, behind a TAKE of so many bytes, shall be quiet. */
bool mgds_line_hush(struct mgds_line *line, size_t bytes);
/* It is not, or what tells another one was put behind it. */
void mgds_line_loud(struct mgds_line *line);
/* The last mark, which is this one, is a send's: loud in any case. */
void mgds_line_speak(struct mgds_line *line, struct mgds_mark *mark);
/* Whether that mark, of no place in a ring, shall be quiet after all: a send's
 * is close behind it, or may be soon. */
bool mgds_line_hush_late(struct mgds_line *line, const struct mgds_mark *mark);

#endif
