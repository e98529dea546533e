/* A file that says which faults a port has: the text of fault.h, which anybody
 * may change while programs run. Without a file there are none. */
#ifndef MGDS_SIM_HCA_WIRE_CONTROL_H
#define MGDS_SIM_HCA_WIRE_CONTROL_H

#include <stdint.h>

struct mgds_hca_port;

enum { MGDS_HCA_CONTROL = 256 /* bytes of the text, at most */ };

struct mgds_hca_control {
    const char *path;
    uint64_t next;               /* when it is looked at again; 0: now */
    char text[MGDS_HCA_CONTROL]; /* the last one that was read */
};

/* The text of the file, without the end of the line; empty if there is none.
 * -E2BIG: too long; or what open and read say. */
int mgds_hca_control_read(const char *path, char text[MGDS_HCA_CONTROL]);

/* Reads the file, no more often than every 10 ms of the port's clock: 1: it has
 * changed, and the port does as it says; 0: it has not, or it was read just
 * now. -EINVAL: it says what cannot be done, *wrong is where in
 * control->text; nothing is changed. -E2BIG: too long; or what open and read
 * say. */
int mgds_hca_control_poll(struct mgds_hca_control *control,
                          struct mgds_hca_port *port, const char **wrong);

#endif
