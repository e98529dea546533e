/* Prints how it was started: arguments, environment of interest, and which of
 * our libraries the loader mapped, one fact a line. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "mpix_"))
        printf("object %s\n", info->dlpi_name);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const variable[] = {
        "LD_PRELOAD",       "LD_LIBRARY_PATH",
        "MPIX_SIM_GPUS",    "MPIX_SIM_HCA_COUNT",
        "MPIX_GDS_REQUIRE", "UCX_MEM_EVENTS",
        "UCX_IB_MLX5_DEVX", "CUDA_DEVICE_MAX_CONNECTIONS"};

    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    for (size_t i = 0; i < sizeof(variable) / sizeof(variable[0]); i++)
        if (getenv(variable[i]))
            printf("%s %s\n", variable[i], getenv(variable[i]));
    dl_iterate_phdr(print_object, NULL);
    return 0;
}
