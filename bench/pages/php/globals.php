<?php
// All global variables, recursively; arrays that contain themselves are cut.
header("Content-Type: text/plain; charset=utf-8");

function show($name, &$value, $depth, $open)
{
    $indent = str_repeat("  ", $depth);
    if (!is_array($value)) {
        echo $indent, $name, " = ", is_object($value) ? get_class($value) : var_export($value, true), "\n";
    } elseif ($depth > 8 || in_array($name, $open, true)) {
        echo $indent, $name, " = (seen)\n";
    } else {
        echo $indent, $name, "\n";
        $open[] = $name;
        foreach ($value as $key => &$item) {
            show((string) $key, $item, $depth + 1, $open);
        }
    }
}

foreach (array_keys($GLOBALS) as $key) {
    show((string) $key, $GLOBALS[$key], 0, []);
}
