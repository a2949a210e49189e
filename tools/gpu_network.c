/* A stand-in for GDRCopy, by which NVSHMEM's UCX transport runs on one machine without an RDMA card: see gpu_network.sh.
 *
 * It is right only for a symmetric heap in pinned memory of the host (NVSHMEM_HEAP_KIND=SYSMEM), where the address of a
 * GPU and that of a CPU are the same.
 *
 * - The functions of libgdrapi.so.2 map heap memory for the CPU, which sets signals through that mapping.  Here the
 *   mapping is the memory itself.
 * - The transport reports to UCX that every buffer is a GPU's.  The flag that says so is cleared, and UCX finds out.
 * - The transport wants RDMA cards.  UCX uses $NVSHMEM_TLS instead, such as "tcp,cuda_copy".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct mapping { unsigned long address; };                          /* gdr_mh_t */
struct description {                                                /* gdr_info_t */
    uint64_t address, mapped_bytes;
    uint32_t page_bytes;
    uint64_t cycles;
    uint32_t cycles_per_ms, flags;
};

void *gdr_open(void) { static int opened; return &opened; }
int gdr_close(void *gdr) { return 0; }
int gdr_driver_get_version(void *gdr, int *major, int *minor) { *major = 2; *minor = 4; return 0; }
void gdr_runtime_get_version(int *major, int *minor) { *major = 2; *minor = 4; }

int gdr_pin_buffer(void *gdr, unsigned long address, size_t nbytes, uint64_t token, uint32_t space, struct mapping *made)
{
    made->address = address;
    return 0;
}
int gdr_unpin_buffer(void *gdr, struct mapping one) { return 0; }
int gdr_map(void *gdr, struct mapping one, void **address, size_t nbytes) { *address = (void *)one.address; return 0; }
int gdr_unmap(void *gdr, struct mapping one, void *address, size_t nbytes) { return 0; }
int gdr_get_info(void *gdr, struct mapping one, struct description *found)
{
    memset(found, 0, sizeof *found);
    found->address = one.address;
    found->page_bytes = 4096;
    return 0;
}
int gdr_copy_to_mapping(struct mapping one, const void *to, const void *from, size_t nbytes)
{
    memcpy((void *)to, from, nbytes);
    return 0;
}
int gdr_copy_from_mapping(struct mapping one, void *to, const void *from, size_t nbytes)
{
    memcpy(to, from, nbytes);
    return 0;
}

/* ucp_request_param_t begins with a mask of the fields that are set; this bit is that of memory_type. */
enum { SAYS_MEMORY_TYPE = 1 << 6 };

static void *not_said(void *request)
{
    *(uint32_t *)request &= ~(uint32_t)SAYS_MEMORY_TYPE;
    return request;
}

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

void *ucp_put_nbx(void *to, const void *from, size_t nbytes, uint64_t address, void *key, void *request)
{
    return REAL(ucp_put_nbx)(to, from, nbytes, address, key, not_said(request));
}
void *ucp_get_nbx(void *from, void *to, size_t nbytes, uint64_t address, void *key, void *request)
{
    return REAL(ucp_get_nbx)(from, to, nbytes, address, key, not_said(request));
}
int ucp_config_modify(void *config, const char *name, const char *value)
{
    const char *transports = strcmp(name, "TLS") ? NULL : getenv("NVSHMEM_TLS");
    return (signed char)REAL(ucp_config_modify)(config, name, transports ? transports : value);
}
