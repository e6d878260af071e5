# Usage: ruby verify.rb < body, with the headers and the secret in the environment. Exit code 1: not from Linepace.
require "json"
require "openssl"

body = $stdin.binmode.read
id, timestamp = ENV.fetch("WEBHOOK_ID"), ENV.fetch("WEBHOOK_TIMESTAMP")
key = ENV.fetch("WEBHOOK_SECRET").delete_prefix("whsec_").unpack1("m")

digest = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.#{body}")
expected = "v1,#{[digest].pack('m0')}"
recent = (Time.now.to_i - timestamp.to_i).abs <= 300
signed = ENV.fetch("WEBHOOK_SIGNATURE").split(" ").any? do |signature|
  signature.bytesize == expected.bytesize && OpenSSL.fixed_length_secure_compare(signature, expected)
end
exit 1 unless recent && signed
puts JSON.parse(body)["event"]
