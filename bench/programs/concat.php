<?php
$max = 999;
$text = "<table>";
for ($r = 0; $r < $max; $r++) {
    $text .= "<tr>";
    for ($c = 0; $c < $r; $c++) {
        $text .= "<td>" . $r . " " . $c . "</td>";
    }
    $text .= "</tr>";
}
$text .= "</table>";
