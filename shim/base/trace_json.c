/* Trace events as JSON; see trace_json.h. */
#include "shim/base/trace_json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/config.h"
#include "shim/base/host.h"
#include "shim/base/json.h"
#include "shim/base/stats.h"

enum phase { INSTANT, BEGIN, END, STARTED, STEP, ENDED, METADATA };

static const char letters[] = {
    [INSTANT] = 'i', [BEGIN] = 'B', [END] = 'E',     [STARTED] = 'b',
    [STEP] = 'n',    [ENDED] = 'e', [METADATA] = 'M'};

/* How a field is written. In args unless it says otherwise. */
enum form {
    NONE, /* there is no such field */
    NUMBER,
    HEX,
    CALL,
    ANY, /* negative: "any" */
    TRANSPORT,
    FAILURE,
    HIDDEN,
    TOP_ID,
    TOP_FLOW_OUT,
    TOP_FLOW_IN,
    NAME,
};

/* By name, as trace.def lists them. */
enum {
    FORM_call = CALL,
    FORM_kind = NUMBER,
    FORM_count = NUMBER,
    FORM_result = NUMBER,
    FORM_frame = HIDDEN,
    FORM_op = TOP_ID,
    FORM_flow_out = TOP_FLOW_OUT,
    FORM_flow_in = TOP_FLOW_IN,
    FORM_peer = ANY,
    FORM_tag = ANY,
    FORM_bytes = NUMBER,
    FORM_comm = HEX,
    FORM_transport = TRANSPORT,
    FORM_error = FAILURE,
    FORM_word0 = NAME,
    FORM_word1 = HIDDEN,
};

struct field {
    const char *name;
    enum form form;
};

static const struct {
    const char *name;
    enum phase phase;
    struct field fields[MGDS_TRACE_FIELDS];
} events[] = {
#define FIELD(a)                                                               \
    {                                                                          \
#a, (enum form)FORM_##a                                                \
    }
#define FIELDS_0(none)                                                         \
    {                                                                          \
        NULL, NONE                                                             \
    }
#define FIELDS_1(a) FIELD(a)
#define FIELDS_2(a, ...) FIELD(a), FIELDS_1(__VA_ARGS__)
#define FIELDS_3(a, ...) FIELD(a), FIELDS_2(__VA_ARGS__)
#define FIELDS_4(a, ...) FIELD(a), FIELDS_3(__VA_ARGS__)
#define FIELDS_5(a, ...) FIELD(a), FIELDS_4(__VA_ARGS__)
#define FIELDS_6(a, ...) FIELD(a), FIELDS_5(__VA_ARGS__)
#define X(event, name, phase, n, ...) {name, phase, {FIELDS_##n(__VA_ARGS__)}},
#include "shim/base/trace.def"
#undef X
};

static const char *call_name(int64_t call)
{
    return mgds_stats_call_name((uint64_t)call);
}

static void add_failure(struct mgds_text *text, int64_t error)
{
    const char *name = error < 0 ? strerrorname_np((int)-error) : NULL;

    mgds_json_string(text, name ? name : "");
}

static void add_name(struct mgds_text *text, const int64_t *word)
{
    char name[2 * sizeof(*word) + 1] = "";

    memcpy(name, word, 2 * sizeof(*word));
    mgds_json_string(text, name);
}

static void add_value(struct mgds_text *text, enum form form,
                      const int64_t *value)
{
    switch (form) {
    case HEX:
        mgds_text_string(text, "\"");
        mgds_text_hex(text, (uint64_t)*value);
        mgds_text_string(text, "\"");
        break;
    case CALL:
        mgds_json_string(text, call_name(*value));
        break;
    case TRANSPORT:
        mgds_json_string(text, mgds_path_names[*value]);
        break;
    case FAILURE:
        add_failure(text, *value);
        break;
    case NAME:
        add_name(text, value);
        break;
    default:
        if (form == ANY && *value < 0)
            mgds_text_string(text, "\"any\"");
        else
            mgds_text_number(text, *value);
    }
}

static void add_top(struct mgds_text *text, enum form form, int64_t value)
{
    if (form < TOP_ID || form > TOP_FLOW_IN)
        return;
    mgds_text_string(text, form == TOP_ID ? ",\"id2\":{\"local\":\""
                                          : ",\"bind_id\":\"");
    mgds_text_hex(text, (uint64_t)value);
    if (form == TOP_ID)
        mgds_text_string(text, "\"}");
    else if (form == TOP_FLOW_OUT)
        mgds_text_string(text, "\",\"flow_out\":true");
    else
        mgds_text_string(text, "\",\"flow_in\":true");
}

static bool is_shown(enum form form, enum phase phase, int64_t value)
{
    if (form == HIDDEN || form >= TOP_ID)
        return form == NAME;
    if (form == CALL)
        return phase == INSTANT;
    return form != FAILURE || value != 0;
}

static void add_args(struct mgds_text *text,
                     const struct mgds_trace_entry *entry)
{
    const struct field *field = events[entry->event].fields;
    const char *between = "";

    mgds_text_string(text, ",\"args\":{");
    for (unsigned i = 0; i < MGDS_TRACE_FIELDS && field[i].name; i++) {
        enum form form = field[i].form;

        if (!is_shown(form, events[entry->event].phase, entry->field[i]))
            continue;
        mgds_text_string(text, between);
        mgds_json_string(text, form == NAME ? "name" : field[i].name);
        mgds_text_string(text, ":");
        add_value(text, form, &entry->field[i]);
        between = ",";
    }
    mgds_text_string(text, "}}");
}

/* Microseconds, with the nanoseconds behind the point. */
static void add_time(struct mgds_text *text, uint64_t ns)
{
    const unsigned rest = (unsigned)(ns % 1000);
    const char behind[] = {'.', (char)('0' + rest / 100),
                           (char)('0' + rest / 10 % 10),
                           (char)('0' + rest % 10)};

    mgds_text_number(text, (int64_t)(ns / 1000));
    mgds_text_bytes(text, behind, sizeof(behind));
}

/* All that stands before the args. */
static void add_common(struct mgds_text *text, int pid, const char *name,
                       char letter, const struct mgds_trace_entry *entry)
{
    mgds_text_string(text, ",\n{\"name\":");
    mgds_json_string(text, name);
    mgds_text_string(text, ",\"ph\":\"");
    mgds_text_bytes(text, &letter, 1);
    mgds_text_string(text, "\",\"pid\":");
    mgds_text_number(text, pid);
    mgds_text_string(text, ",\"tid\":");
    mgds_text_number(text, entry->thread);
    mgds_text_string(text, ",\"ts\":");
    add_time(text, entry->ns);
}

static void add_category(struct mgds_text *text, const char *category)
{
    mgds_text_string(text, ",\"cat\":");
    mgds_json_string(text, category);
}

static const char *category(enum phase phase)
{
    if (phase == BEGIN || phase == END)
        return "mpi";
    return phase >= STARTED && phase <= ENDED ? "op" : "library";
}

static void add_event(struct mgds_text *text, int pid,
                      const struct mgds_trace_entry *entry)
{
    enum phase phase = events[entry->event].phase;
    const struct field *field = events[entry->event].fields;
    bool is_call = phase == BEGIN || phase == END;

    add_common(text, pid,
               is_call ? call_name(entry->field[0]) : events[entry->event].name,
               letters[phase], entry);
    add_category(text, category(phase));
    if (phase == INSTANT)
        mgds_text_string(text, ",\"s\":\"t\"");
    for (unsigned i = 0; i < MGDS_TRACE_FIELDS && field[i].name; i++)
        add_top(text, field[i].form, entry->field[i]);
    add_args(text, entry);
}

static int64_t frame_of(const struct mgds_trace_entry *entry)
{
    return entry->field[entry->event == MGDS_TRACE_call_enter ? 1 : 2];
}

/* An end that nobody recorded: at that time. */
static void end_innermost(struct mgds_text *text, int pid,
                          struct mgds_trace_notes *notes, uint64_t ns)
{
    struct mgds_trace_entry *open = &notes->open[--notes->depth];

    open->ns = ns;
    add_common(text, pid, call_name(open->field[0]), letters[END], open);
    mgds_text_add(text, ",\"cat\":\"mpi\",\"args\":{\"end\":\"not seen\"}}");
}

/* Ends what is no deeper than the frame, or of a thread that has ended; stacks
 * grow down. keep: but not the call of that very frame. */
static void unwind(struct mgds_text *text, int pid,
                   struct mgds_trace_notes *notes,
                   const struct mgds_trace_entry *entry, bool keep)
{
    while (notes->depth > 0) {
        const struct mgds_trace_entry *open = &notes->open[notes->depth - 1];
        int64_t frame = frame_of(open);

        if (open->thread == entry->thread &&
            (frame > frame_of(entry) || (keep && frame == frame_of(entry))))
            return;
        end_innermost(text, pid, notes, entry->ns);
    }
}

static void enter(struct mgds_text *text, int pid,
                  struct mgds_trace_notes *notes,
                  const struct mgds_trace_entry *entry)
{
    unwind(text, pid, notes, entry, false);
    if (notes->depth == MGDS_TRACE_DEPTH)
        return;
    notes->open[notes->depth++] = *entry;
    add_event(text, pid, entry);
}

static void leave(struct mgds_text *text, int pid,
                  struct mgds_trace_notes *notes,
                  const struct mgds_trace_entry *entry)
{
    unwind(text, pid, notes, entry, true);
    if (notes->depth == 0 ||
        frame_of(&notes->open[notes->depth - 1]) != frame_of(entry))
        return;
    notes->depth--;
    add_event(text, pid, entry);
}

void mgds_trace_json_event(struct mgds_text *text, int pid,
                           struct mgds_trace_notes *notes,
                           const struct mgds_trace_entry *entry)
{
    if (entry->event == MGDS_TRACE_call_enter)
        enter(text, pid, notes, entry);
    else if (entry->event == MGDS_TRACE_call_leave)
        leave(text, pid, notes, entry);
    else
        add_event(text, pid, entry);
}

void mgds_trace_json_close(struct mgds_text *text, int pid,
                           struct mgds_trace_notes *notes)
{
    end_innermost(text, pid, notes, mgds_clock_ns());
}

void mgds_trace_json_lost(struct mgds_text *text, int pid, uint32_t thread,
                          uint64_t count)
{
    const struct mgds_trace_entry now = {.ns = mgds_clock_ns(),
                                         .thread = thread};

    add_common(text, pid, "events lost", letters[INSTANT], &now);
    mgds_text_add(
        text,
        ",\"cat\":\"library\",\"s\":\"t\",\"args\":{\"count\":%" PRIu64 "}}",
        count);
}

static uint64_t real_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add_string(struct mgds_text *text, const char *name,
                       const char *value)
{
    mgds_text_add(text, ",\"%s\":", name);
    mgds_json_string(text, value);
}

/* The line by which readers know the file, and place its times. */
static void add_clock(struct mgds_text *text,
                      const struct mgds_trace_process *process)
{
    char boot[MGDS_BOOT_ID] = "";

    mgds_host_boot_id(boot);
    mgds_text_add(text,
                  "{\"name\":\"mpix_gds_trace\",\"ph\":\"M\",\"pid\":%d,"
                  "\"args\":{\"format\":%d,\"rank\":%d,\"os_pid\":%d",
                  process->pid, MGDS_TRACE_FORMAT, process->rank,
                  (int)getpid());
    add_string(text, "host", process->host);
    add_string(text, "program", process->program);
    add_string(text, "boot_id", boot);
    mgds_text_add(text,
                  ",\"monotonic_ns\":%" PRIu64 ",\"realtime_ns\":%" PRIu64 "}}",
                  mgds_clock_ns(), real_ns());
}

void mgds_trace_json_head(struct mgds_text *text,
                          const struct mgds_trace_process *process)
{
    struct mgds_text out;
    char name[192];

    mgds_text_init(&out, name, sizeof(name));
    if (process->rank >= 0)
        mgds_text_add(&out, "rank %d", process->rank);
    else
        mgds_text_string(&out, "no rank");
    mgds_text_add(&out, ", %s, %s", process->host, process->program);
    mgds_text_add(text, "[\n");
    add_clock(text, process);
    mgds_text_add(text,
                  ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
                  "\"args\":{\"name\":",
                  process->pid);
    mgds_json_string(text, name);
    mgds_text_add(text,
                  "}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\","
                  "\"pid\":%d,\"args\":{\"sort_index\":%d}}",
                  process->pid, process->pid);
}
