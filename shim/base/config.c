/* Settings from the environment; see config.h. The only file that reads or
 * changes it. */
#include "shim/base/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "shim/base/alloc.h"
#include "shim/base/config_names.h"

const char *const mgds_summary_names[] = {"none", "rank0", "all", NULL};
const char *const mgds_staging_names[] = {"auto", "always", "never", NULL};
const char *const mgds_peers_names[] = {"all", "none", NULL};
const char *const mgds_gpus_names[] = {"auto", "yes", "no", NULL};
const char *const mgds_arm_names[] = {"init", "context", NULL};
const char *const mgds_upload_names[] = {"auto", "plain", "rows", NULL};
const char *const mgds_affinity_names[] = {"auto", "inherit", "all", NULL};
const char *const mgds_trigger_names[] = {"auto", "kernel", "memop", NULL};
const char *const mgds_ib_names[] = {"off", "cpu", NULL};
const char *const mgds_gid_type_names[] = {"auto", "v1", "v2", NULL};
const char *const mgds_ib_mtu_names[] = {"auto", "256",  "512", "1024",
                                         "2048", "4096", NULL};
const char *const mgds_path_names[] = {"self", "p2p", "ib-gpu", "ib-cpu",
                                       "host", "ucx", NULL};

static const struct mgds_config_row rows[] = {
#define X(kind, field, suffix, text, min, max, doc)                            \
    MGDS_CONFIG_ROW(struct mgds_config, kind, field, suffix, text, min, max,   \
                    doc),
#include "shim/base/config.def"
#undef X
};

/* UCX_: read by the UCX worker with UCX's own parser. */
static const char *const reserved[] = {"UCX_", NULL};

const struct mgds_config_table mgds_config_table = {
    .prefix = "MPIX_GDS_",
    .reserved = reserved,
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

/* A piece of someone else's text. */
struct span {
    const char *at;
    size_t length;
};

/* What a text means; which member holds it follows from the row's kind. */
union value {
    bool flag;
    uint64_t number;
    double seconds;
    int signal;
    unsigned name; /* index */
    unsigned set;
    struct span text;
};

static struct span trim(const char *text)
{
    while (isspace((unsigned char)*text))
        ++text;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        --length;
    return (struct span){text, length};
}

static bool span_is(struct span span, const char *word)
{
    return strlen(word) == span.length &&
           strncasecmp(span.at, word, span.length) == 0;
}

/* Index of the name, or -EINVAL. */
static int find_name(const char *const *names, struct span span)
{
    for (int i = 0; names[i]; ++i) {
        if (span_is(span, names[i]))
            return i;
    }
    return -EINVAL;
}

static int parse_bool(struct span span, bool *out)
{
    /* no and yes alternate: the parity is the value */
    static const char *const words[] = {
        "no", "yes", "off", "on", "false", "true", "0", "1", "n", "y", NULL};
    int found = find_name(words, span);
    if (found < 0)
        return found;
    *out = found % 2 == 1;
    return 0;
}

/* strtoull would take signs, and wrap negative numbers around. */
static int parse_digits(struct span span, uint64_t base, uint64_t *out)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < span.length; ++i) {
        static const char digits[] = "0123456789abcdef";
        int letter = tolower((unsigned char)span.at[i]);
        const char *digit = (const char *)memchr(digits, letter, base);
        if (!digit)
            return -EINVAL;
        if (__builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(digit - digits), &sum))
            return -ERANGE;
    }
    *out = sum;
    return 0;
}

/* By how many bits a size is shifted whose letters these are: K, M, G or T, and
 * perhaps iB; or -EINVAL. */
static int parse_letters(struct span span)
{
    static const char letters[] = "kmgt";
    const char *letter = (const char *)memchr(
        letters, tolower((unsigned char)span.at[0]), sizeof(letters) - 1);
    if (!letter)
        return -EINVAL;
    if (span.length > 1 &&
        !span_is((struct span){span.at + 1, span.length - 1}, "iB"))
        return -EINVAL;
    return 10 * (int)(letter - letters + 1);
}

/* Digits, and the letters of a size behind them. */
static int parse_size(struct span span, uint64_t *out)
{
    size_t digits = 0;
    while (digits < span.length && isdigit((unsigned char)span.at[digits]))
        ++digits;
    struct span letters = {span.at + digits, span.length - digits};
    int shift = letters.length > 0 && digits > 0 ? parse_letters(letters) : 0;
    if (shift < 0)
        return shift;
    int rc =
        parse_digits(shift ? (struct span){span.at, digits} : span, 10, out);
    if (rc == 0 && __builtin_mul_overflow(*out, UINT64_C(1) << shift, out))
        return -ERANGE;
    return rc;
}

static int parse_uint(struct span span, uint64_t *out)
{
    if (span.length > 2 && strncasecmp(span.at, "0x", 2) == 0)
        return parse_digits((struct span){span.at + 2, span.length - 2}, 16,
                            out);
    return parse_size(span, out);
}

/* strtod would take signs, exponents, and the locale's comma. */
static int parse_seconds(struct span span, double *out)
{
    const char *point = (const char *)memchr(span.at, '.', span.length);
    size_t whole = point ? (size_t)(point - span.at) : span.length;
    uint64_t number;
    double unit = 1, sum;
    int rc = parse_digits((struct span){span.at, whole}, 10, &number);
    if (rc < 0 || whole == 0 || whole + 1 == span.length)
        return rc < 0 ? rc : -EINVAL;
    sum = (double)number;
    for (size_t i = whole + 1; i < span.length; ++i) {
        if (!isdigit((unsigned char)span.at[i]))
            return -EINVAL;
        unit /= 10;
        sum += unit * (span.at[i] - '0');
    }
    *out = sum;
    return 0;
}

static const struct {
    const char *name;
    int number;
} signals[] = {{"none", 0},          {"HUP", SIGHUP},   {"INT", SIGINT},
               {"QUIT", SIGQUIT},    {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
               {"ALRM", SIGALRM},    {"TERM", SIGTERM}, {"URG", SIGURG},
               {"WINCH", SIGWINCH},  {"IO", SIGIO},     {"PWR", SIGPWR},
               {"VTALRM", SIGVTALRM}};

/* Not those that no handler can be set for. */
static int parse_signal(struct span span, int *out)
{
    uint64_t number;
    bool full = span.length > 3 && strncasecmp(span.at, "SIG", 3) == 0;
    struct span name =
        full ? (struct span){span.at + 3, span.length - 3} : span;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i)
        if (span_is(name, signals[i].name)) {
            *out = signals[i].number;
            return 0;
        }
    if (parse_uint(span, &number) < 0)
        return -EINVAL;
    if (number >= NSIG || number == SIGKILL || number == SIGSTOP)
        return -ERANGE;
    *out = (int)number;
    return 0;
}

static bool is_separator(char c)
{
    return c == ',' || isspace((unsigned char)c);
}

static int parse_set(const char *const *names, struct span span, unsigned *out)
{
    unsigned set = 0;
    size_t i = 0;
    while (i < span.length) {
        size_t start = i;
        while (i < span.length && !is_separator(span.at[i]))
            ++i;
        if (i > start) {
            int name =
                find_name(names, (struct span){span.at + start, i - start});
            if (name < 0)
                return name;
            set |= 1u << name;
        }
        ++i;
    }
    *out = set;
    return 0;
}

static bool in_range(const struct mgds_config_row *row, uint64_t number)
{
    return row->min <= number && number <= row->max;
}

static bool in_range_seconds(const struct mgds_config_row *row, double seconds)
{
    return (double)row->min <= seconds && seconds <= (double)row->max;
}

/* 0, or negative errno and *out is not to be used. */
static int parse(const struct mgds_config_row *row, struct span span,
                 union value *out)
{
    int rc = 0;
    switch (row->kind) {
    case MGDS_CONFIG_BOOL:
        return parse_bool(span, &out->flag);
    case MGDS_CONFIG_UINT:
        rc = parse_uint(span, &out->number);
        return rc == 0 && !in_range(row, out->number) ? -ERANGE : rc;
    case MGDS_CONFIG_SECONDS:
        rc = parse_seconds(span, &out->seconds);
        return rc == 0 && !in_range_seconds(row, out->seconds) ? -ERANGE : rc;
    case MGDS_CONFIG_SIGNAL:
        return parse_signal(span, &out->signal);
    case MGDS_CONFIG_STRING:
        out->text = span;
        return in_range(row, span.length) ? 0 : -ERANGE;
    case MGDS_CONFIG_ONE_OF:
        rc = find_name(row->names, span);
        out->name = rc < 0 ? 0 : (unsigned)rc;
        return rc < 0 ? rc : 0;
    case MGDS_CONFIG_SET_OF:
        return parse_set(row->names, span, &out->set);
    }
    return -EINVAL;
}

static void full_name(char name[MGDS_CONFIG_NAME_BYTES],
                      const struct mgds_config_table *table,
                      const struct mgds_config_row *row)
{
    snprintf(name, MGDS_CONFIG_NAME_BYTES, "%s%s", table->prefix, row->suffix);
}

/* Text of a row's variable; length 0 if it is not set. */
static struct span lookup(const struct mgds_config_table *table,
                          const struct mgds_config_row *row)
{
    char name[MGDS_CONFIG_NAME_BYTES];
    full_name(name, table, row);
    const char *text = getenv(name);
    return trim(text ? text : "");
}

/* The value of a row: the user's, else the default. Whether the user's text
 * was good. */
static bool evaluate(const struct mgds_config_table *table,
                     const struct mgds_config_row *row, union value *out)
{
    struct span text = lookup(table, row);
    if (text.length > 0 && parse(row, text, out) == 0)
        return true;
    int rc = parse(row, trim(row->text), out);
    assert(rc == 0); /* a wrong table */
    (void)rc;
    return text.length == 0;
}

static int store(const struct mgds_config_row *row, const union value *value,
                 void *cfg)
{
    void *field = (char *)cfg + row->offset;
    char *copy;
    switch (row->kind) {
    case MGDS_CONFIG_BOOL:
        memcpy(field, &value->flag, sizeof(value->flag));
        break;
    case MGDS_CONFIG_UINT:
        memcpy(field, &value->number, sizeof(value->number));
        break;
    case MGDS_CONFIG_SECONDS:
        memcpy(field, &value->seconds, sizeof(value->seconds));
        break;
    case MGDS_CONFIG_SIGNAL:
        memcpy(field, &value->signal, sizeof(value->signal));
        break;
    case MGDS_CONFIG_STRING:
        copy = mgds_strndup(value->text.at, value->text.length);
        if (!copy)
            return -ENOMEM;
        memcpy(field, &copy, sizeof(copy));
        break;
    case MGDS_CONFIG_ONE_OF:
    case MGDS_CONFIG_SET_OF:
        memcpy(field, &value->set, sizeof(value->set));
        break;
    }
    return 0;
}

static size_t field_size(const struct mgds_config_row *row)
{
    switch (row->kind) {
    case MGDS_CONFIG_BOOL:
        return sizeof(bool);
    case MGDS_CONFIG_UINT:
        return sizeof(uint64_t);
    case MGDS_CONFIG_SECONDS:
        return sizeof(double);
    case MGDS_CONFIG_SIGNAL:
        return sizeof(int);
    case MGDS_CONFIG_STRING:
        return sizeof(char *);
    case MGDS_CONFIG_ONE_OF:
    case MGDS_CONFIG_SET_OF:
        break;
    }
    return sizeof(unsigned);
}

void mgds_config_table_fini(const struct mgds_config_table *table, void *cfg)
{
    for (unsigned i = 0; i < table->count; ++i) {
        const struct mgds_config_row *row = &table->rows[i];
        char *field = (char *)cfg + row->offset;
        if (row->kind == MGDS_CONFIG_STRING) {
            char *text;
            memcpy(&text, field, sizeof(text));
            free(text);
        }
        memset(field, 0, field_size(row));
    }
}

int mgds_config_table_load(const struct mgds_config_table *table, void *cfg)
{
    int bad = 0;
    for (unsigned i = 0; i < table->count; ++i)
        memset((char *)cfg + table->rows[i].offset, 0,
               field_size(&table->rows[i]));
    for (unsigned i = 0; i < table->count; ++i) {
        union value value;
        if (!evaluate(table, &table->rows[i], &value))
            ++bad;
        int rc = store(&table->rows[i], &value, cfg);
        if (rc < 0) {
            mgds_config_table_fini(table, cfg);
            return rc;
        }
    }
    return bad;
}

/* The listener to whom faults of the settings are told. */
struct critic {
    void (*tell)(void *arg, const char *line);
    void *arg;
};

__attribute__((format(printf, 2, 3))) static void
complain(const struct critic *critic, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    critic->tell(critic->arg, line);
}

static void tell_bad_value(const struct mgds_config_table *table,
                           const struct mgds_config_row *row, struct span text,
                           const struct critic *critic)
{
    char name[MGDS_CONFIG_NAME_BYTES];
    char good[256];
    full_name(name, table, row);
    mgds_config_row_accepts(row, good, sizeof(good));
    complain(critic, "%s '%.*s' is not %s: using the default '%s'", name,
             (int)(text.length < 80 ? text.length : 80), text.at, good,
             row->text);
}

static int tell_bad_values(const struct mgds_config_table *table,
                           const struct critic *critic)
{
    int told = 0;
    for (unsigned i = 0; i < table->count; ++i) {
        const struct mgds_config_row *row = &table->rows[i];
        union value value;
        if (!evaluate(table, row, &value)) {
            tell_bad_value(table, row, lookup(table, row), critic);
            ++told;
        }
    }
    return told;
}

/* Whether it was worth a line. */
static bool tell_unknown_name(const struct mgds_config_table *table,
                              struct span name, const struct critic *critic)
{
    const struct mgds_config_row *meant;
    bool ours = mgds_config_is_ours(table, name.at, name.length);
    if (ours && mgds_config_is_known(table, name.at, name.length))
        return false;
    meant = mgds_config_meant(table, name.at, name.length);
    int length = (int)(name.length < 96 ? name.length : 96);
    if (meant)
        complain(critic, "unknown setting %.*s: ignored, did you mean %s%s?",
                 length, name.at, table->prefix, meant->suffix);
    else if (ours)
        complain(critic, "unknown setting %.*s: ignored", length, name.at);
    return ours || meant;
}

static int tell_unknown_names(const struct mgds_config_table *table,
                              const struct critic *critic)
{
    int told = 0;
    for (char **entry = environ; entry && *entry; ++entry) {
        struct span name = {*entry, strcspn(*entry, "=")};
        told += tell_unknown_name(table, name, critic);
    }
    return told;
}

int mgds_config_table_check(const struct mgds_config_table *table,
                            void (*tell)(void *arg, const char *line),
                            void *arg)
{
    const struct critic critic = {tell, arg};

    return tell_bad_values(table, &critic) + tell_unknown_names(table, &critic);
}

static void warn(void *arg, const char *line)
{
    (void)arg;
    mgds_warn("%s", line);
}

int mgds_config_table_warn(const struct mgds_config_table *table)
{
    return mgds_config_table_check(table, warn, NULL);
}

int mgds_config_load(struct mgds_config *cfg)
{
    return mgds_config_table_load(&mgds_config_table, cfg);
}

void mgds_config_fini(struct mgds_config *cfg)
{
    mgds_config_table_fini(&mgds_config_table, cfg);
}

const char *mgds_config_bad(const char *suffix)
{
    const struct mgds_config_table *table = &mgds_config_table;
    union value value;

    for (unsigned i = 0; i < table->count; ++i) {
        const struct mgds_config_row *row = &table->rows[i];
        char name[MGDS_CONFIG_NAME_BYTES];

        if (strcmp(row->suffix, suffix) != 0 || evaluate(table, row, &value))
            continue;
        full_name(name, table, row);
        return getenv(name);
    }
    return NULL;
}

int mgds_config_launcher_rank(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK",
                                        "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        const char *text = getenv(names[i]);
        struct span span = trim(text ? text : "");
        uint64_t rank;
        if (span.length > 0 && parse_uint(span, &rank) == 0 && rank <= INT_MAX)
            return (int)rank;
    }
    return -1;
}

#define CONNECTIONS "CUDA_DEVICE_MAX_CONNECTIONS"
#define MOST_CONNECTIONS 32

const char *mgds_config_sim_host(void)
{
    const char *text = getenv("MPIX_SIM_HOST");

    return text && text[0] ? text : NULL;
}

const char *mgds_config_net_devices(void)
{
    const char *ours = getenv("MPIX_GDS_UCX_NET_DEVICES");

    return ours ? ours : getenv("UCX_NET_DEVICES");
}

bool mgds_config_has_tcp_segments(void)
{
    return getenv("UCX_TCP_TX_SEG_SIZE") || getenv("UCX_TCP_RX_SEG_SIZE");
}

int mgds_config_connections(void)
{
    const char *text = getenv(CONNECTIONS);
    struct span span = trim(text ? text : "");
    uint64_t number;

    if (span.length == 0 || parse_uint(span, &number) < 0 || number == 0)
        return 0;
    return number < MOST_CONNECTIONS ? (int)number : MOST_CONNECTIONS;
}

bool mgds_config_launches_block(void)
{
    const char *text = getenv("CUDA_LAUNCH_BLOCKING");
    struct span span = trim(text ? text : "");

    return span.length > 0 && !span_is(span, "0");
}

void mgds_config_raise_connections(void)
{
    setenv(CONNECTIONS, "32", 0);
}
