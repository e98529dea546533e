/* A libucp.so.0 that has nothing of UCX. */
int mgds_test_no_ucx(void);

int mgds_test_no_ucx(void)
{
    return 0;
}
