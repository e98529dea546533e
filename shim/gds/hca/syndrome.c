/* Texts of syndromes, in the words of ibv_wc_status_str, and what is behind
 * those that users meet. */
#include "shim/gds/hca/syndrome.h"

#include <stddef.h>

#include "device/abi_wqe.h"

static const struct {
    enum mgds_syndrome syndrome;
    const char *text;
} rows[] = {
    {MGDS_SYNDROME_LOCAL_LENGTH, "local length error"},
    {MGDS_SYNDROME_LOCAL_QP_OPERATION, "local QP operation error"},
    {MGDS_SYNDROME_LOCAL_PROTECTION,
     "local protection error: memory is not registered any more"},
    {MGDS_SYNDROME_FLUSHED, "work request flushed behind an earlier error"},
    {MGDS_SYNDROME_WINDOW_BIND, "memory bind error"},
    {MGDS_SYNDROME_BAD_RESPONSE, "bad response error"},
    {MGDS_SYNDROME_LOCAL_ACCESS, "local access error"},
    {MGDS_SYNDROME_REMOTE_INVALID_REQUEST, "remote invalid request error"},
    {MGDS_SYNDROME_REMOTE_ACCESS,
     "remote access error: memory there is not registered any more"},
    {MGDS_SYNDROME_REMOTE_OPERATION, "remote operation error"},
    {MGDS_SYNDROME_RETRY_EXCEEDED,
     "retry exceeded: the peer, or the way to it, is gone"},
    {MGDS_SYNDROME_RNR_RETRY_EXCEEDED, "RNR retry exceeded"},
    {MGDS_SYNDROME_REMOTE_ABORTED, "remote aborted error"},
};

const char *mgds_syndrome_text(uint8_t syndrome)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].syndrome == syndrome)
            return rows[i].text;
    return "unknown error";
}
