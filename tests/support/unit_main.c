/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/unit_main.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* LeakSanitizer asks: Unicorn 2.1 keeps a few bytes of each emulator that is closed. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libunicorn\n";
}

void unit_cases(Suite *suite, const char *name, const TTest *test, int from, int to)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, test, from, to);
    suite_add_tcase(suite, tc);
}

void unit_case(Suite *suite, const char *name, const TTest *test)
{
    unit_cases(suite, name, test, 0, 1);
}

/* One "PASS name" or "FAIL name: why" line a test: what tests/run.sh counts. */
int main(void)
{
    SRunner *runner = srunner_create(unit_suite());
    srunner_run_all(runner, CK_SILENT);
    int total = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    TestResult **results = srunner_results(runner);
    for (int i = 0; i < total; i++) {
        bool ok = tr_rtype(results[i]) == CK_PASS;
        printf("%s %s", ok ? "PASS" : "FAIL", tr_tcname(results[i]));
        if (ok)
            printf("\n");
        else
            printf(": %s:%d: %s\n", tr_lfile(results[i]), tr_lno(results[i]), tr_msg(results[i]));
    }
    free(results);
    srunner_free(runner);
    return failed != 0 || total == 0;
}
