/* Makes the tree of tree.def, and removes it. */
#include "sim/hca/front/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/hca/front/distance.h"
#include "sim/hca/front/gid.h"
#include "sim/hca/front/ports.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/next.h"
#include "sim/hca/front/port.h"

enum { CPUS = 8192 /* the most that a kernel has */ };

enum mgds_hca_entry_kind { MGDS_HCA_FILE, MGDS_HCA_SYMLINK, MGDS_HCA_NODE };

/* What has an entry of its own. */
enum mgds_hca_each {
    MGDS_HCA_EACH_DEVICE,
    MGDS_HCA_EACH_PORT,
    MGDS_HCA_EACH_GID,
    MGDS_HCA_EACH_GPU
};

struct mgds_hca_entry {
    enum mgds_hca_entry_kind kind;
    enum mgds_hca_each each;
    const char *folder;
    const char *name;
    const char *text;
};

static const struct mgds_hca_entry entries[] = {
#define ROW(kind, each, ...)                                                   \
    {MGDS_HCA_##kind, MGDS_HCA_EACH_##each, __VA_ARGS__},
#define FILE(folder, name, text) ROW(FILE, DEVICE, folder, name, text)
#define PORT(folder, name, text) ROW(FILE, PORT, folder, name, text)
#define GID(folder, text) ROW(FILE, GID, folder, "%i", text)
#define LINK(folder, name, target) ROW(SYMLINK, DEVICE, folder, name, target)
#define NODE(folder, name) ROW(NODE, DEVICE, folder, name, "")
#define GPU(folder, name, text) ROW(FILE, GPU, folder, name, text)
#define AWAY(folder, name, target) ROW(SYMLINK, GPU, folder, name, target)
#include "sim/hca/front/tree.def"
#undef ROW
#undef FILE
#undef PORT
#undef GID
#undef GPU
#undef AWAY
#undef LINK
#undef NODE
};

static const char mark[] = "mpix-sim-hca.";

static char root[PATH_MAX - NAME_MAX];
static pid_t maker; /* 0: there is none */

static void format_words(char *out, size_t size, const uint8_t *byte,
                         size_t words)
{
    size_t at = 0;

    for (size_t i = 0; i < words; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%02x%02x", i ? ":" : "",
                               byte[2 * i], byte[2 * i + 1]);
}

/* Of what an entry is. */
struct place {
    unsigned device;
    unsigned port; /* from 1 on */
    unsigned gid;  /* row */
};

static uint16_t number_of(const struct place *place)
{
    return mgds_hca_port_number(place->device, place->port);
}

static void format_guid(char *out, size_t size, unsigned device)
{
    uint64_t guid = mgds_hca_guid(mgds_hca_port_number(device, 1));
    uint8_t byte[8];

    for (unsigned i = 0; i < 8; i++)
        byte[i] = (uint8_t)(guid >> (56 - 8 * i));
    format_words(out, size, byte, 4);
}

static void format_gid(char *out, size_t size, const struct place *place)
{
    uint8_t gid[16];

    mgds_hca_gid(number_of(place), place->gid, gid);
    format_words(out, size, gid, 8);
}

/* CPUs of the machine, as a list: all are near. Nothing, where it does not say.
 */
static void format_cpu_list(char *out, size_t size)
{
    FILE *file = MGDS_HCA_NEXT(fopen)("/sys/devices/system/cpu/online", "re");

    if (!file)
        return;
    if (fgets(out, (int)size, file))
        out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

static void set_bits(uint32_t *word, unsigned long first, unsigned long last)
{
    for (; first <= last && first < CPUS; first++)
        word[first / 32] |= UINT32_C(1) << first % 32;
}

/* Words that such a list sets bits in: how many, from the lowest on. */
static unsigned read_cpu_list(const char *list, uint32_t word[CPUS / 32])
{
    unsigned words = CPUS / 32;
    unsigned long first, last;
    char *end;

    memset(word, 0, CPUS / 8);
    while (*list) {
        first = last = strtoul(list, &end, 10);
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (end == list)
            break;
        set_bits(word, first, last);
        list = *end == ',' ? end + 1 : end;
    }
    while (words > 0 && word[words - 1] == 0)
        words--;
    return words;
}

/* The same CPUs as a mask: words of 32, the highest first. */
static void format_cpu_mask(char *out, size_t size)
{
    uint32_t word[CPUS / 32];
    char list[PATH_MAX] = "";
    unsigned words;
    size_t at = 0;

    format_cpu_list(list, sizeof(list));
    words = read_cpu_list(list, word);
    for (unsigned i = words; i-- > 0 && at < size;)
        at += (size_t)snprintf(out + at, size - at,
                               i + 1 == words ? "%" PRIx32 : ",%08" PRIx32,
                               word[i]);
}

/* Places among the buses. */
static void format_bus(char *out, size_t size, char letter, unsigned device)
{
    char text[MGDS_HCA_BUS_PATH] = "";

    if (letter == 'B')
        mgds_hca_bdf(device, text);
    else if (letter == 'A')
        mgds_hca_gpu_bdf(device, text);
    else if (letter == 'H')
        mgds_hca_bus_path(device, text);
    else
        mgds_hca_gpu_bus_path(device, text);
    snprintf(out, size, "%s", text);
}

/* What a letter behind % means. */
static void format_port(char *out, size_t size, char letter,
                        const struct place *place)
{
    bool ib = mgds_hca_is_ib();

    if (letter == 'p')
        snprintf(out, size, "%u", place->port);
    else if (letter == 'i')
        snprintf(out, size, "%u", place->gid);
    else if (letter == 'L')
        snprintf(out, size, "0x%x", ib ? number_of(place) : 0);
    else if (letter == 'S')
        snprintf(out, size, "0x%x", ib);
    else if (letter == 'C')
        snprintf(out, size, "%x", mgds_hca_port_capabilities());
    else if (letter == 'Y')
        snprintf(out, size, "%s", ib ? "InfiniBand" : "Ethernet");
    else if (letter == 'T')
        snprintf(out, size, "%s", ib ? "IB/RoCE v1" : "RoCE v2");
    else if (letter == 'I')
        format_gid(out, size, place);
}

static void format_value(char *out, size_t size, char letter,
                         const struct place *place)
{
    const struct mgds_hca_kind *kind = mgds_hca_kind();
    unsigned device = place->device;

    if (letter == 'N')
        snprintf(out, size, "%u", device);
    else if (strchr("BAHg", letter))
        format_bus(out, size, letter, device);
    else if (letter == 'c')
        format_cpu_mask(out, size);
    else if (letter == 'l')
        format_cpu_list(out, size);
    else if (letter == 'n')
        snprintf(out, size, "%d", mgds_hca_node_of_hca());
    else if (letter == 'a')
        snprintf(out, size, "%d", mgds_hca_node_of_gpu());
    else if (letter == 'D')
        snprintf(out, size, "%04X", kind->device);
    else if (letter == 'd')
        snprintf(out, size, "%04x", kind->device);
    else if (letter == 'P')
        snprintf(out, size, "%u", kind->device);
    else if (letter == 'F')
        snprintf(out, size, "%u.%u.%04u", kind->firmware[0], kind->firmware[1],
                 kind->firmware[2]);
    else if (letter == 'O')
        snprintf(out, size, "%s", kind->board);
    else if (letter == 'R')
        snprintf(out, size, "%s", kind->rate);
    else if (letter == 'V')
        snprintf(out, size, "%u:%u", MGDS_HCA_MAJOR, MGDS_HCA_MINOR + device);
    else if (letter == 'G')
        format_guid(out, size, device);
    else
        format_port(out, size, letter, place);
}

static void expand(char *out, size_t size, const char *text,
                   const struct place *place)
{
    size_t at = 0;

    while (*text && at + 1 < size) {
        if (*text != '%') {
            out[at++] = *text++;
            continue;
        }
        out[at] = '\0';
        format_value(out + at, size - at, text[1], place);
        at += strlen(out + at);
        text += 2;
    }
    out[at] = '\0';
}

/* Folders of the path, beyond the root. */
static int make_folders(char *path)
{
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/'));
         *slash++ = '/') {
        *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    int rc = 0;

    if (!file)
        return -errno;
    if (text[0] && fprintf(file, "%s\n", text) < 0)
        rc = -EIO;
    if (fclose(file) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

static int make_one(const struct mgds_hca_entry *entry,
                    const struct place *place)
{
    char folder[PATH_MAX], name[NAME_MAX], path[2 * PATH_MAX], text[PATH_MAX];
    int rc;

    expand(folder, sizeof(folder), entry->folder, place);
    expand(name, sizeof(name), entry->name, place);
    expand(text, sizeof(text), entry->text, place);
    snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
    rc = make_folders(path);
    if (rc < 0)
        return rc;
    if (entry->kind == MGDS_HCA_SYMLINK)
        return symlink(text, path) < 0 ? -errno : 0;
    return write_file(path, text);
}

static int make_entry(const struct mgds_hca_entry *entry, unsigned device)
{
    bool of_port =
        entry->each == MGDS_HCA_EACH_PORT || entry->each == MGDS_HCA_EACH_GID;
    unsigned ports = of_port ? mgds_hca_ports() : 1;
    unsigned gids = entry->each == MGDS_HCA_EACH_GID ? mgds_hca_gids() : 1;
    int rc = 0;

    if (entry->each == MGDS_HCA_EACH_GPU && !mgds_hca_shows_gpus())
        return 0;
    for (unsigned i = 0; i < ports * gids && rc == 0; i++)
        rc = make_one(entry, &(struct place){.device = device,
                                             .port = 1 + i / gids,
                                             .gid = i % gids});
    return rc;
}

static int remove_entry(const char *path, const struct stat *about, int type,
                        struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_tree(void)
{
    maker = 0;
    nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Children that were forked share it, and leave it to their parent. */
void mgds_hca_tree_remove(void)
{
    if (maker == getpid())
        remove_tree();
}

static int fill_tree(void)
{
    unsigned devices = (unsigned)mgds_hca_settings()->count;
    int rc = 0;

    for (unsigned device = 0; device < devices && rc == 0; device++) {
        for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
            rc = make_entry(&entries[i], device);
            if (rc < 0)
                break;
        }
    }
    return rc;
}

/* Without links on the way: programs resolve the paths of devices. */
static void resolve_root(void)
{
    char *resolved = MGDS_HCA_NEXT(realpath)(root, NULL);

    if (resolved && strlen(resolved) < sizeof(root))
        strcpy(root, resolved);
    free(resolved);
}

/* A process that died could not remove its tree. It had that locked, so whoever
 * gets the lock of a tree may remove it. */
static void sweep_tree(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    close(fd);
}

static void sweep(void)
{
    const char *folder = mgds_hca_temporary();
    DIR *list = opendir(folder);
    const struct dirent *entry;

    while (list && (entry = readdir(list))) {
        if (strncmp(entry->d_name, mark, strlen(mark)) == 0)
            sweep_tree(folder, entry->d_name);
    }
    if (list)
        closedir(list);
}

/* An empty folder, locked until this process and its children have ended; the
 * name is in `root`. Another process may sweep it away before it is locked. */
static int make_root(void)
{
    int fd = -1;

    do {
        if (fd >= 0)
            close(fd);
        snprintf(root, sizeof(root), "%s/%sXXXXXX", mgds_hca_temporary(), mark);
        if (!mkdtemp(root))
            return -errno;
        fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_SH) < 0)
            return -errno;
    } while (access(root, F_OK) < 0);
    return fd < 0 ? -errno : 0;
}

static void make_tree(void)
{
    int rc;

    if (!mgds_hca_ports_open())
        return;
    sweep();
    rc = make_root();
    if (rc == 0) {
        resolve_root();
        maker = getpid();
        rc = fill_tree();
    }
    if (rc == 0)
        return;
    mgds_err("software HCA: writing to %s: %s: there is no device now; set "
             "TMPDIR to a folder that takes files",
             root, strerrordesc_np(-rc));
    if (maker)
        remove_tree();
}

const char *mgds_hca_tree(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_tree);
    return maker ? root : NULL;
}
