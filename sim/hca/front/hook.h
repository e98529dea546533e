/* For the files that interpose calls of the C library. */
#ifndef MGDS_HCA_HOOK_H
#define MGDS_HCA_HOOK_H

#define MGDS_HCA_EXPORT __attribute__((visibility("default")))

#endif
