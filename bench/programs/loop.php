<?php
for ($i = 0; $i < 999999; $i++) {
    echo " ", $i;
}
