/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For sessions that walk back and forth over source lines. The words in the comments are what the
 * sessions call the lines.
 */
void finished(unsigned sum);
int main(void);

volatile int total;
volatile int marks[4];

static int inner(int value)
{
    int twice = value * 2; /* inner first */
    total += twice;        /* inner middle */
    return twice + 1;      /* inner last */
} /* inner end */

static int outer(int value)
{
    int sum;
    sum = inner(value); /* outer call */
    sum += inner(sum);  /* outer again */
    return sum;         /* outer last */
} /* outer end */

static int countdown(int left)
{
    if (left == 0)                  /* countdown test */
        return 0;                   /* countdown end */
    return 1 + countdown(left - 1); /* countdown deeper */
}

static void mark(int number)
{
    marks[number & 3] = total; /* mark */
}

int main(void)
{
    int value = 3;        /* main first */
    mark(0);              /* main mark */
    value = outer(value); /* main outer */
    mark(1);              /* main second mark */
    for (int i = 0; i < 3; i++)
        total += i;            /* main loop */
    value += countdown(4);     /* main countdown */
    mark(2);                   /* main third mark */
    finished((unsigned)value); /* main end */
    return 0;
}
