/* Settings from the environment. A table of rows (config.def) is the one
 * definition: struct, parser, messages, docs/env.md and `mpix-gds-doctor
 * --env` follow from it. config.c alone reads the environment.
 *
 * Kinds, C types, and what min and max mean:
 *   bool          bool        yes/no, on/off, true/false, 1/0; not used
 *   uint          uint64_t    decimal or 0x hex; the range
 *   seconds       double      a decimal number, with a fraction or without;
 *                             the range
 *   signal        int         none (0), the name of a signal that programs use
 *                             among themselves, or the number of any; not used
 *   string        char *      any text; range of its length
 *   one_of(list)  enum        a name of mgds_list_names; not used
 *   set_of(list)  unsigned    names, commas or blanks between them: bit i is
 *                             name i of mgds_list_names; not used
 * Values match in upper and lower case, blanks around a value do not count,
 * and a variable without text counts as not set.
 *
 * Another program part has a table of its own like this:
 *   struct sim_config {
 *   #define X(kind, field, ...) MGDS_CONFIG_FIELD(kind, field)
 *   #include "config.def"
 *   #undef X
 *   };
 *   static const struct mgds_config_row rows[] = {
 *   #define X(kind, field, suffix, text, min, max, doc) \
 *       MGDS_CONFIG_ROW(struct sim_config, kind, field, suffix, text, min, \
 *                       max, doc),
 *   #include "config.def"
 *   #undef X
 *   };
 *   const struct mgds_config_table sim_table = {
 *       .prefix = "MPIX_SIM_", .rows = rows,
 *       .count = sizeof(rows) / sizeof(rows[0])}; */
#ifndef MGDS_BASE_CONFIG_H
#define MGDS_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/base/log.h"

enum mgds_config_kind {
    MGDS_CONFIG_BOOL,
    MGDS_CONFIG_UINT,
    MGDS_CONFIG_SECONDS,
    MGDS_CONFIG_SIGNAL,
    MGDS_CONFIG_STRING,
    MGDS_CONFIG_ONE_OF,
    MGDS_CONFIG_SET_OF,
};

struct mgds_config_row {
    enum mgds_config_kind kind;
    const char *const *names; /* one_of, set_of: closed by NULL */
    const char *suffix;
    const char *text; /* the default, parsed as a user's text is */
    uint64_t min;
    uint64_t max;
    const char *doc;
    size_t offset; /* of the field in the struct */
};

struct mgds_config_table {
    const char *prefix;          /* of all its variables */
    const char *const *reserved; /* suffix beginnings of others, or NULL */
    const struct mgds_config_row *rows;
    unsigned count;
};

/* bool is a macro: both spellings reach the preprocessor. */
#define MGDS_CONFIG_TYPE_bool bool
#define MGDS_CONFIG_TYPE__Bool bool
#define MGDS_CONFIG_TYPE_uint uint64_t
#define MGDS_CONFIG_TYPE_seconds double
#define MGDS_CONFIG_TYPE_signal int
#define MGDS_CONFIG_TYPE_string char *
#define MGDS_CONFIG_TYPE_one_of(list) enum mgds_##list
#define MGDS_CONFIG_TYPE_set_of(list) unsigned
#define MGDS_CONFIG_KIND_bool MGDS_CONFIG_BOOL, NULL
#define MGDS_CONFIG_KIND__Bool MGDS_CONFIG_BOOL, NULL
#define MGDS_CONFIG_KIND_uint MGDS_CONFIG_UINT, NULL
#define MGDS_CONFIG_KIND_seconds MGDS_CONFIG_SECONDS, NULL
#define MGDS_CONFIG_KIND_signal MGDS_CONFIG_SIGNAL, NULL
#define MGDS_CONFIG_KIND_string MGDS_CONFIG_STRING, NULL
#define MGDS_CONFIG_KIND_one_of(list) MGDS_CONFIG_ONE_OF, mgds_##list##_names
#define MGDS_CONFIG_KIND_set_of(list) MGDS_CONFIG_SET_OF, mgds_##list##_names

#define MGDS_CONFIG_FIELD(kind, field) MGDS_CONFIG_TYPE_##kind field;
#define MGDS_CONFIG_ROW(type, kind, field, suffix, text, min, max, doc)        \
    {                                                                          \
        MGDS_CONFIG_KIND_##kind, suffix, text, min, max, doc,                  \
            offsetof(type, field)                                              \
    }

/* Fills the struct at cfg from the environment; rows with a bad value get
 * their default. Silent: returns the number of bad values, so that the log
 * can be set up from the result before mgds_config_table_warn speaks. -ENOMEM
 * leaves cfg all zero. The strings belong to cfg. */
int mgds_config_table_load(const struct mgds_config_table *table, void *cfg);

/* Frees the strings. */
void mgds_config_table_fini(const struct mgds_config_table *table, void *cfg);

/* A warning for each bad value, saying what would be good and what is used,
 * and for each unknown name with the table's prefix, with the nearest name.
 * The number of warnings. */
int mgds_config_table_warn(const struct mgds_config_table *table);

/* Each of these lines to tell instead, as it would stand behind "warn: ". */
int mgds_config_table_check(const struct mgds_config_table *table,
                            void (*tell)(void *arg, const char *line),
                            void *arg);

/* What a row takes, in words: "a whole number from 1 to 8". */
void mgds_config_row_accepts(const struct mgds_config_row *row, char *text,
                             size_t size);

/* The table as markdown, and as text with the values in cfg. */
void mgds_config_table_markdown(const struct mgds_config_table *table,
                                FILE *out);
void mgds_config_table_text(const struct mgds_config_table *table,
                            const void *cfg, FILE *out);

/* Who speaks at MPI_Finalize. */
enum mgds_summary { MGDS_SUMMARY_NONE, MGDS_SUMMARY_RANK0, MGDS_SUMMARY_ALL };
extern const char *const mgds_summary_names[];

/* Whether GPU buffers go through bounce buffers. */
enum mgds_staging { MGDS_STAGE_AUTO, MGDS_STAGE_ALWAYS, MGDS_STAGE_NEVER };
extern const char *const mgds_staging_names[];

/* MPI_Init agrees with these ranks on messages between GPUs. */
enum mgds_peers { MGDS_PEERS_ALL, MGDS_PEERS_NONE };
extern const char *const mgds_peers_names[];

enum mgds_gpus { MGDS_GPUS_AUTO, MGDS_GPUS_YES, MGDS_GPUS_NO };
extern const char *const mgds_gpus_names[];

/* From when on a rank looks for headers. */
enum mgds_arm { MGDS_ARM_INIT, MGDS_ARM_CONTEXT };
extern const char *const mgds_arm_names[];

/* How small uploads are made. */
enum mgds_upload { MGDS_UPLOAD_AUTO, MGDS_UPLOAD_PLAIN, MGDS_UPLOAD_ROWS };
extern const char *const mgds_upload_names[];

/* Where the progress thread runs. */
enum mgds_affinity {
    MGDS_AFFINITY_AUTO,
    MGDS_AFFINITY_INHERIT,
    MGDS_AFFINITY_ALL
};
extern const char *const mgds_affinity_names[];

/* How a stream waits. */
enum mgds_trigger {
    MGDS_TRIGGER_AUTO,
    MGDS_TRIGGER_KERNEL,
    MGDS_TRIGGER_MEMOP
};
extern const char *const mgds_trigger_names[];

/* Who posts messages to HCAs. */
enum mgds_ib { MGDS_IB_OFF, MGDS_IB_CPU };
extern const char *const mgds_ib_names[];

/* Which GIDs of a RoCE port are meant; auto is v2. */
enum mgds_gid_type { MGDS_GID_AUTO, MGDS_GID_V1, MGDS_GID_V2 };
extern const char *const mgds_gid_type_names[];

/* Bytes of payload in a packet. */
enum mgds_ib_mtu {
    MGDS_IB_MTU_AUTO,
    MGDS_IB_MTU_256,
    MGDS_IB_MTU_512,
    MGDS_IB_MTU_1024,
    MGDS_IB_MTU_2048,
    MGDS_IB_MTU_4096
};
extern const char *const mgds_ib_mtu_names[];

/* Ways of data between two processes; sets of them have bit 1u << path. */
enum mgds_path {
    MGDS_PATH_SELF,
    MGDS_PATH_P2P,
    MGDS_PATH_IB_GPU,
    MGDS_PATH_IB_CPU,
    MGDS_PATH_HOST,
    MGDS_PATH_UCX, /* another name of that */
};
extern const char *const mgds_path_names[];

struct mgds_config {
#define X(kind, field, ...) MGDS_CONFIG_FIELD(kind, field)
#include "shim/base/config.def"
#undef X
};

/* The table of MPIX_GDS_* and its struct mgds_config. The order at start:
 * load, mgds_log_init with what was loaded, warn, mgds_fault_configure,
 * mgds_fault_count_from. */
extern const struct mgds_config_table mgds_config_table;
int mgds_config_load(struct mgds_config *cfg);
void mgds_config_fini(struct mgds_config *cfg);

/* The text that the user has given MPIX_GDS_<suffix>, if that is no value of it
 * and so the default holds; else NULL. Borrowed from the environment. */
const char *mgds_config_bad(const char *suffix);

/* Rank of this process as the launcher says before MPI_Init does, else -1:
 * PMI_RANK, PMIX_RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID. */
int mgds_config_launcher_rank(void);

/* MPIX_SIM_HOST: what a simulation calls this host; NULL if it is not set. */
const char *mgds_config_sim_host(void);

/* The ports that UCX may use, as MPIX_GDS_UCX_NET_DEVICES says, else
 * UCX_NET_DEVICES; NULL if neither is set. Borrowed from the environment. */
const char *mgds_config_net_devices(void);

/* The user says how long UCX's segments over tcp are: UCX_TCP_TX_SEG_SIZE or
 * UCX_TCP_RX_SEG_SIZE is set. */
bool mgds_config_has_tcp_segments(void);

/* CUDA_DEVICE_MAX_CONNECTIONS: 1 to 32, or 0 if it is not set to a number. */
int mgds_config_connections(void);

/* Whether CUDA_LAUNCH_BLOCKING is set, and not 0: a launch returns when its
 * kernel is over. */
bool mgds_config_launches_block(void);

/* Sets it to 32 unless the user set it, to whatever. Changes the environment:
 * while no other thread reads it. */
void mgds_config_raise_connections(void);

#endif
