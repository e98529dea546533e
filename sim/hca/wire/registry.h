/* Who has which LID on this host: a folder of one user and job, in memory, with
 * a file lid-N for each device.
 *
 *   no file  --create-->  empty  --lock-->  held  --unlink-->  no file
 *                                            |
 *                                            | owner dies: the kernel unlocks
 *                                            v
 *                                          left  --lock, unlink-->  no file
 *
 * A device has LID N as long as it holds the lock of that file (flock), which
 * ends with the process, whatever ends that. Who gets the lock of a file that
 * is not empty has found one whose owner died, and removes it; a file without a
 * name was removed while its lock was waited for, and does not count. So a LID
 * has one owner, and memory of the dead is given back by who comes or goes. Who
 * removes a file marks it first, for those that have it mapped, and removes the
 * mailbox of that LID (mail.h), which only the owner of the LID makes. */
#ifndef MGDS_SIM_HCA_WIRE_REGISTRY_H
#define MGDS_SIM_HCA_WIRE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MGDS_HCA_LIDS = 255, /* 1 to this */
    MGDS_HCA_FOLDER = 200,
    MGDS_HCA_NAME = 16,
    MGDS_HCA_MARK = 0 /* where the file of who has gone has four zero bytes */
};

/* The folder's name: below XDG_RUNTIME_DIR, which is given (NULL or empty: not
 * set), or /dev/shm. -ENAMETOOLONG; -EINVAL: the job is empty or has a slash.
 */
int mgds_hca_registry_folder(char folder[MGDS_HCA_FOLDER],
                             const char *runtime_dir, const char *job);

/* Makes and opens the folder: a descriptor. -EPERM: it is another user's, or
 * open to others; or what mkdir and open say. */
int mgds_hca_registry_open(const char *folder);

/* Takes a LID: the locked, empty file. -EADDRINUSE: somebody has it; -ENOENT:
 * the folder has gone; or what open says. */
int mgds_hca_registry_claim(int directory, uint16_t lid);

/* The name of a mailbox in the folder. */
void mgds_hca_registry_mail(char name[MGDS_HCA_NAME], uint16_t lid);

/* Gives a LID back. */
void mgds_hca_registry_leave(int directory, uint16_t lid, int file);

/* The file of who has that LID: a descriptor, to be closed. -ENOENT: nobody. */
int mgds_hca_registry_find(int directory, uint16_t lid);

/* Somebody has that LID, or takes it just now. */
bool mgds_hca_registry_held(int directory, uint16_t lid);

/* Removes the files of the dead, and the folder if it is empty. */
void mgds_hca_registry_close(int directory, const char *folder);

#endif
