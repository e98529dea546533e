/* Looks at the machine and the program before the software HCA is put under
 * it. */
#include "tools/run/hca.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int mgds_run_no_real_hca(const char *folder, char *text, size_t size)
{
    DIR *list = opendir(folder);
    const struct dirent *entry;
    int rc = 0;

    while (list && rc == 0 && (entry = readdir(list))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(text, size,
                 "this machine has an HCA (%s), which simulated ones would "
                 "hide: leave hca out of --sim",
                 entry->d_name);
        rc = -EBUSY;
    }
    if (list)
        closedir(list);
    return rc;
}

int mgds_run_has_mlx5(char *text, size_t size)
{
    void *library = dlopen("libmlx5.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (library) {
        dlclose(library);
        return 0;
    }
    snprintf(text, size,
             "%s: programs find the software HCA by it: install it "
             "(ibverbs-providers), or leave hca out of --sim",
             dlerror());
    return -ENOENT;
}

static bool is_executable(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
           access(path, X_OK) == 0;
}

/* As execvp. */
static bool find_program(const char *program, char path[PATH_MAX])
{
    const char *folder = getenv("PATH"), *end;

    if (strchr(program, '/') || !folder)
        return snprintf(path, PATH_MAX, "%s", program) < PATH_MAX;
    for (;; folder = end + 1) {
        end = folder + strcspn(folder, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - folder),
                     end > folder ? folder : ".", program) < PATH_MAX &&
            is_executable(path))
            return true;
        if (*end == '\0')
            return false;
    }
}

/* A segment that names the loader: static programs have none. */
static bool has_loader(int fd, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        off_t at = (off_t)(header->e_phoff + i * sizeof(segment));

        if (pread(fd, &segment, sizeof(segment), at) == sizeof(segment) &&
            segment.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* Scripts are dynamic as far as their interpreters are: those are not looked
 * at. */
static bool is_static(int fd)
{
    Elf64_Ehdr header;

    return pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && !has_loader(fd, &header);
}

static bool changes_user(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 &&
           ((about.st_mode & S_ISUID && about.st_uid != getuid()) ||
            (about.st_mode & S_ISGID && about.st_gid != getgid()));
}

int mgds_run_takes_preload(const char *program, char *text, size_t size)
{
    char path[PATH_MAX];
    int fd =
        find_program(program, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int rc = 0;

    if (fd < 0)
        return 0;
    if (is_static(fd)) {
        snprintf(text, size,
                 "%s is linked statically, and nothing can be put under it: "
                 "link it dynamically, or leave hca out of --sim",
                 path);
        rc = -ENOEXEC;
    } else if (changes_user(fd)) {
        snprintf(text, size,
                 "%s runs as another user or group, and the loader puts "
                 "nothing under it: run a copy without that bit, or leave hca "
                 "out of --sim",
                 path);
        rc = -EPERM;
    }
    close(fd);
    return rc;
}
