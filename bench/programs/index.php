<?php
$a = array_fill(0, 1000, 0);
for ($z = 0; $z < 999999; $z++) {
    $k = $z * $z % 1000;
    $a[$k] += $k;
}
$text = implode("", $a);
