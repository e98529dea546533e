/* Commands of the kernel's uverbs interface: the rows of uverbs.def.
 *
 *   write(fd, header | request | driver's request)
 *                 -> response | driver's response, where the request says
 *
 * Requests are copied before they are looked at, and zero is what a program did
 * not send. Of a response as much is stored as the program has room for. */
#ifndef MGDS_HCA_COMMAND_H
#define MGDS_HCA_COMMAND_H

#include <stddef.h>
#include <stdint.h>

struct mgds_hca_file;

/* The two requests and responses of one command. `request` and the rest are as
 * large as its row says. */
struct mgds_hca_command {
    const char *name;
    const void *request;
    const void *driver_request;
    void *response; /* all zero before */
    void *driver_response;
    size_t request_bytes; /* that came */
    size_t driver_request_bytes;
    size_t response_room;
    size_t driver_response_room;
};

/* A handler: under the lock. 0 or negative errno, and then nothing was made. */
typedef int (*mgds_hca_handler)(struct mgds_hca_file *file,
                                struct mgds_hca_command *command);

/* Where the parts of a command are, in the program's memory; NULL, 0: it has no
 * such part. */
struct mgds_hca_parts {
    const uint8_t *request;
    const uint8_t *driver_request;
    uint8_t *response;
    uint8_t *driver_response;
    size_t request_bytes;
    size_t driver_request_bytes;
    size_t response_bytes;
    size_t driver_response_bytes;
};

/* A command by number (with the bit of extended ones), in parts. Under the
 * lock. */
int mgds_hca_command_run(struct mgds_hca_file *file, uint32_t number,
                         const struct mgds_hca_parts *parts);

/* What write(2) on a device does; 0 or negative errno. Takes the lock. */
int mgds_hca_command_write(int fd, const void *data, size_t bytes);

/* -EOPNOTSUPP, with a line at debug level: `what` of the command is not
 * modelled. */
int mgds_hca_not_modelled(const char *command, const char *what);

#endif
