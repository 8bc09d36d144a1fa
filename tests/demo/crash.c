/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program of the demo: an inbox of messages, each an expression such as "sum(1,product(2,3))",
 * whose value is printed on a console. It runs bare on a Cortex-A15 and has one mistake, which the
 * last message brings out.
 */
#define A32 __attribute__((target("arm")))
#define T32 __attribute__((target("thumb")))

typedef int (*operation_fn)(const int *args, int count);

/* One call of an operation while its text is read. */
struct call {
    int args[4];
    operation_fn apply;
    int count;
};

struct operation {
    const char *name;
    operation_fn apply;
};

char console[384];
unsigned console_used;
const char *message; /* being read */
const char *cursor;  /* next character of it */
unsigned fault_address;

static const char *const inbox[] = {
    "sum(1,2,3)",
    "product(6,7)",
    "largest(3,sum(2,2),product(1,2))",
    "sum(product(2,3),product(4,5),smallest(9,8,7))",
    "smallest(largest(1,10),largest(2,20),sum(6,6,6))",
    "product(sum(1,1),sum(2,2),sum(3,3,sum(4,4)))",
    "sum(8,16,24,32,40)",
};

/* start.S */
void service_call(char c);

int main(void);
void service(char c);
void fault(unsigned address);

A32 static int sum(const int *args, int count)
{
    int total = 0;

    for (int i = 0; i < count; i++)
        total += args[i];
    return total;
}

T32 static int product(const int *args, int count)
{
    int total = 1;

    for (int i = 0; i < count; i++)
        total *= args[i];
    return total;
}

T32 static int largest(const int *args, int count)
{
    int found = args[0];

    for (int i = 1; i < count; i++)
        if (args[i] > found)
            found = args[i];
    return found;
}

A32 static int smallest(const int *args, int count)
{
    int found = args[0];

    for (int i = 1; i < count; i++)
        if (args[i] < found)
            found = args[i];
    return found;
}

static const struct operation operations[] = {
    {"sum", sum},
    {"product", product},
    {"largest", largest},
    {"smallest", smallest},
};

/* Takes `word` and the bracket behind it from the text, if it is there. */
T32 static int accept_word(const char *word)
{
    const char *p = cursor;

    while (*word && *p == *word) {
        p++;
        word++;
    }
    if (*word || *p != '(')
        return 0;
    cursor = p + 1;
    return 1;
}

A32 static operation_fn read_operation(void)
{
    for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (accept_word(operations[i].name))
            return operations[i].apply;
    return 0;
}

T32 static int read_number(void)
{
    int value = 0;

    while (*cursor >= '0' && *cursor <= '9')
        value = 10 * value + *cursor++ - '0';
    return value;
}

static int read_value(void);

/* The mistake: nothing asks whether there is room for one more. */
A32 static void read_arguments(struct call *call)
{
    do {
        int value = read_value();
        call->args[call->count] = value;
        call->count++;
    } while (*cursor++ == ',');
}

T32 static int read_call(void)
{
    struct call call;

    call.apply = read_operation();
    call.count = 0;
    read_arguments(&call);
    return call.apply(call.args, call.count);
}

A32 static int read_value(void)
{
    if (*cursor >= '0' && *cursor <= '9')
        return read_number();
    return read_call();
}

/* Decimal digits of `value` at `to`; returns the place behind them. */
T32 static char *put_number(char *to, unsigned value)
{
    if (value >= 10)
        to = put_number(to, value / 10);
    *to = '0' + value % 10;
    return to + 1;
}

T32 static void print_text(const char *text)
{
    while (*text)
        service_call(*text++);
}

T32 static void print_value(int value)
{
    char line[16];
    char *end = put_number(line, value);

    *end = 0;
    print_text(line);
}

/* Supervisor calls come here. */
T32 void service(char c)
{
    if (console_used < sizeof(console) - 1)
        console[console_used++] = c;
}

/* Aborts end here, with the address that could not be used. */
A32 void fault(unsigned address)
{
    fault_address = address;
    for (;;)
        __asm__ volatile("wfi"); /* halted here */
}

/* Checksum over the inbox, bit by bit. */
A32 static unsigned checksum(void)
{
    unsigned crc = ~0u;

    for (unsigned i = 0; i < sizeof(inbox) / sizeof(inbox[0]); i++)
        for (const char *p = inbox[i]; *p; p++) {
            crc ^= (unsigned char)*p;
            for (int bit = 0; bit < 8; bit++)
                if (crc & 1)
                    crc = crc >> 1 ^ 0xedb88320u;
                else
                    crc >>= 1;
        }
    return ~crc;
}

A32 int main(void)
{
    print_text("checksum ");
    print_value(checksum() >> 16);
    for (unsigned i = 0; i < sizeof(inbox) / sizeof(inbox[0]); i++) {
        message = inbox[i];
        cursor = message;
        service_call('\n');
        print_text(message);
        service_call('=');
        print_value(read_value());
    }
    return 0;
}
