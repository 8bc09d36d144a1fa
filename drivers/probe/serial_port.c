/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/probe/serial_port.h"

#include <asm/termbits.h> /* any rate: <termios.h> knows a few only, and excludes this one */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TOLERANCE 3u /* per cent */

static int serial_port_refuse(int fd, int error)
{
    if (fd >= 0)
        close(fd);
    return error;
}

static void make_raw(struct termios2 *t, uint32_t baud)
{
    t->c_iflag = IGNBRK;
    t->c_oflag = 0;
    t->c_lflag = 0;
    t->c_cflag = CS8 | CREAD | CLOCAL | BOTHER;
    t->c_ispeed = t->c_ospeed = baud;
    t->c_cc[VMIN] = 1;
    t->c_cc[VTIME] = 0;
}

static bool rate_fits(uint32_t wanted, uint32_t actual)
{
    uint64_t off = wanted > actual ? wanted - actual : actual - wanted;
    return off * 100 <= (uint64_t)wanted * TOLERANCE;
}

int serial_port_open(const char *path, uint32_t baud, struct message *why)
{
    struct termios2 t;
    int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        const char *hint = errno == EACCES ? " (is this user in the group that owns it?)" : "";
        message_set(why, "cannot open serial device '%s': %s%s", path, strerror(errno), hint);
        return serial_port_refuse(fd, BT_ERR_IO);
    }
    if (ioctl(fd, TCGETS2, &t) != 0) {
        message_set(why, "'%s' is not a serial device", path);
        return serial_port_refuse(fd, BT_ERR_INVAL);
    }
    /* Two readers would each get a part of the bytes. */
    if (ioctl(fd, TIOCEXCL) != 0) {
        message_set(why, "cannot have serial device '%s' alone: %s", path, strerror(errno));
        return serial_port_refuse(fd, BT_ERR_IO);
    }
    make_raw(&t, baud);
    if (ioctl(fd, TCSETS2, &t) != 0 || ioctl(fd, TCGETS2, &t) != 0) {
        message_set(why, "serial device '%s' cannot do %u bits a second: %s", path, baud,
                    strerror(errno));
        return serial_port_refuse(fd, BT_ERR_UNSUPPORTED);
    }
    if (!rate_fits(baud, t.c_ospeed)) {
        message_set(why, "serial device '%s' cannot do %u bits a second; the nearest is %u", path,
                    baud, t.c_ospeed);
        return serial_port_refuse(fd, BT_ERR_UNSUPPORTED);
    }
    (void)ioctl(fd, TCFLSH, TCIFLUSH);
    return fd;
}
