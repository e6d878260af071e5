// Usage: go run verify.go < body, with the headers and the secret in the environment. Exit code 1: not from Linepace.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err != nil || !isGenuine(body) {
		os.Exit(1)
	}
	var event struct {
		Event string `json:"event"`
	}
	if json.Unmarshal(body, &event) != nil {
		os.Exit(1)
	}
	fmt.Println(event.Event)
}

func isGenuine(body []byte) bool {
	id, timestamp := os.Getenv("WEBHOOK_ID"), os.Getenv("WEBHOOK_TIMESTAMP")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-seconds)) > 300 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, signature := range strings.Split(os.Getenv("WEBHOOK_SIGNATURE"), " ") {
		if hmac.Equal(expected, []byte(signature)) {
			return true
		}
	}
	return false
}
