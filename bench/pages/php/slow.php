<?php
// usleep() ends early when a signal comes; the page promises 400 ms in full.
header("Content-Type: text/plain");
$end = hrtime(true) + 400000000;
while (($left = $end - hrtime(true)) > 0) {
    usleep(intdiv($left + 999, 1000));
}
echo "slept 400 ms\n";
