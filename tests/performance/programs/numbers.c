/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calculations without input, for execution forwards: a filter in fixed point and one in floating
 * point, a transform, a matrix, a sort, checksums. numbers() is called by nobody and returns.
 */
#define SAMPLES 256
#define ROUNDS  40

static short fixed[SAMPLES];
static float real[SAMPLES], imaginary[SAMPLES];
static double sums[16];
static unsigned words[SAMPLES];

static short saturated(int v)
{
    return (short)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
}

static void filter_fixed(void)
{
    static const short taps[16] = {-52,   120,  410,  -930,  -1500, 3300, 9800, 14000,
                                   14000, 9800, 3300, -1500, -930,  410,  120,  -52};

    for (unsigned n = 16; n < SAMPLES; n++) {
        long long sum = 0;
        for (unsigned k = 0; k < 16; k++)
            sum += taps[k] * fixed[n - k];
        fixed[n] = saturated((int)(sum >> 15) + fixed[n - 16]);
    }
}

static float root(float x)
{
    float y = x > 1 ? x : 1;

    for (unsigned k = 0; k < 8; k++)
        y = 0.5f * (y + x / y);
    return y;
}

/* Rotations by a fixed angle, and how far they went. */
static void transform(void)
{
    const float c = 0.98078528f, s = 0.19509032f;

    for (unsigned n = 0; n + 1 < SAMPLES; n++) {
        float a = real[n] * c - imaginary[n] * s, b = real[n] * s + imaginary[n] * c;
        real[n] = a;
        imaginary[n] = b;
        real[n + 1] += root(a * a + b * b) * 0.001f;
        words[n] += (unsigned)(int)(a * 1000.0f);
    }
}

static void matrix(void)
{
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++)
            for (unsigned k = 0; k < 4; k++)
                sums[4 * i + j] += (double)real[4 * i + k] * (double)imaginary[4 * k + j];
}

static void sort(void)
{
    for (unsigned n = 1; n < SAMPLES / 4; n++) {
        unsigned w = words[n], k = n;
        for (; k > 0 && words[k - 1] > w; k--)
            words[k] = words[k - 1];
        words[k] = w;
    }
}

static unsigned checksum(unsigned sum)
{
    for (unsigned n = 0; n < SAMPLES; n++)
        for (unsigned k = 0; k < 8; k++)
            sum = sum >> 1 ^ ((sum ^ words[n] >> 4 * k) & 1 ? 0xedb88320u : 0);
    return sum;
}

unsigned numbers(void);

unsigned numbers(void)
{
    unsigned sum = 1;

    for (unsigned n = 0; n < SAMPLES; n++) {
        fixed[n] = (short)(n * 7919);
        real[n] = (float)n * 0.25f;
        imaginary[n] = 1.0f / (float)(n + 1);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        filter_fixed();
        transform();
        matrix();
        sum = checksum(sum);
        for (unsigned n = 0; n < SAMPLES; n++)
            words[n] ^= sum * n + (unsigned)fixed[n];
        sort();
    }
    return sum;
}
