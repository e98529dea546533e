/* The clock of a device, for who wants timestamps of CQEs as times of day: a
 * page of its file that libmlx5 maps and reads.
 *
 * CQEs have nanoseconds of the machine's monotonic clock; the page says what
 * the time of day was at one of them, when the device was opened. On hardware
 * the kernel writes it anew now and then: here clocks do not drift apart, and
 * what sets the time of day later is not followed. */
#ifndef MGDS_HCA_CLOCK_H
#define MGDS_HCA_CLOCK_H

/* The page of a device's file: MLX5_IB_MMAP_CLOCK_INFO << 8 | its version. */
enum { MGDS_HCA_CLOCK_PAGE = 0x700 };

/* Fills it; nobody has mapped it yet. */
void mgds_hca_clock_fill(void *page);

#endif
