/* An opened device: a descriptor of /dev/infiniband/uverbsN, and all that was
 * made by commands on it. Copies of the descriptor (dup) are the same device,
 * which programs import (ibv_import_device); closing the last one ends all of
 * it. In a child that was forked it is no device. */
#ifndef MGDS_HCA_FILE_H
#define MGDS_HCA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/hca/front/bar.h"
#include "sim/hca/front/channel.h"
#include "sim/hca/table.h"

struct mgds_hca_adapter;

enum mgds_hca_object {
    MGDS_HCA_OBJECT_UAR, /* its handle is the page's number */
    MGDS_HCA_OBJECT_PD,
    MGDS_HCA_OBJECT_MR,
    MGDS_HCA_OBJECT_MW,
    MGDS_HCA_OBJECT_AH,
    MGDS_HCA_OBJECT_CQ,
    MGDS_HCA_OBJECT_SRQ,
    MGDS_HCA_OBJECT_QP,
    MGDS_HCA_OBJECTS
};

/* Another descriptor of the same file. */
struct mgds_hca_copy {
    int fd;
    struct mgds_hca_copy *next;
};

struct mgds_hca_file {
    int fd; /* the first one that is open */
    struct mgds_hca_copy *copies;
    unsigned device;
    uint64_t inode;                   /* of the memory; 0: not noted */
    struct mgds_hca_adapter *adapter; /* NULL: GET_CONTEXT has not come */
    struct mgds_hca_bar bar;
    struct mgds_hca_channel async;
    struct mgds_hca_channel *channels; /* of completions */
    struct mgds_hca_table objects[MGDS_HCA_OBJECTS];
    struct mgds_hca_file *next;
};

/* Any thread, not under the lock. */

/* As open(2). */
int mgds_hca_file_open(unsigned device, int flags);

/* The device that this descriptor is, or -1. */
int mgds_hca_file_device(int fd);

/* The device of which a file is the memory, or -1: a copy is known by that. */
int mgds_hca_file_memory(uint64_t device, uint64_t inode);

/* Whatever descriptor it is: true if it is a device, or a copy of one, which it
 * is from now on. */
bool mgds_hca_file_adopt(int fd);

/* The descriptor, whatever it is, is about to be closed. */
void mgds_hca_file_close(int fd);

/* Under the lock. */

/* NULL: that descriptor is no device. */
struct mgds_hca_file *mgds_hca_file_find(int fd);

/* The descriptor is one of this file's. */
bool mgds_hca_file_has(const struct mgds_hca_file *file, int fd);

/* The next one of all; of NULL, the first one. NULL: there is none. */
struct mgds_hca_file *mgds_hca_file_next(const struct mgds_hca_file *file);

/* A channel of completions, or of asynchronous events. 0 or negative errno. */
int mgds_hca_file_add_channel(struct mgds_hca_file *file, size_t record,
                              int *fd);

/* NULL: that descriptor is none with such records. */
struct mgds_hca_channel *mgds_hca_file_channel(struct mgds_hca_file *file,
                                               size_t record, int fd);

/* The object that used it is gone: frees a channel that nobody can use any
 * more. */
void mgds_hca_file_put_channel(struct mgds_hca_file *file,
                               struct mgds_hca_channel *channel);

/* Objects by handle. add: -ENOMEM; get and take, which drops the handle: NULL,
 * there is no such handle. */
int mgds_hca_file_add(struct mgds_hca_file *file, enum mgds_hca_object kind,
                      void *object, uint32_t *handle);
void *mgds_hca_file_get(const struct mgds_hca_file *file,
                        enum mgds_hca_object kind, uint32_t handle);
void *mgds_hca_file_take(struct mgds_hca_file *file, enum mgds_hca_object kind,
                         uint32_t handle);
void mgds_hca_file_drop(struct mgds_hca_file *file, enum mgds_hca_object kind,
                        uint32_t handle);

#endif
