<?php
// Usage: php verify.php < body, with the headers and the secret in the environment. Exit code 1: not from Linepace.
$body = stream_get_contents(STDIN);
[$id, $timestamp] = [getenv('WEBHOOK_ID'), getenv('WEBHOOK_TIMESTAMP')];
$key = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')), true);

$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
$signed = false;
foreach (explode(' ', getenv('WEBHOOK_SIGNATURE')) as $signature) {
    $signed = hash_equals($expected, $signature) || $signed;
}
if (!$signed || abs(time() - (int) $timestamp) > 300) {
    exit(1);
}
echo json_decode($body, true)['event'], "\n";
