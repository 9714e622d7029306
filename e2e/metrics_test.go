//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"testing"
)

func TestPrometheusAcceptsTheMetrics(t *testing.T) {
	d := startDemo(t)
	p := openPage(t, "desk", d.desk)
	p.createSession("/demo")
	p.prompt("ask")
	p.tap("Allow once")
	p.wantText(told, allowedText)

	response, err := http.Get(d.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = bytes.NewReader(metrics)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	if n := len(regexp.MustCompile(`(?m)^# TYPE hub_`).FindAll(metrics, -1)); n < 5 {
		t.Errorf("only %d metrics of the hub's own:\n%s", n, metrics)
	}
}

func TestPrometheusAcceptsTheSampleConfiguration(t *testing.T) {
	out, err := exec.Command("promtool", "check", "config", "../deploy/prometheus/prometheus.yml").CombinedOutput()
	if err != nil {
		t.Errorf("promtool check config: %v\n%s", err, out)
	}
}
