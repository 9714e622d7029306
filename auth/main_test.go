package auth

import (
	"os"
	"testing"
)

// TestMain lets a test start this binary again as another process, to be killed in the middle of its work.
func TestMain(m *testing.M) {
	if dir := os.Getenv("AUTH_TEST_CHURN"); dir != "" {
		churn(dir)
		os.Exit(1) // churn never ends by itself
	}
	os.Exit(m.Run())
}
