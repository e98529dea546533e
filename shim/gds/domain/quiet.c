/* Quiet marks; see quiet.h. */
#include "shim/gds/domain/quiet.h"

#include "shim/ctx.h"
#include "shim/gds/domain/lines.h"
#include "shim/gds/queue/gstream.h"

/* Of the marks on a stream every so many-th is loud at least, and one for every
 * such part of a ring. */
enum { QUIET = 16 };

/* How far behind a mark the send's may be that tells of it. */
enum { CLOSE = 2 };

/* From a question to the first one after it, ns. */
enum { ASK_FIRST = 20000 };

bool mgds_line_hush(struct mgds_line *line, size_t bytes)
{
    if (!mgds_gstream_can_be_quiet(line->stream) || line->quiet >= QUIET ||
        line->quiet_bytes + bytes > mgds_ctx()->config.ring / QUIET)
        return false;
    line->quiet++;
    line->quiet_bytes += bytes;
    line->gap = ASK_FIRST;
    return true;
}

void mgds_line_loud(struct mgds_line *line)
{
    line->quiet = 0;
    line->quiet_bytes = 0;
}

void mgds_line_speak(struct mgds_line *line, struct mgds_mark *mark)
{
    mgds_line_loud(line);
    mark->spoken = true;
    line->spoken = mark->number;
}

static bool is_covered(const struct mgds_mark *mark)
{
    for (int i = 0; i < CLOSE && mark->next; i++) {
        mark = mark->next;
        if (mark->spoken)
            return true;
    }
    return false;
}

/* Not one receive after the other, with none that tells of them. */
static bool is_last_between_sends(const struct mgds_line *line, uint64_t number)
{
    return line->marks == number && line->quiet == 0 &&
           line->hushed <= line->spoken;
}

bool mgds_line_hush_late(struct mgds_line *line, const struct mgds_mark *mark)
{
    if (!mgds_gstream_can_be_quiet(line->stream))
        return false;
    if (is_covered(mark))
        return true;
    if (!is_last_between_sends(line, mark->number))
        return false;
    line->hushed = mark->number;
    return mgds_line_hush(line, 0);
}

struct mgds_line *mgds_line_find_quiet(const struct mgds_gstream *stream)
{
    struct mgds_line *line = mgds_lines_find(stream);

    return line && line->quiet > 0 && line->first ? line : NULL;
}
