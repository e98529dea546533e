/* Buffers of gpu/direct.c. */
#include <string.h>

#include "tests/mpi/gpu/direct_message.h"

enum { GUARD = 64, SHIFT = 24 };

static size_t place_of(const struct direct_buffer *buffer, size_t i)
{
    switch (buffer->shape) {
    case GAPS:
    case VECTOR:
        return i / 4 * 8 + i % 4;
    case STRUCT: /* bytes 0, 5, 6 and 7 of each twelve */
        return i / 4 * 12 + (i % 4 ? i % 4 + 4 : 0);
    case SHIFTED:
        return i + SHIFT;
    default:
        return i;
    }
}

/* Four bytes of data each. */
static void make_element(MPI_Datatype *type, enum shape shape)
{
    const MPI_Datatype bytes[2] = {MPI_BYTE, MPI_BYTE};
    MPI_Datatype child;

    if (shape == STRUCT)
        MPI_Type_create_struct(2, (int[]){1, 3}, (MPI_Aint[]){0, 5}, bytes,
                               &child);
    else
        MPI_Type_dup(MPI_INT, &child);
    MPI_Type_create_resized(child, 0, shape == STRUCT ? 12 : 8, type);
    MPI_Type_free(&child);
}

static void make_type(struct direct_buffer *buffer)
{
    int length = (int)buffer->data;

    buffer->count = 1;
    switch (buffer->shape) {
    case VECTOR:
        MPI_Type_vector(length / 4, 1, 2, MPI_INT, &buffer->type);
        break;
    case SHIFTED:
        MPI_Type_create_hindexed(1, &length, &(MPI_Aint){SHIFT}, MPI_BYTE,
                                 &buffer->type);
        break;
    case BYTES:
        MPI_Type_dup(MPI_BYTE, &buffer->type);
        buffer->count = length;
        break;
    case INTS:
        MPI_Type_dup(MPI_INT, &buffer->type);
        buffer->count = length / 4;
        break;
    default:
        make_element(&buffer->type, buffer->shape);
        buffer->count = length / 4;
    }
    MPI_Type_commit(&buffer->type);
}

/* The next allocation is on this device, if there is such a device. */
static void use(int device)
{
    static int used = -1;
    char why[256];

    if (device == used)
        return;
    CHECK(mgds_test_gpu_open(device, why) >= 0);
    used = device;
}

static void put(struct direct_buffer *buffer)
{
    mgds_test_memory_write(&buffer->memory, buffer->host, buffer->bytes);
}

void direct_buffer_make(struct direct_buffer *buffer, enum mgds_test_kind kind,
                        int device, enum shape shape, size_t data)
{
    use(device);
    buffer->shape = shape;
    buffer->data = data;
    buffer->bytes = place_of(buffer, data) + SHIFT + GUARD;
    make_type(buffer);
    buffer->host = malloc(buffer->bytes);
    CHECK(buffer->host);
    CHECK(mgds_test_memory_alloc(&buffer->memory, kind, buffer->bytes) == 0);
    direct_buffer_clear(buffer);
}

void direct_buffer_clear(struct direct_buffer *buffer)
{
    memset(buffer->host, 0xee, buffer->bytes);
    put(buffer);
}

static void expect(struct direct_buffer *buffer, size_t data, int seed)
{
    for (size_t i = 0; i < data; i++)
        buffer->host[place_of(buffer, i)] = (char)(seed + (int)i * 7);
}

void direct_buffer_fill(struct direct_buffer *buffer, int seed)
{
    expect(buffer, buffer->data, seed);
    put(buffer);
}

static char *take(const struct direct_buffer *buffer)
{
    char *found = malloc(buffer->bytes);

    CHECK(found);
    mgds_test_memory_read(&buffer->memory, found, buffer->bytes);
    return found;
}

static void compare(const struct direct_buffer *buffer, char *found)
{
    for (size_t i = 0; i < buffer->bytes; i++)
        if (found[i] != buffer->host[i]) {
            fprintf(stderr, "byte %zu of %zu: 0x%02x, should be 0x%02x\n", i,
                    buffer->bytes, found[i] & 255, buffer->host[i] & 255);
            break;
        }
    CHECK(!memcmp(found, buffer->host, buffer->bytes));
    free(found);
}

void direct_buffer_see(struct direct_buffer *buffer, size_t data, int seed)
{
    expect(buffer, data, seed);
    compare(buffer, take(buffer));
}

void direct_buffer_see_around(struct direct_buffer *buffer, size_t data)
{
    char *found = take(buffer);

    for (size_t i = 0; i < data; i++)
        buffer->host[place_of(buffer, i)] = found[place_of(buffer, i)];
    compare(buffer, found);
}

void direct_buffer_delete(struct direct_buffer *buffer)
{
    MPI_Type_free(&buffer->type);
    mgds_test_memory_free(&buffer->memory);
    free(buffer->host);
}
