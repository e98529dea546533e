/* What the syndrome of an error CQE means, for messages to users. */
#ifndef MGDS_HCA_SYNDROME_H
#define MGDS_HCA_SYNDROME_H

#include <stdint.h>

/* "remote access error"; constant; "unknown error" for what has no row. */
const char *mgds_syndrome_text(uint8_t syndrome);

#endif
