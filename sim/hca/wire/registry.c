/* Who has which LID on this host. */
#include "sim/hca/wire/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHERS = S_IRWXG | S_IRWXO };

int mgds_hca_registry_folder(char folder[MGDS_HCA_FOLDER],
                             const char *runtime_dir, const char *job)
{
    const char *root =
        runtime_dir && runtime_dir[0] == '/' ? runtime_dir : "/dev/shm";
    int bytes;

    if (!*job || strchr(job, '/'))
        return -EINVAL;
    bytes = snprintf(folder, MGDS_HCA_FOLDER, "%s/mpix-gds-hca.%u.%s", root,
                     (unsigned)geteuid(), job);
    return bytes < MGDS_HCA_FOLDER ? 0 : -ENAMETOOLONG;
}

int mgds_hca_registry_open(const char *folder)
{
    struct stat stat;
    int directory;

    if (mkdir(folder, S_IRWXU) < 0 && errno != EEXIST)
        return -errno;
    directory = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    if (fstat(directory, &stat) == 0 && stat.st_uid == geteuid() &&
        !(stat.st_mode & OTHERS))
        return directory;
    close(directory);
    return -EPERM;
}

void mgds_hca_registry_mail(char name[MGDS_HCA_NAME], uint16_t lid)
{
    snprintf(name, MGDS_HCA_NAME, "mail-%u", lid);
}

static void name_file(char name[MGDS_HCA_NAME], uint16_t lid)
{
    snprintf(name, MGDS_HCA_NAME, "lid-%u", lid);
}

/* Locks a file if nobody has it. */
static int lock_file(int file)
{
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
}

/* The file of a LID goes, whose lock is ours; the mailbox goes before it, for
 * who takes the LID next makes one of that name. */
static void remove_file(int directory, uint16_t lid, int file)
{
    const uint32_t gone = 0;
    char name[MGDS_HCA_NAME];
    ssize_t marked;

    /* It fails for an empty file alone, which nobody has mapped. */
    marked = pwrite(file, &gone, sizeof(gone), MGDS_HCA_MARK);
    (void)marked;
    mgds_hca_registry_mail(name, lid);
    unlinkat(directory, name, 0);
    name_file(name, lid);
    unlinkat(directory, name, 0);
}

/* One attempt. -EAGAIN: the file was left, and is no more. */
static int try_claim(int directory, uint16_t lid)
{
    char name[MGDS_HCA_NAME];
    struct stat stat;
    int rc, file;

    name_file(name, lid);
    file = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                  S_IRUSR | S_IWUSR);
    if (file < 0)
        return -errno;
    rc = lock_file(file);
    if (rc == 0)
        rc = fstat(file, &stat) < 0 ? -errno : 0;
    if (rc == 0 && stat.st_nlink > 0 && stat.st_size == 0)
        return file;
    if (rc == 0 && stat.st_nlink > 0)
        remove_file(directory, lid, file);
    close(file);
    return rc ? rc : -EAGAIN;
}

int mgds_hca_registry_claim(int directory, uint16_t lid)
{
    int file;

    do
        file = try_claim(directory, lid);
    while (file == -EAGAIN);
    return file;
}

void mgds_hca_registry_leave(int directory, uint16_t lid, int file)
{
    remove_file(directory, lid, file);
    close(file);
}

int mgds_hca_registry_find(int directory, uint16_t lid)
{
    char name[MGDS_HCA_NAME];
    int file;

    name_file(name, lid);
    file = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return file < 0 ? -errno : file;
}

/* A device that wants the LID in this moment finds it taken, and takes another
 * one. */
bool mgds_hca_registry_held(int directory, uint16_t lid)
{
    int file = mgds_hca_registry_find(directory, lid);
    bool held;

    if (file < 0)
        return file != -ENOENT;
    held = flock(file, LOCK_SH | LOCK_NB) < 0;
    close(file);
    return held;
}

/* A file that can be locked has no owner. One that has no name any more shares
 * its name with nobody: it is not unlinked twice. */
static void remove_left(int directory, uint16_t lid)
{
    struct stat stat;
    int file = mgds_hca_registry_find(directory, lid);

    if (file < 0)
        return;
    if (lock_file(file) == 0 && fstat(file, &stat) == 0 && stat.st_nlink > 0)
        mgds_hca_registry_leave(directory, lid, file);
    else
        close(file);
}

void mgds_hca_registry_close(int directory, const char *folder)
{
    for (unsigned lid = 1; lid <= MGDS_HCA_LIDS; lid++)
        remove_left(directory, (uint16_t)lid);
    close(directory);
    rmdir(folder);
}
