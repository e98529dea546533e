/* Folders and files of sysfs, by formats of their paths. */
#ifndef MGDS_HCA_SYSFS_H
#define MGDS_HCA_SYSFS_H

#include <stddef.h>

/* The first line of a file, without its end. 0, or negative errno, and the line
 * is empty. */
int mgds_sysfs_line(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The names in a folder, in their order, numbers by value: how many, 0 if there
 * is no such folder, or -ENOMEM. mgds_sysfs_free takes them back. */
int mgds_sysfs_names(char ***out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mgds_sysfs_free(char **names, int count);

/* A path without links; empty if there is no such file, or no room. */
void mgds_sysfs_resolve(char *path, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
