<?php
header("Content-Type: text/html; charset=utf-8");
echo "<h1>Hello ", htmlspecialchars($_GET["name"] ?? "", ENT_QUOTES), "</h1>";
