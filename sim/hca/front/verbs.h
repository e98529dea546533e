/* Handlers of uverbs.def: mgds_hca_verbs_NAME. */
#ifndef MGDS_HCA_VERBS_H
#define MGDS_HCA_VERBS_H

#include "sim/hca/front/command.h"

#define X(name, handler, ...)                                                  \
    int mgds_hca_verbs_##handler(struct mgds_hca_file *file,                   \
                                 struct mgds_hca_command *command);
#define EX X
#include "sim/hca/front/uverbs.def"
#undef X
#undef EX

#endif
