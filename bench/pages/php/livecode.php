<?php
// The page comes from the application server over TCP; one connection per request, as PHP has it.
// Protocol: see bench/pages/lua/app-server.lua.
header("Content-Type: text/html; charset=utf-8");
[$host, $port] = explode(":", $_SERVER["APPLICATION_SERVER"] ?? "127.0.0.1:9578");
$peer = @fsockopen($host, (int) $port, $number, $reason, 5);
if (!$peer) {
    http_response_code(502);
    exit("application server: $reason\n");
}
fwrite($peer, "GET livecode\n");
$left = (int) fgets($peer, 32);
while ($left > 0 && ($part = fread($peer, $left)) !== false && $part !== "") {
    echo $part;
    $left -= strlen($part);
}
