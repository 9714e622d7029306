package auth

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Jobs that TestMain does in another process, to be killed in the middle; the variable holds the data dir.
const (
	jobChurn  = "AUTH_TEST_CHURN"
	jobRecord = "AUTH_TEST_RECORD"
)

func TestMain(m *testing.M) {
	for job, do := range map[string]func(dir string){jobChurn: churn, jobRecord: record} {
		if dir := os.Getenv(job); dir != "" {
			do(dir)
			os.Exit(1) // the jobs never end by themselves
		}
	}
	goleak.VerifyTestMain(m)
}
