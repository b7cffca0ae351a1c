<?php
// String concatenation on purpose: that is what the comparison is about.
header("Content-Type: text/html; charset=utf-8");
$max = 99;
$page = "<table>";
for ($row = 0; $row < $max; $row++) {
    $page .= "<tr>";
    for ($column = 0; $column < $row; $column++) {
        $page .= "<td>" . $row . " " . $column . "</td>";
    }
    $page .= "</tr>";
}
$page .= "</table>";
echo $page;
