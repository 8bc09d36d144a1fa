/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/usb/umock_usb.h"

#include <errno.h>
#include <linux/usbdevice_fs.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <umockdev.h>

#define NODE "/dev/bus/usb/001/%03u"
#define PORT "/devices/pci0000:00/0000:00:14.0/usb1/1-%u"

#define SETUP_SIZE 8

/* A submitted URB that the client has not reaped. */
struct pending {
    UMockdevIoctlClient *client; /* only compared: it may be gone */
    UMockdevIoctlData *urb;
    UMockdevIoctlData *buffer;
    bool discarded;
    bool sent;    /* `status` is final: the device has it, or has left */
    bool counted; /* IN: among the bytes that the device knows to wait */
    size_t taken; /* OUT: bytes that the device has */
    int status;
    size_t actual;
};

struct umock_usb {
    struct usb_device *device;
    UMockdevTestbed *testbed;
    UMockdevIoctlBase *handler;
    GQueue urbs;         /* struct pending, oldest first */
    GHashTable *clients; /* open files; the value is true when the device left since */
    bool gone;           /* the unplugging has been told */
    unsigned port;       /* of the hub, from 1 */
    char sys[80], node[40];
};

typedef struct {
    UMockdevIoctlBase parent;
    struct umock_usb *owner;
} ProbeHandler;

typedef struct {
    UMockdevIoctlBaseClass parent;
} ProbeHandlerClass;

GType probe_handler_get_type(void);
G_DEFINE_TYPE(ProbeHandler, probe_handler, umockdev_ioctl_base_get_type())

static struct usbdevfs_urb *urb_of(const struct pending *p)
{
    return (struct usbdevfs_urb *)(void *)p->urb->data;
}

static bool is_in(const struct pending *p)
{
    return urb_of(p)->type != USBDEVFS_URB_TYPE_CONTROL && urb_of(p)->endpoint & 0x80;
}

/* The device no longer knows of it. */
static void uncount(struct umock_usb *m, struct pending *p)
{
    if (p->counted)
        usb_device_unqueue(m->device, urb_of(p)->endpoint, (size_t)urb_of(p)->buffer_length);
    p->counted = false;
}

/* What the client's pointer leads to; false if the client was killed within its call. */
static bool resolve(UMockdevIoctlData *at, gsize offset, gsize size, UMockdevIoctlData **to)
{
    *to = umockdev_ioctl_data_resolve(at, offset, size, NULL);
    return *to != NULL;
}

/* It has left the queue. */
static void pending_free(struct umock_usb *m, struct pending *p)
{
    uncount(m, p);
    if (p->urb)
        umockdev_ioctl_data_unref(p->urb);
    if (p->buffer)
        umockdev_ioctl_data_unref(p->buffer);
    g_free(p);
}

/* The device leaves: what is queued ends with -ESHUTDOWN, files that are open now never reach a
 * device again, and udev hears of it. */
static void report_unplugged(struct umock_usb *m)
{
    if (m->gone || !m->device->unplugged)
        return;
    m->gone = true;
    for (GList *l = m->urbs.head; l; l = l->next) {
        struct pending *p = l->data;
        uncount(m, p);
        if (!p->sent)
            p->status = p->discarded ? -ENOENT : -ESHUTDOWN;
        p->sent = true;
    }
    GHashTableIter i;
    g_hash_table_iter_init(&i, m->clients);
    while (g_hash_table_iter_next(&i, NULL, NULL))
        g_hash_table_iter_replace(&i, GINT_TO_POINTER(true));
    umockdev_testbed_uevent(m->testbed, m->sys, "remove");
    umockdev_testbed_remove_device(m->testbed, m->sys);
}

static bool is_gone(const struct umock_usb *m, UMockdevIoctlClient *client)
{
    return m->device->unplugged || g_hash_table_lookup(m->clients, client);
}

/* A control request, or as much of an OUT transfer as the device takes now. */
static void send_out(struct umock_usb *m, struct pending *p)
{
    const struct usbdevfs_urb *urb = urb_of(p);
    if (urb->type == USBDEVFS_URB_TYPE_CONTROL) {
        p->status = usb_device_control(m->device, p->buffer->data, p->buffer->data + SETUP_SIZE,
                                       &p->actual);
        p->sent = true;
    } else {
        p->status = usb_device_out(m->device, urb->endpoint, p->buffer ? p->buffer->data : NULL,
                                   (size_t)urb->buffer_length, &p->taken);
        p->actual = p->taken;
        p->sent = p->status != USB_DEVICE_WAIT;
    }
    report_unplugged(m);
}

/* OUT transfers of an endpoint run in the order of submission. */
static bool is_behind(const struct umock_usb *m, const struct pending *p)
{
    for (const GList *l = m->urbs.head; l; l = l->next) {
        const struct pending *other = l->data;
        if (!other->sent && !other->discarded && urb_of(other)->type == urb_of(p)->type &&
            urb_of(other)->endpoint == urb_of(p)->endpoint)
            return true;
    }
    return false;
}

static void submit(struct umock_usb *m, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    if (is_gone(m, client)) {
        umockdev_ioctl_client_complete(client, -1, ENODEV);
        return;
    }
    struct pending *p = g_new0(struct pending, 1);
    p->client = client;
    size_t length = 0;
    if (resolve(arg, 0, sizeof(struct usbdevfs_urb), &p->urb))
        length = (size_t)urb_of(p)->buffer_length;
    if (!p->urb ||
        (length && !resolve(p->urb, offsetof(struct usbdevfs_urb, buffer), length, &p->buffer))) {
        pending_free(m, p);
        umockdev_ioctl_client_complete(client, -1, EFAULT);
        return;
    }
    p->counted = is_in(p);
    if (p->counted)
        usb_device_queue(m->device, urb_of(p)->endpoint, length);
    else if (!is_behind(m, p))
        send_out(m, p);
    g_queue_push_tail(&m->urbs, p);
    umockdev_ioctl_client_complete(client, 0, 0);
}

/* Whether the URB can be given back now; fills in its status. */
static bool finish(struct umock_usb *m, struct pending *p, bool blocked)
{
    struct usbdevfs_urb *urb = urb_of(p);
    if (p->sent)
        return true;
    if (p->discarded) {
        p->status = -ENOENT;
        if (is_in(p) && !blocked && p->buffer)
            p->actual = usb_device_take_back(m->device, urb->endpoint, p->buffer->data,
                                             (size_t)urb->buffer_length);
        return true;
    }
    if (blocked)
        return false; /* an older transfer of the endpoint still waits */
    if (!is_in(p)) {
        send_out(m, p);
        return p->sent;
    }
    size_t length = (size_t)urb->buffer_length;
    p->status = usb_device_in(m->device, urb->endpoint, p->buffer->data, length, &p->actual);
    return p->status != USB_DEVICE_WAIT;
}

static void give_back(struct pending *p, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    struct usbdevfs_urb *urb = urb_of(p);
    int actual = (int)p->actual;
    size_t header = urb->type == USBDEVFS_URB_TYPE_CONTROL ? SETUP_SIZE : 0;
    bool in = header ? p->buffer->data[0] & 0x80 : urb->endpoint & 0x80;
    if (in && actual)
        umockdev_ioctl_data_update(p->buffer, header, p->buffer->data + header, actual);
    umockdev_ioctl_data_update(p->urb, offsetof(struct usbdevfs_urb, status), (guint8 *)&p->status,
                               sizeof p->status);
    umockdev_ioctl_data_update(p->urb, offsetof(struct usbdevfs_urb, actual_length),
                               (guint8 *)&actual, sizeof actual);
    UMockdevIoctlData *slot;
    bool there = resolve(arg, 0, sizeof(void *), &slot);
    if (there) {
        umockdev_ioctl_data_set_ptr(slot, 0, p->urb);
        umockdev_ioctl_data_unref(slot);
    }
    umockdev_ioctl_client_complete(client, there ? 0 : -1, there ? 0 : EFAULT);
}

static void reap(struct umock_usb *m, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    bool waiting[256] = {false};
    for (GList *l = m->urbs.head; l; l = l->next) {
        struct pending *p = l->data;
        uint8_t endpoint = urb_of(p)->endpoint;
        if (p->client == client && finish(m, p, waiting[endpoint])) {
            g_queue_delete_link(&m->urbs, l);
            give_back(p, client, arg);
            pending_free(m, p);
            return;
        }
        waiting[endpoint] = true;
    }
    umockdev_ioctl_client_complete(client, -1, is_gone(m, client) ? ENODEV : EAGAIN);
}

/* The argument is the address of the URB in the client. */
static void discard(struct umock_usb *m, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    gulong address = *(gulong *)(void *)arg->data;
    for (GList *l = m->urbs.head; l; l = l->next) {
        struct pending *p = l->data;
        if (p->client == client && p->urb->client_addr == address) {
            p->discarded = true;
            umockdev_ioctl_client_complete(client, 0, 0);
            return;
        }
    }
    umockdev_ioctl_client_complete(client, -1, EINVAL);
}

static void get_capabilities(UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    uint32_t caps = USBDEVFS_CAP_ZERO_PACKET | USBDEVFS_CAP_NO_PACKET_SIZE_LIM |
                    USBDEVFS_CAP_REAP_AFTER_DISCONNECT | USBDEVFS_CAP_BULK_SCATTER_GATHER;
    UMockdevIoctlData *out;
    bool there = resolve(arg, 0, sizeof caps, &out);
    if (there) {
        umockdev_ioctl_data_update(out, 0, (guint8 *)&caps, sizeof caps);
        umockdev_ioctl_data_unref(out);
    }
    umockdev_ioctl_client_complete(client, there ? 0 : -1, there ? 0 : EFAULT);
}

static void set_interface(struct umock_usb *m, UMockdevIoctlClient *client, UMockdevIoctlData *arg)
{
    UMockdevIoctlData *data;
    if (!resolve(arg, 0, sizeof(struct usbdevfs_setinterface), &data)) {
        umockdev_ioctl_client_complete(client, -1, EFAULT);
        return;
    }
    const struct usbdevfs_setinterface *s = (const void *)data->data;
    int status = is_gone(m, client)
                     ? -ESHUTDOWN
                     : usb_device_set_interface(m->device, s->interface, s->altsetting);
    umockdev_ioctl_data_unref(data);
    if (status == -ESHUTDOWN)
        status = -ENODEV;
    umockdev_ioctl_client_complete(client, status ? -1 : 0, -status);
}

static gboolean dispatch(UMockdevIoctlBase *self, UMockdevIoctlClient *client)
{
    struct umock_usb *m = ((ProbeHandler *)self)->owner;
    UMockdevIoctlData *arg = umockdev_ioctl_client_get_arg(client);
    gulong request = umockdev_ioctl_client_get_request(client);
    switch (request) {
    case USBDEVFS_GET_CAPABILITIES:
        get_capabilities(client, arg);
        return TRUE;
    case USBDEVFS_SUBMITURB:
        submit(m, client, arg);
        return TRUE;
    case USBDEVFS_REAPURB:
    case USBDEVFS_REAPURBNDELAY:
        reap(m, client, arg);
        return TRUE;
    case USBDEVFS_DISCARDURB:
        discard(m, client, arg);
        return TRUE;
    case USBDEVFS_CLEAR_HALT:
        if (!is_gone(m, client))
            usb_device_clear_halt(m->device);
        break;
    case USBDEVFS_GETDRIVER:
    case USBDEVFS_IOCTL:
        umockdev_ioctl_client_complete(client, -1, ENODATA);
        return TRUE;
    case USBDEVFS_SETINTERFACE:
        set_interface(m, client, arg);
        return TRUE;
    case USBDEVFS_CLAIMINTERFACE:
    case USBDEVFS_RELEASEINTERFACE:
    case USBDEVFS_SETCONFIGURATION:
    case USBDEVFS_RESET:
        break;
    default:
        umockdev_ioctl_client_complete(client, -1, ENOTTY);
        return TRUE;
    }
    bool gone = is_gone(m, client);
    umockdev_ioctl_client_complete(client, gone ? -1 : 0, gone ? ENODEV : 0);
    return TRUE;
}

/* In a thread of the testbed's own. */
static gboolean handle_ioctl(UMockdevIoctlBase *self, UMockdevIoctlClient *client)
{
    pthread_mutex_t *lock = &((ProbeHandler *)self)->owner->device->board->lock;
    pthread_mutex_lock(lock);
    gboolean handled = dispatch(self, client);
    pthread_mutex_unlock(lock);
    return handled;
}

static void client_connected(UMockdevIoctlBase *self, UMockdevIoctlClient *client)
{
    struct umock_usb *m = ((ProbeHandler *)self)->owner;
    pthread_mutex_lock(&m->device->board->lock);
    g_hash_table_insert(m->clients, client, GINT_TO_POINTER(false));
    pthread_mutex_unlock(&m->device->board->lock);
}

/* A client that died leaves its URBs behind. */
static void client_vanished(UMockdevIoctlBase *self, UMockdevIoctlClient *client)
{
    struct umock_usb *m = ((ProbeHandler *)self)->owner;
    pthread_mutex_lock(&m->device->board->lock);
    g_hash_table_remove(m->clients, client);
    for (GList *l = m->urbs.head, *next; l; l = next) {
        struct pending *p = l->data;
        next = l->next;
        if (p->client == client) {
            g_queue_delete_link(&m->urbs, l);
            pending_free(m, p);
        }
    }
    pthread_mutex_unlock(&m->device->board->lock);
}

static void probe_handler_class_init(ProbeHandlerClass *klass)
{
    klass->parent.handle_ioctl = handle_ioctl;
    klass->parent.client_connected = client_connected;
    klass->parent.client_vanished = client_vanished;
}

static void probe_handler_init(ProbeHandler *self)
{
    self->owner = NULL;
}

static char *device_text(const struct umock_usb *m)
{
    const struct usb_device *u = m->device;
    unsigned number = m->port + 1; /* 1 is the hub */
    GString *s = g_string_new(NULL);
    g_string_append_printf(s, "P: " PORT "\nN: bus/usb/001/%03u\n", m->port, number);
    g_string_append_printf(s,
                           "E: SUBSYSTEM=usb\nE: DEVTYPE=usb_device\nE: DRIVER=usb\n"
                           "E: BUSNUM=001\nE: DEVNUM=%03u\nE: DEVNAME=%s\n",
                           number, m->node);
    g_string_append_printf(s, "E: MAJOR=189\nE: MINOR=%u\nA: busnum=1\\n\nA: devnum=%u\\n\n",
                           m->port, number);
    g_string_append_printf(s, "A: bConfigurationValue=1\\n\nA: devpath=%u\\n\n", m->port);
    g_string_append_printf(s, "A: speed=%s\\n\n", u->full_speed ? "12" : "480");
    g_string_append_printf(s, "A: idVendor=%04x\\n\nA: idProduct=%04x\\n\nH: descriptors=", u->vid,
                           u->pid);
    for (size_t i = 0; i < u->descriptors_size; i++)
        g_string_append_printf(s, "%02X", u->descriptors[i]);
    g_string_append(s, "\n");
    return g_string_free(s, FALSE);
}

static int report(gboolean ok, GError *error)
{
    if (ok)
        return 0;
    fprintf(stderr, "umockdev: %s\n", error->message);
    g_error_free(error);
    return -1;
}

/* Tells udev too. */
static int add_device(struct umock_usb *m)
{
    GError *error = NULL;
    char *text = device_text(m);
    gboolean ok = umockdev_testbed_add_from_string(m->testbed, text, &error);
    g_free(text);
    return report(ok, error);
}

void umock_usb_unplug(struct umock_usb *m)
{
    pthread_mutex_lock(&m->device->board->lock);
    usb_device_unplug(m->device);
    report_unplugged(m);
    pthread_mutex_unlock(&m->device->board->lock);
}

int umock_usb_replug(struct umock_usb *m)
{
    int r = 0;
    pthread_mutex_lock(&m->device->board->lock);
    /* The handler has stayed: a client may be there before this returns. */
    if (m->gone) {
        usb_device_replug(m->device);
        m->gone = false;
        r = add_device(m);
    }
    pthread_mutex_unlock(&m->device->board->lock);
    return r;
}

/* A server that becomes another user still comes to the testbed: that of umockdev 0.19 is asked at
 * each open(), and ends a program that cannot reach it. */
static void open_to_others(UMockdevTestbed *testbed)
{
    char *root = umockdev_testbed_get_root_dir(testbed);
    char *path = g_build_filename(root, "ioctl", NULL);
    GDir *sockets = g_dir_open(path, 0, NULL);
    chmod(root, 0755);
    chmod(path, 0755);
    for (const char *name; sockets && (name = g_dir_read_name(sockets));) {
        char *entry = g_build_filename(path, name, NULL);
        chmod(entry, 0777);
        g_free(entry);
    }
    if (sockets)
        g_dir_close(sockets);
    g_free(path);
    g_free(root);
}

struct umock_usb *umock_usb_new(struct usb_device *u, const struct umock_usb *beside)
{
    struct umock_usb *m = g_new0(struct umock_usb, 1);
    GError *error = NULL;
    m->device = u;
    m->port = beside ? beside->port + 1 : 1;
    snprintf(m->sys, sizeof m->sys, "/sys" PORT, m->port);
    snprintf(m->node, sizeof m->node, NODE, m->port + 1);
    m->clients = g_hash_table_new(NULL, NULL);
    g_queue_init(&m->urbs);
    m->testbed = beside ? g_object_ref(beside->testbed) : umockdev_testbed_new();
    m->handler = g_object_new(probe_handler_get_type(), NULL);
    ((ProbeHandler *)m->handler)->owner = m;
    if (add_device(m) == 0 &&
        report(umockdev_testbed_attach_ioctl(m->testbed, m->node, m->handler, &error), error) ==
            0) {
        open_to_others(m->testbed);
        return m;
    }
    umock_usb_free(m);
    return NULL;
}

/* A thread of the testbed may be at work still for a command that was killed: what it needs stays
 * until the process ends, which is next. */
void umock_usb_free(struct umock_usb *m)
{
    g_object_unref(m->testbed);
}
