/* Memory keys: which memory a key means, for whom, and for what.
 *
 *   key = index << 8 | variant
 *
 * One number is lkey and rkey. */
#ifndef MGDS_SIM_HCA_KEY_H
#define MGDS_SIM_HCA_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_hca;
struct mgds_hca_window;

/* As IBV_ACCESS_*; local reading needs none. Of a QP: what others may do. */
enum {
    MGDS_HCA_LOCAL_WRITE = 1 << 0,
    MGDS_HCA_REMOTE_WRITE = 1 << 1,
    MGDS_HCA_REMOTE_READ = 1 << 2,
    MGDS_HCA_REMOTE_ATOMIC = 1 << 3,
    MGDS_HCA_WINDOW_BIND = 1 << 4 /* windows may mean it (window.h) */
};

struct mgds_hca_memory {
    void *at;         /* where the engine reaches it */
    uint64_t address; /* what WQEs call its first byte */
    uint64_t bytes;
    uint32_t pd; /* a number of the owner's */
    uint8_t access;
    /* A word that is not 0 when the memory is nobody's any more: the key is as
     * if it were gone. NULL: the owner says so by mgds_hca_key_detach. */
    const uint32_t *gone;
};

/* Copies *memory. 0 and *key; -EINVAL: it ends beyond 2^64, or may be written
 * from outside but not here (IBV_ACCESS_LOCAL_WRITE is asked for then);
 * -ENOMEM. */
int mgds_hca_key_attach(struct mgds_hca *hca,
                        const struct mgds_hca_memory *memory, uint32_t *key);

/* The key means this memory from now on. -ENOENT: there is no such key; -EINVAL
 * as above, and nothing changed. */
int mgds_hca_key_change(struct mgds_hca *hca, uint32_t key,
                        const struct mgds_hca_memory *memory);

/* -ENOENT: there is no such key; of a window the low byte does not count. Where
 * a READ under way puts its data was looked up when it began: there is none, or
 * the memory stays until it has ended. */
int mgds_hca_key_detach(struct mgds_hca *hca, uint32_t key);

/* A key for a window of type 1 or 2, which is free. -ENOMEM. */
int mgds_hca_key_attach_window(struct mgds_hca *hca, uint32_t pd, unsigned type,
                               uint32_t *key);

/* The window of a key, whatever its low byte is now, and where the key's number
 * stands; NULL: there is none. */
struct mgds_hca_window *mgds_hca_key_window(const struct mgds_hca *hca,
                                            uint32_t key, uint32_t **number);

/* Memory of some key has this byte. */
bool mgds_hca_key_reaches(const struct mgds_hca *hca, const void *at);

/* What can be wrong with an access, in the order of the checks. */
enum mgds_hca_fault {
    MGDS_FAULT_KEY,
    MGDS_FAULT_PD,
    MGDS_FAULT_WINDOW, /* another QP's */
    MGDS_FAULT_BOUNDS,
    MGDS_FAULT_ACCESS,
    MGDS_FAULTS,
    MGDS_FAULT_NONE = MGDS_FAULTS
};

/* An access by a WQE or a packet: `access` has what it needs. */
struct mgds_hca_span {
    uint32_t pd;
    uint32_t key;
    uint64_t address;
    uint64_t bytes;
    uint8_t access;
    uint32_t qpn; /* of the QP that a peer uses; 0: the program's own access */
};

/* Where that is, in *at; or what is wrong. */
enum mgds_hca_fault mgds_hca_key_find(const struct mgds_hca *hca,
                                      const struct mgds_hca_span *span,
                                      void **at);

#endif
