/* Facts about the CUDA driver and its devices. */
#include "tools/probe/facts.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "tools/probe/driver.h"

/* CUdevice_attribute; numbers never change their meaning. */
struct attribute {
    const char *name;
    int number;
};

static const struct attribute attributes[] = {
    {"flush_remote_writes", 98}, {"gpu_direct_rdma", 116}, {"memops_64", 122},
    {"wait_value_nor", 123},     {"dma_buf", 124},
};

static void set_error(json_t *facts, const struct mgds_probe_driver *cuda,
                      const char *call, int error)
{
    json_object_set_new(facts, "error",
                        mgds_probe_driver_error(cuda, call, error));
}

static json_t *probe_device(const struct mgds_probe_driver *cuda, int device)
{
    char name[256] = "";
    json_t *facts = json_object();
    int value;

    if (cuda->name(name, (int)sizeof(name), device) != 0)
        snprintf(name, sizeof(name), "device without a name");
    json_object_set_new(facts, "name", json_string(name));
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (cuda->attribute(&value, attributes[i].number, device) != 0)
            value = 0; /* a driver from before the attribute */
        json_object_set_new(facts, attributes[i].name, json_boolean(value));
    }
    return facts;
}

/* Row of the access matrix: from device to every other, itself included. */
static json_t *probe_peers(const struct mgds_probe_driver *cuda, int device,
                           int count)
{
    json_t *row = json_array();

    for (int peer = 0; peer < count; peer++) {
        int can = peer == device;

        if (peer != device && cuda->can_access(&can, device, peer) != 0)
            can = 0;
        json_array_append_new(row, json_boolean(can));
    }
    return row;
}

/* Ordinals are devices: cuDeviceGet has always been the identity, but only
 * it says so. */
static void probe_devices(json_t *facts, const struct mgds_probe_driver *cuda,
                          int count)
{
    json_t *devices = json_object_get(facts, "devices");
    json_t *peers = json_object_get(facts, "peers");

    for (int i = 0; i < count; i++) {
        int device;
        int rc = cuda->get(&device, i);

        if (rc != 0) { /* all devices or none: the matrix stays square */
            set_error(facts, cuda, "cuDeviceGet", rc);
            json_array_clear(devices);
            json_array_clear(peers);
            return;
        }
        json_array_append_new(devices, probe_device(cuda, device));
        json_array_append_new(peers, probe_peers(cuda, device, count));
    }
}

static void probe_driver(json_t *facts, const struct mgds_probe_driver *cuda)
{
    int version = 0;
    int count = 0;
    int rc = cuda->version(&version);

    if (rc != 0) {
        set_error(facts, cuda, "cuDriverGetVersion", rc);
        return;
    }
    json_object_set_new(facts, "version", json_integer(version));
    rc = cuda->init(0);
    if (rc != 0) {
        set_error(facts, cuda, "cuInit", rc);
        return;
    }
    rc = cuda->count(&count);
    if (rc != 0)
        set_error(facts, cuda, "cuDeviceGetCount", rc);
    else
        probe_devices(facts, cuda, count);
}

static void set_path(json_t *facts, void *library)
{
    struct link_map *map = NULL;

    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        json_object_set_new(facts, "path", json_string(map->l_name));
}

json_t *mgds_probe_gpu(void)
{
    struct mgds_probe_driver cuda;
    const char *missing;
    json_t *facts =
        json_pack("{s:b s:s s:s s:i s:[] s:[]}", "found", 0, "path", "",
                  "error", "", "version", 0, "devices", "peers");
    void *library = mgds_probe_driver_load();

    if (!facts)
        return NULL;
    if (!library) {
        json_object_set_new(facts, "error", json_string(dlerror()));
        return facts;
    }
    json_object_set_new(facts, "found", json_true());
    set_path(facts, library);
    missing = mgds_probe_driver_look(&cuda, library);
    if (missing)
        json_object_set_new(facts, "error",
                            json_sprintf("it has no %s", missing));
    else
        probe_driver(facts, &cuda);
    return facts;
}
