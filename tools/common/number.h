/* Whole numbers from a command line. */
#ifndef MGDS_TOOLS_NUMBER_H
#define MGDS_TOOLS_NUMBER_H

/* Reads text, all of it, as a decimal number from min to max. Returns 0,
 * -EINVAL for what is no number, -ERANGE for one outside; *number is written
 * only on success. */
int mgds_number_parse(long *number, const char *text, long min, long max);

#endif
